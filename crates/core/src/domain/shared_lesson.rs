//! Lessons for all projects of a person.

use super::Reflection;

/// A lesson that a person lets all of their projects see.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedLesson {
    /// The name of the project that it is of, as that project's settings had it then: any text.
    pub project: String,
    /// The lesson.
    pub lesson: Reflection,
}
