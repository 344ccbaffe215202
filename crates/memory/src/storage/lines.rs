//! Reading lines forward, whatever bytes the file holds.

use memchr::memchr;
use std::io;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;

/// Lines longer than this are not read: 1 MiB, some 800 times a usual reflection. It bounds the memory of every reader.
pub const MAX_LINE: usize = 1 << 20;

/// One line of a file.
pub struct Line<'a> {
    /// Counted from 1.
    pub number: usize,
    /// Offset of its first byte.
    pub start: u64,
    /// In bytes, without its end.
    pub length: usize,
    /// Without its end; nothing if it is longer than [`MAX_LINE`].
    pub content: Option<&'a [u8]>,
    /// It has an end: whoever writes it is done with it.
    pub ended: bool,
}

/// Shows every line to `visit`, in order; a last line without an end is one too.
///
/// # Errors
///
/// Of the reader, or the first one of `visit`, which ends the reading.
pub fn for_each_line(reader: impl Read, mut visit: impl FnMut(Line<'_>) -> io::Result<()>) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(256 * 1024, reader);
    let (mut number, mut start) = (1, 0);
    let mut partial = Vec::new();
    let mut length = 0;
    loop {
        let chunk = match reader.fill_buf() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        let end = memchr(b'\n', chunk);
        let piece = &chunk[..end.unwrap_or(chunk.len())];
        let at_end = chunk.is_empty();
        if at_end && length == 0 {
            return Ok(());
        }
        length += piece.len();
        let whole = length == piece.len() && (end.is_some() || at_end);
        if !whole && length <= MAX_LINE {
            partial.extend_from_slice(piece);
        }
        if end.is_some() || at_end {
            let content = if whole { piece } else { &partial };
            let content = (length <= MAX_LINE).then_some(content);
            visit(Line { number, start, length, content, ended: end.is_some() })?;
            (number, start, length) = (number + 1, start + length as u64 + 1, 0);
            partial.clear();
        }
        let used = piece.len() + usize::from(end.is_some());
        reader.consume(used);
        if at_end {
            return Ok(());
        }
    }
}

/// The line without what surrounds a record but is none of it: a BOM, blanks, `\r`, and the NUL bytes that a file
/// system may leave after a power cut.
pub(super) fn bare(line: &[u8]) -> &[u8] {
    &line[bare_range(line)]
}

/// Where in the line [`bare`] is.
pub(super) fn bare_range(line: &[u8]) -> Range<usize> {
    let mark = if line.starts_with(BOM) { BOM.len() } else { 0 };
    let outside = |b: &u8| b.is_ascii_whitespace() || *b == 0;
    let start = line[mark..].iter().position(|b| !outside(b)).map_or(line.len(), |i| mark + i);
    let end = line.iter().rposition(|b| !outside(b)).map_or(start, |i| start.max(i + 1));
    start..end
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// What is wrong with a line's JSON, with the column and without a line number (each line is parsed alone).
pub(super) fn json_problem(error: &serde_json::Error) -> String {
    let words = error.to_string();
    let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
    if error.is_data() { words.to_owned() } else { format!("not JSON: {words} at column {}", error.column()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<(usize, u64, Option<Vec<u8>>)> {
        let mut seen = Vec::new();
        for_each_line(bytes, |line| {
            seen.push((line.number, line.start, line.content.map(<[u8]>::to_vec)));
            Ok(())
        })
        .unwrap();
        seen
    }

    #[test]
    fn every_line_has_its_number_and_offset() {
        assert_eq!(lines(b""), []);
        assert_eq!(
            lines(b"a\n\nbc"),
            [(1, 0, Some(b"a".to_vec())), (2, 2, Some(vec![])), (3, 3, Some(b"bc".to_vec()))]
        );
        assert_eq!(lines(b"a\n").len(), 1);
    }

    #[test]
    fn lines_across_buffers_are_whole_up_to_the_limit() {
        for (len, readable) in [(300_000, true), (MAX_LINE, true), (MAX_LINE + 1, false), (3 * MAX_LINE, false)] {
            let mut bytes = b"a\n".to_vec();
            bytes.extend(std::iter::repeat_n(b'x', len));
            bytes.extend(b"\nb");
            let seen = lines(&bytes);
            assert_eq!(seen.len(), 3);
            assert_eq!(seen[1].2.as_ref().map(Vec::len), readable.then_some(len));
            assert_eq!(seen[2], (3, 3 + len as u64, Some(b"b".to_vec())));
        }
    }

    #[test]
    fn what_surrounds_a_record_is_taken_off() {
        for (line, record) in
            [(&b"\xEF\xBB\xBF{}\r"[..], &b"{}"[..]), (b"\0\0{} \0", b"{}"), (b" \0 ", b""), (b"", b"")]
        {
            assert_eq!(bare(line), record);
        }
    }
}
