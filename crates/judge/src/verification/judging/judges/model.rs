//! A language model as judge.

use super::super::questions::prompt;
use super::super::read_answer;
use super::FastModel;
use crate::domain::Opinion;
use crate::prompt::{ask_again, verdict_schema};
use crate::services::{Judge, JudgeError, JudgeQuestion, ModelError, ModelRequest, OpenQuestion, UsageMeter};
use async_trait::async_trait;
use serde_json::Value;

/// Asks a language model, held to a JSON Schema where the provider can be.
///
/// Several servers accept a schema and ignore it, so the answer is read as any text is. A verdict that cannot be read is
/// asked for once more, with the reason; after that it is an error.
pub struct ModelJudge {
    /// Which one.
    pub model: FastModel,
}

#[async_trait]
impl Judge for ModelJudge {
    async fn judge(&self, question: &JudgeQuestion, spent: &UsageMeter) -> Result<Opinion, JudgeError> {
        let prompt = prompt(question);
        let schema = verdict_schema();
        let first = self.answer(prompt.clone(), schema.clone(), spent).await;
        match first.and_then(|answer| read_answer(&answer, question)) {
            Err(error @ JudgeError::Unreadable(_)) => {
                let answer = self.answer(ask_again(&prompt, &error.to_string()), schema, spent).await?;
                read_answer(&answer, question)
            }
            other => other,
        }
    }

    async fn ask(&self, question: &OpenQuestion, spent: &UsageMeter) -> Result<String, JudgeError> {
        self.answer(question.prompt.clone(), question.schema.clone(), spent).await
    }
}

impl ModelJudge {
    async fn answer(&self, prompt: String, schema: Value, spent: &UsageMeter) -> Result<String, JudgeError> {
        let model = self.model.open().await.map_err(failed)?;
        let completion =
            model.complete(ModelRequest { system: None, prompt, schema: Some(schema) }).await.map_err(failed)?;
        spent.add(completion.usage);
        // What it would have said after a quotation is not known.
        if completion.truncated {
            return Err(JudgeError::Unreadable("it was cut off at the limit of tokens".to_owned()));
        }
        Ok(completion.text)
    }
}

fn failed(error: ModelError) -> JudgeError {
    match error {
        ModelError::Timeout(limit) => JudgeError::Timeout(limit),
        other => JudgeError::Failed(other.to_string()),
    }
}
