//! What test runners say at the end of their output.
//!
//! Where an output holds several runners' words, the last one is believed: it is the outermost.

use super::counts;
use super::counts::Counts;
use super::file::{FailureLine, Joins, SummaryLine, When};
use super::pattern::Pattern;
use super::table::table;
use std::collections::BTreeSet;

/// What a test runner says at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestSummary {
    /// Which runner, e.g. `pytest`.
    pub runner: &'static str,
    /// It calls the run a success.
    pub green: bool,
    /// How many tests, where it counts them.
    pub counts: Option<Counts>,
    /// The counts are those of the whole run: it was not stopped early, and not only some of the tests are named.
    pub whole: bool,
    /// The run was stopped early: what stands behind it did not run.
    pub stopped: bool,
    /// The runner says as much of every run. Without it, a run that passes may say nothing.
    pub always: bool,
    /// The counts are a sum over several lines: what was cut out of the output is missing in it.
    pub summed: bool,
}

/// No runner's summary has longer lines.
const LINE_BYTES: usize = 400;

/// What the last test runner in an output says; none if no runner is recognised.
///
/// ```
/// # use reflexion_toolchain::toolchain::summary;
/// let found = summary("running 3 tests\ntest result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out");
/// assert_eq!(found.map(|s| (s.runner, s.green)), Some(("cargo test", false)));
/// assert_eq!(summary("all tests pass, I promise"), None);
/// ```
#[must_use]
pub fn summary(output: &str) -> Option<TestSummary> {
    marks(output, |_, _| false).own.into_iter().rev().find(|mark| mark.closes).map(Mark::into_summary)
}

/// What every run of a test runner in an output says, in order.
///
/// ```
/// # use reflexion_toolchain::toolchain::summaries;
/// let found = summaries("Ran 5 tests in 0.001s\n\nOK\nRan 2 tests in 0.001s\n\nOK\n=== 1 failed in 0.10s ===");
/// assert_eq!(found.iter().map(|said| said.runner).collect::<Vec<_>>(), ["unittest", "unittest", "pytest"]);
/// ```
#[must_use]
pub fn summaries(output: &str) -> Vec<TestSummary> {
    whole(marks(output, Mark::is_followed_by).own)
}

/// What is said so by what tests that failed have printed, where their runner shows that and says that it does.
///
/// ```
/// # use reflexion_toolchain::toolchain::{quoted_summaries, summaries};
/// let output = "--- Captured stdout call ---\nRan 5 tests in 0.001s\n\nOK\n=== short test summary info ===\n1 failed in 0.10s";
/// assert_eq!(summaries(output).iter().map(|said| said.runner).collect::<Vec<_>>(), ["pytest"]);
/// assert_eq!(quoted_summaries(output).iter().map(|said| said.runner).collect::<Vec<_>>(), ["unittest"]);
/// ```
#[must_use]
pub fn quoted_summaries(output: &str) -> Vec<TestSummary> {
    whole(marks(output, Mark::is_followed_by).quoted)
}

fn whole(found: Vec<Mark>) -> Vec<TestSummary> {
    // Lines of two runs at once come mixed: one that never closes belongs to the others of its runner.
    let closes = |mark: &Mark| found.iter().any(|other| other.runner == mark.runner && other.closes);
    let said: Vec<bool> = found.iter().map(closes).collect();
    found.into_iter().zip(said).filter(|(_, said)| *said).map(|(mark, _)| mark.into_summary()).collect()
}

/// What runners have said, in order.
#[derive(Default)]
struct Marks {
    own: Vec<Mark>,
    /// What a runner repeats of tests that failed.
    quoted: Vec<Mark>,
}

