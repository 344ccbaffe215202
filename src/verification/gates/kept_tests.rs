//! What in a source is a test, and what an assertion: by the conventions of the usual languages and runners.

use super::diff::FileDiff;
use super::diff::Line;
use crate::toolchain::mark;

/// The name of the test that a line opens, whatever the language; Rust's, Java's and C#'s stand below an attribute.
pub(super) fn opens_test<'d>(line: &'d str, below_attribute: bool) -> Option<&'d str> {
    let line = line.trim();
    let word = |rest: &'d str| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        Some(&rest[..end]).filter(|name| !name.is_empty())
    };
    let python = line.strip_prefix("async ").unwrap_or(line).strip_prefix("def ").filter(|r| r.starts_with("test"));
    let php = ["public ", "final ", "static "].iter().fold(line, |line, word| line.strip_prefix(word).unwrap_or(line));
    let php = php.strip_prefix("function ").filter(|r| r.starts_with("test"));
    let go = line.strip_prefix("func ").filter(|r| r.starts_with("Test") && r.contains("testing."));
    if let Some(name) = python.or(go).or(php).and_then(word) {
        return Some(name);
    }
    const CALLS: [&str; 11] =
        ["it(", "test(", "it.each", "test.each", "specify(", "it \"", "it '", "test \"", "@test \"", "@test '", "It("];
    if let Some(call) = CALLS.iter().find(|call| line.starts_with(**call)) {
        let rest = &line[call.len() - 1..];
        let start = rest.find(['"', '\'', '`'])?;
        let quote = rest[start..].chars().next()?;
        return rest[start + 1..].split(quote).next().filter(|name| !name.is_empty());
    }
    if !below_attribute {
        return None;
    }
    // Formatters put a long name on the line below the call.
    if let Some(quote) = line.chars().next().filter(|c| matches!(c, '"' | '\'' | '`')) {
        return line[1..].split(quote).next().filter(|name| !name.is_empty());
    }
    let fun = line.find("fn ").map(|at| &line[at + 3..]).or_else(|| line.find("fun ").map(|at| &line[at + 4..]));
    fun.and_then(word).or_else(|| {
        let before = &line[..line.find('(')?];
        let name = before.rsplit([' ', '\t']).next()?;
        (before.contains(' ') && !name.is_empty()).then_some(name)
    })
}

/// Whether the line below one names a test: an attribute, or a call whose name stands there.
pub(super) fn is_test_attribute(line: &str) -> bool {
    let line = line.trim();
    if matches!(line, "it(" | "test(" | "specify(" | "It(") {
        return true;
    }
    let rust = line.starts_with("#[") && (line.contains("test]") || line.contains("test(") || line.contains("rstest"));
    rust || ["@Test", "@ParameterizedTest", "[Fact", "[Test", "[Theory"].iter().any(|mark| line.starts_with(mark))
}

/// The tests that the chosen lines of a file open.
pub(super) fn tests_in<'d>(lines: impl Iterator<Item = &'d str>) -> Vec<&'d str> {
    let (mut below, mut names) = (false, Vec::new());
    for line in lines {
        if is_test_attribute(line) {
            below = true;
        } else if let Some(name) = opens_test(line, below) {
            names.push(name);
            below = false;
        } else if !line.trim().starts_with(['#', '@', '[', '/']) {
            below = false;
        }
    }
    names
}

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

pub(super) fn is_assertion(line: &str) -> bool {
    const STARTS: [&str; 14] = [
        "assert",
        "debug_assert",
        "prop_assert",
        "expect(",
        "expect ",
        "self.assert",
        "this.assert",
        "t.Error",
        "t.Fatal",
        "require.",
        "should",
        "XCTAssert",
        "Assert.",
        "cy.should",
    ];
    STARTS.iter().any(|start| line.starts_with(start)) || line.contains(".should(")
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
