//! What a run tells: its journal first, and then whoever watches. Nobody hears of an entry that is not durable.

use super::attempt::in_short;
use super::context::RunContext;
use super::course::Judged;
use super::newest::NewestAttempts;
use super::ports::Services;
use crate::domain::{About, Event, EventKind, JournalEntry, RedCheck, TaskId, Verdict};
use crate::prompt::{last_bytes, one_line, plain};
use crate::services::JournalError;
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
