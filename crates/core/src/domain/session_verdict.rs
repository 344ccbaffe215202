//! Verdicts for other programs: what the newest turn of a session came to, and everything that is known of it.

use super::{
    CheckReport, CompletionVerdict, Ending, Proof, Risk, SessionId, Severity, Standing, SubtaskId, TaskId, Timestamp,
    Verdict,
};
use serde::{Deserialize, Serialize};

/// The verdict on a session's newest turn, for programs that wait for it: `verdict_<session>.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionVerdict {
    /// Version of this shape: 1.
    pub v: u32,
    /// The whole id of the session.
    pub session_id: SessionId,
    /// The task.
    pub task_id: TaskId,
    /// From 1, over all runs.
    pub attempt: u32,
    /// The task counts as done. False until everybody who is asked has answered.
    pub complete: bool,
    /// How much is wrong.
    pub severity: Severity,
    /// What is known.
    pub status: Standing,
    /// When it was written.
    pub timestamp: Timestamp,
}

/// Everything that a turn was judged by, for people: `<session>_<timestamp>.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnRecord {
    /// Version of this shape: 1.
    pub v: u32,
    /// The whole id of the session.
    pub session_id: SessionId,
    /// The task.
    pub task_id: TaskId,
    /// The subtask.
    pub subtask_id: SubtaskId,
    /// What was asked for.
    pub task: String,
    /// The agent.
    pub agent: String,
    /// From 1, over all runs.
    pub attempt: u32,
    /// From 1, within the attempt.
    pub turn: u32,
    /// Why the agent stopped.
    pub ending: Ending,
    /// What it said at the end.
    pub response: String,
    /// What the evidence says.
    pub verdict: Verdict,
    /// What a confirmation rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Why, in words.
    pub because: String,
    /// The gates, and what the judge and the committee said.
    pub completion: CompletionVerdict,
    /// The checks that the runtime ran.
    pub checks: Vec<CheckReport>,
    /// Files that differ from the base.
    pub files: Vec<String>,
    /// How risky that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// What the next prompt says of it, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<TurnFailure>,
    /// When it was written.
    pub timestamp: Timestamp,
}

/// What the next prompt says of a turn that failed, beside the change itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnFailure {
    /// Why, without what a red check says itself.
    pub because: String,
    /// Of a turn that changed nothing: the last attempt that changed something, and why that one failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_change: Option<(u32, String)>,
    /// The check that shows it, by its place among `checks`, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<usize>,
    /// The files that it changed, or that attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}
