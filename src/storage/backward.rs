//! Searching a file from its end, without reading more of it than needed.
//!
//! Blocks are read from the end towards the beginning, but searched forward, because substring search has vector
//! instructions only in that direction. The needle is the wanted id as it stands in the JSON text; only lines that
//! contain it are parsed, and the parsed fields decide.

use super::lines::MAX_LINE;
use super::record::Decoded;
use super::record::decode;
use crate::domain::Reflection;
use memchr::memchr;
use memchr::memmem::Finder;
use memchr::memrchr;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// How much is read at once: fits into the second-level cache together with what it is copied from.
const BLOCK: usize = 128 * 1024;

/// Which reflections are looked for.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Only this one.
    pub(super) id: Option<String>,
    /// Only of this task.
    pub(super) task: Option<String>,
    /// Only of this subtask.
    pub(super) subtask: Option<String>,
    /// At most so many.
    pub(super) limit: usize,
}

impl Wanted {
    /// Whether a reflection is one of those looked for.
    pub(super) fn matches(&self, reflection: &Reflection) -> bool {
        let fits = |wanted: &Option<String>, have: &str| wanted.as_ref().is_none_or(|w| w == have);
        fits(&self.id, reflection.id.as_str())
            && fits(&self.task, &reflection.task_id)
            && fits(&self.subtask, &reflection.subtask_id)
    }

    /// Bytes that every line looked for contains, if there are any: the most selective id.
    fn needle(&self) -> Option<Vec<u8>> {
        let id = self.id.as_ref().or(self.subtask.as_ref());
        needle(id.or(self.task.as_ref())?)
    }
}

/// The longest part of the id that no writer of JSON escapes; with its quotes if that is all of it.
fn needle(id: &str) -> Option<Vec<u8>> {
    let escapable = |c: char| !(c.is_ascii_alphanumeric() || " ._-:".contains(c));
    let plain = id.split(escapable).max_by_key(|part| part.len())?;
    if plain.is_empty() && !id.is_empty() {
        return None;
    }
    let text = if plain == id { format!("\"{plain}\"") } else { plain.to_owned() };
    Some(text.into_bytes())
}

/// The newest reflections wanted in `range`, newest first; the range begins and ends between lines.
pub(super) fn newest(file: &File, range: Range<u64>, wanted: &Wanted) -> io::Result<Vec<Reflection>> {
    let needle = wanted.needle();
    let mut search = Search { wanted, finder: needle.as_deref().map(Finder::new), found: Vec::new() };
    let mut buffer = vec![0; BLOCK];
    let mut end = range.end;
    while end > range.start && !search.is_full() {
        let start = range.start.max(end.saturating_sub(buffer.len() as u64));
        let block = read_block(file, start..end, &mut buffer)?;
        // Unless the range begins here, the block begins inside a line, which the next block will hold whole.
        let lines =
            if start == range.start { Some(0) } else { memchr(b'\n', &block[..block.len() - 1]).map(|i| i + 1) };
        match lines {
            Some(first) => {
                search.block(&block[first..]);
                end = start + first as u64;
                buffer.truncate(BLOCK);
            }
            None if buffer.len() < MAX_LINE + 2 => buffer.resize(MAX_LINE + 2, 0),
            None => end = line_start(file, range.start..start)?,
        }
    }
    Ok(search.found)
}

/// Where the line that reaches to the end of `range` begins: after the last line end in it.
pub(super) fn line_start(file: &File, range: Range<u64>) -> io::Result<u64> {
    let mut buffer = vec![0; 4096.min(usize::try_from(range.end - range.start).unwrap_or(4096))];
    let mut end = range.end;
    while end > range.start {
        let start = range.start.max(end.saturating_sub(buffer.len() as u64));
        let block = read_block(file, start..end, &mut buffer)?;
        if let Some(i) = memrchr(b'\n', block) {
            return Ok(start + i as u64 + 1);
        }
        end = start;
        buffer.resize(BLOCK, 0);
    }
    Ok(range.start)
}

fn read_block<'b>(file: &File, range: Range<u64>, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
    let len = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
    let block = &mut buffer[..len];
    file.read_exact_at(block, range.start)?;
    Ok(block)
}

struct Search<'w> {
    wanted: &'w Wanted,
    finder: Option<Finder<'w>>,
    found: Vec<Reflection>,
}

impl Search<'_> {
    fn is_full(&self) -> bool {
        self.found.len() >= self.wanted.limit
    }

    /// Takes what is wanted from a block of whole lines, the last line first.
    fn block(&mut self, block: &[u8]) {
        match &self.finder {
            Some(finder) => {
                let hits = lines_with(finder, block);
                self.take(hits.into_iter().rev().map(|range| &block[range]));
            }
            None => {
                let block = block.strip_suffix(b"\n").unwrap_or(block);
                let mut rest = Some(block);
                self.take(std::iter::from_fn(|| {
                    let lines = rest?;
                    let start = memrchr(b'\n', lines);
                    rest = start.map(|i| &lines[..i]);
                    Some(&lines[start.map_or(0, |i| i + 1)..])
                }));
            }
        }
    }

    fn take<'b>(&mut self, lines: impl Iterator<Item = &'b [u8]>) {
        for line in lines {
            if self.is_full() {
                return;
            }
            if let Decoded::Record(reflection) = decode(Some(line))
                && self.wanted.matches(&reflection)
            {
                self.found.push(*reflection);
            }
        }
    }
}

/// The lines of a block that contain the needle, in order.
fn lines_with(finder: &Finder<'_>, block: &[u8]) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut from = 0;
    while let Some(hit) = finder.find(&block[from..]) {
        let hit = from + hit;
        let start = memrchr(b'\n', &block[from..hit]).map_or(from, |i| from + i + 1);
        let end = memchr(b'\n', &block[hit..]).map_or(block.len(), |i| hit + i);
        lines.push(start..end);
        from = block.len().min(end + 1);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_needle_is_what_no_writer_escapes() {
        for (id, expected) in [
            ("t-1", Some(r#""t-1""#)),
            ("", Some(r#""""#)),
            ("tâche-12", Some("che-12")),
            ("a/bcd/e", Some("bcd")),
            ("日本", None),
            ("a\"bc", Some("bc")),
            ("日x本", Some("x")),
        ] {
            assert_eq!(needle(id).map(|n| String::from_utf8(n).unwrap()), expected.map(str::to_owned), "{id}");
        }
    }
}
