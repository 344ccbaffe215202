//! The journal of whichever run is going on.

use super::attempts::AttemptsFile;
use super::journal::FileJournal;
use super::run_sign::last_alive;
use super::seal::Seals;
use super::state;
use crate::domain::{JournalEntry, RunId, Timestamp, policy};
use crate::services::{Clock, Journal, JournalError};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError};

/// Writes each run's entries into that run's own file: `run_started` or `run_resumed` opens it, what follows goes there.
pub struct RunJournal {
    project: policy::Project,
    seals: Seals,
    clock: Arc<dyn Clock>,
    current: Mutex<Option<(RunId, Arc<FileJournal>)>>,
}

impl RunJournal {
    /// Journals of the runs of a project.
    #[must_use]
    pub fn new(project: policy::Project, seals: Seals, clock: Arc<dyn Clock>) -> Self {
        Self { project, seals, clock, current: Mutex::new(None) }
    }

    fn journal_of(&self, run: &RunId) -> FileJournal {
        let place = state::journal(&self.project.state_dir(), run);
        FileJournal::chained(place, self.seals.clone(), run.clone(), Arc::clone(&self.clock))
    }

    fn journal_for(&self, entry: &JournalEntry) -> Result<Arc<FileJournal>, JournalError> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let JournalEntry::RunStarted { run, .. } | JournalEntry::RunResumed { run, .. } = entry {
            // Before anybody works who could add to it.
            self.seals.begin().map_err(|error| self.unsealed(&error))?;
            *current = Some((run.clone(), Arc::new(self.journal_of(run))));
        }
        current.as_ref().map(|(_, journal)| Arc::clone(journal)).ok_or_else(|| JournalError {
            action: "write",
            path: self.project.state_dir().join("runs").display().to_string(),
            message: "no run has begun".to_owned(),
        })
    }
}

impl RunJournal {
    /// Writes down how the attempts of the run ended. It is made from the journal and can be made anew, so that no run fails by it.
    async fn keep_attempts(&self) {
        let run = self.current.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(run, _)| run.clone());
        let Some(run) = run else { return };
        let file = AttemptsFile::of(&self.project, self.seals.clone());
        let kept = tokio::task::spawn_blocking(move || file.keep(&run)).await;
        let kept = kept.map_err(|error| error.to_string()).and_then(|kept| kept.map_err(|error| error.to_string()));
        if let Err(error) = kept {
            let path = self.project.attempts_file();
            tracing::warn!(path = %path.display(), error, "not written; `reflexion memory rebuild` makes it anew");
        }
    }

    fn unsealed(&self, error: &dyn std::fmt::Display) -> JournalError {
        let path = self.project.user_state().join("records").display().to_string();
        JournalError { action: "note the ends of", path, message: error.to_string() }
    }
}

#[async_trait]
impl Journal for RunJournal {
    async fn record(&self, entry: JournalEntry) -> Result<(), JournalError> {
        let mut ends = matches!(entry, JournalEntry::RunEnded { .. });
        if let JournalEntry::TaskEnded { report: Some(report), .. } = &entry {
            // What its lessons did is known now, and tasks of the same run may learn from it.
            ends = report.reflections_injected > 0;
        }
        self.journal_for(&entry)?.record(entry).await?;
        if ends {
            self.keep_attempts().await;
        }
        Ok(())
    }

    async fn read(&self, run: &RunId) -> Result<Vec<(Timestamp, JournalEntry)>, JournalError> {
        self.journal_of(run).read(run).await
    }

    async fn foreign_changes(&self) -> Result<Vec<String>, JournalError> {
        let run = self.current.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(run, _)| run.clone());
        let (Some(run), seals) = (run, self.seals.clone()) else { return Ok(Vec::new()) };
        let noted = tokio::task::spawn_blocking(move || seals.note(&run)).await;
        noted.map_err(|error| self.unsealed(&error))?.map_err(|error| self.unsealed(&error))
    }

    async fn last_alive(&self, run: &RunId) -> Option<Timestamp> {
        last_alive(&self.project.state_dir(), run)
    }

    async fn runs(&self) -> Result<Vec<RunId>, JournalError> {
        let state_dir = self.project.state_dir();
        let mut runs = state::with_journal(&state_dir).map_err(|error| {
            let path = state_dir.join("runs").display().to_string();
            JournalError { action: "look for", path, message: error.to_string() }
        })?;
        runs.reverse();
        Ok(runs)
    }
}
