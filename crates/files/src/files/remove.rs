//! Removing a tree of any depth, with a short stack and few handles.

use super::handles::{open_dir, set_mode, set_mode_of};
use super::mount;
use cap_std::fs::{Dir, MetadataExt};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

/// How many directories are open at once; deeper ones are moved up first.
const HELD: usize = 6;
/// How many names of a directory are read at once.
const BATCH: usize = 1024;
/// How often a directory is emptied again that somebody fills meanwhile.
const ROUNDS: usize = 100;

/// A directory that is being emptied.
struct Level {
    dir: Dir,
    name: OsString,
    names: Vec<OsString>,
}

/// Removes whatever has this name in `parent`. A directory deeper than [`HELD`] is renamed into the tree's top, so that
/// depth costs neither stack nor handles, and a process that is killed leaves everything below the same name.
pub(super) fn remove(parent: &Dir, name: &OsStr, shown: &Path) -> io::Result<()> {
    let context = |e: io::Error| io::Error::new(e.kind(), format!("cannot remove `{}`: {e}", shown.display()));
    remove_all(parent, name).map_err(context)
}

fn remove_all(parent: &Dir, name: &OsStr) -> io::Result<()> {
    let mut task = Removal { moved: 0, rounds: 0 };
    while !unlink(parent, name)? {
        let Some(mut top) = open(parent, name)? else { continue };
        while let Some(next) = top.names.pop() {
            task.clear(&top.dir, next)?;
            if top.names.is_empty() {
                top.names = some_names(&top.dir)?;
            }
        }
        task.remove_empty(parent, name)?;
    }
    Ok(())
}

struct Removal {
    /// How many directories got a name in the top.
    moved: u64,
    rounds: usize,
}

impl Removal {
    /// Removes one entry of the top, or moves what is deep in it into the top.
    fn clear(&mut self, top: &Dir, first: OsString) -> io::Result<()> {
        let mut levels: Vec<Level> = Vec::new();
        let mut next = Some(first);
        loop {
            let dir = levels.last().map_or(top, |level| &level.dir);
            if let Some(name) = next.take() {
                if !unlink(dir, &name)? {
                    match self.enter(dir, &name, levels.len(), top) {
                        Ok(Some(level)) => levels.push(level),
                        Ok(None) => {}
                        Err(e) => return Err(e),
                    }
                }
            } else {
                let Some(done) = levels.pop() else { return Ok(()) };
                self.remove_empty(levels.last().map_or(top, |level| &level.dir), &done.name)?;
            }
            if let Some(level) = levels.last_mut() {
                if level.names.is_empty() {
                    level.names = some_names(&level.dir)?;
                }
                next = level.names.pop();
            }
        }
    }

    /// Opens a directory to be emptied; moves it into the top instead where it is deep or handles are short.
    fn enter(&mut self, dir: &Dir, name: &OsStr, depth: usize, top: &Dir) -> io::Result<Option<Level>> {
        if depth < HELD {
            match open(dir, name) {
                Err(e) if depth > 0 && is_out_of_handles(&e) => {}
                other => return other,
            }
        }
        self.move_up(dir, name, top)?;
        Ok(None)
    }

    fn move_up(&mut self, dir: &Dir, name: &OsStr, top: &Dir) -> io::Result<()> {
        let mut opened = false;
        loop {
            match dir.rename(name, top, format!(".removing-{}", self.moved)) {
                Err(e) if matches!(e.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory) => {}
                // To be moved, a directory has to be writable itself.
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied && !opened => {
                    opened = true;
                    set_mode(dir, name, 0o700)?;
                    continue;
                }
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
                other => {
                    self.moved += 1;
                    return other;
                }
            }
            self.moved += 1;
        }
    }

    /// Removes a directory that was emptied; if somebody put something into it, it is found again by its name.
    fn remove_empty(&mut self, parent: &Dir, name: &OsStr) -> io::Result<()> {
        match parent.remove_dir(name) {
            Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty && self.rounds < ROUNDS => {
                self.rounds += 1;
                Ok(())
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(()),
            other => other,
        }
    }
}

/// Removes what is no directory; `false` if it is one.
fn unlink(dir: &Dir, name: &OsStr) -> io::Result<bool> {
    match dir.remove_file(name) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(e) => match dir.symlink_metadata(name) {
            Ok(data) if data.is_dir() => Ok(false),
            Err(gone) if gone.kind() == io::ErrorKind::NotFound => Ok(true),
            // Whoever served the file system that is mounted there has ended.
            Err(dead) if dead.kind() == io::ErrorKind::NotConnected => {
                Err(mount::mounted(&mount::whole(dir).unwrap_or_default().join(name)))
            }
            // An immutable file, for one, says of itself only that something is not permitted.
            _ => {
                let file = mount::whole(dir).unwrap_or_default().join(name);
                Err(io::Error::new(e.kind(), format!("{} cannot be removed: {e}", file.display())))
            }
        },
    }
}

/// A directory with the first of its names, made readable and writable if it is ours; `None` if it is none any more.
fn open(parent: &Dir, name: &OsStr) -> io::Result<Option<Level>> {
    let mut opened = open_dir(parent, name);
    if opened.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::PermissionDenied) {
        set_mode(parent, name, 0o700)?;
        opened = open_dir(parent, name);
    }
    let dir = match opened {
        Ok(dir) => dir,
        Err(_) if parent.symlink_metadata(name).map_or(true, |data| !data.is_dir()) => return Ok(None),
        Err(e) => return Err(e),
    };
    // What is mounted there is not part of the tree: it would be emptied, and not even go.
    mount::stay(parent, &dir, Path::new(name))?;
    if dir.dir_metadata()?.mode() & 0o700 != 0o700 {
        set_mode_of(&dir, 0o700)?;
    }
    let names = some_names(&dir)?;
    Ok(Some(Level { dir, name: name.to_owned(), names }))
}

fn some_names(dir: &Dir) -> io::Result<Vec<OsString>> {
    dir.entries()?.take(BATCH).map(|entry| Ok(entry?.file_name())).collect()
}

fn is_out_of_handles(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}
