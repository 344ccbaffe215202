//! Verdicts for other programs.

use crate::domain::{SessionVerdict, TurnRecord};
use async_trait::async_trait;

/// Leaves the verdict on a session where other programs and people find it.
///
/// *Who calls:* the orchestrator after every turn: [`Verdicts::publish`] as soon as the checks have run, again when
/// everybody who is asked has answered, then [`Verdicts::keep`]. *Promise:* a reader sees an old verdict or the new one,
/// never half of one. What cannot be written costs the file, never the run.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Verdicts: Send + Sync {
    /// Puts the session's newest verdict in the place of the one before.
    ///
    /// # Errors
    /// [`VerdictsError`].
    async fn publish(&self, verdict: &SessionVerdict) -> Result<(), VerdictsError>;

    /// Keeps everything that a turn was judged by.
    ///
    /// # Errors
    /// [`VerdictsError`].
    async fn keep(&self, record: &TurnRecord) -> Result<(), VerdictsError>;
}

/// A verdict could not be written.
#[derive(Debug, Clone, thiserror::Error)]
#[error("failed to write {path}: {message}")]
pub struct VerdictsError {
    /// The file.
    pub path: String,
    /// What the system says.
    pub message: String,
}
