//! What a project's runs left behind, as far as one can learn from it afterwards.

use super::JournalEntry;
use super::TaskMark;
use super::Timestamp;
use serde::Deserialize;

/// What a project's runs left behind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Past {
    /// The journals of all runs, the oldest entry first.
    pub entries: Vec<PastEntry>,
    /// The marks on tasks, the oldest first.
    pub marks: Vec<TaskMark>,
    /// How sure agents said they were.
    pub reports: Vec<ReportedConfidence>,
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

/// How sure an agent said it was when it stopped: what of a `reflection.v1` record is compared with the verdict.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ReportedConfidence {
    /// The task, for records of a run.
    pub task_ref: String,
    /// When the record was made.
    pub timestamp: Timestamp,
    /// 0 to 1; none if the agent did not say.
    pub confidence: Option<f64>,
    /// What it belongs to.
    pub provenance: ReportedProvenance,
}

/// The attempt that a record belongs to.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct ReportedProvenance {
    /// The run; none of a person's own session.
    #[serde(default)]
    pub run: Option<String>,
    /// The attempt, from 1.
    #[serde(default)]
    pub attempt: Option<u32>,
    /// It is the attempt's newest record.
    #[serde(default, rename = "final")]
    pub is_final: Option<bool>,
}
