//! A language model as generator.

use super::drafted;
use crate::domain::{Draft, FailureContext, Origin, policy};
use crate::prompt::{parse_reply, reflect_again, reflect_prompt, reflect_schema};
use crate::services::{Generator, GeneratorError, Model, ModelError, ModelRequest, Models, UsageMeter, ask_model};
use async_trait::async_trait;
use std::sync::Arc;

/// Asks a language model for a reflection, held to a JSON Schema where the settings say so.
///
/// Several servers accept a schema and ignore it, so the answer is read as any text is. One that cannot be read is asked
/// for once more, with the reason; after that it is an error.
pub struct LlmGenerator {
    model: Result<Arc<dyn Model>, ModelError>,
    name: String,
}

impl LlmGenerator {
    /// Opens the model; one that cannot be opened is an error of every answer, so that the heuristic steps in.
    #[must_use]
    pub fn open(models: &dyn Models, model: &policy::Model) -> Self {
        Self { model: models.open(model), name: model.name.clone() }
    }
}

#[async_trait]
impl Generator for LlmGenerator {
    async fn generate(&self, failure: &FailureContext, spent: &UsageMeter) -> Result<Draft, GeneratorError> {
        let model = self.model.as_ref().map_err(failed)?;
        let question = ModelRequest { system: None, prompt: reflect_prompt(failure), schema: Some(reflect_schema()) };
        let reply = ask_model(&**model, question, |text: &str| parse_reply(text), reflect_again, spent).await;
        let reply = reply.map_err(|error| failed(&error))?.map_err(|error| GeneratorError::Parse(error.to_string()))?;
        Ok(drafted(reply, Origin::Llm { model: self.name.clone() }))
    }
}

fn failed(error: &ModelError) -> GeneratorError {
    match error {
        ModelError::Timeout(limit) => GeneratorError::Timeout(*limit),
        other => GeneratorError::GenerationFailed(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::test_failure;
    use super::*;
    use crate::domain::{Category, Usage};
    use crate::services::{Completion, MockModel, MockModels};
    use std::time::Duration;

    const GOOD: &str = r#"{"category":"test_gap","analysis":"a","suggestion":"s","actionItems":[],"confidence":7}"#;

    /// One answer's.
    fn used() -> Usage {
        Usage { input: Some(100), output: Some(10), cost_usd: Some(0.25), ..Usage::default() }
    }

    fn answer(text: &str) -> Completion {
        Completion::whole(text, used())
    }

    fn policy() -> policy::Model {
        policy::Model {
            provider: policy::Provider::OpenAi,
            name: "small".to_owned(),
            base_url: None,
            key_env: None,
            max_tokens: 400,
            temperature_milli: None,
            structured: policy::Structured::On,
            limits: policy::Limits {
                timeout: Duration::from_secs(30),
                concurrency: None,
                per_minute: None,
                retries: 0,
            },
        }
    }

    fn generator(model: MockModel) -> LlmGenerator {
        let mut models = MockModels::new();
        models.expect_open().return_once(move |_| Ok(Arc::new(model)));
        LlmGenerator::open(&models, &policy())
    }

    #[tokio::test]
    async fn the_answer_becomes_a_draft_that_names_the_model() {
        let mut model = MockModel::new();
        model
            .expect_complete()
            .times(1)
            .withf(|request| {
                request.prompt == reflect_prompt(&test_failure()) && request.schema == Some(reflect_schema())
            })
            .returning(|_| Ok(answer(&format!("Sure:\n```json\n{GOOD}\n```"))));
        let draft = generator(model).generate(&test_failure(), &UsageMeter::default()).await.unwrap();
        assert_eq!((draft.category, draft.confidence), (Category::TestGap, 1.0));
        assert_eq!(draft.origin, Origin::Llm { model: "small".to_owned() });
    }

    #[tokio::test]
    async fn an_unreadable_answer_is_asked_for_once_more_with_the_reason() {
        let mut model = MockModel::new();
        let mut order = mockall::Sequence::new();
        model.expect_complete().times(1).in_sequence(&mut order).returning(|_| Ok(answer("I am sorry.")));
        model
            .expect_complete()
            .times(1)
            .in_sequence(&mut order)
            .withf(|request| request.prompt.contains("I am sorry.") && request.prompt.contains("expected 3, got 4"))
            .returning(|_| Ok(answer(GOOD)));
        let spent = UsageMeter::default();
        assert_eq!(generator(model).generate(&test_failure(), &spent).await.unwrap().analysis, "a");
        let twice = Usage { input: Some(200), output: Some(20), cost_usd: Some(0.5), ..Usage::default() };
        assert_eq!(spent.total(), twice);

        let mut stubborn = MockModel::new();
        stubborn.expect_complete().times(2).returning(|_| Ok(answer("No.")));
        let spent = UsageMeter::default();
        let error = generator(stubborn).generate(&test_failure(), &spent).await.unwrap_err();
        assert_eq!(spent.total(), twice, "answers that were of no use are paid for");
        assert!(matches!(&error, GeneratorError::Parse(why) if why.contains("No.")), "{error}");
    }

    #[tokio::test]
    async fn a_model_that_fails_is_not_asked_again_here() {
        async fn check(error: ModelError, expected: &str) {
            let mut model = MockModel::new();
            model.expect_complete().times(1).return_once(move |_| Err(error));
            let said =
                generator(model).generate(&test_failure(), &UsageMeter::default()).await.unwrap_err().to_string();
            assert_eq!(said, expected);
        }
        check(ModelError::Timeout(Duration::from_secs(9)), "timeout: no answer within 9 s").await;
        check(ModelError::Auth("no key".to_owned()), "generation_failed: not logged in: no key").await;
    }

    #[tokio::test]
    async fn a_model_that_cannot_be_opened_says_so_at_every_answer() {
        let mut models = MockModels::new();
        models.expect_open().return_once(|_| Err(ModelError::Auth("OPENAI_API_KEY is not set".to_owned())));
        let generator = LlmGenerator::open(&models, &policy());
        for _ in 0..2 {
            let said = generator.generate(&test_failure(), &UsageMeter::default()).await.unwrap_err().to_string();
            assert_eq!(said, "generation_failed: not logged in: OPENAI_API_KEY is not set");
        }
    }
}
