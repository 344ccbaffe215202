//! `memory pin`, `unpin`, `promote`, `retire`: a person's word on a lesson, which no rule overrules; and how far a lesson has come.

use super::super::exit::UsageError;
use super::super::output::outln;
use super::super::{Exit, project};
use super::Memory;
use crate::curation::{Standing, State, States, kept_from_prompts, states, stays_home};
use crate::domain::{LessonChange, LessonEvent, LessonWriter, Reflection, ReflectionId};
use crate::redaction::Redactor;
use crate::services::{RecentQuery, StorageError};
use serde_json::{Value, json};

impl Memory {
    /// Writes down what a person says of a lesson, and prints what that makes of it.
    pub(super) async fn change(
        &self,
        id: &str,
        change: LessonChange,
        why: Option<String>,
        json: bool,
    ) -> anyhow::Result<Exit> {
        let lesson = self.find(&ReflectionId::new(id)).await?;
        if lesson.foreign {
            let id = &lesson.id;
            return Err(UsageError(format!(
                "{id} was not written here: `reflexion memory check --adopt` takes such lessons over"
            ))
            .into());
        }
        self.say_of(&lesson, &[change], why).await?;
        let standing = self.standing(&lesson).await?;
        if json {
            project::print_json(&json!({ "lesson": lesson.id, "standing": standing.as_ref().map(as_json) }))?;
        } else {
            let standing = standing.as_ref().map(|standing| in_words(standing, &lesson));
            outln!("{}: {}", lesson.id, standing.unwrap_or_default());
        }
        Ok(Exit::Confirmed)
    }

    /// Writes down what a person says of a lesson.
    pub(super) async fn say_of(
        &self,
        lesson: &Reflection,
        changes: &[LessonChange],
        why: Option<String>,
    ) -> Result<(), StorageError> {
        let why = why.map(|why| Redactor::of_process().redact_owned(why)).unwrap_or_default();
        let event = |change: &LessonChange| LessonEvent {
            at: self.clock.now(),
            by: LessonWriter::Person,
            lesson: lesson.id.clone(),
            change: change.clone(),
            why: why.clone(),
            v: 1,
        };
        self.lessons.append(&changes.iter().map(event).collect::<Vec<_>>()).await?;
        if changes.iter().any(|change| matches!(change, LessonChange::Retired | LessonChange::Edited { .. })) {
            // The words that are no good here are none elsewhere.
            self.take_back(&lesson.id).await?;
        }
        Ok(())
    }

    /// How far a lesson has come; none if nobody here believes it.
    pub(super) async fn standing(&self, lesson: &Reflection) -> Result<Option<Standing>, StorageError> {
        Ok(self.states().await?.standing(&lesson.id).cloned())
    }

    /// How far every lesson that somebody here believes has come.
    pub(super) async fn states(&self) -> Result<States, StorageError> {
        let mut all = self.storage.recent(&RecentQuery { own_only: true, ..RecentQuery::default() }).await?;
        all.reverse();
        Ok(states(&all, &self.lessons.read().await?.whole()?))
    }
}

/// As `memory show` says it: how far it has come, and who sees it, which what it says may narrow.
pub(super) fn in_words(standing: &Standing, lesson: &Reflection) -> String {
    let reach = match (standing.state, kept_from_prompts(lesson), home_by_words(standing, lesson)) {
        (_, Some(why), _) if standing.is_live_at_home() => format!("nobody sees it all the same: {why}"),
        (State::Candidate, _, Some(why)) => format!("{}, and it stays there: {why}", State::Candidate.seen_by()),
        (state, _, Some(why)) if state.is_live() => format!("{} all the same: {why}", State::Candidate.seen_by()),
        _ => by_state(standing).to_owned(),
    };
    let pinned = if standing.pinned { "; pinned: no rule moves it" } else { "" };
    let why = if standing.why.is_empty() { String::new() } else { format!(" ({})", standing.why) };
    let heir = standing.replaced_by.as_ref().map(|new| format!("; {new} stands in its place")).unwrap_or_default();
    format!("{}: {reach}{why}{heir}{pinned}", standing.state.as_str())
}

/// Why it stays with its own task because of what it says, where no person says otherwise.
fn home_by_words(standing: &Standing, lesson: &Reflection) -> Option<String> {
    if standing.vouched { None } else { stays_home(lesson) }
}

/// A lesson that is over is so for one of two reasons, and this says which.
fn by_state(standing: &Standing) -> &'static str {
    match standing.state {
        State::Retired if standing.is_live_at_home() => State::Candidate.seen_by(),
        State::Retired => State::Quarantined.seen_by(),
        state => state.seen_by(),
    }
}

/// As `memory show --json` has it.
pub(super) fn as_json(standing: &Standing) -> Value {
    json!({
        "state": standing.state,
        "pinned": standing.pinned,
        "seen": standing.seen,
        "why": standing.why,
        "since": standing.since,
        "replacedBy": standing.replaced_by,
    })
}
