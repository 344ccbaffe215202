//! Runs that end with the process.

use crate::domain::{
    AttemptRecord, ChangeOf, Life, LoggedEntry, Past, PastEntry, RunId, RunLog, SessionId, ShownChange, TaskId,
    TranscriptRecord, Waiting,
};
use crate::services::{RunReader, Runs, RunsError, TranscriptReader};
use std::collections::HashMap;
use std::sync::Arc;

/// Runs in memory, in the order in which they are given; nothing works on them any more.
///
/// Use it in tests, and as the pattern of a store of runs that are kept elsewhere.
///
/// ```
/// # use reflexion_core::domain::{RunId, RunLog};
/// # use reflexion_core::services::Runs;
/// # use reflexion_memory::storage::MemoryRuns;
/// let run = RunId::new("20260101-000000-ab12")?;
/// let log = RunLog { run: run.clone(), entries: vec![], problems: vec![], unreadable: 0, alive: None, torn: false };
/// let runs = MemoryRuns::default().with(log, []);
/// assert_eq!(runs.list()?, [run]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryRuns {
    runs: Vec<Kept>,
    /// Beside the journals.
    more: Past,
    changes: Vec<(ChangeOf, ShownChange)>,
}

#[derive(Debug, Clone)]
struct Kept {
    log: RunLog,
    transcripts: Arc<HashMap<SessionId, Vec<TranscriptRecord>>>,
}

impl MemoryRuns {
    /// Adds a run with the transcripts of its agents; it is the newest now.
    #[must_use]
    pub fn with(
        mut self,
        log: RunLog,
        transcripts: impl IntoIterator<Item = (SessionId, Vec<TranscriptRecord>)>,
    ) -> Self {
        self.runs.push(Kept { log, transcripts: Arc::new(transcripts.into_iter().collect()) });
        self
    }

    /// Adds what stands in no journal: marks on tasks and what agents said of their work. Its `entries` are passed over.
    #[must_use]
    pub fn with_past(self, more: Past) -> Self {
        Self { more, ..self }
    }

    /// Adds what changes are, which no journal holds.
    #[must_use]
    pub fn with_changes(self, changes: Vec<(ChangeOf, ShownChange)>) -> Self {
        Self { changes, ..self }
    }

    fn kept(&self, run: &RunId) -> Option<&Kept> {
        self.runs.iter().find(|kept| kept.log.run == *run)
    }
}

impl Runs for MemoryRuns {
    fn list(&self) -> Result<Vec<RunId>, RunsError> {
        Ok(self.runs.iter().map(|kept| kept.log.run.clone()).collect())
    }

    fn open(&self, run: &RunId) -> Box<dyn RunReader> {
        Box::new(Reader { run: run.clone(), whole: self.kept(run).cloned(), log: nothing_of(run) })
    }

    fn life(&self, run: &RunId) -> Result<Life, RunsError> {
        let is_last = self.runs.last().is_some_and(|kept| kept.log.run == *run);
        Ok(if is_last { Life::Gone } else { Life::Superseded })
    }

    fn waiting(&self) -> Option<Waiting> {
        None
    }

    fn left_running(&self) -> Vec<u32> {
        Vec::new()
    }

    fn kept(&self, _: &RunId) -> Vec<(TaskId, String)> {
        Vec::new()
    }

    fn changes(&self, of: &[ChangeOf]) -> Vec<Option<ShownChange>> {
        let known = |of: &ChangeOf| self.changes.iter().find(|(known, _)| known == of).map(|(_, shown)| shown.clone());
        of.iter().map(known).collect()
    }

    fn attempts(&self) -> Result<Vec<AttemptRecord>, RunsError> {
        let of = |log: &RunLog| AttemptRecord::of_run(&log.run, log.entries.iter().map(|one| (one.at, &one.entry)));
        Ok(self.runs.iter().flat_map(|kept| of(&kept.log)).collect())
    }

    fn past(&self) -> Result<Past, RunsError> {
        let of = |log: &RunLog| {
            let run = log.run.as_str().to_owned();
            let entry = move |LoggedEntry { at, entry }| PastEntry { run: run.clone(), at, entry };
            log.entries.clone().into_iter().map(entry).collect::<Vec<_>>()
        };
        let mut entries: Vec<PastEntry> = self.runs.iter().flat_map(|kept| of(&kept.log)).collect();
        entries.sort_by_key(|entry| entry.at);
        Ok(Past { entries, ..self.more.clone() })
    }
}

fn nothing_of(run: &RunId) -> RunLog {
    RunLog { run: run.clone(), entries: Vec::new(), problems: Vec::new(), unreadable: 0, alive: None, torn: false }
}

struct Reader {
    run: RunId,
    /// What is not read yet.
    whole: Option<Kept>,
    log: RunLog,
}

impl RunReader for Reader {
    fn read_on(&mut self) -> Result<bool, RunsError> {
        let Some(kept) = &self.whole else {
            return Err(RunsError(format!("there is no run `{}`", self.run)));
        };
        let is_new = self.log != kept.log;
        self.log.clone_from(&kept.log);
        Ok(is_new)
    }

    fn log(&self) -> &RunLog {
        &self.log
    }

    fn transcript(&self, session: &SessionId) -> Box<dyn TranscriptReader> {
        let records = self.whole.as_ref().and_then(|kept| kept.transcripts.get(session).cloned());
        Box::new(Steps(records.unwrap_or_default()))
    }
}

/// What is not shown yet.
struct Steps(Vec<TranscriptRecord>);

impl TranscriptReader for Steps {
    fn read_on(&mut self, take: &mut dyn FnMut(TranscriptRecord)) -> Result<bool, RunsError> {
        let records = std::mem::take(&mut self.0);
        let is_new = !records.is_empty();
        records.into_iter().for_each(take);
        Ok(is_new)
    }
}
