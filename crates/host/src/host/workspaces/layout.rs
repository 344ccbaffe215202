//! Where things lie under `.reflection/`.

use crate::domain::{RunId, SubtaskId, TaskId, policy};
use crate::files::{Root, gone};
use crate::host::process::project_key;
use crate::services::WorkspaceError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Paths of a project's machine state.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) project: PathBuf,
    /// The name of the file with its settings.
    pub(super) settings: &'static str,
    state: PathBuf,
    /// Where agents are asked something.
    pub(super) asked_dir: PathBuf,
    all_rooms: PathBuf,
    /// Whether the machine state was there already.
    made: Arc<AtomicBool>,
}

impl Layout {
    pub(super) fn new(project: &policy::Project) -> Self {
        let (root, rooms) = (project.root.clone(), project.rooms.clone());
        Self {
            project: root,
            settings: project.settings,
            state: project.state_dir(),
            asked_dir: project.asked_dir(),
            all_rooms: rooms,
            made: Arc::default(),
        }
    }

    pub(super) fn state(&self) -> &Path {
        &self.state
    }

    /// The machine state as a handle, made when it is first asked for. Somebody who puts it away in the middle of a run wants to put it
    /// back, so nothing is made in its place then.
    pub(super) fn files(&self) -> io::Result<Root> {
        if self.made.load(Ordering::Relaxed) {
            return state_dir(&self.state);
        }
        let files = make_state_dir(&self.state)?;
        self.made.store(true, Ordering::Relaxed);
        Ok(files)
    }

    /// Where agents work: one directory per run in it, and in that one per slot.
    pub(super) fn worktrees(&self) -> io::Result<Root> {
        let (files, name) = (self.files()?, Path::new(WORKTREES));
        // Git writes files that everybody may read.
        files.make_private(name)?;
        files.below(name)
    }

    /// Where checks run, laid out likewise. It is not below the project: tools look for their settings in all directories above
    /// the one that they work in.
    pub(super) fn rooms(&self) -> Result<Root, WorkspaceError> {
        let (all, own) = self.all_rooms()?;
        let make = || {
            all.make_private(&own)?;
            let rooms = all.below(&own)?;
            // Every check would be blamed on the work.
            if rustix::fs::statvfs(rooms.path())?.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC) {
                return Err(io::Error::other("no program can be run there: its file system is mounted `noexec`"));
            }
            Ok(rooms)
        };
        make().map_err(|error| self.no_rooms(&error))
    }

    /// Where the rooms of all projects are, and the name of this one's there.
    pub(super) fn all_rooms(&self) -> Result<(Root, PathBuf), WorkspaceError> {
        let make = || {
            if self.all_rooms.to_str().is_none_or(|path| path.contains(['\n', ':'])) {
                return Err(io::Error::other("its path has a line break or a colon, or is not UTF-8"));
            }
            self.files()?;
            let own = project_key(&self.state).ok_or(io::ErrorKind::NotFound)?;
            Ok((Root::make(&self.all_rooms)?, PathBuf::from(own)))
        };
        make().map_err(|error: io::Error| self.no_rooms(&error))
    }

    /// By which ids the runtime's own repositories of all projects are known, outside of them.
    pub(super) fn known_stores(&self) -> io::Result<Root> {
        let place = self.all_rooms.parent().unwrap_or(&self.all_rooms);
        let made = Root::make(place).and_then(|place| place.make_below(Path::new("repositories")));
        made.map_err(|error| io::Error::new(error.kind(), format!("it is to be known in {}: {error}", place.display())))
    }

    /// Where the rooms of all projects are, or will be.
    pub(super) fn place_of_rooms(&self) -> &Path {
        &self.all_rooms
    }

    /// That rooms are not below the user's files: tools look in all directories above the one that they work in, and would find there what
    /// nobody else has.
    pub(super) fn keep_rooms_out_of(&self, files: &Path) -> Result<(), WorkspaceError> {
        let there = self.all_rooms.ancestors().find_map(|dir| dir.canonicalize().ok());
        let files = files.canonicalize().unwrap_or_else(|_| files.to_owned());
        if there.is_none_or(|there| !there.starts_with(&files)) {
            return Ok(());
        }
        Err(WorkspaceError::Unusable(format!(
            "clean rooms, in which checks run, would be in {}, which is inside your checkout {}: checks would find your own files in \
             the directories above; set XDG_STATE_HOME to a directory outside of it",
            self.all_rooms.display(),
            files.display()
        )))
    }

    /// Takes the place of this project's rooms away if nothing is in it.
    pub(super) fn leave_rooms(&self) {
        let _ = self.all_rooms().map(|(all, own)| all.remove_empty(&own));
    }

    fn no_rooms(&self, error: &io::Error) -> WorkspaceError {
        WorkspaceError::Unusable(format!(
            "clean rooms, in which checks run, cannot be made in {}: {error}; set XDG_STATE_HOME to a directory outside of the \
             project that you may write to",
            self.all_rooms.display()
        ))
    }

    /// The name of the runtime's own repository: one for all runs, so that equal files are kept once.
    pub(super) const STORE: &'static str = "repository.git";

    pub(super) fn store(&self) -> PathBuf {
        self.state.join(Self::STORE)
    }

    /// The build caches of a workspace.
    pub(super) fn cache(&self, slot: &str) -> PathBuf {
        self.state.join(cache_of(slot))
    }

    /// Writes a file of a run, by its path in the machine state.
    pub(super) fn write(&self, path: &Path, bytes: &[u8]) -> Result<PathBuf, WorkspaceError> {
        let full = self.state.join(path);
        self.files().and_then(|state| state.replace(path, bytes)).map_err(io_error("write", &full))?;
        Ok(full)
    }

    /// What is known of a run.
    pub(super) fn run(&self, run: &str) -> PathBuf {
        self.state.join("runs").join(run)
    }

    /// The files of a run, by their paths in the machine state.
    pub(super) fn patch(run: &RunId, task: &TaskId) -> PathBuf {
        Path::new("runs").join(run.as_str()).join(format!("{task}.patch"))
    }

    /// The two ids are joined by a character that neither may contain.
    pub(super) fn unconfirmed(run: &RunId, task: &TaskId, part: &SubtaskId) -> PathBuf {
        let name = if part.as_str() == task.as_str() {
            format!("{task}.unconfirmed.patch")
        } else {
            format!("{task}+{part}.unconfirmed.patch")
        };
        Path::new("runs").join(run.as_str()).join(name)
    }
}

