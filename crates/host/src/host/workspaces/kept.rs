//! Untracked things that a workspace keeps from one attempt to the next.
//!
//! These are the carried paths and whatever `setup` left that is not tracked, ignored or not. The rule: after `carry`,
//! and again after each `setup`, the untracked paths are *kept roots*, and every file under them is remembered by size,
//! mode and change time (which, unlike the modification time, no program can set). A reset compares: what is the same
//! stays untouched, what is new is removed, what is changed or missing is copied again - from the user's file if it was
//! carried, from a copy in our store if `setup` wrote it. So a reset costs a walk over the kept files and nothing else.
//! Directories get their times back last, because tools that build compare those too (`node_modules: package.json`).

use super::carried::Carried;
use super::layout::io_error;
use super::paths::{inside, is_of_git};
use crate::files::{Kind, Look, Root};
use crate::services::WorkspaceError;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

/// What is kept, and from where it is brought back.
#[derive(Debug)]
pub(super) struct Kept {
    /// The workspace.
    files: Root,
    /// The top of the user's files.
    source: Root,
    /// The project: links may point into it.
    project: PathBuf,
    /// Copies of what `setup` wrote, and the directory that holds them.
    store: Root,
    private: Root,
    /// Older than every tracked file in the workspace.
    began: Time,
    roots: BTreeSet<PathBuf>,
    entries: BTreeMap<PathBuf, Entry>,
    /// Directories that are only the way to what `setup` made, with nothing but directories in them.
    ways: BTreeMap<PathBuf, Way>,
    /// The carried roots, and the user's files below them as they were then.
    carried: BTreeSet<PathBuf>,
    sources: BTreeMap<PathBuf, Entry>,
    /// When they were carried first. A directory of them is as old as that, however often they are carried again: younger than the files
    /// that a workspace begins with, older than somebody's work.
    carried_at: Option<Time>,
    /// Something was changed or missing, and had to be brought back.
    was_touched: bool,
    /// What `setup` made is among the entries.
    was_set_up: bool,
}

/// Seconds of the Unix epoch and nanoseconds.
type Time = (i64, i64);

fn time_of(time: SystemTime) -> Time {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (since.as_secs().cast_signed(), i64::from(since.subsec_nanos()))
}

/// What is remembered of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    Dir {
        mode: u32,
        attributes: BTreeSet<Vec<u8>>,
        modified: Time,
    },
    Link(PathBuf),
    File {
        size: u64,
        mode: u32,
        changed: (i64, i64),
        inode: u64,
        links: u64,
    },
    /// A socket or a pipe that `setup` made; nobody brings it back.
    Other,
}

/// How old a directory is, and what is in it.
#[derive(Debug, PartialEq, Eq)]
struct Way {
    modified: Time,
    names: Vec<(OsString, Kind)>,
}

/// The directories that matter; see [`Kept`].
pub(super) struct Places {
    pub(super) files: Root,
    pub(super) source: Root,
    pub(super) project: PathBuf,
    /// What belongs to the workspace and is not in it.
    pub(super) private: Root,
    /// When the run began.
    pub(super) began: SystemTime,
}

impl Kept {
    pub(super) fn new(places: Places) -> Result<Self, WorkspaceError> {
        Ok(Self {
            store: empty_store(&places.private)?,
            private: places.private,
            files: places.files,
            source: places.source,
            project: places.project,
            began: time_of(places.began),
            roots: BTreeSet::new(),
            entries: BTreeMap::new(),
            ways: BTreeMap::new(),
            carried: BTreeSet::new(),
            sources: BTreeMap::new(),
            carried_at: None,
            was_touched: false,
            was_set_up: false,
        })
    }

    /// The same place with nothing kept in it.
    pub(super) fn emptied(&self, places: Places) -> Result<Self, WorkspaceError> {
        Ok(Self { carried_at: self.carried_at, ..Self::new(places)? })
    }

    pub(super) fn roots(&self) -> &BTreeSet<PathBuf> {
        &self.roots
    }

    /// The user's files that are carried.
    pub(super) fn carried_files(&self) -> Carried {
        let file = |(path, entry): (&PathBuf, &Entry)| match entry {
            Entry::File { size, .. } => Some((path.clone(), *size, self.carried.contains(path))),
            _ => None,
        };
        Carried { source: self.source.clone(), files: self.sources.iter().filter_map(file).collect() }
    }

