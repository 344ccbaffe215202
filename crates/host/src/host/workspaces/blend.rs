//! Trees of parts of two others: what a proof runs its checks on.

use super::carried::blobs;
use super::layout::io_error;
use super::recorder::Recorder;
use crate::host::git::failed;
use crate::services::{TEXTS_AT_A_TIME, Taken, WorkspaceError};
use crate::toolchain::{Apart, inline_tests};
use std::collections::{BTreeMap, BTreeSet};
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

/// Modes and contents of the regular files that `ls-tree -z` lists, by their names: `mode blob id TAB path NUL`, again and again.
fn regular_files(listed: &[u8]) -> BTreeMap<String, (String, String)> {
    let file = |entry: &[u8]| {
        let entry = String::from_utf8_lossy(entry);
        let (about, name) = entry.split_once('\t')?;
        let mut fields = about.split(' ');
        let (mode, _, id) = (fields.next()?, fields.next()?, fields.next()?);
        mode.starts_with("100").then(|| (name.to_owned(), (mode.to_owned(), id.to_owned())))
    };
    listed.split(|byte| *byte == 0).filter_map(file).collect()
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

    /// See [`Workspace::texts`](crate::services::Workspace::texts).
    pub(super) async fn texts(&self, tree: &str, files: &[String]) -> Result<BTreeMap<String, String>, WorkspaceError> {
        let listed = self.listed(tree, files).await?;
        let contents = self.contents(listed.values().map(|(_, id)| id.as_str())).await?;
        let text = |(file, (_, id)): (String, (String, String))| {
            let text = String::from_utf8(contents.get(&id)?.clone()).ok()?;
            Some((file, text))
        };
        Ok(listed.into_iter().filter_map(text).collect())
    }

    /// What is in these blobs, by their ids.
    pub(super) async fn contents(
        &self,
        ids: impl Iterator<Item = &str>,
    ) -> Result<BTreeMap<String, Vec<u8>>, WorkspaceError> {
        let ids: BTreeSet<&str> = ids.collect();
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let ids = ids.into_iter().fold(String::new(), |ids, id| ids + id + "\n");
        let out = self.git.call(["cat-file", "--batch"]).stdin(ids).ok().await?;
        Ok(blobs(&out).into_iter().map(|(id, content)| (id, content.to_vec())).collect())
    }

    /// See [`Workspace::files_with`](crate::services::Workspace::files_with).
    pub(super) async fn files_with(&self, tree: &str, words: &str) -> Result<Vec<String>, WorkspaceError> {
        /// How git says that there is none.
        const NONE: i32 = 1;
        let list = ["grep", "--no-color", "--full-name", "-l", "-z", "-w", "-F", "-e", words, tree, "--"];
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
        let files: Vec<String> = texts.iter().map(|(file, _)| file.clone()).collect();
        let listed = self.listed(tree, &files).await?;
        for (file, text) in texts {
            let Some((mode, _)) = listed.get(file) else { continue };
            let id = self.git.call(["hash-object", "-w", "--stdin"]).stdin(text.clone()).line().await?;
            listing.extend_from_slice(format!("{mode} {id}\t{file}\0").as_bytes());
        }
        self.with_entries(tree, listing).await
    }

    /// The regular files that a tree has under these names.
    async fn listed(&self, tree: &str, files: &[String]) -> Result<BTreeMap<String, (String, String)>, WorkspaceError> {
        // A word of a command line may be any path; git refuses those that lead out.
        let stays_in = |file: &&String| {
            !file.is_empty() && Path::new(file).components().all(|part| matches!(part, Component::Normal(_)))
        };
        let files: Vec<&String> = files.iter().filter(stays_in).collect();
        let mut found = BTreeMap::new();
        // A command line holds only so much.
        for some in files.chunks(TEXTS_AT_A_TIME) {
            let list = ["--literal-pathspecs", "ls-tree", "-z", "--full-tree", tree, "--"];
            found.extend(regular_files(&self.git.call(list).args(some).ok().await?));
        }
        Ok(found)
    }

    async fn content(&self, id: &str) -> Result<Option<String>, WorkspaceError> {
        let content = self.contents([id].into_iter()).await?.remove(id);
        Ok(content.and_then(|content| String::from_utf8(content).ok()))
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
