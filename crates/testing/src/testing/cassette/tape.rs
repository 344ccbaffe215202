//! The file of a cassette: written line by line, read at once.

use super::normalise::Normaliser;
use super::wire::Record;
use super::{missing, wire};
use crate::services::{Abilities, RetryFrom};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

/// A cassette that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CassetteError {
    /// There is no such file.
    #[error("there is no cassette {path}; record it with `Cassette::record`", path = path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file system refused to read it.
    #[error("failed to read cassette {path}: {message}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        message: String,
    },
    /// The file system refused to write it.
    #[error("failed to write cassette {path}: {message}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        message: String,
    },
    /// A line of another version.
    #[error(
        "{path}:{line}: this recording is of version {found}, and version {} is read here; record it again with \
         `Cassette::record`", wire::VERSION, path = path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What the line says.
        found: String,
    },
    /// A line that is no recording.
    #[error("{path}:{line}: {message}; record it again with `Cassette::record`", path = path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// Recordings that nobody asked for.
    #[error(
        "cassette {path} has recordings that nobody asked for: {}; if that is right now, record it again with \
         `Cassette::record`", calls.join(", "), path = path.display()
    )]
    Unused {
        /// The file.
        path: PathBuf,
        /// Line and call, in order.
        calls: Vec<String>,
    },
    /// A glob that is none.
    #[error("failed to read a glob of what a cassette leaves out: {0}")]
    Glob(String),
}

/// A cassette's file, while it is written or played.
pub(super) struct Tape {
    path: PathBuf,
    state: Mutex<State>,
}

pub(super) enum State {
    Recording { file: File, agents: Vec<String> },
    Replaying(Vec<Entry>),
    Finished,
}

/// A recording with its line in the file.
pub(super) struct Entry {
    pub line: usize,
    pub used: bool,
    pub record: Record,
}

impl Tape {
    pub fn record(path: &Path) -> Result<Self, CassetteError> {
        let open = || -> io::Result<File> {
            if let Some(dir) = path.parent() {
                fs::create_dir_all(dir)?;
            }
            File::create(partial(path))
        };
        let file = open().map_err(|error| write_error(path, &error))?;
        Ok(Self { path: path.to_owned(), state: Mutex::new(State::Recording { file, agents: Vec::new() }) })
    }

    pub fn replay(path: &Path) -> Result<Self, CassetteError> {
        let bytes = fs::read(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => CassetteError::Missing { path: path.to_owned() },
            _ => CassetteError::Read { path: path.to_owned(), message: error.to_string() },
        })?;
        Ok(Self { path: path.to_owned(), state: Mutex::new(State::Replaying(entries(path, &bytes)?)) })
    }

    /// How messages call it.
    pub fn name(&self) -> String {
        format!("cassette {}", self.path.display())
    }

    pub fn is_recording(&self) -> bool {
        matches!(*self.state(), State::Recording { .. })
    }

    /// What it is doing; a call that panicked with it in its hands has changed nothing by halves.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a recording; an agent's description only once.
    pub fn write(&self, record: &Record) -> Result<(), CassetteError> {
        let mut state = self.state();
        let State::Recording { file, agents } = &mut *state else {
            drop(state);
            panic!("{} is finished, and another call came: {}", self.name(), record.name());
        };
        if let Record::Agent { name, .. } = record {
            if agents.contains(name) {
                return Ok(());
            }
            agents.push(name.clone());
        }
        let mut line = wire::line(record);
        line.push('\n');
        file.write_all(line.as_bytes()).map_err(|error| write_error(&self.path, &error))
    }

    /// The names of the recorded agents.
    pub fn agents(&self) -> Vec<String> {
        let state = self.state();
        let entries = if let State::Replaying(entries) = &*state { entries.as_slice() } else { &[] };
        entries
            .iter()
            .filter_map(|e| if let Record::Agent { name, .. } = &e.record { Some(name.clone()) } else { None })
            .collect()
    }

    /// What the recorded agent of this name can do.
    pub fn agent(&self, wanted: &str) -> Option<(RetryFrom, Abilities)> {
        let state = self.state();
        let State::Replaying(entries) = &*state else { return None };
        entries.iter().find_map(|entry| match &entry.record {
            Record::Agent { name, retry_from, abilities } if name == wanted => Some((*retry_from, *abilities)),
            _ => None,
        })
    }

    /// The first recording of this request that was not played yet.
    ///
    /// # Panics
    /// If there is none.
    pub fn play(&self, call: &str, text: &str, normaliser: &Normaliser) -> Record {
        let mut state = self.state();
        let State::Replaying(entries) = &mut *state else {
            drop(state);
            panic!("{} is finished, and another call came: {call}", self.name());
        };
        let mut unused = entries.iter_mut().filter(|entry| !entry.used);
        if let Some(entry) = unused.find(|entry| entry.record.text(normaliser).as_deref() == Some(text)) {
            entry.used = true;
            return entry.record.clone();
        }
        let message = missing::message(&self.name(), call, text, entries, normaliser);
        drop(state);
        panic!("{message}");
    }

    pub fn finish(&self) -> Result<(), CassetteError> {
        match std::mem::replace(&mut *self.state(), State::Finished) {
            State::Recording { file, .. } => file
                .sync_all()
                .and_then(|()| fs::rename(partial(&self.path), &self.path))
                .map_err(|error| write_error(&self.path, &error)),
            State::Replaying(entries) => {
                let unused = entries.iter().filter(|entry| !entry.used && entry.record.is_call());
                let calls: Vec<_> = unused.map(|e| format!("line {}: {}", e.line, e.record.name())).collect();
                let path = self.path.clone();
                if calls.is_empty() { Ok(()) } else { Err(CassetteError::Unused { path, calls }) }
            }
            State::Finished => Ok(()),
        }
    }
}

