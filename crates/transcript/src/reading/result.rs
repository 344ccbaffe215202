//! What was read of a transcript, what was not, and why nothing could be.

use super::format::{FORMATS, Format};
use crate::domain::{Ending, Trace};
use std::collections::BTreeMap;

/// A document in the plain form is held as a whole, so it has a limit; JSON Lines have none.
pub(super) const DOCUMENT: u64 = 64 << 20;

/// So many places of lines that could not be read are named.
const PLACES: usize = 5;

/// So many names of records that are not known are told apart.
const NAMES: usize = 60;

/// A transcript that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// How it is written.
    pub format: Format,
    /// What happened.
    pub trace: Trace,
    /// The task, where the transcript says it apart from its messages.
    pub task: Option<String>,
    /// The conversation, in the agent's words.
    pub session: Option<String>,
    /// Why the agent stopped, where that is recorded.
    pub ending: Option<Ending>,
    /// Records that were understood.
    pub records: u64,
    /// What was not.
    pub unread: Unread,
}

/// What could not be read, or is not known. It is never an error of its own: agents get new records with every version,
/// and a crash tears off a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unread {
    /// How many, by what they are.
    pub by_name: BTreeMap<String, u64>,
    /// Where the first of them are: numbers of lines, from 1.
    pub lines: Vec<u64>,
}

impl Unread {
    /// How many in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_name.values().sum()
    }

    pub(super) fn add(&mut self, name: &str, count: u64) {
        let full = self.by_name.len() >= NAMES && !self.by_name.contains_key(name);
        *self.by_name.entry(if full { "others" } else { name }.to_owned()).or_default() += count;
    }

    pub(super) fn note(&mut self, line: u64) {
        if self.lines.len() < PLACES {
            self.lines.push(line);
        }
    }
}

/// A transcript cannot be judged, because it cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refused.
    #[error("failed to read it: {0}")]
    Io(#[from] std::io::Error),
    /// There is nothing in it.
    #[error("it is empty; give a transcript, or `-` and one on stdin")]
    Empty,
    /// Nothing in it is known.
    #[error("line 1: nothing is known that begins like `{0}`; name its format with --format ({formats})", formats = FORMATS.join(", "))]
    Unrecognised(String),
    /// None of its lines is a record of this format.
    #[error("none of its {lines} lines is a record of the format `{format}`{first}; name another with --format ({formats})", formats = FORMATS.join(", "))]
    NoRecords {
        /// The format.
        format: Format,
        /// How many lines it has.
        lines: u64,
        /// What the first is, in words.
        first: String,
    },
    /// The plain form is larger than fits.
    #[error("a plain document of more than {} MiB is not read; write its steps as JSON Lines", DOCUMENT >> 20)]
    TooLarge,
    /// The plain form is wrong somewhere.
    #[error("line {line}, column {column}: {message}")]
    Plain {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong, and what is expected.
        message: String,
    },
}

/// Reads lines of one format.
pub(super) trait LineReader {
    /// Takes a line without its end; it is not empty.
    fn line(&mut self, number: u64, line: &[u8], into: &mut Reading);
    /// There are no more.
    fn finish(&mut self, into: &mut Reading);
}
