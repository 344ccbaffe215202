//! Mistakes in new code: do its tests notice them? Nobody wrote such a program, so it is run where it can write to nothing but its room.

use super::both_texts;
use super::follows::Shows;
use super::outcome::Outcome;
use super::parts::Parts;
use super::runs::{Doubt, Runs, contradiction_alone};
use super::seen::{Walls, Within};
use crate::domain::{Mutants, Proof, Ran, policy};
use crate::orchestrator::results::no_success;
use crate::orchestrator::review;
use crate::orchestrator::task_run::TaskRunError;
use crate::orchestrator::verdict::Judgement;
use crate::prompt::{one_line, shorten};
use crate::services::Diff;
use crate::toolchain;
use crate::toolchain::Brings;
use std::collections::{BTreeMap, BTreeSet};

/// A line of a file with another one in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mistake {
    file: String,
    /// From 1.
    number: usize,
    is: String,
    becomes: String,
    /// What it is called where its words would not be read.
    called: Option<String>,
    /// It is what stood there before.
    is_old: bool,
    /// It is in what a function takes, of which a test may ask for no more than that it is there.
    is_taken: bool,
    /// It is in the condition of a branch that is new: whoever notices that the branch is gone may look at nothing that it does.
    is_branch: bool,
}

impl Mistake {
    /// Where it is, what stands there, and what was there, each in backquotes.
    fn words(&self) -> String {
        const BYTES: usize = 100;
        let shown = |text: &str| shorten(&one_line(text.trim()), BYTES).replace('`', "'");
        let Self { file, number, is, becomes, called, .. } = self;
        if let Some(called) = called {
            return format!("{}:{number}: {called} for `{}`", shown(file), shown(is));
        }
        // Of long lines, where they differ.
        let same = is.bytes().zip(becomes.bytes()).take_while(|(a, b)| a == b).count();
        let from = if is.trim().len() > BYTES { is.floor_char_boundary(same.saturating_sub(BYTES / 2)) } else { 0 };
        let part = |line: &str| match from {
            0 => shown(line),
            _ => format!("…{}", shown(line.get(from..).unwrap_or(line))),
        };
        format!("{}:{number}: `{}` for `{}`", shown(file), part(becomes), part(is))
    }
}

/// Those in guards are made last, those in what a function takes before them, and before these those in conditions of new branches.
const GUARDS: usize = 1000;
const TAKEN: usize = 500;
const BRANCHES: usize = 300;

/// In one line, where the first of them breaks something; behind the first ones of all lines.
const OF_A_LINE: usize = 2;
const SECOND: usize = 100;

/// After so many that nobody has noticed, none is made in a line that had one already.
const MUTANTS: u32 = 2;

/// Why nothing follows from a mistake.
const BREAKS: &str = "a check is red, and by no assertion of theirs";
const OLD_TOO: &str = "old tests notice it as well";

