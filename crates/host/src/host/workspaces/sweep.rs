//! Removing what does not belong to a workspace.
//!
//! Nothing of whoever worked in it before may be seen by the next one. So everything is proven again from what only we have
//! written: our index says which files have the content that we checked out, and all others are written again, and so is what
//! has another mode, another name, or attributes (git compares times by the second, so it does not see all of that). Every path
//! that is neither tracked nor kept is removed, whoever ignores it.

use super::Doubt;
use super::layout::io_error;
use super::names::DIR;
use super::seen::{Differing, Seen};
use crate::files::{Kind as FileKind, Look, Root};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What a directory of a workspace looks like, beside what is in it, and what attributes files in it may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dirs {
    mode: u32,
    /// Names of extended attributes; systems give some to every file.
    attributes: BTreeSet<Vec<u8>>,
}

impl Dirs {
    /// As a directory looks that was just made.
    pub(super) fn of(files: &Root) -> std::io::Result<Self> {
        let top = Path::new("");
        let mode = files.look(top)?.map_or(0o755, |look| look.mode);
        Ok(Self { mode, attributes: files.attributes(top)? })
    }
}

/// What our index says is tracked, as bytes of paths.
#[derive(Debug, Default)]
pub(super) struct Tracked {
    files: HashMap<Vec<u8>, Kind>,
    dirs: HashSet<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Program,
    Link,
    Submodule,
}

impl Tracked {
    /// From `ls-files -z --stage`: `mode id stage TAB path`, again and again.
    pub(super) fn read(listing: &[u8]) -> Self {
        let mut tracked = Self::default();
        for entry in listing.split(|byte| *byte == 0) {
            let Some(tab) = memchr::memchr(b'\t', entry) else { continue };
            let path = &entry[tab + 1..];
            // From the deepest directory up to one that is known, and so are all above it.
            let mut end = path.len();
            while let Some(slash) = memchr::memrchr(b'/', &path[..end]) {
                if !tracked.dirs.insert(path[..slash].to_vec()) {
                    break;
                }
                end = slash;
            }
            let kind = match &entry[..6] {
                b"160000" => Kind::Submodule,
                b"120000" => Kind::Link,
                b"100755" => Kind::Program,
                _ => Kind::File,
            };
            tracked.files.insert(path.to_vec(), kind);
        }
        tracked
    }

    /// Whether there is such a file, or a file in such a directory.
    pub(super) fn has(&self, path: &Path) -> bool {
        let path = path.as_os_str().as_bytes();
        self.files.contains_key(path) || self.dirs.contains(path)
    }

    /// Where submodules are.
    pub(super) fn submodules(&self) -> impl Iterator<Item = PathBuf> {
        let found = self.files.iter().filter(|(_, kind)| **kind == Kind::Submodule);
        found.map(|(path, _)| PathBuf::from(std::ffi::OsStr::from_bytes(path)))
    }
}

/// Removes what is neither tracked nor kept, and what does not look as it was checked out; directories get the look they had.
pub(super) struct Sweep {
    pub(super) files: Root,
    pub(super) dirs: Dirs,
    pub(super) tracked: Tracked,
    pub(super) kept: BTreeSet<PathBuf>,
    /// Files that the index knows from somebody else's writing, or that were touched since.
    pub(super) written: BTreeSet<PathBuf>,
    /// What was there when the files were last those of a tree, and what differs from that by now: the rest is as we left it.
    pub(super) seen: Option<(Seen, Differing)>,
    /// What no workspace has, tracked or not.
    pub(super) hidden: [PathBuf; 2],
}

impl Sweep {
    pub(super) fn run(self) -> Result<(), Doubt> {
        let mut walk = self.files.walk(Path::new(""));
        while let Some(found) = walk.next() {
            let (path, look) = found.map_err(io_error("look through", self.files.path()))?;
            let is_dir = look.kind == FileKind::Dir;
            if path == Path::new(DIR) || self.kept.contains(&path) {
                if is_dir {
                    walk.skip_below();
                }
                continue;
            }
            let stays = !self.hidden.contains(&path)
                && if is_dir { self.dir_stays(&path, &look)? } else { self.file_stays(&path, &look)? };
            if !stays {
                if is_dir {
                    walk.skip_below();
                }
                self.files.remove(&path).map_err(io_error("remove", &self.files.path().join(&path)))?;
            }
        }
        Ok(())
    }

    fn is_as_left(&self, path: &Path) -> bool {
        self.seen.as_ref().is_some_and(|(seen, differing)| differing.is_same(seen, path))
    }

    fn dir_stays(&self, path: &Path, look: &Look) -> Result<bool, Doubt> {
        let name = path.as_os_str().as_bytes();
        let is_known = name.is_empty()
            || self.tracked.dirs.contains(name)
            || self.kept.range(path.to_owned()..).next().is_some_and(|kept| kept.starts_with(path));
        // A submodule that nobody keeps is an empty directory, which git makes again.
        if !is_known {
            return Ok(false);
        }
        if self.is_as_left(path) {
            return Ok(true);
        }
        let full = || self.files.path().join(path);
        if look.mode != self.dirs.mode {
            self.files.set_mode(path, self.dirs.mode).map_err(io_error("open", &full()))?;
        }
        if self.files.attributes(path).map_err(io_error("read", &full()))? != self.dirs.attributes {
            return Err(Doubt::Of("a directory has got extended attributes"));
        }
        Ok(true)
    }

    /// A file that does not stay is written again, if it is tracked.
    fn file_stays(&self, path: &Path, look: &Look) -> Result<bool, Doubt> {
        let Some(kind) = self.tracked.files.get(path.as_os_str().as_bytes()) else { return Ok(false) };
        if self.written.contains(path) {
            return Ok(false);
        }
        if self.is_as_left(path) {
            return Ok(true);
        }
        let looks_right = match (kind, look.kind) {
            // Modes of links mean nothing.
            (Kind::Link, FileKind::Link) => true,
            (Kind::File, FileKind::File) => look.mode == self.dirs.mode & 0o666,
            (Kind::Program, FileKind::File) => look.mode == self.dirs.mode & 0o777,
            _ => false,
        };
        if !looks_right || look.links != 1 {
            return Ok(false);
        }
        let attributes = self.files.attributes(path).map_err(io_error("read", &self.files.path().join(path)))?;
        Ok(attributes.is_subset(&self.dirs.attributes))
    }
}
