//! What can be recalled.

use crate::curation::{State, States};
use crate::domain::{FailureKey, Reflection};

/// A reflection with what recall must know of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Lesson {
    /// The reflection.
    pub reflection: Reflection,
    /// The failure that it is about; an empty one is never matched.
    pub failure: FailureKey,
    /// How far it has come.
    pub state: State,
    /// Its own task may see it, however far it has come.
    pub at_home: bool,
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

impl Lesson {
    /// The lessons of this project that some prompt may hold, as far as each has come. `reflections` in the order in which they were written.
    #[must_use]
    pub fn of_project(reflections: Vec<Reflection>, states: &States) -> Vec<Self> {
        let lesson = |reflection: Reflection| {
            let standing = states.standing(&reflection.id)?;
            Some(Self {
                failure: reflection.failure.as_deref().cloned().unwrap_or_default(),
                state: standing.state,
                at_home: standing.is_live_at_home(),
                project: Project::Own,
                helps: states.measured(&reflection.id).map(|measured| measured.helps),
                seen: standing.seen,
                reflection,
            })
        };
        reflections.into_iter().filter_map(lesson).collect()
    }
}
