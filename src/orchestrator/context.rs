//! What the tasks of one run share.

use super::healer::Heals;
use super::limits::Limits;
use super::newest::NewestAttempts;
use super::ports::Services;
use super::queue::Adopt;
use super::spent::RunSpent;
use super::track_record::TrackRecord;
use crate::domain::{
    Again, CheckReport, CheckSpec, FileGlobs, Proposal, RunId, RunKind, RunStop, TaskId, TaskList, TreeId,
};
use crate::effect::Probabilities;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What the tasks of one run share.
pub(super) struct RunContext {
    pub services: Services,
    pub run: RunId,
    pub cancel: CancellationToken,
    /// Nothing new begins.
    pub drain: CancellationToken,
    /// Why it was cancelled, if no person did it.
    pub stopped: OnceLock<RunStop>,
    /// Why it cannot go on, if it cannot.
    pub halted: OnceLock<String>,
    /// [`Tasks::edits`](crate::services::Tasks::edits) before they were read first.
    pub edits: u64,
    /// The tasks as they were read last.
    pub list: Mutex<Arc<TaskList>>,
    pub kind: RunKind,
    pub again: Again,
    pub agent: Option<String>,
    pub max_attempts: Option<u32>,
    /// How agents did in earlier runs, where that counts.
    pub track_record: TrackRecord,
    /// The parts that were proposed for tasks.
    pub proposals: Mutex<Proposals>,
    /// Which run's branch holds a blocker's confirmed work; grows as tasks of this run are confirmed.
    pub confirmed_by: Mutex<BTreeMap<TaskId, RunId>>,
    /// Whether tasks that are added meanwhile belong to the run.
    pub adopt: Adopt,
    /// What the project itself calls tests.
    pub tests: FileGlobs,
    /// Confirmed tasks of this run whose work only a person merges.
    pub left_to_person: Mutex<BTreeSet<TaskId>>,
    /// Project checks at a base tree, and at what was merged: many tasks share one, so it is measured once.
    pub baselines: Mutex<HashMap<(TreeId, CheckSpec), CheckReport>>,
    /// When this process began with it.
    pub started: Duration,
    /// What it has used.
    pub spent: RunSpent,
    /// Limits that agents' services have reached.
    pub limits: Limits,
    /// Repairs of workspaces.
    pub heals: Mutex<Heals>,
    /// The attempts that its tasks began last.
    pub newest: Mutex<NewestAttempts>,
    /// One task at a time is put onto the integration branch.
    pub merging: tokio::sync::Mutex<()>,
    /// Reflections that the heuristic wrote in another generator's place.
    pub fallbacks: AtomicU32,
    /// Lessons that have ended because of their age.
    pub expired: AtomicU32,
    /// Lessons that are about nothing any more since this run began.
    pub stale: AtomicU32,
    /// The names of the files that it begins with, once they are known.
    pub file_names: OnceLock<BTreeSet<String>>,
    /// How probable lessons are in a prompt, once that is known.
    pub probabilities: tokio::sync::OnceCell<Probabilities>,
}

/// What was proposed for which task, and stands.
pub(super) type Proposals = BTreeMap<TaskId, Proposal>;

impl RunContext {
    /// The tasks as they were read last.
    pub fn list(&self) -> Arc<TaskList> {
        Arc::clone(&self.list.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether nothing new may begin; why is said where the run is asked about it.
    pub fn drains(&self) -> bool {
        let drains = self.drain.is_cancelled();
        if drains {
            let _ = self.stopped.set(RunStop::Drained);
        }
        drains
    }

    /// They were read again.
    pub fn set_list(&self, list: TaskList) {
        *self.list.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(list);
    }
}
