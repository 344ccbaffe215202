//! What ends a whole run before its tasks are done: a machine, or something around every task, that is not as it must be.
//!
//! Nothing is decided about the tasks that were at work then. Their journal has no end, so they are gone on with as after
//! a crash, and no attempt is used up.

use super::context::RunContext;
use super::ended::Ended;
use super::task_run::TaskRunError;
use crate::domain::{JournalEntry, RunKind, Stop};
use crate::services::RunError;

/// So many tasks in a row that could not be worked on, all for the same reason, are no trouble of a task's own.
const IN_A_ROW: usize = 3;

impl RunContext {
    /// Stops everything; what is at work is wound down.
    pub fn halt(&self, because: &str) {
        // The order matters: who sees the cancellation asks why.
        let _ = self.halted.set(because.to_owned());
        self.cancel.cancel();
    }

    /// Why the run cannot go on, written down as far as that is possible.
    pub async fn halted(&self) -> Option<RunError> {
        let because = self.halted.get()?;
        // Where the journal itself is the reason there is nothing more to say.
        let _ = self.record(JournalEntry::RunHalted { because: because.clone() }).await;
        let again = match self.kind {
            RunKind::Run => "what was open is open",
            RunKind::Overnight => "when that is fixed, `reflexion overnight` goes on with the night",
        };
        Some(RunError::Environment(format!("{because}\n{again}")))
    }

    /// Asks for room, before something is begun and after something failed.
    pub(super) async fn room(&self) -> Result<(), TaskRunError> {
        Ok(self.services.workspaces.room().await?)
    }
}

/// Tasks in a row that could not be worked on.
#[derive(Debug, Default)]
pub(super) struct InARow {
    cause: String,
    count: usize,
}

impl InARow {
    /// Why the run should not go on to the next task, if that has become clear.
    pub fn after(&mut self, task: &Ended) -> Option<String> {
        let cause = task.report.cause.as_deref().unwrap_or_default();
        if task.report.attempts > 0 || task.report.stop != Some(Stop::Environment) || !task.of_all {
            *self = Self::default();
            return None;
        }
        if self.count > 0 && self.cause != cause {
            *self = Self::default();
        }
        self.cause = cause.to_owned();
        self.count += 1;
        (self.count >= IN_A_ROW).then(|| format!("{IN_A_ROW} tasks in a row could not be worked on: {cause}"))
    }
}
