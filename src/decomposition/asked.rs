//! Whoever answers questions, as decomposer.

use crate::domain::{ProposedPart, SubtaskId, Task};
use crate::prompt::{decompose_prompt, decompose_schema, parse_parts};
use crate::services::{AskError, Attempted, Decomposer, Question, Respondent, UsageMeter, ask};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Asks somebody in which parts a task should be worked on.
pub struct AskedDecomposer {
    /// Who is asked.
    pub who: Arc<dyn Respondent>,
}

#[async_trait]
impl Decomposer for AskedDecomposer {
    async fn propose(&self, task: &Task, spent: &UsageMeter) -> Result<Vec<ProposedPart>, AskError> {
        let failed = |error: &dyn std::fmt::Display| AskError::Failed(error.to_string());
        let question = Question {
            purpose: "decompose",
            prompt: decompose_prompt(task).map_err(|error| failed(&error))?,
            schema: decompose_schema(),
            data: serde_json::to_value(task).map_err(|error| failed(&error))?,
            env: BTreeMap::new(),
            about: Some(Attempted { task: task.id.clone(), subtask: SubtaskId::from(&task.id), attempt: 1 }),
            own: None,
        };
        ask(&*self.who, &question, |text: &str| parse_parts(text).map_err(|error| error.to_string()), spent).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::MockRespondent;

    const TWO: &str = r#"{"subtasks":[{"title":"a","description":"b"},{"title":"c","description":"d"}]}"#;

    #[tokio::test]
    async fn the_answer_is_the_parts() {
        let check = async |answer: Result<&'static str, AskError>, expected: Result<usize, &str>| {
            let mut who = MockRespondent::new();
            who.expect_answer().times(1).returning(move |question, accepts, _| {
                assert!(question.prompt.contains("Both forms."), "{}", question.prompt);
                assert_eq!(question.about.as_ref().map(|about| about.task.as_str()), Some("t"));
                let text = answer.clone()?;
                accepts(text).map_err(AskError::Unreadable)?;
                Ok(text.to_owned())
            });
            let task = serde_json::from_str(r#"{"id":"t","title":"Dates","description":"Both forms."}"#).unwrap();
            let proposed = AskedDecomposer { who: Arc::new(who) }.propose(&task, &UsageMeter::default()).await;
            let proposed = proposed.map(|parts| parts.len()).map_err(|error| error.to_string());
            assert_eq!(proposed, expected.map_err(str::to_owned));
        };
        check(Ok(TWO), Ok(2)).await;
        check(Err(AskError::Failed("the agent run ended: budget".to_owned())), Err("the agent run ended: budget"))
            .await;
        let none =
            "the answer cannot be read: the answer holds no JSON object with a list of `subtasks`; it begins: \"No.\"";
        check(Ok("No."), Err(none)).await;
    }
}