    /// Copies paths of the user's into the workspace.
    pub(super) fn carry(&mut self, roots: Vec<PathBuf>) -> Result<(), WorkspaceError> {
        let mut missing = BTreeSet::new();
        for root in roots {
            if self.is_in_a_file(&root) {
                missing.insert(root.clone());
                self.roots.insert(root);
                continue;
            }
            self.make_dir(above(&root))?;
            let mut walk = self.source.walk(&root);
            while let Some(found) = walk.next() {
                let (path, look) = found.map_err(io_error("look through", &self.source.path().join(&root)))?;
                if !is_of_git(&path) {
                    self.bring(&path, &look)?;
                } else if look.kind == Kind::Dir {
                    walk.skip_below();
                }
            }
            self.roots.insert(root);
        }
        self.carried.clone_from(&self.roots);
        self.sources = look(&self.source, &self.carried)?;
        self.entries = self.look()?;
        let at = *self.carried_at.get_or_insert_with(|| time_of(SystemTime::now()));
        for (path, entry) in &mut self.entries {
            if let Entry::Dir { modified, .. } = entry {
                *modified = at;
                self.files.date(path, at).map_err(io_error("date", &self.files.path().join(path)))?;
            }
        }
        // Brought as soon as there is a place for it.
        let later = |path: &PathBuf| missing.iter().any(|root| path.starts_with(root)) && !is_of_git(path);
        let sources = self.sources.iter().filter(|(path, _)| later(path));
        self.entries.extend(sources.map(|(path, entry)| (path.clone(), entry.clone())));
        Ok(())
    }

