//! Remarks of several lines: doc strings, and what stands between `/*` and `*/`.

use super::file::Remark;
use super::table::table;

/// Of each line of a file, whether it is part of a remark of several lines.
///
/// A remark begins where a line does. Examples in it that a tool runs are none.
///
/// ```
/// # use reflexion_toolchain::toolchain::remarks;
/// let text = "def add(a, b):\n    \"\"\"The sum.\n\n    Of both.\n    \"\"\"\n    return a + b\n";
/// assert_eq!(remarks("sum.py", text), [false, true, true, true, true, false]);
/// let sql = "run(\n    \"\"\"DROP\n    x\"\"\"\n)\n";
/// assert!(remarks("sum.py", sql).iter().all(|is_remark| !is_remark));
/// ```
#[must_use]
pub fn remarks(path: &str, text: &str) -> Vec<bool> {
    read(path, text, false)
}

/// The same, with the examples: a mistake in one is no mistake in code.
pub(super) fn with_examples(path: &str, text: &str) -> Vec<bool> {
    read(path, text, true)
}

fn read(path: &str, text: &str, examples: bool) -> Vec<bool> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = vec![false; lines.len()];
    let (mut at, mut before) = (0, "");
    while let Some(line) = lines.get(at) {
        let Some(Opened { remark, rest, is_remark }) = opened(path, line, before) else {
            if !line.trim().is_empty() {
                before = line;
            }
            at += 1;
            continue;
        };
        let (end, behind) = closed(remark, rest, &lines[at + 1..]);
        let last = at + end;
        if is_remark && behind.trim().is_empty() {
            if examples {
                found[at..=last].fill(true);
            } else {
                without_examples(remark, &lines[at..=last], &mut found[at..=last]);
            }
        }
        before = lines[last];
        at = last + 1;
    }
    found
}

/// Whether an example begins in a line of a remark, which tools run as a test.
///
/// ```
/// # use reflexion_toolchain::toolchain::begins_example;
/// assert!(begins_example("sum.py", "    >>> add(1, 2)"));
/// assert!(!begins_example("sum.js", " * >>> add(1, 2)"));
/// ```
#[must_use]
pub fn begins_example(path: &str, line: &str) -> bool {
    table().remarks_of(path).any(|remark| remark.unless.as_ref().is_some_and(|unless| unless.is_match(line)))
}

/// Marks the lines of a remark, but for examples: from a line that begins one to the next empty one.
fn without_examples(remark: &Remark, lines: &[&str], found: &mut [bool]) {
    let begins = |line: &str| remark.unless.as_ref().is_some_and(|unless| unless.is_match(line));
    let mut is_example = false;
    for (line, found) in lines.iter().zip(found) {
        is_example = begins(line) || is_example && !line.trim().is_empty();
        *found = !is_example;
    }
}

/// Where something of several lines begins.
struct Opened<'l> {
    remark: &'static Remark,
    /// What stands behind its first mark.
    rest: &'l str,
    /// Otherwise it is a text in the middle of code.
    is_remark: bool,
}

/// What a line opens and may not close.
fn opened<'l>(path: &str, line: &'l str, before: &str) -> Option<Opened<'l>> {
    let trimmed = line.trim_start();
    if trimmed.starts_with(['#']) || trimmed.starts_with("//") {
        return None;
    }
    let marks = table().remarks_of(path).filter_map(|remark| Some((line.find(remark.begins.as_str())?, remark)));
    let (at, remark) = marks.min_by_key(|(at, _)| *at)?;
    // Prefixes of texts (`r"""`).
    let is_first = line[..at].trim_start().chars().all(|c| matches!(c, 'r' | 'R' | 'u' | 'U'));
    let is_there = remark.after.as_ref().is_none_or(|after| before.is_empty() || after.is_match(before));
    if !is_first && remark.after.is_none() {
        // In the middle of a line it may be anything: `"src/**/*.js"`.
        return None;
    }
    Some(Opened { remark, rest: &line[at + remark.begins.len()..], is_remark: is_first && is_there })
}

/// In which line it ends, from 0, and what stands behind that end. What never ends goes to the end of the file.
fn closed<'l>(remark: &Remark, rest: &'l str, below: &[&'l str]) -> (usize, &'l str) {
    let mut lines = std::iter::once(rest).chain(below.iter().copied()).enumerate();
    let end = |line: &'l str| line.find(remark.ends.as_str()).map(|at| &line[at + remark.ends.len()..]);
    lines.find_map(|(at, line)| Some((at, end(line)?))).unwrap_or((below.len(), ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[usize]) {
        let found: Vec<usize> =
            remarks(path, text).iter().enumerate().filter(|(_, is)| **is).map(|(at, _)| at + 1).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn what_begins_a_line_and_ends_one_is_a_remark() {
        check("a.py", "'''Of the module.'''\nx = 1\n", &[1]);
        check("a.py", "class A:\n\n    r'''Words\n    more'''\n    x = 1\n", &[3, 4]);
        check("a.py", "def f(a,\n      b) -> int:  # a remark\n    \"\"\"Words\"\"\"\n", &[3]);
        check("a.js", "/**\n * Words\n */\nlet a = 1;\n  /* more */\n", &[1, 2, 3, 5]);
        check("a.rs", "/* never closed\nfn a() {}\n", &[1, 2]);
    }

    #[test]
    fn texts_and_examples_that_are_run_are_none() {
        check("a.py", "X = \"\"\"\ntext\n\"\"\"\ndef f():\n    return 1\n", &[]);
        check("a.py", "X = 1\n\"\"\"Words\"\"\"\n", &[]);
        check("a.py", "def f():\n    \"\"\"Words.\n\n    >>> f()\n    1\n\n    More.\n    \"\"\"\n", &[2, 3, 6, 7, 8]);
        check("a.js", "const all = ['src/**/*.js'];\n/* a */ let b = 1;\n", &[]);
        check("a.go", "/* a\n*/ func b() {}\n", &[]);
        check("a.md", "/* a */\n", &[]);
    }
}
