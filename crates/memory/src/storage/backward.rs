//! Searching a file from its end, without reading more of it than needed.
//!
//! Blocks are read from the end towards the beginning, but searched forward, because substring search has vector
//! instructions only in that direction. The needle is the wanted id as it stands in the JSON text; only lines that
//! contain it are parsed, and the parsed fields decide.

use super::lines::MAX_LINE;
use super::record::{Decoded, decode};
use super::seal::{Belief, LineKind};
use crate::domain::Reflection;
use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// How much is read at once: fits into the second-level cache together with what it is copied from.
const BLOCK: usize = 128 * 1024;

/// A readable line with the ends of its neighbour and its own.
const LONGEST: usize = MAX_LINE + 2;

/// Which reflections are looked for.
#[derive(Default)]
pub(super) struct Wanted {
    /// Only this one.
    pub(super) id: Option<String>,
    /// Only of this task.
    pub(super) task: Option<String>,
    /// Only of this subtask.
    pub(super) subtask: Option<String>,
    /// At most so many.
    pub(super) limit: usize,
    /// What this program did not write, and nobody adopted, is foreign.
    pub(super) belief: Arc<Belief>,
    /// Foreign ones are left out.
    pub(super) own_only: bool,
}

impl Wanted {
    /// Whether a reflection is one of those looked for.
    pub(super) fn matches(&self, reflection: &Reflection) -> bool {
        let fits = |wanted: &Option<String>, have: &str| wanted.as_ref().is_none_or(|w| w == have);
        fits(&self.id, reflection.id.as_str())
            && fits(&self.task, &reflection.task_id)
            && fits(&self.subtask, &reflection.subtask_id)
    }

    /// Finds what every line looked for contains, if there is such a thing.
    pub(super) fn finder(&self) -> Option<Finder<'static>> {
        self.needle().map(|needle| Finder::new(&needle).into_owned())
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
    let mut buffer = buffer_for(&range, BLOCK);
    let mut end = range.end;
    while end > range.start && !search.is_full() {
        let start = range.start.max(end.saturating_sub(buffer.len() as u64));
        let block = read_block(file, start..end, &mut buffer)?;
        // Unless the range begins here, the block begins inside a line, which the next block will hold whole.
        let first =
            if start == range.start { Some(0) } else { memchr(b'\n', &block[..block.len() - 1]).map(|i| i + 1) };
        if let Some(first) = first {
            search.block(&block[first..]);
            end = start + first as u64;
            buffer.truncate(BLOCK);
        } else if buffer.len() < LONGEST {
            buffer.resize(LONGEST, 0);
        } else {
            end = line_start(file, range.start..start)?;
        }
    }
    Ok(search.found)
}

/// The whole lines before `end`, about `most` bytes of them and at least one line, and where they begin. Of a line that is too long to be
/// read only so much is there that it shows.
pub(super) fn lines_before<'b>(
    file: &File,
    end: u64,
    most: u64,
    buffer: &'b mut Vec<u8>,
) -> io::Result<(&'b [u8], u64)> {
    let about = end.saturating_sub(most);
    // The line that lies there belongs to the page before, unless it is the only one.
    let first = if about == 0 { 0 } else { line_start(file, 0..about)? };
    let behind = if first == about { about } else { after_line(file, about..end)?.unwrap_or(first) };
    let from = behind.max(end.saturating_sub(most.max(LONGEST as u64)));
    buffer.resize(usize::try_from(end - from).map_err(io::Error::other)?, 0);
    file.read_exact_at(buffer, from)?;
    Ok((buffer, behind))
}

/// Where the line ends that lies at the beginning of the range; none if it reaches to its end.
fn after_line(file: &File, range: Range<u64>) -> io::Result<Option<u64>> {
    let mut buffer = vec![0; BLOCK];
    let mut start = range.start;
    while start < range.end {
        let block = read_block(file, start..range.end.min(start + BLOCK as u64), &mut buffer)?;
        if let Some(at) = memchr(b'\n', block) {
            let after = start + at as u64 + 1;
            return Ok((after < range.end).then_some(after));
        }
        start += block.len() as u64;
    }
    Ok(None)
}

