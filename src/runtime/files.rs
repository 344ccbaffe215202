//! The files that people change through the program.

use crate::domain::{LineProblem, RunId, policy};
use crate::host::HostWorkTree;
use crate::reflection::lesson_of_trajectory;
use crate::services::{Clock, Settings, StorageError};
pub use crate::storage::{
    Adopted, Damage, FileTasks as TaskFile, ImportFormat, ImportHow, Imported, KeptAttempts, Rebuilt, check_state,
};
use crate::storage::{AttemptsFile, Seals};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The project's task file with the runtime's overlay, for a person's edits.
#[must_use]
pub fn task_file(settings: &dyn Settings, clock: Arc<dyn Clock>) -> TaskFile {
    let project = settings.project();
    TaskFile::of(project, Seals::of(project), clock)
}

/// Whether a run of this user's ever began: the first one of all adopts what is in the memory then.
///
/// # Errors
/// If that cannot be looked at.
pub fn run_began(project: &policy::Project) -> io::Result<bool> {
    Seals::of(project).has_begun()
}

/// How many lines of the memory were not written by this program here, and adopted by nobody: they reach no prompt.
///
/// # Errors
/// If they cannot be read.
pub fn foreign_lessons(project: &policy::Project) -> io::Result<usize> {
    Seals::of(project).foreign_lessons()
}

/// How many marks of tasks were not written by this program here: they say nothing, but before the first run of all.
///
/// # Errors
/// If they cannot be read.
pub fn foreign_marks(project: &policy::Project) -> io::Result<usize> {
    Seals::of(project).foreign_marks()
}

/// Whether a run's journal lies among the others, and this program has not begun the run here: whoever wrote it, it is shown as it is.
#[must_use]
pub fn is_foreign_run(project: &policy::Project, run: &RunId) -> bool {
    project.run_dir(run).join("journal.jsonl").exists() && !Seals::of(project).has_begun_run(run)
}

/// Takes what is in the memory over as the user's own, and says how many lines of which kind that are.
///
/// # Errors
/// If they cannot be read, or that cannot be noted.
pub fn adopt_memory(project: &policy::Project) -> io::Result<Adopted> {
    Seals::of(project).adopt_memory()
}

/// How the attempts of a project's runs ended, as `memory/attempts.jsonl` has it.
///
/// # Errors
/// If it is there and cannot be read at all.
pub fn read_attempts(project: &policy::Project) -> io::Result<KeptAttempts> {
    AttemptsFile::of(project, Seals::of(project)).read()
}

/// Writes that file anew, from the journals of the runs, and says how many attempts these are, and which lines were set aside.
///
/// # Errors
/// If a journal cannot be read or the file cannot be written; then it is as it was.
pub fn rebuild_attempts(project: &policy::Project) -> io::Result<Rebuilt> {
    AttemptsFile::of(project, Seals::of(project)).rebuild()
}

/// Reads a file of lessons that others wrote, in whatever format it is. A lesson of a trajectory is written by the rules, see
/// [`lesson_of_trajectory`].
///
/// # Errors
/// As [`read_import`](crate::storage::read_import).
pub fn read_import(path: &Path, how: &ImportHow) -> Result<Imported, StorageError> {
    let mut imported = crate::storage::read_import(path, how)?;
    if imported.format == ImportFormat::Atif {
        match lesson_of_trajectory(&std::mem::take(&mut imported.whole), &how.task, how.now) {
            Ok(lesson) => imported.reflections.extend(lesson),
            Err(error) => imported.problems.push(LineProblem { line: error.line, message: error.message }),
        }
    }
    Ok(imported)
}

/// What is wrong with lines of the memory's files, and sets these lines aside with `repair`: see [`Damage`].
///
/// # Errors
/// If a file cannot be read or written; it is as it was then.
pub fn memory_damage(project: &policy::Project, repair: bool) -> io::Result<Vec<Damage>> {
    crate::storage::damage(project, &Seals::of(project), repair)
}

/// Whether a file is in git and has changes that are not, so that they would be lost with it. Not where git cannot say.
#[must_use]
pub fn has_unsaved_changes(file: &Path) -> bool {
    let tree = file.parent().and_then(HostWorkTree::around);
    tree.is_some_and(|tree| tree.has_unsaved_changes(file).unwrap_or(false))
}

/// Whether git has what a path names, and a sparse checkout leaves it out. Not where git cannot say.
#[must_use]
pub fn is_left_out(path: &Path) -> bool {
    let there = || {
        let whole = std::path::absolute(path).ok()?;
        let dir = whole.ancestors().find(|dir| dir.is_dir())?;
        let whole = dir.canonicalize().ok()?.join(whole.strip_prefix(dir).ok()?);
        HostWorkTree::around(dir)?.leaves_out(&whole).ok()
    };
    there().unwrap_or(false)
}
