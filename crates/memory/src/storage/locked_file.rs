//! Opening a file under a lock that all processes of a project respect.

use crate::files::{Look, Place};
use std::fs::File;
use std::io;

/// How often, at most, a file is opened anew; nobody replaces it as often by accident.
const TRIES: usize = 1000;

/// Opens a file for appending and takes its exclusive lock; creates the file and its directories if needed.
///
/// `kept` is a handle of an earlier call, used again if the path still names the same file. A file that has another name as well
/// (a hard link) is left to that name, and a copy takes its place: see [`Place::make_own`].
pub(super) fn append_locked(place: &Place, kept: Option<File>) -> io::Result<File> {
    lock_current(place, kept, Place::open_shared, Place::make_own)
}

/// Opens an existing file for reading and takes its exclusive lock.
pub(super) fn read_locked(place: &Place) -> io::Result<File> {
    lock_current(place, None, Place::open_file, is_at)
}

/// While we waited for the lock, its holder may have replaced the file; writing to the old one would lose the record,
/// so the lock only counts if the path still names the file that is locked.
fn lock_current(
    place: &Place,
    mut kept: Option<File>,
    open: impl Fn(&Place) -> io::Result<File>,
    is_current: impl Fn(&Place, &File) -> io::Result<bool>,
) -> io::Result<File> {
    for _ in 0..TRIES {
        let file = match kept.take() {
            Some(file) => file,
            None => open(place)?,
        };
        lock(&file)?;
        if is_current(place, &file)? {
            return Ok(file);
        }
    }
    Err(io::Error::other("somebody puts another file in its place again and again"))
}

fn lock(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn is_at(place: &Place, file: &File) -> io::Result<bool> {
    let ours = Look::from(&file.metadata()?);
    Ok(place.look()?.is_some_and(|named| (named.device, named.inode) == (ours.device, ours.inode)))
}
