//! What in a source is a test, and what an assertion: by the conventions of the usual languages and runners.

use super::pattern::Pattern;
use super::table::{ending, table};

/// The name of the test that a line opens, whatever the language; Rust's, Java's and C#'s stand below an attribute.
#[must_use]
pub fn opens_test<'d>(line: &'d str, below_attribute: bool) -> Option<&'d str> {
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
    let by_table = |pattern: &Pattern| Some(pattern.regex()?.captures(line)?.name("name")?.as_str());
    if let Some(name) = table().opens_tests.iter().find_map(by_table) {
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
#[must_use]
pub fn is_test_attribute(line: &str) -> bool {
    let line = line.trim();
    if matches!(line, "it(" | "test(" | "specify(" | "It(") {
        return true;
    }
    let rust = line.starts_with("#[") && (line.contains("test]") || line.contains("test(") || line.contains("rstest"));
    rust || ["@Test", "@ParameterizedTest", "[Fact", "[Test", "[Theory"].iter().any(|mark| line.starts_with(mark))
}

/// The tests that the chosen lines of a file open.
#[must_use]
pub fn tests_in<'d>(lines: impl Iterator<Item = &'d str>) -> Vec<&'d str> {
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

/// Whether a line asserts something.
#[must_use]
pub fn is_assertion(line: &str) -> bool {
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

/// Whether a source holds a test or an assertion; in a language in which these cannot be told by their words, it may.
///
/// ```
/// # use reflexion_toolchain::toolchain::may_hold_tests;
/// assert!(may_hold_tests("test_cart.py", "def test_total():\n    assert total() == 3\n"));
/// assert!(!may_hold_tests("spec/loader.py", "def load(path):\n    return open(path).read()\n"));
/// assert!(may_hold_tests("t/cart.t", "is(total(), 3);\n"));
/// ```
#[must_use]
pub fn may_hold_tests(path: &str, text: &str) -> bool {
    const KNOWN: [&str; 15] =
        ["py", "rs", "go", "java", "kt", "cs", "js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "php"];
    let is_known = ending(path).is_some_and(|ending| KNOWN.contains(&ending.as_str()));
    // As runners of JavaScript have it, on whatever line.
    const CALLS: [&str; 8] =
        ["describe(", "tape(", "tap.test(", "QUnit.test(", "suite(", "expect(", ".equal(", ".deepEqual("];
    let calls = |line: &str| CALLS.iter().any(|call| line.contains(call));
    let asserts = || text.lines().any(|line| is_assertion(line.trim()) || calls(line));
    !is_known || asserts() || !tests_in(text.lines()).is_empty()
}
