//! What a project's runs left behind, as far as one can learn from it afterwards.

use super::{Capture, JournalEntry, TaskMark, Timestamp};

/// What a project's runs left behind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Past {
    /// The journals of all runs, the oldest entry first.
    pub entries: Vec<PastEntry>,
    /// The marks on tasks, the oldest first.
    pub marks: Vec<TaskMark>,
    /// What agents said of their work when they stopped.
    pub reports: Vec<Capture>,
    /// What could not be read, with file and line.
    pub problems: Vec<String>,
}

/// An entry of a run's journal.
#[derive(Debug, Clone, PartialEq)]
pub struct PastEntry {
    /// The run.
    pub run: String,
    /// When it was written.
    pub at: Timestamp,
    /// What was written.
    pub entry: JournalEntry,
}
