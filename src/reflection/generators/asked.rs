//! Whoever answers questions, as generator.

use crate::domain::{Draft, FailureContext, Origin};
use crate::prompt::{parse_reply, reflect_prompt, reflect_schema};
use crate::services::{Attempted, Generator, GeneratorError, Question, Respondent, UsageMeter, ask};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Asks somebody for a reflection.
///
/// A program gets the failure as JSON, and `REFLEXION_TASK_ID`, `REFLEXION_SUBTASK_ID`, `REFLEXION_ATTEMPT` and `REFLEXION_SESSION_ID`.
pub struct AskedGenerator {
    /// Who is asked.
    pub who: Arc<dyn Respondent>,
    /// Stands in the reflections.
    pub origin: Origin,
}

#[async_trait]
impl Generator for AskedGenerator {
    async fn generate(&self, failure: &FailureContext, spent: &UsageMeter) -> Result<Draft, GeneratorError> {
        let question = Question {
            purpose: "reflect",
            prompt: reflect_prompt(failure),
            schema: reflect_schema(),
            data: serde_json::to_value(failure).map_err(|error| GeneratorError::GenerationFailed(error.to_string()))?,
            env: variables(failure),
            about: Some(Attempted {
                task: failure.task_id.clone(),
                subtask: failure.subtask_id.clone(),
                attempt: failure.attempt_number,
            }),
            own: None,
        };
        let read = |text: &str| parse_reply(text).map_err(|error| error.to_string());
        let reply = ask(&*self.who, &question, read, spent).await?;
        if reply.items_dropped > 0 {
            tracing::warn!("{} of the action items of a lesson are no texts, and left out", reply.items_dropped);
        }
        Ok(reply.by(self.origin.clone()))
    }
}

fn variables(failure: &FailureContext) -> BTreeMap<String, String> {
    [
        ("REFLEXION_TASK_ID", failure.task_id.to_string()),
        ("REFLEXION_SUBTASK_ID", failure.subtask_id.to_string()),
        ("REFLEXION_ATTEMPT", failure.attempt_number.to_string()),
        ("REFLEXION_SESSION_ID", failure.session_id.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

#[cfg(test)]
mod tests {
    use super::super::super::test_failure;
    use super::*;
    use crate::domain::Category;
    use crate::services::{AskError, MockRespondent};

    const GOOD: &str = r#"{"category":"test_gap","analysis":"a","suggestion":"s","actionItems":[],"confidence":7}"#;

    async fn generate(answer: Result<&'static str, AskError>) -> Result<Draft, GeneratorError> {
        let mut who = MockRespondent::new();
        who.expect_answer().times(1).returning(move |question, accepts, _| {
            let failure: FailureContext = serde_json::from_value(question.data.clone()).unwrap();
            assert_eq!((failure, question.purpose), (test_failure(), "reflect"));
            assert_eq!((&question.prompt, &question.schema), (&reflect_prompt(&test_failure()), &reflect_schema()));
            let env = [("ATTEMPT", "1"), ("SESSION_ID", "ses-1"), ("SUBTASK_ID", "cart"), ("TASK_ID", "cart")];
            let env = env.map(|(name, value)| (format!("REFLEXION_{name}"), value.to_owned()));
            assert_eq!(question.env, BTreeMap::from(env));
            let text = answer.clone()?;
            accepts(text).map_err(AskError::Unreadable)?;
            Ok(text.to_owned())
        });
        let origin = Origin::Llm { model: "small".to_owned() };
        AskedGenerator { who: Arc::new(who), origin }.generate(&test_failure(), &UsageMeter::default()).await
    }

    #[tokio::test]
    async fn the_answer_becomes_a_draft_that_names_who_gave_it() {
        let draft = generate(Ok(GOOD)).await.unwrap();
        assert_eq!((draft.category, draft.analysis.as_str(), draft.confidence), (Category::TestGap, "a", 1.0));
        assert_eq!(draft.origin, Origin::Llm { model: "small".to_owned() });
    }

    #[tokio::test]
    async fn every_error_is_the_generators() {
        let check = async |answer, expected: &str| {
            assert_eq!(generate(answer).await.unwrap_err().to_string(), expected);
        };
        let limit = std::time::Duration::from_secs(30);
        check(Err(AskError::Timeout(limit)), "timeout: no answer within 30 s").await;
        check(Err(AskError::Failed("no key".to_owned())), "generation_failed: no key").await;
        let none = "parse_error: the answer holds no JSON object with an `analysis`; it begins: \"I cannot say.\"";
        check(Ok("I cannot say."), none).await;
    }
}
