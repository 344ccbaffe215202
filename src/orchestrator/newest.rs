//! Which attempt each task of a run began last.

use crate::domain::{About, JournalEntry, NamedAttempt, RunId, SessionId, SubtaskId, TaskId};
use std::collections::BTreeMap;

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
    pub fn about(&self, run: &RunId, entry: &JournalEntry) -> About {
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
    pub fn is(&self, named: NamedAttempt<'_>) -> bool {
        named.subtask.is_none_or(|subtask| *subtask == self.subtask)
            && named.number.is_none_or(|number| number == self.number)
            && named.session.is_none_or(|session| *session == self.session)
    }
}
