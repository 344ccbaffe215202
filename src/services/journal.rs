//! A run's intents and results.

use crate::domain::JournalEntry;
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
}

/// The journal could not be written.
#[derive(Debug, Clone, thiserror::Error)]
#[error("failed to write the journal {path}: {message}")]
pub struct JournalError {
    /// The file.
    pub path: String,
    /// What the system says.
    pub message: String,
}
