//! What can be recalled.

use crate::curation::{Standing, State, States, stays_home};
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
                state: as_far_as_its_words(standing, &reflection),
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

/// How far a lesson has come, as far as its words may go: what is not plainly fine for other tasks is a candidate, unless a person says otherwise.
fn as_far_as_its_words(standing: &Standing, reflection: &Reflection) -> State {
    match standing.state {
        State::Probation | State::Active if !standing.vouched && stays_home(reflection).is_some() => State::Candidate,
        state => state,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::curation::testing::{event, reflection};
    use super::*;
    use crate::domain::{LessonChange, LessonWriter};

    #[test]
    fn words_that_are_not_plainly_fine_need_a_person_to_reach_other_tasks() {
        let of = |suggestion: &str, by: LessonWriter| {
            let lesson = Reflection { suggestion: suggestion.to_owned(), ..reflection("a", "t") };
            let events = [LessonChange::Kept, LessonChange::Promoted].map(|change| event(1, "a", change, by));
            let states = States::of(std::slice::from_ref(&lesson), &events, &[]);
            Lesson::of_project(vec![lesson], &states)[0].state
        };
        assert_eq!(of("Collect the keys first.", LessonWriter::Rules), State::Probation);
        assert_eq!(of("Empty test_evict.", LessonWriter::Rules), State::Candidate);
        assert_eq!(of("Empty test_evict.", LessonWriter::Person), State::Probation);
    }
}
