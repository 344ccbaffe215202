//! The heuristic in reserve.

use crate::domain::{Draft, FailureContext};
use crate::prompt::{one_line, shorten};
use crate::reflection::Heuristic;
use crate::services::{Generator, GeneratorError, UsageMeter};
use async_trait::async_trait;
use std::sync::Arc;

/// So much of the first generator's error is kept in a reflection's origin.
const BECAUSE_BYTES: usize = 300;

/// Asks one generator, and the heuristic if that one fails; always answers.
///
/// The reflection says so (`origin: heuristic, because: …`), and a warning is logged.
pub struct Fallback {
    /// Asked first.
    pub first: Arc<dyn Generator>,
}

#[async_trait]
impl Generator for Fallback {
    async fn generate(&self, failure: &FailureContext, spent: &UsageMeter) -> Result<Draft, GeneratorError> {
        let error = match self.first.generate(failure, spent).await {
            Ok(draft) => return Ok(draft),
            Err(error) => error,
        };
        let because = match &error {
            GeneratorError::Timeout(limit) => {
                format!("the generator timed out after {} s", limit.as_secs_f64())
            }
            GeneratorError::GenerationFailed(why) => {
                format!("the generator failed: {why}")
            }
            GeneratorError::Parse(why) => {
                format!("the generator failed: its answer cannot be read: {why}")
            }
        };
        let because = shorten(&one_line(&because), BECAUSE_BYTES).into_owned();
        tracing::warn!(subtask = %failure.subtask_id, attempt = failure.attempt_number, "{because}; the heuristic answers");
        Ok(Heuristic.draft(failure, because))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::test_failure;
    use super::*;
    use crate::domain::Origin;
    use crate::services::MockGenerator;
    use std::time::Duration;

    #[tokio::test]
    async fn every_error_becomes_a_heuristic_draft_that_says_why() {
        async fn check(error: fn() -> GeneratorError, because: &str) {
            let mut first = MockGenerator::new();
            first.expect_generate().times(1).return_once(move |_, _| Err(error()));
            let fallback = Fallback { first: Arc::new(first) };
            let draft = fallback.generate(&test_failure(), &UsageMeter::default()).await.unwrap();
            assert_eq!(draft.origin, Origin::Heuristic { because: because.to_owned() });
            assert_eq!(draft, Heuristic.draft(&test_failure(), because.to_owned()));
        }
        check(|| GeneratorError::Timeout(Duration::from_secs(30)), "the generator timed out after 30 s").await;
        check(|| GeneratorError::GenerationFailed("no\nkey".to_owned()), "the generator failed: no key").await;
        check(
            || GeneratorError::Parse("nothing there".to_owned()),
            "the generator failed: its answer cannot be read: nothing there",
        )
        .await;
    }

    #[tokio::test]
    async fn an_answer_of_the_first_is_left_alone() {
        let answer = Heuristic.draft(&test_failure(), "as an example".to_owned());
        let mut first = MockGenerator::new();
        let given = answer.clone();
        first.expect_generate().return_once(move |_, _| Ok(given));
        let fallback = Fallback { first: Arc::new(first) };
        assert_eq!(fallback.generate(&test_failure(), &UsageMeter::default()).await.unwrap(), answer);
    }
}