    /// Whether the work has made a file or a link of a directory that this path is in: then there is no place for it.
    fn is_in_a_file(&self, path: &Path) -> bool {
        let mut above = path.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty());
        above.any(|dir| !matches!(self.files.look(dir), Ok(None | Some(Look { kind: Kind::Dir, .. }))))
    }

    /// Whether something that `setup` made has no place in the files.
    pub(super) fn has_no_place(&self) -> bool {
        self.roots.iter().any(|root| !self.carried.contains(root) && self.is_in_a_file(root))
    }

    /// Whether nothing that is kept was ever changed or removed, here or - for these carried paths - by the user. What is
    /// new in it is removed.
    pub(super) fn is_untouched(&mut self, carried: &[PathBuf]) -> Result<bool, WorkspaceError> {
        if self.was_touched || !self.carried.iter().eq(carried.iter().collect::<BTreeSet<_>>()) {
            return Ok(false);
        }
        let now = self.look()?;
        if self.entries.iter().any(|(path, entry)| !entry.is_still(now.get(path))) {
            return Ok(false);
        }
        for path in now.keys().rev().filter(|path| !self.entries.contains_key(*path)) {
            self.remove(path)?;
        }
        self.date_dirs(&now, now.len() > self.entries.len())?;
        Ok(self.carried.is_empty() || self.is_as_carried()?)
    }

    /// Whether the user's files are those that were carried.
    fn is_as_carried(&self) -> Result<bool, WorkspaceError> {
        let now = look(&self.source, &self.carried)?;
        Ok(now.len() == self.sources.len() && self.sources.iter().all(|(path, entry)| entry.is_still(now.get(path))))
    }

    /// Makes a directory, and those above it, as open to others as the user's are, and from their first moment: what is private may
    /// be so by its directory alone. Whoever works here may write to all of them, as they are removed and brought back.
    fn make_dir(&self, path: &Path) -> Result<(), WorkspaceError> {
        if path.as_os_str().is_empty() {
            return Ok(());
        }
        let make = || {
            if self.files.make_private(path)? {
                let mode = self.source.look(path)?.map_or(0o700, |look| look.mode);
                self.files.set_mode(path, mode | 0o700)?;
            }
            Ok(())
        };
        match make() {
            Err(error) if io::Error::kind(&error) == io::ErrorKind::NotFound => {
                self.make_dir(above(path))?;
                make()
            }
            made => made,
        }
        .map_err(io_error("make", &self.files.path().join(path)))
    }

    /// Copies one path of the user's: a link stays a link only if it points into the project.
    fn bring(&self, path: &Path, look: &Look) -> Result<(), WorkspaceError> {
        let (from, to) = (self.source.path().join(path), self.files.path().join(path));
        match look.kind {
            Kind::Dir => return self.make_dir(path),
            Kind::File => {
                let copied = self.files.copy(path, &self.source, path);
                // What the user builds meanwhile is not made of the files here, and must not look younger than they are.
                let dated = copied.and_then(|()| {
                    if look.modified >= self.began { self.files.date(path, self.began) } else { Ok(()) }
                });
                return dated.map_err(io_error("copy to", &to));
            }
            Kind::Other => return Ok(()),
            Kind::Link => {}
        }
        let target = self.source.target(path).map_err(io_error("read", &from))?;
        if let Some(target) = inside(&self.project, &from, &target) {
            self.remove(path)?;
            return self.files.link(path, &target).map_err(io_error("link", &to));
        }
        // A link of the user's to a file elsewhere (the interpreter of a virtual environment) becomes that file; a link to a
        // directory elsewhere, a socket or a pipe is left out.
        let Some((parent, name)) = fs::canonicalize(&from)
            .ok()
            .filter(|real| real.is_file())
            .and_then(|real| Some((Root::open(real.parent()?).ok()?, PathBuf::from(real.file_name()?))))
        else {
            return Ok(());
        };
        self.files.copy(path, &parent, &name).map_err(io_error("copy to", &to))
    }

    /// Removes everything that `setup` made, so that it runs as in a new workspace.
    pub(super) fn forget_setup(&mut self) -> Result<(), WorkspaceError> {
        let made: Vec<PathBuf> = self.roots.iter().filter(|root| !self.carried.contains(*root)).cloned().collect();
        for root in &made {
            self.remove(root)?;
            self.roots.remove(root);
            // Directories that were only the way to it are not there in a new workspace either.
            let mut above = root.ancestors().skip(1).take_while(|dir| !dir.as_os_str().is_empty());
            while above.next().is_some_and(|dir| self.files.remove_empty(dir).is_ok()) {}
        }
        self.ways.clear();
        self.store = empty_store(&self.private)?;
        if !std::mem::take(&mut self.was_set_up) {
            return self.restore();
        }
        // What it changed below a carried path was remembered as if it had been carried.
        let is_there = |root: &PathBuf| matches!(self.source.look(root), Ok(Some(_)));
        let carried: Vec<PathBuf> = self.carried.iter().filter(|root| is_there(root)).cloned().collect();
        for root in std::mem::take(&mut self.roots) {
            self.remove(&root)?;
        }
        self.carry(carried)
    }

    /// Brings everything kept back to what it was.
    pub(super) fn restore(&mut self) -> Result<(), WorkspaceError> {
        let mut now = self.look()?;
        while self.open_closed(&now)? {
            now = self.look()?;
        }
        let mut is_changed = false;
        for path in now.keys().rev() {
            if !self.entries.contains_key(path) {
                self.remove(path)?;
                is_changed = true;
            }
        }
        let mut brought = Vec::new();
        let without_place: Vec<&PathBuf> = self.roots.iter().filter(|root| self.is_in_a_file(root)).collect();
        for (path, entry) in &self.entries {
            if entry.is_still(now.get(path)) || without_place.iter().any(|root| path.starts_with(root)) {
                continue;
            }
            (self.was_touched, is_changed) = (true, true);
            let to = self.files.path().join(path);
            match entry {
                Entry::Dir { mode, .. } => {
                    if !matches!(now.get(path), Some(Entry::Dir { .. })) {
                        self.remove(path)?;
                        self.make_dir(path)?;
                    }
                    self.files.set_mode(path, *mode).map_err(io_error("restore", &to))?;
                }
                Entry::Link(target) => {
                    self.remove(path)?;
                    self.make_dir(above(path))?;
                    self.files.link(path, target).map_err(io_error("link", &to))?;
                }
                Entry::File { .. } => {
                    self.remove(path)?;
                    self.make_dir(above(path))?;
                    if matches!(self.store.look(path), Ok(Some(_))) {
                        self.files.copy(path, &self.store, path).map_err(io_error("bring back", &to))?;
                    } else {
                        let look = self.source.look(path).and_then(|look| look.ok_or(io::ErrorKind::NotFound.into()));
                        self.bring(path, &look.map_err(io_error("bring back", &to))?)?;
                    }
                    let look = self.files.look(path).map_err(io_error("read", &to))?;
                    if let Some(look) = look {
                        brought.push((path.clone(), Entry::of(&self.files, path, &look)?));
                    }
                }
                Entry::Other => {}
            }
        }
        self.entries.extend(brought);
        self.date_dirs(&now, is_changed)
    }

    /// Gives the directories their times back, `now` being what was there and `changed` whether something was put into them or taken
    /// away since.
    fn date_dirs(&self, now: &BTreeMap<PathBuf, Entry>, changed: bool) -> Result<(), WorkspaceError> {
        for (path, entry) in &self.entries {
            let Entry::Dir { modified, .. } = entry else { continue };
            let is_right = matches!(now.get(path), Some(Entry::Dir { modified: is, .. }) if is == modified);
            if (changed || !is_right) && !self.is_in_a_file(path) {
                self.files.date(path, *modified).map_err(io_error("date", &self.files.path().join(path)))?;
            }
        }
        for (path, was) in &self.ways {
            // With something of the work in it, it is as old as that.
            let is = self.way(path)?.filter(|is| is.names == was.names && is.modified != was.modified);
            if is.is_some() {
                self.files.date(path, was.modified).map_err(io_error("date", &self.files.path().join(path)))?;
            }
        }
        Ok(())
    }

    /// A directory with nothing but directories in it.
    fn way(&self, dir: &Path) -> Result<Option<Way>, WorkspaceError> {
        let look = || {
            let Some(look) = self.files.look(dir)?.filter(|look| look.kind == Kind::Dir) else { return Ok(None) };
            let names = self.files.list(dir)?;
            let is_way = names.iter().all(|(_, kind)| *kind == Kind::Dir);
            Ok(is_way.then_some(Way { modified: look.modified, names }))
        };
        look().map_err(io_error("read", &self.files.path().join(dir)))
    }

    /// Those that lead to what `setup` made.
    fn find_ways(&self) -> Result<BTreeMap<PathBuf, Way>, WorkspaceError> {
        let mut ways = BTreeMap::new();
        for root in self.roots.iter().filter(|root| !self.carried.contains(*root)) {
            for dir in root.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty()) {
                let Some(way) = self.way(dir)? else { break };
                ways.insert(dir.to_owned(), way);
            }
        }
        Ok(ways)
    }

    /// Opens directories that somebody has closed, so that what is in them can be seen; whether there were any.
    fn open_closed(&mut self, now: &BTreeMap<PathBuf, Entry>) -> Result<bool, WorkspaceError> {
        let mut any = false;
        for (path, entry) in &self.entries {
            let (Entry::Dir { mode, .. }, Some(Entry::Dir { mode: is, .. })) = (entry, now.get(path)) else { continue };
            if is & 0o500 != 0o500 && mode & 0o500 == 0o500 {
                let at = self.files.path().join(path);
                self.files.set_mode(path, *mode).map_err(io_error("open", &at))?;
                (any, self.was_touched) = (true, true);
            }
        }
        Ok(any)
    }

    /// Takes everything untracked as kept from now on: `setup` has just run.
    pub(super) fn capture(&mut self, untracked: Vec<PathBuf>) -> Result<(), WorkspaceError> {
        self.was_set_up = true;
        self.roots.extend(untracked);
        let roots = std::mem::take(&mut self.roots);
        for root in roots {
            let below_another = self.roots.iter().any(|above| root.starts_with(above));
            if !below_another && matches!(self.files.look(&root), Ok(Some(_))) {
                self.roots.insert(root);
            }
        }
        let mut now = self.look()?;
        for (path, entry) in &mut now {
            let Entry::File { links, .. } = *entry else { continue };
            if self.entries.get(path) == Some(&*entry) {
                continue;
            }
            let shared = links > 1;
            let (at, to) = (self.files.path().join(path), self.store.path().join(path));
            self.store.copy(path, &self.files, path).map_err(io_error("copy to", &to))?;
            if shared {
                // Package managers link files from a store of the user's: whoever writes to one here would write to all of them,
                // and another install would touch it here.
                self.files.copy(path, &self.store, path).map_err(io_error("copy to", &at))?;
                let look = self.files.look(path).map_err(io_error("read", &at))?;
                let look = look.ok_or_else(|| io_error("read", &at)(io::ErrorKind::NotFound.into()))?;
                *entry = Entry::of(&self.files, path, &look)?;
            }
        }
        let is_changed = self.entries != now;
        self.entries = now;
        self.ways = self.find_ways()?;
        self.date_dirs(&self.entries, is_changed)
    }

    /// Files and links below these roots that are not kept themselves.
    pub(super) fn new_below(&self, roots: &BTreeSet<PathBuf>) -> Result<Vec<PathBuf>, WorkspaceError> {
        let now = look(&self.files, roots)?.into_iter();
        let new = now.filter(|(path, entry)| !matches!(entry, Entry::Dir { .. }) && !self.entries.contains_key(path));
        Ok(new.map(|(path, _)| path).collect())
    }

    /// Whether it was there when it was kept.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.entries.contains_key(path)
    }

    /// Whether a file that is kept has the content that it had.
    pub(super) fn has_content(&self, path: &Path) -> bool {
        let Some(Entry::File { size, .. }) = self.entries.get(path) else { return false };
        let is_stored = matches!(self.store.look(path), Ok(Some(_)));
        let kept = if is_stored { &self.store } else { &self.source };
        let is_as_long = matches!(self.files.look(path), Ok(Some(look)) if look.len == *size);
        let content = |root: &Root| root.read(path).ok();
        is_as_long && content(&self.files).is_some_and(|now| content(kept) == Some(now))
    }

    /// Which files that are kept are not as they were, in the order of their names.
    pub(super) fn touched(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let now = self.look()?;
        let files = self.entries.iter().filter(|(_, entry)| matches!(entry, Entry::File { .. }));
        let mut touched: Vec<PathBuf> =
            files.filter(|(path, entry)| now.get(*path) != Some(*entry)).map(|(path, _)| path.clone()).collect();
        let is_new = |(path, entry): &(&PathBuf, &Entry)| {
            matches!(entry, Entry::File { .. } | Entry::Link(_)) && !self.entries.contains_key(*path)
        };
        touched.extend(now.iter().filter(is_new).map(|(path, _)| path.clone()));
        touched.sort();
        Ok(touched)
    }

    fn remove(&self, path: &Path) -> Result<(), WorkspaceError> {
        self.files.remove(path).map_err(io_error("remove", &self.files.path().join(path)))
    }

    fn look(&self) -> Result<BTreeMap<PathBuf, Entry>, WorkspaceError> {
        look(&self.files, &self.roots)
    }
}

