//! Lines of a stream that comes in pieces, in bounded memory.

/// A longer line is skipped and counted. Agents put whole files and pictures into one line, so it is generous.
pub(super) const LINE_BYTES: usize = 8 * 1024 * 1024;

/// Cuts a stream into lines; holds at most one unfinished line.
#[derive(Debug, Default)]
pub struct Lines {
    begun: Vec<u8>,
    /// The line that is being read is too long already.
    skipping: bool,
}

/// One line of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// Without its line feed.
    Whole(&'a [u8]),
    /// It was longer than the limit of a line.
    TooLong,
}

impl Lines {
    /// Takes a piece and hands over the lines that end in it.
    pub fn feed(&mut self, mut piece: &[u8], mut line: impl FnMut(Line<'_>)) {
        while let Some(end) = memchr::memchr(b'\n', piece) {
            let (head, rest) = piece.split_at(end);
            piece = &rest[1..];
            if self.begun.is_empty() && !self.skipping {
                line(whole(head));
                continue;
            }
            self.hold(head);
            self.finish(&mut line);
        }
        self.hold(piece);
    }

    /// The last line, if the stream did not end with a line feed.
    pub fn finish(&mut self, mut line: impl FnMut(Line<'_>)) {
        if std::mem::take(&mut self.skipping) {
            line(Line::TooLong);
        } else if !self.begun.is_empty() {
            line(whole(&self.begun));
        }
        self.begun.clear();
        // A long line must not keep its memory for the rest of the run.
        self.begun.shrink_to(64 * 1024);
    }

    fn hold(&mut self, bytes: &[u8]) {
        if self.skipping {
            return;
        }
        if self.begun.len() + bytes.len() > LINE_BYTES {
            self.begun = Vec::new();
            self.skipping = true;
        } else {
            self.begun.extend_from_slice(bytes);
        }
    }
}

fn whole(line: &[u8]) -> Line<'_> {
    if line.len() > LINE_BYTES { Line::TooLong } else { Line::Whole(line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_do_not_depend_on_how_the_stream_is_cut() {
        let check = |stream: &str, expected: &[&str]| {
            for size in 1..=stream.len().max(1) {
                let mut lines = Lines::default();
                let mut found = Vec::new();
                let mut take = |line: Line<'_>| match line {
                    Line::Whole(line) => found.push(String::from_utf8_lossy(line).into_owned()),
                    Line::TooLong => found.push("too long".to_owned()),
                };
                stream.as_bytes().chunks(size).for_each(|piece| lines.feed(piece, &mut take));
                lines.finish(&mut take);
                assert_eq!(found, expected, "pieces of {size}");
            }
        };
        check("a\nbc\n", &["a", "bc"]);
        check("a\n\nlast", &["a", "", "last"]);
        check("", &[]);
    }

    #[test]
    fn a_line_without_end_is_skipped_in_bounded_memory() {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        let piece = vec![b'x'; 64 * 1024];
        for _ in 0..(200 * 16) {
            lines.feed(&piece, |_| unreachable!("it has not ended"));
            assert!(lines.begun.capacity() <= 2 * LINE_BYTES);
        }
        lines.feed(b"\nnext\n", |line| found.push(matches!(line, Line::TooLong)));
        assert_eq!(found, [true, false]);
        assert!(lines.begun.capacity() <= 64 * 1024);
    }
}
