//! Language models, each behind its policies.

use crate::domain::policy;
use crate::llm;
use crate::services::Model;
use crate::services::ModelError;
use crate::services::Models;
use std::sync::Arc;

/// Opens models with the feature `llm`; without it, says so.
pub(super) struct ModelSet;

impl Models for ModelSet {
    fn open(&self, model: &policy::Model) -> Result<Arc<dyn Model>, ModelError> {
        llm::open(model, |name| std::env::var(name).ok())
    }
}
