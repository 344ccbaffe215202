//! Verdicts for other programs.

use crate::domain::{SessionId, SessionVerdict, TurnRecord};
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

    /// Keeps everything that a turn was judged by, and gives the digest by which [`Verdicts::kept`] finds it.
    ///
    /// # Errors
    /// [`VerdictsError`].
    async fn keep(&self, record: &TurnRecord) -> Result<String, VerdictsError>;

    /// The record of a turn of that session with that digest, if it is there as it was kept: a run that goes on tells its next attempt about it.
    /// One that somebody else wrote or changed has another digest, and is not found.
    ///
    /// # Errors
    /// [`VerdictsError`].
    async fn kept(&self, session: &SessionId, digest: &str) -> Result<Option<TurnRecord>, VerdictsError>;
}

/// A verdict could not be written, or what was kept not be read.
#[derive(Debug, Clone, thiserror::Error)]
#[error("failed to write or read {path}: {message}")]
pub struct VerdictsError {
    /// The file.
    pub path: String,
    /// What the system says.
    pub message: String,
}