fn above(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

fn empty_store(private: &Root) -> Result<Root, WorkspaceError> {
    let name = Path::new("store");
    let make = || {
        private.remove(name)?;
        // What is private here may be so by a directory that is not copied.
        private.make_private(name)?;
        private.below(name)
    };
    make().map_err(io_error("empty", &private.path().join(name)))
}

/// Everything below these roots, as far as they are there.
pub(super) fn look(files: &Root, roots: &BTreeSet<PathBuf>) -> Result<BTreeMap<PathBuf, Entry>, WorkspaceError> {
    let mut entries = BTreeMap::new();
    for root in roots {
        let failed = || io_error("look through", &files.path().join(root));
        if files.look(root).map_err(failed())?.is_none() {
            continue;
        }
        for found in files.walk(root) {
            // What somebody has closed is as good as gone, and is brought back like that.
            let (path, look) = match found {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
                found => found.map_err(failed())?,
            };
            let entry = Entry::of(files, &path, &look)?;
            entries.insert(path, entry);
        }
    }
    Ok(entries)
}

impl Entry {
    /// Whether there still is what there was. Of a directory its time does not count: whoever puts something into one and takes it away
    /// again has changed nothing that is kept, and [`Kept::date_dirs`] is there for the time.
    fn is_still(&self, now: Option<&Self>) -> bool {
        match (self, now) {
            (Self::Dir { mode, attributes, .. }, Some(Self::Dir { mode: is, attributes: are, .. })) => {
                mode == is && attributes == are
            }
            _ => now == Some(self),
        }
    }

    fn of(files: &Root, path: &Path, look: &Look) -> Result<Self, WorkspaceError> {
        let read = || -> io::Result<Self> {
            Ok(match look.kind {
                Kind::Dir => {
                    Self::Dir { mode: look.mode, attributes: files.attributes(path)?, modified: look.modified }
                }
                Kind::Link => Self::Link(files.target(path)?),
                Kind::File => Self::File {
                    size: look.len,
                    mode: look.mode,
                    changed: look.changed,
                    inode: look.inode,
                    links: look.links,
                },
                Kind::Other => Self::Other,
            })
        };
        read().map_err(io_error("read", &files.path().join(path)))
    }
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
