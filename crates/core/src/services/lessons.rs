//! What became of lessons.

use super::StorageError;
use crate::domain::{AttemptRecord, LessonEvent, ReflectionId, SharedLesson, Timestamp};
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

    /// The lessons that a person lets all of their projects see, this one's among them, in the order in which that was said. A store that knows no other project has
    /// none.
    ///
    /// # Errors
    /// [`StorageError::Io`]. What this program did not write for this user is left out.
    async fn everywhere(&self) -> Result<Vec<SharedLesson>, StorageError> {
        Ok(Vec::new())
    }

    /// Lets all projects of the user see a lesson of this one; durable on return. False, and nothing was said, if this program did not write it here for this user:
    /// what somebody adopted stays in its project.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    async fn share(&self, lesson: &ReflectionId, at: Timestamp) -> Result<bool, StorageError> {
        let _ = (lesson, at);
        Ok(false)
    }

    /// Takes that back, whichever project the lesson is of; durable on return. False, and nothing was said, if no other project may see it.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    async fn unshare(&self, lesson: &ReflectionId, at: Timestamp) -> Result<bool, StorageError> {
        let _ = (lesson, at);
        Ok(false)
    }
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
