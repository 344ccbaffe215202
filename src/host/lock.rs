//! One run per project at a time.

use crate::domain::RunId;
use crate::domain::Timestamp;
use serde::Deserialize;
use serde::Serialize;
use std::fs::File;
use std::fs::TryLockError;
use std::io::Read;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

/// The lock of a project's machine state, held by a run until it is dropped.
///
/// The kernel releases it when the process dies, however it dies, so there is no stale lock to judge; the file's
/// content only tells people who holds it.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
}

/// The lock could not be taken.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LockError {
    /// Another run holds the project.
    #[error("another run holds this project: process {pid}, run {run}, since {since}")]
    Held {
        /// The process that holds it; 0 if it has not written its name yet.
        pid: u32,
        /// Since when.
        since: Timestamp,
        /// Its run; empty if it has not written its name yet.
        run: String,
    },
    /// The system refused.
    #[error("failed to lock {path}: {message}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        message: String,
    },
}

#[derive(Default, Serialize, Deserialize)]
struct Holder {
    pid: u32,
    run: String,
    since: Timestamp,
}

impl RunLock {
    /// Takes `<state_dir>/run.lock` without waiting, and writes down who holds it.
    ///
    /// The state directory is made if needed, with its `.gitignore` first.
    ///
    /// # Errors
    /// [`LockError::Held`] with the holder; [`LockError::Io`] if the file cannot be made or locked.
    pub fn acquire(state_dir: &Path, run: &RunId, now: Timestamp) -> Result<Self, LockError> {
        let path = state_dir.join("run.lock");
        let failed = |error: &dyn std::fmt::Display| LockError::Io { path: path.clone(), message: error.to_string() };
        super::workspaces::make_state_dir(state_dir).map_err(|error| failed(&error))?;
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| failed(&error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(&mut file)),
            Err(TryLockError::Error(error)) => return Err(failed(&error)),
        }
        let holder = Holder { pid: std::process::id(), run: run.to_string(), since: now };
        let text = serde_json::to_vec(&holder).map_err(|error| failed(&error))?;
        file.set_len(0).and_then(|()| file.write_all(&text)).map_err(|error| failed(&error))?;
        Ok(Self { _file: file })
    }
}

/// Reads the holder; it may be between locking and writing, so nothing readable is no error.
fn held(file: &mut File) -> LockError {
    let mut text = String::new();
    let holder: Holder =
        file.read_to_string(&mut text).ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default();
    LockError::Held { pid: holder.pid, since: holder.since, run: holder.run }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_run_learns_who_holds_it_and_gets_it_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join(".reflection");
        let now: Timestamp = "2026-11-21T22:00:00Z".parse().unwrap();
        let first = RunLock::acquire(&state, &RunId::new("one").unwrap(), now).unwrap();
        match RunLock::acquire(&state, &RunId::new("two").unwrap(), now) {
            Err(LockError::Held { pid, since, run }) => {
                assert_eq!((pid, since, run.as_str()), (std::process::id(), now, "one"));
            }
            other => panic!("{other:?}"),
        }
        drop(first);
        RunLock::acquire(&state, &RunId::new("three").unwrap(), now).unwrap();
        assert_eq!(std::fs::read_to_string(state.join(".gitignore")).unwrap(), "*\n");
    }
}
