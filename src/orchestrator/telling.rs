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
