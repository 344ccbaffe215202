//! Language models as the settings describe them.

use crate::domain::policy;
use crate::services::Model;
use crate::services::ModelError;
use crate::services::Models;
use std::sync::Arc;

/// Opens models with the feature `llm`; without it, says so.
pub(super) struct ModelSet;

impl Models for ModelSet {
    fn open(&self, _: &policy::Model) -> Result<Arc<dyn Model>, ModelError> {
        Err(ModelError::Unavailable("not yet".to_owned()))
    }
}
