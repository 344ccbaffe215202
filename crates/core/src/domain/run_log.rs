//! A run's journal, read back.

use super::{JournalEntry, LineProblem, RunId, Timestamp};

/// What a run wrote down, as far as it can be read.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLog {
    /// The run.
    pub run: RunId,
    /// Its entries, in the order in which they were written.
    pub entries: Vec<LoggedEntry>,
    /// Lines that could not be read; the first hundred.
    pub problems: Vec<LineProblem>,
    /// How many lines could not be read.
    pub unreadable: usize,
    /// When a process of the run was last known to live, where that is later than its last entry or not known to be earlier.
    pub alive: Option<Timestamp>,
    /// The last line has no end and cannot be read: it was being written when the machine or the process went away.
    pub torn: bool,
}

/// An entry and when it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedEntry {
    /// When.
    pub at: Timestamp,
    /// What.
    pub entry: JournalEntry,
}

/// A night that waits for its window, and has not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Its process.
    pub pid: u32,
    /// When the window opens.
    pub until: Timestamp,
}

/// Whether a process works on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// One does.
    Alive,
    /// One does, and is stopped (by `SIGSTOP`, or a debugger): it does nothing until somebody lets it go on.
    Stopped {
        /// That process.
        pid: u32,
    },
    /// None does.
    Gone,
    /// None does, and there is a newer run: this one is not gone on with.
    Superseded,
}
