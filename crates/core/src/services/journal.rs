//! A run's intents and results.

use crate::domain::{JournalEntry, RunId, Timestamp};
use async_trait::async_trait;

/// Writes down what a run is about to do and what came of it.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Journal: Send + Sync {
    /// Appends one entry; durable on return. Waiting writers share one sync.
    ///
    /// # Errors
    /// [`JournalError`]; the caller must not go on to the effect whose intent could not be written.
    async fn record(&self, entry: JournalEntry) -> Result<(), JournalError>;

    /// What a run wrote down and when, in order. A line that was torn off by a crash, or that another version wrote, is left out.
    ///
    /// # Errors
    /// [`JournalError`] if there is no such run, or its file cannot be read.
    async fn read(&self, run: &RunId) -> Result<Vec<(Timestamp, JournalEntry)>, JournalError>;

    /// Notes outside of the project how far the records of the run that goes on reach (its journal, the marks on tasks, the memory), and
    /// says, in words, what others than the runtime changed in them since the last call. What was added is not believed.
    ///
    /// # Errors
    /// [`JournalError`] if they cannot be read or noted.
    async fn foreign_changes(&self) -> Result<Vec<String>, JournalError>;

    /// When a process of the run was last known to live, as far as anybody keeps that.
    async fn last_alive(&self, run: &RunId) -> Option<Timestamp> {
        let _ = run;
        None
    }

    /// The runs that wrote anything down, newest first.
    ///
    /// # Errors
    /// [`JournalError`] if that cannot be found out.
    async fn runs(&self) -> Result<Vec<RunId>, JournalError>;
}

/// The journal could not be written or read.
#[derive(Debug, Clone, thiserror::Error)]
#[error("failed to {action} the journal {path}: {message}")]
pub struct JournalError {
    /// What was tried.
    pub action: &'static str,
    /// The file.
    pub path: String,
    /// What the system says.
    pub message: String,
}