/// What runners have said; what one of them says in several lines is one, unless another run begins.
fn marks(output: &str, begins: fn(&Mark, &Mark) -> bool) -> Marks {
    let plain = anstream::adapter::strip_str(output).to_string();
    let mut found = Marks::default();
    let mut extra = Vec::new();
    let mut until: Option<&Pattern> = None;
    let lines = plain.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty() && line.len() <= LINE_BYTES);
    for line in lines {
        until = until.filter(|end| !end.is_match(line));
        if until.is_some() {
            take_in(&mut found.quoted, line, begins);
            continue;
        }
        until = table().quoted.iter().find(|quoted| quoted.from.is_match(line)).map(|quoted| &quoted.to);
        extra.extend(failures_in(line).filter(|(row, _)| !row.is_test).map(|(row, name)| (row.runner.as_str(), name)));
        take_in(&mut found.own, line, begins);
    }
    say_extra(&mut found.own, extra);
    found
}

fn take_in(found: &mut Vec<Mark>, line: &str, begins: fn(&Mark, &Mark) -> bool) {
    let Some(mark) = mark(line) else { return };
    match found.last_mut().filter(|last| last.runner == mark.runner && !begins(last, &mark)) {
        Some(last) => last.merge(mark),
        // What failed, without a line that says of how many, is somebody else's word.
        None if matches!(mark.joins, Joins::Failures | Joins::OfPassed) => {}
        None => found.push(mark),
    }
}

/// Some failures are no tests of their own. What has a name may stand there twice.
fn say_extra(found: &mut [Mark], extra: Vec<(&str, Option<String>)>) {
    let mut seen = BTreeSet::new();
    for (runner, name) in extra {
        if name.is_some() && !seen.insert((runner, name)) {
            continue;
        }
        let counts = found.iter_mut().filter(|mark| mark.runner == runner).filter_map(|mark| mark.counts.as_mut());
        counts.fold(1, |left, counts| counts.take_as_extra(left));
    }
}

/// What a line says of single failures, with the name of what failed.
fn failures_in(line: &str) -> impl Iterator<Item = (&'static FailureLine, Option<String>)> {
    table().failures.iter().filter(|row| line.contains(&row.contains)).filter_map(move |row| {
        let found = row.line.regex()?.captures(line)?;
        Some((row, found.name("name").map(|name| name.as_str().to_owned())))
    })
}

/// The test that a line of a runner's output names as failed, after its runner.
///
/// ```
/// # use reflexion_toolchain::toolchain::failed_test;
/// assert_eq!(failed_test("rspec ./cart_spec.rb:3 # Cart adds prices"), Some(("rspec", "Cart adds prices".to_owned())));
/// assert_eq!(failed_test("all is well"), None);
/// ```
#[must_use]
pub fn failed_test(line: &str) -> Option<(&'static str, String)> {
    failures_in(line.trim()).find_map(|(row, name)| Some((row.runner.as_str(), name.filter(|_| row.is_test)?)))
}

/// What one line says, and then what several have said together.
#[derive(Debug)]
struct Mark {
    runner: &'static str,
    /// None: the line only counts.
    green: Option<bool>,
    /// None: it counts nothing.
    counts: Option<Counts>,
    joins: Joins,
    /// With this line the runner has said how it went.
    closes: bool,
    partial: bool,
    cut: bool,
    always: bool,
    /// The lines of which a run has one.
    once: Vec<&'static str>,
}

fn mark(line: &str) -> Option<Mark> {
    table().lines.iter().filter(|row| line.contains(&row.contains)).find_map(|row| row.read(line))
}

