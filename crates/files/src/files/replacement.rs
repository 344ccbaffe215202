//! A file in the making, beside the one that it replaces.

use super::handles::sync;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, MetadataExt, OpenOptions};
use rustix::fs::{RenameFlags, SeekFrom};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::SystemTime;

/// How many files of one directory can be replaced at the same moment.
const SLOTS: usize = 4096;
/// What [`MetadataExt::blocks`](std::os::unix::fs::MetadataExt::blocks) counts, in bytes, whatever the file system's own are.
pub(super) const BLOCK: u64 = 512;
/// How often a name is tried that others take away at the same moment.
const TRIES: usize = 64;

/// A new file in the making; dropped before [`Replacement::finish`], it is removed.
///
/// Its temporary name is one of a few that all writers in a directory share, and its writer holds a lock on it. So what
/// a killed process left is found and removed by the next one, without looking through the directory.
#[derive(Debug)]
pub struct Replacement {
    dir: Dir,
    name: OsString,
    slot: usize,
    file: File,
    mode: Option<u32>,
    finished: bool,
}

impl Replacement {
    pub(super) fn begin(dir: &Dir, name: &OsStr, mode: Option<u32>) -> io::Result<Self> {
        for slot in 0..SLOTS {
            if let Some(file) = take(dir, slot)? {
                let dir = dir.try_clone()?;
                return Ok(Self { dir, name: name.to_owned(), slot, file, mode, finished: false });
            }
        }
        Err(io::Error::other(format!("{SLOTS} other files are being replaced in this directory; try again")))
    }

    /// Takes the content from another file, by the system's own copying where it can. What takes no room on the disk there, takes none here.
    pub(super) fn fill(&mut self, from: &mut File) -> io::Result<()> {
        let data = from.metadata()?;
        if data.blocks().saturating_mul(BLOCK) < data.len() {
            return fill_sparse(from, &mut self.file, data.len());
        }
        io::copy(from, &mut self.file).map(drop)
    }

    /// Makes the new file durable and puts it in the old one's place.
    ///
    /// # Errors
    /// If that fails; then the old one is as it was.
    pub fn finish(mut self) -> io::Result<()> {
        self.set_mode()?;
        self.file.sync_all()?;
        self.put()?;
        sync(&self.dir)
    }

    /// Puts it in the old one's place, not yet durable: a kill at any moment leaves the old one or the new one, a power cut
    /// may leave an empty one.
    ///
    /// # Errors
    /// If that fails; then the old one is as it was.
    pub fn finish_soon(mut self) -> io::Result<()> {
        self.set_mode()?;
        self.put()
    }

