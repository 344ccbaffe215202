//! What the rules would do next.

use super::echo::Shingles;
use super::gate::whole_text;
use super::states::{Standing, State, States};
use crate::domain::{LessonChange, LessonEvent, LessonWriter, Origin, Reflection, ReflectionId, Timestamp};
use jiff::SignedDuration;
use std::collections::{BTreeMap, BTreeSet};

/// Fewer uses say nothing: with 8 a posterior can leave its prior.
const USES: u32 = 8;
/// Below this probability of helping more than no lesson would it is set apart, above the other it is promoted.
const HARMS: f64 = 0.10;
const HELPS: f64 = 0.90;
/// Where an active one is as likely to harm as to help, it is not active any more.
const NO_LONGER: f64 = 0.5;
/// One task may be lucky.
const TASKS: u32 = 2;
/// From this likeness on two lessons about the same failure are one.
const DUPLICATE: f64 = 0.8;
/// With at most this many of those that stay a lesson is compared: more than a few are too many anyway.
const COMPARED: usize = 50;
/// How many live ones there may be for a failure, and for a project.
const FOR_A_FAILURE: usize = 5;
const FOR_A_PROJECT: usize = 500;
/// What the rules have set apart is over after so many days.
const DAYS_APART: i64 = 30;

/// What was measured of a lesson.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The lesson.
    pub lesson: ReflectionId,
    /// In how many attempts it was shown.
    pub shown: u32,
    /// Of how many tasks.
    pub tasks: u32,
    /// How many attempts of its own task passed in which it was shown.
    pub passed_at_home: u32,
    /// How likely it is that it helps more than no lesson would, 0 to 1.
    pub helps: f64,
}

impl Measured {
    /// Whether it was shown often enough to say that it helps, and does.
    #[must_use]
    pub fn is_shown_to_help(&self) -> bool {
        self.shown >= USES && self.helps > HELPS
    }

    /// Whether it was shown often enough to say that it does no good, and does none.
    #[must_use]
    pub fn is_shown_to_harm(&self) -> bool {
        self.shown >= USES && self.helps < HARMS
    }
}

impl States {
    /// The events that the rules would write now, in a fixed order, at most one for each lesson; none where they have had their way. The caller appends them.
    ///
    /// First duplicates are merged, then what harms is set apart and what helps is promoted, then quotas are kept: of too many live ones those go that are least
    /// likely to help, the older ones first. A pinned one counts and is never moved.
    #[must_use]
    pub fn proposals(&self, now: Timestamp) -> Vec<LessonEvent> {
        let mut moved: BTreeMap<ReflectionId, (LessonChange, String)> = BTreeMap::new();
        for (lesson, into) in self.duplicates() {
            let why = format!("it says the same about the same failure as {into}");
            moved.insert(lesson, (LessonChange::Merged { into }, why));
        }
        for (lesson, standing) in self.standings.iter().filter(|(_, standing)| !standing.pinned) {
            if !moved.contains_key(lesson)
                && let Some(change) = self.by_effect(lesson, standing, now)
            {
                moved.insert(lesson.clone(), change);
            }
        }
        self.keep_quotas(&mut moved);
        let event =
            |(lesson, (change, why))| LessonEvent { at: now, by: LessonWriter::Rules, lesson, change, why, v: 1 };
        moved.into_iter().map(event).collect()
    }

    /// Whether it is about what made the difference between an attempt that failed and one that passed.
    fn is_of_contrast(&self, lesson: &ReflectionId) -> bool {
        // A person who edits a lesson has compared no attempts.
        let is = |one: &Reflection| one.replaces.is_some() && one.origin != Some(Origin::Person);
        self.reflections.get(lesson).is_some_and(is)
    }

    fn helps(&self, lesson: &ReflectionId) -> f64 {
        self.effects.get(lesson).map_or(0.5, |effect| effect.helps)
    }

