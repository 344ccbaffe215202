//! The reflection service: the whole life of a lesson behind one port.

use super::{GeneratorError, PruneReport, StorageError, UsageMeter};
use crate::domain::{FailureContext, Reflection, SubtaskId, TaskId};
use async_trait::async_trait;

/// Generates, keeps, recalls and formats reflections.
///
/// *Who calls:* the orchestrator; or your own loop, which needs nothing else of this crate (see
/// `examples/own_loop.rs`).
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait ReflectionService: Send + Sync {
    /// Makes a reflection of a failure, without storing it. Adds what the agent said it tried.
    ///
    /// # Errors
    /// `generation_failed`, `parse_error` or `timeout` if the generator has no fallback; the live one always answers.
    async fn generate(&self, failure: &FailureContext) -> Result<Reflection, ReflectionError> {
        self.generate_counted(failure, &UsageMeter::default()).await
    }

    /// Like [`ReflectionService::generate`], and what the generator uses is added to `spent`, whatever comes of it.
    ///
    /// # Errors
    /// As [`ReflectionService::generate`].
    async fn generate_counted(
        &self,
        failure: &FailureContext,
        spent: &UsageMeter,
    ) -> Result<Reflection, ReflectionError>;

    /// Stores a reflection; durable on return. Storing the same id twice keeps both records.
    ///
    /// # Errors
    /// `storage_error`.
    async fn save(&self, reflection: &Reflection) -> Result<(), ReflectionError>;

    /// The newest `limit` reflections of a subtask, last appended first; empty if there are none.
    ///
    /// # Errors
    /// `storage_error`.
    async fn get_recent(&self, subtask: &SubtaskId, limit: usize) -> Result<Vec<Reflection>, ReflectionError>;

    /// All reflections of a task, over all its subtasks, last appended first; empty if there are none.
    ///
    /// # Errors
    /// `storage_error`.
    async fn get_for_task(&self, task: &TaskId) -> Result<Vec<Reflection>, ReflectionError>;

    /// The section that goes into a prompt: without duplicates, fenced as data, within the byte budget.
    /// No reflections give an empty text.
    fn format_for_prompt(&self, reflections: &[Reflection]) -> PromptSection;

    /// Removes what is older than the retention time.
    ///
    /// # Errors
    /// `storage_error`; nothing was removed then.
    async fn prune(&self) -> Result<PruneReport, ReflectionError>;
}

/// Text for a prompt, and what it holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptSection {
    /// The text; empty if nothing is injected.
    pub text: String,
    /// The ids of the reflections in it, in the order of the text.
    pub ids: Vec<crate::domain::ReflectionId>,
}

/// Why the reflection service failed; `kind()` is the Reflexion log's word.
#[derive(Debug, thiserror::Error)]
pub enum ReflectionError {
    /// No reflection could be made.
    #[error(transparent)]
    Generator(#[from] GeneratorError),
    /// Reflections could not be read or written; `not_found` among it.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl ReflectionError {
    /// `generation_failed`, `parse_error`, `storage_error`, `not_found` or `timeout`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Generator(GeneratorError::GenerationFailed(_)) => "generation_failed",
            Self::Generator(GeneratorError::Parse(_)) => "parse_error",
            Self::Generator(GeneratorError::Timeout(_)) => "timeout",
            Self::Storage(StorageError::NotFound { .. }) => "not_found",
            Self::Storage(_) => "storage_error",
        }
    }
}
