//! A directory, and what can be done below it.

use super::handles::{open_dir, set_mode, set_mode_of, sync};
use super::look::{Kind, Look};
use super::refused::{A_DIRECTORY, A_FILE, A_LINK, Refused, outside};
use super::replacement::Replacement;
use super::stream::{STREAM, is_stream, stream};
use super::walk::Walk;
use super::{mount, remove};
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, FileType, OpenOptions};
use rustix::fs::{Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::io::{Read, Seek, Write};
use std::ops::Deref;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A directory, and everything below it, never through a link. Cheap to clone.
///
/// Paths are relative to the root; `..` and absolute ones are refused. The empty path and `.` are the root itself.
/// Whatever makes something makes the directories above it too.
///
/// # Errors
/// Where a link, a pipe or the like stands in place of a directory or a file, the error holds a [`Refused`], says which
/// path it is and what to do, and nothing was done. Other errors are the system's.
#[derive(Debug, Clone)]
pub struct Root {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    dir: Dir,
    path: PathBuf,
    /// Nothing that is mounted below is entered.
    one_mount: bool,
}

/// The directory that something stands in.
pub(super) enum Parent<'a> {
    Root(&'a Dir),
    Opened(Dir),
}

impl Deref for Parent<'_> {
    type Target = Dir;

    fn deref(&self) -> &Dir {
        match self {
            Self::Root(dir) => dir,
            Self::Opened(dir) => dir,
        }
    }
}

/// What becomes of directories that are missing on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Fails,
    IsMade,
    /// And its name survives a power cut.
    IsMadeDurably,
}

