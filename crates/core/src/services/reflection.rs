//! The reflection service: the whole life of a lesson behind one port.

use super::{GeneratorError, PruneReport, StorageError, UsageMeter};
use crate::domain::{
    FailureContext, Output, Recall, Reflection, ReflectionId, SessionId, Signature, SubtaskId, TaskId, Timestamp,
};
use async_trait::async_trait;
use std::collections::BTreeSet;

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

    /// Stores a reflection; durable on return. Storing the same id twice keeps both records. One that [replaces](Reflection::replaces) another
    /// stands in its place from then on, unless it says the same: then it is not stored, and the other one stays.
    ///
    /// Returns the id of the one that stands.
    ///
    /// # Errors
    /// `storage_error`.
    async fn save(&self, reflection: &Reflection) -> Result<ReflectionId, ReflectionError>;

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

    /// The lessons for an attempt: of its own task, and of other tasks where a failure like its last one was met. Nothing is a normal answer.
    ///
    /// A service that says nothing of its own finds those of the task, and at most four times `limit` of each part.
    ///
    /// # Errors
    /// `storage_error`.
    async fn recall(&self, query: &RecallQuery) -> Result<Recall, ReflectionError> {
        let all = self.get_for_task(&query.task).await?;
        let all = all.into_iter().filter(|lesson| !query.without.contains(&lesson.session_id));
        let (mut own, mut others): (Vec<_>, Vec<_>) = all.partition(|r| r.subtask_id == query.subtask.as_str());
        own.truncate(query.limit.saturating_mul(4));
        others.truncate(query.limit.saturating_mul(4));
        own.append(&mut others);
        Ok(Recall { own, ..Recall::default() })
    }

    /// What [`ReflectionService::recall`] found, as the section of a prompt.
    fn format_recall(&self, recall: &Recall) -> PromptSection {
        let lessons: Vec<Reflection> = recall.lessons().cloned().collect();
        self.format_for_prompt(&lessons)
    }

    /// At most this many lessons that were measured to help over several tasks of the project, or that a person has promoted; what helps
    /// most comes first. For a session in which nothing has failed yet.
    ///
    /// # Errors
    /// `storage_error`.
    async fn proven(&self, limit: usize) -> Result<Vec<Reflection>, ReflectionError> {
        let _ = limit;
        Ok(Vec::new())
    }

    /// Decides what becomes of lessons by what is known now: which may help other tasks, and which reach no prompt any more. Says how many
    /// have moved. A second call with nothing new moves none.
    ///
    /// # Errors
    /// `storage_error`; none was moved then.
    async fn curate(&self) -> Result<usize, ReflectionError> {
        Ok(0)
    }

    /// Decides which lessons are about nothing any more. `names` are those of the files that a run begins with, without directories: a lesson of whose
    /// [files](Reflection::files) none is there reaches no prompt, until one of them is there again. Says how many have become so. A person's own lessons, and those
    /// that a person has promoted or pinned, stay.
    ///
    /// # Errors
    /// `storage_error`; none was moved then.
    async fn follow_files(&self, names: &BTreeSet<String>) -> Result<usize, ReflectionError> {
        let _ = names;
        Ok(0)
    }

    /// The section that goes into a prompt: without duplicates, fenced as data, within the byte budget.
    /// No reflections give an empty text.
    fn format_for_prompt(&self, reflections: &[Reflection]) -> PromptSection;

    /// Ends lessons that are older than the retention time, but for those that [`ReflectionService::prune`] keeps: no prompt holds them any more. Their lines stay, and a
    /// person may promote them again until they are removed. Says how many have ended; of very many some wait for the next call.
    ///
    /// # Errors
    /// `storage_error`; none has ended then.
    async fn expire(&self) -> Result<usize, ReflectionError> {
        Ok(0)
    }

    /// Removes what is too old, but nothing that is pinned, that other tasks may see, or that was measured to help.
    ///
    /// # Errors
    /// `storage_error`; nothing was removed then. That is so too where it cannot be read what became of lessons.
    async fn prune(&self, query: &PruneQuery) -> Result<Pruned, ReflectionError>;
}

/// What is too old.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PruneQuery {
    /// What was written before this; before the retention time if not given.
    pub older_than: Option<Timestamp>,
    /// Only say what would be removed.
    pub dry_run: bool,
}

/// What a prune did, or would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// How many were removed and kept.
    pub report: PruneReport,
    /// Of those that were kept, how many are too old, and pinned,
    pub pinned: usize,
    /// or measured to help,
    pub useful: usize,
    /// or such that other tasks may see them.
    pub promoted: usize,
}

/// What lessons are wanted for.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallQuery {
    /// The task.
    pub task: TaskId,
    /// Its part; of the same name as the task where it has none.
    pub subtask: SubtaskId,
    /// What is asked, in words: before the first attempt nothing has failed, and this is all there is to find a lesson by.
    pub text: String,
    /// What the check printed that refuted the last attempt, and what that looks like; none before the first, and where no check was red.
    pub failure: Option<(Signature, Output)>,
    /// How many different lessons of the task itself may be shown; more are found, because the same one written twice counts once.
    pub limit: usize,
    /// At most this many lessons are returned, those of the task itself first; as many as fit if not given.
    pub most: Option<usize>,
    /// Lessons of these agent runs are not wanted.
    pub without: BTreeSet<SessionId>,
}

/// Text for a prompt, and what it holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptSection {
    /// The text; empty if nothing is injected.
    pub text: String,
    /// The ids of the reflections in it, in the order of the text.
    pub ids: Vec<ReflectionId>,
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
