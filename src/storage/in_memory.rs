//! Reflections that end with the process.

use super::record::encode;
use crate::domain::Reflection;
use crate::domain::ReflectionId;
use crate::domain::Timestamp;
use crate::services::PruneReport;
use crate::services::RecentQuery;
use crate::services::Storage;
use crate::services::StorageError;
use crate::services::StoreReport;
use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

/// Keeps reflections in memory; clones share them.
///
/// Use it in tests and for runs that must leave nothing behind. Same semantics as
/// [`JsonlStorage`](super::JsonlStorage), what it refuses included, but nothing is durable.
///
/// ```
/// # use reflexion::{services::{RecentQuery, Storage}, storage::InMemoryStorage};
/// # async fn empty() -> Result<(), reflexion::services::StorageError> {
/// assert!(InMemoryStorage::default().recent(&RecentQuery::default()).await?.is_empty());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
pub struct InMemoryStorage {
    reflections: Arc<Mutex<Vec<Reflection>>>,
}

impl InMemoryStorage {
    fn reflections(&self) -> MutexGuard<'_, Vec<Reflection>> {
        self.reflections.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.reflections().extend_from_slice(reflections);
        Ok(())
    }

    async fn recent(&self, query: &RecentQuery) -> Result<Vec<Reflection>, StorageError> {
        let fits = |wanted: &Option<String>, have: &str| wanted.as_ref().is_none_or(|w| w == have);
        Ok(self
            .reflections()
            .iter()
            .rev()
            .filter(|r| fits(&query.task, &r.task_id) && fits(&query.subtask, &r.subtask_id))
            .take(query.limit.unwrap_or(usize::MAX))
            .cloned()
            .collect())
    }

    async fn get(&self, id: &ReflectionId) -> Result<Reflection, StorageError> {
        self.reflections()
            .iter()
            .rfind(|r| r.id == *id)
            .cloned()
            .ok_or_else(|| StorageError::NotFound { id: id.clone() })
    }

    async fn prune(&self, older_than: Timestamp) -> Result<PruneReport, StorageError> {
        let mut reflections = self.reflections();
        let before = reflections.len();
        reflections.retain(|r| r.created_at >= older_than);
        Ok(PruneReport { removed: before - reflections.len(), kept: reflections.len(), unreadable: 0 })
    }

    async fn check(&self) -> Result<StoreReport, StorageError> {
        Ok(StoreReport { reflections: self.reflections().len(), ..StoreReport::default() })
    }
}
