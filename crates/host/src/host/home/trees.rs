//! Directories in which tools look for modules and programs.
//!
//! There may be tens of thousands of files in them, so nobody reads those: size, mode and times tell one from another. The time of the last
//! change of an inode cannot be set back.

use super::list::{PATTERNS, Variables, Within};
use super::peek::first_bytes;
use super::{HomePlaces, may_write};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// So many files of all trees are looked at.
pub(super) const MOST: usize = 50_000;
/// Of a `.pth` file, so much is read.
const MOST_BYTES: u64 = 64 << 10;

/// Directories that belong together, as they are at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    /// By their paths: as text, whose order is found fast.
    pub files: BTreeMap<OsString, Stamp>,
    /// It is not looked at: there are more files than [`MOST`].
    pub is_too_large: bool,
    /// They are programs, which their package managers replace.
    pub of_programs: bool,
}

/// By what a file is told from another one at its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    own: Times,
    /// Of what a link leads to.
    behind: Option<Times>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times {
    size: u64,
    mode: u32,
    modified: (i64, i64),
    /// Of the inode. None: it has other names as well, which come and go as package managers share files.
    changed: Option<(i64, i64)>,
}

impl Times {
    fn of(metadata: &Metadata) -> Self {
        if metadata.is_dir() {
            return Self { size: 0, mode: metadata.mode(), modified: (0, 0), changed: None };
        }
        let changed = (metadata.nlink() < 2).then(|| (metadata.ctime(), metadata.ctime_nsec()));
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Self { size: metadata.size(), mode: metadata.mode(), modified, changed }
    }

    fn is_as(&self, before: &Self) -> bool {
        let same = (self.size, self.mode, self.modified) == (before.size, before.mode, before.modified);
        same && (before.changed.is_none() || self.changed == before.changed)
    }

    fn is_since(&self, time: i64) -> bool {
        self.changed.is_some_and(|changed| changed.0 >= time) || self.modified.0 >= time
    }
}

impl Stamp {
    /// None: nothing is there.
    pub(super) fn at(path: &Path) -> Option<Self> {
        path.symlink_metadata().ok().map(|metadata| Self::of(path, &metadata))
    }

    fn of(path: &Path, metadata: &Metadata) -> Self {
        // What a link leads to is what the tool reads; a directory behind one is no part of the tree.
        let behind = metadata.is_symlink().then(|| path.metadata().ok()).flatten();
        Self { own: Times::of(metadata), behind: behind.map(|metadata| Times::of(&metadata)) }
    }

    /// Whether it is what it was.
    pub(super) fn is_as(&self, before: &Self) -> bool {
        let behind = match (&self.behind, &before.behind) {
            (Some(now), Some(before)) => now.is_as(before),
            (now, before) => now.is_none() && before.is_none(),
        };
        behind && self.own.is_as(&before.own)
    }

    /// Whether something was changed at this time or later.
    pub(super) fn is_since(&self, time: SystemTime) -> bool {
        let time = seconds(time);
        self.own.is_since(time) || self.behind.is_some_and(|behind| behind.is_since(time))
    }
}

/// The clock of files ticks a little behind.
pub(super) fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX).saturating_sub(1)
}

impl Tree {
    /// The same for the same files.
    pub(super) fn digest(&self, hash: &mut Sha256) {
        hash.update([u8::from(self.is_too_large)]);
        for (path, stamp) in &self.files {
            hash.update(path.as_bytes());
            hash.update(format!("\0{stamp:?}\0"));
        }
    }
}

/// The trees that there are, by what they are called; of those with more files than are left of `most`, only that.
pub(super) fn now(places: &HomePlaces, variables: Variables<'_>, most: usize) -> BTreeMap<PathBuf, Arc<Tree>> {
    let mut look = Looker { places, left: most, walked: BTreeSet::new() };
    let mut trees = BTreeMap::new();
    for (name, within, roots) in PATTERNS.trees(places, variables) {
        look.tree(name, within, roots, &mut trees);
    }
    let named: BTreeSet<PathBuf> = trees.values().flat_map(|tree: &Arc<Tree>| named_by(tree)).collect();
    for root in named {
        look.tree(root.clone(), Within::All, vec![root], &mut trees);
    }
    trees
}

struct Looker<'a> {
    places: &'a HomePlaces,
    left: usize,
    /// What is a tree already, with all that is in it.
    walked: BTreeSet<PathBuf>,
}

