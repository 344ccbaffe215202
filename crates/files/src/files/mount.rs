//! Where another file system, or another part of one, is mounted.

use cap_std::fs::Dir;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// An error if a directory is mounted on a name in `parent`: what is in it belongs to somebody else, whatever its name says.
pub(super) fn stay(parent: &Dir, child: &Dir, shown: &Path) -> io::Result<()> {
    match (id(parent), id(child)) {
        (Some(outer), Some(inner)) if outer != inner => Err(mounted(&whole(child).unwrap_or_else(|| shown.to_owned()))),
        _ => Ok(()),
    }
}

/// The error for a directory on which something is mounted.
pub(super) fn mounted(at: &Path) -> io::Error {
    let at = at.display();
    let message = format!("something is mounted on `{at}`, and nothing is changed in it: `umount {at}` first");
    io::Error::new(io::ErrorKind::CrossesDevices, message)
}

/// The whole path of a directory, for whoever is to unmount it.
pub(super) fn whole(dir: &Dir) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd())).ok()
}

/// The same for a file, which may be one that is mounted alone.
#[cfg(target_os = "linux")]
pub(super) fn file_stays(parent: &Dir, name: &std::ffi::OsStr) -> io::Result<()> {
    let of_file = id_at(parent, Path::new(name), rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
    match (id(parent), of_file) {
        (Some(outer), Some(inner)) if outer != inner => {
            let message = format!("something is mounted on `{}`, and nothing is changed in it", name.display());
            Err(io::Error::new(io::ErrorKind::CrossesDevices, message))
        }
        _ => Ok(()),
    }
}

/// No file is told from one that is mounted here.
#[cfg(not(target_os = "linux"))]
pub(super) fn file_stays(_: &Dir, _: &std::ffi::OsStr) -> io::Result<()> {
    Ok(())
}

/// The mount that a directory is in; a bind mount of the same file system is another one.
#[cfg(target_os = "linux")]
fn id(dir: &Dir) -> Option<u64> {
    id_at(dir, Path::new(""), rustix::fs::AtFlags::EMPTY_PATH)
}

#[cfg(target_os = "linux")]
fn id_at(dir: &Dir, name: &Path, flags: rustix::fs::AtFlags) -> Option<u64> {
    use rustix::fs::StatxFlags;
    let found = rustix::fs::statx(dir, name, flags, StatxFlags::MNT_ID).ok()?;
    // Linux before 5.8 does not know it.
    (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
}

/// The device that a directory is on.
#[cfg(not(target_os = "linux"))]
fn id(dir: &Dir) -> Option<u64> {
    Some(cap_std::fs::MetadataExt::dev(&dir.dir_metadata().ok()?))
}
