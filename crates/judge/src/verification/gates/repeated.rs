//! `repeated_failure`: the same command failed again and again with nothing changed between, and that was the end.

use super::facts::View;
use super::finding::{Finding, Todo};
use super::timeline::{Step, is_script, only_reads, shown};
use crate::domain::ToolKind;
use crate::prompt::one_line;
use crate::verification::commands::{CommandKind, Run};

const GATE: &str = "repeated_failure";
/// So often is often enough: twice may be bad luck.
const TIMES: usize = 3;

pub(super) fn repeated_failure(view: &View<'_>) -> Finding {
    if view.timeline.is_empty() {
        return Finding::not_run(GATE, "no tool call is recorded");
    }
    let mut same: Option<(String, String)> = None;
    let mut times = 0;
    for step in view.timeline.steps.iter().rev() {
        if looks_only(step) {
            continue;
        }
        let failure = failure(step);
        if failure.is_none() || (same.is_some() && same != failure) {
            break;
        }
        same = failure;
        times += 1;
    }
    match same {
        Some((line, _)) if times >= TIMES => Finding::failed(
            GATE,
            format!(
                "{} failed {times} times in the same way, with no change between, and nothing followed",
                shown(&line)
            ),
            Todo::high(
                format!("Another way than {} once more", shown(&line)),
                "Read what it printed, find the cause, and change something before you run it again.",
            ),
        ),
        _ => Finding::passed(GATE, "no command failed again and again at the end"),
    }
}

/// Reading between two tries is no change.
fn looks_only(step: &Step<'_>) -> bool {
    match step.action.kind {
        ToolKind::Read | ToolKind::Search | ToolKind::Fetch | ToolKind::Plan => true,
        ToolKind::Execute => {
            let failed = step.action.outcome.as_ref().and_then(|o| o.exit_code).is_some_and(|code| code != 0);
            !failed && !step.runs.is_empty() && step.runs.iter().all(only_reads)
        }
        _ => false,
    }
}

/// The line and how it failed, with numbers masked; asking how CI stands is waiting, not failing.
fn failure(step: &Step<'_>) -> Option<(String, String)> {
    let outcome = step.action.outcome.as_ref()?;
    let code = outcome.exit_code.filter(|code| *code != 0)?;
    if step.runs.iter().any(|run| run.kind == CommandKind::Ci) {
        return None;
    }
    // `grep`, `diff`, `pgrep`, `test` answer with their exit status; only what checks or runs the project fails.
    let fails = |run: &Run| run.takes_blame && (run.kind.checks() || is_script(run) && !only_reads(run));
    let said_red = || step.said().is_some_and(|said| !said.green);
    if !step.runs.iter().any(fails) && !said_red() {
        return None;
    }
    let masked: String = outcome.output.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
    Some((one_line(step.action.command.as_deref()?), format!("{code} {masked}")))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::coding;

    #[test]
    fn the_same_failure_three_times_at_the_end_is_a_wall() {
        let twice =
            coding().edit("a.rs").ran("npm test", 1, "3 failed in 1.2s").ran("npm  test", 1, "3 failed in 1.4s");
        twice.passes(super::GATE, "");
        let thrice = twice.clone().ran("cat a.rs", 0, "x").ran("npm test", 1, "3 failed in 9.9s");
        thrice.fails(super::GATE, "failed 3 times");
        thrice.clone().edit("a.rs").passes(super::GATE, "");
        thrice.ran("npm test", 0, "").passes(super::GATE, "");
        twice.clone().edit("a.rs").ran("npm test", 1, "3 failed in 9.9s").passes(super::GATE, "");
        twice.clone().ran("npm test", 1, "1 failure: another").passes(super::GATE, "");
        twice.ran("npm test", None, "3 failed in 1.2s").passes(super::GATE, "");
    }

    #[test]
    fn waiting_for_ci_is_no_failure() {
        let wait = || coding().ran("gh pr checks", 8, "pending");
        wait().ran("gh pr checks", 8, "pending").ran("gh pr checks", 8, "pending").passes(super::GATE, "");
    }

    #[test]
    fn an_exit_status_that_answers_is_no_failure() {
        for line in [
            "grep -rn TODO src",
            "test -f a",
            "diff a b",
            "nc -z localhost 80",
            "pgrep node",
            "git diff --exit-code",
            "cargo test | grep FAILED",
        ] {
            let asked = coding().edit("a.rs");
            (0..4).fold(asked, |asked, _| asked.ran(line, 1, "")).passes(super::GATE, "");
        }
        let built = (0..3).fold(coding(), |turn, _| turn.ran("cargo build", 101, "error[E0308]"));
        built.fails(super::GATE, "failed 3 times");
    }
}
