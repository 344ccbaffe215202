//! A task of a run that is over.

use crate::domain::{Status, TaskReport};

/// A task of this run that is over.
pub(super) struct Ended {
    pub report: TaskReport,
    pub status: Status,
    /// What stood in its way likely stands in the way of every task.
    pub of_all: bool,
}

impl Ended {
    pub fn new(report: TaskReport, status: Status) -> Self {
        Self { report, status, of_all: false }
    }
}
