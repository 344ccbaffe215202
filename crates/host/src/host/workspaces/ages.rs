//! How old the files are that a workspace begins with.
//!
//! Tools that build compare times (`node_modules: package.json`). A file that has got its first content back is as old as it was, so
//! that what was carried in after it is still the younger one. Files with another content are as old as their writing.

use crate::files::{Kind, Root};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The files of a tree, as old as they were when they were written first.
#[derive(Debug, Default)]
pub(super) struct Ages {
    pub(super) tree: String,
    times: BTreeMap<PathBuf, (i64, i64)>,
}

impl Ages {
    /// Of these files, from `ls-files -z --stage`: `mode id stage TAB path`, again and again.
    pub(super) fn of(files: &Root, tree: String, listing: &[u8]) -> io::Result<Self> {
        let mut times = BTreeMap::new();
        for entry in listing.split(|byte| *byte == 0) {
            let Some(tab) = memchr::memchr(b'\t', entry) else { continue };
            let path = Path::new(OsStr::from_bytes(&entry[tab + 1..]));
            if let Some(look) = files.look(path)?.filter(|look| look.kind == Kind::File) {
                times.insert(path.to_owned(), look.modified);
            }
        }
        Ok(Self { tree, times })
    }

    /// Gives them back to all files but those of another content; whether any had another one.
    pub(super) fn give_back(&self, files: &Root, but_not: &BTreeSet<PathBuf>) -> io::Result<bool> {
        let mut any = false;
        for (path, time) in self.times.iter().filter(|(path, _)| !but_not.contains(*path)) {
            let is_other = files.look(path)?.is_some_and(|look| look.kind == Kind::File && look.modified != *time);
            if is_other {
                files.date(path, *time)?;
                any = true;
            }
        }
        Ok(any)
    }
}
