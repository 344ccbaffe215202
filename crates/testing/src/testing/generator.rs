//! Generators and stores with nothing behind them.

use crate::domain::{Draft, FailureContext, Reflection, ReflectionId, Timestamp};
use crate::services::{
    Generator, GeneratorError, PruneReport, RecentQuery, Storage, StorageError, StoreReport, UsageMeter,
};
use async_trait::async_trait;
use std::collections::BTreeSet;

/// Always the same draft.
#[derive(Debug, Clone)]
pub struct CannedGenerator(Draft);

impl CannedGenerator {
    /// This draft, always.
    #[must_use]
    pub fn new(draft: Draft) -> Self {
        Self(draft)
    }
}

#[async_trait]
impl Generator for CannedGenerator {
    async fn generate(&self, _failure: &FailureContext, _: &UsageMeter) -> Result<Draft, GeneratorError> {
        Ok(self.0.clone())
    }
}

/// Takes everything and keeps nothing, as the memory of the ancestor's test layer did.
#[derive(Debug, Clone, Copy, Default)]
pub struct Forgetful;

#[async_trait]
impl Storage for Forgetful {
    async fn append(&self, _reflections: &[Reflection]) -> Result<(), StorageError> {
        Ok(())
    }

    async fn recent(&self, _query: &RecentQuery) -> Result<Vec<Reflection>, StorageError> {
        Ok(Vec::new())
    }

    async fn get(&self, id: &ReflectionId) -> Result<Reflection, StorageError> {
        Err(StorageError::NotFound { id: id.clone() })
    }

    async fn prune(&self, _older_than: Timestamp, _keep: &BTreeSet<ReflectionId>) -> Result<PruneReport, StorageError> {
        Ok(PruneReport::default())
    }

    async fn check(&self) -> Result<StoreReport, StorageError> {
        Ok(StoreReport::default())
    }
}