    /// What its effect, or the time, makes of a lesson.
    fn by_effect(&self, lesson: &ReflectionId, standing: &Standing, now: Timestamp) -> Option<(LessonChange, String)> {
        let none = Measured { lesson: lesson.clone(), shown: 0, tasks: 0, passed_at_home: 0, helps: 0.5 };
        let effect = self.effects.get(lesson).unwrap_or(&none);
        let (shown, percent) = (effect.shown, effect.helps * 100.0);
        let measured = shown >= USES;
        if standing.state.is_live() && effect.is_shown_to_harm() {
            return Some((
                LessonChange::Quarantined,
                format!("shown {shown} times, it helps with a probability of {percent:.0} %"),
            ));
        }
        match standing.state {
            State::Candidate if standing.kept && self.is_of_contrast(lesson) => Some((
                LessonChange::Promoted,
                "it was written from the difference to an attempt of its own task that passed".to_owned(),
            )),
            State::Candidate if standing.kept && effect.passed_at_home > 0 => {
                Some((LessonChange::Promoted, "an attempt of its own task passed with it".to_owned()))
            }
            State::Probation if measured && effect.helps > HELPS && effect.tasks >= TASKS => {
                let tasks = effect.tasks;
                Some((
                    LessonChange::Promoted,
                    format!("shown {shown} times in {tasks} tasks, it helps with a probability of {percent:.0} %"),
                ))
            }
            State::Active if measured && effect.helps < NO_LONGER => Some((
                LessonChange::Demoted,
                format!("shown {shown} times, it helps with a probability of only {percent:.0} %"),
            )),
            State::Quarantined if standing.by_rules && is_over(standing.since, now) => Some((
                LessonChange::Retired,
                format!("it was set apart {DAYS_APART} days ago, and nobody brought it back"),
            )),
            _ => None,
        }
    }

    /// Live lessons about one failure that say nearly the same, each with the one that stays: the pinned one, or the one that is likelier to help, or the older one.
    fn duplicates(&self) -> Vec<(ReflectionId, ReflectionId)> {
        let mut groups: BTreeMap<(&str, &str), Vec<(&Reflection, Shingles)>> = BTreeMap::new();
        for reflection in self.live() {
            // Without a fingerprint only the words of one task can be the same lesson.
            let group = match &reflection.signature {
                Some(signature) => (signature.as_str(), ""),
                None => ("", reflection.task_id.as_str()),
            };
            groups.entry(group).or_default().push((reflection, Shingles::of(&whole_text(reflection))));
        }
        let mut found = Vec::new();
        for group in groups.values_mut() {
            group.sort_by(|(a, _), (b, _)| self.stays_before(a, b));
            let mut stay: Vec<usize> = Vec::new();
            for at in 0..group.len() {
                let (reflection, shingles) = &group[at];
                let same = stay.iter().take(COMPARED).find(|kept| group[**kept].1.likeness(shingles) >= DUPLICATE);
                match same {
                    Some(kept) if !self.is_pinned(&reflection.id) => {
                        found.push((reflection.id.clone(), group[*kept].0.id.clone()));
                    }
                    _ => stay.push(at),
                }
            }
        }
        found
    }

    fn live(&self) -> impl Iterator<Item = &Reflection> {
        self.reflections.values().filter(|reflection| self.state(&reflection.id).is_live())
    }

    fn is_pinned(&self, lesson: &ReflectionId) -> bool {
        self.standings.get(lesson).is_some_and(|standing| standing.pinned)
    }

    /// Pinned ones first, then by how far they have come and how likely they are to help, then the older ones.
    fn stays_before(&self, a: &Reflection, b: &Reflection) -> std::cmp::Ordering {
        let pinned = self.is_pinned(&b.id).cmp(&self.is_pinned(&a.id));
        let helps = self.helps(&b.id).total_cmp(&self.helps(&a.id));
        let state = self.state(&b.id).cmp(&self.state(&a.id));
        pinned.then(helps).then(state).then(a.created_at.cmp(&b.created_at)).then(a.id.cmp(&b.id))
    }

