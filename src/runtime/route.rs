//! Which agents a task would be given to, were a run to begin now.

use crate::domain::policy::{Decompose, RouteHistory};
use crate::domain::{Task, TaskId};
pub use crate::orchestrator::parts::Told;
use crate::orchestrator::parts::told;
pub use crate::orchestrator::router::{Route, route};
pub use crate::orchestrator::size::{Sized, size};
pub use crate::orchestrator::track_record::TrackRecord;
use crate::services::{Journal, JournalError, Settings};
use std::collections::BTreeMap;

/// How a project's agents did in the earlier runs of this journal; nothing is read where the settings do not ask for it.
///
/// # Errors
/// [`JournalError`] if a journal cannot be read.
pub async fn track_record(
    settings: &dyn Settings,
    journal: &dyn Journal,
    tasks: &[Task],
) -> Result<TrackRecord, JournalError> {
    if settings.agents().history == RouteHistory::Off {
        return Ok(TrackRecord::default());
    }
    TrackRecord::read(journal, None, settings.agents(), tasks).await
}

/// What was proposed as the parts of which task; nothing is read where the settings ask nobody for them.
///
/// # Errors
/// [`JournalError`] if a journal cannot be read.
pub async fn proposed(settings: &dyn Settings, journal: &dyn Journal) -> Result<BTreeMap<TaskId, Told>, JournalError> {
    if settings.run().decompose != Decompose::Asked {
        return Ok(BTreeMap::new());
    }
    told(journal).await
}
