//! Where records and sessions are kept.

use super::session::Session;
use super::session::is_record;
use crate::domain::Capture;
use crate::domain::SessionId;
use crate::domain::Timestamp;
use jiff::SignedDuration;
use serde::Serialize;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::fs::TryLockError;
use std::io;
use std::io::ErrorKind;
use std::io::Read;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// The files of thousands of dirty files fit in; more is no file of ours, and is not read into memory.
const FILE_BYTES: u64 = 16 << 20;

/// A session that nobody stopped in for so long is over.
const KEPT: SignedDuration = SignedDuration::from_hours(24 * 30);

/// The records of a project, and what is known of the sessions and attempts that they are of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureFiles {
    records: PathBuf,
    /// One file per session and its lock, one per attempt.
    sessions: PathBuf,
    /// The directory that ignores itself.
    ignored: PathBuf,
}

/// The attempt that a record is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Binding(String);

impl Binding {
    /// None if the record says no run or no attempt.
    pub fn of(capture: &Capture) -> Option<Self> {
        let (run, attempt) = (capture.provenance.run.as_ref()?, capture.provenance.attempt?);
        Some(Self(format!("{run} {} {attempt}", capture.task_ref)))
    }

    fn file_name(&self) -> String {
        // A space makes it no plain id, so that it is hashed and never looks like a session's file.
        format!("{}.final", SessionId::new(&self.0).file_name())
    }
}

impl CaptureFiles {
    /// `.reflection/reflections/` below a project's or checkout's top.
    #[must_use]
    pub fn of_project(top: &Path) -> Self {
        let state = top.join(".reflection");
        Self { records: state.join("reflections"), sessions: state.join("sessions"), ignored: state }
    }

    /// A directory of the user's choice. If it is a project's own, as agents are told by a run, it is the same as
    /// [`CaptureFiles::of_project`].
    #[must_use]
    pub fn in_dir(dir: PathBuf) -> Self {
        if dir.ends_with(".reflection/reflections")
            && let Some(top) = dir.ancestors().nth(2)
        {
            return Self::of_project(top);
        }
        let sessions = dir.join(".sessions");
        Self { records: dir, ignored: sessions.clone(), sessions }
    }

    /// Where the records are.
    #[must_use]
    pub fn records(&self) -> &Path {
        &self.records
    }

