//! A generator's time limit.

use crate::domain::{Draft, FailureContext};
use crate::services::{Generator, GeneratorError, UsageMeter};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// After its limit a generator is dropped, which ends its child processes, and the answer is [`GeneratorError::Timeout`]. What it used
/// until then counts.
pub struct Limited {
    /// The generator.
    pub inner: Arc<dyn Generator>,
    /// How long one reflection may take.
    pub limit: Duration,
}

#[async_trait]
impl Generator for Limited {
    async fn generate(&self, failure: &FailureContext, spent: &UsageMeter) -> Result<Draft, GeneratorError> {
        let answer = timeout(self.limit, self.inner.generate(failure, spent)).await;
        answer.unwrap_or(Err(GeneratorError::Timeout(self.limit)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Heuristic, test_failure};
    use super::*;
    use crate::domain::Usage;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn limited(inner: impl Generator + 'static) -> Limited {
        Limited { inner: Arc::new(inner), limit: Duration::from_secs(30) }
    }

    /// Never answers, and notes when its work is dropped.
    struct Silent(Arc<AtomicBool>);

    struct Dropped(Arc<AtomicBool>);

    fn used() -> Usage {
        Usage { input: Some(7), ..Usage::default() }
    }

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[async_trait]
    impl Generator for Silent {
        async fn generate(&self, _: &FailureContext, spent: &UsageMeter) -> Result<Draft, GeneratorError> {
            let _guard = Dropped(Arc::clone(&self.0));
            spent.add(used());
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_generator_is_dropped_at_its_limit() {
        let dropped = Arc::new(AtomicBool::new(false));
        let generator = limited(Silent(Arc::clone(&dropped)));
        let start = tokio::time::Instant::now();
        let spent = UsageMeter::default();
        let error = generator.generate(&test_failure(), &spent).await.unwrap_err();
        assert_eq!(error.to_string(), "timeout: no answer within 30 s");
        assert_eq!(spent.total(), used(), "what was used before counts");
        // The paused clock moves only as far as the next timer.
        assert_eq!(start.elapsed().as_secs(), 30);
        assert!(dropped.load(Ordering::SeqCst), "the work went on behind the timeout");
    }

    #[tokio::test]
    async fn answers_and_errors_pass_through() {
        let generator = limited(Heuristic);
        let draft = generator.generate(&test_failure(), &UsageMeter::default()).await.unwrap();
        assert_eq!(draft, Heuristic.generate(&test_failure(), &UsageMeter::default()).await.unwrap());

        let mut failing = crate::services::MockGenerator::new();
        failing.expect_generate().return_once(|_, _| Err(GeneratorError::Parse("no object".to_owned())));
        let error = limited(failing).generate(&test_failure(), &UsageMeter::default()).await.unwrap_err();
        assert_eq!(error.to_string(), "parse_error: no object");
    }
}