impl Looker<'_> {
    fn tree(&mut self, name: PathBuf, within: Within, roots: Vec<PathBuf>, trees: &mut BTreeMap<PathBuf, Arc<Tree>>) {
        if trees.contains_key(&name) {
            return;
        }
        let of_programs = within == Within::Programs;
        let (mut tree, left) = (Tree { files: BTreeMap::new(), is_too_large: false, of_programs }, self.left);
        for root in roots {
            if !self.is_a_tree(&root, within) {
                continue;
            }
            if !matches!(within, Within::Names | Within::Programs) {
                self.walked.insert(root.clone());
            }
            if !self.walk(&root, within, &mut tree.files) {
                // Smaller ones are looked at all the same.
                self.left = left;
                tree = Tree { files: BTreeMap::new(), is_too_large: true, of_programs };
                break;
            }
        }
        trees.insert(name, Arc::new(tree));
    }

    /// Whether it is looked at: it is not part of another tree, nor of what is the runtime's, and somebody without rights of the system may
    /// write to it.
    fn is_a_tree(&self, root: &Path, within: Within) -> bool {
        let places = self.places;
        let is_elsewhere = within == Within::Environment || !root.starts_with(&places.checkout);
        let is_programs_of_user = within != Within::Programs || root.starts_with(&places.home) && root != places.home;
        // Whoever works on a repository of theirs meanwhile changes it as they like.
        let is_repository = |dir: &Path| dir != places.home && dir.join(".git").exists();
        let is_worked_on = within == Within::All && root.ancestors().any(is_repository);
        is_elsewhere
            && is_programs_of_user
            && !is_worked_on
            && !places
                .own
                .iter()
                .any(|own| root.starts_with(own) && !places.above().iter().any(|dir| root.parent() == Some(dir)))
            && !self.walked.iter().any(|walked| root.starts_with(walked))
            && may_write(root)
    }

    /// Whether it is all there is.
    fn walk(&mut self, root: &Path, within: Within, files: &mut BTreeMap<OsString, Stamp>) -> bool {
        let mut dirs = vec![(root.to_owned(), 0)];
        while let Some((dir, depth)) = dirs.pop() {
            for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
                let (path, name) = (entry.path(), entry.file_name());
                let is_left_out_below = || PATTERNS.is_left_out_below(path.strip_prefix(root).unwrap_or(&path));
                // Under such a name no program is called: tools make them for a moment.
                let is_hidden = within == Within::Programs && name.as_encoded_bytes().starts_with(b".");
                if is_hidden || PATTERNS.is_left_out(&name) || depth < 2 && is_left_out_below() {
                    continue;
                }
                if self.left == 0 {
                    return false;
                }
                self.left -= 1;
                let Ok(metadata) = entry.metadata() else { continue };
                let is_deep = matches!(within, Within::Environment | Within::All);
                if metadata.is_dir() && is_deep {
                    if !self.is_passed_over(&path, within) {
                        dirs.push((path, depth + 1));
                    }
                    continue;
                }
                if within != Within::Programs
                    || metadata.is_symlink()
                    || metadata.is_file() && metadata.mode() & 0o111 != 0
                {
                    let stamp = Stamp::of(&path, &metadata);
                    files.insert(path.into_os_string(), stamp);
                }
            }
        }
        true
    }

    fn is_passed_over(&self, dir: &Path, within: Within) -> bool {
        self.places.own.iter().any(|own| dir == own) || within != Within::Environment && dir == self.places.checkout
    }
}

/// The directories that the `.pth` files of a tree add to where Python looks for modules.
fn named_by(tree: &Tree) -> Vec<PathBuf> {
    let is_site = |path: &&Path| {
        let dir = path.parent().and_then(Path::file_name).and_then(OsStr::to_str);
        path.extension() == Some(OsStr::new("pth")) && dir.is_some_and(|dir| dir.ends_with("-packages"))
    };
    let lines = |path: &Path| {
        let (dir, text) = (path.parent()?, first_bytes(path, MOST_BYTES)?);
        let lines = text.split(|byte| matches!(byte, b'\n' | b'\r'));
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(b"import"));
        let paths = lines.map(|line| dir.join(OsStr::from_bytes(line.trim_ascii_end())));
        Some(paths.filter(|path| path.is_dir()).collect::<Vec<_>>())
    };
    tree.files.keys().map(Path::new).filter(is_site).filter_map(lines).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_too_large_is_not_looked_at_and_smaller_trees_are() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let places =
            HomePlaces { home: home.clone(), rooms: home.join("rooms"), own: Vec::new(), checkout: home.join("c") };
        for (tree, files) in [("venv", 5), ("py", 2)] {
            fs::create_dir(home.join(tree)).unwrap();
            (0..files).for_each(|i| fs::write(home.join(tree).join(i.to_string()), "").unwrap());
        }
        let set = |name: &str| match name {
            "VIRTUAL_ENV" => Some(home.join("venv").into_os_string()),
            "PYTHONPATH" => Some(home.join("py").into_os_string()),
            _ => None,
        };
        let large = |most| {
            now(&places, &set, most)
                .iter()
                .filter(|(_, tree)| tree.is_too_large)
                .map(|(name, _)| name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(large(7), Vec::<PathBuf>::new());
        assert_eq!(large(4), [home.join("venv")]);
    }
}
