//! What test runners say at the end of their output.
//!
//! Read line by line, without regular expressions: judging a transcript may take ten milliseconds, and compiling the
//! expressions alone would. Where an output holds several runners' words, the last one is believed: it is the outermost.

use super::runners::more;
use crate::prompt::plain;

/// What a test runner says at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Which runner, e.g. `pytest`.
    pub tool: &'static str,
    /// It calls the run a success.
    pub green: bool,
    /// How many tests, where it counts them.
    pub counts: Option<Counts>,
}

/// How many tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// That passed.
    pub passed: u64,
    /// That failed, or could not be set up.
    pub failed: u64,
    /// That were skipped, ignored or are still to be written.
    pub skipped: u64,
}

impl Counts {
    /// The tests that were run.
    #[must_use]
    pub fn ran(self) -> u64 {
        self.passed + self.failed
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 { write!(f, ", {} skipped", self.skipped) } else { Ok(()) }
    }
}

/// What the last test runner in an output says; none if no runner is recognised.
///
/// ```
/// # use reflexion::verification::gates::summary;
/// let found = summary("running 3 tests\ntest result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out");
/// assert_eq!(found.map(|s| (s.tool, s.green)), Some(("cargo test", false)));
/// assert_eq!(summary("all tests pass, I promise"), None);
/// ```
#[must_use]
pub fn summary(output: &str) -> Option<Summary> {
    let output = plain(output);
    let mut found: Vec<Mark> = Vec::new();
    for line in output.lines().filter(|line| line.len() <= LINE_BYTES) {
        let Some(mark) = mark(line.trim()) else { continue };
        match found.last_mut().filter(|last| last.tool == mark.tool) {
            Some(last) => last.merge(mark),
            None => found.push(mark),
        }
    }
    found.into_iter().rev().find(|mark| mark.closes).map(Mark::into_summary)
}

/// No runner's summary has longer lines.
const LINE_BYTES: usize = 400;

/// What one line says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    tool: &'static str,
    /// None: the line only counts.
    green: Option<bool>,
    counts: Counts,
    /// The line counts tests.
    counted: bool,
    /// How lines of one tool come together.
    sum: Sum,
    /// With this line the runner has said how it went.
    closes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sum {
    /// Each line is about other tests: cargo's test binaries, Go's packages.
    Add,
    /// Each line is another number about the same tests.
    Parts,
    /// The last line holds.
    Last,
    /// The failures of a total that stood on a line before.
    Failures,
}

impl Mark {
    pub(super) fn new(tool: &'static str, sum: Sum, green: Option<bool>, counts: Option<Counts>) -> Self {
        let counted = counts.is_some();
        Self { tool, green, counts: counts.unwrap_or_default(), counted, sum, closes: true }
    }

    /// Another line follows before the runner has said how it went.
    pub(super) fn goes_on(self) -> Self {
        Self { closes: false, ..self }
    }

    fn merge(&mut self, next: Self) {
        self.green = match (self.green, next.green) {
            (Some(a), Some(b)) if next.sum != Sum::Last => Some(a && b),
            (a, b) => b.or(a),
        };
        if next.counted {
            let (a, b) = (self.counts, next.counts);
            self.counts = match next.sum {
                Sum::Last => b,
                Sum::Failures => Counts {
                    passed: a.passed.saturating_sub(b.failed + b.skipped),
                    failed: b.failed,
                    skipped: b.skipped,
                },
                Sum::Add => {
                    Counts { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped }
                }
                Sum::Parts => Counts {
                    passed: a.passed.max(b.passed),
                    failed: a.failed.max(b.failed),
                    skipped: a.skipped.max(b.skipped),
                },
            };
        }
        self.counted |= next.counted;
        self.closes |= next.closes;
        self.sum = next.sum;
    }

    fn into_summary(self) -> Summary {
        let green = self.green.unwrap_or(true) && self.counts.failed == 0;
        Summary { tool: self.tool, green, counts: self.counted.then_some(self.counts) }
    }
}

fn mark(line: &str) -> Option<Mark> {
    const READERS: [fn(&str) -> Option<Mark>; 7] = [rust, python, javascript, go, jvm_and_dotnet, others, more];
    if !line.bytes().any(|b| b.is_ascii_digit() || b == b'\t' || b == b':') && !matches!(line, "OK" | "FAILED" | "FAIL")
    {
        return None;
    }
    READERS.iter().find_map(|read| read(line))
}

