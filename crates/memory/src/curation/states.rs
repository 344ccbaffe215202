//! How far each lesson has come: a fold over what happened to it.

use super::rules::Measured;
use crate::domain::{LessonChange, LessonEvent, LessonWriter, Origin, Reflection, ReflectionId, Timestamp};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// How far a lesson has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is new, or nothing speaks for more.
    #[default]
    Candidate,
    /// An attempt passed with it, or a person speaks for it.
    Probation,
    /// It was measured to help, in two tasks at least.
    Active,
    /// What it is about is gone.
    Stale,
    /// It was set apart because of what it says or does.
    Quarantined,
    /// It is over.
    Retired,
}

impl State {
    /// From the first one to the last.
    pub const ALL: [Self; 6] =
        [Self::Candidate, Self::Probation, Self::Active, Self::Stale, Self::Quarantined, Self::Retired];

    /// Who sees a lesson that has come this far, as far as its [words](super::stays_home) let it. The one place in which that is said.
    #[must_use]
    pub fn seen_by(self) -> &'static str {
        match self {
            Self::Candidate => "its own task alone sees it",
            Self::Probation => "its own task sees it, and others of the project that fail alike",
            Self::Active => {
                "its own task sees it, others of the project that fail alike, and first attempts at what it is about"
            }
            Self::Stale | Self::Quarantined => "nobody sees it",
            Self::Retired => "nobody sees it; its own task alone, where rules found it said twice or too many",
        }
    }

    /// The word used in files and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Candidate => "candidate",
            Self::Probation => "probation",
            Self::Active => "active",
            Self::Stale => "stale",
            Self::Quarantined => "quarantined",
            Self::Retired => "retired",
        }
    }

    /// Whether some prompt may hold it.
    #[must_use]
    pub fn is_live(self) -> bool {
        matches!(self, Self::Candidate | Self::Probation | Self::Active)
    }
}

impl Standing {
    /// Whether the prompts of its own task may hold it: a lesson that rules have merged or found too many still says something there.
    #[must_use]
    pub fn is_live_at_home(&self) -> bool {
        self.state.is_live()
            || (self.state == State::Retired && self.by_rules && !self.apart && !self.edited && !self.expired)
    }
}

/// What is known of one lesson.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// How far it has come.
    pub state: State,
    /// It passed the gate; rules promote no other.
    pub kept: bool,
    /// Rules leave it as it is.
    pub pinned: bool,
    /// How often the same was said: once, and once for each that was merged into it.
    pub seen: u32,
    /// The lessons that were merged into it, by any number of steps.
    pub merged: BTreeSet<ReflectionId>,
    /// The lesson that stands in its place.
    pub replaced_by: Option<ReflectionId>,
    /// It stands there with other words for the same: nobody needs both.
    pub edited: bool,
    /// The reason of its last event, or what it began as.
    pub why: String,
    /// When that was.
    pub since: Timestamp,
    /// Rules set it apart, not a person.
    pub by_rules: bool,
    /// It was set apart because of what it says or does, before it was over.
    pub apart: bool,
    /// It is over because of its age.
    pub expired: bool,
    /// How far it had come when what it is about vanished.
    pub before: State,
    /// A person wrote it, or said that other tasks may see it: its words need not be plainly fine for that.
    pub vouched: bool,
}

/// The state of every lesson. The same lines give the same states, in any order, in any number of parts, and read twice.
#[derive(Debug, Clone, Default)]
pub struct States {
    pub(super) reflections: BTreeMap<ReflectionId, Reflection>,
    events: BTreeSet<LessonEvent>,
    pub(super) effects: BTreeMap<ReflectionId, Measured>,
    pub(super) standings: BTreeMap<ReflectionId, Standing>,
}