impl Drop for Tape {
    /// Whoever forgets to finish is told so; in a test that fails already, nothing is put in place and nothing is added.
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        if let Err(error) = self.finish() {
            panic!("{error}");
        }
    }
}

/// Where a cassette is written until it is finished.
fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".recording");
    name.into()
}

fn write_error(path: &Path, error: &io::Error) -> CassetteError {
    CassetteError::Write { path: path.to_owned(), message: error.to_string() }
}

fn entries(path: &Path, bytes: &[u8]) -> Result<Vec<Entry>, CassetteError> {
    let mut entries = Vec::new();
    for (index, bytes) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let (path, line) = (path.to_owned(), index + 1);
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let record = wire::read(bytes).map_err(|error| match error {
            // The end of a line is written last.
            _ if !bytes.ends_with(b"\n") => {
                let message = "the line is cut off: the recording was interrupted".to_owned();
                CassetteError::Line { path, line, message }
            }
            wire::Unreadable::Version(found) => CassetteError::Version { path, line, found },
            wire::Unreadable::Line(message) => CassetteError::Line { path, line, message },
        })?;
        entries.push(Entry { line, used: false, record });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENT: &str = r#"{"v":1,"kind":"agent","name":"a","retryFrom":"base","abilities":{"resume":true,"fork":false,"readOnly":true}}"#;

    #[test]
    fn a_cassette_that_cannot_be_read_says_where_and_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let check = |bytes: &str, words: &str| {
            let path = dir.path().join("c.jsonl");
            fs::write(&path, bytes).unwrap();
            let error = Tape::replay(&path).map(|_| ()).unwrap_err().to_string();
            let expected = format!("{}:{words}", path.display());
            assert!(error.starts_with(&expected), "{error}\n  does not begin with\n{expected}");
            assert!(error.ends_with("record it again with `Cassette::record`"), "{error}");
        };
        check(
            &format!("{AGENT}\n\n{}\n", AGENT.replace("\"v\":1", "\"v\":2")),
            "3: this recording is of version 2, and",
        );
        check(&format!("{AGENT}\n{{\"v\":1,\"kind\":\"agent_r"), "2: the line is cut off: the recording was inter");
        check("{}\n", "1: this is no recording: it has no version `v`");
        check("nonsense\n", "1: this is no recording: expected ident at");
        check(&AGENT.replace("base", "here").replace('}', "}\n"), "1: this is no recording: ");
        let error = Tape::replay(&dir.path().join("none.jsonl")).map(|_| ()).unwrap_err();
        assert!(matches!(error, CassetteError::Missing { .. }), "{error}");
    }

    #[test]
    fn the_example_in_the_guide_is_a_cassette() {
        let guide = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/testing.md"));
        let example = guide.split("```jsonl\n").nth(1).unwrap().split("```").next().unwrap();
        let entries = entries(Path::new("docs/testing.md"), example.as_bytes()).unwrap();
        let lines: Vec<_> = entries.iter().map(|entry| wire::line(&entry.record)).collect();
        assert_eq!(lines, example.lines().collect::<Vec<_>>());
    }

    #[test]
    fn a_recording_that_breaks_off_leaves_the_older_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep").join("c.jsonl");
        Tape::record(&path).unwrap().finish().unwrap();
        fs::write(&path, format!("{AGENT}\n")).unwrap();
        let test = std::panic::catch_unwind(|| {
            let _tape = Tape::record(&path).unwrap();
            panic!("the test fails");
        });
        assert!(test.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{AGENT}\n"));
        assert_eq!(Tape::replay(&path).unwrap().agents(), ["a"]);
    }
}
