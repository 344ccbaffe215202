//! A journal's entries as lines, for whoever watches a run.

use super::super::super::events::{NOTHING_LEFT, lessons_of};
use super::super::words::{foreign, plural};
use crate::domain::{JournalEntry, MergeOutcome, RunStop, TaskId, Timestamp, Verdict};
use serde::Serialize;

/// So much of a text from outside.
const BYTES: usize = 300;

/// Something that a run wrote down, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Said {
    /// When, by the clock of the run.
    pub at: Timestamp,
    /// The task; null for the run as a whole.
    pub task: Option<TaskId>,
    /// What happened, in one line that drives no terminal.
    pub text: String,
}

impl Said {
    /// The entry in words; none where another one says the same better.
    #[must_use]
    pub fn of(at: Timestamp, entry: &JournalEntry) -> Option<Self> {
        Some(Self { at, task: entry.task().cloned(), text: text(entry)? })
    }
}

fn text(entry: &JournalEntry) -> Option<String> {
    Some(match entry {
        JournalEntry::RunStarted { tasks, plan, .. } => {
            format!("begins: {}, {} at a time", plural(tasks.len(), "task"), plan.jobs.max(1))
        }
        JournalEntry::RunResumed { tasks, .. } => {
            format!("goes on in another process: {} left", plural(tasks.len(), "task"))
        }
        JournalEntry::Noticed { what, .. } => format!("noticed: {}", foreign(&what.join("; "), BYTES)),
        JournalEntry::RunEnded { interrupted, stopped, .. } => over(*interrupted, *stopped).to_owned(),
        JournalEntry::TaskStarted { title, .. } => format!("begins{}", after(": ", title)),
        JournalEntry::TaskDecomposed { failed, proposal, .. } => split(failed.as_deref(), proposal.parts.len()),
        JournalEntry::AttemptStarted { attempt, agent, injected, exposure, .. } => {
            let with = lessons_of(injected.len(), exposure.as_ref());
            format!("attempt {attempt}: {} works{with}", foreign(agent, 60))
        }
        JournalEntry::AgentStopped { ending, .. } => format!("agent stopped: {}", ending.as_str()),
        JournalEntry::TurnStarted { turn, reason, .. } => format!("turn {turn} ({})", reason.as_str()),
        JournalEntry::TurnNudged { because, .. } => {
            format!("stopped to be told something: {}", foreign(because, BYTES))
        }
        JournalEntry::AttemptDropped { ending, .. } => {
            let ending = ending.as_ref().map_or("it could not be started", |ending| ending.as_str());
            format!("attempt not judged: {ending}")
        }
        JournalEntry::AttemptJudged { attempt, verdict, because, .. } => {
            format!("attempt {attempt}: {}{}", verdict.as_str(), after(", ", because))
        }
        JournalEntry::WaitStarted { because, .. } => format!("waits: {}", foreign(because, BYTES)),
        JournalEntry::WaitEnded { .. } => "goes on after waiting".to_owned(),
        JournalEntry::MergeEnded { outcome, .. } => merged(outcome),
        JournalEntry::TaskEnded { verdict, branch, cause, .. } => {
            task_ended(*verdict, branch.as_deref(), cause.as_deref())
        }
        // What needs a person, and repairs, have a place of their own on the screen; an intent is told by its result.
        JournalEntry::RunHalted { .. }
        | JournalEntry::RepositoryChanged { .. }
        | JournalEntry::HealStarted { .. }
        | JournalEntry::HealEnded { .. }
        | JournalEntry::TurnJudged { .. }
        | JournalEntry::CommitStarted { .. }
        | JournalEntry::MergeStarted { .. }
        | JournalEntry::MergeReady { .. } => return None,
    })
}

fn over(interrupted: bool, stopped: Option<RunStop>) -> &'static str {
    match stopped {
        _ if interrupted => "interrupted",
        None => "over",
        Some(RunStop::Deadline) => "stopped: the time is up",
        Some(RunStop::Budget) => "stopped: the budget is used up",
        Some(RunStop::Drained) => "stopped after the attempts that were at work",
    }
}

fn split(failed: Option<&str>, parts: usize) -> String {
    match (failed, parts) {
        (Some(because), _) => format!("not split: {}", foreign(because, BYTES)),
        (None, 0) => "worked on as a whole, as was proposed".to_owned(),
        (None, n) => format!("in {n} parts, as was proposed"),
    }
}

fn merged(outcome: &MergeOutcome) -> String {
    let because = || foreign(&outcome.failed().unwrap_or_default(), BYTES);
    match outcome {
        MergeOutcome::Merged { commit, was_there, .. } => {
            let how = if *was_there { NOTHING_LEFT } else { "merged as" };
            format!("{how} {}", foreign(commit.get(..12).unwrap_or(commit), 60))
        }
        MergeOutcome::LeftToPerson { .. } => format!("left to you: {}", because()),
        MergeOutcome::Conflict { .. } | MergeOutcome::Red { .. } => format!("not merged: {}", because()),
    }
}

fn task_ended(verdict: Option<Verdict>, branch: Option<&str>, cause: Option<&str>) -> String {
    if verdict == Some(Verdict::Confirmed) {
        return format!("task confirmed{}", branch.map(|branch| after(", on ", branch)).unwrap_or_default());
    }
    let verdict = verdict.map_or("not judged", |verdict| verdict.as_str());
    format!("task ended: {verdict}{}", cause.map(|cause| after(", ", cause)).unwrap_or_default())
}

fn after(before: &str, words: &str) -> String {
    let words = foreign(words, BYTES);
    if words.is_empty() { words } else { format!("{before}{words}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn entries_are_lines_that_drive_no_terminal() {
        let check = |entry: Value, expected: Option<&str>| {
            let parsed: JournalEntry = serde_json::from_value(entry.clone()).unwrap();
            let said = Said::of(Timestamp::UNIX_EPOCH, &parsed);
            assert_eq!(said.as_ref().map(|said| said.text.as_str()), expected, "{entry}");
        };
        let ended = |stopped: Value| json!({"type": "run_ended", "interrupted": false, "stopped": stopped});
        check(
            json!({"type": "run_started", "run": "r", "pid": 1, "tasks": ["a"]}),
            Some("begins: 1 task, 1 at a time"),
        );
        check(ended(json!("deadline")), Some("stopped: the time is up"));
        check(ended(json!(null)), Some("over"));
        check(json!({"type": "task_started", "task": "a", "title": "x\u{1b}]0;evil\u{7}\ny"}), Some("begins: x y"));
        check(json!({"type": "task_started", "task": "a"}), Some("begins"));
        let attempt = json!({"type": "attempt_started", "task": "a", "subtask": "a", "attempt": 2, "session": "s",
                             "agent": "claude", "start": "t", "injected": ["r1", "r2"]});
        check(attempt, Some("attempt 2: claude works, with 2 reflections in its prompt"));
        check(json!({"type": "commit_started", "task": "a", "tree": "t"}), None);
        let merged = json!({"kind": "merged", "commit": "0123456789abcdef"});
        check(
            json!({"type": "merge_ended", "task": "a", "attempt": 1, "outcome": merged}),
            Some("merged as 0123456789ab"),
        );
        let red = json!({"kind": "red", "because": "check `t` is red", "kept": "b"});
        check(
            json!({"type": "merge_ended", "task": "a", "attempt": 1, "outcome": red}),
            Some("not merged: on top of what was merged before check `t` is red; the work is kept on b"),
        );
        check(
            json!({"type": "task_ended", "task": "a", "verdict": "failed", "cause": "so"}),
            Some("task ended: failed, so"),
        );
    }
}
