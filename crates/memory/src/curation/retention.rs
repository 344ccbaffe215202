//! What stays however old it is.

use super::due::states;
use super::rules::Measured;
use super::states::{Standing, State, States};
use crate::domain::{LessonChange, LessonEvent, LessonWriter, Origin, Reflection, ReflectionId, Timestamp};
use crate::services::LessonRecord;
use jiff::SignedDuration;
use std::collections::{BTreeMap, BTreeSet};

/// Why a lesson stays however old it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worth {
    /// A person has pinned it.
    Pinned,
    /// Other tasks may see it: a person wrote, edited or promoted it, or an attempt passed with it.
    Promoted,
    /// It was measured to help.
    Useful,
}

/// The lessons that stay however old they are, and why, by everything that is known. A lesson that is over stays only as long as others.
///
/// Of the lessons that are not [known](known) beyond their own line none does, so they may be left out of `reflections`.
#[must_use]
pub fn worth_keeping(reflections: &[Reflection], record: &LessonRecord) -> BTreeMap<ReflectionId, Worth> {
    let states = states(reflections, record);
    let worth = |(id, standing): (&ReflectionId, &Standing)| Some((id.clone(), states.worth(id, standing)?));
    states.iter().filter_map(worth).collect()
}

/// At most this many lessons end at once because of their age; the others with the next run.
pub const MOST_EXPIRED: usize = 1_000;

/// The events by which lessons end that are older than `days` and [worth](worth_keeping) nothing, the first ones first, at most [`MOST_EXPIRED`]; of a lesson that no
/// prompt holds any more there is none. Lessons that are neither old nor [known](known) may be left out of `reflections`.
#[must_use]
pub fn expired(reflections: &[Reflection], record: &LessonRecord, days: u32, now: Timestamp) -> Vec<LessonEvent> {
    let (states, older_than) = (states(reflections, record), days_before(now, days));
    let is_over = |one: &&Reflection| {
        let unspoken = |standing: &Standing| standing.is_live_at_home() && states.worth(&one.id, standing).is_none();
        one.created_at < older_than && states.standing(&one.id).is_some_and(unspoken)
    };
    let event = |one: &Reflection| LessonEvent {
        at: now,
        by: LessonWriter::Rules,
        lesson: one.id.clone(),
        change: LessonChange::Expired,
        why: format!("it is older than {days} days, and neither a person nor its effect speaks for it"),
        v: 1,
    };
    reflections.iter().filter(is_over).take(MOST_EXPIRED).map(event).collect()
}

/// So many times 24 hours before `now`, or the earliest time there is.
#[must_use]
pub fn days_before(now: Timestamp, days: u32) -> Timestamp {
    now.checked_sub(SignedDuration::from_hours(24 * i64::from(days))).unwrap_or(Timestamp::MIN)
}

/// Tells lessons of which something is known beside what stands in their own line: what became of them, how attempts with them ended, or that a person wrote them.
pub fn known(record: &LessonRecord) -> impl Fn(&Reflection) -> bool {
    let of_events = record.events.iter().map(|event| &event.lesson);
    let ids: BTreeSet<&ReflectionId> =
        of_events.chain(record.attempts.iter().flat_map(|attempt| &attempt.shown)).collect();
    move |one| ids.contains(&one.id) || one.replaces.is_some() || one.origin == Some(Origin::Person)
}

impl States {
    fn worth(&self, lesson: &ReflectionId, standing: &Standing) -> Option<Worth> {
        match standing.state {
            State::Retired | State::Stale | State::Quarantined if !standing.pinned || standing.edited => None,
            _ if standing.pinned => Some(Worth::Pinned),
            _ if self.measured(lesson).is_some_and(Measured::is_shown_to_help) => Some(Worth::Useful),
            State::Probation | State::Active => Some(Worth::Promoted),
            State::Candidate if standing.vouched => Some(Worth::Promoted),
            State::Candidate | State::Stale | State::Quarantined | State::Retired => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{event, reflection};
    use super::*;
    use crate::domain::AttemptRecord;
    use serde_json::json;

    fn worth(events: Vec<LessonEvent>, attempts: Vec<AttemptRecord>) -> Option<Worth> {
        let record = LessonRecord { events, attempts, ..LessonRecord::default() };
        let all = [reflection("a", "t")];
        assert_eq!(known(&record)(&all[0]), record != LessonRecord::default());
        worth_keeping(&all, &record).remove(&all[0].id)
    }

    #[test]
    fn what_a_person_or_its_effect_speaks_for_stays() {
        let by = |second, change, by| event(second, "a", change, by);
        let person = |second, change| by(second, change, LessonWriter::Person);
        let rules = |second, change| by(second, change, LessonWriter::Rules);
        assert_eq!(worth(vec![], vec![]), None);
        assert_eq!(worth(vec![rules(1, LessonChange::Kept)], vec![]), None);
        assert_eq!(worth(vec![person(1, LessonChange::Pinned)], vec![]), Some(Worth::Pinned));
        let apart = rules(0, LessonChange::Quarantined);
        assert_eq!(worth(vec![apart.clone(), person(1, LessonChange::Pinned)], vec![]), Some(Worth::Pinned));
        assert_eq!(worth(vec![apart], vec![]), None);
        let promoted = person(1, LessonChange::Promoted);
        assert_eq!(worth(vec![promoted.clone()], vec![]), Some(Worth::Promoted));
        assert_eq!(worth(vec![promoted.clone(), rules(2, LessonChange::Demoted)], vec![]), Some(Worth::Promoted));
        assert_eq!(worth(vec![promoted, person(2, LessonChange::Retired)], vec![]), None);
    }

    #[test]
    fn what_was_measured_to_help_stays() {
        let attempts = |with: &str, without: &str| {
            let attempt = |n: usize, injected: bool| {
                let verdict = if injected { with } else { without };
                serde_json::from_value(json!({ "v": 1, "run": format!("r{n}{injected}"), "task": "t", "subtask": "t", "attempt": 2,
                    "session": format!("s{n}{injected}"), "agent": "x", "at": "2026-05-05T00:00:00Z", "durationMs": 1, "verdict": verdict,
                    "shown": if injected { vec!["a"] } else { vec![] }, "failure": "check_failed",
                    "exposure": { "own": { "candidates": ["a"], "injected": injected, "probability": 0.5 }, "start": "fresh" } }))
                .unwrap()
            };
            (0..60).flat_map(|n| [true, false].map(|injected| attempt(n, injected))).collect::<Vec<AttemptRecord>>()
        };
        assert_eq!(worth(vec![], attempts("confirmed", "failed")), Some(Worth::Useful));
        assert_eq!(worth(vec![], attempts("failed", "confirmed")), None);
    }
}
