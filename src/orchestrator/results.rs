//! What the checks' own test summaries say, beside the same checks at the base. Pure.
//!
//! An exit status of 0 is what a program says last; a test runner says how many tests it ran. Where the two do not fit, nothing is
//! confirmed.

use crate::domain::CheckReport;
use crate::toolchain::Counts;
use crate::toolchain::TestSummary;
use crate::toolchain::summary;
use crate::toolchain::summary_of;

/// Why a check does not confirm although it passed, if so: its summary is gone, counts failures, or counts fewer tests.
#[must_use]
pub fn contradiction(check: &CheckReport, base: &CheckReport) -> Option<String> {
    no_success(check, base).or_else(|| {
        // Of several runners, the last one may be another each time.
        let before = summary(&base.output.text())?;
        let text = check.output.text();
        let now = summary_of(before.runner, &text).or_else(|| summary(&text))?;
        fewer(base, before, check, now).map(|counts| format!("check `{}` {counts}", check.spec.name))
    })
}

/// Why a check that passed has not, if so: its summary is gone, or counts failures.
#[must_use]
pub fn no_success(check: &CheckReport, base: &CheckReport) -> Option<String> {
    if !check.passed() {
        return None;
    }
    let name = &check.spec.name;
    match (summary(&base.output.text()), summary(&check.output.text())) {
        (Some(before), None) if says_always(&before) => Some(format!(
            "check `{name}` ends with exit status 0, but the test summary that it printed at the base ({}) is missing: its \
             tests were not run to their end",
            told(&before)
        )),
        (before, Some(now)) => {
            let passed_like_that = base.passed() && before.as_ref().is_some_and(has_failures);
            (has_failures(&now) && !passed_like_that).then(|| {
                format!(
                    "check `{name}` ends with exit status 0, but its test summary does not say that the tests passed ({})",
                    told(&now)
                )
            })
        }
        (_, None) => None,
    }
}

/// The runner says as much of every run, and at the base it had tests to run.
fn says_always(before: &TestSummary) -> bool {
    before.always && before.counts.is_none_or(|counts| counts.ran() > 0)
}

/// An error beside tests that passed is in the counts; red without any count is one too.
fn has_failures(said: &TestSummary) -> bool {
    said.counts.map_or(!said.green, |counts| counts.failed > 0)
}

/// Both counts, where surely fewer tests were run now.
fn fewer(base: &CheckReport, before: TestSummary, check: &CheckReport, now: TestSummary) -> Option<String> {
    // What was left out of the output may be a line of the sum. Of the base a part is enough: it ran at least so many.
    if !now.whole || (now.summed && check.output.omitted() > 0) {
        return None;
    }
    let (before, now): (Counts, Counts) = (before.counts?, now.counts?);
    // A run that is red may have stopped early; only the same failure as at the base is one that did not.
    let comparable = check.passed() || !base.passed();
    (comparable && now.ran() < before.surely_ran()).then(|| {
        format!(
            "ran {} at the base ({before}) and {} now ({now}); bring back the tests that no longer run",
            tests(before.surely_ran()),
            now.ran()
        )
    })
}

fn tests(number: u64) -> String {
    if number == 1 { "1 test".to_owned() } else { format!("{number} tests") }
}

