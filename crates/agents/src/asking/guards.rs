//! What stands around whoever is asked.

use crate::prompt::ask_again;
use crate::services::{Accepts, AskError, Clock, Question, Respondent, UsageMeter};
use async_trait::async_trait;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::timeout;

/// For so long an answer holds. Seed 000 of Reflection-3 has the same.
const KEPT_FOR: Duration = Duration::from_mins(1);

/// Asks once more, with the reason, where an answer cannot be read; the second answer stands.
pub(super) struct Again(pub Arc<dyn Respondent>);

#[async_trait]
impl Respondent for Again {
    async fn answer<'a>(
        &self,
        question: &Question,
        accepts: &'a Accepts<'a>,
        spent: &UsageMeter,
    ) -> Result<String, AskError> {
        match self.0.answer(question, accepts, spent).await {
            Err(AskError::Unreadable(why)) => {
                let again = Question { prompt: ask_again(&question.prompt, &why), ..question.clone() };
                self.0.answer(&again, accepts, spent).await
            }
            other => other,
        }
    }
}

/// Ends what takes too long: it is dropped, which ends its processes. The limits of an agent or model stand inside; this one counts every
/// try and wait.
pub(super) struct Limited {
    pub inner: Arc<dyn Respondent>,
    pub limit: Duration,
}

#[async_trait]
impl Respondent for Limited {
    async fn answer<'a>(
        &self,
        question: &Question,
        accepts: &'a Accepts<'a>,
        spent: &UsageMeter,
    ) -> Result<String, AskError> {
        let answer = timeout(self.limit, self.inner.answer(question, accepts, spent)).await;
        answer.unwrap_or(Err(AskError::Timeout(self.limit)))
    }
}

/// Keeps answers for a minute, under the whole question. Errors are never kept, and so is nothing that could not be read.
pub(super) struct Kept {
    inner: Arc<dyn Respondent>,
    clock: Arc<dyn Clock>,
    answers: Mutex<HashMap<[u8; 32], (Duration, String)>>,
}

impl Kept {
    pub fn new(inner: Arc<dyn Respondent>, clock: Arc<dyn Clock>) -> Self {
        Self { inner, clock, answers: Mutex::default() }
    }

    fn known(&self, key: &[u8; 32]) -> Option<String> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.elapsed();
        answers.retain(|_, (since, _)| now.saturating_sub(*since) < KEPT_FOR);
        answers.get(key).map(|(_, answer)| answer.clone())
    }
}

#[async_trait]
impl Respondent for Kept {
    async fn answer<'a>(
        &self,
        question: &Question,
        accepts: &'a Accepts<'a>,
        spent: &UsageMeter,
    ) -> Result<String, AskError> {
        let key = key(question)?;
        if let Some(answer) = self.known(&key) {
            return Ok(answer);
        }
        let answer = self.inner.answer(question, accepts, spent).await?;
        let entry = (self.clock.elapsed(), answer.clone());
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).insert(key, entry);
        Ok(answer)
    }
}

fn key(question: &Question) -> Result<[u8; 32], AskError> {
    let whole = (question.purpose, &question.prompt, &question.schema, &question.data);
    let bytes = serde_json::to_vec(&whole).map_err(|error| AskError::Failed(error.to_string()))?;
    Ok(Sha256::digest(bytes).into())
}
