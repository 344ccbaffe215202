//! One task in one run: what it is, how far it has come, and where it is worked on.

use super::context::RunContext;
use super::course::ResumePoint;
use super::machine::Input;
use super::past_failure::PastFailure;
use super::proof::Seen;
use super::resume::LastJudged;
use crate::domain::{
    AttemptCount, CheckReport, CheckScope, CheckSpec, FileGlobs, SessionId, Subtask, Task, TaskReport, TreeId, Usage,
};
use crate::prompt::PartOrigin;
use crate::services::{JournalError, TasksError, Workspace, WorkspaceError};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A task with an open workspace and a known baseline.
pub(super) struct Prepared {
    /// Files that no attempt may change, by the project and by the task.
    pub protect: FileGlobs,
    pub workspace: Arc<dyn Workspace>,
    /// Where checks run that decide; none without checks.
    pub room: Option<PathBuf>,
    pub baseline: Vec<CheckReport>,
}

/// Why a task could not be gone on with.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum TaskRunError {
    /// The whole run cannot go on: a journal that cannot be written, or a machine without room.
    #[error("{0}")]
    Halt(String),
    /// Something around the task is not as it must be; others may go on.
    #[error("{0}")]
    Blocked(String),
    /// No check can show that the task is done: no agent is paid for it.
    #[error("{0}")]
    NoCheck(String),
    /// Setup or a check cannot even start: what is wrong with this task is likely wrong with every other.
    #[error("{0}")]
    Environment(String),
}

impl From<JournalError> for TaskRunError {
    /// Nothing may be done whose intent is not on disk.
    fn from(error: JournalError) -> Self {
        Self::Halt(error.to_string())
    }
}

impl From<TasksError> for TaskRunError {
    /// What was found out about a task must be known to the next run.
    fn from(error: TasksError) -> Self {
        Self::Halt(format!("where tasks stand could not be written: {error}"))
    }
}

impl From<WorkspaceError> for TaskRunError {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Machine(because) => Self::Halt(because),
            error @ WorkspaceError::Setup { .. } => Self::Environment(error.to_string()),
            error => Self::Blocked(error.to_string()),
        }
    }
}

/// One task in one run.
pub(super) struct TaskRun {
    pub context: Arc<RunContext>,
    pub task: Task,
    pub parts: Vec<Subtask>,
    /// Whose words they are.
    pub origin: PartOrigin,
    pub report: TaskReport,
    pub usage: Usage,
    pub last_failure: Option<PastFailure>,
    /// The same of the attempt before the one that was judged last.
    pub failed_before: Option<PastFailure>,
    /// The newest recorded change and its part: kept as a patch unless it ends on a branch.
    pub last_change: Option<(usize, TreeId)>,
    /// Where the agent of the next attempt may go on.
    pub resume: Option<ResumePoint>,
    /// The open workspace and the baseline, or why there is none.
    pub prepared: Option<Result<Prepared, TaskRunError>>,
    /// The attempt that was judged last.
    pub last_judged: Option<LastJudged>,
    /// The tree on the task's branch.
    pub committed: Option<TreeId>,
    /// The files that merging that brings.
    pub merges: Vec<String>,
    /// Those of them that hold what is carried.
    pub carried: Vec<String>,
    /// What in the home directory steered tools otherwise than when the run began, in words, while the last attempt was made and checked.
    pub steered: BTreeSet<String>,
    /// The commit to start from instead of the run's base, because the work did not merge.
    pub onto: Option<String>,
    /// Sessions of this run whose attempt has no result: it is done again.
    pub open_sessions: Vec<SessionId>,
    /// Sessions of this run on which a lesson may be stored that is not written down.
    pub taught: Vec<SessionId>,
    /// What the machine is fed again with.
    pub past: Vec<Input>,
    pub counts: Option<Vec<AttemptCount>>,
    /// Checks that the last attempt may have failed because of what is around its files.
    pub suspects: Vec<(CheckScope, CheckSpec)>,
    pub worker: usize,
    /// What the checks said of which tree, for the proofs of later turns and attempts.
    pub seen: Seen,
    /// Attempts of this task that this run has begun.
    pub begun: u32,
    /// How long earlier processes of this run worked on it.
    pub worked: Duration,
    pub started: Duration,
}
