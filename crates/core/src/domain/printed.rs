//! What a red check prints, beside what it printed at the base, where nobody knows its tests by name.
//!
//! The lines are compared in their order and as they were printed. What differs between two runs of the *same* files is what changes from
//! run to run, and only that is left out of the comparison.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::collections::BTreeSet;

/// A line of output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrintedLine {
    /// As it was printed, but for lines of files, which move.
    pub text: String,
    /// The same without how long things took.
    pub timeless: String,
    /// Without whatever may change from run to run by the look of it, but with its other numbers.
    pub calm: String,
    /// The same without any number.
    pub masked: String,
    /// `timeless` without the numbers in `wrong` and `right`, and without what a plural changes.
    pub shape: String,
    /// How much it counts that fails.
    pub wrong: Vec<u64>,
    /// How much it counts that passes, or was run.
    pub right: Vec<u64>,
    /// What it says by its words.
    pub says: Says,
}

/// What a line says of something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Says {
    /// That it is right.
    Passes,
    /// That it is wrong.
    Fails,
    /// Neither.
    #[default]
    Neither,
}

/// How what is printed differs from what the base prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PrintedBeside<'t> {
    /// In nothing that says that something fails.
    Same,
    /// Less is said to fail.
    Less,
    /// Nothing is printed.
    Nothing,
    /// This line is new; whether lines like it, but for numbers, stand at the base.
    New(&'t str, bool),
    /// This line is gone, and nothing stands in its place.
    Gone(&'t str),
}

/// What changes from run to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Varies {
    templates: Vec<Template>,
    /// Lines that are there only now and then.
    loose: BTreeSet<String>,
    /// How long things take.
    times: bool,
    /// Which line comes first.
    order: bool,
}

impl Varies {
    /// What differs between two runs of the same files.
    pub(super) fn between(first: &[PrintedLine], second: &[PrintedLine]) -> Self {
        let (gone, new) = differing(first, second, |line| &line.text);
        let mut new: Vec<Option<&PrintedLine>> = new.into_iter().map(Some).collect();
        let (mut varies, mut pairs, mut alone) = (Self::default(), Vec::new(), Vec::new());
        let alike: [fn(&PrintedLine) -> &String; 3] = [|line| &line.text, |line| &line.timeless, |line| &line.masked];
        for line in gone {
            let found = alike.iter().enumerate().find_map(|(kind, of)| {
                let at = new.iter().position(|other| other.is_some_and(|other| of(other) == of(line)))?;
                Some((kind, new[at].take()?))
            });
            match found {
                Some((0, _)) => varies.order = true,
                Some((1, _)) => varies.times = true,
                Some((_, other)) => pairs.push((line, other)),
                None => alone.push(line),
            }
        }
        // Neither is like any other: they stand in each other's place, if they begin or end alike.
        let mut rest = new.into_iter().flatten();
        for line in alone {
            match rest.next() {
                Some(other) => pairs.push((line, other)),
                None => _ = varies.loose.insert(line.text.clone()),
            }
        }
        varies.loose.extend(rest.map(|line| line.text.clone()));
        for (line, other) in pairs {
            match Template::of(varies.words(line), varies.words(other)) {
                Some(template) => varies.templates.push(template),
                None => varies.loose.extend([line.text.clone(), other.text.clone()]),
            }
        }
        varies
    }

    /// Takes in that times, or the order, differ between two runs of other files, too.
    pub(super) fn with_times_and_order_of(self, other: &Self) -> Self {
        Self { times: self.times || other.times, order: self.order || other.order, ..self }
    }

    fn words<'t>(&self, line: &'t PrintedLine) -> &'t str {
        if self.times { &line.timeless } else { &line.text }
    }

    /// What stays of a line from run to run; none of one that comes and goes.
    fn stays(&self, line: &PrintedLine) -> Option<String> {
        if self.loose.contains(&line.text) {
            return None;
        }
        let words = self.words(line);
        let at = self.templates.iter().position(|template| template.fits(words));
        Some(at.map_or_else(|| words.to_owned(), |at| format!("\0{at}")))
    }
}

/// A text in which parts differ from run to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Template {
    /// Part by part.
    Parts(Vec<Part>),
    /// Anything stands between.
    Ends(String, String),
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Is(String),
    Number,
    Word,
}

