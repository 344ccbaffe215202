//! A run's journal.

use super::append_log::{AppendLog, Sealing};
use super::past::{foreign_lines, read_journal};
use super::seal::{Chain, Seals};
use crate::domain::{JournalEntry, RunId, Timestamp};
use crate::files::Place;
use crate::redaction::Redactor;
use crate::services::{Clock, Journal, JournalError};
use async_trait::async_trait;
use serde::Serialize;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io};

/// Writes `journal.jsonl` in a run's directory: `{"v":1,"at":…,"type":…}`, one line per entry, in the order of time.
///
/// Use one value per run and share it; entries that wait at the same time share one sync.
pub struct FileJournal {
    log: AppendLog,
    clock: Arc<dyn Clock>,
}

impl FileJournal {
    /// Names the file in `run_dir` (`.reflection/runs/<run>`); it is created, with its directories, by the first entry.
    /// Neither the file nor `run_dir` may be a link; what is above them may.
    pub fn create(run_dir: impl AsRef<Path>, clock: Arc<dyn Clock>) -> Self {
        Self::at(Place::with_names(&run_dir.as_ref().join("journal.jsonl"), 2), clock)
    }

    pub(super) fn at(place: Place, clock: Arc<dyn Clock>) -> Self {
        Self { log: AppendLog::new(place), clock }
    }

    /// One whose lines are chained: what somebody else wrote is left out when it is read.
    pub(super) fn chained(place: Place, seals: Seals, run: RunId, clock: Arc<dyn Clock>) -> Self {
        Self { log: AppendLog::sealed(place, Sealing::Chain(seals, run)), clock }
    }

    fn chain(&self) -> io::Result<Chain> {
        match self.log.sealing() {
            Sealing::Chain(seals, run) => seals.chain(run),
            Sealing::None | Sealing::Each(..) => Ok(Chain::of_all()),
        }
    }

    /// How often this value has synced its file; with many writers far less often than once an entry.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.log.syncs()
    }

    fn unreadable(&self, message: &dyn fmt::Display) -> JournalError {
        JournalError { action: "read", ..self.error(message) }
    }

    fn error(&self, message: &dyn fmt::Display) -> JournalError {
        JournalError { action: "write", path: self.log.path().display().to_string(), message: message.to_string() }
    }
}

impl fmt::Debug for FileJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FileJournal").field(&self.log.path()).finish()
    }
}

/// An entry in its envelope.
#[derive(Serialize)]
struct Line<'e> {
    v: u32,
    at: Timestamp,
    #[serde(flatten)]
    entry: &'e JournalEntry,
}

#[async_trait]
impl Journal for FileJournal {
    async fn record(&self, entry: JournalEntry) -> Result<(), JournalError> {
        let mut line = Vec::with_capacity(512);
        if let JournalEntry::RunStarted { plan, .. } = &entry {
            // A variable may have the same value (`CACHE_KEY`); nobody could go on with the run.
            Redactor::let_stand(plan.base.as_deref());
        }
        let envelope = Line { v: 1, at: self.clock.now(), entry: &entry };
        jsonl::write(&mut line, &envelope).map_err(|e| self.error(&e))?;
        self.log.append(&line).await.map_err(|e| self.error(&e.message))
    }

    async fn read(&self, _run: &RunId) -> Result<Vec<(Timestamp, JournalEntry)>, JournalError> {
        let place = self.log.place().clone();
        if place.look().map_err(|e| self.unreadable(&e))?.is_none() {
            return Err(self.unreadable(&"there is no such file"));
        }
        let mut chain = self.chain().map_err(|e| self.unreadable(&e))?;
        let read = tokio::task::spawn_blocking(move || read_journal(&place, &mut chain)).await;
        let read = read.map_err(|e| self.unreadable(&e))?;
        let read = read.map_err(|e| self.unreadable(&e))?;
        // Of an older version, or another machine, all of it is foreign, and no news at each run.
        let foreign = foreign_lines(self.log.place(), read.foreign).filter(|_| !read.found.is_empty());
        for problem in read.problems.into_iter().chain(foreign) {
            tracing::warn!("left out of the journal: {problem}");
        }
        Ok(read.found)
    }

