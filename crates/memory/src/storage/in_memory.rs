//! Reflections that end with the process.

use super::record::encode;
use crate::domain::{Reflection, ReflectionId, Timestamp};
use crate::services::{PruneReport, RecentQuery, Storage, StorageError, StoreReport};
use async_trait::async_trait;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keeps reflections in memory; clones share them.
///
/// Use it in tests and for runs that must leave nothing behind. Same semantics as
/// [`JsonlStorage`](super::JsonlStorage), what it refuses included, but nothing is durable.
///
/// ```
/// # use reflexion_core::services::{RecentQuery, Storage};
/// # use reflexion_memory::storage::InMemoryStorage;
/// # async fn empty() -> Result<(), reflexion_core::services::StorageError> {
/// assert!(InMemoryStorage::default().recent(&RecentQuery::default()).await?.is_empty());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
pub struct InMemoryStorage {
    kept: Arc<Mutex<Kept>>,
}

/// In the order in which they were appended, and where those of each subtask are: the question that every attempt asks.
#[derive(Debug, Default)]
struct Kept {
    reflections: Vec<Reflection>,
    by_subtask: HashMap<String, Vec<usize>>,
}

impl Kept {
    fn push(&mut self, reflection: Reflection) {
        self.by_subtask.entry(reflection.subtask_id.clone()).or_default().push(self.reflections.len());
        self.reflections.push(reflection);
    }

    /// Newest first: all, or those of one subtask.
    fn newest_first<'a>(&'a self, subtask: Option<&str>) -> Box<dyn Iterator<Item = &'a Reflection> + 'a> {
        match subtask {
            None => Box::new(self.reflections.iter().rev()),
            Some(subtask) => {
                let places = self.by_subtask.get(subtask).map(Vec::as_slice).unwrap_or_default();
                Box::new(places.iter().rev().map(|&place| &self.reflections[place]))
            }
        }
    }
}

impl InMemoryStorage {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Storage for InMemoryStorage {
    async fn append(&self, reflections: &[Reflection]) -> Result<(), StorageError> {
        encode(reflections).map_err(|message| StorageError::Io {
            action: "append to",
            path: PathBuf::from("the memory of this process"),
            message,
        })?;
        let mut kept = self.kept();
        reflections.iter().for_each(|reflection| kept.push(reflection.clone()));
        Ok(())
    }

    async fn recent(&self, query: &RecentQuery) -> Result<Vec<Reflection>, StorageError> {
        Ok(self
            .kept()
            .newest_first(query.subtask.as_deref())
            .filter(|r| query.task.as_ref().is_none_or(|task| *task == r.task_id))
            .take(query.limit.unwrap_or(usize::MAX))
            .cloned()
            .collect())
    }

    async fn get(&self, id: &ReflectionId) -> Result<Reflection, StorageError> {
        let found = self.kept().newest_first(None).find(|r| r.id == *id).cloned();
        found.ok_or_else(|| StorageError::NotFound { id: id.clone() })
    }

    async fn prune(&self, older_than: Timestamp, keep: &BTreeSet<ReflectionId>) -> Result<PruneReport, StorageError> {
        let mut kept = self.kept();
        let before = std::mem::take(&mut *kept).reflections;
        let all = before.len();
        let stays = |r: &Reflection| r.created_at >= older_than || keep.contains(&r.id);
        before.into_iter().filter(stays).for_each(|reflection| kept.push(reflection));
        let left = kept.reflections.len();
        Ok(PruneReport { removed: all - left, kept: left, unreadable: 0 })
    }

    async fn check(&self) -> Result<StoreReport, StorageError> {
        Ok(StoreReport { reflections: self.kept().reflections.len(), ..StoreReport::default() })
    }
}
