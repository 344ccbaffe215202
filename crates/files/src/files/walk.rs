//! Going through a tree.

use super::handles::open_dir;
use super::look::{Kind, Look};
use super::root::Root;
use cap_std::fs::Dir;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

/// How many names a path may have. A path of more than 4,096 bytes (`PATH_MAX`) can be given to no program and is
/// recorded by no git; with names of one byte, these are its most.
pub const MAX_DEPTH: usize = 2048;
/// How many of the outermost directories, and of the innermost, are kept open.
const HELD: usize = 4;

/// Everything below a path, depth first and by name: a directory comes before what is in it, and no link is entered.
///
/// What stands at the path itself comes first. What is removed meanwhile may be missing. What cannot be read, and
/// directories with anything in them at [`MAX_DEPTH`], are errors that name the path; the walk goes on after them.
#[derive(Debug)]
pub struct Walk {
    root: Root,
    /// The directory whose entries the innermost level holds.
    path: PathBuf,
    levels: Vec<Level>,
    next: Next,
}

#[derive(Debug)]
enum Next {
    Start,
    /// The directory just given, by its name in the innermost level.
    Enter(OsString),
    Entry,
}

#[derive(Debug)]
struct Level {
    dir: Option<Dir>,
    entries: IntoIter<(OsString, Look)>,
}

impl Walk {
    pub(super) fn new(root: Root, from: &Path) -> Self {
        Self { root, path: from.to_owned(), levels: Vec::new(), next: Next::Start }
    }

    /// Leaves out what is below the directory just given.
    pub fn skip_below(&mut self) {
        self.next = Next::Entry;
    }

    fn start(&mut self) -> io::Result<(PathBuf, Look)> {
        let look = self.root.look(&self.path)?.ok_or_else(|| {
            let message = format!("`{}` is not there", self.root.path().join(&self.path).display());
            io::Error::new(io::ErrorKind::NotFound, message)
        })?;
        if look.kind == Kind::Dir {
            self.next = Next::Enter(OsString::new());
        }
        Ok((self.path.clone(), look))
    }

    fn enter(&mut self, name: OsString) -> io::Result<()> {
        let opened = if self.levels.is_empty() { self.open_start() } else { self.child(&name) };
        if !self.levels.is_empty() {
            self.path.push(&name);
        }
        let entered = opened.and_then(|dir| {
            let entries = self.entries(&dir)?;
            Ok(Level { dir: Some(dir), entries })
        });
        match entered {
            Ok(level) => self.push(level),
            Err(e) => {
                let error = self.error(&e);
                self.leave();
                // It was removed, or replaced, since it was given.
                return if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) };
            }
        }
        Ok(())
    }

    fn open_start(&self) -> io::Result<Dir> {
        self.root.below(&self.path)?.dir().try_clone()
    }

    fn push(&mut self, level: Level) {
        self.levels.push(level);
        if let Some(middle) = self.levels.len().checked_sub(HELD + 1)
            && middle >= HELD
        {
            self.levels[middle].dir = None;
        }
    }

    /// Opens a directory of the innermost level, whose own handle may have been given up.
    fn child(&mut self, name: &OsString) -> io::Result<Dir> {
        let last = self.levels.len() - 1;
        if self.levels[last].dir.is_none() {
            let held = self.levels.iter().rposition(|level| level.dir.is_some()).unwrap_or(0);
            let names: Vec<_> = self.path.iter().rev().take(last - held).collect();
            let mut dir = match &self.levels[held].dir {
                Some(dir) => dir.try_clone()?,
                None => self.open_start()?,
            };
            for name in names.into_iter().rev() {
                dir = open_dir(&dir, name)?;
            }
            self.levels[last].dir = Some(dir);
        }
        match &self.levels[last].dir {
            Some(dir) => {
                let child = open_dir(dir, name)?;
                self.root.stay(dir, &child, &self.path.join(name))?;
                Ok(child)
            }
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn entries(&self, dir: &Dir) -> io::Result<IntoIter<(OsString, Look)>> {
        let deepest = self.path.iter().count() >= MAX_DEPTH;
        let mut found = Vec::new();
        for entry in dir.entries()? {
            let name = entry?.file_name();
            if deepest {
                return Err(io::Error::other(format!("it is {MAX_DEPTH} directories deep and not empty")));
            }
            match dir.symlink_metadata(&name) {
                Ok(data) => found.push((name, Look::of(&data))),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found.into_iter())
    }

    fn error(&self, error: &io::Error) -> io::Error {
        let path = self.root.path().join(&self.path);
        io::Error::new(error.kind(), format!("cannot read `{}`: {error}", short(&path)))
    }

    fn leave(&mut self) {
        if !self.levels.is_empty() {
            self.path.pop();
        }
    }
}

/// A path of which a person sees which one it is, however long.
fn short(path: &Path) -> String {
    const SHOWN: usize = 120;
    let text = path.display().to_string();
    let count = text.chars().count();
    if count <= 2 * SHOWN {
        return text;
    }
    let head: String = text.chars().take(SHOWN).collect();
    let tail: String = text.chars().skip(count - SHOWN).collect();
    format!("{head}…{tail}")
}

impl Iterator for Walk {
    type Item = io::Result<(PathBuf, Look)>;

    fn next(&mut self) -> Option<Self::Item> {
        match std::mem::replace(&mut self.next, Next::Entry) {
            Next::Start => return Some(self.start()),
            Next::Enter(name) => {
                if let Err(e) = self.enter(name) {
                    return Some(Err(e));
                }
            }
            Next::Entry => {}
        }
        loop {
            let level = self.levels.last_mut()?;
            let Some((name, look)) = level.entries.next() else {
                self.levels.pop();
                self.leave();
                continue;
            };
            let path = self.path.join(&name);
            if look.kind == Kind::Dir {
                self.next = Next::Enter(name);
            }
            return Some(Ok((path, look)));
        }
    }
}