impl States {
    /// Folds all that is known.
    ///
    /// ```
    /// # use reflexion_core::domain::{LessonEvent, Reflection, ReflectionId};
    /// # use reflexion_memory::curation::{State, States};
    /// # let line = r#"{"id":"r","sessionId":"s","taskId":"t","subtaskId":"t","attemptNumber":1,"category":"root_cause",
    /// #   "analysis":"a","suggestion":"b","createdAt":"2026-01-02T03:04:05Z"}"#;
    /// # let reflection: Reflection = serde_json::from_str(line)?;
    /// # let event = r#"{"v":1,"at":"2026-01-03T00:00:00Z","lesson":"r","event":"quarantined","why":"it harms","by":"rules"}"#;
    /// let event: LessonEvent = serde_json::from_str(event)?;
    /// let states = States::of(&[reflection], &[event], &[]);
    /// assert_eq!(states.state(&ReflectionId::new("r")), State::Quarantined);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn of(reflections: &[Reflection], events: &[LessonEvent], effects: &[Measured]) -> Self {
        let mut states = Self::default();
        states.add(reflections, events, effects);
        states
    }

    /// Adds what has come since. Of an effect that is known already the new one counts.
    pub fn add(&mut self, reflections: &[Reflection], events: &[LessonEvent], effects: &[Measured]) {
        // Of two lines with one id the first is the lesson: nobody replaces it by writing another.
        for reflection in reflections {
            self.reflections.entry(reflection.id.clone()).or_insert_with(|| reflection.clone());
        }
        self.events.extend(events.iter().cloned());
        self.effects.extend(effects.iter().map(|effect| (effect.lesson.clone(), effect.clone())));
        self.standings = self.folded();
    }

    /// What is known of a lesson.
    #[must_use]
    pub fn standing(&self, lesson: &ReflectionId) -> Option<&Standing> {
        self.standings.get(lesson)
    }

    /// How far a lesson has come; one that nobody knows is retired.
    #[must_use]
    pub fn state(&self, lesson: &ReflectionId) -> State {
        self.standing(lesson).map_or(State::Retired, |standing| standing.state)
    }

    /// What was measured of a lesson; none where no prompt showed it.
    #[must_use]
    pub fn measured(&self, lesson: &ReflectionId) -> Option<&Measured> {
        self.effects.get(lesson)
    }

    /// Every lesson by its id.
    pub fn iter(&self) -> impl Iterator<Item = (&ReflectionId, &Standing)> {
        self.standings.iter()
    }

    fn folded(&self) -> BTreeMap<ReflectionId, Standing> {
        let mut standings: BTreeMap<_, _> = self.reflections.values().map(|r| (r.id.clone(), first(r))).collect();
        let mut merges = BTreeMap::new();
        let mut replacing = self.replacing().into_iter().peekable();
        let in_time = self.events.iter().flat_map(|event| {
            let before = std::iter::from_fn(|| replacing.next_if(|other| other.at <= event.at)).collect::<Vec<_>>();
            before.into_iter().map(Cow::Owned).chain([Cow::Borrowed(event)])
        });
        let mut in_time: Vec<Cow<'_, LessonEvent>> = in_time.collect();
        in_time.extend(replacing.map(Cow::Owned));
        for event in in_time.iter().map(AsRef::as_ref) {
            if let LessonChange::Edited { reflection } = &event.change {
                self.take_the_place(&mut standings, event, reflection);
                let heir = standings.get(&event.lesson).map(|old| (old.kept, old.pinned));
                if let (Some((kept, pinned)), Some(new)) = (heir, standings.get_mut(reflection))
                    && event.lesson != *reflection
                {
                    new.vouched |= event.by == LessonWriter::Person;
                    (new.kept, new.pinned) =
                        (new.kept || kept || event.by == LessonWriter::Person, new.pinned || pinned);
                    if event.by == LessonWriter::Person && new.state == State::Candidate {
                        new.state = State::Probation;
                    }
                }
            }
            if let Some(standing) = standings.get_mut(&event.lesson)
                && apply(standing, event)
            {
                match &event.change {
                    LessonChange::Merged { into } => merges.insert(event.lesson.clone(), into.clone()),
                    _ => merges.remove(&event.lesson),
                };
            }
        }
        count(&mut standings, &merges);
        standings
    }

    /// What the lessons of runs themselves say of those in whose place they stand, in the order of time. What a person has edited is an event.
    fn replacing(&self) -> Vec<LessonEvent> {
        let of = |new: &Reflection| {
            let by_hand = new.origin == Some(Origin::Person);
            let lesson = new.replaces.clone().filter(|old| *old != new.id && !new.foreign && !by_hand)?;
            let why = format!("{} was written when an attempt had passed", new.id);
            let change = LessonChange::Edited { reflection: new.id.clone() };
            Some(LessonEvent { at: new.created_at, by: LessonWriter::Rules, lesson, change, why, v: 1 })
        };
        let mut all: Vec<LessonEvent> = self.reflections.values().filter_map(of).collect();
        all.sort_by_key(|event| event.at);
        all
    }

    /// Where two people have edited one lesson at the same time, the words of the last one stand.
    fn take_the_place(
        &self,
        standings: &mut BTreeMap<ReflectionId, Standing>,
        event: &LessonEvent,
        new: &ReflectionId,
    ) {
        let before = standings.get(&event.lesson).filter(|old| old.edited).and_then(|old| old.replaced_by.clone());
        let Some(before) = before.filter(|before| before != new && event.by == LessonWriter::Person) else { return };
        let by_hand = self.reflections.get(&before).is_some_and(|one| one.origin == Some(Origin::Person));
        if let Some(standing) = standings.get_mut(&before).filter(|_| by_hand) {
            apply(standing, &LessonEvent { lesson: before, ..event.clone() });
        }
    }
}

