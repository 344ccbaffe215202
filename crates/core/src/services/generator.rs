//! Writing reflections.

use crate::domain::{Draft, FailureContext};
use crate::services::{AskError, UsageMeter};
use async_trait::async_trait;
use std::time::Duration;

/// Makes a lesson of a failure.
///
/// *Who calls:* the reflection service, once per failed attempt. Calling twice may give two different answers and may
/// cost money twice; nothing is stored here.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Generator: Send + Sync {
    /// Writes a draft: caps kept, confidence within 0..=1, category known. Tokens and money are added to `spent` as soon
    /// as they are known, because it may fail or be dropped afterwards; one that uses none leaves it alone.
    ///
    /// # Errors
    /// [`GeneratorError`]; the fallback generator turns every one of them into a heuristic answer.
    async fn generate(&self, failure: &FailureContext, spent: &UsageMeter) -> Result<Draft, GeneratorError>;
}

/// Why a generator gave no draft.
#[derive(Debug, thiserror::Error)]
pub enum GeneratorError {
    /// It could not be run, or reported an error.
    #[error("generation_failed: {0}")]
    GenerationFailed(String),
    /// It answered something that holds no reflection.
    #[error("parse_error: {0}")]
    Parse(String),
    /// It took longer than `generationTimeoutMs`.
    #[error("timeout: no answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
}

impl From<AskError> for GeneratorError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Timeout(limit) => Self::Timeout(limit),
            AskError::Failed(why) => Self::GenerationFailed(why),
            AskError::Unreadable(why) => Self::Parse(why),
        }
    }
}
