//! The same question, asked again.

use crate::domain::Opinion;
use crate::services::{Clock, Judge, JudgeError, JudgeQuestion, OpenQuestion, UsageMeter};
use async_trait::async_trait;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// For so long an answer holds. Seed 000 of Reflection-3 has the same.
const KEPT_FOR: Duration = Duration::from_mins(1);

/// Keeps a judge's answers for a minute, under the whole question, role included. Errors are never kept.
pub struct Cached {
    inner: Arc<dyn Judge>,
    clock: Arc<dyn Clock>,
    opinions: Answers<Opinion>,
    texts: Answers<String>,
}

type Answers<T> = Mutex<HashMap<[u8; 32], (Duration, T)>>;

impl Cached {
    /// Around a judge.
    #[must_use]
    pub fn new(inner: Arc<dyn Judge>, clock: Arc<dyn Clock>) -> Self {
        Self { inner, clock, opinions: Mutex::default(), texts: Mutex::default() }
    }

    fn kept<T: Clone>(&self, answers: &Answers<T>, key: &[u8; 32]) -> Option<T> {
        let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.elapsed();
        answers.retain(|_, (since, _)| now.saturating_sub(*since) < KEPT_FOR);
        answers.get(key).map(|(_, answer)| answer.clone())
    }

    fn keep<T: Clone>(&self, answers: &Answers<T>, key: [u8; 32], answer: &T) {
        let entry = (self.clock.elapsed(), answer.clone());
        answers.lock().unwrap_or_else(PoisonError::into_inner).insert(key, entry);
    }
}

#[async_trait]
impl Judge for Cached {
    async fn judge(&self, question: &JudgeQuestion, spent: &UsageMeter) -> Result<Opinion, JudgeError> {
        let key = key(question)?;
        if let Some(opinion) = self.kept(&self.opinions, &key) {
            return Ok(opinion);
        }
        let opinion = self.inner.judge(question, spent).await?;
        self.keep(&self.opinions, key, &opinion);
        Ok(opinion)
    }

    async fn ask(&self, question: &OpenQuestion, spent: &UsageMeter) -> Result<String, JudgeError> {
        let key = key(question)?;
        if let Some(text) = self.kept(&self.texts, &key) {
            return Ok(text);
        }
        let text = self.inner.ask(question, spent).await?;
        self.keep(&self.texts, key, &text);
        Ok(text)
    }
}

fn key(question: &impl Serialize) -> Result<[u8; 32], JudgeError> {
    let bytes = serde_json::to_vec(question).map_err(|error| JudgeError::Failed(error.to_string()))?;
    Ok(Sha256::digest(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::super::test_question::{open, question};
    use super::*;
    use crate::services::{JudgeRole, MockClock, MockJudge};
    use std::sync::atomic::{AtomicU64, Ordering};

    fn cached(inner: MockJudge) -> (Cached, Arc<AtomicU64>) {
        let seconds = Arc::new(AtomicU64::new(100));
        let told = Arc::clone(&seconds);
        let mut clock = MockClock::new();
        clock.expect_elapsed().returning(move || Duration::from_secs(told.load(Ordering::SeqCst)));
        (Cached::new(Arc::new(inner), Arc::new(clock)), seconds)
    }

    #[tokio::test]
    async fn an_answer_holds_for_a_minute() {
        let mut inner = MockJudge::new();
        inner.expect_judge().times(2).returning(|_, _| Ok(Opinion::default()));
        inner.expect_ask().times(1).returning(|_, _| Ok("so".to_owned()));
        let (judge, seconds) = cached(inner);
        for second in [100, 159, 160, 219] {
            seconds.store(second, Ordering::SeqCst);
            judge.judge(&question(), &UsageMeter::default()).await.unwrap();
        }
        assert_eq!(judge.ask(&open(), &UsageMeter::default()).await, Ok("so".to_owned()));
        assert_eq!(judge.ask(&open(), &UsageMeter::default()).await, Ok("so".to_owned()));
    }

    #[tokio::test]
    async fn another_role_session_or_diff_is_another_question() {
        let mut inner = MockJudge::new();
        inner.expect_judge().times(4).returning(|_, _| Ok(Opinion::default()));
        let (judge, _) = cached(inner);
        judge.judge(&question(), &UsageMeter::default()).await.unwrap();
        judge.judge(&JudgeQuestion { role: JudgeRole::Auditor, ..question() }, &UsageMeter::default()).await.unwrap();
        judge.judge(&JudgeQuestion { diff: "+ other".to_owned(), ..question() }, &UsageMeter::default()).await.unwrap();
        let session = crate::domain::SessionId::new("ses-2".to_owned());
        judge.judge(&JudgeQuestion { session, ..question() }, &UsageMeter::default()).await.unwrap();
    }

    #[tokio::test]
    async fn an_error_is_not_kept() {
        let mut inner = MockJudge::new();
        inner.expect_judge().times(2).returning(|_, _| Err(JudgeError::Failed("down".to_owned())));
        let (judge, _) = cached(inner);
        assert!(judge.judge(&question(), &UsageMeter::default()).await.is_err());
        assert!(judge.judge(&question(), &UsageMeter::default()).await.is_err());
    }
}