/// What a lesson begins as.
fn first(reflection: &Reflection) -> Standing {
    let (state, kept, why) = match reflection.origin {
        _ if reflection.foreign => (State::Quarantined, false, "nobody here has adopted it"),
        Some(Origin::Person) => (State::Probation, true, "a person wrote it"),
        _ => (State::Candidate, false, "it is new"),
    };
    Standing {
        state,
        kept,
        pinned: false,
        seen: 1,
        merged: BTreeSet::new(),
        replaced_by: None,
        edited: false,
        why: why.to_owned(),
        since: reflection.created_at,
        by_rules: true,
        apart: false,
        expired: false,
        before: State::Candidate,
        vouched: state == State::Probation,
    }
}

/// What an event makes of a lesson, by the table of states; whether it counts.
///
/// | event | candidate | probation | active | stale | quarantined | retired |
/// |---|---|---|---|---|---|---|
/// | kept by rules | kept | kept | kept | - | - | - |
/// | kept by a person | probation | kept | kept | probation | probation | probation |
/// | promoted by rules | probation, if it was kept | active | - | - | - | - |
/// | promoted by a person | probation | probation | active | probation | probation | probation |
/// | demoted | - | candidate | probation | - | - | - |
/// | stale | stale | stale | stale | - | - | - |
/// | returned | - | - | - | what it was before | - | - |
/// | quarantined | quarantined | quarantined | quarantined | quarantined | - | - |
/// | merged, edited, retired | retired | retired | retired | retired | retired | - |
/// | edited by a person | retired | retired | retired | retired | retired | retired |
/// | expired | retired | retired | retired | retired | retired | retired, if its own task still saw it |
///
/// What rules say of a pinned one does not count.
fn apply(standing: &mut Standing, event: &LessonEvent) -> bool {
    use State::{Active, Candidate, Probation, Quarantined, Retired, Stale};
    let person = event.by == LessonWriter::Person;
    if standing.pinned && !person {
        return false;
    }
    let was = standing.state;
    let now = match (&event.change, was) {
        (LessonChange::Pinned | LessonChange::Unpinned, _) => {
            standing.pinned = event.change == LessonChange::Pinned;
            return true;
        }
        (LessonChange::Kept, _) if person || was.is_live() => {
            standing.kept = true;
            if person && !matches!(was, Probation | Active) { Probation } else { was }
        }
        (LessonChange::Promoted, Candidate) if person || standing.kept => Probation,
        // To be active it must have been measured, and nobody's word is that.
        (LessonChange::Promoted, Probation | Active) if person => was,
        (LessonChange::Promoted, Probation) => Active,
        (LessonChange::Promoted, Stale | Quarantined | Retired) if person => Probation,
        (LessonChange::Demoted, Probation) => Candidate,
        (LessonChange::Demoted, Active) => Probation,
        (LessonChange::Stale { .. }, Candidate | Probation | Active) => {
            standing.before = was;
            Stale
        }
        (LessonChange::Returned { .. }, Stale) => standing.before,
        (LessonChange::Quarantined, Candidate | Probation | Active | Stale) => Quarantined,
        (LessonChange::Merged { into }, Candidate | Probation | Active | Stale | Quarantined)
            if *into != event.lesson =>
        {
            Retired
        }
        (LessonChange::Edited { reflection }, Candidate | Probation | Active | Stale | Quarantined)
            if *reflection != event.lesson =>
        {
            Retired
        }
        // Its own task may still see what rules have merged: not beside its new words.
        (LessonChange::Edited { reflection }, Retired) if person && *reflection != event.lesson => Retired,
        (LessonChange::Retired | LessonChange::Expired, Candidate | Probation | Active | Stale | Quarantined) => {
            Retired
        }
        (LessonChange::Expired, Retired) if standing.is_live_at_home() => Retired,
        _ => return false,
    };
    standing.kept |= person && event.change == LessonChange::Promoted;
    standing.vouched |= person && matches!(event.change, LessonChange::Promoted | LessonChange::Kept);
    standing.apart = now == Quarantined || (now == Retired && was == Quarantined);
    standing.state = now;
    standing.by_rules = !person;
    standing.since = event.at;
    standing.why.clone_from(&event.why);
    standing.expired = event.change == LessonChange::Expired;
    standing.edited = matches!(event.change, LessonChange::Edited { .. });
    standing.replaced_by = match &event.change {
        LessonChange::Edited { reflection } => Some(reflection.clone()),
        LessonChange::Merged { into } => Some(into.clone()),
        _ => None,
    };
    true
}

