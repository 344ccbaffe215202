//! Reading a transcript, line by line or as one document.

use super::acp::Acp;
use super::format::{Format, detect};
use super::own::Own;
use super::plain;
use super::recorded::Recorded;
use super::result::{DOCUMENT, LineReader, ReadError, Reading, Unread};
use crate::domain::Trace;
use crate::streams::program::{Line, Lines, Recording};
use std::io::Read;

/// So much of the beginning decides the format.
const BEGINNING: usize = 256 * 1024;
/// So much is read at a time.
const PIECE: usize = 256 * 1024;

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
