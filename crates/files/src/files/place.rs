//! A path below a root that is opened when it is needed.

use super::look::{Kind, Look};
use super::replacement::Replacement;
use super::root::Root;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Where something is or will be: a path below a directory. The directory may be reached through links, nothing in the
/// path below it may be one.
///
/// Nothing is opened before it is used, and everything is opened anew each time, so that it may come and go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    root: PathBuf,
    below: PathBuf,
    path: PathBuf,
}

impl Place {
    /// A path below a root.
    pub fn new(root: impl Into<PathBuf>, below: impl Into<PathBuf>) -> Self {
        let (root, below) = (root.into(), below.into());
        let root = if root.as_os_str().is_empty() { PathBuf::from(".") } else { root };
        Self { path: root.join(&below), root, below }
    }

    /// A path of which so many names are below the root, from its end.
    #[must_use]
    pub fn with_names(path: &Path, names: usize) -> Self {
        let mut root = path;
        for _ in 0..names {
            root = root.parent().unwrap_or(root);
        }
        let below = path.strip_prefix(root).unwrap_or(path);
        Self { path: path.to_owned(), ..Self::new(root, below) }
    }

    /// Where a file is that a person names, through whatever links lead to it.
    #[must_use]
    pub fn named(path: &Path) -> Self {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { path: path.to_owned(), ..Self::with_names(&real, 1) }
    }

    /// The whole path, as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path below this one.
    #[must_use]
    pub fn join(&self, below: impl AsRef<Path>) -> Self {
        let below = below.as_ref();
        Self { root: self.root.clone(), below: self.below.join(below), path: self.path.join(below) }
    }

    /// The root and the path below it, to do more than one thing.
    ///
    /// # Errors
    /// If the root is not there.
    pub fn open(&self) -> io::Result<(Root, &Path)> {
        Ok((Root::open(&self.root)?, &self.below))
    }

    /// The directory at this place, as a root of its own.
    ///
    /// # Errors
    /// As [`Root::below`].
    pub fn open_dir(&self) -> io::Result<Root> {
        Root::open(&self.root)?.below(&self.below)
    }

    /// The directory at this place, made where it is missing.
    ///
    /// # Errors
    /// As [`Root::make_below`].
    pub fn make_dir(&self) -> io::Result<Root> {
        Root::make(&self.root)?.make_below(&self.below)
    }

    /// What stands here, if anything does.
    ///
    /// # Errors
    /// If a link or a file is in the middle of the path.
    pub fn look(&self) -> io::Result<Option<Look>> {
        match Root::open(&self.root).and_then(|root| root.stat(&self.below)) {
            Ok(look) => Ok(Some(look)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// As [`Root::open_file`].
    ///
    /// # Errors
    /// If it is not there or is no regular file.
    pub fn open_file(&self) -> io::Result<File> {
        Root::open(&self.root)?.open_file(&self.below)
    }

    /// As [`Root::read`].
    ///
    /// # Errors
    /// If it is not there, is no regular file, or cannot be read.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        Root::open(&self.root)?.read(&self.below)
    }

    /// As [`Root::append_to`]; the root is made too.
    ///
    /// # Errors
    /// If it cannot be made or is no regular file.
    pub fn append_to(&self) -> io::Result<File> {
        Root::make(&self.root)?.append_to(&self.below)
    }

    /// As [`Root::replace`]; the root is made too.
    ///
    /// # Errors
    /// If it cannot be written, or a directory stands there.
    pub fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        Root::make(&self.root)?.replace(&self.below, bytes)
    }

    /// As [`Root::create`]; the root is made too.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(&self, bytes: &[u8]) -> io::Result<bool> {
        Root::make(&self.root)?.create(&self.below, bytes)
    }

    /// As [`Root::create_private`]; the root is made too.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create_private(&self, bytes: &[u8]) -> io::Result<bool> {
        Root::make(&self.root)?.create_private(&self.below, bytes)
    }

    /// As [`Place::replace`], but a power cut may leave an empty file.
    ///
    /// # Errors
    /// If it cannot be written, or a directory stands there.
    pub fn replace_soon(&self, bytes: &[u8]) -> io::Result<()> {
        let mut new = Root::make(&self.root)?.begin(&self.below)?;
        new.write_all(bytes)?;
        new.finish_soon()
    }

    /// As [`Root::begin`].
    ///
    /// # Errors
    /// If no file can be made there, or a directory stands there.
    pub fn begin(&self) -> io::Result<Replacement> {
        Root::open(&self.root)?.begin(&self.below)
    }

    /// As [`Root::remove`]; nothing is there if the root is not.
    ///
    /// # Errors
    /// If something of it cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        match Root::open(&self.root) {
            Ok(root) => root.remove(&self.below),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// As [`Root::list`], but a directory that is not there is empty.
    ///
    /// # Errors
    /// If it cannot be read, or is no directory.
    pub fn list(&self) -> io::Result<Vec<(OsString, Kind)>> {
        match Root::open(&self.root).and_then(|root| root.list(&self.below)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            other => other,
        }
    }

    /// Makes the names in the directory that holds this durable.
    ///
    /// # Errors
    /// If that directory is not there.
    pub fn sync_parent(&self) -> io::Result<()> {
        Root::open(&self.root)?.sync(self.below.parent().unwrap_or(Path::new("")))
    }
}

/// Opens a regular file that a person named, through whatever links lead to it, for reading. A pipe in its place makes
/// nobody wait.
///
/// # Errors
/// If it is not there or is no regular file.
pub fn open_named(path: &Path) -> io::Result<File> {
    Place::with_names(&path.canonicalize()?, 1).open_file()
}

/// A file, pipe or terminal that a person named, to be read to its end. A device may have none.
///
/// # Errors
/// Also if it is a device.
pub fn open_to_its_end(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_block_device() || (kind.is_char_device() && !file.is_terminal()) {
        return Err(io::Error::other("it is a device, which may have no end: name a file"));
    }
    Ok(file)
}

/// The text of a file that a person named, as [`open_named`].
///
/// # Errors
/// Also if it is not UTF-8.
pub fn read_named(path: &Path) -> io::Result<String> {
    io::read_to_string(open_named(path)?)
}
