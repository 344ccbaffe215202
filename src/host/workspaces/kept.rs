//! Untracked things that a workspace keeps from one attempt to the next.
//!
//! These are the carried paths and whatever `setup` left that is not tracked, ignored or not. The rule: after `carry`,
//! and again after each `setup`, the untracked paths are *kept roots*, and every file under them is remembered by size,
//! mode and change time (which, unlike the modification time, no program can set). A reset compares: what is the same
//! stays untouched, what is new is removed, what is changed or missing is copied again - from the user's file if it was
//! carried, from a copy in our store if `setup` wrote it. So a reset costs a walk over the kept files and nothing else.

use super::ground::Look;
use super::layout::io_error;
use super::removal::remove;
use crate::services::WorkspaceError;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

/// What is kept, and from where it is brought back.
#[derive(Debug)]
pub(super) struct Kept {
    /// The workspace.
    top: PathBuf,
    /// The top of the user's files.
    source: PathBuf,
    /// The project: links may point into it.
    project: PathBuf,
    /// Copies of what `setup` wrote.
    store: PathBuf,
    roots: BTreeSet<PathBuf>,
    entries: BTreeMap<PathBuf, Entry>,
    /// The carried roots, and the user's files below them as they were then.
    carried: BTreeSet<PathBuf>,
    sources: BTreeMap<PathBuf, Entry>,
    /// Something was changed or missing, and had to be brought back.
    was_touched: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Dir { mode: u32, attributes: BTreeSet<Vec<u8>> },
    Link(PathBuf),
    File { size: u64, mode: u32, changed: (i64, i64) },
}

/// The directories that matter; see [`Kept`].
pub(super) struct Places {
    pub(super) top: PathBuf,
    pub(super) source: PathBuf,
    pub(super) project: PathBuf,
    pub(super) store: PathBuf,
}

impl Kept {
    pub(super) fn new(places: Places) -> Self {
        Self {
            top: places.top,
            source: places.source,
            project: places.project,
            store: places.store,
            roots: BTreeSet::new(),
            entries: BTreeMap::new(),
            carried: BTreeSet::new(),
            sources: BTreeMap::new(),
            was_touched: false,
        }
    }

    pub(super) fn roots(&self) -> impl Iterator<Item = &PathBuf> {
        self.roots.iter()
    }

    /// Copies paths of the user's into the workspace.
    pub(super) fn carry(&mut self, roots: Vec<PathBuf>) -> Result<(), WorkspaceError> {
        for root in roots {
            let from = self.source.join(&root);
            for found in walkdir::WalkDir::new(&from).into_iter().flatten() {
                let Ok(path) = found.path().strip_prefix(&self.source) else {
                    continue;
                };
                self.bring(path)?;
            }
            self.roots.insert(root);
        }
        self.carried.clone_from(&self.roots);
        self.sources = look(&self.source, &self.carried);
        self.entries = self.look();
        Ok(())
    }

    /// Whether nothing that is kept was ever changed or removed, here or - for these carried paths - by the user. What is
    /// new in it is removed.
    pub(super) fn is_untouched(&mut self, carried: &[PathBuf]) -> Result<bool, WorkspaceError> {
        if self.was_touched || !self.carried.iter().eq(carried.iter().collect::<BTreeSet<_>>()) {
            return Ok(false);
        }
        let now = self.look();
        if self.entries.iter().any(|(path, entry)| now.get(path) != Some(entry)) {
            return Ok(false);
        }
        for path in now.keys().rev().filter(|path| !self.entries.contains_key(*path)) {
            remove(&self.top.join(path))?;
        }
        Ok(self.carried.is_empty() || look(&self.source, &self.carried) == self.sources)
    }

    /// Copies one path of the user's: a link stays a link only if it points into the project.
    fn bring(&self, path: &Path) -> Result<(), WorkspaceError> {
        let (from, to) = (self.source.join(path), self.top.join(path));
        let Ok(meta) = from.symlink_metadata() else {
            return Ok(());
        };
        if meta.is_dir() {
            return fs::create_dir_all(&to).map_err(io_error("make", &to));
        }
        if let Some(dir) = to.parent() {
            fs::create_dir_all(dir).map_err(io_error("make", dir))?;
        }
        if meta.is_symlink() {
            let target = fs::read_link(&from).map_err(io_error("read", &from))?;
            if let Some(target) = inside(&self.project, &from, &target) {
                remove(&to)?;
                return std::os::unix::fs::symlink(target, &to).map_err(io_error("link", &to));
            }
        }
        // A link to a file elsewhere (the interpreter of a virtual environment) becomes that file; a link to a
        // directory elsewhere, a socket or a pipe is left out.
        match from.metadata() {
            Ok(meta) if meta.is_file() => copy_file(&from, &to).map_err(io_error("copy to", &to)),
            _ => Ok(()),
        }
    }

    /// Removes an untracked path, except what is kept of it.
    pub(super) fn remove_rest(&self, path: &Path) -> Result<(), WorkspaceError> {
        if self.roots.iter().any(|root| path.starts_with(root)) {
            return Ok(());
        }
        let full = self.top.join(path);
        if !self.roots.iter().any(|root| root.starts_with(path)) {
            return remove(&full);
        }
        let children = fs::read_dir(&full).map_err(io_error("read", &full))?;
        for child in children.flatten() {
            self.remove_rest(&path.join(child.file_name()))?;
        }
        Ok(())
    }

