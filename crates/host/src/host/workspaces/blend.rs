//! Trees of parts of two others: what a proof runs its checks on.

use super::layout::io_error;
use super::recorder::Recorder;
use crate::host::git::failed;
use crate::services::{Taken, WorkspaceError};
use crate::toolchain::{Apart, inline_tests};
use std::path::{Component, Path};

/// An index of our own, beside that of the files.
const INDEX: &str = "blend-index";

/// How one path differs between two trees.
struct Entry<'a> {
    /// Of the second tree; `000000` where it is not there.
    mode: &'a str,
    old: &'a str,
    new: &'a str,
    path: &'a [u8],
}

/// `:mode mode id id status NUL path NUL`, again and again.
fn entries(raw: &[u8]) -> Vec<Entry<'_>> {
    let mut parts = raw.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
        let mut fields = std::str::from_utf8(about).unwrap_or_default().split(' ').skip(1);
        if let (Some(mode), Some(old), Some(new)) = (fields.next(), fields.next(), fields.next()) {
            found.push(Entry { mode, old, new, path });
        }
    }
    found
}

/// Mode and content of a regular file, as `ls-tree -z` lists it: `mode blob id TAB path NUL`.
fn regular_file<'l>(listed: &'l str, path: &str) -> Option<(&'l str, &'l str)> {
    let (about, name) = listed.strip_suffix('\0')?.split_once('\t')?;
    let mut fields = about.split(' ');
    let (mode, _, id) = (fields.next()?, fields.next()?, fields.next()?);
    (mode.starts_with("100") && name == path).then_some((mode, id))
}

impl Recorder {
    /// The files of `tree`, of which some are as in `from`.
    pub(super) async fn blend(&self, tree: &str, from: &str, taken: &Taken) -> Result<String, WorkspaceError> {
        let raw = self.git.call(["diff-tree", "-r", "-z", "--no-renames", tree, from]).ok().await?;
        let mut listing = Vec::new();
        for Entry { mode, old, new, path } in entries(&raw) {
            let name = String::from_utf8_lossy(path);
            let is_in = |files: &[String]| files.iter().any(|file| *file == name);
            let entry = if is_in(&taken.files) {
                Some(format!("{mode} {new}\t"))
            } else if is_in(&taken.inline) {
                self.with_tests(&name, old, new).await?.map(|id| format!("{mode} {id}\t"))
            } else {
                None
            };
            if let Some(entry) = entry {
                listing.extend_from_slice(entry.as_bytes());
                listing.extend_from_slice(path);
                listing.push(0);
            }
        }
        self.with_entries(tree, listing).await
    }

    /// A tree with other entries, as `update-index --index-info` reads them.
    async fn with_entries(&self, tree: &str, listing: Vec<u8>) -> Result<String, WorkspaceError> {
        if listing.is_empty() {
            return Ok(tree.to_owned());
        }
        // Whatever a git that was killed has left there.
        for name in [INDEX, "blend-index.lock"] {
            self.private.remove(Path::new(name)).map_err(io_error("write to", self.private.path()))?;
        }
        let index = self.private.path().join(INDEX);
        self.git.call(["read-tree", tree]).index(&index).ok().await?;
        let update = ["update-index", "--add", "--replace", "-z", "--index-info"];
        self.git.call(update).index(&index).stdin(listing).ok().await?;
        self.git.call(["write-tree"]).index(&index).line().await
    }

    /// See [`Workspace::text`](crate::services::Workspace::text).
    pub(super) async fn text(&self, tree: &str, file: &str) -> Result<Option<String>, WorkspaceError> {
        match regular_file(&self.listed(tree, file).await?, file) {
            Some((_, id)) => self.content(id).await,
            None => Ok(None),
        }
    }

    /// See [`Workspace::files_with`](crate::services::Workspace::files_with).
    pub(super) async fn files_with(&self, tree: &str, words: &str) -> Result<Vec<String>, WorkspaceError> {
        /// How git says that there is none.
        const NONE: i32 = 1;
        let list = ["grep", "--no-color", "--full-name", "-l", "-z", "-F", "-e", words, tree, "--"];
        let found = self.git.call(list).run().await?;
        if found.status == NONE {
            return Ok(Vec::new());
        }
        if found.status != 0 {
            return Err(failed("grep", &found.stderr));
        }
        // `TREE:PATH`
        let path = |file: &[u8]| Some(String::from_utf8_lossy(file).split_once(':')?.1.to_owned());
        Ok(found.stdout.split(|byte| *byte == 0).filter_map(path).collect())
    }

    /// See [`Workspace::with_texts`](crate::services::Workspace::with_texts).
    pub(super) async fn with_texts(&self, tree: &str, texts: &[(String, String)]) -> Result<String, WorkspaceError> {
        let mut listing = Vec::new();
        for (file, text) in texts {
            let listed = self.listed(tree, file).await?;
            let Some((mode, _)) = regular_file(&listed, file) else { continue };
            let id = self.git.call(["hash-object", "-w", "--stdin"]).stdin(text.clone()).line().await?;
            listing.extend_from_slice(format!("{mode} {id}\t{file}\0").as_bytes());
        }
        self.with_entries(tree, listing).await
    }

    /// What a tree has under a name, as `ls-tree -z` lists it.
    async fn listed(&self, tree: &str, file: &str) -> Result<String, WorkspaceError> {
        // A word of a command line may be any path; git refuses those that lead out.
        let mut parts = Path::new(file).components();
        if file.is_empty() || !parts.all(|part| matches!(part, Component::Normal(_))) {
            return Ok(String::new());
        }
        let list = ["--literal-pathspecs", "ls-tree", "-z", "--full-tree", tree, "--", file];
        let listed = self.git.call(list).ok().await?;
        Ok(String::from_utf8_lossy(&listed).into_owned())
    }

    async fn content(&self, id: &str) -> Result<Option<String>, WorkspaceError> {
        let content = self.git.call(["cat-file", "blob", id]).ok().await?;
        Ok(String::from_utf8(content).ok())
    }

    /// The code of one content with the tests of another one.
    async fn with_tests(&self, name: &str, code: &str, tests: &str) -> Result<Option<String>, WorkspaceError> {
        // One of the trees has no such file.
        if [code, tests].iter().any(|id| id.bytes().all(|byte| byte == b'0')) {
            return Ok(None);
        }
        let (Some(code), Some(tests)) = (self.content(code).await?, self.content(tests).await?) else {
            return Ok(None);
        };
        let (Some(code), Some(tests)) = (inline_tests(name, &code), inline_tests(name, &tests)) else {
            return Ok(None);
        };
        if code.tests == tests.tests {
            return Ok(None);
        }
        let content = Apart::together(&code.code, &tests.tests);
        self.git.call(["hash-object", "-w", "--stdin"]).stdin(content).line().await.map(Some)
    }
}