impl Template {
    /// What two texts have in common; none if that is no word.
    pub(super) fn of(first: &str, second: &str) -> Option<Self> {
        let (a, b) = (parts(first), parts(second));
        if a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a == b || is_word(a) && is_word(b)) {
            let part = |(a, b): (&&str, &&str)| match a == b {
                true => Part::Is((*a).to_owned()),
                false if is_number(a) && is_number(b) => Part::Number,
                false => Part::Word,
            };
            let stays = a.iter().zip(&b).any(|(a, b)| a == b && is_word(a));
            return stays.then(|| Self::Parts(a.iter().zip(&b).map(part).collect()));
        }
        let before = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        let most = a.len().min(b.len()) - before;
        let after = a.iter().rev().zip(b.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
        let ends = (a[..before].concat(), a[a.len() - after..].concat());
        let stays = a[..before].iter().chain(&a[a.len() - after..]).any(|part| is_word(part));
        stays.then_some(Self::Ends(ends.0, ends.1))
    }

    /// Whether a text may be of a third run.
    pub(super) fn fits(&self, text: &str) -> bool {
        match self {
            Self::Ends(start, end) => {
                text.len() >= start.len() + end.len()
                    && text.starts_with(start.as_str())
                    && text.ends_with(end.as_str())
            }
            Self::Parts(of) => {
                let parts = parts(text);
                let fits = |(of, part): (&Part, &&str)| match of {
                    Part::Is(is) => is == part,
                    Part::Number => is_number(part),
                    Part::Word => is_word(part),
                };
                parts.len() == of.len() && of.iter().zip(&parts).all(fits)
            }
        }
    }
}

fn is_word(part: &str) -> bool {
    part.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Whether it is a number, also with a unit behind it.
fn is_number(part: &str) -> bool {
    let number = part.trim_end_matches(|c: char| c.is_alphabetic());
    part.len() - number.len() <= "secs".len()
        && number.starts_with(|c: char| c.is_ascii_digit())
        && !number.contains(char::is_alphabetic)
}

/// Words and numbers, blanks, and single characters.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text);
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(first) = rest.chars().next() {
        let mut end = first.len_utf8();
        let goes_on =
            |end: usize, of: &dyn Fn(char) -> bool| end + rest[end..].find(|c| !of(c)).unwrap_or(rest.len() - end);
        if in_word(first) {
            end = goes_on(end, &in_word);
            // `0.25`.
            while first.is_ascii_digit()
                && rest[end..].strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            {
                end = goes_on(end + 1, &in_word);
            }
        } else if first.is_whitespace() {
            end = goes_on(end, &char::is_whitespace);
        }
        parts.push(&rest[..end]);
        rest = &rest[end..];
    }
    parts
}

/// The lines that only the first has, and those that only the second has, in their order.
fn differing<'t, K: std::hash::Hash + Ord>(
    first: &'t [PrintedLine],
    second: &'t [PrintedLine],
    key: impl Fn(&'t PrintedLine) -> K,
) -> (Vec<&'t PrintedLine>, Vec<&'t PrintedLine>) {
    let keys = |of: &'t [PrintedLine]| of.iter().map(&key).collect::<Vec<K>>();
    between(&first.iter().collect::<Vec<_>>(), &keys(first), &second.iter().collect::<Vec<_>>(), &keys(second))
}

fn between<'t, K: std::hash::Hash + Ord>(
    first: &[&'t PrintedLine],
    first_keys: &[K],
    second: &[&'t PrintedLine],
    second_keys: &[K],
) -> (Vec<&'t PrintedLine>, Vec<&'t PrintedLine>) {
    let (mut gone, mut new) = (Vec::new(), Vec::new());
    for op in capture_diff_slices(Algorithm::Myers, first_keys, second_keys) {
        if !matches!(op, DiffOp::Equal { .. }) {
            gone.extend(&first[op.old_range()]);
            new.extend(&second[op.new_range()]);
        }
    }
    (gone, new)
}

/// How what is printed now differs from what the base prints, but for what varies.
pub(super) fn beside<'t>(
    now: &'t [PrintedLine],
    base: &'t [PrintedLine],
    varies: Option<&Varies>,
) -> PrintedBeside<'t> {
    let Some(first) = now.first() else { return PrintedBeside::Nothing };
    if base.is_empty() {
        return PrintedBeside::New(&first.text, false);
    }
    let varies = varies.cloned().unwrap_or_default();
    let staying = |lines: &'t [PrintedLine]| {
        let mut lines: Vec<(String, &PrintedLine)> =
            lines.iter().filter_map(|line| Some((varies.stays(line)?, line))).collect();
        if varies.order {
            lines.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
        let (keys, lines): (Vec<String>, Vec<&PrintedLine>) = lines.into_iter().unzip();
        (lines, keys)
    };
    let ((was, was_keys), (is, is_keys)) = (staying(base), staying(now));
    let (gone, new) = between(&was, &was_keys, &is, &is_keys);
    weigh(gone, new, base)
}