/// What is noticed of a mistake.
enum Noticed {
    /// A new test fails by what it asserts, and no old one; which, behind a sentence.
    ByNew(String),
    /// Nothing fails.
    ByNone,
    /// Why that says nothing of what the new ones assert.
    Unclear(&'static str),
}

/// What a line has gained, as bytes of it: of `{"a": 1, "b": 2}` that was `{"a": 1}`, `, "b": 2`. All of it where nothing of it was there.
fn gained(is: &str, removed: &[&str]) -> std::ops::Range<usize> {
    let kept =
        removed.iter().filter(|was| !was.trim().is_empty()).find_map(|was| toolchain::gained(is, was.trim_end()));
    kept.unwrap_or(0..is.len())
}

/// Whether a line has gained an entry of a list or a map: without it, whoever asks whether it is there notices.
fn gains_entry(is: &str, was: &str) -> bool {
    let Some(gained) = toolchain::gained(is, was.trim_end()) else { return false };
    let mut open = Vec::new();
    for c in is[..gained.start].chars() {
        match c {
            '(' | '[' | '{' => open.push(c),
            ')' | ']' | '}' => _ = open.pop(),
            _ => {}
        }
    }
    let mut text = is[gained.clone()].to_owned();
    // Of `["a", "c"]` that is `["a", "b", "c"]` now, `b", "` has come as well as `"b", `.
    let mut before = is[..gained.start].chars().rev();
    while !(text.trim().starts_with(',') || text.trim().ends_with(',')) {
        match (text.pop(), before.next()) {
            (Some(last), Some(one)) if last == one => text.insert(0, one),
            _ => return false,
        }
    }
    !open.is_empty() && !open.contains(&'(')
}

/// Mistakes in what a line has gained, the surest first.
fn mutants(file: &str, is: &str, removed: &[&str]) -> Vec<toolchain::Mutant> {
    let gained = gained(is, removed);
    if gained == (0..is.len()) {
        return toolchain::mutants(file, is);
    }
    // What stands before it says how it is to be read; a blank does.
    let part = format!(" {} ", &is[gained.clone()]);
    let whole = |made: toolchain::Mutant| {
        let line = made.line.strip_prefix(' ')?.strip_suffix(' ')?;
        let line = format!("{}{line}{}", &is[..gained.start], &is[gained.end..]);
        Some(toolchain::Mutant { line, ..made })
    };
    toolchain::mutants(file, &part).into_iter().filter_map(whole).collect()
}

/// Mistakes in the added lines of code, those first that tests notice most surely. What stood there is one where it is an earlier form of the
/// line at this place; `brings` is what a line brings, by its file and number.
fn mistakes(
    diff: &str,
    is_code: impl Fn(&str) -> bool,
    brings: impl Fn(&str, usize) -> Option<Brings>,
    is_earlier_form: impl Fn(&str, usize, &str) -> bool,
) -> Vec<Mistake> {
    let mut found: Vec<(usize, Mistake)> = Vec::new();
    let removed_of = |file: &str| -> Vec<&str> {
        let of_file = review::lines(diff).filter(|(of, _)| *of == file);
        of_file.filter_map(|(_, line)| line.strip_prefix('-')).collect()
    };
    let replaced = review::replaced_lines(diff);
    let mut lines = review::added_lines(diff).peekable();
    while let Some((file, number, is)) = lines.next() {
        if !toolchain::is_code(file) || !is_code(file) {
            continue;
        }
        let brings = brings(file, number);
        // Without it, what the change does cannot be reached: whoever asks for its name notices.
        if brings == Some(Brings::Listed) {
            continue;
        }
        let is_taken = brings == Some(Brings::Takes);
        // What only the change makes of this line, nothing but its tests asks for.
        let was = replaced.get(&(file, number)).filter(|was| {
            !is_taken
                && !gains_entry(is, was)
                && toolchain::lends_itself(file, is, was)
                && is_earlier_form(file, number, was)
        });
        found.extend(was.map(|was| {
            let (file, is, becomes) = (file.to_owned(), is.to_owned(), (*was).to_owned());
            (0, Mistake { file, number, is, becomes, called: None, is_old: true, is_taken, is_branch: false })
        }));
        // A condition behind which the code gives up: whatever calls it breaks, and no test has to assert anything.
        let guards = toolchain::gives_up(file, is)
            || lines
                .peek()
                .is_some_and(|(of, next, line)| (*of, *next) == (file, number + 1) && toolchain::gives_up(file, line));
        let mut made = mutants(file, is, &removed_of(file));
        let depth = |line: &str| line.len() - line.trim_start().len();
        let has_body =
            lines.peek().is_some_and(|(of, next, line)| (*of, *next) == (file, number + 1) && depth(line) > depth(is));
        let has_branch = has_body && made.iter().any(|mutant| mutant.is_branch);
        // A new function would give back nothing instead, which any test notices; and a loop would not end.
        let leaves = |line: &str| line.trim_start().starts_with("break");
        let leaves_loop =
            lines.peek().is_some_and(|(of, next, line)| (*of, *next) == (file, number + 1) && leaves(line));
        if brings.is_some() || leaves_loop {
            made.retain(|mutant| !mutant.in_old);
        }
        made.retain(|mutant| brings.is_none() || !mutant.only_old);
        made.sort_by_key(|mutant| (mutant.is_branch && !guards, !mutant.in_old));
        for (more, mutant) in made.into_iter().take(OF_A_LINE).enumerate() {
            let toolchain::Mutant { rank, line, called, in_old, is_branch, .. } = mutant;
            let is_branch = !guards && (is_branch || has_branch);
            let rank = if in_old { 0 } else { rank };
            // Each line first.
            let later = [(guards, GUARDS), (is_taken, TAKEN), (is_branch, BRANCHES)];
            let later: usize = later.into_iter().filter_map(|(is_it, rank)| is_it.then_some(rank)).sum();
            let rank = 1 + rank + more * SECOND + later;
            let (file, is) = (file.to_owned(), is.to_owned());
            found.push((rank, Mistake { file, number, is, becomes: line, called, is_old: false, is_taken, is_branch }));
        }
    }
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, mistake)| mistake).collect()
}

