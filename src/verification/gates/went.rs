//! How a recorded command went: from its exit status, and where that is hidden or unknown from the runner's own summary.

use super::summary::Summary;
use super::summary::summary;
use super::timeline::Step;
use crate::domain::Outcome;
use crate::domain::ToolStatus;
use crate::verification::commands::Run;

/// How a command went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Went {
    /// On facts.
    Passed(String),
    /// On facts.
    Failed(String),
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
    let said = summary(&outcome.output);
    let counted = said.as_ref().map(|s| words(s)).unwrap_or_default();
    let green = said.as_ref().map(|s| s.green);
    if said.as_ref().is_some_and(|s| s.green && s.counts.is_some_and(|c| c.ran() == 0)) {
        return match exit_code(outcome).filter(|code| *code != 0 && run.takes_blame) {
            Some(code) => Went::Failed(format!("it ran no test, exit status {code}{counted}")),
            None => Went::Unknown(format!("it ran no test{counted}")),
        };
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

fn words(summary: &Summary) -> String {
    summary.counts.map_or_else(|| format!(" ({})", summary.tool), |counts| format!(" ({}: {counts})", summary.tool))
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
