//! A text as a person sees it, and where its parts stand.

use icu_properties::CodePointSetData;
use icu_properties::props::DefaultIgnorableCodePoint;
use std::ops::Range;

const PIECE: usize = 256;

/// A text without escape sequences, control characters and what has no width.
pub(super) struct Seen {
    text: String,
    /// Where each part of it begins, here and in the whole text.
    parts: Vec<(usize, usize)>,
}

impl Seen {
    /// None if everything in it is seen.
    pub(super) fn of(text: &str) -> Option<Self> {
        // Most texts are plain; whatever is not has a byte of these.
        let is_unseen =
            |byte: &u8| !byte.is_ascii() || *byte == 0x7f || *byte < b' ' && !matches!(byte, 0x09 | 0x0a | 0x0c | 0x0d);
        // Piece by piece without a branch, which is many bytes at once.
        let has_unseen = |piece: &[u8]| piece.iter().fold(false, |any, byte| any | is_unseen(byte));
        if !text.as_bytes().chunks(PIECE).any(has_unseen) {
            return None;
        }
        let mut seen = Self { text: String::with_capacity(text.len()), parts: Vec::new() };
        for part in anstream::adapter::strip_str(text) {
            let at = part.as_ptr() as usize - text.as_ptr() as usize;
            seen.push(part, at);
        }
        (seen.text.len() < text.len()).then_some(seen)
    }

    /// A part of the whole text, which begins there.
    fn push(&mut self, part: &str, at: usize) {
        let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>();
        let mut from = 0;
        let unseen = part.char_indices().filter(|(_, c)| !c.is_ascii() && ignorable.contains(*c));
        for (i, c) in unseen {
            self.push_seen(&part[from..i], at + from);
            from = i + c.len_utf8();
        }
        self.push_seen(&part[from..], at + from);
    }

    fn push_seen(&mut self, part: &str, at: usize) {
        if !part.is_empty() {
            self.parts.push((self.text.len(), at));
            self.text.push_str(part);
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Where a part of this text stands in the whole one, with what is not seen in its middle.
    pub(super) fn range(&self, seen: &Range<usize>) -> Range<usize> {
        if seen.is_empty() {
            return self.place(seen.start)..self.place(seen.start);
        }
        self.place(seen.start)..self.place(seen.end - 1) + 1
    }

    fn place(&self, at: usize) -> usize {
        let after = self.parts.partition_point(|(here, _)| *here <= at);
        self.parts.get(after.saturating_sub(1)).map_or(0, |(here, there)| there + (at - here))
    }
}
