//! Repairing a workspace. Only what the run made is touched: the workspace's own directories, and locks with names that
//! nobody but the run uses.

use super::layout::{blocking, io_error};
use super::parts::Parts;
use super::repository::{Kind, branch};
use super::workspace::HostWorkspace;
use crate::domain::Spell;
use crate::services::WorkspaceError;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// git holds a lock on a ref for milliseconds; one that nobody has open for so long was left behind.
const STALE_AFTER: Duration = Duration::from_mins(1);

impl HostWorkspace {
    pub(super) async fn repair(&self, spell: Spell) -> Result<Vec<String>, WorkspaceError> {
        match spell {
            Spell::SetUpAgain => self.forget_setup().await.map(|()| Vec::new()),
            Spell::MakeAnew => self.make_anew().await.map(|()| Vec::new()),
            Spell::Unlock => self.unlock().await,
        }
    }

    /// Nothing untracked is kept but what the user has to carry in now, so that `setup` runs as in a new workspace.
    async fn forget_setup(&self) -> Result<(), WorkspaceError> {
        let mut state = self.state().await;
        state.touched();
        state.slot()?.forget_kept(&self.parts.target(&self.parts.tree)).await
    }

    /// The files and our index, from what is recorded.
    async fn make_anew(&self) -> Result<(), WorkspaceError> {
        let mut state = self.state().await;
        state.touched();
        state.slot()?.make_anew(&self.parts.target(&self.parts.tree)).await
    }

    async fn unlock(&self) -> Result<Vec<String>, WorkspaceError> {
        let locks = self.locks_left_behind().await?;
        blocking(move || {
            // The user's own repository, through the links that the user has made in it.
            locks.iter().try_for_each(|lock| fs::remove_file(lock).map_err(io_error("remove", lock)))?;
            Ok(locks.iter().map(|lock| format!("removed {}", lock.display())).collect())
        })
        .await
    }

    /// Locks with names of this task's branches and of the integration branch (only the task that merges is at that one),
    /// and any in a repository of our own.
    pub(super) async fn locks_left_behind(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let Parts { begun, task, .. } = &self.parts;
        let repository = &begun.repository;
        let own = branch(&begun.run, task);
        let refs = repository.git_dir.join("refs/heads").join(own);
        let dir = refs.parent().map(Path::to_path_buf).unwrap_or_default();
        let names = [format!("{task}.lock"), "integration.lock".to_owned()];
        let kept = format!("{task}@");
        let private = (repository.kind == Kind::Snapshot).then(|| repository.git_dir.clone());
        let opened = self.opened;
        blocking(move || {
            let mut found: Vec<PathBuf> = locks(&dir)
                .filter(|lock| {
                    let name = lock.file_name().unwrap_or_default().to_string_lossy();
                    names.contains(&name.to_string()) || name.starts_with(&kept)
                })
                .collect();
            found.extend(private.iter().flat_map(|dir| locks(dir)));
            found.retain(|lock| left_behind(lock, opened));
            Ok(found)
        })
        .await
    }
}

/// Files of git's that are named as locks, right in a directory.
fn locks(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "lock"))
}

/// Whether nobody can be at work behind a lock: nobody has it open, and it is older than the workspace - whoever was at this
/// task before is gone - or older than any of git's operations on one ref takes.
fn left_behind(lock: &Path, opened: SystemTime) -> bool {
    let Ok(made) = lock.symlink_metadata().and_then(|meta| meta.modified()) else { return false };
    let old = made < opened || made.elapsed().is_ok_and(|age| age >= STALE_AFTER);
    old && !is_open(lock)
}

/// Whether a process of this machine has the file open, as far as we may look.
fn is_open(file: &Path) -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut descriptors = processes.flat_map(|process| fs::read_dir(process.path().join("fd"))).flatten().flatten();
    descriptors.any(|descriptor| fs::read_link(descriptor.path()).is_ok_and(|target| target == file))
}