/// Said where a new test fails without the change as an empty one would.
const NO_ASSERTION: &str = "without the rest of the change, no new test fails by what it asserts";

impl Runs<'_> {
    /// New tests fail without the new code only because it is not there, as an empty test would: do they notice a mistake in it? Where none
    /// could be made, it is a difference that they break the code as it was, if they do.
    pub(super) async fn of_new_code(
        &mut self,
        parts: &Parts,
        diff: &Diff,
        shows: Shows,
    ) -> Result<Judgement, TaskRunError> {
        let judgement = self.of_mistakes(parts, diff, NO_ASSERTION).await?;
        let is_open = judgement.proof == Some(Proof::StayedGreen) && self.counted.mutants.is_none();
        if shows == Shows::Break && is_open {
            return Ok(self.proven(Proof::NewTest, "the code as it was breaks with its tests"));
        }
        Ok(judgement)
    }

    /// Makes mistakes in the new code, one by one, until a new test notices one; `without` is what is known without that.
    pub(super) async fn of_mistakes(
        &mut self,
        parts: &Parts,
        diff: &Diff,
        without: &str,
    ) -> Result<Judgement, TaskRunError> {
        let proving = self.plan.context.services.settings.run().proving;
        if proving.mutants == policy::Mutants::Off {
            return Ok(self.proven(Proof::StayedGreen, without));
        }
        let (mut tried, mut broke, mut survived) = (Mutants::default(), Vec::new(), Vec::new());
        let (mut lines, mut is_cut, mut in_vain) = (BTreeSet::new(), false, self.not_counted);
        let apart = self.apart(parts).await?;
        let brings = |file: &str, number: usize| apart.files.get(file)?.lines.get(&number).copied();
        let is_code = |file: &str| !parts.tests.iter().chain(&parts.settings).any(|test| test == file);
        let texts = self.texts_replaced(&diff.text).await?;
        let is_earlier_form = |file: &str, number: usize, was: &str| {
            let texts = texts.get(file);
            texts.is_some_and(|(now, base)| toolchain::is_earlier_form(file, (now, number), (base, was)))
        };
        let mistakes = mistakes(&diff.text, is_code, brings, is_earlier_form);
        let mut why_none = match &self.walls {
            _ if mistakes.is_empty() => "no line of the new code lends itself to a mistake".to_owned(),
            Walls::Fail(because) => because.clone(),
            Walls::Unknown | Walls::Pass => "no line of the new code lends itself to another mistake".to_owned(),
        };
        for mistake in mistakes {
            // One takes two runs with the new tests, and one with the old; the first red one is compared with the whole change.
            let most = if matches!(self.walls, Walls::Unknown) { 4 } else { 3 };
            if matches!(self.walls, Walls::Fail(_))
                || self.counted.runs + most > proving.max_runs + in_vain + self.for_walls
            {
                is_cut = true;
                if !matches!(self.walls, Walls::Fail(_)) {
                    self.used_up = true;
                    "its runs are used up".clone_into(&mut why_none);
                }
                break;
            }
            // Who notices none in what it does may look at no more than what it takes.
            if mistake.is_taken && (tried.survived > 0 || !apart.does_something()) {
                continue;
            }
            if mistake.is_branch && tried.survived > 0 {
                continue;
            }
            let is_new = mistake.is_old || lines.insert((mistake.file.clone(), mistake.number));
            if !is_new && tried.survived >= MUTANTS {
                continue;
            }
            let before = self.counted.runs;
            let noticed = self.notices(parts, &mistake).await?;
            // What stood there may do the same, and what breaks, or old tests notice as well, says nothing: it takes no runs from others.
            let says_nothing = mistake.is_old && matches!(noticed, Ok(Noticed::ByNone));
            if says_nothing || matches!(noticed, Ok(Noticed::Unclear(_))) {
                in_vain = (proving.max_runs + self.not_counted).min(in_vain + self.counted.runs - before);
            }
            if says_nothing {
                continue;
            }
            let killed = match noticed {
                Ok(Noticed::ByNew(named)) => Some(named),
                Ok(Noticed::ByNone) => None,
                Ok(Noticed::Unclear(why)) => {
                    broke.push((why, format!("{}: {why}", mistake.words())));
                    continue;
                }
                Err(because) => {
                    why_none = because;
                    continue;
                }
            };
            *(if killed.is_some() { &mut tried.killed } else { &mut tried.survived }) += 1;
            self.counted.mutants = Some(tried);
            if let Some(named) = killed {
                self.survived = survived.into_iter().map(|(place, _)| place).collect();
                let what = format!("its new tests{named} notice a mistake in the new code ({})", mistake.words());
                return Ok(self.proven(Proof::NewTest, &what));
            }
            survived.push(((mistake.file.clone(), mistake.number), mistake.words()));
        }
        let is_of_old = !is_cut && broke.iter().all(|(why, _)| *why == OLD_TOO);
        let broken = broke.iter().map(|(_, words)| words.as_str()).collect::<Vec<_>>().join("; ");
        let what = match tried.survived {
            0 if broke.is_empty() => format!(", and whether they notice a mistake was not tried: {why_none}"),
            0 if is_of_old => {
                // Another test would notice nothing more.
                self.tests_in_vain = true;
                format!("; of the mistakes that were made in the new code, its new tests alone notice none ({broken})")
            }
            0 => format!("; what they assert is not known of a mistake in the new code ({broken})"),
            _ => {
                let words = survived.into_iter().map(|(_, words)| words).collect::<Vec<_>>();
                format!(", and none notices a mistake in the new code ({})", words.join("; "))
            }
        };
        Ok(self.proven(Proof::StayedGreen, &format!("{without}{what}")))
    }

    /// The texts now and at the base of the files in which a change has put lines in the place of others.
    async fn texts_replaced(&self, diff: &str) -> Result<BTreeMap<String, (String, String)>, TaskRunError> {
        let (workspace, now) = (&self.prepared.workspace, &self.confirmed.change.tree);
        let files: BTreeSet<&str> = review::replaced_lines(diff).into_keys().map(|(file, _)| file).collect();
        let files: Vec<String> = files.into_iter().filter(|file| toolchain::is_code(file)).map(str::to_owned).collect();
        let mut texts = BTreeMap::new();
        for (file, both) in both_texts(&**workspace, [now, &workspace.base()], &files).await? {
            if let [Some(now), Some(base)] = both {
                texts.insert(file.clone(), (now, base));
            }
        }
        Ok(texts)
    }

    /// Who notices a mistake, or why it cannot be made.
    async fn notices(&mut self, parts: &Parts, mistake: &Mistake) -> Result<Result<Noticed, String>, TaskRunError> {
        let workspace = &self.prepared.workspace;
        let (tree, Mistake { file, number, is, becomes, .. }) = (&self.confirmed.change.tree, mistake);
        let no_code = || Ok(Err("no line of the new code lends itself to a mistake".to_owned()));
        let Some(text) = workspace.text(tree, file).await? else { return no_code() };
        if let Some(word) = toolchain::effect(file, &text) {
            let (file, word) = (one_line(file), one_line(&word));
            return Ok(Err(format!(
                "{} may start programs or ask servers (`{}`)",
                shorten(&file, 120),
                shorten(&word, 60)
            )));
        }
        let Some(text) = toolchain::with_line(file, &text, *number, (is, becomes)) else { return no_code() };
        let tree = workspace.with_texts(tree, &[(file.clone(), text)]).await?;
        let doubt = (no_success as Doubt, self.prepared.baseline.as_slice());
        let first = self.run(&tree, None, doubt, Within::Walls).await?;
        if let Err(because) = self.walls_hold(&first).await? {
            return Ok(Err(because));
        }
        // What breaks by no assertion says nothing, once or twice.
        let first = first.of_tests(self.confirmed.checks);
        if first.is_red && !first.asserts_beyond(&Outcome::default(), parts) {
            return Ok(Ok(Noticed::Unclear(BREAKS)));
        }
        let with_new = self.twice(&tree, no_success, Within::Walls).await?;
        let with_new = with_new.of_tests(self.confirmed.checks);
        if !with_new.asserts_beyond(&Outcome::default(), parts) {
            return Ok(Ok(if with_new.is_red { Noticed::Unclear(BREAKS) } else { Noticed::ByNone }));
        }
        let tree = workspace.blend(&tree, &workspace.base(), &parts.with_settings()).await?;
        let baseline = &self.prepared.baseline;
        let with_old = self.run(&tree, None, (contradiction_alone, baseline), Within::Walls).await?;
        let with_old = with_old.of_tests(self.confirmed.checks);
        // Where there are no old tests, their want is what is red.
        let is_silent = !with_old.is_red || self.counted.c == Some(Ran::Red) && !with_old.fails_anywhere();
        Ok(Ok(if is_silent { Noticed::ByNew(with_new.named_beyond(baseline)) } else { Noticed::Unclear(OLD_TOO) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_made_in_what_a_line_has_gained() {
        let made = |was: &[&str], is: &str| mutants("a.py", is, was).into_iter().next().map(|mutant| mutant.line);
        let is = "R = {'min': 1, 'max': 9}";
        assert_eq!(made(&["R = {'min': 1}"], is).as_deref(), Some("R = {'min': 1, 'max': 10}"));
        assert_eq!(made(&["x = 1"], is).as_deref(), Some("R = {'min': 2, 'max': 9}"));
        assert_eq!(made(&["R = {'min': 1}"], "R = {'min': 1, 'max': A}"), None);
    }

    #[test]
    fn an_entry_of_a_list_is_told_from_what_is_given_to_a_function() {
        assert!(gains_entry("R = {'min': 1, 'max': 9}", "R = {'min': 1}"));
        assert!(gains_entry("const r = [a, b, c]", "const r = [a, c]"));
        assert!(gains_entry("L = ['debug', 'warning', 'info']", "L = ['debug', 'info']"));
        assert!(
            !gains_entry("print(slug(text, sep))", "print(slug(text))") && !gains_entry("R = {1: 2}", "R = {1: 3}")
        );
        assert!(!gains_entry("f({ a: 1, b: 2 })", "f({ a: 1 })") && !gains_entry("x = words[:5]", "x = words"));
    }

    /// `line: what it becomes` of each mistake in a change, in their order.
    fn order(diff: &str, brings: impl Fn(&str, usize) -> Option<Brings>) -> Vec<String> {
        let of = |mistake: Mistake| format!("{}:{}", mistake.number, mistake.called.unwrap_or(mistake.becomes));
        mistakes(diff, |_| true, brings, |_, _, was| was != "a = 0").into_iter().map(of).collect()
    }

    #[test]
    fn what_a_function_does_comes_before_what_it_takes() {
        let diff = "diff --git a/log.py b/log.py\n--- a/log.py\n+++ b/log.py\n@@ -10,0 +11,6 @@\n+def share(\n+    entries,\n+    limit=5,\n\
                    +):\n+    few = entries[:2]\n+    return len(few) / len(entries)\n";
        let all = order(diff, |_, line| Some(if line < 15 { Brings::Takes } else { Brings::InNew }));
        assert_eq!(
            (all[0].as_str(), all.last().unwrap().as_str()),
            ("16:    return len(few) * len(entries)", "13:    limit=6,")
        );
    }

    #[test]
    fn what_stood_in_a_line_is_the_first_mistake_in_it() {
        let diff = "diff --git a/log.py b/log.py\n--- a/log.py\n+++ b/log.py\n@@ -1,4 +1,4 @@\n-def label(name):\n+def label(name, unit=1):\n \n\
                    -    return name\n+    return f\"{name}{unit}\"\n # end\n@@ -9 +9,2 @@\n-a = 1\n+b = c\n+d = e\n";
        let takes = |_: &str, line: usize| (line == 1).then_some(Brings::Takes);
        assert_eq!(
            order(diff, takes),
            ["3:    return name", "3:another value of its kind", "1:def label(name, unit=2):"]
        );
        let other = "diff --git a/log.py b/log.py\n--- a/log.py\n+++ b/log.py\n@@ -1 +1 @@\n-a = 0\n+a = 1 + b\n";
        assert_eq!(order(other, |_, _| None)[0], "1:a = 2 + b", "no earlier form of it");
    }
}
