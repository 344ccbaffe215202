//! One run per project at a time.

use crate::domain::{RunId, Timestamp};
use crate::files::{Kind, Place, Root};
use crate::services::{Clock, RunGuard, RunLock, RunLockError};
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant, SystemTime};

/// Who only looks whether a run lives holds the lock for some microseconds; nobody is turned away for that.
const AT_ONCE: Duration = Duration::from_millis(8);

/// A program that a process was just starting holds all that is open there until it is started, on a busy machine for a while,
/// whether the process lives or was killed.
pub(super) const STARTING: Duration = Duration::from_secs(2);

/// A process that holds the lock says so often that it lives.
const BEAT: Duration = Duration::from_secs(2);

/// How often, at most, a file that another one took the place of is opened anew.
const TRIES: usize = 100;

/// Its name in the machine state.
const LOCK: &str = "run.lock";

/// The lock of a project's machine state: `.reflection/run.lock`, locked while a run lives.
///
/// The kernel releases it when the process dies, however it dies, so there is no stale lock to judge; the file's content
/// only tells people who holds it.
pub struct ProjectLock {
    state_dir: PathBuf,
    clock: Arc<dyn Clock>,
}

/// Who holds the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LockHolder {
    /// The process.
    pub pid: u32,
    /// The run that it works on.
    pub run: String,
    /// Since when.
    pub since: Timestamp,
    /// It does not work yet: it is a night that waits until then for its window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_until: Option<Timestamp>,
}

impl LockHolder {
    /// Whether its process is gone.
    fn is_dead(&self) -> bool {
        !Path::new("/proc").join(self.pid.to_string()).exists()
    }

    /// Whether its process is stopped (by `SIGSTOP`, or a debugger): it does nothing until somebody lets it go on. False where
    /// that is not known.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        let stat = std::fs::read(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        // The state stands after the name, which is in parentheses and may contain anything.
        let after = memchr::memrchr(b')', &stat).map_or(&[][..], |end| &stat[end + 1..]);
        matches!(after.trim_ascii_start().first(), Some(b'T' | b't'))
    }
}

impl ProjectLock {
    /// The lock in `state_dir`, which is made when it is first taken, with its `.gitignore` first.
    #[must_use]
    pub fn new(state_dir: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self { state_dir, clock }
    }

