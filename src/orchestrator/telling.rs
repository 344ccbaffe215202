//! What a run tells: its journal first, and then whoever watches. Nobody hears of an entry that is not durable.

use super::attempt::{Judged, in_short};
use super::drive::{RunContext, Services};
use crate::domain::{
    About, Event, EventKind, JournalEntry, NamedAttempt, RedCheck, RunId, SessionId, SubtaskId, TaskId, Verdict,
};
use crate::prompt::{last_bytes, one_line, plain};
use crate::services::JournalError;
use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};

impl Judged {
    /// What the check that it shows has run and said, one line each, where no test is named in that.
    pub(super) fn red_check(&self) -> Option<RedCheck> {
        let check = RedCheck::of(self.shown()?)?;
        Some(RedCheck { run: in_short(&check.run), line: check.line.as_deref().map(in_short), ..check })
    }

    /// What the agent said last, where nothing else may tell a person what it has come to. It decides nothing.
    pub(super) fn said_last(&self) -> Option<String> {
        /// A question stands at the end.
        const BYTES: usize = 600;
        let is_done = self.judgement.verdict == Verdict::Confirmed && !self.change.files.is_empty();
        let words = one_line(&plain(&self.message));
        if is_done || words.is_empty() {
            return None;
        }
        let end = last_bytes(&words, BYTES);
        Some(if end.len() < words.len() { format!("…{end}") } else { words })
    }
}

impl Services {
    pub(super) fn publish(&self, about: About, kind: EventKind) {
        self.events.publish(Event { at: self.clock.now(), about, kind });
    }
}

impl RunContext {
    /// Writes an entry down, and tells it then.
    ///
    /// # Errors
    /// [`JournalError`]; the caller must not go on to the effect whose intent could not be written.
    pub(super) async fn record(&self, entry: JournalEntry) -> Result<(), JournalError> {
        self.services.journal.record(entry.clone()).await?;
        let about = {
            let mut newest = self.newest();
            newest.take(&entry);
            newest.about(&self.run, &entry)
        };
        self.services.publish(about, EventKind::Recorded(entry));
        Ok(())
    }

    /// Tells what nobody writes down.
    pub(super) fn publish(&self, task: Option<&TaskId>, kind: EventKind) {
        let about = task.map_or_else(|| About::run(&self.run), |task| self.newest().of(&self.run, task));
        self.services.publish(about, kind);
    }

    fn newest(&self) -> MutexGuard<'_, NewestAttempts> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which attempt each task of a run began last, by its journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewestAttempts(BTreeMap<TaskId, Newest>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Newest {
    subtask: SubtaskId,
    number: u32,
    session: SessionId,
}

impl NewestAttempts {
    /// Takes the next entry of the run's journal.
    pub(super) fn take(&mut self, entry: &JournalEntry) {
        if let JournalEntry::AttemptStarted { task, subtask, attempt, session, .. } = entry {
            let (subtask, number, session) = (subtask.clone(), *attempt, session.clone());
            self.0.insert(task.clone(), Newest { subtask, number, session });
        }
    }

    /// What something about a task is about.
    pub(super) fn of(&self, run: &RunId, task: &TaskId) -> About {
        let about = About::task(run, task);
        let Some(Newest { subtask, number, session }) = self.0.get(task) else { return about };
        About { subtask: Some(subtask.clone()), attempt: Some(*number), session: Some(session.clone()), ..about }
    }

    /// What an entry is about: the newest attempt, unless it names another one.
    fn about(&self, run: &RunId, entry: &JournalEntry) -> About {
        let Some(task) = entry.task() else { return About::run(run) };
        let NamedAttempt { subtask, number, session } = entry.attempt();
        if self.0.get(task).is_some_and(|newest| newest.is(entry.attempt())) {
            return self.of(run, task);
        }
        About { subtask: subtask.cloned(), attempt: number, session: session.cloned(), ..About::task(run, task) }
    }
}

impl Newest {
    /// Whether whoever says so much of an attempt may mean this one.
    fn is(&self, named: NamedAttempt<'_>) -> bool {
        named.subtask.is_none_or(|subtask| *subtask == self.subtask)
            && named.number.is_none_or(|number| number == self.number)
            && named.session.is_none_or(|session| *session == self.session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn entries_are_about_the_newest_attempt_unless_they_name_another_one() {
        let mut newest = NewestAttempts::default();
        let run = RunId::new("r").unwrap();
        let mut check = |entry: Value, expected: [&str; 3]| {
            let entry: JournalEntry = serde_json::from_value(entry).unwrap();
            newest.take(&entry);
            let about = newest.about(&run, &entry);
            let text = |id: Option<String>| id.unwrap_or_default();
            let said = [
                text(about.subtask.map(|id| id.to_string())),
                text(about.attempt.map(|n| n.to_string())),
                text(about.session.map(|id| id.to_string())),
            ];
            assert_eq!(said, expected, "{entry:?}");
        };
        let started = |part: &str, attempt: u32, session: &str| {
            json!({ "type": "attempt_started", "task": "a", "subtask": part, "attempt": attempt, "session": session,
                    "agent": "x", "start": "t", "injected": [] })
        };
        let heal = |part: &str| {
            json!({ "type": "heal_started", "task": "a", "subtask": part, "symptom": "setup_failed", "spell": "set_up_again",
                    "because": "no" })
        };
        check(json!({ "type": "task_started", "task": "a" }), ["", "", ""]);
        check(heal("p"), ["p", "", ""]);
        check(started("p", 1, "s1"), ["p", "1", "s1"]);
        check(heal("p"), ["p", "1", "s1"]);
        check(heal("q"), ["q", "", ""]);
        check(json!({ "type": "commit_started", "task": "a", "tree": "t" }), ["p", "1", "s1"]);
        check(started("q", 4, "s2"), ["q", "4", "s2"]);
        check(json!({ "type": "attempt_dropped", "task": "a", "session": "s1", "ending": null }), ["", "", "s1"]);
        check(json!({ "type": "merge_started", "task": "a", "attempt": 4, "onto": "c" }), ["q", "4", "s2"]);
        check(json!({ "type": "task_started", "task": "b" }), ["", "", ""]);
        check(json!({ "type": "run_ended", "interrupted": false }), ["", "", ""]);
    }
}
