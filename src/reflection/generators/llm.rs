//! A language model as generator.

use crate::domain::Draft;
use crate::domain::FailureContext;
use crate::domain::policy;
use crate::services::Generator;
use crate::services::GeneratorError;
use crate::services::Model;
use crate::services::ModelError;
use crate::services::Models;
use async_trait::async_trait;
use std::sync::Arc;

/// Asks a language model for a reflection.
pub struct LlmGenerator {
    model: Result<Arc<dyn Model>, ModelError>,
}

impl LlmGenerator {
    /// Opens the model; one that cannot be opened is an error of every answer, so that the heuristic steps in.
    #[must_use]
    pub fn open(models: &dyn Models, model: &policy::Model) -> Self {
        Self { model: models.open(model) }
    }
}

#[async_trait]
impl Generator for LlmGenerator {
    async fn generate(&self, _: &FailureContext) -> Result<Draft, GeneratorError> {
        let _model = self.model.as_ref().map_err(|e| GeneratorError::GenerationFailed(e.to_string()))?;
        Err(GeneratorError::GenerationFailed("not yet".to_owned()))
    }
}
