//! What the checks' own test summaries say, beside the same checks at the base. Pure.
//!
//! An exit status of 0 is what a program says last; a test runner says how many tests it ran. Where the two do not fit, nothing is
//! confirmed.

use super::programs::{INTERPRETERS, plain_path, runs};
use crate::domain::{Allow, Change, CheckCommand, CheckReport, belongs_to_tests};
use crate::toolchain::{Counts, TestSummary, configures_tests, summaries};
use std::path::Path;

/// Why a check does not confirm although it passed, if so: a summary is gone, counts failures, or counts fewer tests. With
/// `rearranged`, other runners may have taken the place of those at the base.
#[must_use]
pub fn contradiction(check: &CheckReport, base: &CheckReport, rearranged: bool) -> Option<String> {
    no_success(check, base).or_else(|| Some(loses_tests(check, base, rearranged)?.otherwise))
}

/// What of a check's tests at the base surely does not run any more, and what would permit that.
#[must_use]
pub fn loses_tests(check: &CheckReport, base: &CheckReport, rearranged: bool) -> Option<OnlyIf> {
    match lost(check, base, rearranged)? {
        Lost::Surely(only_if) => Some(only_if),
        Lost::Perhaps(_) => None,
    }
}

/// What of a check's tests may be missing, where that cannot be told for sure: a failing test of the base may have printed the
/// summary that is gone.
#[must_use]
pub fn doubt(check: &CheckReport, base: &CheckReport, rearranged: bool) -> Option<String> {
    match lost(check, base, rearranged)? {
        Lost::Surely(_) => None,
        Lost::Perhaps(because) => Some(because),
    }
}

/// Whether a change touches what decides how this check runs its tests, or the tests themselves. That is told, so that other runners or
/// fewer runs of as many tests are then believed.
#[must_use]
pub fn rearranges(check: &CheckReport, change: &Change) -> bool {
    let command = check.spec.run.to_string();
    change.existed.iter().any(|file| configures_tests(file) || belongs_to_tests(file) || runs(&command, file))
}

/// Whether a program that the settings name is this file, or is given it by its name: whole words of a list, and what a line for the shell runs.
/// Names are those from the project's directory.
pub(super) fn names(command: &CheckCommand, file: &Path, root: &Path) -> bool {
    let argv = match command {
        CheckCommand::Shell(line) => return runs(line, &file.to_string_lossy()),
        CheckCommand::Argv(argv) => argv,
    };
    let text = file.to_string_lossy();
    let program = argv.first().map(|word| word.rsplit('/').next().unwrap_or(word)).unwrap_or_default();
    let is_interpreter = INTERPRETERS.contains(&program);
    // A line for the shell, or a module.
    let by_option = |(option, value): (&String, &String)| match option.as_str() {
        "-c" | "-ec" | "-lc" if is_interpreter => runs(value, &text),
        "-m" if is_interpreter => runs(&format!("{program} -m {value}"), &text),
        _ => false,
    };
    let is_named = |word: &String| {
        let word = word.strip_prefix("{project}/").unwrap_or(word);
        let value = word.split_once('=').filter(|_| word.starts_with('-')).map_or(word, |(_, value)| value);
        let path = Path::new(value);
        let path = path.strip_prefix(root).unwrap_or(path);
        Path::new(&plain_path(&path.to_string_lossy())) == file
    };
    // `node tools` runs what lies in there.
    let script = argv.iter().skip(1).find(|word| !word.starts_with('-')).filter(|_| is_interpreter);
    let dir = script.map(|dir| Path::new(dir.trim_start_matches("./"))).filter(|dir| !dir.as_os_str().is_empty());
    argv.iter().any(is_named)
        || argv.iter().zip(argv.iter().skip(1)).any(by_option)
        || dir.is_some_and(|dir| file.starts_with(dir))
}

/// Why a check that passed has not, if so: its summary is gone, or one counts failures.
#[must_use]
pub fn no_success(check: &CheckReport, base: &CheckReport) -> Option<String> {
    if !check.passed() {
        return None;
    }
    let name = &check.spec.name;
    let (before, now) = (summaries(&base.output.text()), summaries(&check.output.text()));
    match (before.last(), now.last()) {
        (Some(before), None) if says_always(before) => Some(format!(
            "check `{name}` ends with exit status 0, but the test summary that it printed at the base ({}) is missing: its \
             tests were not run to their end",
            told(before)
        )),
        (last, Some(now)) if has_failures(now) && !(base.passed() && last.is_some_and(has_failures)) => Some(format!(
            "check `{name}` ends with exit status 0, but its test summary does not say that the tests passed ({})",
            told(now)
        )),
        _ => more_failures(&before, &now).map(|said| {
            format!(
                "check `{name}` ends with exit status 0, but one of its test summaries counts more failures ({said})"
            )
        }),
    }
}

