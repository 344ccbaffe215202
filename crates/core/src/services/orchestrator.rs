//! The loop.

use crate::domain::{Again, RunId, RunKind, RunOptions, RunReport, TaskId, Timestamp};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

/// Works through tasks: attempt, check, reflect, remember, retry.
#[async_trait]
pub trait Orchestrator: Send + Sync {
    /// Works on the tasks asked for until each is confirmed, blocked or out of attempts.
    ///
    /// # Errors
    /// [`RunError`] if nothing could be started; what goes wrong with a single task is in its report.
    async fn run(&self, request: RunRequest) -> Result<RunReport, RunError>;
}

/// What to run.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// A new id.
    pub run: RunId,
    /// The tasks; empty means every open one.
    pub tasks: Vec<TaskId>,
    /// Whether closed and blocked tasks are done again.
    pub again: Again,
    /// The agent for every task, whatever the tasks and the settings name.
    pub agent: Option<String>,
    /// Attempts per task, whatever the tasks and the settings say.
    pub max_attempts: Option<u32>,
    /// Whether confirmed work is merged.
    pub kind: RunKind,
    /// When everything is stopped, whatever is at work; what is open stays open.
    pub until: Option<Timestamp>,
    /// What the settings hold because the command line says so: written down, so that a run that goes on can have it again.
    pub options: RunOptions,
    /// Whether it is a new run.
    pub start: Start,
    /// Lets attempts that are at work come to their end; nothing new begins, and what is open stays open.
    pub drain: CancellationToken,
    /// Interrupts the run: agents are ended, what is open stays open.
    pub cancel: CancellationToken,
}

impl RunRequest {
    /// Every open task, as the settings say, without a way to interrupt it.
    #[must_use]
    pub fn everything(run: RunId) -> Self {
        let cancel = CancellationToken::new();
        Self {
            run,
            tasks: Vec::new(),
            again: Again::No,
            agent: None,
            max_attempts: None,
            kind: RunKind::Run,
            until: None,
            options: RunOptions::default(),
            start: Start::New,
            drain: CancellationToken::new(),
            cancel,
        }
    }
}

/// Whether a run is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// It is.
    #[default]
    New,
    /// It goes on where its journal ends: with the tasks that are left, in the way in which it was asked for. Of the
    /// request, the run, the deadline, the options and the way to interrupt it count, and agent and attempts where they are given.
    Resume,
}

/// Nothing could be run.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RunError {
    /// A task that was asked for does not exist: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// The environment is not fit to start: exit code 4.
    #[error("{0}")]
    Environment(String),
}
