//! A generator as a tower service and back, so that its policies are ordinary tower layers.

use crate::domain::{Draft, FailureContext};
use crate::services::{Generator, GeneratorError, UsageMeter};
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::timeout::error::Elapsed;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt};

/// Puts the policies around a generator: after `limit` it is dropped, which ends its child processes, and the answer is
/// [`GeneratorError::Timeout`].
#[must_use]
pub fn with_policies(generator: Arc<dyn Generator>, limit: Duration) -> Arc<dyn Generator> {
    let service = ServiceBuilder::new().timeout(limit).service(GeneratorService(generator));
    Arc::new(FromService { service, limit })
}

/// One question to a generator.
struct Asked {
    failure: FailureContext,
    spent: UsageMeter,
}

/// A generator as a [`tower::Service`].
#[derive(Clone)]
struct GeneratorService(Arc<dyn Generator>);

impl Service<Asked> for GeneratorService {
    type Response = Draft;
    type Error = GeneratorError;
    type Future = BoxFuture<'static, Result<Draft, GeneratorError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), GeneratorError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, Asked { failure, spent }: Asked) -> Self::Future {
        let generator = Arc::clone(&self.0);
        Box::pin(async move { generator.generate(&failure, &spent).await })
    }
}

/// A tower service as a generator.
struct FromService<S> {
    service: S,
    limit: Duration,
}

#[async_trait]
impl<S> Generator for FromService<S>
where
    S: Service<Asked, Response = Draft, Error = BoxError> + Clone + Send + Sync,
    S::Future: Send,
{
    async fn generate(&self, failure: &FailureContext, spent: &UsageMeter) -> Result<Draft, GeneratorError> {
        let asked = Asked { failure: failure.clone(), spent: spent.clone() };
        self.service.clone().oneshot(asked).await.map_err(|error| match error.downcast::<GeneratorError>() {
            Ok(error) => *error,
            Err(error) if error.is::<Elapsed>() => GeneratorError::Timeout(self.limit),
            Err(error) => GeneratorError::GenerationFailed(error.to_string()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Heuristic, test_failure};
    use super::*;
    use crate::domain::Usage;
    use std::sync::atomic::{AtomicBool, Ordering};

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
        let limited = with_policies(Arc::new(Silent(Arc::clone(&dropped))), Duration::from_secs(30));
        let start = tokio::time::Instant::now();
        let spent = UsageMeter::default();
        let error = limited.generate(&test_failure(), &spent).await.unwrap_err();
        assert_eq!(error.to_string(), "timeout: no answer within 30 s");
        assert_eq!(spent.total(), used(), "what was used before counts");
        // The paused clock moves only as far as the next timer.
        assert_eq!(start.elapsed().as_secs(), 30);
        assert!(dropped.load(Ordering::SeqCst), "the work went on behind the timeout");
    }

    #[tokio::test]
    async fn answers_and_errors_pass_through() {
        let limited = with_policies(Arc::new(Heuristic), Duration::from_secs(30));
        let draft = limited.generate(&test_failure(), &UsageMeter::default()).await.unwrap();
        assert_eq!(draft, Heuristic.generate(&test_failure(), &UsageMeter::default()).await.unwrap());

        let mut failing = crate::services::MockGenerator::new();
        failing.expect_generate().return_once(|_, _| Err(GeneratorError::Parse("no object".to_owned())));
        let error = with_policies(Arc::new(failing), Duration::from_secs(30))
            .generate(&test_failure(), &UsageMeter::default())
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "parse_error: no object");
    }
}
