//! Where machine state is.

use crate::domain::{RunId, policy};
use crate::files::{Kind, Place, Refused};
use std::io;
use std::path::Path;

/// The state directory (`.reflection`) of a project, whose own directory may be reached through links.
pub(super) fn state(state_dir: &Path) -> Place {
    Place::with_names(state_dir, 1)
}

/// The directories of all runs.
pub(super) fn runs(state_dir: &Path) -> Place {
    state(state_dir).join("runs")
}

/// The directory of a run, by its path.
pub(super) fn run(run_dir: &Path) -> Place {
    Place::with_names(run_dir, 3)
}

/// A run's journal.
pub(super) fn journal(state_dir: &Path, run: &RunId) -> Place {
    runs(state_dir).join(run.as_str()).join(JOURNAL)
}

/// The files of the memory.
pub(super) use crate::domain::policy::MEMORY_FILES as MEMORY;

pub(super) const JOURNAL: &str = "journal.jsonl";

/// Refuses a project in whose state a link, a pipe or the like stands in the place of a file or a directory, before
/// anything is done: a repository that was cloned may hold such a thing.
///
/// # Errors
/// What stands where, and what to do. What the system says otherwise is left to those who need the file.
pub fn check_state(project: &policy::Project) -> io::Result<()> {
    let place = |below: &str| Place::new(&project.root, below);
    let files = [MEMORY.as_slice(), &[".reflection/tasks.jsonl"]].concat().into_iter();
    let files = files.map(|file| place(file).open_file().map(drop));
    let dirs = [".reflection/reflections", ".reflection/sessions"].map(|dir| place(dir).list().map(drop));
    let journals = with_journal(&project.state_dir())
        .map(|runs| runs.into_iter().map(|run| journal(&project.state_dir(), &run).open_file().map(drop)));
    let found = files.into_iter().chain(dirs).chain(journals.into_iter().flatten());
    found
        .filter(|found| found.as_ref().is_err_and(|error| Refused::of(error).is_some_and(Refused::is_special)))
        .collect()
}

/// The names of runs that have a journal, the oldest first: their ids sort by time. What is no directory of a run, but
/// has the name of one, and what is no file, but has the name of a journal, is one too: whoever opens it is told.
///
/// # Errors
/// If the directory is there and cannot be read.
pub(super) fn with_journal(state_dir: &Path) -> io::Result<Vec<RunId>> {
    let runs = runs(state_dir);
    let mut found = Vec::new();
    for (name, kind) in runs.list()? {
        let Some(id) = name.to_str().and_then(|name| RunId::new(name).ok()) else { continue };
        let is_run = match kind {
            Kind::Dir => runs.join(&name).join(JOURNAL).look()?.is_some(),
            Kind::Link => true,
            Kind::File | Kind::Other => false,
        };
        found.extend(Some(id).filter(|_| is_run));
    }
    Ok(found)
}
