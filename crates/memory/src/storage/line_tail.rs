//! Reading on in a file of lines that somebody else appends to.

use super::lines::{Line, for_each_line};
use crate::files::Place;
use std::fs::File;
use std::io;
use std::io::{Read, Seek, SeekFrom};

/// How far a file of lines was read.
pub(super) struct LineTail {
    place: Place,
    /// The end of the last line that was taken.
    start: u64,
    /// Lines before it.
    lines: usize,
    /// The file's length when it was read last.
    length: u64,
}

/// A file that has become longer, or another.
pub(super) struct Grown {
    file: File,
    /// So many bytes are read.
    bytes: u64,
    /// It became shorter: it is read from its beginning, and what was read before holds no more.
    pub anew: bool,
}

impl LineTail {
    /// Nothing is read yet.
    pub(super) fn new(place: Place) -> Self {
        Self { place, start: 0, lines: 0, length: 0 }
    }

    /// What was written since, `at_most` so many bytes of it; nothing if nothing was.
    pub(super) fn grown(&mut self, at_most: u64) -> io::Result<Option<Grown>> {
        let mut file = self.place.open_file()?;
        let length = file.metadata()?.len();
        if length == self.length {
            return Ok(None);
        }
        let anew = length < self.length;
        if anew {
            (self.start, self.lines) = (0, 0);
        }
        let bytes = (length - self.start).min(at_most);
        self.length = self.start + bytes;
        file.seek(SeekFrom::Start(self.start))?;
        Ok(Some(Grown { file, bytes, anew }))
    }

    /// Shows the lines with their numbers to `visit`, which says of each whether it is taken, or is to be shown again
    /// with what comes next. Only the last one may not be taken.
    pub(super) fn read(
        &mut self,
        grown: &mut Grown,
        mut visit: impl FnMut(usize, &Line<'_>) -> bool,
    ) -> io::Result<()> {
        let (before, first) = (self.start, self.lines);
        let all = before + grown.bytes;
        let (mut start, mut lines) = (before, first);
        for_each_line((&mut grown.file).take(grown.bytes), |line| {
            start = before + line.start;
            if visit(first + line.number, &line) {
                lines = first + line.number - usize::from(!line.ended);
                start = all;
            }
            Ok(())
        })?;
        // A line that takes more than was to be read is passed over piece by piece.
        self.start = if start == before && grown.bytes > super::lines::MAX_LINE as u64 { all } else { start };
        self.lines = lines;
        Ok(())
    }
}