    fn take(&self, run: &RunId, waits_until: Option<Timestamp>) -> std::io::Result<Result<File, RunLockError>> {
        let state = super::workspaces::make_state_dir(&self.state_dir)?;
        // A file that another one took the place of is kept locked until that one is: who waits for it finds it held.
        let mut replaced = Vec::new();
        let mut file = loop {
            if replaced.len() == TRIES {
                return Err(std::io::Error::other("somebody puts another file in its place again and again"));
            }
            let mut file = state.open_shared(Path::new(LOCK))?;
            match try_lock(&mut file, AT_ONCE, File::try_lock) {
                Ok(()) if state.make_own(Path::new(LOCK), &file)? => break file,
                Ok(()) => replaced.push(file),
                Err(TryLockError::WouldBlock) => return Ok(Err(self.held(&mut file))),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        };
        let (pid, since) = (std::process::id(), self.clock.now());
        let holder = LockHolder { pid, run: run.to_string(), since, waits_until };
        file.set_len(0)?;
        file.write_all(&serde_json::to_vec(&holder)?)?;
        Ok(Ok(file))
    }

    /// The other run may be between locking and writing its name, so nothing readable is no error.
    fn held(&self, file: &mut File) -> RunLockError {
        let holder = match holder(file) {
            Some(LockHolder { pid, waits_until: Some(until), .. }) => {
                let until = until.to_zoned(self.clock.zone()).strftime("%Y-%m-%d %H:%M").to_string();
                return RunLockError::Waiting { pid, until };
            }
            Some(LockHolder { pid, run, since, .. }) => format!("process {pid}, run {run}, since {since}"),
            None => "a process that has just started".to_owned(),
        };
        RunLockError::Held { holder }
    }

    fn guard(&self, run: &RunId, waits_until: Option<Timestamp>) -> Result<RunGuard, RunLockError> {
        let path = self.state_dir.join(LOCK).display().to_string();
        let file = self.take(run, waits_until).map_err(|e| RunLockError::Io { path, message: e.to_string() })??;
        Ok(RunGuard::new(Box::new(Locked { file, _beats: beats(self.state_dir.clone(), run.clone()) })))
    }
}

/// The living process that works in the project with this machine state, or waits there, if any; nothing is created.
///
/// The lock is asked for and given back at once: whoever wants it in that moment asks again ([`ProjectLock`] does).
///
/// # Errors
/// If the lock file is there and cannot be read.
pub fn lock_holder(state_dir: &Path) -> std::io::Result<Option<LockHolder>> {
    let (Some(project), Some(name)) = (state_dir.parent(), state_dir.file_name()) else { return Ok(None) };
    let state = Root::open(project).and_then(|project| project.below(Path::new(name)));
    let mut file = match state.and_then(|state| state.open_file(Path::new(LOCK))) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    match try_lock(&mut file, Duration::ZERO, File::try_lock_shared) {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(holder(&mut file)),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// A lock that is free when this is dropped, also while a program that is being started has the file open still.
struct Locked {
    file: File,
    /// The end of this ends the beats.
    _beats: Sender<()>,
}

impl Drop for Locked {
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Touches a file of the run every few seconds, so that what a silent agent did before a `kill -9` is no silence of the run. A run that has no
/// directory yet has nothing to tell, and what cannot be touched tells nothing.
fn beats(state_dir: PathBuf, run: RunId) -> Sender<()> {
    let (ends, ended) = mpsc::channel();
    std::thread::spawn(move || {
        while ended.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
            let dir = Place::with_names(&state_dir, 1).join("runs").join(run.as_str());
            if matches!(dir.look(), Ok(Some(look)) if look.kind == Kind::Dir)
                && let alive = dir.join(RunId::ALIVE)
                && let Ok(file) = alive.open_shared()
                && alive.make_own(&file).is_ok_and(|own| own)
            {
                let _ = file.set_modified(SystemTime::now());
            }
        }
    });
    ends
}

impl RunLock for ProjectLock {
    fn acquire(&self, run: &RunId) -> Result<RunGuard, RunLockError> {
        self.guard(run, None)
    }

    fn acquire_waiting(&self, run: &RunId, until: Timestamp) -> Result<RunGuard, RunLockError> {
        self.guard(run, Some(until))
    }
}

/// Who the file says holds it.
fn holder(file: &mut File) -> Option<LockHolder> {
    let mut text = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut text)).ok()?;
    serde_json::from_str(&text).ok()
}

/// Tries to take the run lock until it is free, or this time is over; longer where only what a killed run was just starting can
/// hold it.
fn try_lock(
    file: &mut File,
    patience: Duration,
    lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<(), TryLockError> {
    match try_lock_within(patience, || lock(file)) {
        Err(TryLockError::WouldBlock) if holder(file).is_some_and(|holder| holder.is_dead()) => {
            try_lock_within(STARTING, || lock(file))
        }
        tried => tried,
    }
}

/// Tries to take a lock until it is free, or this time is over.
pub(super) fn try_lock_within(
    patience: Duration,
    try_lock: impl Fn() -> Result<(), TryLockError>,
) -> Result<(), TryLockError> {
    let began = Instant::now();
    loop {
        match try_lock() {
            Err(TryLockError::WouldBlock) if began.elapsed() < patience => std::thread::sleep(Duration::from_millis(2)),
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::SystemClock;

    #[test]
    fn the_second_run_learns_who_holds_it_and_gets_it_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join(".reflection");
        let lock = ProjectLock::new(state.clone(), Arc::new(SystemClock::new()));
        let first = lock.acquire(&RunId::new("one").unwrap()).unwrap();
        let refused = lock.acquire(&RunId::new("two").unwrap()).err().unwrap().to_string();
        assert!(refused.contains(&format!("process {}, run one, since 2", std::process::id())), "{refused}");
        drop(first);
        let waits = lock.acquire_waiting(&RunId::new("two").unwrap(), "2026-11-22T22:00:00Z".parse().unwrap()).unwrap();
        let refused = lock.acquire(&RunId::new("three").unwrap()).err().unwrap().to_string();
        assert!(refused.starts_with("a night waits for its window until 2026-11-2"), "{refused}");
        assert!(refused.ends_with(&format!("`kill {}` ends it", std::process::id())), "{refused}");
        drop(waits);
        drop(lock.acquire(&RunId::new("three").unwrap()).unwrap());
        assert_eq!(std::fs::read_to_string(state.join(".gitignore")).unwrap(), "*\n");
    }

    #[test]
    fn what_a_killed_run_was_just_starting_is_waited_for() {
        let looks = |state: &Path, _: &ProjectLock| assert_eq!(lock_holder(state).unwrap(), None, "nobody works");
        let begins = |_: &Path, lock: &ProjectLock| drop(lock.acquire(&RunId::new("two").unwrap()).unwrap());
        for then in [&looks as &dyn Fn(&Path, &ProjectLock), &begins] {
            let dir = tempfile::tempdir().unwrap();
            let state = dir.path().join(".reflection");
            let lock = ProjectLock::new(state.clone(), Arc::new(SystemClock::new()));
            drop(lock.acquire(&RunId::new("one").unwrap()).unwrap());
            let mut dead = std::process::Command::new("true").spawn().unwrap();
            dead.wait().unwrap();
            let holder = serde_json::json!({"pid": dead.id(), "run": "one", "since": "2026-11-23T10:00:00Z"});
            std::fs::write(state.join(LOCK), holder.to_string()).unwrap();
            let still_open = File::open(state.join(LOCK)).unwrap();
            still_open.lock().unwrap();
            let started = std::thread::spawn(move || {
                std::thread::sleep(20 * AT_ONCE);
                drop(still_open);
            });
            then(&state, &lock);
            started.join().unwrap();
        }
    }

    #[test]
    fn a_living_run_is_seen_without_making_anything() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join(".reflection");
        assert_eq!(lock_holder(&state).unwrap(), None);
        assert!(!state.exists());
        let lock = ProjectLock::new(state.clone(), Arc::new(SystemClock::new()));
        let held = lock.acquire(&RunId::new("one").unwrap()).unwrap();
        assert_eq!(lock_holder(&state).unwrap().map(|holder| holder.run).as_deref(), Some("one"));
        drop(held);
        // A program that another test starts at this moment has the file open between its fork and its exec.
        let patience = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while lock_holder(&state).unwrap().is_some() {
            assert!(std::time::Instant::now() < patience, "the lock is held still");
            std::thread::yield_now();
        }
        drop(lock.acquire(&RunId::new("two").unwrap()).unwrap());
    }
}
