//! Where records and sessions are kept.

use super::session::{Session, is_record};
use crate::domain::{Capture, SessionId, Timestamp};
use crate::files::{Kind, Place, Refused};
use crate::redaction::Redactor;
use jiff::SignedDuration;
use serde::Serialize;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The files of thousands of dirty files fit in; more is no file of ours, and is not read into memory.
const FILE_BYTES: u64 = 16 << 20;

/// A session that nobody stopped in for so long is over.
const KEPT: SignedDuration = SignedDuration::from_hours(24 * 30);

/// The records of a project, and what is known of the sessions and attempts that they are of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureFiles {
    records: Place,
    /// One file per session and its lock, one per attempt.
    sessions: Place,
    /// The directory that ignores itself.
    ignored: Place,
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
        let state = Place::new(top, ".reflection");
        Self { records: state.join("reflections"), sessions: state.join("sessions"), ignored: state }
    }

    /// A directory of the user's choice, which may be a link. If it is a project's own, as agents are told by a run, it is the same as
    /// [`CaptureFiles::of_project`].
    #[must_use]
    pub fn in_dir(dir: PathBuf) -> Self {
        if dir.ends_with(".reflection/reflections")
            && let Some(top) = dir.ancestors().nth(2)
        {
            return Self::of_project(top);
        }
        let records = Place::new(dir, "");
        let sessions = records.join(".sessions");
        Self { records, ignored: sessions.clone(), sessions }
    }

    /// Where the records are.
    #[must_use]
    pub fn records(&self) -> &Path {
        self.records.path()
    }

    /// Makes the directories; nothing of the runtime's own is ever untracked to the user.
    pub(super) fn prepare(&self) -> io::Result<()> {
        for dir in [&self.ignored, &self.records, &self.sessions] {
            at(dir, dir.make_dir())?;
        }
        let ignoring = self.ignored.join(".gitignore");
        if at(&ignoring, ignoring.look())?.is_none() {
            at(&ignoring, ignoring.create(b"*\n"))?;
        }
        Ok(())
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
        let Ok(entries) = self.sessions.list() else { return };
        let is_old = |name: &PathBuf| {
            let look = self.sessions.join(name).look().ok().flatten();
            let modified = look.and_then(|look| Timestamp::from_second(look.modified.0).ok());
            modified.is_some_and(|at| now.duration_since(at) > KEPT)
        };
        let ours = |name: &PathBuf| {
            let kind = name.extension().and_then(OsStr::to_str);
            kind.is_some_and(|kind| matches!(kind, "json" | "lock" | "final" | "tmp"))
        };
        let files = entries.into_iter().filter(|(_, kind)| *kind == Kind::File).map(|(name, _)| PathBuf::from(name));
        let (old, fresh): (Vec<PathBuf>, Vec<PathBuf>) = files.filter(ours).partition(is_old);
        // A lock is never written to, so it is as old as its session's first hook.
        let name = name(session);
        let mut living: HashSet<&OsStr> = fresh.iter().filter_map(|path| path.file_stem()).collect();
        living.insert(OsStr::new(&name));
        for path in old.iter().filter(|path| path.file_stem().is_none_or(|stem| !living.contains(stem))) {
            // What cannot be removed now is tried again at the next session's start.
            let _ = self.sessions.join(path).remove();
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

    fn session_file(&self, session: &str) -> Place {
        self.sessions.join(format!("{}.json", name(session)))
    }

    /// Writes a record, with the mark `final` if it is of an attempt, and takes that from the attempt's record before.
    /// Gives its file name.
    pub(super) fn write(&self, mut capture: Capture, binding: Option<&Binding>) -> io::Result<String> {
        let Some(binding) = binding else { return self.place(&mut capture) };
        // Agents of one attempt may stop at the same time. Whoever holds this lock only writes some small files.
        let pointer = self.sessions.join(binding.file_name());
        let lock = open_lock(&self.sessions.join(Path::new(&binding.file_name()).with_extension("lock")))?;
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
        let record = self.records.join(record);
        at(&record, record.remove())
    }

    /// Puts the record in a place of its own: where two would have the same time, the later one's is moved.
    fn place(&self, capture: &mut Capture) -> io::Result<String> {
        // Name and content say the same time.
        let exact = capture.timestamp;
        capture.timestamp = Timestamp::from_millisecond(exact.as_millisecond()).unwrap_or(exact);
        loop {
            let time = capture.timestamp.strftime("%Y%m%dT%H%M%S.%3fZ");
            let record = format!("{}-{time}.reflection.json", name(&capture.session_id));
            let path = self.records.join(&record);
            if at(&path, path.look())?.is_none() {
                replace(&path, &*capture)?;
                return Ok(record);
            }
            capture.timestamp += Duration::from_millis(1);
        }
    }
}

/// Nothing is written into it.
fn open_lock(place: &Place) -> io::Result<File> {
    at(place, place.open_shared())
}

/// A whole file of ours; the error of one that is not there is [`ErrorKind::NotFound`].
fn read(place: &Place) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    at(place, place.open_file().and_then(|file| file.take(FILE_BYTES + 1).read_to_end(&mut bytes)))?;
    if bytes.len() as u64 > FILE_BYTES {
        return Err(refused(place.path(), "it is too large to be ours"));
    }
    Ok(bytes)
}

/// The same with the path in its error, unless it names one: what the system says does not.
fn at<T>(place: &Place, done: io::Result<T>) -> io::Result<T> {
    done.map_err(|error| match Refused::of(&error) {
        Some(_) => error,
        None => io::Error::new(error.kind(), format!("{}: {error}", place.path().display())),
    })
}

fn refused(path: &Path, because: &str) -> io::Error {
    io::Error::other(format!("{}: {because}", path.display()))
}

/// A session's part of a file's name, wherever the id comes from.
fn name(session: &str) -> String {
    SessionId::new(session).file_name()
}

fn replace(place: &Place, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec_pretty(value)?;
    let mut text = Redactor::of_process().redact_json(&text).into_owned();
    text.push(b'\n');
    replace_bytes(place, &text)
}

/// Puts a whole file in its place: a reader sees the old one or the new one.
fn replace_bytes(place: &Place, bytes: &[u8]) -> io::Result<()> {
    at(place, place.replace_soon(bytes))
}
