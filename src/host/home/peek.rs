//! Reading the beginning of a file that may be anything.

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// So many first bytes of a regular file; none if it cannot be read. Blocks neither on a pipe nor on a device, also where a file becomes one
/// meanwhile.
pub(super) fn first_bytes(path: &Path, most: u64) -> Option<Vec<u8>> {
    let without_waiting = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let flags = i32::try_from(without_waiting.bits()).ok()?;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