impl SummaryLine {
    fn read(&'static self, line: &str) -> Option<Mark> {
        let found = self.line.regex()?.captures(line)?;
        let has = |name: &str| found.name(name).is_some();
        // A word counts one.
        let number = |text: &str| text.parse::<u32>().map_or(1, u64::from);
        let group = |name: &str| found.name(name).map(|group| number(group.as_str()));
        let totals: Vec<u64> = self
            .line
            .regex()?
            .capture_names()
            .flatten()
            .filter(|name| name.starts_with("total"))
            .filter_map(group)
            .collect();
        let mut counts = found.name("counts").map_or_else(Counts::default, |list| counts::read(list.as_str()));
        counts.passed += group("passed").unwrap_or(0);
        counts.failed += group("failed").unwrap_or(0) + group("errors").unwrap_or(0);
        counts.extra += group("errors").unwrap_or(0);
        counts.skipped += group("skipped").unwrap_or(0);
        let counted = ["counts", "passed", "failed", "errors", "skipped", "none"].iter().any(|name| has(name));
        if !totals.is_empty() {
            counts = match (has("passed"), has("failed")) {
                (true, false) => {
                    let rest = totals.iter().sum::<u64>().saturating_sub(counts.ran() + counts.skipped);
                    Counts { failed: counts.failed + rest, ..counts }
                }
                _ => counts.of_total(totals.iter().sum()),
            };
        }
        Some(Mark {
            runner: &self.runner,
            green: if has("red") { Some(false) } else { has("green").then_some(true) },
            counts: (counted || !totals.is_empty()).then_some(counts),
            joins: self.joins,
            closes: !self.goes_on,
            partial: self.partial,
            cut: has("cut"),
            always: self.when == When::Always && !self.no_tests,
            once: if self.once { vec![self.line.text()] } else { Vec::new() },
        })
    }
}

impl Mark {
    /// Whether the next line of this runner is about another run.
    fn is_followed_by(&self, next: &Self) -> bool {
        let again = next.once.iter().any(|line| self.once.contains(line));
        let begins = next.joins == Joins::FailuresFirst || (!next.once.is_empty() && next.joins == Joins::Last);
        again || (begins && self.closes)
    }

    fn merge(&mut self, next: Self) {
        self.green = match (self.green, next.green) {
            (Some(a), Some(b)) if next.joins != Joins::Last => Some(a && b),
            (a, b) => b.or(a),
        };
        self.partial = match (self.counts, next.counts) {
            (None, _) => next.partial,
            (_, None) => self.partial,
            _ => self.partial && next.partial,
        };
        self.counts = match (self.counts, next.counts) {
            (Some(a), Some(b)) => Some(match next.joins {
                Joins::Last if self.joins == Joins::FailuresFirst => a.of_total(b.ran()),
                Joins::FailuresFirst if self.joins == Joins::FailuresFirst => a.plus(b),
                Joins::Last | Joins::FailuresFirst => b,
                Joins::Failures => b.of_total(a.passed),
                Joins::OfPassed => a.without(b.skipped),
                Joins::Add => a.plus(b),
                Joins::Parts => a.most(b),
            }),
            (a, b) => b.or(a),
        };
        self.cut |= next.cut;
        self.always |= next.always;
        self.closes |= next.closes;
        self.joins = next.joins;
        self.once.extend(next.once);
    }

