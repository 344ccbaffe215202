//! What a change does to the code of one file, in hunks that can be taken back one by one.

use super::inline::{Apart, has_inline_tests, inline_tests};
use super::mutant::code;
use super::remark::remarks;
use similar::{DiffOp, capture_diff_slices};
use std::ops::Range;

/// Lines of code that a change has put in the place of others; either may be none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
    /// The function, or whatever begins at the beginning of a line, that it is in: hunks of one have the same number.
    pub function: usize,
    /// How many lines it adds and removes.
    pub lines: usize,
    /// Other code stood there before.
    pub replaces: bool,
    /// Where it is in the file as changed: `12`, `12-15`, and the line before it where it only removes.
    pub place: String,
}

impl Hunk {
    /// Whether a line of the file as changed, from 1, is in it.
    ///
    /// ```
    /// # use reflexion_toolchain::toolchain::CodeChange;
    /// let change = CodeChange::between("a.py", "a = 1\nd = 1\n", "a = 1\nb = 1\nc = 1\nd = 1\n").expect("it is code");
    /// assert_eq!([1, 2, 3, 4].map(|line| change.hunks[0].has_line(line)), [false, true, true, false]);
    /// ```
    #[must_use]
    pub fn has_line(&self, line: usize) -> bool {
        let number = |text: &str| text.parse().unwrap_or_default();
        let (first, last) = self.place.split_once('-').unwrap_or((&self.place, &self.place));
        !self.new.is_empty() && (number(first)..=number(last)).contains(&line)
    }
}

/// The change of one file's code. Tests among the code are no part of it: they stay as the change has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeChange {
    pub(super) old: Vec<String>,
    pub(super) new: Vec<String>,
    /// The number of each line of `new` in the file, from 1.
    pub(super) numbers: Vec<usize>,
    tests: String,
    /// Without those that only change comments, doc strings and empty lines.
    pub hunks: Vec<Hunk>,
}

/// Longer files are not compared line by line.
const LINES: usize = 50_000;

impl CodeChange {
    /// The change from one text of a file to another one. None where the tests among its code cannot be told from the code, and where
    /// the file is very long.
    ///
    /// ```
    /// # use reflexion_toolchain::toolchain::CodeChange;
    /// let (old, new) = ("def a():\n  return 1\ndef b():\n  return 2\n", "def a():\n  return 3\ndef b():\n  return 4\n");
    /// let change = CodeChange::between("a.py", old, new).expect("it is code");
    /// assert_eq!(change.hunks.iter().map(|hunk| &hunk.place[..]).collect::<Vec<_>>(), ["2", "4"]);
    /// assert_eq!(change.without(&[1]), "def a():\n  return 3\ndef b():\n  return 2\n");
    /// ```
    #[must_use]
    pub fn between(path: &str, old: &str, new: &str) -> Option<Self> {
        let ((old, _, _), (new, tests, numbers)) = (parts(path, old)?, parts(path, new)?);
        let (old, new) = (lines(&old), lines(&new));
        if old.len() + new.len() > LINES {
            return None;
        }
        let is_code = |lines: &[String], remarks: &[bool]| {
            let has_code = |line: &str| !code(path, line).trim_matches([' ', '\t', '\r', '\n', '/', '*']).is_empty();
            lines.iter().zip(remarks).any(|(line, is_remark)| !is_remark && has_code(line))
        };
        let (old_remarks, new_remarks) = (remarks(path, &old.concat()), remarks(path, &new.concat()));
        let mut hunks = Vec::new();
        for op in capture_diff_slices(similar::Algorithm::Myers, &old, &new) {
            let (was, is) = (op.old_range(), op.new_range());
            if matches!(op, DiffOp::Equal { .. }) {
                continue;
            }
            let replaces = is_code(&old[was.clone()], &old_remarks[was.clone()]);
            if !replaces && !is_code(&new[is.clone()], &new_remarks[is.clone()]) {
                continue;
            }
            let has_code = |lines: Range<usize>| is_code(&new[lines.clone()], &new_remarks[lines]);
            let pieces = if was.is_empty() { pieces(&new, is, has_code) } else { vec![is] };
            for is in pieces {
                let (function, place) = function_and_place(&new, &numbers, &is);
                let lines = was.len() + is.len();
                hunks.push(Hunk { old: was.clone(), new: is, function, lines, replaces, place });
            }
        }
        Some(Self { old, new, numbers, tests, hunks })
    }

