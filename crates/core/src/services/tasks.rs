//! The task file, and what runs found out about its tasks.

use crate::domain::{TaskId, TaskList, TaskMark};
use async_trait::async_trait;
use std::path::PathBuf;

/// Reads the user's task file and the runtime's overlay; runs append to the overlay, only people change the file.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Tasks: Send + Sync {
    /// Reads both; unreadable lines are reported in the list and stop nothing.
    ///
    /// # Errors
    /// [`TasksError::Io`] if the task file cannot be read at all (a file that does not exist holds no tasks).
    async fn load(&self) -> Result<TaskList, TasksError>;

    /// A number that is another one after a person changed the task file; equal numbers say that nobody did.
    fn edits(&self) -> u64;

    /// Appends marks to the overlay; durable on return.
    ///
    /// # Errors
    /// [`TasksError::Io`].
    async fn mark(&self, marks: &[TaskMark]) -> Result<(), TasksError>;
}

/// The task file could not be read or changed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TasksError {
    /// The system refused.
    #[error("failed to {action} {path}: {message}", path = path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        message: String,
    },
    /// There is no such task.
    #[error("there is no task `{id}` in {path}{}", nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default(), path = path.display())]
    NotFound {
        /// The id asked for.
        id: String,
        /// The task file.
        path: PathBuf,
        /// The most similar id.
        nearest: Option<String>,
    },
    /// There is already a task with this id.
    #[error("there is already a task `{id}` in {path}", path = path.display())]
    Exists {
        /// The id.
        id: TaskId,
        /// The task file.
        path: PathBuf,
    },
    /// What was given is no task.
    #[error("not a task: {0}")]
    Invalid(String),
}
