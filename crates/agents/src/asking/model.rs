//! A language model that is asked.

use super::FastModel;
use crate::services::{Accepts, AskError, ModelError, ModelRequest, Question, Respondent, UsageMeter};
use async_trait::async_trait;

/// A language model, held to the question's schema where the provider can be. One that cannot be opened is an error of every answer.
pub(super) struct ModelRespondent {
    pub model: FastModel,
}

#[async_trait]
impl Respondent for ModelRespondent {
    async fn answer<'a>(
        &self,
        question: &Question,
        accepts: &'a Accepts<'a>,
        spent: &UsageMeter,
    ) -> Result<String, AskError> {
        let model = self.model.open().await.map_err(failed)?;
        let (prompt, schema) = (question.prompt.clone(), Some(question.schema.clone()));
        let answer = model.complete(ModelRequest { system: None, prompt, schema }).await.map_err(failed)?;
        spent.add(answer.usage);
        // What it would have said behind that is not known: it may have been a quotation.
        if answer.truncated {
            return Err(AskError::Unreadable("it was cut off at the limit of tokens".to_owned()));
        }
        accepts(&answer.text).map_err(AskError::Unreadable)?;
        Ok(answer.text)
    }
}

fn failed(error: ModelError) -> AskError {
    match error {
        ModelError::Timeout(limit) => AskError::Timeout(limit),
        other => AskError::Failed(other.to_string()),
    }
}
