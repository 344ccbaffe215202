//! What can be recalled.

use super::key::FailureKey;
use crate::curation::State;
use crate::domain::Reflection;

/// A reflection with what recall must know of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Lesson {
    /// The reflection.
    pub reflection: Reflection,
    /// The failure that it is about; an empty one is never matched.
    pub failure: FailureKey,
    /// How far it has come.
    pub state: State,
    /// Where it comes from.
    pub project: Project,
    /// How likely it is, 0 to 1, that it helps more than no lesson would, as measured; none where it was never measured.
    pub helps: Option<f64>,
    /// How often the same was said.
    pub seen: u32,
}

/// Where a lesson comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Project {
    /// This project.
    Own,
    /// Another project of the same user.
    Foreign,
}