    /// Makes the directories; nothing of the runtime's own is ever untracked to the user.
    pub(super) fn prepare(&self) -> io::Result<()> {
        for dir in [&self.ignored, &self.records, &self.sessions] {
            // A directory of the user's choice may be a link; one of ours that is leads out of the project.
            if dir.starts_with(&self.ignored) && dir.is_symlink() {
                return Err(refused(dir, "it is a link; remove it, and a directory will be made"));
            }
            at(dir, std::fs::create_dir_all(dir))?;
        }
        let ignoring = self.ignored.join(".gitignore");
        match File::create_new(&ignoring) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            file => at(&ignoring, file.and_then(|mut file| file.write_all(b"*\n"))),
        }
    }

    /// Locks a session until the file is dropped; none if another hook of the session is at it.
    pub(super) fn lock(&self, session: &str) -> io::Result<Option<File>> {
        self.prepare()?;
        let file = open_lock(&self.sessions.join(format!("{}.lock", name(session))))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Removes what is known of sessions and attempts that nothing was written of for [`KEPT`], of all but this one.
    pub(super) fn tidy(&self, session: &str, now: Timestamp) {
        let Ok(entries) = std::fs::read_dir(&self.sessions) else { return };
        let is_old = |path: &Path| {
            let modified = path.symlink_metadata().and_then(|metadata| metadata.modified());
            let modified = modified.ok().and_then(|at| Timestamp::try_from(at).ok());
            modified.is_some_and(|at| now.duration_since(at) > KEPT)
        };
        let ours = |path: &PathBuf| {
            let kind = path.extension().and_then(OsStr::to_str);
            kind.is_some_and(|kind| matches!(kind, "json" | "lock" | "final" | "tmp")) && is_plain(path).is_ok()
        };
        let (old, fresh): (Vec<PathBuf>, Vec<PathBuf>) =
            entries.flatten().map(|entry| entry.path()).filter(ours).partition(|path| is_old(path));
        // A lock is never written to, so it is as old as its session's first hook.
        let name = name(session);
        let mut living: HashSet<&OsStr> = fresh.iter().filter_map(|path| path.file_stem()).collect();
        living.insert(OsStr::new(&name));
        for path in old.iter().filter(|path| path.file_stem().is_none_or(|stem| !living.contains(stem))) {
            // What cannot be removed now is tried again at the next session's start.
            let _ = std::fs::remove_file(path);
        }
    }

    /// What is known of a session; nothing if its file cannot be read.
    pub(super) fn session(&self, session: &str) -> Session {
        let text = read(&self.session_file(session)).unwrap_or_default();
        serde_json::from_slice(&text).map(Session::trusted).unwrap_or_default()
    }

    /// Keeps what is known of a session.
    pub(super) fn keep_session(&self, session: &str, kept: &Session) -> io::Result<()> {
        replace(&self.session_file(session), kept)
    }

    fn session_file(&self, session: &str) -> PathBuf {
        self.sessions.join(format!("{}.json", name(session)))
    }

    /// Writes a record, with the mark `final` if it is of an attempt, and takes that from the attempt's record before.
    /// Gives its file name.
    pub(super) fn write(&self, mut capture: Capture, binding: Option<&Binding>) -> io::Result<String> {
        let Some(binding) = binding else { return self.place(&mut capture) };
        // Agents of one attempt may stop at the same time. Whoever holds this lock only writes some small files.
        let pointer = self.sessions.join(binding.file_name());
        let lock = open_lock(&pointer.with_extension("lock"))?;
        lock.lock()?;
        if let Ok(before) = read(&pointer) {
            // First no record has the mark, then the new one: never two.
            self.no_longer_final(String::from_utf8_lossy(&before).trim())?;
        }
        capture.provenance.is_final = Some(true);
        let written = self.place(&mut capture)?;
        replace_bytes(&pointer, written.as_bytes())?;
        Ok(written)
    }

    fn no_longer_final(&self, record: &str) -> io::Result<()> {
        if !is_record(record) {
            return Ok(());
        }
        let path = self.records.join(record);
        let text = match read(&path) {
            Ok(text) => text,
            // A person may have tidied up.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let Ok(mut capture) = serde_json::from_slice::<Capture>(&text) else { return Ok(()) };
        capture.provenance.is_final = Some(false);
        replace(&path, &capture)
    }

    /// Removes a record that a newer one of the same stop stands in for.
    pub(super) fn remove(&self, record: &str) -> io::Result<()> {
        if !is_record(record) {
            return Err(refused(Path::new(record), "it is no record's name"));
        }
        match std::fs::remove_file(self.records.join(record)) {
            Err(error) if error.kind() != ErrorKind::NotFound => at(&self.records.join(record), Err(error)),
            _ => Ok(()),
        }
    }

    /// Puts the record in a place of its own: where two would have the same time, the later one's is moved.
    fn place(&self, capture: &mut Capture) -> io::Result<String> {
        // Name and content say the same time.
        let at = capture.timestamp;
        capture.timestamp = Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at);
        loop {
            let at = capture.timestamp.strftime("%Y%m%dT%H%M%S.%3fZ");
            let record = format!("{}-{at}.reflection.json", name(&capture.session_id));
            let path = self.records.join(&record);
            if !path.exists() {
                replace(&path, &*capture)?;
                return Ok(record);
            }
            capture.timestamp += Duration::from_millis(1);
        }
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    is_plain(path)?;
    at(path, File::options().create(true).truncate(false).write(true).open(path))
}

/// A whole file of ours; the error of one that is not there is [`ErrorKind::NotFound`].
fn read(path: &Path) -> io::Result<Vec<u8>> {
    is_plain(path)?;
    let mut bytes = Vec::new();
    at(path, File::open(path).and_then(|file| file.take(FILE_BYTES + 1).read_to_end(&mut bytes)))?;
    if bytes.len() as u64 > FILE_BYTES {
        return Err(refused(path, "it is too large to be ours"));
    }
    Ok(bytes)
}

/// A pipe in a file's place would be waited for, and a link leads somewhere else; where nothing is, a file may be made.
fn is_plain(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(metadata) if !metadata.is_file() => Err(refused(path, "it is no plain file; remove it")),
        Err(error) if error.kind() != ErrorKind::NotFound => at(path, Err(error)),
        _ => Ok(()),
    }
}

/// The same with the path in its error: what the system says names none.
fn at<T>(path: &Path, done: io::Result<T>) -> io::Result<T> {
    done.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

fn refused(path: &Path, because: &str) -> io::Error {
    io::Error::other(format!("{}: {because}", path.display()))
}

/// A session's part of a file's name, wherever the id comes from.
fn name(session: &str) -> String {
    SessionId::new(session).file_name()
}

fn replace(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    replace_bytes(path, &text)
}

/// Puts a whole file in its place: a reader sees the old one or the new one.
fn replace_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let write = || {
        let mut file = tempfile::Builder::new().prefix(".").suffix(".tmp").tempfile_in(dir)?;
        file.write_all(bytes)?;
        file.persist(path).map_err(|error| error.error)
    };
    at(path, write()).map(drop)
}