    /// Whether it is another one in nothing but comments and doc strings.
    ///
    /// ```
    /// # use reflexion_toolchain::toolchain::CodeChange;
    /// let only_remarks = |old, new| CodeChange::between("a.py", old, new).is_some_and(|change| change.only_remarks());
    /// assert!(only_remarks("def a():\n  return 1\n", "# One.\ndef a():\n  return 1\n"));
    /// assert!(!only_remarks("def a():\n  return 1\n", "\ndef a():\n  return 1\n"));
    /// assert!(!only_remarks("def a():\n  return 1\n", "# Two.\ndef a():\n  return 2\n"));
    /// ```
    #[must_use]
    pub fn only_remarks(&self) -> bool {
        let said = |lines: &[String]| -> Vec<String> {
            lines.iter().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
        };
        self.hunks.is_empty() && said(&self.old) != said(&self.new)
    }

    /// Whether no code differs: remarks, doc strings and empty lines at most.
    ///
    /// ```
    /// # use reflexion_toolchain::toolchain::CodeChange;
    /// let has_no_code = |old, new| CodeChange::between("a.py", old, new).is_some_and(|change| change.has_no_code());
    /// assert!(has_no_code("a = 1\n", "\n# One.\na = 1\n") && !has_no_code("a = 1\n", "a = 2\n"));
    /// ```
    #[must_use]
    pub fn has_no_code(&self) -> bool {
        self.hunks.is_empty()
    }

    /// The file with these hunks taken back, by their places in the list.
    #[must_use]
    pub fn without(&self, taken: &[usize]) -> String {
        let (mut text, mut at) = (String::new(), 0);
        for hunk in taken.iter().filter_map(|hunk| self.hunks.get(*hunk)) {
            text.extend(self.new[at..hunk.new.start].iter().map(String::as_str));
            text.extend(self.old[hunk.old.clone()].iter().map(String::as_str));
            at = hunk.new.end;
        }
        text.extend(self.new[at..].iter().map(String::as_str));
        self.with_tests(&text)
    }

    /// The file with its whole code taken back.
    #[must_use]
    pub fn without_all(&self) -> String {
        self.with_tests(&self.old.concat())
    }

    pub(super) fn with_tests(&self, code: &str) -> String {
        if self.tests.is_empty() { code.to_owned() } else { Apart::together(code, &self.tests) }
    }
}

/// The head of the function in which these lines of the file as changed are, and where they are.
fn function_and_place(new: &[String], numbers: &[usize], is: &Range<usize>) -> (usize, String) {
    let head = new[..new.len().min(is.start + 1)].iter().rposition(|line| begins_at_the_margin(line));
    let number = |at: usize| numbers.get(at).copied().unwrap_or_default();
    let place = match is.len() {
        0 => number(is.start.saturating_sub(1)).max(1).to_string(),
        1 => number(is.start).to_string(),
        _ => format!("{}-{}", number(is.start), number(is.end - 1)),
    };
    (head.unwrap_or_default(), place)
}

/// What is added in one place, in pieces of which each could go alone: two functions, two methods of a class. One begins behind an empty line,
/// as far to the left as anything of the whole; empty lines belong to the piece before them.
fn pieces(new: &[String], all: Range<usize>, has_code: impl Fn(Range<usize>) -> bool) -> Vec<Range<usize>> {
    let is_empty = |line: &str| line.trim().is_empty();
    let depth = |line: &str| line.len() - line.trim_start().len();
    let least = new[all.clone()].iter().filter(|line| !is_empty(line)).map(|line| depth(line)).min();
    let begins = |at: usize| {
        let line = &new[at];
        // What closes something, or goes on with it, is no beginning.
        let opens = line.trim_start().starts_with(|c: char| !matches!(c, '}' | ')' | ']'));
        !is_empty(line) && opens && Some(depth(line)) == least && is_empty(&new[at - 1])
    };
    let (mut pieces, mut from) = (Vec::new(), all.start);
    for at in all.start + 1..all.end {
        if begins(at) && has_code(from..at) && has_code(at..all.end) {
            pieces.push(from..at);
            from = at;
        }
    }
    pieces.push(from..all.end);
    pieces
}

