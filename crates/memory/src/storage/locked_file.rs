//! Opening a file under a lock that all processes of a project respect.

use crate::files::Place;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

/// Opens a file for appending and takes its exclusive lock; creates the file and its directories if needed.
///
/// `kept` is a handle of an earlier call, used again if the path still names the same file.
pub(super) fn append_locked(place: &Place, kept: Option<File>) -> io::Result<File> {
    lock_current(place, kept, Place::append_to)
}

/// Opens an existing file for reading and takes its exclusive lock.
pub(super) fn read_locked(place: &Place) -> io::Result<File> {
    lock_current(place, None, Place::open_file)
}

/// While we waited for the lock, its holder may have replaced the file; writing to the old one would lose the record,
/// so the lock only counts if the path still names the file that is locked.
fn lock_current(place: &Place, mut kept: Option<File>, open: impl Fn(&Place) -> io::Result<File>) -> io::Result<File> {
    loop {
        let file = match kept.take() {
            Some(file) => file,
            None => open(place)?,
        };
        lock(&file)?;
        if is_at(&file, place)? {
            return Ok(file);
        }
    }
}

fn lock(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn is_at(file: &File, place: &Place) -> io::Result<bool> {
    let ours = file.metadata()?;
    Ok(place.look()?.is_some_and(|named| (named.device, named.inode) == (ours.dev(), ours.ino())))
}