/// Whether nothing is new beside the base, whatever the order, and whatever may change from run to run by the look of it.
pub(super) fn is_no_more_by_look(now: &[PrintedLine], base: &[PrintedLine]) -> bool {
    let sorted = |lines: &[PrintedLine]| {
        let mut lines: Vec<PrintedLine> = lines.to_vec();
        lines.sort_by(|a, b| a.calm.cmp(&b.calm));
        lines
    };
    let (now, was) = (sorted(now), sorted(base));
    let (gone, new) = differing(&was, &now, |line| &line.calm);
    !matches!(weigh(gone, new, base), PrintedBeside::New(..))
}

fn weigh<'t>(mut gone: Vec<&'t PrintedLine>, mut new: Vec<&'t PrintedLine>, base: &[PrintedLine]) -> PrintedBeside<'t> {
    // `2 failed, 5 passed` that has become `1 failed, 7 passed`.
    let mut is_less = false;
    new.retain(|line| {
        let found = gone.iter().position(|was| line.counts_no_worse_than(was));
        if let Some(at) = found {
            is_less |= gone.remove(at).wrong != line.wrong;
        }
        found.is_none()
    });
    let says = |says: Says| move |line: &&&PrintedLine| line.says == says;
    let is_bad = |line: &&&PrintedLine| line.says != Says::Passes;
    if let Some(line) = new.iter().find(says(Says::Fails)).or_else(|| new.iter().find(is_bad)) {
        let is_like_one = new.iter().filter(is_bad).all(|line| base.iter().any(|was| was.masked == line.masked));
        return PrintedBeside::New(&line.text, is_like_one);
    }
    is_less |= gone.iter().any(|line| line.says == Says::Fails);
    // With less that fails goes what was said about it; what passes does not.
    match gone.iter().find(|line| !is_less || line.says == Says::Passes) {
        Some(line) => PrintedBeside::Gone(&line.text),
        None if is_less => PrintedBeside::Less,
        None => PrintedBeside::Same,
    }
}