/// The code of a file, the tests among it, and the number of each line of the code.
fn parts(path: &str, text: &str) -> Option<(String, String, Vec<usize>)> {
    if has_inline_tests(path) {
        let Apart { code, tests, numbers } = inline_tests(path, text)?;
        return Some((code, tests, numbers));
    }
    let numbers = (1..=text.lines().count()).collect();
    Some((text.to_owned(), String::new(), numbers))
}

fn lines(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}

/// Whether a function or something like it may begin there, as git takes it where it knows nothing of a language.
fn begins_at_the_margin(line: &str) -> bool {
    line.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '@' | '#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(change: &CodeChange) -> Vec<(&str, usize)> {
        change.hunks.iter().map(|hunk| (hunk.place.as_str(), hunk.function)).collect()
    }

    #[test]
    fn hunks_of_one_function_belong_together_and_comments_are_none() {
        let old = "def a(x):\n  y = 1\n  z = 2\n  return y\n\ndef b():\n  return 2\n";
        let new = "def a(x):\n  y = 3\n  z = 2\n  return z\n\n# new\ndef b():\n  pass\n  return 2\n";
        let change = CodeChange::between("a.py", old, new).unwrap();
        assert_eq!(places(&change), [("2", 0), ("4", 0), ("8", 6)]);
        assert_eq!(change.hunks.iter().map(|hunk| hunk.replaces).collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(change.without(&[0, 2]), new.replace("y = 3", "y = 1").replace("  pass\n", ""));
        assert_eq!(change.without(&[]), new);
        assert_eq!(change.without_all(), old);
        let removed = CodeChange::between("a.py", old, &old.replace("  z = 2\n", "")).unwrap();
        assert_eq!((places(&removed), removed.without(&[0])), (vec![("2", 0)], old.to_owned()));
    }

    #[test]
    fn functions_that_were_added_in_one_place_go_one_by_one() {
        let old = "def a():\n  return 1\n";
        let new = format!("{old}\n\n# More.\n@cached\ndef b():\n  x = 1\n\n  return x\n\n\ndef c():\n  return 2\n");
        let change = CodeChange::between("a.py", old, &new).unwrap();
        assert_eq!(places(&change), [("3-12", 0), ("13-14", 12)]);
        assert_eq!(change.without(&[1]), new[..new.find("def c").unwrap()]);
        assert_eq!(change.without(&[0]), format!("{old}def c():\n  return 2\n"));
        assert_eq!(change.without(&[0, 1]), old);
        // Methods; and what closes something is no beginning of something else.
        let (old, added) = ("class A {\n  a() {}\n}\n", "  b() {\n    x(\n\n  );\n  }\n\n  c() {}\n}\n");
        let change = CodeChange::between("a.js", old, &format!("class A {{\n  a() {{}}\n{added}")).unwrap();
        assert_eq!(places(&change), [("3-8", 0), ("9", 0)]);
        // Where code stood before, it belongs to all that is there now.
        let change = CodeChange::between("a.py", "a = 1\n", "b = 1\n\nc = 1\n").unwrap();
        assert_eq!(places(&change), [("1-3", 0)]);
    }

    #[test]
    fn tests_among_the_code_stay_as_they_are() {
        let old =
            "fn a() -> u8 {\n    1\n}\n\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n\nfn b() -> u8 {\n    1\n}\n";
        let new = old.replace("fn t() {}", "fn t() {}\n    fn u() {}").replace("    1\n", "    2\n");
        let change = CodeChange::between("a.rs", old, &new).unwrap();
        assert_eq!(change.hunks.iter().map(|hunk| hunk.place.as_str()).collect::<Vec<_>>(), ["2", "12"]);
        let taken = change.without_all();
        assert!(taken.contains("fn u()") && !taken.contains("    2\n"), "{taken}");
        assert_eq!(CodeChange::between("a.rs", old, "#[cfg(test)]\nmod tests {\n"), None);
    }

    #[test]
    fn ends_of_lines_and_of_the_file_are_kept() {
        let (old, new) = ("a = 1\r\nb = 2\r\nc = 3", "a = 2\r\nb = 2\r\nc = 4");
        let change = CodeChange::between("a.py", old, new).unwrap();
        assert_eq!(change.without(&[0]), "a = 1\r\nb = 2\r\nc = 4");
        assert_eq!(change.without(&[0, 1]), old);
    }
}
