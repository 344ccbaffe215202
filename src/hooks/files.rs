//! Where records and sessions are kept.

use super::session::Session;
use crate::domain::Capture;
use crate::domain::SessionId;
use serde::Serialize;
use std::fs::File;
use std::fs::TryLockError;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

/// The records of a project, and what is known of the sessions that they are of.
#[derive(Debug, Clone)]
pub struct CaptureFiles {
    records: PathBuf,
    sessions: PathBuf,
    /// The directory that ignores itself.
    state: PathBuf,
}

impl CaptureFiles {
    /// `.reflection/reflections/` below a project's or checkout's top.
    #[must_use]
    pub fn of_project(top: &Path) -> Self {
        let state = top.join(".reflection");
        Self { records: state.join("reflections"), sessions: state.join("sessions"), state }
    }

    /// A directory of the user's choice.
    #[must_use]
    pub fn in_dir(dir: PathBuf) -> Self {
        Self { sessions: dir.join(".sessions"), state: dir.clone(), records: dir }
    }

    /// Locks a session until the file is dropped; none if another hook of the session is at it.
    pub(super) fn lock(&self, session: &str) -> io::Result<Option<File>> {
        std::fs::create_dir_all(&self.records)?;
        std::fs::create_dir_all(&self.sessions)?;
        self.ignore()?;
        let path = self.sessions.join(format!("{}.lock", name(session)));
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Nothing of it is ever untracked to the user.
    fn ignore(&self) -> io::Result<()> {
        let ignore = self.state.join(".gitignore");
        if ignore.exists() { Ok(()) } else { std::fs::write(ignore, "*\n") }
    }

    /// What is known of a session; nothing if its file cannot be read.
    pub(super) fn session(&self, session: &str) -> Session {
        let text = std::fs::read(self.session_file(session)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Keeps what is known of a session.
    pub(super) fn keep_session(&self, session: &str, kept: &Session) -> io::Result<()> {
        replace(&self.session_file(session), kept)
    }

    fn session_file(&self, session: &str) -> PathBuf {
        self.sessions.join(format!("{}.json", name(session)))
    }

    /// Writes a record and gives its place.
    pub(super) fn write(&self, capture: &Capture) -> io::Result<PathBuf> {
        let at = capture.timestamp.strftime("%Y%m%dT%H%M%S%.3fZ");
        let path = self.records.join(format!("{}-{at}.reflection.json", name(&capture.session_id)));
        replace(&path, capture)?;
        Ok(path)
    }
}

/// A session's part of a file's name, wherever the id comes from.
fn name(session: &str) -> String {
    SessionId::new(session).file_name()
}

/// Puts a whole file in its place: a reader sees the old one or the new one.
fn replace(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    let mut file = tempfile::Builder::new().prefix(".").suffix(".tmp").tempfile_in(dir)?;
    file.write_all(&text)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