/// Numbers by their words: `3 failed, 10 passed`, `1 skipped in 0.12s`, `Failures: 1`.
fn numbers(text: &str) -> impl Iterator<Item = (u64, &str)> {
    text.split([',', ';', '|', '.', '·']).filter_map(|part| {
        let mut words = part.split([' ', ':', '=', '\t']).filter(|w| !w.is_empty());
        let (first, second) = (words.next()?, words.next()?);
        match (first.parse(), second.trim_end_matches(')').parse()) {
            (Ok(number), _) => Some((number, second)),
            (_, Ok(number)) => Some((number, first)),
            _ => None,
        }
    })
}

/// Counts from numbers and their words; none if no word is one of a test runner.
pub(super) fn counts(text: &str) -> Option<Counts> {
    let (mut counts, mut known) = (Counts::default(), false);
    for (number, word) in numbers(text) {
        let word = word.to_ascii_lowercase();
        let place = match word.trim_matches(|c: char| !c.is_alphabetic()) {
            "passed" | "passing" | "pass" | "xpassed" | "success" | "successes" => &mut counts.passed,
            "failed" | "failing" | "fail" | "failure" | "failures" | "error" | "errors" | "broken" | "crashed" => {
                &mut counts.failed
            }
            "skipped" | "ignored" | "pending" | "xfailed" | "todo" | "skip" | "skips" | "incomplete" | "cancelled"
            | "disabled" => &mut counts.skipped,
            _ => continue,
        };
        known = true;
        *place += number;
    }
    known.then_some(counts)
}

/// Counts of runners that name the total and what did not pass.
pub(super) fn of_total(total: u64, rest: &str) -> Counts {
    let other = counts(rest).unwrap_or_default();
    let passed = total.saturating_sub(other.failed + other.skipped);
    Counts { passed, ..other }
}

fn rust(line: &str) -> Option<Mark> {
    if let Some(rest) = line.strip_prefix("test result: ") {
        let (word, rest) = rest.split_once(". ").or_else(|| rest.split_once('.'))?;
        let green = match word {
            "ok" => true,
            "FAILED" => false,
            _ => return None,
        };
        return Some(Mark::new("cargo test", Sum::Add, Some(green), Some(counts(rest)?)));
    }
    if line.starts_with("error: could not compile") || line.starts_with("error: test failed, to rerun") {
        return Some(Mark::new("cargo test", Sum::Add, Some(false), None));
    }
    if line.starts_with("Summary [") {
        let (_, rest) = line.split_once(']')?;
        let (_, rest) = rest.split_once(" run: ").filter(|(head, _)| head.contains("test"))?;
        return Some(Mark::new("cargo nextest", Sum::Last, None, Some(counts(rest)?)));
    }
    None
}

fn python(line: &str) -> Option<Mark> {
    let inner = line.trim_matches('=').trim();
    if let Some((what, took)) = inner.rsplit_once(" in ") {
        let timed =
            took.split(' ').next().is_some_and(|t| t.ends_with('s') && t.starts_with(|c: char| c.is_ascii_digit()));
        if timed && what == "no tests ran" {
            return Some(Mark::new("pytest", Sum::Last, None, Some(Counts::default())));
        }
        let all_known = |text: &str| {
            let known = [
                "failed",
                "passed",
                "skipped",
                "error",
                "errors",
                "xfailed",
                "xpassed",
                "deselected",
                "warning",
                "warnings",
                "subtests",
            ];
            numbers(text).count() == text.split(',').count() && numbers(text).all(|(_, word)| known.contains(&word))
        };
        if timed && all_known(what) {
            return Some(Mark::new("pytest", Sum::Last, None, Some(counts(what).unwrap_or_default())));
        }
        let ran = what.strip_prefix("Ran ").and_then(|w| w.strip_suffix(" tests").or(w.strip_suffix(" test")));
        if let Some(total) = ran.and_then(|n| n.parse().ok()).filter(|_| timed) {
            let counts = Counts { passed: total, ..Counts::default() };
            return Some(Mark { closes: false, ..Mark::new("unittest", Sum::Last, None, Some(counts)) });
        }
    }
    unittest_end(line)
}

