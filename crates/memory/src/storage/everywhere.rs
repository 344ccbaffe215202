//! Lessons that a person lets all of their projects see, in a file in their own state directory, outside of every project.

use super::append_log::{AppendLog, LogError, Sealing};
use super::lines::{bare, for_each_line};
use super::record::{Decoded, decode};
use super::seal::{LineKind, Seals};
use crate::domain::{Reflection, ReflectionId, SharedLesson, Timestamp, policy};
use crate::files::Place;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

/// The newest version of a line that is read.
const VERSION: u32 = 1;
/// Beside the key.
const FILE: &str = "lessons.jsonl";

/// The file, as one project reads and writes it. A line without a digest made with the user's own key for this file is nothing, whoever wrote it; nothing is
/// ever adopted here.
#[derive(Debug, Clone)]
pub(super) struct Everywhere {
    log: AppendLog,
    seals: Seals,
    /// The reflections of the project.
    memory: Place,
    project: String,
}

#[derive(Serialize, Deserialize)]
struct Line {
    v: u32,
    at: Timestamp,
    #[serde(flatten)]
    what: What,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum What {
    /// Other projects may see it.
    Promoted { project: String, reflection: Box<Reflection> },
    /// None may any more.
    Retired { lesson: ReflectionId },
}

impl Everywhere {
    pub(super) fn of(project: &policy::Project, seals: Seals) -> Self {
        let place = Place::new(project.user_state(), FILE);
        Self {
            log: AppendLog::sealed(place, Sealing::Each(seals.clone(), LineKind::Everywhere)),
            seals,
            memory: Place::with_names(&project.memory_file(), 2),
            project: project.name.clone(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.log.path()
    }

    /// What other projects may see now, in the order in which that was said last.
    pub(super) fn read(&self) -> io::Result<Vec<SharedLesson>> {
        let mut lessons: Vec<SharedLesson> = Vec::new();
        let mut taken_back: BTreeMap<ReflectionId, Timestamp> = BTreeMap::new();
        let Some(file) = open(self.log.place())? else { return Ok(lessons) };
        let belief = self.seals.belief()?;
        for_each_line(file, |line| {
            let ours = line.content.filter(|line| belief.is_ours(LineKind::Everywhere, line));
            match ours.and_then(|line| serde_json::from_slice::<Line>(bare(line)).ok()).filter(|line| line.v <= VERSION)
            {
                // An older line that somebody has put behind the one that took it back says nothing.
                Some(Line { what: What::Promoted { reflection, .. }, at, .. })
                    if taken_back.get(&reflection.id).is_some_and(|back| at <= *back) => {}
                Some(Line { what: What::Promoted { project, reflection }, .. }) => {
                    lessons.retain(|one| one.lesson.id != reflection.id);
                    lessons.push(SharedLesson { project, lesson: *reflection });
                }
                Some(Line { what: What::Retired { lesson }, at, .. }) => {
                    lessons.retain(|one| one.lesson.id != lesson);
                    taken_back.insert(lesson, at);
                }
                None if line.length == 0 => {}
                None => {
                    let path = self.path().display();
                    tracing::warn!(%path, line = line.number, "a lesson that reflexion did not write there is left out");
                }
            }
            Ok(())
        })?;
        Ok(lessons)
    }

    /// A lesson as this program wrote it in this project for this user; what somebody adopted is none.
    pub(super) fn written_here(&self, lesson: &ReflectionId) -> io::Result<Option<Reflection>> {
        let Some(file) = open(&self.memory)? else { return Ok(None) };
        let (belief, mut found) = (self.seals.belief()?, None);
        for_each_line(file, |line| {
            if found.is_none()
                && line.content.is_some_and(|line| belief.is_ours(LineKind::Reflection, line))
                && let Decoded::Record(one) = decode(line.content)
                && one.id == *lesson
            {
                found = Some(*one);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Says that other projects may see a lesson; durable on return. What was tried in this project and which files it has says nothing there.
    pub(super) async fn share(&self, lesson: Reflection, at: Timestamp) -> Result<(), LogError> {
        let reflection = Reflection { already_tried: None, files: Vec::new(), replaces: None, ..lesson };
        let project = self.project.clone();
        self.append(&Line { v: VERSION, at, what: What::Promoted { project, reflection: Box::new(reflection) } }).await
    }

    /// Says that none may any more; durable on return.
    pub(super) async fn unshare(&self, lesson: ReflectionId, at: Timestamp) -> Result<(), LogError> {
        self.append(&Line { v: VERSION, at, what: What::Retired { lesson } }).await
    }

    async fn append(&self, line: &Line) -> Result<(), LogError> {
        let mut bytes = serde_json::to_vec(line).map_err(|error| LogError {
            action: "append to",
            path: self.path().to_owned(),
            message: error.to_string(),
        })?;
        bytes.push(b'\n');
        self.log.append(&bytes).await
    }
}

/// A file; none where there is none, nor a directory for it.
fn open(place: &Place) -> io::Result<Option<File>> {
    match place.open_file() {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        other => other.map(Some),
    }
}