impl Root {
    /// Opens an existing directory, which may itself be reached through links.
    ///
    /// # Errors
    /// If it cannot be opened or is no directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::of(Dir::open_ambient_dir(path, ambient_authority())?, path.to_owned()))
    }

    /// Opens a directory, made where it is missing.
    ///
    /// # Errors
    /// If it cannot be made or opened.
    pub fn make(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        Self::open(path)
    }

    pub(super) fn of(dir: Dir, path: PathBuf) -> Self {
        Self { inner: Arc::new(Inner { dir, path, one_mount: false }) }
    }

    /// The same directory, in which nothing that is mounted below is entered: that is an error that says where it is.
    ///
    /// # Errors
    /// If the handle cannot be doubled.
    pub fn on_one_mount(&self) -> io::Result<Self> {
        let (dir, path) = (self.inner.dir.try_clone()?, self.path().to_owned());
        Ok(Self { inner: Arc::new(Inner { dir, path, one_mount: true }) })
    }

    pub(super) fn stay(&self, parent: &Dir, child: &Dir, path: &Path) -> io::Result<()> {
        if self.inner.one_mount { mount::stay(parent, child, &self.full(path)) } else { Ok(()) }
    }

    /// The root as it was named, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// An existing directory below, as a root of its own.
    ///
    /// # Errors
    /// If it is not there, or is no directory.
    pub fn below(&self, dir: &Path) -> io::Result<Self> {
        self.sub_root(dir, Missing::Fails)
    }

    /// A directory below as a root of its own, made where it is missing.
    ///
    /// # Errors
    /// If it cannot be made, or something else stands there.
    pub fn make_below(&self, dir: &Path) -> io::Result<Self> {
        self.sub_root(dir, Missing::IsMade)
    }

    /// Makes a directory in one that is there, which nobody else may look into before [`Root::set_mode`] says so; `false` if it is
    /// there already.
    ///
    /// # Errors
    /// If it cannot be made, or something else stands there.
    pub fn make_private(&self, dir: &Path) -> io::Result<bool> {
        let (parent, name) = self.parent(dir, Missing::Fails)?;
        match rustix::fs::mkdirat(&*parent, name, Mode::RWXU) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::EXIST) => {
                match Refused::unless(A_DIRECTORY, parent.symlink_metadata(name)?.file_type(), &self.full(dir)) {
                    Some(refused) => Err(refused),
                    None => Ok(false),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    fn sub_root(&self, dir: &Path, missing: Missing) -> io::Result<Self> {
        let opened = match self.dir_at(&self.names(dir)?, missing)? {
            Parent::Root(_) => return Ok(self.clone()),
            Parent::Opened(opened) => opened,
        };
        let (path, one_mount) = (self.path().join(dir), self.inner.one_mount);
        Ok(Self { inner: Arc::new(Inner { dir: opened, path, one_mount }) })
    }

    /// What stands at a path; `None` if nothing does, also because a link or a file is in the middle of the path.
    ///
    /// # Errors
    /// If the system refuses to say.
    pub fn look(&self, path: &Path) -> io::Result<Option<Look>> {
        match self.stat(path) {
            Ok(look) => Ok(Some(look)),
            Err(e) if is_not_there(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// What stands at a path.
    ///
    /// # Errors
    /// If nothing is there; if a link or a file is in the middle of the path.
    pub fn stat(&self, path: &Path) -> io::Result<Look> {
        if self.names(path)?.is_empty() {
            return Ok(Look::of(&self.inner.dir.dir_metadata()?));
        }
        let (dir, name) = self.parent(path, Missing::Fails)?;
        Ok(Look::of(&dir.symlink_metadata(name)?))
    }

    /// The content of a regular file.
    ///
    /// # Errors
    /// If it is not there, is no regular file, or cannot be read.
    pub fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut file = self.open_file(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// If it is not there or is no regular file.
    pub fn open_file(&self, path: &Path) -> io::Result<File> {
        let (dir, name) = self.parent(path, Missing::Fails)?;
        self.regular(&dir, name, path, OpenOptions::new().read(true))
    }

    /// Opens a regular file for reading and appending; makes it, durably, if it is missing.
    ///
    /// # Errors
    /// If it cannot be made, is no regular file, or has another name as well: a hard link.
    pub fn append_to(&self, path: &Path) -> io::Result<File> {
        let (dir, name) = self.parent(path, Missing::IsMadeDurably)?;
        let file = self.regular(&dir, name, path, OpenOptions::new().read(true).append(true).create(true))?;
        Refused::if_shared(std::os::unix::fs::MetadataExt::nlink(&file.metadata()?), &self.full(path))
            .map_or(Ok(file), Err)
    }

    /// As [`Root::append_to`], but a file that has another name as well is opened too: it can be locked, and nothing may be written into it
    /// before [`Root::make_own`] says so.
    ///
    /// # Errors
    /// If it cannot be made, or is no regular file.
    pub fn open_shared(&self, path: &Path) -> io::Result<File> {
        let (dir, name) = self.parent(path, Missing::IsMadeDurably)?;
        self.regular(&dir, name, path, OpenOptions::new().read(true).append(true).create(true))
    }

    /// Makes what the path names a file of its own: if it has another name as well (a backup by hard links, or what somebody put there to
    /// have it written to), a copy takes its place at this path, durably, and the other name keeps the file as it is. The caller holds the
    /// lock under which others write. `true` if the open file is what the path names, and its own; else the path is to be opened anew.
    ///
    /// # Errors
    /// If the copy cannot be written.
    pub fn make_own(&self, path: &Path, file: &File) -> io::Result<bool> {
        let ours = Look::from(&file.metadata()?);
        let named = match self.stat(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other?,
        };
        if (named.device, named.inode) != (ours.device, ours.inode) {
            return Ok(false);
        }
        // Some file systems count none.
        if named.links <= 1 {
            return Ok(true);
        }
        let mut new = self.begin(path)?;
        let mut from = file.try_clone()?;
        from.rewind()?;
        new.fill(&mut from)?;
        new.keep_owner(file)?;
        new.finish()?;
        Ok(false)
    }

    /// What stands at a path, as the system knows it.
    pub(super) fn kind_of(&self, path: &Path) -> io::Result<FileType> {
        let (dir, name) = self.parent(path, Missing::Fails)?;
        Ok(dir.symlink_metadata(name)?.file_type())
    }

    /// Opens a pipe that somebody reads from, or a character device, for writing.
    pub(super) fn open_stream(&self, path: &Path) -> io::Result<File> {
        let (dir, name) = self.parent(path, Missing::Fails)?;
        let found = dir.symlink_metadata(name)?.file_type();
        match Refused::unless(A_FILE, found, &self.full(path)) {
            Some(refused) if !is_stream(found) => return Err(refused),
            _ => {}
        }
        let file = rustix::fs::openat(&*dir, name, STREAM | OFlags::NOFOLLOW, Mode::empty())?;
        stream(File::from(file), &self.full(path))
    }

    /// Puts a whole file in the place of what stands there, durably: a kill at any moment leaves the old one or the new
    /// one. A link is replaced itself. The permissions of a regular file stay.
    ///
    /// # Errors
    /// If it cannot be written, or a directory stands there.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut new = self.begin(path)?;
        new.write_all(bytes)?;
        new.finish()
    }

    /// Writes a whole file, durably, where nothing is; `false` if something of that name is there, a link too.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<bool> {
        let (dir, name) = self.parent(path, Missing::IsMadeDurably)?;
        let mut new = Replacement::begin(&dir, name, None)?;
        new.write_all(bytes)?;
        new.finish_new()
    }

    /// As [`Root::create`], of a file that only its owner may read.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create_private(&self, path: &Path, bytes: &[u8]) -> io::Result<bool> {
        let (dir, name) = self.parent(path, Missing::IsMadeDurably)?;
        let mut new = Replacement::begin(&dir, name, Some(0o600))?;
        new.write_all(bytes)?;
        new.finish_new()
    }

    /// Begins what [`Root::replace`] does at once; nothing changes before [`Replacement::finish`].
    ///
    /// # Errors
    /// If no file can be made there, or a directory stands there.
    pub fn begin(&self, path: &Path) -> io::Result<Replacement> {
        let (dir, name) = self.parent(path, Missing::IsMadeDurably)?;
        let mode = match dir.symlink_metadata(name) {
            Ok(data) => {
                self.no_directory(&data, path)?;
                let look = Look::of(&data);
                (look.kind == Kind::File).then_some(look.mode)
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        Replacement::begin(&dir, name, mode)
    }

    fn no_directory(&self, data: &cap_std::fs::Metadata, path: &Path) -> io::Result<()> {
        if !data.is_dir() {
            return Ok(());
        }
        Refused::unless(A_FILE, data.file_type(), &self.full(path)).map_or(Ok(()), Err)
    }

    /// Removes whatever stands at a path, a whole tree too; what is not there is no error, and a link in the middle of
    /// the path means that it is not there.
    ///
    /// # Errors
    /// If something of it cannot be removed.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        match self.parent(path, Missing::Fails) {
            Ok((dir, name)) => remove::remove(&dir, name, &self.full(path)),
            Err(e) if is_not_there(&e) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Gives something another name; what stands there is replaced, unless it is a directory with something in it.
    ///
    /// # Errors
    /// If it is not there or cannot be renamed.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (old, old_name) = self.parent(from, Missing::Fails)?;
        let (new, new_name) = self.parent(to, Missing::IsMade)?;
        old.rename(old_name, &new, new_name)
    }

    /// Makes a symbolic link that says exactly `target`.
    ///
    /// # Errors
    /// If something stands there.
    pub fn link(&self, path: &Path, target: &Path) -> io::Result<()> {
        let (dir, name) = self.parent(path, Missing::IsMade)?;
        dir.symlink_contents(target, name)
    }

    /// What a symbolic link says.
    ///
    /// # Errors
    /// If it is not there or is no link.
    pub fn target(&self, path: &Path) -> io::Result<PathBuf> {
        let (dir, name) = self.parent(path, Missing::Fails)?;
        dir.read_link_contents(name).map_err(|e| self.explained(e, &dir, name, A_LINK, path))
    }

    /// Sets the permissions of a regular file or a directory.
    ///
    /// # Errors
    /// If it is not there, is a link, a pipe or the like, or belongs to somebody else.
    pub fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        if self.names(path)?.is_empty() {
            return set_mode_of(&self.inner.dir, mode);
        }
        let (dir, name) = self.parent(path, Missing::Fails)?;
        let found = dir.symlink_metadata(name)?.file_type();
        if !found.is_dir()
            && let Some(refused) = Refused::unless(A_FILE, found, &self.full(path))
        {
            return Err(refused);
        }
        if self.inner.one_mount && !found.is_dir() {
            mount::file_stays(&dir, name)?;
        }
        if self.inner.one_mount && found.is_dir() {
            // Whoever cannot open it has not mounted it either.
            if let Ok(child) = open_dir(&dir, name) {
                self.stay(&dir, &child, path)?;
            }
        }
        set_mode(&dir, name, mode)
    }

    /// What is in a directory, by name.
    ///
    /// # Errors
    /// If it is not there or cannot be read.
    pub fn list(&self, dir: &Path) -> io::Result<Vec<(OsString, Kind)>> {
        let mut found = Vec::new();
        for entry in self.dir_at(&self.names(dir)?, Missing::Fails)?.entries()? {
            let entry = entry?;
            found.push((entry.file_name(), Kind::of(entry.file_type()?)));
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// If it is not there.
    pub fn sync(&self, dir: &Path) -> io::Result<()> {
        let dir = self.dir_at(&self.names(dir)?, Missing::Fails)?;
        sync(&dir)
    }

    /// Goes through what stands at `from` and everything below it, see [`Walk`].
    #[must_use]
    pub fn walk(&self, from: &Path) -> Walk {
        Walk::new(self.clone(), from)
    }

    /// Copies a regular file, with its permissions and the time of its last change; what stands at `path` is replaced as
    /// by [`Root::replace`], but not durably.
    ///
    /// # Errors
    /// If it is no regular file or cannot be copied.
    pub fn copy(&self, path: &Path, from: &Self, from_path: &Path) -> io::Result<()> {
        let mut old = from.open_file(from_path)?;
        let data = old.metadata()?;
        let (dir, name) = self.parent(path, Missing::IsMade)?;
        if let Ok(data) = dir.symlink_metadata(name) {
            self.no_directory(&data, path)?;
        }
        let mode = std::os::unix::fs::MetadataExt::mode(&data) & 0o7777;
        let mut new = Replacement::begin(&dir, name, Some(mode))?;
        new.fill(&mut old)?;
        new.finish_as_of(data.modified()?)
    }

    /// The directory that holds what a path names, and the name in it.
    pub(super) fn parent<'a>(&'a self, path: &'a Path, missing: Missing) -> io::Result<(Parent<'a>, &'a OsStr)> {
        let mut names = self.names(path)?;
        let last = names.pop().ok_or_else(|| {
            let message = format!("`{}` is the root itself; a path below it is needed", self.path().display());
            io::Error::new(io::ErrorKind::InvalidInput, message)
        })?;
        Ok((self.dir_at(&names, missing)?, last))
    }

    fn names<'a>(&self, path: &'a Path) -> io::Result<Vec<&'a OsStr>> {
        let name = |part| match part {
            Component::Normal(name) => Ok(name),
            _ => Err(outside(path, self.path())),
        };
        path.components().filter(|part| *part != Component::CurDir).map(name).collect()
    }

    fn dir_at(&self, names: &[&OsStr], missing: Missing) -> io::Result<Parent<'_>> {
        let mut at = Parent::Root(&self.inner.dir);
        for (depth, name) in names.iter().enumerate() {
            let mut opened = open_dir(&at, name);
            if missing != Missing::Fails
                && let Err(e) = &opened
                && e.kind() == io::ErrorKind::NotFound
            {
                make_dir(&at, name, missing)?;
                opened = open_dir(&at, name);
            }
            let opened = opened.map_err(|e| {
                let path: PathBuf = names[..=depth].iter().collect();
                self.explained(e, &at, name, A_DIRECTORY, &path)
            })?;
            self.stay(&at, &opened, &names[..=depth].iter().collect::<PathBuf>())?;
            at = Parent::Opened(opened);
        }
        Ok(at)
    }

    fn regular(&self, dir: &Dir, name: &OsStr, path: &Path, options: &mut OpenOptions) -> io::Result<File> {
        // Without waiting: a pipe that nobody writes to would be opened when somebody does.
        let opened = dir.open_with(name, options.follow(FollowSymlinks::No).nonblock(true));
        let file = opened.map_err(|e| self.explained(e, dir, name, A_FILE, path))?;
        match Refused::unless(A_FILE, file.metadata()?.file_type(), &self.full(path)) {
            Some(refused) => Err(refused),
            None => Ok(file.into_std()),
        }
    }

    /// The system's "too many levels of symbolic links" and the like in words, if what stands there is why.
    fn explained(&self, error: io::Error, dir: &Dir, name: &OsStr, wanted: &'static str, path: &Path) -> io::Error {
        let found = dir.symlink_metadata(name).ok();
        found.and_then(|data| Refused::unless(wanted, data.file_type(), &self.full(path))).unwrap_or(error)
    }

    fn full(&self, path: &Path) -> PathBuf {
        self.path().join(path)
    }

    pub(super) fn dir(&self) -> &Dir {
        &self.inner.dir
    }
}

/// Whether an error on the way says that there is nothing.
fn is_not_there(error: &io::Error) -> bool {
    let names_nothing = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    names_nothing || Refused::of(error).is_some_and(|refused| refused.wanted == A_DIRECTORY)
}

fn make_dir(dir: &Dir, name: &OsStr, missing: Missing) -> io::Result<()> {
    match dir.create_dir(name) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    if missing == Missing::IsMadeDurably { sync(dir) } else { Ok(()) }
}
