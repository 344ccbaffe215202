//! A path below a root that is opened when it is needed.

use super::look::{Kind, Look};
use super::replacement::Replacement;
use super::root::Root;
use rustix::fs::{Mode, OFlags};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::io::{Chain, Cursor, IsTerminal, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

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

    /// A file below the last directory of this name, from which on no link is followed; without such a one, its own directory.
    #[must_use]
    pub fn within(path: &Path, directory: &str) -> Self {
        let names = path.iter().rev().position(|name| name == directory).map_or(1, |below| below + 1);
        Self::with_names(path, names)
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

    /// As [`Root::open_shared`]; the root is made too.
    ///
    /// # Errors
    /// If it cannot be made, or is no regular file.
    pub fn open_shared(&self) -> io::Result<File> {
        Root::make(&self.root)?.open_shared(&self.below)
    }

    /// As [`Root::make_own`].
    ///
    /// # Errors
    /// If the copy cannot be written.
    pub fn make_own(&self, file: &File) -> io::Result<bool> {
        match Root::open(&self.root) {
            Ok(root) => root.make_own(&self.below, file),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e),
        }
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

/// How long nobody may write to a pipe before it is given up.
const PATIENCE: Duration = Duration::from_secs(10);

const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// What [`open_to_its_end`] opened. The first byte of a pipe may have been read already.
pub type Input = Chain<Cursor<Vec<u8>>, File>;

/// A file, pipe or terminal that a person named, to be read to its end: also `/dev/stdin`, and what a shell makes of `<(command)`. A device
/// may have no end, and a pipe with a name, which an archive may bring along, may have nobody who writes to it: it is waited for 10 seconds.
///
/// # Errors
/// Also if it is a device, a socket, or a pipe that nobody writes to.
pub fn open_to_its_end(path: &Path) -> io::Result<Input> {
    open_within(path, PATIENCE)
}

fn open_within(path: &Path, patience: Duration) -> io::Result<Input> {
    // Who opens a pipe without this waits for a writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let kind = file.metadata()?.file_type();
    if kind.is_block_device() || (kind.is_char_device() && !file.is_terminal()) {
        return Err(io::Error::other("it is a device, which may have no end: name a file"));
    }
    let first = if kind.is_fifo() && has_a_name(&file)? { first_of(&file, patience)? } else { Vec::new() };
    rustix::fs::fcntl_setfl(&file, OFlags::empty())?;
    Ok(Cursor::new(first).chain(file))
}

/// Whether a pipe lies in a directory, where anybody may begin to write to it. Others have their writers, or had them.
fn has_a_name(pipe: &File) -> io::Result<bool> {
    const PIPES: u64 = 0x5049_5045;
    Ok(u64::try_from(rustix::fs::fstatfs(pipe)?.f_type).is_ok_and(|kind| kind != PIPES))
}

/// Waits until somebody writes to a pipe, and takes its first byte if that is there already.
fn first_of(mut pipe: &File, patience: Duration) -> io::Result<Vec<u8>> {
    let (mut byte, mut waited) = ([0], Duration::ZERO);
    loop {
        match pipe.read(&mut byte) {
            Ok(1..) => return Ok(byte.to_vec()),
            // Somebody has opened it to write.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Vec::new()),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ if waited >= patience => {
                let message = "it is a pipe that nobody writes to: start its writer first, or name a file";
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            _ => {
                std::thread::sleep(BETWEEN_LOOKS);
                waited += BETWEEN_LOOKS;
            }
        }
    }
}

/// The text of a file that a person named, as [`open_named`].
///
/// # Errors
/// Also if it is not UTF-8.
pub fn read_named(path: &Path) -> io::Result<String> {
    io::read_to_string(open_named(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::thread;

    #[test]
    fn a_pipe_is_read_to_its_end_and_waited_for_only_so_long() {
        let dir = tempfile::tempdir().unwrap();
        let named = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &named, Mode::RWXU).unwrap();
        let error = open_within(&named, Duration::ZERO).unwrap_err();
        assert!(error.to_string().contains("nobody writes to"), "{error}");
        let read = |path: &Path, patience| io::read_to_string(open_within(path, patience)?);
        let forever = Duration::MAX;
        // Its writer comes later, and is slow.
        let pipe = named.clone();
        let writer = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            let mut pipe = File::options().write(true).open(pipe).unwrap();
            pipe.write_all(b"one ").unwrap();
            thread::sleep(Duration::from_millis(50));
            pipe.write_all(b"two").unwrap();
        });
        assert_eq!(read(&named, forever).unwrap(), "one two");
        writer.join().unwrap();
        // As a shell makes it of `<(command)`, also of a command that says nothing and of one that is slow.
        let (from, to) = io::pipe().unwrap();
        let path = PathBuf::from(format!("/dev/fd/{}", from.as_raw_fd()));
        let writer = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            (&to).write_all(b"three").unwrap();
        });
        assert_eq!(read(&path, Duration::ZERO).unwrap(), "three");
        writer.join().unwrap();
        assert_eq!(read(&path, Duration::ZERO).unwrap(), "");
    }
}
