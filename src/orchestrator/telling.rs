//! What a run tells: its journal first, and then whoever watches. Nobody hears of an entry that is not durable.

use super::context::RunContext;
use super::newest::NewestAttempts;
use super::ports::Services;
use crate::domain::{About, Event, EventKind, JournalEntry, TaskId};
use crate::services::JournalError;
use std::sync::{MutexGuard, PoisonError};

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
