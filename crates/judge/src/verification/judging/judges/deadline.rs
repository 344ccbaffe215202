//! A judge's time limit.

use crate::domain::Opinion;
use crate::services::{Judge, JudgeError, JudgeQuestion, OpenQuestion, UsageMeter};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Ends a judge that takes too long: its work is dropped, which ends its processes, and the answer is
/// [`JudgeError::Timeout`]. The limits of its agent or model stand inside; this one counts every try and wait.
pub struct Deadline {
    /// The judge.
    pub inner: Arc<dyn Judge>,
    /// How long one question may take.
    pub limit: Duration,
}

#[async_trait]
impl Judge for Deadline {
    async fn judge(&self, question: &JudgeQuestion, spent: &UsageMeter) -> Result<Opinion, JudgeError> {
        timeout(self.limit, self.inner.judge(question, spent)).await.unwrap_or(Err(JudgeError::Timeout(self.limit)))
    }

    async fn ask(&self, question: &OpenQuestion, spent: &UsageMeter) -> Result<String, JudgeError> {
        timeout(self.limit, self.inner.ask(question, spent)).await.unwrap_or(Err(JudgeError::Timeout(self.limit)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_question::{open, question};
    use super::*;

    struct Silent;

    #[async_trait]
    impl Judge for Silent {
        async fn judge(&self, _: &JudgeQuestion, _: &UsageMeter) -> Result<Opinion, JudgeError> {
            std::future::pending().await
        }

        async fn ask(&self, _: &OpenQuestion, _: &UsageMeter) -> Result<String, JudgeError> {
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_judge_is_ended_at_its_limit() {
        let limit = Duration::from_secs(120);
        let judge = Deadline { inner: Arc::new(Silent), limit };
        assert_eq!(judge.judge(&question(), &UsageMeter::default()).await, Err(JudgeError::Timeout(limit)));
        assert_eq!(judge.ask(&open(), &UsageMeter::default()).await, Err(JudgeError::Timeout(limit)));
    }
}