    /// Retires what is too much. Those stay that are pinned or likelier to help, of equal ones the newer.
    fn keep_quotas(&self, moved: &mut BTreeMap<ReflectionId, (LessonChange, String)>) {
        let leaves = |moved: &BTreeMap<ReflectionId, (LessonChange, String)>, id: &ReflectionId| {
            moved.get(id).is_some_and(|(change, _)| !matches!(change, LessonChange::Promoted | LessonChange::Demoted))
        };
        let mut live: Vec<&Reflection> = self.live().filter(|reflection| !leaves(moved, &reflection.id)).collect();
        live.sort_by(|a, b| {
            let helps = self.helps(&b.id).total_cmp(&self.helps(&a.id));
            let pinned = self.is_pinned(&b.id).cmp(&self.is_pinned(&a.id));
            let state = self.state(&b.id).cmp(&self.state(&a.id));
            pinned.then(state).then(helps).then(b.created_at.cmp(&a.created_at)).then(b.id.cmp(&a.id))
        });
        let mut of_failure: BTreeMap<&str, usize> = BTreeMap::new();
        let mut stay = BTreeSet::new();
        for reflection in live {
            let number = reflection.signature.as_deref().map_or(0, |signature| {
                let number = of_failure.entry(signature).or_default();
                *number += 1;
                *number
            });
            let why = if number > FOR_A_FAILURE {
                format!("of one failure there are more than {FOR_A_FAILURE}, and others are likelier to help")
            } else if stay.len() >= FOR_A_PROJECT {
                format!("there are more than {FOR_A_PROJECT}, and others are likelier to help")
            } else {
                stay.insert(&reflection.id);
                continue;
            };
            if !self.is_pinned(&reflection.id) {
                moved.insert(reflection.id.clone(), (LessonChange::Retired, why));
            }
        }
    }
}

