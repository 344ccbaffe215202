//! What became of lessons.

use super::StorageError;
use crate::domain::{AttemptRecord, LessonEvent};
use async_trait::async_trait;

/// Keeps what happened to reflections as lessons for other tasks: which may be shown there, and how attempts ended that showed them.
///
/// *Who calls:* the reflection service, `memory …`, and the hooks of a person's own sessions.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Lessons: Send + Sync {
    /// Everything that is known, in the order in which it was written. What was once read stays known, whatever becomes of the file meanwhile.
    ///
    /// # Errors
    /// [`StorageError::Io`]. Lines that cannot be read are left alone and skipped; a file that cannot be read at all may be
    /// [said](LessonRecord::unreadable) instead.
    async fn read(&self) -> Result<LessonRecord, StorageError>;

    /// Adds what happened; durable on return, all or none.
    ///
    /// # Errors
    /// [`StorageError::Io`]; nothing is added then.
    async fn append(&self, events: &[LessonEvent]) -> Result<(), StorageError>;

    /// Adds a [moment](AttemptRecord::moment) of a person's own session, or how one ended; durable on return. What runs did is made from their journals.
    ///
    /// # Errors
    /// [`StorageError::Io`]; nothing is added then.
    async fn add_moment(&self, moment: &AttemptRecord) -> Result<(), StorageError>;
}

/// What is known of lessons beside their words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LessonRecord {
    /// What happened to each.
    pub events: Vec<LessonEvent>,
    /// How attempts ended, and what their prompts showed.
    pub attempts: Vec<AttemptRecord>,
    /// Why some of it could not be read. Then it is not known which lessons were set apart, and no other task sees any.
    pub unreadable: Option<StorageError>,
}

impl LessonRecord {
    /// The record, if all of it could be read.
    ///
    /// # Errors
    /// Why some of it could not.
    pub fn whole(self) -> Result<Self, StorageError> {
        match self.unreadable {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }
}