/// Where the slots of agents are, in the machine state.
pub(in crate::host) const WORKTREES: &str = "worktrees";

/// In the place of a run's name where clean rooms are: a room has the same path in each run, because build caches that are kept
/// have it in them.
pub(in crate::host) const EACH_RUN: &str = "run";

/// The directory of a slot, where those of its kind are, and what we keep about it; no slot's name begins with a dot.
pub(super) fn places_of(run: &str, slot: &str) -> (PathBuf, PathBuf) {
    let run = Path::new(run);
    (run.join(slot), run.join(PRIVATE).join(slot))
}

/// Beside the slots of a run: what we keep about them.
pub(super) const PRIVATE: &str = ".private";

/// The build caches of a slot, in the machine state: one that was made anew goes on with those of the one before, as long as no
/// checks run there.
pub(in crate::host) fn cache_of(slot: &str) -> PathBuf {
    let worker = if slot.starts_with("room") { slot } else { slot.split('.').next().unwrap_or(slot) };
    Path::new(CACHES).join(worker)
}

/// Build caches, in the machine state.
pub(super) const CACHES: &str = "cache";

/// Makes the state directory, its `.gitignore` first, so that nothing in it is ever untracked to the user. A link in its
/// place is refused.
pub(in crate::host) fn make_state_dir(state: &Path) -> io::Result<Root> {
    let (Some(project), Some(name)) = (state.parent(), state.file_name()) else {
        return Err(io::Error::other("the machine state has no place in a project"));
    };
    let files = Root::open(project)?.make_below(Path::new(name))?;
    let ignore = Path::new(".gitignore");
    if files.look(ignore)?.is_none() || files.read(ignore)? != b"*\n" {
        files.replace(ignore, b"*\n")?;
    }
    Ok(files)
}

/// The state directory of a run, which has been made.
pub(in crate::host) fn state_dir(state: &Path) -> io::Result<Root> {
    Root::open(state.parent().unwrap_or(state))
        .and_then(|project| project.below(Path::new(state.file_name().unwrap_or_default())))
        .map_err(|error| if error.kind() == io::ErrorKind::NotFound { gone() } else { error })
}

/// The error of a file operation.
pub(super) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WorkspaceError + use<> {
    let path = path.to_owned();
    move |error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::ReadOnlyFilesystem => {
            WorkspaceError::Machine(format!("failed to {action} {}: {error}", path.display()))
        }
        _ => WorkspaceError::Io { action, path, message: error.to_string() },
    }
}

/// Runs what blocks on files on a thread for that.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(WorkspaceError::Unusable(format!("a file operation was broken off: {error}"))),
    }
}