    /// Brings everything kept back to what it was.
    pub(super) fn restore(&mut self) -> Result<(), WorkspaceError> {
        let now = self.look();
        for path in now.keys().rev() {
            if !self.entries.contains_key(path) {
                remove(&self.top.join(path))?;
            }
        }
        for (path, entry) in &mut self.entries {
            if now.get(path) == Some(entry) {
                continue;
            }
            self.was_touched = true;
            let to = self.top.join(path);
            match entry {
                Entry::Dir { mode, .. } => {
                    if !to.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                        remove(&to)?;
                        fs::create_dir_all(&to).map_err(io_error("make", &to))?;
                    }
                    let permissions = fs::Permissions::from_mode(*mode);
                    fs::set_permissions(&to, permissions).map_err(io_error("restore", &to))?;
                }
                Entry::Link(target) => {
                    remove(&to)?;
                    let linked = std::os::unix::fs::symlink(&*target, &to);
                    linked.map_err(io_error("link", &to))?;
                }
                Entry::File { .. } => {
                    remove(&to)?;
                    let stored = self.store.join(path);
                    let from = if stored.exists() { stored } else { self.source.join(path) };
                    copy_file(&from, &to).map_err(io_error("bring back", &to))?;
                    let meta = to.symlink_metadata().map_err(io_error("read", &to))?;
                    *entry = Entry::of(&to, &meta).map_err(io_error("read", &to))?;
                }
            }
        }
        Ok(())
    }

    /// Takes everything untracked as kept from now on: `setup` has just run.
    pub(super) fn capture(&mut self, untracked: Vec<PathBuf>) -> Result<(), WorkspaceError> {
        self.roots.extend(untracked);
        let roots = std::mem::take(&mut self.roots);
        for root in roots {
            let below_another = self.roots.iter().any(|above| root.starts_with(above));
            if !below_another && self.top.join(&root).symlink_metadata().is_ok() {
                self.roots.insert(root);
            }
        }
        let now = self.look();
        for (path, entry) in &now {
            if !matches!(entry, Entry::File { .. }) || self.entries.get(path) == Some(entry) {
                continue;
            }
            let (from, to) = (self.top.join(path), self.store.join(path));
            remove(&to)?;
            let copied = fs::create_dir_all(to.parent().unwrap_or(&self.store)).and_then(|()| copy_file(&from, &to));
            copied.map_err(io_error("copy to", &to))?;
        }
        self.entries = now;
        Ok(())
    }

    fn look(&self) -> BTreeMap<PathBuf, Entry> {
        look(&self.top, &self.roots)
    }
}

/// Everything below these roots.
fn look(top: &Path, roots: &BTreeSet<PathBuf>) -> BTreeMap<PathBuf, Entry> {
    roots
        .iter()
        .flat_map(|root| walkdir::WalkDir::new(top.join(root)))
        .flatten()
        .filter_map(|found| {
            let path = found.path().strip_prefix(top).ok()?.to_owned();
            let entry = Entry::of(found.path(), &found.metadata().ok()?).ok()?;
            Some((path, entry))
        })
        .collect()
}

impl Entry {
    fn of(path: &Path, meta: &Metadata) -> io::Result<Self> {
        Ok(if meta.is_dir() {
            let look = Look::of(path)?;
            Self::Dir { mode: look.mode, attributes: look.attributes }
        } else if meta.is_symlink() {
            Self::Link(fs::read_link(path)?)
        } else {
            Self::File { size: meta.len(), mode: meta.mode(), changed: (meta.ctime(), meta.ctime_nsec()) }
        })
    }
}

/// Copies content, mode and modification time. `fs::copy` asks the kernel to share the blocks where the file system
/// can (`copy_file_range`), and copies them otherwise.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    let meta = from.metadata()?;
    let time = |seconds, nanoseconds| rustix::fs::Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = rustix::fs::Timestamps {
        last_access: time(meta.atime(), meta.atime_nsec()),
        last_modification: time(meta.mtime(), meta.mtime_nsec()),
    };
    rustix::fs::utimensat(rustix::fs::CWD, to, &times, rustix::fs::AtFlags::empty())?;
    Ok(())
}

/// The link's target as it has to be written in a copy of the project, if it points into the project.
fn inside(project: &Path, link: &Path, target: &Path) -> Option<PathBuf> {
    let dir = link.parent()?;
    let full = normal(&dir.join(target))?;
    let in_project = full.strip_prefix(project).ok()?;
    if target.is_relative() {
        return Some(target.to_owned());
    }
    // An absolute one would lead out of the copy, to the user's own file.
    let up = dir.strip_prefix(project).ok()?.components().count();
    Some(std::iter::repeat_n("..", up).collect::<PathBuf>().join(in_project))
}

/// The path without `.` and `..`, by its words alone.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !normal.pop() {
                    return None;
                }
            }
            part => normal.push(part),
        }
    }
    Some(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_inside_the_copy() {
        let check = |link: &str, target: &str, expected: Option<&str>| {
            let found = inside(Path::new("/p"), Path::new(link), Path::new(target));
            assert_eq!(found.as_deref(), expected.map(Path::new), "{link} -> {target}");
        };
        check("/p/a/l", "../b", Some("../b"));
        check("/p/a/l", "../../b", None);
        check("/p/a/l", "/p/b/c", Some("../b/c"));
        check("/p/l", "/p/b", Some("b"));
        check("/p/l", "/etc/passwd", None);
        check("/p/l", "/p/../etc", None);
    }
}