impl PrintedLine {
    /// Whether this is the same line, which counts no more that fails and no less that passes.
    fn counts_no_worse_than(&self, base: &Self) -> bool {
        let is_counted = !(self.wrong.is_empty() && self.right.is_empty());
        let all = |now: &[u64], base: &[u64], is: fn(&u64, &u64) -> bool| {
            now.len() == base.len() && now.iter().zip(base).all(|(now, base)| is(now, base))
        };
        is_counted
            && self.shape == base.shape
            && all(&self.wrong, &base.wrong, |now, base| now <= base)
            && all(&self.right, &base.right, |now, base| now >= base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as their own words: `-` says that something fails, `+` that it passes, `N wrong` and `N right` count.
    fn lines(words: &str) -> Vec<PrintedLine> {
        let line = |text: &str| {
            let says = match text.chars().next() {
                Some('-') => Says::Fails,
                Some('+') => Says::Passes,
                _ => Says::Neither,
            };
            let number: Option<u64> = text.split(' ').find_map(|word| word.parse().ok());
            let masked: String = text.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
            let timeless = if text.contains(" s") { masked.clone() } else { text.to_owned() };
            let is = |word: &str| number.filter(|_| text.contains(word)).into_iter().collect::<Vec<u64>>();
            let (wrong, right) = (is("wrong"), is("right"));
            let shape = if wrong.is_empty() && right.is_empty() { timeless.clone() } else { masked.clone() };
            PrintedLine { text: text.to_owned(), timeless, calm: text.to_owned(), masked, shape, wrong, right, says }
        };
        words.split('|').filter(|line| !line.is_empty()).map(line).collect()
    }

    #[test]
    fn lines_are_compared_as_printed_and_in_their_order() {
        use PrintedBeside::{Gone, Less, New, Nothing, Same};
        let check = |base: &str, now: &str, expected: PrintedBeside<'_>| {
            assert_eq!(beside(&lines(now), &lines(base), None), expected, "{base} // {now}");
        };
        let base = "- adds|+ mul|3 right";
        check(base, base, Same);
        check(base, "+ adds|+ mul|4 right", Less);
        check(base, "- adds|+ mul|+ div|4 right", Same);
        check(base, "- adds|+ mul|2 right", New("2 right", true));
        check("2 wrong|- a|- b", "1 wrong|- b", Less);
        check("2 wrong|- a", "3 wrong|- a", New("3 wrong", true));
        check("- sub 1", "- mul 1", New("- mul 1", false));
        check("2 files", "6 files", New("6 files", true));
        // A case that is not run any more, and a run that does not end.
        check(base, "- adds|3 right", Gone("+ mul"));
        check("- adds|the end", "- adds", Gone("the end"));
        check("- adds|of 2|the end", "the end", Less);
        check("- adds", "", Nothing);
        check("", "", Nothing);
        // Where nothing is printed at the base, no word can be taken for better.
        check("", "+ done", New("+ done", false));
        // The verdict stands below what it is of.
        check("add|- bad|sub|- bad|mul|+ ok", "add|- bad|sub|+ ok|mul|- bad", New("mul", true));
        check("add|- bad|sub|- bad|mul|+ ok", "add|- bad|sub|+ ok|mul|+ ok", Less);
        // Of several, the one that says what is wrong.
        check("a", "a|6|- mul", New("- mul", false));
    }

    #[test]
    fn only_what_differs_between_two_runs_of_the_base_is_left_out() {
        use PrintedBeside::{New, Same};
        let check = |base: [&str; 2], now: &str, expected: PrintedBeside<'_>| {
            let (first, second) = (lines(base[0]), lines(base[1]));
            let varies = Varies::between(&first, &second);
            assert_eq!(beside(&lines(now), &first, Some(&varies)), expected, "{base:?} // {now}");
        };
        let port = ["- case 7 at port 80|- case 8", "- case 7 at port 81|- case 8"];
        check(port, "- case 7 at port 99|- case 8", Same);
        check(port, "- case 6 at port 99|- case 8", New("- case 6 at port 99", true));
        check(port, "- case 7 at port 99|- case 9", New("- case 9", true));
        check(["- a 1 s|- b 1 s", "- a 1 s|- b 2 s"], "- a 4 s|- b 3 s", Same);
        check(["- a 1 s", "- a 1 s"], "- a 2 s", New("- a 2 s", true));
        check(["- a|- b", "- b|- a"], "- b|- a", Same);
        check(["- a|- b", "- a|- b"], "- b|- a", New("- b", true));
        check(["- a|hm", "- a"], "- a", Same);
        check(["- a", "- a|hm"], "- a|hm", Same);
        check(["- cannot find red thing", "- cannot find blue green thing"], "- cannot find pink thing", Same);
        check(
            ["- cannot find red thing", "- cannot find blue thing"],
            "- cannot bear red thing",
            New("- cannot bear red thing", false),
        );
    }

    #[test]
    fn times_and_the_order_may_differ_between_two_runs_of_the_work_and_values_may_not() {
        let check = |now: [&str; 2], base: &str, expected: PrintedBeside<'_>| {
            let [first, second] = now.map(lines);
            let varies = Varies::default().with_times_and_order_of(&Varies::between(&first, &second));
            assert_eq!(beside(&first, &lines(base), Some(&varies)), expected, "{now:?} // {base}");
        };
        check(["- a 1 s", "- a 3 s"], "- a 2 s", PrintedBeside::Same);
        check(["- a|- b", "- b|- a"], "- b|- a", PrintedBeside::Same);
        check(["- got 1 of it", "- got 3 of it"], "- got 2 of it", PrintedBeside::New("- got 1 of it", true));
    }

    #[test]
    fn a_text_that_shares_no_word_with_another_is_no_template() {
        assert_eq!(Template::of("'a'", "'b'"), None);
        assert_eq!(Template::of("a: b", "c"), None);
        assert!(Template::of("took 0.5s", "took 0.25s").unwrap().fits("took 12s"));
        assert!(!Template::of("took 0.5s", "took 0.25s").unwrap().fits("took long"));
        assert!(Template::of("no 4e1d9a7", "no 9d0c1b2").unwrap().fits("no a81e3d0"));
    }
}