/// Where the line that reaches to the end of `range` begins: after the last line end in it.
pub(super) fn line_start(file: &File, range: Range<u64>) -> io::Result<u64> {
    let mut buffer = buffer_for(&range, 4096);
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

/// A buffer for all of a range that is smaller than `most`: usually only one new record is read.
fn buffer_for(range: &Range<u64>, most: usize) -> Vec<u8> {
    let len = usize::try_from(range.end - range.start).unwrap_or(most);
    vec![0; len.min(most)]
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
        if let Some(finder) = &self.finder {
            let hits = lines_with(finder, block);
            return self.take(hits.into_iter().rev().map(|range| &block[range]));
        }
        let mut rest = Some(block.strip_suffix(b"\n").unwrap_or(block));
        self.take(std::iter::from_fn(|| {
            let lines = rest?;
            let start = memrchr(b'\n', lines);
            rest = start.map(|i| &lines[..i]);
            Some(&lines[start.map_or(0, |i| i + 1)..])
        }));
    }

    fn take<'b>(&mut self, lines: impl Iterator<Item = &'b [u8]>) {
        for line in lines {
            if self.is_full() {
                return;
            }
            if let Decoded::Record(mut reflection) = decode(Some(line))
                && self.wanted.matches(&reflection)
            {
                let belief = &self.wanted.belief;
                belief.weigh(line, &mut reflection);
                if !self.wanted.own_only || belief.holds(LineKind::Reflection, line) {
                    self.found.push(*reflection);
                }
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
    use std::io::Write;

    #[test]
    fn the_needle_is_what_no_writer_escapes() {
        for (id, expected) in [
            ("t-1", Some("\"t-1\"")),
            ("", Some("\"\"")),
            ("tâche-12", Some("che-12")),
            ("a/bcd/e", Some("bcd")),
            ("日本", None),
            ("a\"bc", Some("bc")),
            ("日x本", Some("x")),
        ] {
            assert_eq!(needle(id).map(|n| String::from_utf8(n).unwrap()), expected.map(str::to_owned), "{id}");
        }
    }

    fn record(n: usize, subtask: &str, filling: usize) -> String {
        format!(
            r#"{{"id":"{n}","sessionId":"","taskId":"t","subtaskId":"{subtask}","attemptNumber":1,"category":"root_cause","analysis":"{}","suggestion":"","createdAt":"2026-01-01T00:00:00Z"}}"#,
            "x".repeat(filling)
        )
    }

    /// Lines of every length around the sizes of the blocks, searched with and without a needle, from every end.
    #[test]
    fn lines_are_found_wherever_the_blocks_are_cut() {
        let empty = record(10, "s0", 0).len();
        let lengths = [0, 900, BLOCK - empty - 2, 5000, BLOCK - empty - 1, BLOCK - empty, 0, 400_000]
            .into_iter()
            .chain([MAX_LINE - empty - 1, MAX_LINE - empty, MAX_LINE - empty + 1, 2 * MAX_LINE, 7])
            .chain((0..300).map(|n| n * 37));
        let mut file = tempfile::tempfile().unwrap();
        let (mut end, mut stored) = (0, Vec::new());
        for (n, length) in (10..).zip(lengths) {
            let subtask = format!("s{}", n % 2);
            let line = record(n, &subtask, length) + "\n";
            file.write_all(line.as_bytes()).unwrap();
            end += line.len() as u64;
            if line.len() <= MAX_LINE + 1 {
                stored.push((n, n % 2));
            }
            if n > 40 && n % 100 != 0 {
                continue;
            }
            for (subtask, limit) in [(None, 2), (Some(0), usize::MAX), (Some(1), 1), (Some(2), 1)] {
                let wanted = Wanted { subtask: subtask.map(|s| format!("s{s}")), limit, ..Wanted::default() };
                let found = newest(&file, 0..end, &wanted).unwrap();
                let found: Vec<usize> = found.iter().map(|r| r.id.as_str().parse().unwrap()).collect();
                let all = stored.iter().rev().filter(|(_, s)| subtask.is_none_or(|w| w == *s));
                let expected: Vec<usize> = all.map(|(n, _)| *n).take(limit).collect();
                assert_eq!(found, expected, "{subtask:?} after line {n}");
            }
        }
    }
}
