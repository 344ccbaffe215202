//! Known values, in whatever spelling a program prints them.
//!
//! There are too many to list: strings of languages in strings of others, quotes of shells, SQL and CSV, entities, percent encoding of some
//! characters or of all. So a text and a value are both read until nothing in them is spelt any more, and what spelling needs is left out of
//! both: backslashes, quotes, blanks, and all that is no ASCII. Two spellings of one value are the same then.
//!
//! That is done around a part of a value alone that no spelling changes, which ordinary texts do not have.

use super::decoded::read_once;
use super::environment::FEWEST_BYTES;
use aho_corasick::{AhoCorasick, MatchKind};
use std::ops::Range;

/// A spelling of a spelling of a spelling is read; no program writes more.
const DEPTH: usize = 6;
/// No character is spelt with more: `&amp;amp;#x0041;`, `\\\\u{000041}`.
const LONGEST: usize = 16;
/// A shorter part of letters and digits is in every other text.
const FEWEST_UNCHANGED: usize = 2;

/// Finds the values.
#[derive(Debug)]
pub(super) struct Spelt {
    /// Of each value the longest part of letters and digits, as it stands in every spelling.
    unchanged: AhoCorasick,
    /// The values as they are read.
    read: AhoCorasick,
    /// What may belong to a value before and behind such a part.
    around: usize,
}

/// Bytes that were read, each with where it came from.
struct Read {
    bytes: Vec<u8>,
    from: Vec<Range<usize>>,
}

impl Read {
    /// A part of a text, until nothing in it is spelt.
    fn of(text: &[u8], window: Range<usize>) -> Self {
        let mut read = Self { bytes: text[window.clone()].to_vec(), from: window.map(|at| at..at + 1).collect() };
        for _ in 0..DEPTH {
            let (mut bytes, mut from) = (Vec::with_capacity(read.bytes.len()), Vec::with_capacity(read.bytes.len()));
            read_once(&read.bytes, |byte, of| {
                bytes.push(byte);
                from.push(read.from[of.start].start..read.from[of.end - 1].end);
            });
            let is_done = bytes.len() == read.bytes.len();
            read = Self { bytes, from };
            if is_done {
                break;
            }
        }
        let counts: Vec<bool> = read.bytes.iter().map(|byte| counts(*byte)).collect();
        let (mut of_bytes, mut of_from) = (counts.iter(), counts.iter());
        read.bytes.retain(|_| of_bytes.next() == Some(&true));
        read.from.retain(|_| of_from.next() == Some(&true));
        read
    }
}

/// Whether a byte says which value it is, and not only how it is spelt.
fn counts(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\\\"'`^+".contains(&byte)
}

/// The longest part of letters and digits.
fn unchanged(value: &str) -> Option<&str> {
    let parts = value.split(|c: char| !c.is_ascii_alphanumeric());
    parts.max_by_key(|part| part.len()).filter(|part| part.len() >= FEWEST_UNCHANGED)
}

impl Spelt {
    /// None if no value has enough that counts.
    pub(super) fn of<'a>(values: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let (mut parts, mut reads, mut around) = (Vec::new(), Vec::new(), 0);
        for value in values {
            let read = Read::of(value.as_bytes(), 0..value.len()).bytes;
            let Some(part) = unchanged(value).filter(|_| read.len() >= FEWEST_BYTES) else { continue };
            parts.push(part);
            reads.push(read);
            around = around.max(value.len() * LONGEST);
        }
        if parts.is_empty() {
            return None;
        }
        let read = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(reads).ok()?;
        Some(Self { unchanged: AhoCorasick::new(parts).ok()?, read, around })
    }

    /// Where the values stand in a text, with their spelling.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut windows: Vec<Range<usize>> = Vec::new();
        for part in self.unchanged.find_overlapping_iter(text) {
            let window = part.start().saturating_sub(self.around)..(part.end() + self.around).min(text.len());
            match windows.last_mut() {
                Some(last) if window.start <= last.end => last.end = last.end.max(window.end),
                _ => windows.push(window),
            }
        }
        windows.into_iter().flat_map(|window| self.find_in(text, window)).collect()
    }

    fn find_in(&self, text: &str, window: Range<usize>) -> Vec<Range<usize>> {
        let read = Read::of(text.as_bytes(), window);
        // What is no character's border is moved to one.
        let place = |found: aho_corasick::Match| {
            let (first, last) = (&read.from[found.start()], &read.from[found.end() - 1]);
            text.floor_char_boundary(first.start)..text.ceil_char_boundary(last.end)
        };
        self.read.find_iter(&read.bytes).map(place).collect()
    }
}
