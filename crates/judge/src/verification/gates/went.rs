//! How a recorded command went: from its exit status, and where that is hidden or unknown from the runner's own summary.

use super::timeline::Step;
use crate::domain::{Outcome, ToolStatus};
use crate::prompt::shorten;
use crate::toolchain::TestSummary;
use crate::verification::commands::{CommandKind, Run};

/// How a command went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Went {
    /// On facts.
    Passed(String),
    /// On facts.
    Failed(String),
    /// On facts: it found no test to run although there are some, or failed because there was none.
    Empty(String),
    /// On facts: it ran no test, and ended well; perhaps there is none.
    Idle(String),
    /// It never started, so it was not run.
    NotStarted(String),
    /// Not known, because.
    Unknown(String),
}

/// How the command at this place of a line went.
pub(super) fn went(step: &Step<'_>, i: usize) -> Went {
    let Some(outcome) = &step.action.outcome else {
        return Went::Unknown("its result is not recorded".to_owned());
    };
    let run = &step.runs[i];
    let said = step.said();
    let counted = said.map(words).unwrap_or_default();
    let green = said.map(|s| s.green);
    let none = said.is_some_and(|s| s.green && s.counts.is_some_and(|c| c.ran() == 0));
    if none || said.is_none_or(|s| s.counts.is_none()) && run.kind == CommandKind::Test && found_none(&outcome.output) {
        return match exit_code(outcome).filter(|code| *code != 0 && run.takes_blame) {
            Some(code) => Went::Empty(format!("it ran no test, exit status {code}{counted}")),
            None if chose_none(&outcome.output) => Went::Empty(format!("it chose none of the tests{counted}")),
            None => Went::Idle(format!("it ran no test{counted}")),
        };
    }
    if said.is_none()
        && exit_code(outcome) == Some(5)
        && run.takes_blame
        && run.words.iter().any(|word| word.ends_with("pytest"))
    {
        return Went::Empty("it ran no test, exit status 5".to_owned());
    }
    if let Some(code) = printed_status(step, i) {
        return match code {
            0 if green != Some(false) => Went::Passed(format!("it printed its exit status 0{counted}")),
            _ => Went::Failed(format!("it printed its exit status {code}{counted}")),
        };
    }
    let surely_well = run.decides_exit && exit_code(outcome) == Some(0);
    let alone = step.runs.iter().filter(|run| run.kind.checks()).count() == 1;
    if run.kind.checks()
        && alone
        && !surely_well
        && let Some(line) = red_line(&outcome.output)
    {
        return Went::Failed(format!("its output says `{}`{counted}", shorten(line, 120)));
    }
    match exit_code(outcome) {
        _ if green == Some(false) => Went::Failed(format!("its output says so{counted}")),
        Some(0) if run.decides_exit => Went::Passed(format!("exit status 0{counted}")),
        Some(126 | 127) if run.takes_blame => Went::NotStarted("the shell could not start it".to_owned()),
        Some(code @ 1..) if run.takes_blame => Went::Failed(format!("exit status {code}{counted}")),
        Some(code) if code < 0 && run.takes_blame => Went::Failed(format!("exit status {code}{counted}")),
        _ if green == Some(true) => Went::Passed(format!("its output says so{counted}")),
        Some(code) => Went::Unknown(format!(
            "the exit status {code} is that of the whole line, and the output has no test runner's summary"
        )),
        None => Went::Unknown("no exit status is recorded, and the output has no test runner's summary".to_owned()),
    }
}

/// A runner says that it found no test at all.
fn found_none(output: &str) -> bool {
    const WORDS: [&str; 9] = [
        "No tests found",
        "No test files found",
        "no tests ran",
        "No tests executed",
        "No test is available",
        "No tests were found",
        "collected 0 items",
        "No tests to run",
        "[no tests to run]",
    ];
    let go = output.contains("[no test files]")
        && !output.lines().any(|line| {
            ["ok ", "ok\t", "FAIL", "---"].iter().any(|start| line.starts_with(start))
                && !line.contains("[no tests to run]")
        });
    go || WORDS.iter().any(|words| output.contains(words))
        && !output.lines().any(|line| line.starts_with("ok  \t") && !line.contains("[no tests to run]"))
}

/// It had tests, and left out every one of them.
fn chose_none(output: &str) -> bool {
    const WORDS: [&str; 3] = ["filtered out", "deselected", "[no tests to run]"];
    output.lines().any(|line| {
        let words = WORDS.iter().find_map(|words| line.find(words));
        words.is_some_and(|at| {
            let number = line[..at].split(|c: char| !c.is_ascii_digit()).rfind(|part| !part.is_empty());
            line.contains("[no tests to run]") || number.is_some_and(|number| number.bytes().any(|digit| digit != b'0'))
        })
    })
}