fn is_over(since: Timestamp, now: Timestamp) -> bool {
    now.duration_since(since) >= SignedDuration::from_hours(24 * DAYS_APART)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, event, reflection};
    use super::*;

    const DAY: i64 = 86_400;

    fn measured(lesson: &str, shown: u32, tasks: u32, helps: f64) -> Measured {
        Measured { lesson: ReflectionId::new(lesson), shown, tasks, passed_at_home: 0, helps }
    }

    fn kept(id: &str) -> LessonEvent {
        event(1, id, LessonChange::Kept, LessonWriter::Rules)
    }

    fn proposed(states: &States) -> Vec<(String, LessonChange)> {
        states.proposals(at(DAY)).into_iter().map(|event| (event.lesson.to_string(), event.change)).collect()
    }

    /// Lessons with words of their own.
    fn lessons(ids: &[&str]) -> Vec<Reflection> {
        ids.iter()
            .map(|id| Reflection { analysis: format!("{id} {id}1 {id}2 {id}3 {id}4"), ..reflection(id, "t") })
            .collect()
    }

    #[test]
    fn effect_moves_lessons_once_it_is_known() {
        let up = [kept("a"), event(2, "a", LessonChange::Promoted, LessonWriter::Rules)];
        let of = |effect: Measured, events: &[LessonEvent]| proposed(&States::of(&lessons(&["a"]), events, &[effect]));
        let one = |change: LessonChange| vec![("a".to_owned(), change)];
        assert_eq!(of(measured("a", 8, 1, 0.09), &[]), one(LessonChange::Quarantined));
        assert_eq!(of(measured("a", 7, 1, 0.01), &[]), [], "too few uses");
        assert_eq!(
            of(Measured { passed_at_home: 1, ..measured("a", 1, 1, 0.5) }, &[kept("a")]),
            one(LessonChange::Promoted)
        );
        assert_eq!(
            of(Measured { passed_at_home: 1, ..measured("a", 1, 1, 0.5) }, &[]),
            [],
            "it has not passed the gate"
        );
        assert_eq!(of(measured("a", 8, 2, 0.91), &up), one(LessonChange::Promoted));
        assert_eq!(of(measured("a", 8, 1, 0.99), &up), [], "one task alone");
        let active = [&up[..], &[event(3, "a", LessonChange::Promoted, LessonWriter::Rules)]].concat();
        assert_eq!(of(measured("a", 20, 3, 0.4), &active), one(LessonChange::Demoted));
        let pinned = [event(4, "a", LessonChange::Pinned, LessonWriter::Person)];
        assert_eq!(of(measured("a", 20, 3, 0.01), &pinned), [], "pinned");
    }

    #[test]
    fn what_rules_set_apart_is_over_after_a_month() {
        let apart = |by| States::of(&lessons(&["a"]), &[event(0, "a", LessonChange::Quarantined, by)], &[]);
        assert!(apart(LessonWriter::Rules).proposals(at(29 * DAY)).is_empty());
        assert_eq!(apart(LessonWriter::Rules).proposals(at(30 * DAY))[0].change, LessonChange::Retired);
        assert!(
            apart(LessonWriter::Person).proposals(at(90 * DAY)).is_empty(),
            "a person decides about what a person set apart"
        );
    }

    #[test]
    fn duplicates_about_one_failure_are_merged_into_the_better_one() {
        let words = "the pool is borrowed twice inside of the closure so collect the ids before it is changed";
        let about = |id: &str, failure: &str, words: &str| Reflection {
            analysis: words.to_owned(),
            signature: Some(failure.to_owned()),
            ..reflection(id, "t")
        };
        let all = [
            about("a", "v1:1", words),
            about("b", "v1:1", &format!("{words} again")),
            about("c", "v1:2", words),
            about("d", "v1:1", "else"),
        ];
        let into = |id: &str| LessonChange::Merged { into: ReflectionId::new(id) };
        assert_eq!(proposed(&States::of(&all, &[], &[])), [("b".to_owned(), into("a"))]);
        assert_eq!(proposed(&States::of(&all, &[], &[measured("b", 3, 1, 0.8)])), [("a".to_owned(), into("b"))]);
        let pinned = ["a", "b"].map(|id| event(1, id, LessonChange::Pinned, LessonWriter::Person));
        assert_eq!(
            proposed(&States::of(&all, &pinned[..1], &[measured("b", 3, 1, 0.8)])),
            [("b".to_owned(), into("a"))]
        );
        assert_eq!(proposed(&States::of(&all, &pinned, &[])), []);
    }

    #[test]
    fn quotas_keep_what_is_likelier_to_help_and_what_is_newer() {
        let ids: Vec<String> = (0..7).map(|n| format!("r{n}")).collect();
        let mut all = lessons(&ids.iter().map(String::as_str).collect::<Vec<_>>());
        for (n, reflection) in (0..).zip(&mut all) {
            reflection.signature = Some("v1:1".to_owned());
            reflection.created_at = at(n);
        }
        let retired = |states: &States| proposed(states).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
        assert_eq!(retired(&States::of(&all, &[], &[])), ["r0", "r1"]);
        assert_eq!(
            retired(&States::of(&all, &[], &[measured("r0", 3, 1, 0.7), measured("r6", 3, 1, 0.3)])),
            ["r1", "r6"]
        );
        let pin = event(1, "r0", LessonChange::Pinned, LessonWriter::Person);
        assert_eq!(retired(&States::of(&all, &[pin], &[])), ["r1", "r2"]);
        let many: Vec<String> = (0..502).map(|n| format!("m{n:03}")).collect();
        let many = lessons(&many.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(retired(&States::of(&many, &[], &[])), ["m000", "m001"]);
    }

    #[test]
    fn the_rules_come_to_an_end() {
        let mut all = lessons(&["a", "b", "c"]);
        all.push(Reflection { id: ReflectionId::new("d"), ..all[0].clone() });
        let effects = [measured("a", 9, 2, 0.95), measured("b", 9, 2, 0.05)];
        let mut states = States::of(
            &all,
            &[kept("a"), kept("c"), event(2, "a", LessonChange::Promoted, LessonWriter::Rules)],
            &effects,
        );
        let first = states.proposals(at(DAY));
        assert_eq!(first.len(), 3, "{first:?}");
        states.add(&[], &first, &[]);
        assert_eq!(states.proposals(at(DAY)), []);
    }
}
