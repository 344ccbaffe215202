//! Files that git would record otherwise than they are committed, although nobody has touched them: with CRLF in them from before `text` was
//! an attribute, from before a filter was set up, with an old `$Id$`.
//!
//! What git makes of the bytes says nothing there. What counts is whether the bytes are those that git itself has written.

use super::layout::{blocking, io_error};
use super::recorder::{Recorder, Recording};
use crate::files::{Kind, Root};
use crate::host::git;
use crate::services::WorkspaceError;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Where git writes the files once more.
const WRITTEN: &str = "written";
/// An index of another tree than the one that the files were put back to.
const INDEX: &str = "written-index";
/// The attributes by which what is recorded is other bytes than the file.
const CONVERTING: [&str; 6] = ["text", "crlf", "eol", "ident", "filter", "working-tree-encoding"];

impl Recorder {
    /// What of `changed` was touched, and the entries of files that are as the base has them again.
    pub(super) async fn touched(
        &self,
        changed: &HashSet<PathBuf>,
        what: &Recording<'_>,
    ) -> Result<(HashSet<PathBuf>, Vec<u8>), WorkspaceError> {
        let (Some(loaded), Some(base)) = (what.loaded, what.base) else { return Ok((changed.clone(), Vec::new())) };
        let as_written = self.as_written(changed, Some(loaded)).await?;
        let touched: HashSet<PathBuf> = changed.difference(&as_written).cloned().collect();
        if base == loaded {
            return Ok((touched, Vec::new()));
        }
        let (as_in_base, entries) = self.entries_as_written(&touched, base).await?;
        Ok((touched.difference(&as_in_base).cloned().collect(), entries))
    }

    /// Of these files, those that are, byte for byte and in their permissions, what git writes for the index's tree.
    /// `tree` is the one that it holds, if known: its attributes count then.
    pub(super) async fn as_written(
        &self,
        paths: &HashSet<PathBuf>,
        tree: Option<&str>,
    ) -> Result<HashSet<PathBuf>, WorkspaceError> {
        let converted = self.converted(paths).await?;
        self.written_alike(converted, &self.index(), tree).await
    }

    /// The entries that a tree has of those of these files that are what git writes for it, as `update-index --index-info` reads them; and
    /// which they are.
    async fn entries_as_written(
        &self,
        paths: &HashSet<PathBuf>,
        tree: &str,
    ) -> Result<(HashSet<PathBuf>, Vec<u8>), WorkspaceError> {
        let converted = self.converted(paths).await?;
        if converted.is_empty() {
            return Ok((converted, Vec::new()));
        }
        // Whatever a git that was killed has left there.
        for name in [INDEX, "written-index.lock"] {
            self.private.remove(Path::new(name)).map_err(io_error("write to", self.private.path()))?;
        }
        let index = self.private.path().join(INDEX);
        self.git.call(["read-tree", tree]).index(&index).ok().await?;
        let alike = self.written_alike(converted, &index, Some(tree)).await?;
        if alike.is_empty() {
            return Ok((alike, Vec::new()));
        }
        let list = ["--literal-pathspecs", "ls-files", "-z", "--stage", "--"];
        let entries = self.git.call(list).args(&alike).index(&index).ok().await?;
        Ok((alike, entries))
    }

    /// Those of these files whose bytes git may convert, by their attributes now. Where these were changed, all that are there.
    async fn converted(&self, paths: &HashSet<PathBuf>) -> Result<HashSet<PathBuf>, WorkspaceError> {
        let is_file =
            |path: &&PathBuf| self.files.look(path).ok().flatten().is_some_and(|look| look.kind == Kind::File);
        let files: HashSet<PathBuf> = paths.iter().filter(is_file).cloned().collect();
        let attributes = OsStr::new(".gitattributes");
        if files.is_empty() || paths.iter().any(|path| path.file_name() == Some(attributes)) {
            return Ok(files);
        }
        let ask = ["check-attr", "-z", "--stdin"].into_iter().chain(CONVERTING);
        let said = self.git.call(ask).index(&self.index()).stdin(git::listing(&files)).ok().await?;
        // `path NUL attribute NUL value NUL`, again and again.
        let parts: Vec<&[u8]> = said.split(|byte| *byte == 0).collect();
        let is_converted = |part: &&[&[u8]]| !matches!(part[2], b"unspecified" | b"unset");
        let converted: HashSet<PathBuf> =
            parts.chunks_exact(3).filter(is_converted).flat_map(|part| git::paths(part[0])).collect();
        Ok(converted)
    }

    /// Has git write these files once more, elsewhere, and compares. `attributes`: the tree whose attributes count.
    async fn written_alike(
        &self,
        paths: HashSet<PathBuf>,
        index: &Path,
        attributes: Option<&str>,
    ) -> Result<HashSet<PathBuf>, WorkspaceError> {
        if paths.is_empty() {
            return Ok(paths);
        }
        let emptied = || self.private.remove(Path::new(WRITTEN)).map_err(io_error("empty", self.private.path()));
        emptied()?;
        let made = self.private.make_below(Path::new(WRITTEN)).map_err(io_error("make", self.private.path()))?;
        let prefix = format!("--prefix={}/", made.path().display());
        let call = self.git.call(["checkout-index", "--quiet", "-z", "--stdin", &prefix]).index(index);
        let call = attributes.into_iter().fold(call, |call, tree| call.env("GIT_ATTR_SOURCE", tree));
        // Its status says that some of them are not in the index, or that a filter failed: these are not there then.
        call.stdin(git::listing(&paths)).run().await?;
        let files = self.files.clone();
        let alike = blocking(move || {
            let is_alike = |path: &PathBuf| is_same(&files, &made, path).unwrap_or(false);
            Ok(paths.into_iter().filter(is_alike).collect())
        });
        let alike = alike.await?;
        emptied()?;
        Ok(alike)
    }
}

/// Whether a file has the same bytes in two directories, and is a program in both or in none.
fn is_same(one: &Root, other: &Root, path: &Path) -> io::Result<bool> {
    let (Some(a), Some(b)) = (one.look(path)?, other.look(path)?) else { return Ok(false) };
    if b.kind != Kind::File || a.len != b.len || a.mode & 0o100 != b.mode & 0o100 {
        return Ok(false);
    }
    let (mut a, mut b) =
        (io::BufReader::new(one.open_file(path)?).bytes(), io::BufReader::new(other.open_file(path)?).bytes());
    loop {
        match (a.next().transpose()?, b.next().transpose()?) {
            (None, None) => return Ok(true),
            (a, b) if a == b => {}
            _ => return Ok(false),
        }
    }
}
