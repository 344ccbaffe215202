//! Reads what `git log --patch` prints.

use super::patch::Patch;
use crate::domain::Commit;

/// A commit begins with a byte that no line of a patch begins with; its message ends with a byte that it cannot hold.
pub(super) const FORMAT: &str = "--format=%x01%H%x00%P%x00%ct%x00%B%x00";

/// So much of a message is kept.
const KEPT_MESSAGE: usize = 8 * 1024;
/// So much of a line is looked at: a longer one is a generated file's.
const KEPT_LINE: usize = 16 * 1024;
/// Id, parents, time, message.
const FIELDS: usize = 4;

/// Gets git's output in pieces, and gives commits.
pub(super) struct LogReader<F> {
    give: F,
    state: State,
    fields: Vec<Vec<u8>>,
    held: Vec<u8>,
    patch: Patch,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the beginning of a line, in or before a patch.
    LineStart,
    /// In a line of a patch.
    Line,
    /// In a commit's fields.
    Fields,
}

impl<F: FnMut(Commit)> LogReader<F> {
    pub(super) fn new(give: F) -> Self {
        Self { give, state: State::LineStart, fields: Vec::new(), held: Vec::new(), patch: Patch::default() }
    }

    /// Takes a piece.
    pub(super) fn read(&mut self, mut piece: &[u8]) {
        while let Some(first) = piece.first() {
            match self.state {
                State::LineStart if *first == 1 => {
                    self.finish_commit();
                    self.state = State::Fields;
                    piece = &piece[1..];
                }
                State::LineStart => self.state = State::Line,
                State::Line => {
                    let end = memchr::memchr(b'\n', piece);
                    self.hold(&piece[..end.unwrap_or(piece.len())], KEPT_LINE);
                    if end.is_some() {
                        self.patch.line(&self.held);
                        self.held.clear();
                        self.state = State::LineStart;
                    }
                    piece = &piece[end.map_or(piece.len(), |end| end + 1)..];
                }
                State::Fields => {
                    let end = memchr::memchr(0, piece);
                    self.hold(&piece[..end.unwrap_or(piece.len())], KEPT_MESSAGE);
                    if end.is_some() {
                        self.fields.push(std::mem::take(&mut self.held));
                        if self.fields.len() == FIELDS {
                            // The rest of this line is its end.
                            self.state = State::Line;
                        }
                    }
                    piece = &piece[end.map_or(piece.len(), |end| end + 1)..];
                }
            }
        }
    }

    /// The output is over.
    pub(super) fn end(mut self) {
        if self.state == State::Line {
            self.patch.line(&self.held);
        }
        self.finish_commit();
    }

    fn hold(&mut self, bytes: &[u8], limit: usize) {
        let room = limit.saturating_sub(self.held.len());
        self.held.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn finish_commit(&mut self) {
        let fields = std::mem::take(&mut self.fields);
        let files = std::mem::take(&mut self.patch).files();
        let [id, parents, time, message] = fields.as_slice() else { return };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let message = text(message);
        let (subject, body) = message.trim_start().split_once('\n').unwrap_or((message.trim_start(), ""));
        (self.give)(Commit {
            id: text(id),
            parents: text(parents).split_whitespace().map(str::to_owned).collect(),
            time: text(time).parse().unwrap_or(0),
            subject: subject.trim_end().to_owned(),
            body: body.trim().to_owned(),
            files,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &[u8] = b"\x01aa\0bb cc\x005\0Merge b\n\n\x01 odd\n\0\n\
        \x01bb\0cc\x004\0fix: it\n\nbecause\n\0\n\n\
        diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n one\n+two\n\
        \x01cc\0\x003\0start\n\0\n";

    fn read(pieces: &[&[u8]]) -> Vec<Commit> {
        let mut commits = Vec::new();
        let mut reader = LogReader::new(|commit| commits.push(commit));
        for piece in pieces {
            reader.read(piece);
        }
        reader.end();
        commits
    }

    #[test]
    fn commits_come_whole_wherever_the_pieces_end() {
        let whole = read(&[LOG]);
        let seen: Vec<_> = whole.iter().map(|c| (c.id.as_str(), c.parents.len(), c.time, c.subject.as_str())).collect();
        assert_eq!(seen, [("aa", 2, 5, "Merge b"), ("bb", 1, 4, "fix: it"), ("cc", 0, 3, "start")]);
        assert_eq!((whole[0].body.as_str(), whole[1].body.as_str()), ("\u{1} odd", "because"));
        assert_eq!((whole[1].files[0].path.as_str(), whole[1].files[0].lines), ("a", 1));
        for at in 0..LOG.len() {
            assert_eq!(read(&[&LOG[..at], &LOG[at..]]), whole, "split at {at}");
        }
        let bytes: Vec<&[u8]> = LOG.chunks(1).collect();
        assert_eq!(read(&bytes), whole);
    }

    proptest::proptest! {
        #[test]
        fn no_output_breaks_it(bytes in proptest::collection::vec(0u8..=130, 0..400)) {
            read(&[&bytes]);
        }
    }
}
