//! What the checks said of a tree, kept for the later turns and attempts of a task.

use crate::domain::{CheckReport, TreeId};
use std::sync::{Mutex, PoisonError};

/// How checks ended on which tree.
///
/// Where an agent adds a test to work that was confirmed, the work without that test is a tree that was seen; so are the new tests alone where
/// only the code is another one. All of it is of one task in one run: the environment is the same, and so is the base.
#[derive(Debug, Default)]
pub(in crate::orchestrator) struct Seen {
    reports: Mutex<Vec<(TreeId, Within, CheckReport)>>,
    /// Whether the checks pass within the walls.
    walls: Mutex<Walls>,
}

impl Seen {
    /// How this check ended on a tree.
    pub(super) fn of(&self, tree: &TreeId, place: Within, check: &CheckReport) -> Option<CheckReport> {
        let seen = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |(of, within, report): &&(TreeId, Within, CheckReport)| {
            of == tree && *within == place && report.scope == check.scope && report.spec == check.spec
        };
        seen.iter().find(is_it).map(|(.., report)| report.clone())
    }

    /// Keeps it, unless it says more of the machine than of the files.
    pub(super) fn keep(&self, tree: &TreeId, place: Within, report: &CheckReport) {
        if report.timed_out || report.exit_status.is_none() || !report.changed_outside.is_empty() {
            return;
        }
        if self.of(tree, place, report).is_none() {
            let mut seen = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push((tree.clone(), place, report.clone()));
        }
    }

    /// Whether the checks pass within the walls, as far as that is known.
    pub(super) fn walls(&self) -> Walls {
        self.walls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// That they do not: other work of the task would only find it out again.
    pub(super) fn keep_walls(&self, walls: &Walls) {
        self.walls.lock().unwrap_or_else(PoisonError::into_inner).clone_from(walls);
    }
}

/// Whether the checks do their work also where they may write to nothing but their room: then only can they be run on what nobody wrote.
#[derive(Debug, Clone, Default)]
pub(super) enum Walls {
    #[default]
    Unknown,
    Pass,
    /// And why not.
    Fail(String),
}

/// Where the checks of a run on a part are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    /// Like those of the change: somebody wrote what they run.
    Room,
    /// Walled in: nobody did, and it may do anything.
    Walls,
}