fn told(said: &TestSummary) -> String {
    match said.counts {
        Some(counts) => format!("{}: {counts}", said.runner),
        None => format!("{}: {}", said.runner, if said.green { "passed" } else { "failed" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::CheckCommand;
    use crate::domain::CheckScope;
    use crate::domain::CheckSpec;
    use crate::domain::CheckStatus;
    use crate::domain::Output;
    use crate::domain::Signature;

    fn report(exit: i32, output: &str) -> CheckReport {
        CheckReport {
            spec: CheckSpec { name: "unit".to_owned(), run: CheckCommand::Shell("x".to_owned()), timeout_ms: None },
            scope: CheckScope::Task,
            status: if exit == 0 { CheckStatus::Passed } else { CheckStatus::Failed },
            exit_status: Some(exit),
            signal: None,
            timed_out: false,
            output: Output::whole(output),
            duration_ms: 1,
            signature: Signature::default(),
            rewrote: Vec::new(),
            changed_outside: Vec::new(),
        }
    }

    const RED: (i32, &str) = (1, "Ran 5 tests in 0.001s\n\nFAILED (failures=1)");
    const GREEN: (i32, &str) = (0, "Ran 5 tests in 0.001s\n\nOK");

    /// What is said of an output at the base and one now; empty where nothing contradicts.
    fn check(base: (i32, &str), now: (i32, &str), expected: &str) {
        let found = contradiction(&report(now.0, now.1), &report(base.0, base.1)).unwrap_or_default();
        assert!(if expected.is_empty() { found.is_empty() } else { found.contains(expected) }, "{now:?}: {found}");
    }

    #[test]
    fn a_summary_that_was_there_must_be_there() {
        check(RED, GREEN, "");
        check(RED, (0, "done"), "printed at the base (unittest: 4 passed, 1 failed) is missing");
        check(GREEN, (0, ""), "is missing");
        check((0, "ok  \tx\t0.1s"), (0, "?   \tx\t[no test files]"), "(go test: passed) is missing");
        check((0, "fine"), (0, "fine"), "");
        // Where two runners ran, it does not matter which one was last; where another one runs them now, how many there are.
        check(GREEN, (0, "Ran 5 tests in 0.001s\n\nOK\n== 2 passed in 0.1s =="), "");
        check(GREEN, (0, "== 5 passed in 0.1s =="), "");
        check(GREEN, (0, "== 2 passed in 0.1s =="), "ran 5 tests at the base (5 passed, 0 failed) and 2 now");
        // A check that is red is judged by that.
        check(GREEN, (1, "Segmentation fault"), "");
        // Runners that say nothing of a run that passes, and a build that failed, printed no such summary.
        check((1, "10 tests completed, 1 failed"), (0, "BUILD SUCCESSFUL"), "");
        check((1, "[ERROR] Tests run: 10, Failures: 1, Errors: 0, Skipped: 0"), (0, ""), "");
        check((101, "error: could not compile `x` (lib) due to 1 previous error"), (0, "Finished"), "");
        check((5, "NO TESTS RAN"), (0, "done"), "");
    }

    #[test]
    fn a_summary_with_failures_is_no_success() {
        check(RED, (0, RED.1), "does not say that the tests passed (unittest: 4 passed, 1 failed)");
        check(GREEN, (0, "== 1 failed, 7 passed in 0.10s =="), "does not say");
        check((0, "fine"), (0, RED.1), "does not say");
        check((0, "ok  \tx\t0.1s"), (0, "FAIL\tx\t0.1s"), "(go test: failed)");
        // It was like that before: a script that goes on, or a test that shows another run.
        check((0, RED.1), (0, RED.1), "");
    }

    #[test]
    fn fewer_tests_than_at_the_base_are_not_enough() {
        check(GREEN, (0, "Ran 4 tests in 0.001s\n\nOK"), "ran 5 tests at the base (5 passed, 0 failed) and 4 now");
        check(GREEN, (0, "Ran 5 tests in 0.001s\n\nOK (skipped=2)"), "and 3 now (3 passed, 0 failed, 2 skipped)");
        check(RED, (0, "Ran 5 tests in 0.001s\n\nOK (expected failures=1)"), "and 4 now");
        check(RED, (0, "Ran 9 tests in 0.001s\n\nOK"), "");
        check((0, "== 3 passed in 0.1s =="), (0, "3 tests collected in 0.01s"), "ran 3 tests at the base");
        // The same failure with fewer tests; one that turned red may have stopped early.
        check(RED, (1, "Ran 3 tests in 0.001s\n\nFAILED (failures=1)"), "and 3 now");
        check(GREEN, (1, "Ran 3 tests in 0.001s\n\nFAILED (failures=1)"), "");
        check(GREEN, (1, "Ran 3 tests in 0.001s\n\nFAILED (failures=1)"), "");
        // A file that could not be read is no test, nor is what went wrong after one.
        check((2, "== 2 errors in 0.1s =="), (0, "== 1 passed in 0.1s =="), "");
        check((1, "== 1 passed, 1 error in 0.1s =="), (0, "== 1 passed in 0.1s =="), "");
    }

    #[test]
    fn what_was_cut_out_of_an_output_is_not_missed() {
        let line = |n: u32| format!("test result: ok. {n} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n");
        let base = report(0, &[line(10), line(10)].concat());
        let mut now = report(0, &line(10));
        assert!(contradiction(&now, &base).is_some());
        now.output.bytes += 100;
        assert_eq!(contradiction(&now, &base), None);
    }
}
