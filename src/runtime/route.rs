//! Which agents a task would be given to, were a run to begin now.

use super::run_id::system_clock;
use crate::domain::policy::{Decompose, RouteHistory};
use crate::domain::{Task, TaskId};
pub use crate::orchestrator::parts::Told;
use crate::orchestrator::parts::told;
pub use crate::orchestrator::router::{Route, route};
pub use crate::orchestrator::size::{Sized, size};
pub use crate::orchestrator::track_record::TrackRecord;
use crate::services::{JournalError, Settings};
use crate::storage::{RunJournal, Seals};
use std::collections::BTreeMap;

/// How a project's agents did in its earlier runs; nothing is read where the settings do not ask for it.
///
/// # Errors
/// [`JournalError`] if a journal cannot be read.
pub async fn track_record(settings: &dyn Settings, tasks: &[Task]) -> Result<TrackRecord, JournalError> {
    if settings.agents().history == RouteHistory::Off {
        return Ok(TrackRecord::default());
    }
    let journal = journal(settings);
    TrackRecord::read(&journal, None, settings.agents(), tasks).await
}

/// What was proposed as the parts of which task; nothing is read where the settings ask nobody for them.
///
/// # Errors
/// [`JournalError`] if a journal cannot be read.
pub async fn proposed(settings: &dyn Settings) -> Result<BTreeMap<TaskId, Told>, JournalError> {
    if settings.run().decompose != Decompose::Asked {
        return Ok(BTreeMap::new());
    }
    told(&journal(settings)).await
}

fn journal(settings: &dyn Settings) -> RunJournal {
    RunJournal::new(settings.project().clone(), Seals::of(settings.project()), system_clock())
}
