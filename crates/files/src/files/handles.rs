//! What is done to a directory's handle and a name in it, never through a link.

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// A directory in `dir`, unless a link says where it is.
pub(super) fn open_dir(dir: &Dir, name: &OsStr) -> io::Result<Dir> {
    dir.open_dir_nofollow(name)
}

/// Makes the names in a directory durable.
pub(super) fn sync(dir: &Dir) -> io::Result<()> {
    // A handle that only names a directory cannot be synced.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::fsync(rustix::fs::openat(dir, ".", flags, Mode::empty())?)?)
}

/// Sets the permissions of a file or a directory that may not even be opened for reading, never through a link.
#[cfg(target_os = "linux")]
pub(super) fn set_mode(dir: &Dir, name: &OsStr, mode: u32) -> io::Result<()> {
    let handle = rustix::fs::openat(dir, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&handle)?.st_mode).is_symlink() {
        return Err(rustix::io::Errno::LOOP.into());
    }
    set_mode_of(handle, mode)
}

/// Sets the permissions of a file or a directory, never through a link.
#[cfg(not(target_os = "linux"))]
pub(super) fn set_mode(dir: &Dir, name: &OsStr, mode: u32) -> io::Result<()> {
    let mode = Mode::from_raw_mode(mode as rustix::fs::RawMode);
    Ok(rustix::fs::chmodat(dir, name, mode, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Sets the permissions of what a handle names.
pub(super) fn set_mode_of(handle: impl AsFd, mode: u32) -> io::Result<()> {
    let mode = Mode::from_raw_mode(mode as rustix::fs::RawMode);
    // Linux changes nothing by a handle that only names something, but by that handle's own name.
    if cfg!(target_os = "linux") {
        return Ok(rustix::fs::chmod(format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd()), mode)?);
    }
    Ok(rustix::fs::fchmod(handle, mode)?)
}