/// The first runner that ran as often as before and counts more failures.
fn more_failures(before: &[TestSummary], now: &[TestSummary]) -> Option<String> {
    let (before, now) = (runners(before), runners(now));
    let same = |now: &&Runner| before.iter().find(|b| b.name == now.name && b.runs == now.runs).copied();
    now.iter()
        .find(|now| {
            same(now).is_some_and(|b| now.counts.unwrap_or_default().failed > b.counts.unwrap_or_default().failed)
        })
        .map(Runner::told)
}

/// The runner says as much of every run, and at the base it had tests to run.
fn says_always(before: &TestSummary) -> bool {
    before.always && before.counts.is_none_or(|counts| counts.ran() > 0)
}

/// An error beside tests that passed is in the counts; red without any count is one too.
fn has_failures(said: &TestSummary) -> bool {
    said.counts.map_or(!said.green, |counts| counts.failed > 0)
}

/// All that one runner said in an output.
#[derive(Debug, Clone, Copy)]
struct Runner {
    name: &'static str,
    /// How often it ran, as far as that can be told apart.
    runs: usize,
    counts: Option<Counts>,
    whole: bool,
    summed: bool,
    always: bool,
    green: bool,
}

/// By runner, in the order in which each spoke first.
fn runners(said: &[TestSummary]) -> Vec<Runner> {
    let mut found: Vec<Runner> = Vec::new();
    for said in said {
        match found.iter_mut().find(|runner| runner.name == said.runner) {
            Some(runner) => runner.take_in(said),
            None => found.push(Runner {
                name: said.runner,
                runs: 1,
                counts: said.counts,
                whole: said.whole,
                summed: said.summed,
                always: said.always,
                green: said.green,
            }),
        }
    }
    found
}

impl Runner {
    fn take_in(&mut self, said: &TestSummary) {
        // Sums fall apart where another runner speaks between their lines.
        self.runs += usize::from(!(self.summed && said.summed));
        self.counts = match (self.counts, said.counts) {
            (Some(a), Some(b)) => Some(a.plus(b)),
            (a, b) => a.or(b),
        };
        self.whole &= said.whole;
        self.summed = true;
        self.always &= said.always;
        self.green &= said.green;
    }

    fn told(&self) -> String {
        let said = self.counts.map(|counts| counts.to_string());
        format!("{}: {}", self.name, said.unwrap_or_else(|| if self.green { "passed" } else { "failed" }.to_owned()))
    }
}

/// Tests that ran at the base and do not any more.
enum Lost {
    Surely(OnlyIf),
    Perhaps(String),
}

/// What is missing of the summaries at the base: each runner's, and their tests.
fn lost(check: &CheckReport, base: &CheckReport, rearranged: bool) -> Option<Lost> {
    // A run that is red may have stopped early; only the same failure as at the base is one that did not.
    let ended = !check.timed_out && check.signal.is_none();
    if !(ended && (check.passed() || !base.passed())) {
        return None;
    }
    let (before, now) = (summaries(&base.output.text()), summaries(&check.output.text()));
    // What was left out of the output may be a summary, or a line of a sum. Of the base a part is enough: it ran at least so many.
    let cut = check.output.omitted() > 0;
    let said = |what: String| format!("check `{}` {what}", check.spec.name);
    let (ran, runs) = (runners(&now), runners(&before));
    let gone: Vec<&Runner> = runs.iter().filter(|b| !ran.iter().any(|n| n.name == b.name)).collect();
    let removed = |otherwise: String| Lost::Surely(OnlyIf { permits: Allow::RemoveTests, otherwise });
    if let Some(what) = gone_runner(&gone, &ran, &runs, rearranged).filter(|_| !cut) {
        return Some(removed(said(what)));
    }
    for (before_it, now_it) in runs.iter().filter_map(|b| Some((b, ran.iter().find(|n| n.name == b.name)?))) {
        if !now_it.whole || (cut && (now_it.summed || now_it.runs < before_it.runs)) {
            continue;
        }
        if let Some(what) = fewer(before_it, now_it) {
            let perhaps =
                !base.passed() && now_it.runs < before_it.runs && may_be_quoted(before_it.name, now_it, &before);
            let skips = matches!((before_it.counts, now_it.counts), (Some(b), Some(n)) if n.only_skips_more_than(b));
            return Some(match (perhaps, skips) {
                (true, _) => Lost::Perhaps(said(what)),
                (false, true) => Lost::Surely(OnlyIf { permits: Allow::SkipTests, otherwise: said(what) }),
                (false, false) => removed(said(what)),
            });
        }
        if base.passed() && now_it.runs < before_it.runs && !rearranged {
            return Some(removed(said(format!(
                "printed {} test summaries of {} at the base and {} now; bring back the run that is missing",
                before_it.runs, before_it.name, now_it.runs
            ))));
        }
    }
    None
}