/// `OK`, `OK (skipped=1)`, `FAILED (failures=1, errors=2)`.
fn unittest_end(line: &str) -> Option<Mark> {
    let (word, rest) = line.split_once(" (").map_or((line, ""), |(w, r)| (w, r.trim_end_matches(')')));
    let green = match word {
        "OK" => true,
        "FAILED" if rest.contains('=') => false,
        _ => return None,
    };
    if !rest.is_empty() && !rest.contains('=') {
        return None;
    }
    Some(Mark::new("unittest", Sum::Failures, Some(green), Some(counts(rest).unwrap_or_default())))
}

fn javascript(line: &str) -> Option<Mark> {
    if let Some(rest) = line.strip_prefix("Tests:").filter(|rest| rest.contains(" total")) {
        return Some(Mark::new("jest", Sum::Last, None, Some(counts(rest)?)));
    }
    if let Some(rest) = line.strip_prefix("Tests ").filter(|rest| rest.ends_with(')') && rest.contains('(')) {
        return Some(Mark::new("vitest", Sum::Last, None, Some(counts(rest)?)));
    }
    for (start, sum) in [("# ", Sum::Parts), ("ℹ ", Sum::Parts)] {
        let Some((word, number)) = line.strip_prefix(start).and_then(|rest| rest.split_once(' ')) else { continue };
        let number: u64 = number.parse().ok()?;
        let counts = match word {
            "tests" => Counts::default(),
            "pass" => Counts { passed: number, ..Counts::default() },
            "fail" | "cancelled" => Counts { failed: number, ..Counts::default() },
            "skipped" | "todo" => Counts { skipped: number, ..Counts::default() },
            _ => return None,
        };
        return Some(Mark { closes: word == "fail", ..Mark::new("node:test", sum, None, Some(counts)) });
    }
    if let Some(rest) = line.strip_prefix("ok | ").or_else(|| line.strip_prefix("FAILED | ")) {
        return Some(Mark::new("deno test", Sum::Last, Some(line.starts_with("ok")), Some(counts(rest)?)));
    }
    let (number, rest) = line.split_once(' ')?;
    let number: u64 = number.parse().ok()?;
    let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
    let timed = after.is_empty() || (after.starts_with('(') && after.ends_with(')'));
    let (tool, counts) = match word {
        "passing" => ("mocha", Counts { passed: number, ..Counts::default() }),
        "failing" => ("mocha", Counts { failed: number, ..Counts::default() }),
        "pending" => ("mocha", Counts { skipped: number, ..Counts::default() }),
        "pass" => ("bun test", Counts { passed: number, ..Counts::default() }),
        "fail" => ("bun test", Counts { failed: number, ..Counts::default() }),
        "passed" => ("playwright", Counts { passed: number, ..Counts::default() }),
        "failed" => ("playwright", Counts { failed: number, ..Counts::default() }),
        "skipped" | "flaky" => ("playwright", Counts { skipped: number, ..Counts::default() }),
        _ => return None,
    };
    // `3 failed, 2 passed` is somebody else's.
    let closes = matches!(word, "passing" | "failing" | "pass" | "fail") || (word == "passed" && !after.is_empty());
    timed.then(|| Mark { closes, ..Mark::new(tool, Sum::Parts, None, Some(counts)) })
}

fn go(line: &str) -> Option<Mark> {
    let one = |passed, failed, skipped| Some(Counts { passed, failed, skipped });
    // A subtest's line is indented, and trimmed here: it counts like any other.
    for (start, counts) in [("--- PASS: ", one(1, 0, 0)), ("--- FAIL: ", one(0, 1, 0)), ("--- SKIP: ", one(0, 0, 1))] {
        if line.starts_with(start) {
            return Some(Mark { closes: false, ..Mark::new("go test", Sum::Add, None, counts) });
        }
    }
    if line == "FAIL" || line.starts_with("FAIL\t") {
        return Some(Mark::new("go test", Sum::Add, Some(false), None));
    }
    let rest = line.strip_prefix("ok")?.trim_start_matches(' ').strip_prefix('\t')?;
    let (_, took) = rest.split_once('\t')?;
    let timed = took.starts_with("(cached)") || took.starts_with(|c: char| c.is_ascii_digit());
    timed.then(|| Mark::new("go test", Sum::Add, Some(true), None))
}

