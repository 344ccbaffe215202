//! What the checks said of a tree, kept for the later turns and attempts of a task.

use crate::domain::CheckReport;
use crate::domain::TreeId;
use std::sync::Mutex;
use std::sync::PoisonError;

/// How checks ended on which tree.
///
/// Where an agent adds a test to work that was confirmed, the work without that test is a tree that was seen; so are the new tests alone where
/// only the code is another one. All of it is of one task in one run: the environment is the same, and so is the base.
#[derive(Debug, Default)]
pub(in crate::orchestrator) struct Seen(Mutex<Vec<(TreeId, CheckReport)>>);

impl Seen {
    /// How this check ended on a tree.
    pub(super) fn of(&self, tree: &TreeId, check: &CheckReport) -> Option<CheckReport> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |(of, report): &&(TreeId, CheckReport)| {
            of == tree && report.scope == check.scope && report.spec == check.spec
        };
        seen.iter().find(is_it).map(|(_, report)| report.clone())
    }

    /// Keeps it, unless it says more of the machine than of the files.
    pub(super) fn keep(&self, tree: &TreeId, report: &CheckReport) {
        if report.timed_out || report.exit_status.is_none() || !report.changed_outside.is_empty() {
            return;
        }
        if self.of(tree, report).is_none() {
            let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push((tree.clone(), report.clone()));
        }
    }
}
