//! What is held: whether it is the same, its attributes, and how another program is led to it.

use super::look::Kind;
use super::root::{Missing, Root};
use cap_fs_ext::MetadataExt;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// More names of attributes, with a zero byte each, no system lists [Linux, `XATTR_LIST_MAX`].
const MOST_NAMES_BYTES: usize = 64 << 10;

impl Root {
    /// Whether both are handles of the same directory.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let id = |root: &Self| root.dir().dir_metadata().map(|data| (data.dev(), data.ino())).ok();
        id(self).is_some_and(|own| id(other) == Some(own))
    }

    /// A working directory that leads a program which this process starts to the very directory that is held, whatever
    /// its name leads to by now. Good as long as the handle lives.
    ///
    /// Where the system has no such name, it is the path as it was given.
    #[must_use]
    pub fn place(&self) -> PathBuf {
        if cfg!(target_os = "linux") {
            PathBuf::from(format!("/proc/self/fd/{}", self.dir().as_raw_fd()))
        } else {
            self.path().to_owned()
        }
    }

    /// The names of the extended attributes of a file or a directory; none where the file system has none.
    ///
    /// # Errors
    /// If it is not there, or the system refuses to say.
    pub fn attributes(&self, path: &Path) -> io::Result<BTreeSet<Vec<u8>>> {
        let (dir, name) = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => (self.below(parent)?, Path::new(name)),
            _ => (self.clone(), Path::new(".")),
        };
        let place = dir.place().join(name);
        let mut names = vec![0_u8; 4096];
        let mut listed = rustix::fs::llistxattr(&place, &mut names[..]);
        if listed == Err(rustix::io::Errno::RANGE) {
            names = vec![0_u8; MOST_NAMES_BYTES];
            listed = rustix::fs::llistxattr(&place, &mut names[..]);
        }
        match listed {
            Ok(length) => {
                let names = names[..length].split(|byte| *byte == 0);
                Ok(names.filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect())
            }
            Err(rustix::io::Errno::NOTSUP) => Ok(BTreeSet::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Moves a file or a link here from another root; where that is on another file system, it is copied.
    ///
    /// # Errors
    /// If it can neither be moved nor copied.
    pub fn take(&self, path: &Path, from: &Self, from_path: &Path) -> io::Result<()> {
        let dir_of = |root: &Self, path: &Path| match path.parent() {
            Some(parent) => root.make_below(parent),
            None => Ok(root.clone()),
        };
        let name = |path: &Path| path.file_name().map(PathBuf::from).ok_or(io::ErrorKind::InvalidInput);
        let (old, new) = (dir_of(from, from_path)?, dir_of(self, path)?);
        match old.dir().rename(name(from_path)?, new.dir(), name(path)?) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => self.copy_either(path, from, from_path),
            moved => moved,
        }
    }

    /// Copies a file or a link. In the place of a link nothing stands for a moment.
    fn copy_either(&self, path: &Path, from: &Self, from_path: &Path) -> io::Result<()> {
        if from.stat(from_path)?.kind != Kind::Link {
            return self.copy(path, from, from_path);
        }
        let target = from.target(from_path)?;
        let (dir, name) = self.parent(path, Missing::IsMade)?;
        match dir.remove_file(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        dir.symlink_contents(target, name)
    }

    /// Makes now the time of a regular file's last change.
    ///
    /// # Errors
    /// If it is no regular file or not ours.
    pub fn touch(&self, path: &Path) -> io::Result<()> {
        let when = |nanoseconds| rustix::fs::Timespec { tv_sec: 0, tv_nsec: nanoseconds };
        let (last_access, last_modification) = (when(rustix::fs::UTIME_OMIT), when(rustix::fs::UTIME_NOW));
        Ok(rustix::fs::futimens(self.open_file(path)?, &rustix::fs::Timestamps { last_access, last_modification })?)
    }

    /// Makes this the time of the last change of a file, a link or a directory: seconds of the Unix epoch and nanoseconds, as
    /// [`Look::modified`](super::Look::modified) says it.
    ///
    /// # Errors
    /// If it is not there or not ours.
    pub fn date(&self, path: &Path, (seconds, nanoseconds): (i64, i64)) -> io::Result<()> {
        let last_modification = rustix::fs::Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
        let last_access = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
        let times = rustix::fs::Timestamps { last_access, last_modification };
        let (dir, name) = self.named(path)?;
        Ok(rustix::fs::utimensat(&*dir, name, &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Puts a whole file in the place of what stands there, as [`Root::replace`] does, but not durably: after a power cut it
    /// may be empty.
    ///
    /// # Errors
    /// If it cannot be written, or a directory stands there.
    pub fn put(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut new = self.begin(path)?;
        io::Write::write_all(&mut new, bytes)?;
        new.finish_soon()
    }

    /// Removes a directory if nothing is in it.
    ///
    /// # Errors
    /// If it is not there, is no directory, or something is in it.
    pub fn remove_empty(&self, path: &Path) -> io::Result<()> {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => self.below(parent)?.dir().remove_dir(name),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_program_is_led_to_what_is_held_wherever_it_is_by_now() {
        let dir = tempfile::tempdir().unwrap();
        let [old, new] = ["old", "new"].map(|name| dir.path().join(name));
        fs::create_dir(&old).unwrap();
        let held = Root::open(&old).unwrap();
        assert!(held.is_same(&Root::open(&old).unwrap()));
        fs::rename(&old, &new).unwrap();
        fs::create_dir(&old).unwrap();
        assert!(!held.is_same(&Root::open(&old).unwrap()));
        assert!(held.is_same(&Root::open(&new).unwrap()));
        let touched = std::process::Command::new("touch").arg("here").current_dir(held.place()).status().unwrap();
        assert!(touched.success());
        assert_eq!((old.join("here").exists(), new.join("here").exists()), (false, cfg!(target_os = "linux")));
    }

    #[test]
    fn files_and_links_are_taken_from_another_file_system() {
        let dir = tempfile::tempdir().unwrap();
        let Ok(other) = tempfile::tempdir_in("/dev/shm") else { return };
        let [here, there] = [&dir, &other].map(|dir| Root::open(dir.path()).unwrap());
        for name in ["file", "link", "over"] {
            fs::write(dir.path().join(name), "old").unwrap();
        }
        fs::remove_file(dir.path().join("link")).unwrap();
        fs::write(other.path().join("file"), "new").unwrap();
        for name in ["link", "over"] {
            there.link(Path::new(name), Path::new("file")).unwrap();
        }
        for name in ["file", "link", "over"] {
            here.take(Path::new(name), &there, Path::new(name)).unwrap();
        }
        assert_eq!(here.read(Path::new("file")).unwrap(), b"new");
        for name in ["link", "over"] {
            assert_eq!(here.target(Path::new(name)).unwrap(), Path::new("file"));
        }
    }

    #[test]
    fn files_are_put_and_only_empty_directories_removed() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        root.put(Path::new("a/b"), b"one").unwrap();
        root.put(Path::new("a/b"), b"two").unwrap();
        assert_eq!(root.read(Path::new("a/b")).unwrap(), b"two");
        assert_eq!(root.list(Path::new("a")).unwrap().len(), 1);
        assert!(root.remove_empty(Path::new("a")).is_err());
        root.remove(Path::new("a/b")).unwrap();
        root.remove_empty(Path::new("a")).unwrap();
        assert!(root.attributes(Path::new("")).is_ok());
    }
}
