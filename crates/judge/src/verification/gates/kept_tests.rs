//! What in a source is a test, and what an assertion: by the conventions of the usual languages and runners.

use super::diff::{FileDiff, Line};
use crate::toolchain::mark;

pub(super) use crate::toolchain::{is_assertion, is_test_attribute, opens_test, tests_in};

/// The tests that a change adds to a file, without those that cannot fail: with nothing in them, or switched off.
pub(super) fn added_tests<'d>(file: &FileDiff<'d>) -> Vec<&'d str> {
    let mut found = Vec::new();
    for hunk in &file.hunks {
        let lines = hunk.iter().filter_map(|line| match line {
            Line::Same(text) => Some((*text, false)),
            Line::Added(text) => Some((*text, true)),
            Line::Removed(_) => None,
        });
        // The indent of the line that says that the next one names a test.
        let mut below: Option<usize> = None;
        let mut off = false;
        let mut open: Option<Opened<'d>> = None;
        for (text, new) in lines {
            if is_test_attribute(text) {
                (below, off) = (Some(indent(text)), off || mark(file.path, text).is_some());
                found.extend(open.take().and_then(Opened::name));
            } else if let Some(name) = opens_test(text, below.is_some()) {
                found.extend(open.take().and_then(Opened::name));
                let mut opened = Opened::new(file.path, name, text, new, off);
                opened.indent = below.unwrap_or(opened.indent).min(opened.indent);
                open = Some(opened);
                (below, off) = (None, false);
            } else if text.trim().starts_with(['#', '@', '[', '/']) {
                off |= mark(file.path, text).is_some();
            } else {
                (below, off) = (None, false);
                if let Some(ended) = open.take_if(|open| open.ends_with(text)) {
                    found.extend(Opened { is_seen: true, ..ended }.name());
                } else if let Some(open) = &mut open {
                    open.holds |= !is_idle(file.path, text);
                    // Whatever happens, not only where a condition says so.
                    let is_outermost = !open.is_seen || indent(text) == open.body;
                    open.is_off |= is_outermost && mark(file.path, text).is_some();
                    if !open.is_seen {
                        (open.is_seen, open.body) = (true, indent(text));
                    }
                }
            }
        }
        found.extend(open.and_then(Opened::name));
    }
    found
}

/// A test, as far as a hunk shows it.
struct Opened<'d> {
    name: &'d str,
    indent: usize,
    /// The indent of its body.
    body: usize,
    is_new: bool,
    is_off: bool,
    /// Something of its body was seen.
    is_seen: bool,
    /// Something in it may fail.
    holds: bool,
}

impl<'d> Opened<'d> {
    fn new(path: &str, name: &'d str, line: &str, is_new: bool, is_off: bool) -> Self {
        // A name alone is a test that somebody means to write.
        let behind = line.find(name).map_or("", |at| &line[at + name.len()..]);
        let is_off =
            is_off || mark(path, line).is_some() || matches!(behind, "\"" | "'" | "\")" | "')" | "\");" | "');");
        // What stands on the line of its name: `def test_a(): pass`, `fn a() {}`, `it("adds", () => {`.
        let body = ["=>", "):", "None:", ") {", "{"]
            .iter()
            .find_map(|open| line.find(open).map(|at| &line[at + open.len()..]));
        let body = body.unwrap_or_default().trim();
        let is_seen = !body.trim_start_matches(['{', ' ']).is_empty();
        Self { name, indent: indent(line), body: 0, is_new, is_off, is_seen, holds: is_seen && !is_idle(path, body) }
    }

    /// Whether a line below it is none of it: no deeper than its own.
    fn ends_with(&self, line: &str) -> bool {
        !line.trim().is_empty() && line.trim() != "{" && indent(line) <= self.indent
    }

    /// Its name, if it is a new one that may fail; of one that nothing is seen of, nobody knows.
    fn name(self) -> Option<&'d str> {
        (self.is_new && !self.is_off && (self.holds || !self.is_seen)).then_some(self.name)
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a line of a test's body does nothing that may fail.
fn is_idle(path: &str, line: &str) -> bool {
    let line = line.trim();
    let words = line.trim_matches(|c: char| "{}()[];, ".contains(c));
    matches!(words, "" | "pass" | "..." | "return" | "end" | "done" | "do" | "t.pass" | "true" | "null" | "undefined")
        || is_comment(line)
        || is_trivial(line)
        || mark(path, line).is_some()
}

pub(super) fn is_comment(line: &str) -> bool {
    line.starts_with("//")
        || (line.starts_with("# ") || line.starts_with('#') && !line.starts_with("#["))
        || line.starts_with("/*")
}

/// A test that is run for many cases.
pub(super) fn takes_cases(line: &str) -> bool {
    const MARKS: [&str; 12] = [
        "@pytest.mark.parametrize",
        "@parameterized",
        "it.each",
        "test.each",
        "describe.each",
        "#[rstest",
        "#[case",
        "#[test_case",
        "@ParameterizedTest",
        "[Theory",
        "t.Run(",
        "with self.subTest(",
    ];
    let line = line.trim();
    MARKS.iter().any(|mark| line.starts_with(mark))
}

/// Assertions that hold whatever the code does.
pub(super) fn is_trivial(line: &str) -> bool {
    let line: String = line.trim().trim_end_matches(';').chars().filter(|c| !c.is_whitespace()).collect();
    const TRIVIAL: [&str; 20] = [
        "assert!(true)",
        "assertTrue",
        "assert1",
        "assert1==1",
        "assert(true)",
        "assert.ok(true)",
        "assert.equal(1,1)",
        "expect(true).toBe(true)",
        "expect(true).toBeTruthy()",
        "expect(true).toEqual(true)",
        "expect(1).toBe(1)",
        "expect(1).toEqual(1)",
        "assertTrue(true)",
        "self.assertTrue(True)",
        "assert.True(t,true)",
        "require.True(t,true)",
        "Assert.True(true)",
        "Assert.IsTrue(true)",
        "assert!(1==1)",
        "assertTrue==True",
    ];
    if TRIVIAL.contains(&line.as_str()) || line.starts_with("assert!(true,") || line.starts_with("assertTrue,") {
        return true;
    }
    let sides = line.strip_prefix("assert_eq!(").or_else(|| line.strip_prefix("assertEquals("));
    let sides = sides.or_else(|| line.strip_prefix("self.assertEqual(")).and_then(|rest| rest.strip_suffix(')'));
    sides.and_then(|s| s.split_once(',')).is_some_and(|(a, b)| a == b)
        || line.strip_prefix("assert").and_then(|s| s.split_once("==")).is_some_and(|(a, b)| a == b && !a.contains('('))
        || line.contains("||true)") && is_assertion(&line)
        || line.ends_with("orTrue") && is_assertion(&line)
}
