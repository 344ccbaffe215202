//! When something was read last.

use super::root::{Missing, Parent, Root};
use rustix::fs::{AtFlags, Timespec, Timestamps, UTIME_OMIT};
use std::ffi::OsStr;
use std::io;
use std::path::Path;

/// When something was read last: seconds of the Unix epoch and nanoseconds.
pub type ReadTime = (i64, i64);

impl Root {
    /// When a file, a link or a directory was read last, as far as the file system keeps that: with `relatime`, the time of the first
    /// time since it was changed or [forgotten](Self::forget_read); with `noatime`, never.
    ///
    /// # Errors
    /// If it is not there.
    pub fn read_time(&self, path: &Path) -> io::Result<ReadTime> {
        let (dir, name) = self.named(path)?;
        let stat = rustix::fs::statat(&*dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok((stat.st_atime, stat.st_atime_nsec.cast_signed()))
    }

    /// Makes a file, a link or a directory one that was read very long ago, so that reading it shows in [`Root::read_time`].
    ///
    /// # Errors
    /// If it is not there or not ours.
    pub fn forget_read(&self, path: &Path) -> io::Result<()> {
        const LONG_AGO: Timestamps = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: 0 },
            last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        };
        let (dir, name) = self.named(path)?;
        Ok(rustix::fs::utimensat(&*dir, name, &LONG_AGO, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// The directory that something is in, and its name there; the root itself is `.`.
    pub(super) fn named<'a>(&'a self, path: &'a Path) -> io::Result<(Parent<'a>, &'a OsStr)> {
        if path.as_os_str().is_empty() {
            Ok((Parent::Root(self.dir()), OsStr::new(".")))
        } else {
            self.parent(path, Missing::Fails)
        }
    }
}
