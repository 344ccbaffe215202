//! What stands at a path.

use super::replacement::BLOCK;
use cap_std::fs::{FileType, Metadata, MetadataExt};

/// What something is, links not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link, wherever it points.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

impl Kind {
    pub(super) fn of(kind: FileType) -> Self {
        if kind.is_symlink() {
            Self::Link
        } else if kind.is_dir() {
            Self::Dir
        } else if kind.is_file() {
            Self::File
        } else {
            Self::Other
        }
    }
}

/// What lstat says of something.
#[derive(Debug, Clone)]
pub struct Look {
    /// What it is.
    pub kind: Kind,
    /// Bytes; of a link, those of its target's name.
    pub len: u64,
    /// Bytes that it takes on its disk: of a sparse file, fewer.
    pub allocated: u64,
    /// Permissions with the set-user-id, set-group-id and sticky bits, nothing else.
    pub mode: u32,
    /// Hard links.
    pub links: u64,
    /// The inode's number.
    pub inode: u64,
    /// The device that the inode is on.
    pub device: u64,
    /// Its owner.
    pub uid: u32,
    /// When the inode was last changed: seconds of the Unix epoch and nanoseconds.
    pub changed: (i64, i64),
    /// When the content was last changed: seconds of the Unix epoch and nanoseconds.
    pub modified: (i64, i64),
}

impl From<&std::fs::Metadata> for Look {
    /// Of a file that is open.
    fn from(data: &std::fs::Metadata) -> Self {
        Self::of(&Metadata::from_just_metadata(data.clone()))
    }
}

impl Look {
    pub(super) fn of(data: &Metadata) -> Self {
        Self {
            kind: Kind::of(data.file_type()),
            len: data.len(),
            allocated: data.blocks().saturating_mul(BLOCK),
            mode: data.mode() & 0o7777,
            links: data.nlink(),
            inode: data.ino(),
            device: data.dev(),
            uid: data.uid(),
            changed: (data.ctime(), data.ctime_nsec()),
            modified: (data.mtime(), data.mtime_nsec()),
        }
    }
}
