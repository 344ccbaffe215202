//! What became of lessons.

use super::StorageError;
use crate::domain::{AttemptRecord, LessonEvent};
use async_trait::async_trait;

/// Keeps what happened to reflections as lessons for other tasks: which may be shown there, and how attempts ended that showed them.
///
/// *Who calls:* the reflection service and `memory …`.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Lessons: Send + Sync {
    /// Everything that is known, in the order in which it was written.
    ///
    /// # Errors
    /// [`StorageError::Io`]. Lines that cannot be read are left alone and skipped.
    async fn read(&self) -> Result<LessonRecord, StorageError>;

    /// Adds what happened; durable on return, all or none.
    ///
    /// # Errors
    /// [`StorageError::Io`]; nothing is added then.
    async fn append(&self, events: &[LessonEvent]) -> Result<(), StorageError>;
}

/// What is known of lessons beside their words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LessonRecord {
    /// What happened to each.
    pub events: Vec<LessonEvent>,
    /// How attempts ended, and what their prompts showed.
    pub attempts: Vec<AttemptRecord>,
}
