//! Keeping what agents did.

use crate::domain::{RunId, SessionId, TranscriptHead, TranscriptItem, TranscriptRecord};
use std::sync::Arc;

/// Keeps transcripts, one per agent run.
///
/// *Who calls:* the orchestrator, before each agent run; `reflexion transcript`. *Promise:* a transcript never fails a
/// run: what cannot be written is lost with a warning, and what a crash tears off is the last line at most.
#[cfg_attr(feature = "testing", mockall::automock)]
pub trait Transcripts: Send + Sync {
    /// Begins the transcript of an agent run; what is told to the sink is appended as it comes.
    fn begin(&self, head: TranscriptHead) -> Arc<dyn AgentWatch>;

    /// The transcripts there are, newest last; of one run, or of all.
    ///
    /// # Errors
    /// [`TranscriptError`].
    fn list(&self, run: Option<RunId>) -> Result<Vec<TranscriptHead>, TranscriptError>;

    /// The transcript of a session, in order. Lines that cannot be read are left out and counted.
    ///
    /// # Errors
    /// [`TranscriptError::Unknown`] if there is none.
    fn read(&self, session: &SessionId) -> Result<Transcript, TranscriptError>;
}

/// A transcript that was read back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transcript {
    /// Its records, in order.
    pub records: Vec<TranscriptRecord>,
    /// Lines that could not be read.
    pub unreadable: u64,
}

/// Is told each step of an agent while it works.
///
/// *Promise:* returns at once and never fails.
#[cfg_attr(feature = "testing", mockall::automock)]
pub trait AgentWatch: Send + Sync {
    /// Takes one step; `parent` is the call that started the sub-agent whose step it is.
    fn step(&self, item: TranscriptItem, parent: Option<String>);
}

/// A watch that nobody looks at.
pub struct Unwatched;

impl AgentWatch for Unwatched {
    fn step(&self, _: TranscriptItem, _: Option<String>) {}
}

/// A transcript could not be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TranscriptError {
    /// There is none of this session.
    #[error("there is no transcript of session `{0}`")]
    Unknown(String),
    /// The file system refused.
    #[error("failed to read {path}: {message}")]
    Read {
        /// The file.
        path: String,
        /// What the system says.
        message: String,
    },
}
