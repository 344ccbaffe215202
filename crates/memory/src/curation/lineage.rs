//! Lessons about files that are gone.

use super::states::{Standing, State, States};
use crate::domain::{LessonChange, LessonEvent, LessonWriter, Reflection, Timestamp};
use std::collections::BTreeSet;

/// What follows for lessons where the files are called so. By names alone: a file that was moved to another directory is still there.
///
/// ```
/// # use reflexion_core::domain::{LessonChange, Reflection, Timestamp};
/// # use reflexion_memory::curation::{States, follow_files};
/// # let line = r#"{"id":"r","sessionId":"s","taskId":"t","subtaskId":"t","attemptNumber":1,"category":"root_cause",
/// #   "analysis":"a","suggestion":"b","createdAt":"2026-01-02T03:04:05Z","files":["pool.py"]}"#;
/// let lesson: Reflection = serde_json::from_str(line)?;
/// let states = States::of(&[lesson.clone()], &[], &[]);
/// let due = |name: &str| follow_files(&[lesson.clone()], &states, &[name.to_owned()].into(), Timestamp::UNIX_EPOCH);
/// assert_eq!(due("pool.py"), []);
/// assert_eq!(due("pond.py")[0].change, LessonChange::Stale { path: "pool.py".into() });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn follow_files(
    reflections: &[Reflection],
    states: &States,
    names: &BTreeSet<String>,
    now: Timestamp,
) -> Vec<LessonEvent> {
    let event = |one: &Reflection| {
        let (change, why) = moved(one, states.standing(&one.id)?, names)?;
        Some(LessonEvent { at: now, by: LessonWriter::Rules, lesson: one.id.clone(), change, why, v: 1 })
    };
    reflections.iter().filter_map(event).collect()
}

fn moved(lesson: &Reflection, standing: &Standing, names: &BTreeSet<String>) -> Option<(LessonChange, String)> {
    let first = lesson.files.first()?;
    let there = lesson.files.iter().find(|file| names.contains(*file));
    match there {
        Some(path) if standing.state == State::Stale => {
            let path = path.clone();
            let why = format!("{path} is there again");
            Some((LessonChange::Returned { path }, why))
        }
        None if standing.state.is_live() && !standing.vouched && !standing.pinned => {
            let why = match lesson.files.as_slice() {
                [one] => format!("there is no file {one} any more"),
                several => format!("none of these files is there any more: {}", several.join(", ")),
            };
            Some((LessonChange::Stale { path: first.clone() }, why))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, event, reflection};
    use super::*;

    #[test]
    fn a_lesson_comes_back_as_far_as_it_was_and_a_persons_word_stays() {
        let lesson = Reflection { files: vec!["a.py".to_owned(), "b.py".to_owned()], ..reflection("a", "t") };
        let lessons = [lesson];
        let due = |events: &[LessonEvent], names: &[&str]| {
            let states = States::of(&lessons, events, &[]);
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            follow_files(&lessons, &states, &names, at(5)).into_iter().map(|event| event.change).collect::<Vec<_>>()
        };
        let rules = |second, change| event(second, "a", change, LessonWriter::Rules);
        let person = |second, change| event(second, "a", change, LessonWriter::Person);
        let stale = || LessonChange::Stale { path: "a.py".to_owned() };
        let back = || LessonChange::Returned { path: "b.py".to_owned() };
        let mut events = vec![rules(1, LessonChange::Kept), rules(2, LessonChange::Promoted)];
        assert_eq!(due(&events, &["b.py"]), [], "one of them is enough");
        assert_eq!(due(&events, &["c.py"]), [stale()]);
        events.push(rules(3, stale()));
        assert_eq!(due(&events, &["c.py"]), [], "once is enough");
        assert_eq!(due(&events, &["b.py"]), [back()]);
        let state = |events: &[LessonEvent]| States::of(&lessons, events, &[]).state(&lessons[0].id);
        assert_eq!(state(&events), State::Stale);
        events.push(rules(4, back()));
        assert_eq!(state(&events), State::Probation);
        events.extend([rules(5, stale()), person(6, LessonChange::Promoted)]);
        assert_eq!((state(&events), due(&events, &[])), (State::Probation, vec![]));
        assert_eq!(due(&[person(1, LessonChange::Pinned)], &[]), []);
        assert_eq!(due(&[rules(1, LessonChange::Quarantined)], &[]), [], "what is set apart stays so");
    }
}