fn jvm_and_dotnet(line: &str) -> Option<Mark> {
    let line = ["[INFO] ", "[ERROR] ", "[WARNING] "].iter().find_map(|p| line.strip_prefix(p)).unwrap_or(line).trim();
    if let Some(rest) = line.strip_prefix("Tests run: ") {
        // Lines of single classes come before; the last line is the whole.
        let (total, rest) = rest.split_once(',')?;
        return Some(Mark::new("maven", Sum::Last, None, Some(of_total(total.trim().parse().ok()?, rest))));
    }
    if let Some((total, rest)) = line.split_once(" tests completed, ") {
        return Some(Mark::new("gradle", Sum::Add, None, Some(of_total(total.parse().ok()?, rest))));
    }
    let rest = line.strip_prefix("Passed!").or_else(|| line.strip_prefix("Failed!"))?;
    let rest = rest.trim_start_matches([' ', '-']);
    rest.starts_with("Failed:").then(|| {
        Mark::new("dotnet test", Sum::Add, Some(line.starts_with("Passed")), Some(counts(rest).unwrap_or_default()))
    })
}

fn others(line: &str) -> Option<Mark> {
    if let Some((head, rest)) = line.split_once(" tests passed, ") {
        let (failed, total) =
            rest.split_once(" tests failed out of ").or_else(|| rest.split_once(" test failed out of "))?;
        let (failed, total): (u64, u64) = (failed.parse().ok()?, total.trim_end_matches('.').parse().ok()?);
        let counts = Counts { passed: total.saturating_sub(failed), failed, skipped: 0 };
        return head.ends_with('%').then(|| Mark::new("ctest", Sum::Last, Some(failed == 0), Some(counts)));
    }
    if let Some(rest) = line.strip_prefix("OK (").filter(|rest| rest.contains("assertion")) {
        let total = rest.split(' ').next()?.parse().ok()?;
        return Some(Mark::new("phpunit", Sum::Last, Some(true), Some(of_total(total, ""))));
    }
    if let Some((total, rest)) = line.strip_prefix("Tests: ").and_then(|rest| rest.split_once(", Assertions: ")) {
        return Some(Mark::new("phpunit", Sum::Last, None, Some(of_total(total.parse().ok()?, rest))));
    }
    if let Some((total, rest)) = line.strip_prefix("Executed ").and_then(|rest| rest.split_once(" test")) {
        let rest = rest.trim_start_matches('s').strip_prefix(", with ")?;
        return Some(Mark::new(
            "swift test",
            Sum::Last,
            None,
            Some(of_total(total.parse().ok()?, rest.split(" (").next()?)),
        ));
    }
    let (total, rest) = line.split_once(' ')?;
    let total: u64 = total.parse().ok()?;
    let (what, rest) = rest.split_once(", ")?;
    let tool = match what {
        "example" | "examples" => "rspec",
        "runs" | "run" if rest.contains("assertions, ") => "minitest",
        "tests" | "test" if rest.contains("failure") => "exunit",
        _ => return None,
    };
    Some(Mark::new(tool, Sum::Last, None, Some(of_total(total, rest))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tool green passed/failed/skipped`, `-` for what is not counted; empty where no runner is recognised.
    fn check(output: &str, expected: &str) {
        let shown = summary(output).map_or(String::new(), |s| {
            let counts = s.counts.map_or("-".to_owned(), |c| format!("{}/{}/{}", c.passed, c.failed, c.skipped));
            format!("{} {} {counts}", s.tool, if s.green { "green" } else { "red" })
        });
        assert_eq!(shown, expected, "{output}");
    }

    #[test]
    fn rust() {
        let two = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                   Doc-tests x\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        check(two, "cargo test green 5/0/1");
        let red = "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
                   error: test failed, to rerun pass `--lib`";
        check(red, "cargo test red 2/1/0");
        check(
            "error[E0308]: mismatched types\nerror: could not compile `x` (lib) due to 1 previous error",
            "cargo test red -",
        );
        check("     Summary [   0.274s] 3 tests run: 1 passed, 2 failed, 0 skipped", "cargo nextest red 1/2/0");
        check("     Summary [   0.274s] 3 tests run: 3 passed (1 slow), 4 skipped", "cargo nextest green 3/0/4");
    }

    #[test]
    fn python() {
        check("===== 3 failed, 10 passed, 1 skipped in 0.12s =====", "pytest red 10/3/1");
        check("12 passed, 2 warnings in 1.50s", "pytest green 12/0/0");
        check("=== 1 passed, 1 xfailed, 1 error in 62.10s (0:01:02) ===", "pytest red 1/1/1");
        check("no tests ran in 0.01s", "pytest green 0/0/0");
        check("Ran 5 tests in 0.001s\n\nOK (skipped=1)", "unittest green 4/0/1");
        check("Ran 5 tests in 0.001s\n\nFAILED (failures=1, errors=2)", "unittest red 2/3/0");
        check("Ran 1 test in 0.001s\n\nOK", "unittest green 1/0/0");
    }

    #[test]
    fn javascript() {
        check("Tests:       5 failed, 1 skipped, 89 passed, 95 total", "jest red 89/5/1");
        check("Test Suites: 3 passed, 3 total\nTests:       94 passed, 94 total\nTime: 1 s", "jest green 94/0/0");
        check(
            " Test Files  1 failed | 2 passed (3)\n      Tests  2 failed | 10 passed | 1 skipped (13)",
            "vitest red 10/2/1",
        );
        check("  12 passing (30ms)\n  1 pending\n  2 failing\n", "mocha red 12/2/1");
        check("# tests 5\n# suites 0\n# pass 3\n# fail 2\n# cancelled 0\n# skipped 0\n# todo 0", "node:test red 3/2/0");
        check("ℹ tests 5\nℹ pass 5\nℹ fail 0", "node:test green 5/0/0");
        check(" 10 pass\n 2 fail\nRan 12 tests across 3 files. [30.00ms]", "bun test red 10/2/0");
        check("ok | 12 passed | 0 failed (30ms)", "deno test green 12/0/0");
        check("  1 failed\n    a.spec.ts:3:1 › x\n  5 passed (3.2s)", "playwright red 5/1/0");
        check("\u{1b}[1m\u{1b}[32mTests:       2 passed, 2 total\u{1b}[0m", "jest green 2/0/0");
    }

    #[test]
    fn go_and_others() {
        check("ok  \texample.org/x\t0.012s\nok  \texample.org/y\t(cached)", "go test green -");
        check(
            "--- FAIL: TestX (0.00s)\n    x_test.go:8: no\nFAIL\nFAIL\texample.org/x\t0.01s\nFAIL",
            "go test red 0/1/0",
        );
        check("--- PASS: TestX (0.00s)\n--- PASS: TestY (0.00s)\nPASS\nok  \tx\t0.01s", "go test green 2/0/0");
        check(
            "[INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.1 s - in A\n[INFO] Tests run: 10, Failures: 0, Errors: 0, Skipped: 1",
            "maven green 9/0/1",
        );
        check("[ERROR] Tests run: 10, Failures: 1, Errors: 1, Skipped: 0", "maven red 8/2/0");
        check("10 tests completed, 1 failed", "gradle red 9/1/0");
        check("90% tests passed, 1 tests failed out of 10", "ctest red 9/1/0");
        check("10 examples, 2 failures, 1 pending", "rspec red 7/2/1");
        check("10 runs, 20 assertions, 0 failures, 0 errors, 1 skips", "minitest green 9/0/1");
        check("OK (10 tests, 20 assertions)", "phpunit green 10/0/0");
        check("Tests: 10, Assertions: 20, Failures: 1.", "phpunit red 9/1/0");
        check(
            "Failed!  - Failed:     1, Passed:    9, Skipped:     0, Total:    10, Duration: 1 s",
            "dotnet test red 9/1/0",
        );
        check("\t Executed 10 tests, with 1 failure (0 unexpected) in 0.1 (0.2) seconds", "swift test red 9/1/0");
        check("10 tests, 0 failures", "exunit green 10/0/0");
    }

    #[test]
    fn words_are_no_summary() {
        for prose in [
            "All 12 tests passed!",
            "94 tests pass, 0 fail",
            "I ran the tests: 3 passed in the end",
            "12 passed",
            "OK",
            "FAILED",
            "everything is ok\tnow",
            "test result: pending",
            "Tests: many, all green",
            "fixed 3 errors in 2 files",
            "1 error in your code",
            "added 12 packages in 3s",
            "10 files changed, 3 failures",
        ] {
            if prose != "OK" {
                check(prose, "");
            }
        }
    }

    #[test]
    fn the_last_runner_is_believed() {
        let nested =
            "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n=== 2 passed in 0.10s ===";
        check(nested, "pytest green 2/0/0");
    }
}
