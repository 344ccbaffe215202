//! What became of lessons: `memory/lessons.jsonl`, and the record of attempts beside it.

use super::append_log::{AppendLog, LogError, Sealing};
use super::attempts::{AttemptsFile, take};
use super::everywhere::Everywhere;
use super::lines::{bare, for_each_line};
use super::past::foreign_lines;
use super::seal::{LineKind, Seals};
use crate::domain::{AttemptRecord, LessonEvent, ReflectionId, SharedLesson, Timestamp, policy};
use crate::files::Place;
use crate::services::{LessonRecord, Lessons, StorageError};
use async_trait::async_trait;
use std::collections::{BTreeSet, HashMap};
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
    everywhere: Everywhere,
    /// Every event that was read so far: who takes a line out brings no lesson back while the process lives.
    known: Arc<Mutex<BTreeSet<LessonEvent>>>,
}

impl LessonFiles {
    /// Those of a project; nothing is read or created yet. Neither the files nor their directory may be a link.
    #[must_use]
    pub fn of(project: &policy::Project, seals: Seals) -> Self {
        let place = Place::with_names(&project.lessons_file(), 2);
        Self {
            log: AppendLog::sealed(place, Sealing::Each(seals.clone(), LineKind::Lesson)),
            attempts: AttemptsFile::of(project, seals.clone()),
            everywhere: Everywhere::of(project, seals.clone()),
            seals,
            known: Arc::default(),
        }
    }

    fn read_files(&self) -> LessonRecord {
        let (mut events, unread) = match self.read_events() {
            Ok(events) => (events, None),
            Err(error) => (Vec::new(), Some(self.error("read", &error))),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let there: BTreeSet<LessonEvent> = events.iter().cloned().collect();
        // A line that vanished from the file between two processes.
        let (away, unnoted) = match self.seals.away() {
            Ok(away) => (away, None),
            Err(error) => (BTreeSet::new(), Some(self.error("read what was noted of", &error))),
        };
        known.extend(away);
        events.extend(known.difference(&there).cloned());
        known.extend(there);
        let attempts = self.attempts.read();
        let also = attempts.as_ref().err().map(|error| self.attempts.error("read", error));
        let attempts = attempts.map(|kept| kept.attempts).unwrap_or_default();
        LessonRecord { events, attempts, unreadable: unread.or(also).or(unnoted) }
    }

    fn read_events(&self) -> io::Result<Vec<LessonEvent>> {
        let mut events = Vec::new();
        let place = self.log.place();
        let file = match place.open_file() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(events),
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
            let is_ours = content.is_some_and(|line| belief.is_ours(LineKind::Lesson, line));
            match content.map(serde_json::from_slice::<LessonEvent>) {
                // What was adopted may have been written by anybody: it takes lessons out of prompts, and lets none into any.
                Some(Ok(event)) if event.v <= VERSION && !is_ours && !event.change.takes_away() => {}
                Some(Ok(event)) if event.v <= VERSION => events.push(event),
                _ => tracing::warn!(path = %place.path().display(), line = line.number, "unreadable lesson event"),
            }
            Ok(())
        })?;
        if let Some(problem) = foreign_lines(place, foreign) {
            tracing::warn!("{problem}");
        }
        Ok(events)
    }

    /// Notes what takes lessons away, also of what was read and came from elsewhere.
    fn note_away(&self, mut new: BTreeSet<LessonEvent>) -> io::Result<()> {
        new.extend(self.known.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned());
        let noted = self.seals.away()?;
        let all: Vec<LessonEvent> = new.difference(&noted).filter(|event| event.change.is_away()).cloned().collect();
        self.seals.note_away(&all)
    }

    fn error_everywhere(&self, message: &dyn Display) -> StorageError {
        StorageError::Io { action: "read", path: self.everywhere.path().to_owned(), message: message.to_string() }
    }

    /// Reads what needs no runtime.
    async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Everywhere) -> io::Result<T> + Send + 'static,
    ) -> Result<T, StorageError> {
        let everywhere = self.everywhere.clone();
        let found = tokio::task::spawn_blocking(move || look(&everywhere)).await;
        found.unwrap_or_else(|lost| Err(io::Error::other(lost))).map_err(|error| self.error_everywhere(&error))
    }

    fn error(&self, action: &'static str, message: &dyn Display) -> StorageError {
        StorageError::Io { action, path: self.log.path().to_owned(), message: message.to_string() }
    }
}

fn log_error(LogError { action, path, message }: LogError) -> StorageError {
    StorageError::Io { action, path, message }
}

#[async_trait]
impl Lessons for LessonFiles {
    async fn read(&self) -> Result<LessonRecord, StorageError> {
        let this = self.clone();
        tokio::task::spawn_blocking(move || this.read_files()).await.map_err(|lost| self.error("read", &lost))
    }

    async fn append(&self, events: &[LessonEvent]) -> Result<(), StorageError> {
        let this = self.clone();
        let new: BTreeSet<LessonEvent> = events.iter().cloned().collect();
        let noted = tokio::task::spawn_blocking(move || this.note_away(new)).await;
        let noted = noted.unwrap_or_else(|lost| Err(io::Error::other(lost)));
        noted.map_err(|error| self.error("note what is appended to", &error))?;
        let mut lines = Vec::with_capacity(events.len() * 160);
        for event in events {
            serde_json::to_writer(&mut lines, event).map_err(|error| self.error("append to", &error))?;
            lines.push(b'\n');
        }
        self.log.append(&lines).await.map_err(log_error)?;
        self.known.lock().unwrap_or_else(PoisonError::into_inner).extend(events.iter().cloned());
        Ok(())
    }

