//! What was committed.

use crate::domain::{Commit, HistoryExtent, Timestamp};
use async_trait::async_trait;
use std::path::PathBuf;

/// Reads a repository's history. Nothing is fetched or changed.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait History: Send + Sync {
    /// Shows every commit that `HEAD` reaches to `reader`, each before its parents, and keeps none.
    ///
    /// # Errors
    /// [`HistoryError`].
    async fn read(&self, query: HistoryQuery, reader: &mut AnyCommitReader) -> Result<HistoryExtent, HistoryError>;
}

/// Whose history is read, and how far back.
#[derive(Debug, Clone)]
pub struct HistoryQuery {
    /// A directory in the repository, or a bare one.
    pub repository: PathBuf,
    /// Nothing that was committed before.
    pub since: Option<Timestamp>,
}

/// Whoever takes commits.
pub type AnyCommitReader = dyn CommitReader;

/// Takes commits one by one.
pub trait CommitReader: Send {
    /// Takes a commit; must not block.
    fn commit(&mut self, commit: Commit);
}

/// The history could not be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HistoryError {
    /// There is nothing to read there.
    #[error("{0}")]
    Nothing(String),
    /// Git failed.
    #[error("failed to read the history: {0}")]
    Git(String),
}
