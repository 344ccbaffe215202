//! What an agent knew at the end of an attempt.

use crate::domain::{Risk, RiskThreshold, RunId, SessionId, SubtaskId, TaskId};
use async_trait::async_trait;
use std::collections::BTreeMap;

/// Keeps one final `reflection.v1` record per attempt.
///
/// *Who calls:* the orchestrator: [`Captures::environment`] before an agent runs, so that records of the agent's own
/// hooks belong to the attempt, [`Captures::attempt_ended`] when the attempt's last turn is judged. *Promise:* of all
/// records of an attempt, the hooks' too, one has the mark `final`, and it is the newest. What cannot be written costs
/// the record, never the run.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Captures: Send + Sync {
    /// What the agent's program is told, so that its hooks' records are bound to the attempt.
    fn environment(&self, attempt: &CapturedAttempt, threshold: RiskThreshold) -> BTreeMap<String, String>;

    /// Writes the attempt's final record, with what the agent reported of its own work.
    ///
    /// # Errors
    /// [`CapturesError`].
    async fn attempt_ended(&self, end: AttemptEnd) -> Result<(), CapturesError>;
}

/// The attempt that a record is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedAttempt {
    /// The run.
    pub run: RunId,
    /// The task.
    pub task: TaskId,
    /// The subtask.
    pub subtask: SubtaskId,
    /// From 1, over all runs.
    pub attempt: u32,
    /// The agent.
    pub agent: String,
    /// The agent run.
    pub session: SessionId,
}

impl CapturedAttempt {
    /// The task, with its subtask where it has several: `task` or `task/subtask`.
    #[must_use]
    pub fn task_ref(&self) -> String {
        if self.task.as_str() == self.subtask.as_str() {
            self.task.to_string()
        } else {
            format!("{}/{}", self.task, self.subtask)
        }
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptEnd {
    /// The attempt.
    pub attempt: CapturedAttempt,
    /// The agent's own id of the conversation, if it has one; the agent may know itself by it.
    pub agent_session: Option<String>,
    /// Its last turn, from 1.
    pub turn: u32,
    /// Every file that differs from the base.
    pub files: Vec<String>,
    /// What they say.
    pub risk: Risk,
}

/// A record could not be written.
#[derive(Debug, Clone, thiserror::Error)]
#[error("failed to write the reflection.v1 record of attempt {attempt} at {task_ref} in {dir}: {message}")]
pub struct CapturesError {
    /// What was worked on.
    pub task_ref: String,
    /// The attempt.
    pub attempt: u32,
    /// The directory.
    pub dir: String,
    /// What the system says.
    pub message: String,
}