/// The runners that are gone, if nothing has taken their place.
fn gone_runner(gone: &[&Runner], now: &[Runner], before: &[Runner], rearranged: bool) -> Option<String> {
    let ran: Vec<&Runner> = gone.iter().copied().filter(|r| r.always && r.counts.is_none_or(|c| c.ran() > 0)).collect();
    let first = ran.first()?;
    if !rearranged {
        return Some(format!(
            "printed a test summary of {} at the base ({}), and none now: its tests were not run to their end",
            first.name,
            first.told()
        ));
    }
    let sum = |all: &[Runner]| all.iter().try_fold(Counts::default(), |sum, runner| Some(sum.plus(runner.counts?)));
    let (before, all) = (sum(before)?, sum(now)?);
    (now.iter().all(|r| r.whole) && all.ran() < before.surely_ran()).then(|| counted(before, all))
}

/// Both counts, where surely fewer tests were run now.
fn fewer(before: &Runner, now: &Runner) -> Option<String> {
    let (before, now): (Counts, Counts) = (before.counts?, now.counts?);
    (now.ran() < before.surely_ran()).then(|| counted(before, now))
}

fn counted(before: Counts, now: Counts) -> String {
    format!(
        "ran {} at the base ({before}) and {} now ({now}); bring back the tests that no longer run",
        tests(before.surely_ran()),
        now.ran()
    )
}

