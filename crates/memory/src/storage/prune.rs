//! Removing old reflections.

use super::lines::for_each_line;
use super::locked_file::read_locked;
use super::record::{Decoded, decode};
use crate::domain::{ReflectionId, Timestamp};
use crate::files::{Place, Replacement};
use crate::services::PruneReport;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::io::Write;
use std::os::unix::fs::FileExt;

/// Copies what stays into a new file, byte for byte, and puts it in the old one's place. Appends wait meanwhile.
pub(super) fn prune(place: &Place, older_than: Timestamp, keep: &BTreeSet<ReflectionId>) -> io::Result<PruneReport> {
    let file = match read_locked(place) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(PruneReport::default()),
        other => other?,
    };
    let mut report = PruneReport::default();
    let mut copy = Copy::of(place, &file);
    let mut removing_from = None;
    for_each_line(&file, |line| {
        // The previous line was removed, and this is where the next kept bytes begin.
        if let Some(from) = removing_from.take() {
            copy.leave_out(from, line.start)?;
        }
        match decode(line.content) {
            Decoded::Record(reflection) if reflection.created_at < older_than && !keep.contains(&reflection.id) => {
                report.removed += 1;
                removing_from = Some(line.start);
            }
            Decoded::Record(_) => report.kept += 1,
            Decoded::Unreadable(_) => report.unreadable += 1,
            Decoded::Blank => {}
        }
        Ok(())
    })?;
    let len = file.metadata()?.len();
    if let Some(from) = removing_from {
        copy.leave_out(from, len)?;
    }
    copy.finish(len)?;
    Ok(report)
}

/// The new file, which is only begun when there is something to leave out.
pub(super) struct Copy<'f> {
    place: &'f Place,
    old: &'f File,
    new: Option<Replacement>,
    kept_from: u64,
    buffer: Vec<u8>,
}

impl<'f> Copy<'f> {
    /// Of an old file, which is locked.
    pub(super) fn of(place: &'f Place, old: &'f File) -> Self {
        Self { place, old, new: None, kept_from: 0, buffer: vec![0; 64 * 1024] }
    }

    /// Leaves out what stands there; places come in their order.
    pub(super) fn leave_out(&mut self, from: u64, to: u64) -> io::Result<()> {
        self.copy_until(from)?;
        self.kept_from = to;
        Ok(())
    }

    /// Puts the new file in the place of the old one, if something was left out.
    pub(super) fn finish(mut self, len: u64) -> io::Result<()> {
        if self.new.is_some() {
            self.copy_until(len)?;
        }
        self.new.map_or(Ok(()), Replacement::finish)
    }

    fn copy_until(&mut self, end: u64) -> io::Result<()> {
        let new = match &mut self.new {
            Some(new) => new,
            none => none.insert(self.place.begin()?),
        };
        while self.kept_from < end {
            let left = usize::try_from(end - self.kept_from).unwrap_or(usize::MAX);
            let piece = left.min(self.buffer.len());
            let piece = &mut self.buffer[..piece];
            self.old.read_exact_at(piece, self.kept_from)?;
            new.write_all(piece)?;
            self.kept_from += piece.len() as u64;
        }
        Ok(())
    }
}
