//! Events as log lines.

use crate::domain::Event;
use crate::domain::EventKind;
use crate::domain::JournalEntry;
use crate::report::line;
use crate::services::EventSink;

/// Writes every event to the log: warnings as warnings, the rest as information.
#[derive(Debug, Clone, Copy, Default)]
pub struct TracedEvents;

impl EventSink for TracedEvents {
    fn publish(&self, event: Event) {
        match (&event.kind, line(&event)) {
            (
                EventKind::Warning { .. }
                | EventKind::Tampered { .. }
                | EventKind::Recorded(JournalEntry::RepositoryChanged { .. }),
                Some(line),
            ) => tracing::warn!("{line}"),
            (_, Some(line)) => tracing::info!("{line}"),
            (_, None) => {}
        }
    }
}
