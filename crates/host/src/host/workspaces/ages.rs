//! How old the files are that a workspace begins with.
//!
//! Tools that build compare times (`node_modules: package.json`). A file that has got its first content back is as old as it was, so
//! that what was carried in after it is still the younger one. Files with another content are as old as their writing.

use super::layout::{blocking, io_error};
use super::slot::Slot;
use crate::files::{Kind, Root};
use crate::services::WorkspaceError;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of a tree, as old as they were when they were written first.
#[derive(Debug, Default)]
pub(super) struct Ages {
    tree: String,
    times: BTreeMap<PathBuf, (i64, i64)>,
}

impl Ages {
    /// Of these files, from `ls-files -z --stage`: `mode id stage TAB path`, again and again.
    fn of(files: &Root, tree: String, listing: &[u8]) -> io::Result<Self> {
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
    fn give_back(&self, files: &Root, but_not: &BTreeSet<PathBuf>) -> io::Result<bool> {
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

impl Slot {
    /// Remembers the ages of the files, which were just written: they are those of this tree.
    pub(super) async fn note_ages(&mut self, tree: &str) -> Result<(), WorkspaceError> {
        let (files, tree, listing) = (self.recorder.files.clone(), tree.to_owned(), self.recorder.listing().await?);
        let ages = blocking(move || Ages::of(&files, tree, &listing).map_err(io_error("look through", files.path())));
        self.ages = Arc::new(ages.await?);
        Ok(())
    }

    /// Gives files that have their first content their first age, now that they are those of this tree.
    pub(super) async fn give_ages_back(&self, tree: &str) -> Result<(), WorkspaceError> {
        let ages = Arc::clone(&self.ages);
        let others =
            if ages.tree == tree { Vec::new() } else { self.recorder.difference(&ages.tree, tree).await?.paths };
        let (files, others) = (self.recorder.files.clone(), others.into_iter().collect());
        let given = blocking(move || ages.give_back(&files, &others).map_err(io_error("date", files.path()))).await?;
        if given { self.recorder.refresh().await } else { Ok(()) }
    }
}
