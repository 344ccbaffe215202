//! Keeping reflections.

use crate::domain::{LineProblem, Reflection, ReflectionId, Timestamp};
use async_trait::async_trait;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

/// Keeps reflections in the order in which they were appended.
///
/// *Who calls:* the reflection service and `memory …`. *Recent* always means *last appended first*; times order
/// nothing. Every implementation passes `testing::storage_contract`.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Storage: Send + Sync {
    /// Appends the reflections in the given order; durable on return, all or none. Appending an id again keeps both
    /// records; nothing is ever overwritten. What is not [storable](Reflection::storable) is refused.
    ///
    /// # Errors
    /// [`StorageError::Io`]; none of the reflections is stored then.
    async fn append(&self, reflections: &[Reflection]) -> Result<(), StorageError>;

    /// The newest reflections that match, last appended first; none is an empty list.
    ///
    /// # Errors
    /// [`StorageError::Io`]. Lines that cannot be read are skipped and counted in [`Storage::check`].
    async fn recent(&self, query: &RecentQuery) -> Result<Vec<Reflection>, StorageError>;

    /// The reflections that match, last appended first, in pages, so that a memory of any size is listed in little memory: without a mark
    /// the newest ones, then those before the mark of the page before. The query's `limit` is for [`Storage::recent`].
    ///
    /// A store that says nothing of its own gives all of them as one page.
    ///
    /// # Errors
    /// [`StorageError::Io`]; also where the store was changed so that a mark says nothing any more.
    async fn page(&self, query: &RecentQuery, before: Option<PageMark>) -> Result<Page, StorageError> {
        let _ = before;
        let all = RecentQuery { limit: None, ..query.clone() };
        Ok(Page { reflections: self.recent(&all).await?, ..Page::default() })
    }

    /// Those of these reflections that there are; of one id the last appended.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    async fn get_many(&self, ids: &[ReflectionId]) -> Result<HashMap<ReflectionId, Reflection>, StorageError> {
        let mut found = HashMap::new();
        for id in ids {
            match self.get(id).await {
                Ok(reflection) => drop(found.insert(id.clone(), reflection)),
                Err(StorageError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// The last appended reflection with this id.
    ///
    /// # Errors
    /// [`StorageError::NotFound`], [`StorageError::Io`].
    async fn get(&self, id: &ReflectionId) -> Result<Reflection, StorageError>;

    /// Removes every reflection created before `older_than` but those with one of the ids in `keep`, atomically; unreadable lines and records of
    /// a future version stay, byte for byte. Appends of other processes while it works are not lost.
    ///
    /// # Errors
    /// [`StorageError::Io`]; nothing was removed then.
    async fn prune(&self, older_than: Timestamp, keep: &BTreeSet<ReflectionId>) -> Result<PruneReport, StorageError>;

    /// Reads everything and says what cannot be read.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    async fn check(&self) -> Result<StoreReport, StorageError>;
}

/// Which reflections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct RecentQuery {
    /// Only of this task.
    pub task: Option<String>,
    /// Only of this subtask.
    pub subtask: Option<String>,
    /// At most this many; all if not given.
    pub limit: Option<usize>,
    /// Leave out what is [foreign](Reflection::foreign): for prompts.
    pub own_only: bool,
}

/// Some of the reflections that match a query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Last appended first.
    pub reflections: Vec<Reflection>,
    /// How many records among them cannot be read; nothing where the page was not looked at for that.
    pub unreadable: Option<usize>,
    /// Where it ends; none if there are no older ones.
    pub next: Option<PageMark>,
}

/// Where a page ends, in words of the store that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageMark(pub String);

/// What a prune did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PruneReport {
    /// Reflections removed.
    pub removed: usize,
    /// Reflections kept.
    pub kept: usize,
    /// Unreadable lines and records of a future version, kept byte for byte.
    pub unreadable: usize,
}

/// What is in a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreReport {
    /// Readable reflections.
    pub reflections: usize,
    /// How many lines cannot be read.
    pub unreadable: usize,
    /// The first of them, at most 20.
    pub problems: Vec<LineProblem>,
    /// How many reflections are [foreign](Reflection::foreign).
    pub foreign: usize,
}

/// A store failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// There is no such reflection.
    #[error("no reflection has the id `{id}`")]
    NotFound {
        /// The id asked for.
        id: ReflectionId,
    },
    /// The system refused to read or write.
    #[error("failed to {action} {path}: {message}", path = path.display())]
    Io {
        /// What was tried: `append to`, `read`, `prune`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        message: String,
    },
}