/// Counts what was merged where its words stand now. Merges in a circle count nowhere.
fn count(standings: &mut BTreeMap<ReflectionId, Standing>, merges: &BTreeMap<ReflectionId, ReflectionId>) {
    for lesson in merges.keys() {
        let mut last = lesson;
        let mut steps = 0;
        while let Some(next) = merges.get(last)
            && steps <= merges.len()
        {
            last = next;
            steps += 1;
        }
        if steps <= merges.len()
            && let Some(standing) = standings.get_mut(last)
            && standing.merged.insert(lesson.clone())
        {
            standing.seen += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, event, reflection};
    use super::*;
    use proptest::prelude::*;

    fn state(events: &[LessonEvent]) -> State {
        States::of(&[reflection("a", "t")], events, &[]).state(&ReflectionId::new("a"))
    }

    #[test]
    fn a_lesson_goes_up_and_down_step_by_step() {
        let rules = |second, change| event(second, "a", change, LessonWriter::Rules);
        let up = [rules(1, LessonChange::Kept), rules(2, LessonChange::Promoted), rules(3, LessonChange::Promoted)];
        assert_eq!(state(&[]), State::Candidate);
        assert_eq!(state(&up[..2]), State::Probation);
        assert_eq!(state(&up), State::Active);
        assert_eq!(state(&up[1..]), State::Candidate, "what was not kept is not promoted");
        assert_eq!(state(&[&up[..], &[rules(4, LessonChange::Demoted)]].concat()), State::Probation);
        let apart = [&up[..], &[rules(4, LessonChange::Quarantined), rules(5, LessonChange::Promoted)]].concat();
        assert_eq!(state(&apart), State::Quarantined, "rules do not bring it back");
        let promoted = |second| event(second, "a", LessonChange::Promoted, LessonWriter::Person);
        assert_eq!(state(&[&apart[..], &[promoted(6)]].concat()), State::Probation);
        assert_eq!(state(&[promoted(1), promoted(2)]), State::Probation, "nobody's word is a measurement");
        let gone = LessonChange::Stale { path: "src/a.rs".to_owned() };
        assert_eq!(state(&[&up[..], &[rules(4, gone)]].concat()), State::Stale);
    }

    #[test]
    fn rules_leave_a_pinned_one_and_a_person_has_the_last_word() {
        let pinned = event(1, "a", LessonChange::Pinned, LessonWriter::Person);
        let apart = event(2, "a", LessonChange::Quarantined, LessonWriter::Rules);
        assert_eq!(state(&[pinned.clone(), apart.clone()]), State::Candidate);
        let freed = event(2, "a", LessonChange::Unpinned, LessonWriter::Person);
        assert_eq!(
            state(&[pinned.clone(), freed, event(3, "a", LessonChange::Quarantined, LessonWriter::Rules)]),
            State::Quarantined
        );
        assert_eq!(state(&[pinned, event(2, "a", LessonChange::Retired, LessonWriter::Person)]), State::Retired);
        assert_eq!(
            state(&[event(2, "a", LessonChange::Kept, LessonWriter::Person), apart]),
            State::Probation,
            "of one instant a person's is last"
        );
    }

    #[test]
    fn merged_ones_are_counted_where_they_went() {
        let all = ["a", "b", "c"].map(|id| reflection(id, "t"));
        let merged = |second, id, into: &str| {
            event(second, id, LessonChange::Merged { into: ReflectionId::new(into) }, LessonWriter::Rules)
        };
        let states = States::of(&all, &[merged(1, "b", "a"), merged(2, "c", "b")], &[]);
        let a = states.standing(&ReflectionId::new("a")).unwrap();
        assert_eq!((a.seen, a.merged.len()), (3, 2));
        assert_eq!(states.state(&ReflectionId::new("c")), State::Retired);
        let circle = States::of(&all, &[merged(1, "b", "c"), merged(2, "c", "b")], &[]);
        assert_eq!(circle.standing(&ReflectionId::new("b")).unwrap().seen, 1);
        let kept = event(3, "b", LessonChange::Kept, LessonWriter::Person);
        let back = States::of(&all, &[merged(1, "b", "a"), kept], &[]);
        assert_eq!(back.standing(&ReflectionId::new("a")).unwrap().seen, 1);
    }

    #[test]
    fn an_edited_lesson_hands_over_its_place() {
        let all = ["a", "b"].map(|id| reflection(id, "t"));
        let edited = event(2, "a", LessonChange::Edited { reflection: ReflectionId::new("b") }, LessonWriter::Person);
        let states = States::of(&all, &[event(1, "a", LessonChange::Pinned, LessonWriter::Person), edited], &[]);
        assert_eq!(states.state(&ReflectionId::new("a")), State::Retired);
        assert_eq!(states.standing(&ReflectionId::new("a")).unwrap().replaced_by, Some(ReflectionId::new("b")));
        let new = states.standing(&ReflectionId::new("b")).unwrap();
        assert!(new.state == State::Probation && new.kept && new.pinned);
    }

    #[test]
    fn of_two_people_who_edit_one_lesson_the_last_one_has_the_word() {
        let person = |id: &str| Reflection { origin: Some(Origin::Person), ..reflection(id, "t") };
        let all = [reflection("a", "t"), person("b"), person("c")];
        let edited = |second, into: &str| {
            event(second, "a", LessonChange::Edited { reflection: ReflectionId::new(into) }, LessonWriter::Person)
        };
        let merged = event(1, "a", LessonChange::Merged { into: ReflectionId::new("z") }, LessonWriter::Rules);
        let states = States::of(&all, &[merged, edited(2, "b"), edited(3, "c")], &[]);
        let standing = |id: &str| states.standing(&ReflectionId::new(id)).unwrap();
        assert!(!standing("a").is_live_at_home() && !standing("b").is_live_at_home());
        assert_eq!(standing("a").replaced_by, Some(ReflectionId::new("c")));
        assert_eq!((standing("b").state, standing("c").state), (State::Retired, State::Probation));
    }

    #[test]
    fn what_nobody_adopted_or_knows_is_not_live() {
        let foreign = Reflection { foreign: true, ..reflection("a", "t") };
        assert_eq!(States::of(&[foreign], &[], &[]).state(&ReflectionId::new("a")), State::Quarantined);
        assert_eq!(States::default().state(&ReflectionId::new("a")), State::Retired);
        let by_person = Reflection { origin: Some(Origin::Person), ..reflection("a", "t") };
        assert_eq!(States::of(&[by_person], &[], &[]).state(&ReflectionId::new("a")), State::Probation);
        let stray = event(1, "z", LessonChange::Kept, LessonWriter::Rules);
        assert_eq!(States::of(&[], &[stray], &[]).iter().count(), 0);
    }

    fn any_event() -> impl Strategy<Value = LessonEvent> {
        let lesson = prop::sample::select(vec!["a", "b", "c"]);
        let change = prop::sample::select(vec![
            LessonChange::Kept,
            LessonChange::Promoted,
            LessonChange::Demoted,
            LessonChange::Quarantined,
            LessonChange::Retired,
            LessonChange::Expired,
            LessonChange::Pinned,
            LessonChange::Unpinned,
            LessonChange::Merged { into: ReflectionId::new("a") },
            LessonChange::Merged { into: ReflectionId::new("b") },
            LessonChange::Edited { reflection: ReflectionId::new("c") },
            LessonChange::Stale { path: "x".to_owned() },
        ]);
        let by = prop::sample::select(vec![LessonWriter::Rules, LessonWriter::Person]);
        (0..6i64, lesson, change, by).prop_map(|(second, lesson, change, by)| LessonEvent {
            at: at(second),
            ..event(second, lesson, change, by)
        })
    }

    proptest! {
        #[test]
        fn the_order_the_parts_and_repetition_do_not_matter(events in prop::collection::vec(any_event(), 0..24), cut in 0usize..24) {
            let all = ["a", "b", "c"].map(|id| reflection(id, "t"));
            let whole = States::of(&all, &events, &[]);
            let twice: Vec<LessonEvent> = events.iter().rev().chain(&events).cloned().collect();
            prop_assert_eq!(&States::of(&all, &twice, &[]).standings, &whole.standings);
            let (one, two) = events.split_at(cut.min(events.len()));
            let mut parts = States::of(&all[..2], two, &[]);
            parts.add(&all[1..], one, &[]);
            prop_assert_eq!(&parts.standings, &whole.standings);
            for (_, standing) in whole.iter() {
                prop_assert!(standing.seen as usize == 1 + standing.merged.len());
            }
        }
    }
}
