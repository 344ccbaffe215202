//! Rules.
use crate::domain::*;
use crate::services::*;
/// Rules
#[derive(Debug, Clone, Copy, Default)]
pub struct Heuristic;
impl Heuristic {
    /// Draft
    pub fn draft(&self, _failure: &FailureContext, because: String) -> Draft {
        Draft {
            category: Category::RootCause,
            analysis: "x".into(),
            suggestion: "y".into(),
            action_items: vec![],
            confidence: 0.5,
            origin: Origin::Heuristic { because },
        }
    }
}
#[async_trait::async_trait]
impl Generator for Heuristic {
    async fn generate(&self, failure: &FailureContext) -> Result<Draft, GeneratorError> {
        Ok(self.draft(failure, "no generator is configured".into()))
    }
}
