//! Language models as the settings describe them.

use crate::domain::policy;
use crate::llm;
use crate::services::Model;
use crate::services::ModelError;
use crate::services::Models;
use async_trait::async_trait;
use std::sync::Arc;

/// Opens models with the feature `llm`; without it, says so.
pub(super) struct ModelSet;

#[async_trait]
impl Models for ModelSet {
    fn open(&self, model: &policy::Model) -> Result<Arc<dyn Model>, ModelError> {
        llm::open(model, |name| std::env::var(name).ok())
    }

    async fn offered(&self, model: &policy::Model) -> Result<Vec<String>, ModelError> {
        llm::offered(model, |name| std::env::var(name).ok()).await
    }
}
