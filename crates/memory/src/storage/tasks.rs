//! The task file and its overlay.

use super::append_log::{AppendLog, LogError, Sealing};
use super::overlay::Overlay;
use super::seal::{LineKind, Seals};
use super::task_file::TaskFile;
use crate::domain::{Task, TaskList, TaskMark, policy};
use crate::files::{Place, open_named};
use crate::redaction::Redactor;
use crate::services::{Clock, Tasks, TasksError};
use async_trait::async_trait;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

/// Reads a task file like `tasks.jsonl` and the overlay `.reflection/tasks.jsonl`.
///
/// Runs use it through [`Tasks`], which never writes the task file; [`FileTasks::add`], [`FileTasks::edit`],
/// [`FileTasks::set_status`] and [`FileTasks::sync`] do, for a person.
///
/// `in_progress` in the overlay counts as open, so load tasks to work on them only while you hold the run lock;
/// `in_progress` in the task file is a person's word and stays. A task that a person edits while it is open counts as
/// opened anew. Lines longer than 1 MiB are problems.
///
/// ```
/// # use reflexion_core::services::{Clock, Tasks, TasksError};
/// # use reflexion_memory::storage::FileTasks;
/// # async fn open_titles(clock: std::sync::Arc<dyn Clock>) -> Result<(), TasksError> {
/// let tasks = FileTasks::open("tasks.jsonl", ".reflection/tasks.jsonl", clock);
/// for task in tasks.load().await?.tasks {
///     println!("{} {}: {}", task.id, task.status.as_str(), task.title);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct FileTasks {
    pub(super) task_file: PathBuf,
    overlay: AppendLog,
    pub(super) clock: Arc<dyn Clock>,
}

impl FileTasks {
    /// Names both files; nothing is read or created yet. The clock dates a person's edits. The task file may be reached
    /// through links, and stays one if it is one; of the overlay neither the file nor its directory may be one.
    pub fn open(task_file: impl Into<PathBuf>, overlay_file: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        let overlay = AppendLog::new(Place::with_names(&overlay_file.into(), 2));
        Self { task_file: task_file.into(), overlay, clock }
    }

    /// Those of a project, whose marks show who made them: what somebody else added to the overlay is not believed.
    pub fn of(project: &policy::Project, seals: Seals, clock: Arc<dyn Clock>) -> Self {
        let overlay = Place::with_names(&project.state_dir().join("tasks.jsonl"), 2);
        let overlay = AppendLog::sealed(overlay, Sealing::Each(seals, LineKind::Mark));
        Self { task_file: project.tasks.clone(), overlay, clock }
    }

    /// Runs `work` where it may block.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, TasksError> + Send + 'static,
    ) -> Result<T, TasksError> {
        let this = self.clone();
        tokio::task::spawn_blocking(move || work(&this))
            .await
            .unwrap_or_else(|e| Err(io_error("read", &self.task_file)(io::Error::other(e))))
    }

    pub(super) fn read_overlay(&self) -> Result<Overlay, TasksError> {
        let belief = match self.overlay.sealing() {
            Sealing::Each(seals, _) => seals.belief(),
            Sealing::None | Sealing::Chain(..) => Ok(Arc::default()),
        };
        let overlay = belief.and_then(|belief| Overlay::read(self.overlay.place(), &belief));
        overlay.map_err(io_error("read", self.overlay.path()))
    }

    /// As [`Tasks::load`], at once.
    ///
    /// # Errors
    /// If a file is there and cannot be read.
    pub fn read(&self) -> Result<TaskList, TasksError> {
        let file = match open_named(&self.task_file) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(TaskFile::default()),
            Err(e) => Err(e),
            Ok(file) => TaskFile::read(file),
        };
        let file = file.map_err(io_error("read", &self.task_file))?;
        let overlay = self.read_overlay()?;
        let mut list = overlay.over(file.lines.into_iter().map(|line| line.task));
        list.problems = file.problems;
        Redactor::let_stand(list.tasks.iter().flat_map(names));
        Ok(list)
    }
}

impl fmt::Debug for FileTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileTasks")
            .field("task_file", &self.task_file)
            .field("overlay", &self.overlay.path())
            .finish_non_exhaustive()
    }
}

/// By which a task, its parts and its checks are found in records.
fn names(task: &Task) -> impl Iterator<Item = &str> {
    let parts = task.subtasks.iter().map(|part| part.id.as_str());
    let checks =
        task.subtasks.iter().flat_map(|part| &part.checks).chain(&task.checks).map(|check| check.name.as_str());
    std::iter::once(task.id.as_str()).chain(parts).chain(checks)
}

/// Names what was tried when the system refused.
pub(super) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TasksError {
    move |error| TasksError::Io { action, path: path.to_owned(), message: error.to_string() }
}

impl From<LogError> for TasksError {
    fn from(error: LogError) -> Self {
        Self::Io { action: error.action, path: error.path, message: error.message }
    }
}

#[async_trait]
impl Tasks for FileTasks {
    async fn load(&self) -> Result<TaskList, TasksError> {
        self.blocking(Self::read).await
    }

    fn edits(&self) -> u64 {
        // A file that is gone, or cannot be looked at, is another state too.
        let mut state = std::hash::DefaultHasher::new();
        match self.task_file.metadata() {
            Ok(meta) => (meta.len(), meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.ctime_nsec()).hash(&mut state),
            Err(error) => error.kind().hash(&mut state),
        }
        state.finish()
    }

    async fn mark(&self, marks: &[TaskMark]) -> Result<(), TasksError> {
        let mut lines = Vec::with_capacity(marks.len() * 256);
        for mark in marks {
            jsonl::write(&mut lines, mark).map_err(|e| TasksError::Invalid(e.to_string()))?;
        }
        Ok(self.overlay.append(&lines).await?)
    }
}