/// The exit status that the line itself prints: `pytest; echo rc=$?`.
fn printed_status(step: &Step<'_>, i: usize) -> Option<i32> {
    let output = &step.action.outcome.as_ref()?.output;
    let piped = step.action.command.as_deref().is_some_and(|line| line.contains("pipefail"));
    let shows =
        |run: &Run| matches!(run.words.first().map(String::as_str), Some("tail" | "head" | "tee" | "grep" | "cat"));
    let mut at = i + 1;
    while step.runs.get(at).is_some_and(shows) {
        at += 1;
    }
    let echo = step.runs.get(at).filter(|run| run.words.first().is_some_and(|word| word == "echo"))?;
    let text = echo.words[1..].iter().filter(|word| !word.starts_with('-')).cloned().collect::<Vec<_>>().join(" ");
    let own = if at == i + 1 || piped { ["$?", "${?}", "${PIPESTATUS[0]}"].as_slice() } else { &["${PIPESTATUS[0]}"] };
    let (before, after) = own.iter().find_map(|name| text.split_once(name))?;
    if before.contains('$') || after.contains('$') {
        return None;
    }
    output.lines().rev().find_map(|line| {
        line.trim().strip_prefix(before.trim_start())?.strip_suffix(after.trim_end())?.trim().parse().ok()
    })
}

/// What runners and what stands around them say about a failure, where the exit status is hidden and nothing is counted.
fn red_line(output: &str) -> Option<&str> {
    let red = |line: &&str| {
        let line = line.trim();
        let starts = |marks: &[&str]| marks.iter().any(|mark| line.starts_with(mark));
        let make =
            starts(&["make: *** ", "make[", "gmake: *** "]) && line.contains("*** [") && !line.ends_with("(ignored)");
        let tap = line.starts_with("not ok ")
            && !line.to_ascii_uppercase().contains("# TODO")
            && !line.to_ascii_uppercase().contains("# SKIP");
        let tox = line.contains(": FAIL code ")
            || line.contains("evaluation failed :(")
            || starts(&["ERROR: InvocationError"]);
        let bazel = line.starts_with("//")
            && (line.contains(" FAILED in ") || line.contains(" FAILED TO BUILD") || line.contains(" TIMEOUT in "))
            || line.contains("Build did NOT complete successfully");
        let npm = line.contains("ELIFECYCLE")
            || line.contains("ERR_PNPM_RECURSIVE_") && line.contains("FAIL")
            || starts(&["npm ERR! Test failed", "npm error Lifecycle script", "error Command failed with exit code"]);
        let nx = line.contains("NX")
            && (line.contains("Ran target") || line.contains("Running target"))
            && line.contains(" failed")
            || line.starts_with('✖') && line.contains(" failed") && line.contains('/');
        let session = line.starts_with("nox > Session ") && line.ends_with(" failed.")
            || line.starts_with("ERROR: Package ") && line.ends_with(" errored during testing");
        let turbo =
            starts(&["ERROR  run failed: command", "Failed:    "]) && (line.contains("exited (") || line.contains('#'));
        let others = line == "Result: FAIL"
            || starts(&[
                "BUILD FAILED",
                "[INFO] BUILD FAILURE",
                "ninja: build stopped:",
                "[error] Failed tests:",
                "FAILURE: Build failed with an exception",
            ]);
        make || tap || tox || bazel || npm || nx || session || turbo || others
    };
    output.lines().rev().take(400).find(red).map(str::trim)
}

fn words(summary: &TestSummary) -> String {
    summary.counts.map_or_else(|| format!(" ({})", summary.runner), |counts| format!(" ({}: {counts})", summary.runner))
}

/// The recorded exit status; some agents put it in front of a failed command's output.
fn exit_code(outcome: &Outcome) -> Option<i32> {
    outcome.exit_code.or_else(|| {
        let rest = outcome.output.strip_prefix("Exit code ").filter(|_| outcome.status == ToolStatus::Failed)?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    })
}

/// Lists, builds or explains tests and runs none.
pub(super) fn counts_nothing(run: &Run) -> bool {
    const FLAGS: [&str; 9] = [
        "--no-run",
        "--collect-only",
        "--co",
        "--listTests",
        "--list",
        "--help",
        "--version",
        "--dry-run",
        "--showConfig",
    ];
    run.words.iter().skip(1).any(|word| FLAGS.contains(&word.as_str()))
}
