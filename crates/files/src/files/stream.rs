//! Pipes and character devices, opened for writing.

use super::refused::{A_FILE, Refused};
use cap_std::fs::FileType;
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::path::Path;

/// How a stream is opened: at its end if it is a file after all, and without waiting for a reader.
pub(super) const STREAM: OFlags =
    OFlags::WRONLY.union(OFlags::APPEND).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Whether it is a pipe or a character device.
pub(super) fn is_stream(kind: FileType) -> bool {
    use cap_std::fs::FileTypeExt;
    kind.is_fifo() || kind.is_char_device()
}

/// What `Root::open_stream` opened is one, and whoever writes to it waits for a slow reader.
pub(super) fn stream(file: File, path: &Path) -> io::Result<File> {
    let kind = cap_std::fs::Metadata::from_file(&file)?.file_type();
    if !is_stream(kind) {
        return Err(Refused::unless(A_FILE, kind, path).unwrap_or_else(|| io::Error::other("it was just replaced")));
    }
    rustix::fs::fcntl_setfl(&file, OFlags::empty())?;
    Ok(file)
}
