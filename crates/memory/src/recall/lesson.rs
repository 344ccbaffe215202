//! What can be recalled.

use crate::curation::{Measured, Standing, State, States, kept_from_prompts, plain_name, stays_home};
use crate::domain::{FailureKey, Reflection, ReflectionId, SharedLesson};
use std::collections::HashSet;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Project {
    /// This project.
    Own,
    /// Another project of the same user, by its name; empty where that may be more than a name.
    Other(String),
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

    /// The lessons of other projects that a person lets this one see, as far as their words and what was measured here let them. `own` are this project's reflections:
    /// what is among them is no other project's.
    #[must_use]
    pub fn of_others(shared: Vec<SharedLesson>, own: &[Reflection], states: &States) -> Vec<Self> {
        let own: HashSet<&ReflectionId> = own.iter().map(|one| &one.id).collect();
        let lesson = |SharedLesson { project, lesson: reflection }: SharedLesson| {
            let measured = states.measured(&reflection.id);
            let is_kept = own.contains(&reflection.id)
                || measured.is_some_and(Measured::is_shown_to_harm)
                || kept_from_prompts(&reflection).or_else(|| stays_home(&reflection)).is_some();
            (!is_kept).then(|| Self {
                failure: reflection.failure.as_deref().cloned().unwrap_or_default(),
                // It needs no effect to be seen there, and a first attempt sees none of another project's.
                state: State::Probation,
                at_home: false,
                project: Project::Other(plain_name(&project).unwrap_or_default().to_owned()),
                helps: measured.map(|measured| measured.helps),
                seen: 1,
                reflection,
            })
        };
        shared.into_iter().filter_map(lesson).collect()
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