    fn into_summary(self) -> TestSummary {
        let failed = self.counts.is_some_and(|counts| counts.failed > 0);
        TestSummary {
            runner: self.runner,
            green: self.green.unwrap_or(true) && !failed,
            counts: self.counts,
            whole: !self.partial && !self.cut,
            stopped: self.cut,
            always: self.always,
            summed: self.joins == Joins::Add,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tool green passed/failed/skipped`, `-` for what is not counted; empty where no runner is recognised.
    fn check(output: &str, expected: &str) {
        let shown = summary(output).map_or(String::new(), |s| {
            let counts = s.counts.map_or("-".to_owned(), |c| format!("{}/{}/{}", c.passed, c.failed, c.skipped));
            format!("{} {} {counts}", s.runner, if s.green { "green" } else { "red" })
        });
        assert_eq!(shown, expected, "{output}");
    }

    const PROVE: &str = "Test Summary Report\n-------------------\n\
        t/b.t  (Wstat: 256 (exited 1) Tests: 2 Failed: 1)\n  Failed test:  1\n  Non-zero exit status: 1\n\
        t/f.t  (Wstat: 65024 (exited 254) Tests: 1 Failed: 0)\n  Non-zero exit status: 254\n  Parse errors: No plan found in TAP output\n\
        t/h.t  (Wstat: 0 Tests: 1 Failed: 0)\n  TODO passed:   1\n\
        t/j.t  (Wstat: 1024 Tests: 15 Failed: 4)\n  Failed tests:  3-6\n  Non-zero exit status: 4\n\
        Files=4, Tests=19,  1 wallclock secs ( 0.03 usr  0.01 sys +  0.23 cusr  0.10 csys =  0.37 CPU)\nResult: FAIL\n";

    #[test]
    fn failures_may_stand_before_their_total() {
        let said = |output: &str| {
            let counts = summaries(output).into_iter().filter_map(|said| said.counts);
            counts.map(|counts| (counts.ran(), counts.surely_ran(), counts.failed)).collect::<Vec<_>>()
        };
        assert_eq!(said(PROVE), [(19, 18, 6)]);
        let green = "t/a.t .. ok\nAll tests successful.\nFiles=1, Tests=2,  0 wallclock secs\nResult: PASS\n";
        // Each run has its own.
        assert_eq!(said(&[PROVE, green, PROVE, PROVE].concat()), [(19, 18, 6), (2, 2, 0), (19, 18, 6), (19, 18, 6)]);
        check(&[PROVE, PROVE].concat(), "prove red 13/6/0");
        check("Result: FAIL\n", "");
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
        check("  1 flaky\n    a.spec.ts:3:1 › x\n  1 skipped\n  5 passed (3.2s)", "playwright green 6/0/1");
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
        check("100% tests passed, 0 tests failed out of 10", "ctest green 10/0/0");
        check("100% tests passed out of 10", "ctest green 10/0/0");
        let skipped =
            "The following tests did not run:\n\t  2 - b (Skipped)\n\t  3 - c (Skipped)\n\t  4 - d (Disabled)\n";
        check(&format!("100% tests passed, 0 tests failed out of 9\n\n{skipped}"), "ctest green 7/0/2");
        check(&format!("90% tests passed, 1 tests failed out of 10\n\n{skipped}"), "ctest red 7/1/2");
        check(skipped, "");
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
    fn a_run_that_fails_and_one_that_passes_are_of_one_runner() {
        for (red, green, runner) in [
            ("FAILURES!!!\nTests run: 3,  Failures: 1\n", "OK (3 tests)\n", "junit"),
            // tape's own total counts what is still to be written as passed; its lines are those of the protocol.
            (
                "ok 1 a\nok 2 b\nnot ok 3 c\n\n1..3\n# tests 3\n# pass  2\n# fail  1\n",
                "ok 1 a\nok 2 b\nok 3 c\n\n1..3\n# tests 3\n# pass  3\n\n# ok\n",
                "TAP",
            ),
            (
                "Ran 3 tests in 0.003s\n\nFAILED (failures=1, successes=2)\n",
                "Ran 3 tests in 0.003s\n\nPASSED (successes=3)\n",
                "unittest",
            ),
        ] {
            check(red, &format!("{runner} red 2/1/0"));
            check(green, &format!("{runner} green 3/0/0"));
            let runners = |output| summaries(output).into_iter().map(|said| said.runner).collect::<BTreeSet<_>>();
            assert_eq!(runners(red), runners(green));
        }
        check("ok 1 a\nok 2 b\nnot ok 3 c # TODO\n\n1..3\n# tests 3\n# pass  3\n\n# ok\n", "TAP green 2/0/1");
        check("Ran 2 tests in 0.003s\n\nPASSED (skips=1, successes=1)", "unittest green 1/0/1");
    }

    #[test]
    fn the_less_common_runners() {
        check("Suite result: FAILED. 8 passed; 1 failed; 0 skipped; finished in 1.2ms", "forge test red 8/1/0");
        check("Suite result: ok. 9 passed; 0 failed; 1 skipped", "forge test green 9/0/1");
        check("00:01 +3: a\n00:02 +11 -1: Some tests failed.", "flutter test red 11/1/0");
        check("00:02 +12 ~1: All tests passed!", "flutter test green 12/0/1");
        check("Ran 12 tests containing 20 assertions.\n1 failures, 0 errors.", "clojure.test red 11/1/0");
        check("Ok:                 11\nExpected Fail:      0\nFail:               1", "meson test red 11/1/0");
        check("[ FAIL 1 | WARN 0 | SKIP 1 | PASS 12 ]", "testthat red 12/1/1");
        check("11 successes / 1 failure / 0 errors / 0 pending : 0.01 seconds", "busted red 11/1/0");
        check(
            "Build Summary: 1/3 steps succeeded; 1 failed; 11/12 tests passed; 1 failed",
            "zig build test red 11/1/0",
        );
        check("Build Summary: 3/3 steps succeeded; 12/12 tests passed", "zig build test green 12/0/0");
        check("0 of 1 test suites (0 of 1 test cases) passed.", "cabal test red 0/1/0");
        check("  Tests:    1 failed, 12 passed (20 assertions)", "pest red 12/1/0");
    }

    #[test]
    fn several_runs_of_one_runner_come_together_as_it_prints_them() {
        let last = "=== 3 failed in 0.1s ===\n...\n=== 2 passed, 1 xfailed in 0.1s ===";
        check(last, "pytest green 2/0/1");
        check("Tests:  2 passed, 2 total\nTests:  1 failed, 3 passed, 4 total", "jest red 5/1/0");
        check("3 tests, 0 failures\n2 doctests, 1 property, 4 tests, 1 failure", "exunit red 9/1/0");
        let two = "[INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 1\n[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0";
        check(two, "maven green 5/0/1");
        check("TAP version 13\n1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # skip later", "TAP red 1/1/1");
        check(
            "[==========] 3 tests ran.\n[  PASSED  ] 2 tests.\n[  FAILED  ] 1 test, listed below:",
            "googletest red 2/1/0",
        );
        check("Test summary: total: 3, failed: 1, succeeded: 2, skipped: 0, duration: 0.7s", "dotnet test red 2/1/0");
        check("[error] Failed: Total 5, Failed 1, Errors 0, Passed 4", "sbt red 4/1/0");
        check("Files=2, Tests=10,  1 wallclock secs\nResult: PASS", "prove green 10/0/0");
        check(PROVE, "prove red 13/6/0");
    }

    #[test]
    fn what_a_failing_test_printed_is_not_the_runners_own_word() {
        let printed = "failures:\n\n---- nested stdout ----\ntest result: ok. 90 passed; 0 failed; 0 ignored\n\nfailures:\n    nested\n\n\
                       test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
        check(printed, "cargo test red 1/1/0");
        check("OK\nFAILED (failures=3)", "");
        check("Ran 6 tests in 0.001s\n\nOK (expected failures=1)", "unittest green 5/0/1");
        check("Ran 0 tests in 0.000s\n\nNO TESTS RAN", "unittest green 0/0/0");
        check("3 tests collected in 0.01s", "pytest green 0/0/0");
        check("1 passed, 1 error in 0.10s", "pytest red 1/1/0");
        assert_eq!(summary("1 passed, 1 error in 0.10s").unwrap().counts.unwrap().surely_ran(), 1);
    }

    #[test]
    fn failures_are_no_tests_where_one_test_has_several() {
        let check = |output: &str, ran: u64, surely: u64| {
            let counts = summary(output).unwrap().counts.unwrap();
            assert_eq!((counts.ran(), counts.surely_ran()), (ran, surely), "{output}");
        };
        check("Ran 1 test in 0.001s\n\nFAILED (failures=3)", 3, 1);
        check("Ran 4 tests in 0.001s\n\nFAILED (failures=2, errors=1)", 4, 3);
        check("Ran 1 tests containing 3 assertions.\n3 failures, 0 errors.", 3, 1);
        check("Executed 1 test, with 3 failures (0 unexpected) in 0.1 (0.2) seconds", 3, 1);
        let subtests = "SUBFAILED(p=[1]) test_shop.py::test_all - assert 0 == 1\nSUBFAILED(p=[1]) test_shop.py::test_all - assert 0 == 1\n\
                        FAILED test_shop.py::test_all - contains 2 failed subtests\n3 failed, 1 passed, 2 subtests passed in 0.03s";
        check(subtests, 4, 2);
        check(&format!("test_shop.py::test_all SUBFAILED(p=[1])  [ 50%]\n{subtests}"), 4, 2);
        let hook = "  2 passing (8ms)\n  1 failing\n\n  1) shop\n       \"after all\" hook for \"stays\":\n     Error: still open\n";
        check(&format!("  shop\n    ✔ opens\n    1) \"after all\" hook for \"stays\"\n\n{hook}"), 3, 2);
        let tap = "ok 1 - a\nnot ok 2 - b\nnot ok 3 - /w/shop.test.js\n1..3\n";
        check(tap, 3, 2);
        check(&format!("{tap}# tests 3\n# pass 1\n# fail 2\n"), 3, 2);
        let lost = "✖ /w/shop.test.js (234.44ms)\n";
        check(&format!("✔ a (5ms)\n{lost}ℹ pass 2\nℹ fail 2\n✖ failing tests:\n{lost}"), 4, 3);
        // What passes has no failures that might be none.
        check("✖ /w/shop.test.js (1ms)\nℹ pass 2\nℹ fail 0\n", 2, 2);
    }

    #[test]
    fn what_is_shown_of_a_failing_test_is_said_by_nobody() {
        let check = |output: &str, own: &[&str], quoted: &[&str]| {
            let names = |said: Vec<TestSummary>| said.iter().map(|said| said.runner).collect::<Vec<_>>();
            assert_eq!(
                (names(summaries(output)), names(quoted_summaries(output))),
                (own.to_vec(), quoted.to_vec()),
                "{output}"
            );
        };
        let unit = "Ran 1 test in 0.000s\n\nFAILED (failures=1)\n";
        let pytest = "=== FAILURES ===\n___ test_x ___\n--- Captured stderr call ---\n";
        let short = "=== short test summary info ===\nFAILED test_tool.py::test_x\n";
        check(&format!("{pytest}{unit}{short}1 failed in 0.15s\n"), &["pytest"], &["unittest"]);
        check(&format!("{pytest}{unit}1 failed in 0.15s\n{unit}"), &["pytest", "unittest"], &["unittest"]);
        let google = "[  PASSED  ] 1 test.\n[  FAILED  ] 1 test, listed below:\n";
        let ctest = |first: &str| {
            format!(
                "    Start 1: a\n1/2 Test #1: a ......{first}  0.01 sec\n{google}\n    Start 2: b\n2/2 Test #2: b ...***Failed  0.01 sec\n\
                     {google}\n\n0% tests passed, 2 tests failed out of 2\n"
            )
        };
        check(&ctest("***Failed"), &["ctest"], &["googletest"]);
        check(&ctest("   Passed"), &["googletest", "ctest"], &["googletest"]);
        // A line that any program may print hides nothing.
        check(&format!("- exit code: 1\n{unit}"), &["unittest"], &[]);
    }

    #[test]
    fn runners_name_the_tests_that_failed() {
        let check = |line: &str, expected: &str| {
            let found = failed_test(line).map_or(String::new(), |(runner, name)| format!("{runner}: {name}"));
            assert_eq!(found, expected, "{line}");
        };
        check("\t  2 - total of all (Failed)                 slow", "ctest: total of all");
        check("\t 13 - cc (Skipped)", "");
        check("2) STest::testBb with data set #1 (3)", "phpunit: STest::testBb with data set #1 (3)");
        check("rspec ./s_spec.rb:6 # S bb", "rspec: S bb");
        check("[ERROR]   STest.bb:9 expected: <1> but was: <0>", "maven: STest.bb");
        check("[ERROR]   a.b.STest$Inner.bb(int)[2]:9->help:3 no", "maven: a.b.STest$Inner.bb(int)[2]");
        check("[ERROR]   STest.bb » NullPointer", "maven: STest.bb");
        check("[ERROR]   symbol:   class Shop", "");
        check("[ERROR] Failed to execute goal x:y:1.0:test", "");
        check("  Failed S.Bb(x: 1) [< 1 ms]", "dotnet test: S.Bb(x: 1)");
        check("Failed to restore [a]", "");
        check("t/b.t  (Wstat: 256 (exited 1) Tests: 2 Failed: 1)", "prove: t/b.t");
        check("t/b.t (Wstat: 0 Tests: 2 Failed: 1)", "prove: t/b.t");
        check("t/h.t (Wstat: 0 Tests: 1 Failed: 0)", "");
        check("1) adds prices", "");
        check("SUBFAILED(p=1) a.py::test_b - no", "");
    }

    #[test]
    fn it_is_known_how_much_a_summary_says() {
        let check = |output: &str, whole: bool, always: bool, summed: bool| {
            let said = summary(output).unwrap();
            assert_eq!((said.whole, said.always, said.summed), (whole, always, summed), "{output}");
        };
        check("== 3 passed in 0.10s ==", true, true, false);
        check("!!!! stopping after 1 failures !!!!\n== 1 failed, 3 passed in 0.10s ==", false, true, false);
        check("Summary [ 0.2s] 3/10 tests run: 2 passed, 1 failed, 7 skipped", false, true, false);
        check("--- FAIL: TestX (0.00s)\nFAIL\nFAIL\tx\t0.1s", false, true, true);
        check("--- PASS: TestY (0.00s)\n--- FAIL: TestX (0.00s)\nFAIL\nFAIL\tx\t0.1s", true, true, true);
        check("error: could not compile `x` (lib) due to 1 previous error", true, false, true);
        check("10 tests completed, 1 failed", true, false, true);
        check("[ERROR] Tests run: 10, Failures: 1, Errors: 0, Skipped: 0", true, false, true);
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
            "Fail: 1",
            "Ok: 3 things",
            "the tests passed!",
            "0 errors.",
            "12 successes",
        ] {
            check(prose, "");
        }
    }

    #[test]
    fn every_run_is_known() {
        let check = |output: &str, expected: &[(&str, u64)]| {
            let found: Vec<(&str, u64)> =
                summaries(output).iter().map(|said| (said.runner, said.counts.map_or(0, Counts::ran))).collect();
            assert_eq!(found, expected, "{output}");
        };
        let unit = "Ran 5 tests in 0.001s\n\nOK\n";
        check(&format!("{unit}{unit}"), &[("unittest", 5), ("unittest", 5)]);
        check("3 passed in 0.1s\nno tests ran in 0.1s", &[("pytest", 3), ("pytest", 0)]);
        let node = "# tests 2\n# pass 1\n# fail 1\n# cancelled 0\n";
        check(
            &format!("{node}{unit}{node}{node}"),
            &[("node:test", 2), ("unittest", 5), ("node:test", 2), ("node:test", 2)],
        );
        check("  3 passing (1ms)\n  1 failing\n  2 passing (1ms)", &[("mocha", 4), ("mocha", 2)]);
        // Two runs at once.
        check("# pass 1\n# pass 2\n# fail 0\n# fail 1", &[("node:test", 1), ("node:test", 2), ("node:test", 1)]);
        let cargo = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        check(&format!("{cargo}{cargo}"), &[("cargo test", 6)]);
    }

    #[test]
    fn the_last_runner_is_believed() {
        let nested =
            "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n=== 2 passed in 0.10s ===";
        check(nested, "pytest green 2/0/0");
    }
}
