//! Where another file system, or another part of one, is mounted.

use cap_std::fs::Dir;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// An error if a directory is mounted on a name in `parent`: what is in it belongs to somebody else, whatever its name says.
pub(super) fn stay(parent: &Dir, child: &Dir, shown: &Path) -> io::Result<()> {
    match (id(parent), id(child)) {
        (Some(outer), Some(inner)) if outer != inner => {
            // Its whole path, for whoever is to unmount it.
            let place = format!("/proc/self/fd/{}", child.as_raw_fd());
            let shown = std::fs::read_link(place).unwrap_or_else(|_| shown.to_owned());
            let shown = shown.display();
            let message =
                format!("something is mounted on `{shown}`, and nothing is changed in it: `umount {shown}` first");
            Err(io::Error::new(io::ErrorKind::CrossesDevices, message))
        }
        _ => Ok(()),
    }
}

/// The mount that a directory is in; a bind mount of the same file system is another one.
#[cfg(target_os = "linux")]
fn id(dir: &Dir) -> Option<u64> {
    use rustix::fs::AtFlags;
    use rustix::fs::StatxFlags;
    let found = rustix::fs::statx(dir, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    // Linux before 5.8 does not know it.
    (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
}

/// The device that a directory is on.
#[cfg(not(target_os = "linux"))]
fn id(dir: &Dir) -> Option<u64> {
    Some(cap_std::fs::MetadataExt::dev(&dir.dir_metadata().ok()?))
}
