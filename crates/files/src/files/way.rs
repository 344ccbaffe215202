//! The way to what a person named, on which links of others lead nowhere.

use super::handles::open_dir;
use super::refused::{A_DIRECTORY, Refused};
use super::root::Root;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

/// As many links are followed as the kernel follows.
const MOST_LINKS: usize = 40;

/// Opens a directory that a person named, name by name, each relative to the directory before it.
///
/// A person's own links on the way are followed, wherever they lead. One that somebody else may have put there is not: one below a directory of
/// `of_others`, or in a directory into which another user may write. Which of them a directory is, is known by its inode, so that no other
/// name of it leads around that.
///
/// # Errors
/// A [`Refused`] if such a link, or no directory, stands on the way; others are the system's.
pub fn open_way(dir: &Path, of_others: &[PathBuf]) -> io::Result<Root> {
    let dir = std::path::absolute(dir)?;
    let mut way = Way::from_the_top(of_others)?;
    let mut left = names(&dir);
    let mut links = 0;
    while let Some(name) = left.pop() {
        if name == ".." {
            way.up();
        } else if let Some(target) = way.enter(&name)? {
            links += 1;
            if links > MOST_LINKS {
                return Err(rustix::io::Errno::LOOP.into());
            }
            if target.is_absolute() {
                way.steps.truncate(1);
            }
            left.extend(names(&target));
        }
    }
    way.into_root()
}

/// The names of a path, the last one first.
fn names(path: &Path) -> Vec<OsString> {
    let name = |part: Component<'_>| {
        matches!(part, Component::Normal(_) | Component::ParentDir).then(|| part.as_os_str().to_owned())
    };
    path.components().rev().filter_map(name).collect()
}

/// A directory by its device and inode.
type Id = (u64, u64);

struct Way {
    of_others: Vec<Id>,
    /// From `/` on.
    steps: Vec<Step>,
}

struct Step {
    dir: Dir,
    name: OsString,
    /// It is one of the places of others, or below one.
    is_of_others: bool,
}

impl Way {
    fn from_the_top(of_others: &[PathBuf]) -> io::Result<Self> {
        let id = |path: &PathBuf| path.metadata().ok().map(|data| (data.dev(), data.ino()));
        let mut way = Self { of_others: of_others.iter().filter_map(id).collect(), steps: Vec::new() };
        way.push(Dir::open_ambient_dir("/", ambient_authority())?, OsStr::new("/"))?;
        Ok(way)
    }

    fn push(&mut self, dir: Dir, name: &OsStr) -> io::Result<()> {
        let data = dir.dir_metadata()?;
        let is_below = self.steps.last().is_some_and(|above| above.is_of_others);
        let is_of_others = is_below || self.of_others.contains(&(data.dev(), data.ino()));
        self.steps.push(Step { dir, name: name.to_owned(), is_of_others });
        Ok(())
    }

    /// Above `/` there is `/`.
    fn up(&mut self) {
        self.steps.truncate((self.steps.len() - 1).max(1));
    }

    /// Goes into a directory; if a link stands there that may be followed, says where it leads.
    fn enter(&mut self, name: &OsStr) -> io::Result<Option<PathBuf>> {
        let here = &self.steps[self.steps.len() - 1];
        let error = match open_dir(&here.dir, name) {
            Ok(dir) => return self.push(dir, name).map(|()| None),
            Err(error) => error,
        };
        let path = self.path().join(name);
        let Ok(found) = here.dir.symlink_metadata(name) else { return Err(error) };
        if !found.is_symlink() {
            return Err(Refused::unless(A_DIRECTORY, found.file_type(), &path).unwrap_or(error));
        }
        if here.is_of_others || may_be_of_others(&here.dir)? {
            return Err(Refused::link(&path, A_DIRECTORY));
        }
        here.dir.read_link_contents(name).map(Some)
    }

    fn path(&self) -> PathBuf {
        self.steps.iter().map(|step| &step.name).collect()
    }

    fn into_root(mut self) -> io::Result<Root> {
        let path = self.path();
        let last = self.steps.pop().ok_or(io::ErrorKind::NotFound)?;
        Ok(Root::of(last.dir, path))
    }
}

/// Whether another user may have made what stands in a directory: it is theirs, or they may write to it. A group with the number of its user is that
/// user's own.
fn may_be_of_others(dir: &Dir) -> io::Result<bool> {
    let data = dir.dir_metadata()?;
    let is_trusted = data.uid() == 0 || data.uid() == rustix::process::geteuid().as_raw();
    let of_group = data.mode() & 0o020 != 0 && data.gid() != data.uid();
    Ok(!is_trusted || of_group || data.mode() & 0o002 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A user's home with a link to another disk, and a directory for temporary files.
    fn world() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (home, temp) = (top.join("home"), top.join("temp"));
        for dir in [&home, &temp, &top.join("disk/logs/old"), &home.join("real"), &temp.join("mine")] {
            fs::create_dir_all(dir).unwrap();
        }
        symlink(top.join("disk/logs"), home.join("logs")).unwrap();
        symlink("../logs", home.join("real/again")).unwrap();
        symlink(&home, temp.join("mine/link")).unwrap();
        symlink(&home, temp.join("link")).unwrap();
        (dir, home, temp)
    }

    #[test]
    fn ones_own_links_are_followed_and_those_of_others_are_not() {
        let (_dir, home, temp) = world();
        let check = |path: &Path, wanted: Option<&Path>| {
            let opened = open_way(path, std::slice::from_ref(&temp));
            match (&opened, wanted) {
                (Ok(root), Some(wanted)) => assert!(root.is_same(&Root::open(wanted).unwrap()), "{}", path.display()),
                (Err(error), None) => assert!(Refused::of(error).is_some_and(Refused::is_link), "{error}"),
                _ => panic!("{}: {opened:?}", path.display()),
            }
        };
        let logs = home.parent().unwrap().join("disk/logs");
        check(&home.join("logs"), Some(&logs));
        check(&home.join("logs/old"), Some(&logs.join("old")));
        check(&home.join("logs/../.."), Some(home.parent().unwrap()));
        check(&home.join("real/again/old"), Some(&logs.join("old")));
        check(&temp.join("mine"), Some(&temp.join("mine")));
        check(&temp.join("link"), None);
        check(&temp.join("mine/link"), None);
        // Whatever name leads there.
        symlink(&temp, home.join("temp")).unwrap();
        check(&home.join("temp/mine"), Some(&temp.join("mine")));
        check(&home.join("temp/mine/link"), None);
    }

    #[test]
    fn no_link_is_followed_in_a_directory_into_which_other_users_may_write() {
        let (_dir, home, _) = world();
        let logs = home.join("logs");
        for (mode, is_followed) in [(0o755, true), (0o700, true), (0o757, false), (0o1777, false)] {
            fs::set_permissions(&home, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(open_way(&logs, &[]).is_ok(), is_followed, "{mode:o}");
        }
    }

    #[test]
    fn what_is_no_directory_and_what_leads_in_a_circle_is_an_error() {
        let (_dir, home, _) = world();
        fs::write(home.join("file"), "").unwrap();
        symlink("circle", home.join("circle")).unwrap();
        for name in ["file", "file/x", "circle", "nowhere"] {
            assert!(open_way(&home.join(name), &[]).is_err(), "{name}");
        }
    }
}