    async fn foreign_changes(&self) -> Result<Vec<String>, JournalError> {
        // Nothing is noted of a file without a key.
        Ok(Vec::new())
    }

    async fn runs(&self) -> Result<Vec<RunId>, JournalError> {
        // The directory's name is the run's; any other directory holds none.
        let dir = self.log.path().parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let there = self.log.place().look().map_err(|e| self.unreadable(&e))?.is_some();
        Ok(dir.and_then(|name| RunId::new(name).ok()).filter(|_| there).into_iter().collect())
    }
}

/// Keeps a journal in memory, for tests to read; clones share it.
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal {
    entries: Arc<Mutex<Vec<JournalEntry>>>,
}

impl MemoryJournal {
    /// What was recorded so far, in order.
    #[must_use]
    pub fn entries(&self) -> Vec<JournalEntry> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn record(&self, entry: JournalEntry) -> Result<(), JournalError> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        Ok(())
    }

    async fn read(&self, _run: &RunId) -> Result<Vec<(Timestamp, JournalEntry)>, JournalError> {
        // It has no clock; nothing that is told apart by time is kept in memory.
        Ok(self.entries().into_iter().map(|entry| (Timestamp::UNIX_EPOCH, entry)).collect())
    }

    async fn foreign_changes(&self) -> Result<Vec<String>, JournalError> {
        Ok(Vec::new())
    }

    async fn runs(&self) -> Result<Vec<RunId>, JournalError> {
        let entries = self.entries();
        let run = |entry: &JournalEntry| {
            if let JournalEntry::RunStarted { run, .. } = entry { Some(run.clone()) } else { None }
        };
        Ok(entries.iter().rev().filter_map(run).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{LessonsOver, RunPlan};
    use crate::services::MockClock;

    #[tokio::test]
    async fn an_entry_is_a_line_in_an_envelope() {
        let dir = tempfile::tempdir().unwrap();
        let run_dir = dir.path().join(".reflection/runs/r1");
        let mut clock = MockClock::new();
        clock.expect_now().returning(|| "2026-05-05T00:00:00Z".parse().unwrap());
        let journal = FileJournal::create(&run_dir, Arc::new(clock));
        let run = RunId::new("r1").unwrap();
        let entries = [
            JournalEntry::RunStarted { run, pid: 7, boot: None, tasks: Vec::new(), plan: RunPlan::default() },
            JournalEntry::RunEnded {
                interrupted: false,
                stopped: None,
                ahead: Vec::new(),
                conflicts: Vec::new(),
                lessons: LessonsOver::default(),
            },
        ];
        for entry in entries {
            journal.record(entry).await.unwrap();
        }
        let text = std::fs::read_to_string(run_dir.join("journal.jsonl")).unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"v":1,"at":"2026-05-05T00:00:00Z","type":"run_started","run":"r1","pid":7,"tasks":[],"#,
                r#""plan":{"kind":"run","jobs":0,"base":null,"agent":null,"maxAttempts":null,"again":"no","everything":false,"until":null}}"#,
                "\n",
                r#"{"v":1,"at":"2026-05-05T00:00:00Z","type":"run_ended","interrupted":false}"#,
                "\n"
            )
        );
    }

    #[tokio::test]
    async fn a_journal_that_cannot_be_written_names_its_path() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let journal = FileJournal::create(file.path(), Arc::new(clock()));
        let error = journal
            .record(JournalEntry::RunEnded {
                interrupted: true,
                stopped: None,
                ahead: Vec::new(),
                conflicts: Vec::new(),
                lessons: LessonsOver::default(),
            })
            .await
            .unwrap_err();
        assert!(error.path.ends_with("journal.jsonl"), "{error:?}");
    }

    fn clock() -> MockClock {
        let mut clock = MockClock::new();
        clock.expect_now().returning(Timestamp::default);
        clock
    }
}
