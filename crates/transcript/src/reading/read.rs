//! Reading a transcript, line by line or as one document.

use super::acp::Acp;
use super::format::{FORMATS, Format, detect};
use super::own::Own;
use super::plain;
use super::recorded::Recorded;
use crate::domain::{Ending, Trace};
use crate::streams::program::{Line, Lines, Recording};
use std::collections::BTreeMap;
use std::io::Read;

/// So much of the beginning decides the format.
const BEGINNING: usize = 256 * 1024;
/// So much is read at a time.
const PIECE: usize = 256 * 1024;
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

/// Reads a transcript. Its format is that of its first records where none is given.
///
/// Memory is bounded, whatever is read: a line over 8 MiB is skipped and counted, long texts are cut in their middle, and
/// of very many tool calls the last are kept.
///
/// # Errors
/// [`ReadError`] if nothing of it can be read. Single lines that cannot are counted in [`Reading::unread`].
///
/// ```
/// # use reflexion_transcript::reading::read;
/// let document = r#"{"task": "Fix it", "tools": [{"tool": "bash", "command": "make test", "exitCode": 2}]}"#;
/// let reading = read(document.as_bytes(), None)?;
/// assert_eq!(reading.trace.actions[0].command.as_deref(), Some("make test"));
/// # Ok::<(), reflexion_transcript::reading::ReadError>(())
/// ```
pub fn read(mut input: impl Read, format: Option<Format>) -> Result<Reading, ReadError> {
    let mut beginning = Vec::new();
    input.by_ref().take(BEGINNING as u64).read_to_end(&mut beginning)?;
    let whole = beginning.len() < BEGINNING;
    if beginning.starts_with(b"\xef\xbb\xbf") {
        beginning.drain(..3);
    }
    if whole && beginning.trim_ascii().is_empty() {
        return Err(ReadError::Empty);
    }
    let Some(format) = format.or_else(|| detect(&beginning)) else {
        return Err(ReadError::Unrecognised(start_of(&beginning)));
    };
    let reading = Reading {
        format,
        trace: Trace::default(),
        task: None,
        session: None,
        ending: None,
        records: 0,
        unread: Unread::default(),
    };
    match format {
        Format::Plain => {
            input.take(DOCUMENT + 1 - beginning.len() as u64).read_to_end(&mut beginning)?;
            if beginning.len() as u64 > DOCUMENT {
                return Err(ReadError::TooLarge);
            }
            plain::document(&beginning, reading)
        }
        Format::Acp => lines(&mut Acp::default(), &beginning, input, reading),
        Format::Reflexion => lines(&mut Own, &beginning, input, reading),
        Format::Agent(agent, recording) => match Recorded::new(agent, recording) {
            Some(mut recorded) => lines(&mut recorded, &beginning, input, reading),
            None => Err(ReadError::Unrecognised(start_of(&beginning))),
        },
    }
}

fn lines(
    reader: &mut dyn LineReader,
    beginning: &[u8],
    mut input: impl Read,
    mut into: Reading,
) -> Result<Reading, ReadError> {
    let (mut number, mut torn) = (0, false);
    let mut take = |line: Line<'_>| {
        number += 1;
        match line {
            Line::Whole(line) => {
                let line = line.trim_ascii();
                if line.starts_with(b"{") {
                    torn = !line.ends_with(b"}");
                }
                if !line.is_empty() {
                    reader.line(number, line, &mut into);
                }
            }
            Line::TooLong => {
                into.unread.add("line over 8 MiB", 1);
                into.unread.note(number);
            }
        }
    };
    let mut cut = Lines::default();
    cut.feed(beginning, &mut take);
    let mut piece = vec![0; PIECE];
    loop {
        match input.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => cut.feed(&piece[..count], &mut take),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    cut.finish(&mut take);
    reader.finish(&mut into);
    if into.records == 0 {
        let first = into.unread.by_name.keys().next().map(|name| format!(" (the first is: {name})"));
        return Err(ReadError::NoRecords { format: into.format, lines: number, first: first.unwrap_or_default() });
    }
    // A stream closes with a record that says how it ended, the agents' own transcripts have none.
    let closes = !matches!(into.format, Format::Agent(_, Recording::Transcript));
    into.trace.broken_off =
        torn || into.ending.is_none() && (into.trace.running().is_some() || closes && !into.trace.rests());
    Ok(into)
}

/// The beginning of what is read, for a message.
fn start_of(text: &[u8]) -> String {
    let line = text.trim_ascii_start().split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(&line[..line.len().min(200)]);
    crate::prompt::shorten(&crate::prompt::plain(&line), 60).into_owned()
}
