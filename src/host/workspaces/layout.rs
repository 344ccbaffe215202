//! Where things lie under `.reflection/`.

use crate::domain::RunId;
use crate::domain::SubtaskId;
use crate::domain::TaskId;
use crate::domain::policy;
use crate::services::WorkspaceError;
use std::io;
use std::path::Path;
use std::path::PathBuf;

/// Paths of a project's machine state.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) project: PathBuf,
    state: PathBuf,
    runs: PathBuf,
}

impl Layout {
    pub(super) fn new(project: &policy::Project) -> Self {
        Self { project: project.root.clone(), state: project.state_dir(), runs: project.state_dir().join("runs") }
    }

    pub(super) fn state(&self) -> &Path {
        &self.state
    }

    /// One directory per run in it, and in that one per slot.
    pub(super) fn worktrees(&self) -> PathBuf {
        self.state.join("worktrees")
    }

    pub(super) fn worktree(&self, run: &RunId, slot: &str) -> PathBuf {
        self.worktrees().join(run.as_str()).join(slot)
    }

    /// What we keep about a workspace; no slot's name begins with a dot.
    pub(super) fn private(&self, run: &RunId, slot: &str) -> PathBuf {
        self.worktrees().join(run.as_str()).join(".private").join(slot)
    }

    /// What is guarded right now, a file per attempt under way.
    pub(super) fn guarded(&self) -> PathBuf {
        self.state.join("guarded")
    }

    /// Files of the user's repository as they were, where they are not put back.
    pub(super) fn before(&self, run: &RunId) -> PathBuf {
        self.runs.join(run.as_str()).join("before")
    }

    /// The private repository of a project without git: one for all runs, so that equal files are kept once.
    pub(super) fn snapshots(&self) -> PathBuf {
        self.state.join("snapshots.git")
    }

    pub(super) fn cache(&self, slot: usize) -> PathBuf {
        self.state.join("cache").join(slot.to_string())
    }

    pub(super) fn patch(&self, run: &RunId, task: &TaskId) -> PathBuf {
        self.runs.join(run.as_str()).join(format!("{task}.patch"))
    }

    /// The two ids are joined by a character that neither may contain.
    pub(super) fn unconfirmed(&self, run: &RunId, task: &TaskId, part: &SubtaskId) -> PathBuf {
        let name = if part.as_str() == task.as_str() {
            format!("{task}.unconfirmed.patch")
        } else {
            format!("{task}+{part}.unconfirmed.patch")
        };
        self.runs.join(run.as_str()).join(name)
    }
}

/// Makes the state directory, its `.gitignore` first, so that nothing in it is ever untracked to the user.
pub(in crate::host) fn make_state_dir(state: &Path) -> io::Result<()> {
    std::fs::create_dir_all(state)?;
    let ignore = state.join(".gitignore");
    if std::fs::read(&ignore).is_ok_and(|text| text == b"*\n") {
        return Ok(());
    }
    std::fs::write(ignore, "*\n")
}

/// Writes a file so that it is either there as a whole or as it was.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), WorkspaceError> {
    let write = || {
        let dir = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(dir)?;
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        io::Write::write_all(&mut file, bytes)?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(io_error("write", path))
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