/// Whether all that is missing may have been printed by tests that failed: a test of a test runner shows what its own runs printed, before
/// the summary that counts it as failed.
fn may_be_quoted(name: &str, now: &Runner, before: &[TestSummary]) -> bool {
    let of_it: Vec<&TestSummary> = before.iter().filter(|said| said.runner == name).collect();
    let outer = of_it.iter().rposition(|said| has_failures(said)).unwrap_or(0);
    let sum = of_it[outer..].iter().filter_map(|said| said.counts).fold(Counts::default(), Counts::plus);
    outer > 0 && now.counts.is_some_and(|now| now.ran() >= sum.surely_ran())
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

/// What a confirmation hangs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnlyIf {
    /// What would have to be permitted.
    pub permits: Allow,
    /// Why it is refuted otherwise.
    pub otherwise: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CheckCommand, CheckScope, CheckSpec, CheckStatus, Output, Signature};

    fn report(exit: i32, output: &str) -> CheckReport {
        CheckReport {
            spec: CheckSpec {
                name: "unit".to_owned(),
                run: CheckCommand::Shell("x".to_owned()),
                timeout_ms: None,
                results: None,
            },
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
        check_with(base, now, true, expected);
    }

    fn check_with(base: (i32, &str), now: (i32, &str), rearranged: bool, expected: &str) {
        let found = contradiction(&report(now.0, now.1), &report(base.0, base.1), rearranged).unwrap_or_default();
        assert!(if expected.is_empty() { found.is_empty() } else { found.contains(expected) }, "{now:?}: {found}");
    }

    #[test]
    fn a_summary_that_was_there_must_be_there() {
        check(RED, GREEN, "");
        check(RED, (0, "done"), "printed at the base (unittest: 4 passed, 1 failed) is missing");
        check(GREEN, (0, ""), "is missing");
        check((0, "ok  \tx\t0.1s"), (0, "?   \tx\t[no test files]"), "(go test: passed) is missing");
        check((0, "fine"), (0, "fine"), "");
        // In the place of a runner, another one may only be believed where something says so.
        let two = "Ran 5 tests in 0.001s\n\nOK\n# pass 1\n# fail 0";
        check_with(
            RED,
            (0, "# pass 5\n# fail 0"),
            false,
            "summary of unittest at the base (unittest: 4 passed, 1 failed), and none now",
        );
        check_with(RED, (0, two), false, "");
        check_with((0, two), (0, "# pass 9\n# fail 0"), true, "");
        check_with((0, two), (0, "# pass 9\n# fail 0"), false, "summary of unittest");
        check_with((0, two), GREEN, true, "ran 6 tests at the base");
        // Two runs of one runner.
        let (twice, once) = ("Ran 2 tests in 0.1s\n\nOK\nRan 3 tests in 0.1s\n\nOK", "Ran 3 tests in 0.1s\n\nOK");
        check((0, twice), (0, once), "ran 5 tests at the base (5 passed, 0 failed) and 3 now");
        check_with(
            (0, twice),
            (0, "Ran 6 tests in 0.1s\n\nOK"),
            false,
            "printed 2 test summaries of unittest at the base and 1 now",
        );
        check_with((0, twice), (0, "Ran 6 tests in 0.1s\n\nOK"), true, "");
        check(
            (0, twice),
            (0, "Ran 2 tests in 0.1s\n\nFAILED (failures=1)\nRan 3 tests in 0.1s\n\nOK"),
            "counts more failures",
        );
        // A known red check whose tests are not run any more.
        check_with((1, two), (1, "lint"), false, "summary of unittest");
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
    fn a_second_failure_of_a_test_is_no_test() {
        let three = "Ran 2 tests in 0.001s\n\nFAILED (failures=3)";
        check((1, three), (0, "Ran 2 tests in 0.001s\n\nOK"), "");
        check((1, three), (0, "Ran 1 test in 0.001s\n\nOK"), "ran 2 tests at the base");
        let flaky = "  1 flaky\n    a.spec.ts:3:1 > x\n  4 passed (3.2s)";
        check((1, "  1 failed\n    a.spec.ts:3:1 > x\n  4 passed (3.2s)"), (0, flaky), "");
        check((0, flaky), (0, "  4 passed (3.2s)"), "ran 5 tests at the base");
    }

    #[test]
    fn a_tool_that_shows_only_what_failed_is_known() {
        let google = "[  PASSED  ] 1 test.\n[  FAILED  ] 1 test, listed below:\n";
        let ctest =
            format!("1/1 Test #1: shop ......***Failed  0.00 sec\n{google}\n0% tests passed, 1 tests failed out of 1");
        check_with((8, &ctest), (0, "100% tests passed out of 1"), false, "");
        check_with((8, &ctest), (0, "done"), false, "(ctest: 0 passed, 1 failed) is missing");
        // A run beside it is none of its tests.
        check_with((8, &format!("{google}{ctest}")), (0, "100% tests passed out of 1"), false, "summary of googletest");
    }

    #[test]
    fn what_a_failing_test_of_a_test_runner_printed_is_no_run_of_the_check() {
        let quoted = "== 1 failed in 0.1s ==\n== 1 failed, 9 passed in 0.1s ==";
        let doubted =
            |base: (i32, &str), now: (i32, &str)| doubt(&report(now.0, now.1), &report(base.0, base.1), false);
        check((1, quoted), (0, "== 10 passed in 0.1s =="), "");
        assert!(doubted((1, quoted), (0, "== 10 passed in 0.1s ==")).is_some_and(|said| said.contains("ran 11 tests")));
        check((1, quoted), (0, "== 9 passed in 0.1s =="), "ran 11 tests");
        assert!(doubted((1, quoted), (0, "== 11 passed in 0.1s ==")).is_none());
        // What is green at the end has quoted nothing.
        check((1, "== 1 failed in 0.1s ==\n== 9 passed in 0.1s =="), (0, "== 9 passed in 0.1s =="), "ran 10 tests");
    }

    #[test]
    fn what_was_cut_out_of_an_output_is_not_missed() {
        let line = |n: u32| format!("test result: ok. {n} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n");
        let base = report(0, &[line(10), line(10)].concat());
        let mut now = report(0, &line(10));
        assert!(contradiction(&now, &base, false).is_some());
        now.output.bytes += 100;
        assert_eq!(contradiction(&now, &base, false), None);
        // One run of two; the only one there is was not cut out.
        let (three, one) = ("Ran 3 tests in 0.1s\n\nOK\n", "Ran 1 test in 0.1s\n\nOK\n");
        let mut now = report(0, one);
        now.output.bytes += 100;
        assert_eq!(contradiction(&now, &report(0, &[three, one].concat()), false), None);
        assert!(contradiction(&now, &report(0, three), false).is_some_and(|said| said.contains("ran 3 tests")));
    }
}