    async fn add_moment(&self, moment: &AttemptRecord) -> Result<(), StorageError> {
        self.attempts.add(moment).await.map_err(|error| self.attempts.error("append to", &error))
    }

    async fn everywhere(&self) -> Result<Vec<SharedLesson>, StorageError> {
        self.look(Everywhere::read).await
    }

    async fn share(&self, lesson: &ReflectionId, at: Timestamp) -> Result<bool, StorageError> {
        let id = lesson.clone();
        let Some(lesson) = self.look(move |everywhere| everywhere.written_here(&id)).await? else { return Ok(false) };
        let shared = self.everywhere.share(lesson, at).await;
        shared.map(|()| true).map_err(log_error)
    }

    async fn unshare(&self, lesson: &ReflectionId, at: Timestamp) -> Result<bool, StorageError> {
        if !self.everywhere().await?.iter().any(|one| one.lesson.id == *lesson) {
            return Ok(false);
        }
        let unshared = self.everywhere.unshare(lesson.clone(), at).await;
        unshared.map(|()| true).map_err(log_error)
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

    async fn add_moment(&self, moment: &AttemptRecord) -> Result<(), StorageError> {
        let mut record = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut attempts, mut seen) = (Vec::new(), HashMap::new());
        for attempt in record.attempts.drain(..).chain([moment.clone()]) {
            take(&mut attempts, &mut seen, attempt);
        }
        record.attempts = attempts;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::seal::seals_of;
    use super::*;
    use crate::domain::LessonChange;
    use crate::domain::LessonWriter;
    use std::fs;
    use std::path::Path;

    fn files(root: &Path) -> LessonFiles {
        let project = policy::Project {
            name: "p".to_owned(),
            root: root.join("p"),
            settings: "project.json",
            tasks: root.join("p/tasks.jsonl"),
            rooms: root.join("state/rooms"),
        };
        LessonFiles::of(&project, seals_of(root))
    }

    fn retired(lesson: &str) -> LessonEvent {
        let (at, by) = ("2026-05-05T00:00:00Z".parse().unwrap(), LessonWriter::Person);
        let (lesson, change) = (ReflectionId::new(lesson), LessonChange::Retired);
        LessonEvent { at, by, lesson, change, why: "it is wrong".to_owned(), v: 1 }
    }

    #[tokio::test]
    async fn what_was_read_once_stays_known_whatever_becomes_of_the_file() {
        let root = tempfile::tempdir().unwrap();
        let (files, path) = (files(root.path()), root.path().join("p/memory/lessons.jsonl"));
        files.append(&[retired("a"), retired("b")]).await.unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap().len() + 1;
        fs::write(&path, &text[first..]).unwrap();
        assert_eq!(files.read().await.unwrap().events, [retired("b"), retired("a")]);
        fs::remove_file(&path).unwrap();
        assert_eq!(files.clone().read().await.unwrap().events, [retired("a"), retired("b")]);
        let another = LessonFiles { known: Arc::default(), ..files };
        assert_eq!(another.read().await.unwrap().events, [retired("a"), retired("b")], "another process knows it, too");
    }

    #[tokio::test]
    async fn what_was_adopted_takes_lessons_out_of_prompts_and_lets_none_into_any() {
        let root = tempfile::tempdir().unwrap();
        let files = files(root.path());
        let all = [LessonChange::Promoted, LessonChange::Pinned, LessonChange::Kept, LessonChange::Retired];
        let all = all.map(|change| LessonEvent { change, ..retired("a") });
        let text: String = all.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect();
        fs::create_dir_all(root.path().join("p/memory")).unwrap();
        fs::write(root.path().join("p/memory/lessons.jsonl"), text).unwrap();
        files.seals.begin().unwrap();
        assert_eq!(files.read().await.unwrap().events, [retired("a")]);
        files.append(&all[..1]).await.unwrap();
        assert_eq!(files.read().await.unwrap().events, [retired("a"), all[0].clone()], "one's own word counts");
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_said_and_the_rest_is_there() {
        let root = tempfile::tempdir().unwrap();
        let memory = root.path().join("p/memory");
        let lessons = files(root.path());
        lessons.append(&[retired("a")]).await.unwrap();
        fs::create_dir(memory.join("attempts.jsonl")).unwrap();
        let record = files(root.path()).read().await.unwrap();
        let why = record.unreadable.as_ref().unwrap().to_string();
        assert!(why.contains("attempts.jsonl") && record.events == [retired("a")], "{why}");
        assert!(record.whole().is_err());
        fs::remove_file(memory.join("lessons.jsonl")).unwrap();
        fs::create_dir(memory.join("lessons.jsonl")).unwrap();
        let record = files(root.path()).read().await.unwrap();
        assert!(record.unreadable.unwrap().to_string().contains("lessons.jsonl"));
        assert_eq!(lessons.read().await.unwrap().events, [retired("a")], "read before");
    }
}
