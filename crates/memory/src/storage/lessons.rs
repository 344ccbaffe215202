//! What became of lessons: `memory/lessons.jsonl`, and the record of attempts beside it.

use super::append_log::{AppendLog, Sealing};
use super::attempts::AttemptsFile;
use super::lines::{bare, for_each_line};
use super::past::foreign_lines;
use super::seal::{LineKind, Seals};
use crate::domain::{LessonEvent, policy};
use crate::files::Place;
use crate::services::{LessonRecord, Lessons, StorageError};
use async_trait::async_trait;
use std::fmt::Display;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// The newest version of a line that is read.
const VERSION: u32 = 1;

/// Keeps what happened to lessons in `memory/lessons.jsonl`, one event a line; what this program did not write there is not believed.
#[derive(Debug, Clone)]
pub struct LessonFiles {
    log: AppendLog,
    seals: Seals,
    attempts: AttemptsFile,
}

impl LessonFiles {
    /// Those of a project; nothing is read or created yet. Neither the files nor their directory may be a link.
    #[must_use]
    pub fn of(project: &policy::Project, seals: Seals) -> Self {
        let place = Place::with_names(&project.lessons_file(), 2);
        Self {
            log: AppendLog::sealed(place, Sealing::Each(seals.clone(), LineKind::Lesson)),
            attempts: AttemptsFile::of(project, seals.clone()),
            seals,
        }
    }

    fn read_files(&self) -> io::Result<LessonRecord> {
        let mut record = LessonRecord { events: Vec::new(), attempts: self.attempts.read()?.attempts };
        let place = self.log.place();
        let file = match place.open_file() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(record),
            other => other?,
        };
        let (belief, mut foreign) = (self.seals.belief()?, 0);
        for_each_line(file, |line| {
            let content = line.content.map(bare);
            match content {
                Some([]) => return Ok(()),
                Some(line) if !belief.holds(LineKind::Lesson, line) => {
                    foreign += 1;
                    return Ok(());
                }
                _ => {}
            }
            match content.map(serde_json::from_slice::<LessonEvent>) {
                Some(Ok(event)) if event.v <= VERSION => record.events.push(event),
                _ => tracing::warn!(path = %place.path().display(), line = line.number, "unreadable lesson event"),
            }
            Ok(())
        })?;
        if let Some(problem) = foreign_lines(place, foreign) {
            tracing::warn!("{problem}");
        }
        Ok(record)
    }

    fn error(&self, action: &'static str, message: &dyn Display) -> StorageError {
        StorageError::Io { action, path: self.log.path().to_owned(), message: message.to_string() }
    }
}

#[async_trait]
impl Lessons for LessonFiles {
    async fn read(&self) -> Result<LessonRecord, StorageError> {
        let this = self.clone();
        let read = tokio::task::spawn_blocking(move || this.read_files()).await;
        read.unwrap_or_else(|lost| Err(io::Error::other(lost))).map_err(|error| self.error("read", &error))
    }

    async fn append(&self, events: &[LessonEvent]) -> Result<(), StorageError> {
        let mut lines = Vec::with_capacity(events.len() * 160);
        for event in events {
            serde_json::to_writer(&mut lines, event).map_err(|error| self.error("append to", &error))?;
            lines.push(b'\n');
        }
        self.log.append(&lines).await.map_err(|error| self.error(error.action, &error.message))
    }
}

/// Keeps what happened to lessons in memory; clones share it.
#[derive(Debug, Clone, Default)]
pub struct InMemoryLessons(Arc<Mutex<LessonRecord>>);

impl InMemoryLessons {
    /// As after these attempts and events.
    #[must_use]
    pub fn of(record: LessonRecord) -> Self {
        Self(Arc::new(Mutex::new(record)))
    }
}

#[async_trait]
impl Lessons for InMemoryLessons {
    async fn read(&self) -> Result<LessonRecord, StorageError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    async fn append(&self, events: &[LessonEvent]) -> Result<(), StorageError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).events.extend_from_slice(events);
        Ok(())
    }
}