    /// Makes the new file durable and puts it where nothing is; `false` if something is there.
    pub(super) fn finish_new(mut self) -> io::Result<bool> {
        self.set_mode()?;
        self.file.sync_all()?;
        match self.put_new() {
            Ok(()) => sync(&self.dir).map(|()| true),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// In one step where the file system can: a kill leaves no second name then.
    fn put_new(&mut self) -> io::Result<()> {
        let (from, to) = (slot_name(self.slot), Path::new(&self.name));
        match rustix::fs::renameat_with(&self.dir, &from, &self.dir, to, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.finished = true;
                Ok(())
            }
            // Its temporary name is removed when it is dropped.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.dir.hard_link(from, &self.dir, to),
            Err(e) => Err(e.into()),
        }
    }

    /// Belongs to whom another file belongs to, as far as this process may give it away: root writes for others, too.
    pub(super) fn keep_owner(&self, of: &File) -> io::Result<()> {
        let of = of.metadata()?;
        // Else it belongs to whoever writes it, as any file that is replaced.
        let _ = std::os::unix::fs::fchown(&self.file, Some(of.uid()), Some(of.gid()));
        Ok(())
    }

    /// Puts it in the old one's place as last changed at `modified`, not yet durable.
    pub(super) fn finish_as_of(mut self, modified: SystemTime) -> io::Result<()> {
        self.set_mode()?;
        self.file.set_modified(modified)?;
        self.put()
    }

    fn set_mode(&self) -> io::Result<()> {
        match self.mode {
            Some(mode) => Ok(rustix::fs::fchmod(&self.file, rustix::fs::Mode::from_raw_mode(mode))?),
            None => Ok(()),
        }
    }

    fn put(&mut self) -> io::Result<()> {
        self.dir.rename(slot_name(self.slot), &self.dir, &self.name)?;
        self.finished = true;
        // Whoever made several at once and was killed left the later names too.
        let mut next = self.slot + 1;
        while remove_leftover(&self.dir, next)? == Found::Removed {
            next += 1;
        }
        Ok(())
    }
}

impl Replacement {
    /// Whether a name is one under which something is written before it stands in its place.
    ///
    /// ```
    /// # use reflexion_files::files::Replacement;
    /// assert!(Replacement::is_begun(".reflexion-replacing-0.tmp") && !Replacement::is_begun("a.tmp"));
    /// ```
    #[must_use]
    pub fn is_begun(name: &str) -> bool {
        name.starts_with(".reflexion-replacing-") && name.ends_with(".tmp")
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.finished {
            // If it cannot be removed now, the next writer does it.
            let _ = self.dir.remove_file(slot_name(self.slot));
        }
    }
}

fn slot_name(slot: usize) -> String {
    format!(".reflexion-replacing-{slot}.tmp")
}

/// Copies what of a file holds data; between that are holes, which read as zeros.
fn fill_sparse(from: &mut File, to: &mut File, len: u64) -> io::Result<()> {
    to.set_len(len)?;
    let mut at = 0;
    while at < len {
        let start = match rustix::fs::seek(&*from, SeekFrom::Data(at)) {
            Ok(start) => start,
            // Nothing but a hole follows.
            Err(Errno::NXIO) => return Ok(()),
            // A file system that does not know them.
            Err(Errno::INVAL | Errno::NOTSUP) => at,
            Err(error) => return Err(error.into()),
        };
        let end = rustix::fs::seek(&*from, SeekFrom::Hole(start)).unwrap_or(len);
        for file in [&*from, &*to] {
            rustix::fs::seek(file, SeekFrom::Start(start))?;
        }
        io::copy(&mut (&mut *from).take(end.saturating_sub(start)), to)?;
        at = end.max(start + 1);
    }
    Ok(())
}

/// A new, locked file under this name; `None` if somebody alive has it.
fn take(dir: &Dir, slot: usize) -> io::Result<Option<File>> {
    let name = slot_name(slot);
    for _ in 0..TRIES {
        let made = dir.open_with(&name, OpenOptions::new().read(true).write(true).create_new(true));
        match made {
            Ok(file) => {
                let file = file.into_std();
                return Ok(is_ours(dir, &name, &file)?.then_some(file));
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                if remove_leftover(dir, slot)? == Found::Taken {
                    return Ok(None);
                }
            }
            Err(e) => return Err(e),
        }
    }
    Ok(None)
}

#[derive(Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    Taken,
    Removed,
}

/// Removes what a killed process left under this name.
fn remove_leftover(dir: &Dir, slot: usize) -> io::Result<Found> {
    let name = slot_name(slot);
    let kind = match dir.symlink_metadata(&name) {
        Ok(data) => data.file_type(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(e) => return Err(e),
    };
    // Anything else under that name is nothing that a writer has made.
    if !kind.is_file() {
        return Ok(Found::Taken);
    }
    // Its lock is held until the name is gone.
    let locked = open_leftover(dir, &name)?;
    if locked.is_none() {
        return Ok(Found::Taken);
    }
    match dir.remove_file(&name) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(Found::Removed),
    }
}

/// What a killed process left, locked; `None` if somebody alive has it, or has just taken it away.
fn open_leftover(dir: &Dir, name: &str) -> io::Result<Option<File>> {
    let options = OpenOptions::new().read(true).follow(FollowSymlinks::No).nonblock(true).to_owned();
    let Ok(file) = dir.open_with(name, &options) else { return Ok(None) };
    let file = file.into_std();
    Ok(is_ours(dir, name, &file)?.then_some(file))
}

/// Locks a file; whether nobody else had it, and it still has its name.
fn is_ours(dir: &Dir, name: &str, file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(false),
        Err(TryLockError::Error(e)) => return Err(e),
    }
    let ours = file.metadata()?;
    match dir.symlink_metadata(name) {
        Ok(named) => Ok((MetadataExt::dev(&named), MetadataExt::ino(&named)) == (ours.dev(), ours.ino())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}
