//! What stands where something else belongs.

use cap_std::fs::{FileType, FileTypeExt};
use std::io;
use std::path::{Path, PathBuf};

/// A link, a pipe or the like stands where a file or a directory belongs; nothing was done.
///
/// It is inside the [`io::Error`] that a caller gets, see [`Refused::of`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is {found} where {wanted} belongs{}: {}", .path.display(), self.reason(), self.advice())]
pub struct Refused {
    /// The path, with that of its root.
    pub path: PathBuf,
    /// What stands there, with its article: "a symbolic link".
    pub found: &'static str,
    /// What belongs there, with its article: "a directory".
    pub wanted: &'static str,
}

/// What was there when a run began, and is not any more: nothing is made in its place, because the rest of it would be worth nothing.
#[must_use]
pub fn gone() -> io::Error {
    let why = "it is gone, which was there when the run began: if somebody removed it (`git clean -x` does, and `git stash -a`), put it \
               back, or begin another run";
    io::Error::new(io::ErrorKind::NotFound, why)
}

pub(super) const A_FILE: &str = "a file";
pub(super) const A_DIRECTORY: &str = "a directory";
/// What is written into it is written into whatever else has that name.
pub(super) const A_HARD_LINK: &str = "a hard link";
pub(super) const A_LINK: &str = "a symbolic link";

impl Refused {
    /// The refusal inside of an error, if it is one.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// Whether a link stands there.
    #[must_use]
    pub fn is_link(&self) -> bool {
        self.found == A_LINK
    }

    /// Whether what stands there is neither a file nor a directory.
    #[must_use]
    pub fn is_special(&self) -> bool {
        !matches!(self.found, A_FILE | A_DIRECTORY)
    }

    /// An error if `found` is not what is wanted.
    pub(super) fn unless(wanted: &'static str, found: FileType, path: &Path) -> Option<io::Error> {
        let found = name(found);
        let refused = || Self { path: path.to_owned(), found, wanted };
        (found != wanted).then(|| io::Error::new(io::ErrorKind::InvalidInput, refused()))
    }

    /// The error for a link where something else belongs.
    pub(super) fn link(path: &Path, wanted: &'static str) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidInput, Self { path: path.to_owned(), found: A_LINK, wanted })
    }

    /// The error for a file that has another name as well, if it has one.
    pub(super) fn if_shared(links: u64, path: &Path) -> Option<io::Error> {
        let refused = || Self { path: path.to_owned(), found: A_HARD_LINK, wanted: A_FILE };
        (links > 1).then(|| io::Error::new(io::ErrorKind::InvalidInput, refused()))
    }

    fn reason(&self) -> &'static str {
        match self.found {
            A_LINK => ", and no link is followed here",
            A_HARD_LINK => ", and what is written here would stand in another file as well",
            _ => "",
        }
    }

    fn advice(&self) -> String {
        match (self.found, self.wanted) {
            (A_LINK, _) => format!("remove the link, or put {} in its place", self.wanted),
            (A_HARD_LINK, _) => "put a copy in its place (`cp -p F F.own && mv F.own F`)".to_owned(),
            (A_FILE | A_DIRECTORY, _) => "move it away".to_owned(),
            _ => "remove it".to_owned(),
        }
    }
}

fn name(kind: FileType) -> &'static str {
    if kind.is_symlink() {
        A_LINK
    } else if kind.is_dir() {
        A_DIRECTORY
    } else if kind.is_file() {
        A_FILE
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// The error for a path that leaves its root by its own words.
pub(super) fn outside(path: &Path, root: &Path) -> io::Error {
    let message =
        format!("`{}` is no path below `{}`: it may hold no `..` and no root", path.display(), root.display());
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
