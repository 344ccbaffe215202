//! The journal of whichever run is going on.

use super::journal::FileJournal;
use crate::domain::JournalEntry;
use crate::domain::RunId;
use crate::domain::Timestamp;
use crate::domain::policy;
use crate::services::Clock;
use crate::services::Journal;
use crate::services::JournalError;
use async_trait::async_trait;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

/// Writes each run's entries into that run's own file: `run_started` or `run_resumed` opens it, what follows goes there.
pub struct RunJournal {
    project: policy::Project,
    clock: Arc<dyn Clock>,
    current: Mutex<Option<Arc<FileJournal>>>,
}

impl RunJournal {
    /// Journals of the runs of a project.
    #[must_use]
    pub fn new(project: policy::Project, clock: Arc<dyn Clock>) -> Self {
        Self { project, clock, current: Mutex::new(None) }
    }

    fn journal_of(&self, run: &RunId) -> FileJournal {
        FileJournal::create(self.project.run_dir(run), Arc::clone(&self.clock))
    }

    fn journal_for(&self, entry: &JournalEntry) -> Result<Arc<FileJournal>, JournalError> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let JournalEntry::RunStarted { run, .. } | JournalEntry::RunResumed { run, .. } = entry {
            *current = Some(Arc::new(self.journal_of(run)));
        }
        current.clone().ok_or_else(|| JournalError {
            action: "write",
            path: self.project.state_dir().join("runs").display().to_string(),
            message: "no run has begun".to_owned(),
        })
    }
}

#[async_trait]
impl Journal for RunJournal {
    async fn record(&self, entry: JournalEntry) -> Result<(), JournalError> {
        self.journal_for(&entry)?.record(entry).await
    }

    async fn read(&self, run: &RunId) -> Result<Vec<(Timestamp, JournalEntry)>, JournalError> {
        self.journal_of(run).read(run).await
    }

    async fn runs(&self) -> Result<Vec<RunId>, JournalError> {
        let dir = self.project.state_dir().join("runs");
        let entries = match std::fs::read_dir(&dir) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                let path = dir.display().to_string();
                return Err(JournalError { action: "look for", path, message: error.to_string() });
            }
            Ok(entries) => entries,
        };
        let run = |entry: std::fs::DirEntry| {
            entry.path().join("journal.jsonl").exists().then(|| entry.file_name().to_string_lossy().into_owned())
        };
        // Ids begin with the time.
        let mut runs: Vec<String> = entries.flatten().filter_map(run).collect();
        runs.sort_unstable_by(|a, b| b.cmp(a));
        Ok(runs.into_iter().filter_map(|run| RunId::new(run).ok()).collect())
    }
}
