//! Language models as the settings describe them.

use super::redacted::RedactedModel;
use crate::domain::policy;
use crate::llm;
use crate::services::{Completion, Model, ModelError, ModelRequest, Models};
use crate::subagents::with_estimate;
use async_trait::async_trait;
use std::sync::Arc;

/// Opens models with the feature `llm`; without it, says so. What a completion costs is estimated where that is known.
pub(super) struct ModelSet;

#[async_trait]
impl Models for ModelSet {
    fn open(&self, model: &policy::Model) -> Result<Arc<dyn Model>, ModelError> {
        let bare = llm::open(model, |name| std::env::var(name).ok())?;
        Ok(Arc::new(Priced { bare: Arc::new(RedactedModel(bare)), name: model.name.clone() }))
    }

    async fn offered(&self, model: &policy::Model) -> Result<Vec<String>, ModelError> {
        llm::offered(model, |name| std::env::var(name).ok()).await
    }
}

/// A model whose completions say what they cost, if the table of prices knows its name: no provider's answer does.
struct Priced {
    bare: Arc<dyn Model>,
    name: String,
}

#[async_trait]
impl Model for Priced {
    async fn complete(&self, request: ModelRequest) -> Result<Completion, ModelError> {
        let completion = self.bare.complete(request).await?;
        Ok(Completion { usage: with_estimate(completion.usage, &self.name), ..completion })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CostSource, Usage};
    use crate::services::MockModel;

    #[tokio::test]
    async fn the_cost_of_a_model_with_a_price_is_estimated() {
        let check = async |name: &str, expected: Option<CostSource>| {
            let usage = Usage { input: Some(7), output: Some(3), ..Usage::default() };
            let completion = Completion::whole("Fine.", usage);
            let mut bare = MockModel::new();
            bare.expect_complete().times(1).return_once(move |_| Ok(completion));
            let priced = Priced { bare: Arc::new(bare), name: name.to_owned() };
            let usage = priced.complete(ModelRequest::default()).await.unwrap().usage;
            assert_eq!((usage.input, usage.cost_source), (Some(7), expected), "{name}");
        };
        check("gpt-5", Some(CostSource::Estimated)).await;
        check("small", None).await;
    }
}
