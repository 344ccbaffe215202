//! Trees from files and files from trees, through an index of our own.
//!
//! The index that an agent can reach may lie (`assume-unchanged`, staged leftovers, a half-done merge), so it is never
//! asked what changed. Ours is a file outside the workspace; its cached stat data make a recording of few changes a
//! matter of milliseconds.

use super::layout::io_error;
use super::layout::write_whole;
use super::removal::make_writable;
use super::removal::remove;
use crate::host::git;
use crate::host::git::Call;
use crate::host::git::Git;
use crate::services::WorkspaceError;
use sha2::Digest;
use std::collections::HashSet;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

/// Files whose content decides whether `setup` runs again.
const LOCKFILES: [&str; 9] = [
    "Cargo.lock",
    "package-lock.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "uv.lock",
    "poetry.lock",
    "requirements*.txt",
    "go.sum",
    "Gemfile.lock",
];

/// Files in a directory, an index of our own, and the repository that takes the objects.
#[derive(Debug, Clone)]
pub(super) struct Recorder {
    pub(super) git: Git,
    pub(super) top: PathBuf,
    pub(super) index: PathBuf,
}

/// What to record.
pub(super) struct Recording<'a> {
    /// Paths that are no part of it, with everything under them.
    pub(super) left_out: Vec<PathBuf>,
    /// Paths that are part of it although they are ignored.
    pub(super) forced: Vec<PathBuf>,
    /// The tree that the index holds now, if known: returned at once when nothing differs from it.
    pub(super) loaded: Option<&'a str>,
}

/// A recorded tree.
pub(super) struct Recorded {
    pub(super) tree: String,
    /// Repositories found inside the files; their files are recorded, they themselves are not.
    pub(super) nested: Vec<PathBuf>,
    /// What differed from the index, which has its state from the files now.
    pub(super) changed: HashSet<PathBuf>,
}

/// What differs between two trees.
#[derive(Debug, Clone)]
pub(super) struct Difference {
    pub(super) files: Vec<String>,
    pub(super) hash: String,
}

impl Recorder {
    fn call<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Call {
        self.git.call(args).index(&self.index)
    }

    /// Nobody else uses the index, so a lock on it is what a killed git left.
    fn unlock(&self) -> Result<(), WorkspaceError> {
        remove(&self.index.with_extension("lock"))
    }

    /// Fills a new index from a tree; `hidden` paths keep their content in every recorded tree and are never written
    /// to disk.
    pub(super) async fn load(&self, tree: &str, hidden: &[PathBuf]) -> Result<(), WorkspaceError> {
        self.call(["read-tree", "--reset", tree]).ok().await?;
        self.hide(hidden).await
    }

    /// Marks what the index has of `hidden` paths as never written to disk.
    pub(super) async fn hide(&self, hidden: &[PathBuf]) -> Result<(), WorkspaceError> {
        let list = ["--literal-pathspecs", "ls-files", "-z", "--"];
        let tracked = self.call(list).args(hidden).ok().await?;
        if tracked.is_empty() {
            return Ok(());
        }
        let skip = ["update-index", "--skip-worktree", "-z", "--stdin"];
        self.call(skip).stdin(tracked).ok().await?;
        Ok(())
    }

    /// Makes the tracked files exactly those of the tree; untracked ones stay unless they are in the way.
    pub(super) async fn checkout(&self, tree: &str) -> Result<(), WorkspaceError> {
        self.unlock()?;
        let checkout = || self.call(["read-tree", "--reset", "-u", tree]).ok();
        if checkout().await.is_err() {
            make_writable(&self.top);
            checkout().await?;
        }
        Ok(())
    }

    /// Everything on disk that is not tracked, ignored or not; a wholly untracked directory is one entry.
    pub(super) async fn untracked(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let list = ["ls-files", "-z", "--others", "--directory"];
        let out = self.call(list).ok().await?;
        // Without the trailing slash of directories.
        Ok(git::paths(&out).map(|p| p.components().collect()).collect())
    }

    /// Everything tracked: `mode id stage TAB path NUL`, again and again.
    pub(super) async fn listing(&self) -> Result<Vec<u8>, WorkspaceError> {
        self.call(["ls-files", "-z", "--stage"]).ok().await
    }

    /// The lockfiles and their content's ids, as one text.
    pub(super) async fn lockfiles(&self) -> Result<Vec<u8>, WorkspaceError> {
        let globs = LOCKFILES.map(|name| format!(":(glob)**/{name}"));
        let list = self.call(["ls-files", "-z", "--stage", "--"]);
        list.args(&globs).ok().await
    }

    /// Tracked-but-ignored paths of another index: what an agent added by force. An unreadable index adds nothing.
    pub(super) async fn forced(&self, index: &Path) -> Result<Vec<PathBuf>, WorkspaceError> {
        let list = ["ls-files", "-z", "-c", "-i", "--exclude-standard"];
        let out = self.git.call(list).index(index).run().await?;
        Ok(git::paths(&out.stdout).filter(|path| self.is_there(path)).collect())
    }

    /// Records the files as a tree.
    pub(super) async fn record(&self, what: Recording<'_>) -> Result<Recorded, WorkspaceError> {
        self.unlock()?;
        let exclude = self.index.with_extension("exclude");
        write_whole(&exclude, &patterns(&what.left_out))?;
        let list = ["ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard", "-X"];
        let out = self.call(list).arg(&exclude).ok().await?;
        let mut changed: HashSet<PathBuf> = HashSet::new();
        let mut nested: Vec<PathBuf> = Vec::new();
        for path in git::paths(&out) {
            if path.as_os_str().as_bytes().ends_with(b"/") {
                nested.push(path.components().collect());
            } else {
                changed.insert(path);
            }
        }
        for repository in &nested {
            changed.extend(self.files_of(repository).await?);
        }
        changed.extend(what.forced);
        changed.retain(|path| !what.left_out.iter().any(|out| path.starts_with(out)));
        let tree = match what.loaded {
            Some(tree) if changed.is_empty() => tree.to_owned(),
            _ => {
                self.stage(&changed).await?;
                self.call(["write-tree"]).line().await?
            }
        };
        Ok(Recorded { tree, nested, changed })
    }

    /// The files of a repository inside ours that are not ignored.
    async fn files_of(&self, repository: &Path) -> Result<Vec<PathBuf>, WorkspaceError> {
        let walk = walkdir::WalkDir::new(self.top.join(repository))
            .into_iter()
            .filter_entry(|entry| entry.file_name() != ".git");
        let files: Vec<PathBuf> = walk
            .flatten()
            .filter(|entry| entry.file_type().is_file() || entry.file_type().is_symlink())
            .filter_map(|entry| Some(entry.path().strip_prefix(&self.top).ok()?.to_owned()))
            .collect();
        let check = ["check-ignore", "-z", "--stdin", "--no-index"];
        let out = self.call(check).stdin(git::listing(&files)).run().await?;
        let ignored: HashSet<PathBuf> = git::paths(&out.stdout).collect();
        Ok(files.into_iter().filter(|f| !ignored.contains(f)).collect())
    }

    async fn stage(&self, changed: &HashSet<PathBuf>) -> Result<(), WorkspaceError> {
        let (there, mut gone): (Vec<PathBuf>, Vec<PathBuf>) =
            changed.iter().cloned().partition(|path| self.is_there(path));
        let (dirs, mut files): (Vec<PathBuf>, Vec<PathBuf>) =
            there.into_iter().partition(|path| self.top.join(path).is_dir() && !self.top.join(path).is_symlink());
        if !dirs.is_empty() {
            // A submodule is asked for its commit; a file that has become a directory is gone.
            let submodules = self.submodules(&dirs).await?;
            let (keep, replaced): (Vec<_>, Vec<_>) = dirs.into_iter().partition(|dir| submodules.contains(dir));
            files.extend(keep);
            gone.extend(replaced);
        }
        // First what is gone, so that a new `a/b` finds no file `a` in its way.
        if !gone.is_empty() {
            let remove = ["update-index", "--force-remove", "-z", "--stdin"];
            self.call(remove).stdin(git::listing(gone)).ok().await?;
        }
        if !files.is_empty() {
            let add = ["update-index", "--add", "--replace", "-z", "--stdin"];
            self.call(add).stdin(git::listing(files)).ok().await?;
        }
        Ok(())
    }

    /// Whether the path exists in the files themselves: what lies behind a link is not ours.
    pub(super) fn is_there(&self, path: &Path) -> bool {
        let behind_link =
            path.ancestors().skip(1).any(|above| !above.as_os_str().is_empty() && self.top.join(above).is_symlink());
        !behind_link && self.top.join(path).symlink_metadata().is_ok()
    }

    async fn submodules(&self, dirs: &[PathBuf]) -> Result<HashSet<PathBuf>, WorkspaceError> {
        let list = ["--literal-pathspecs", "ls-files", "-z", "--stage", "--"];
        let staged = self.call(list).args(dirs).ok().await?;
        Ok(staged
            .split(|byte| *byte == 0)
            .filter(|entry| entry.starts_with(b"160000"))
            .filter_map(|entry| git::paths(entry.splitn(2, |b| *b == b'\t').nth(1)?).next())
            .collect())
    }

    /// What differs between two trees: the paths, and the first 16 hex digits of the raw listing's SHA-256.
    pub(super) async fn difference(&self, from: &str, to: &str) -> Result<Difference, WorkspaceError> {
        let raw = if from == to {
            Vec::new()
        } else {
            let diff = ["diff-tree", "-r", "-z", "--no-renames", from, to];
            self.git.call(diff).ok().await?
        };
        // `:mode mode id id status NUL path NUL`, again and again.
        let files = raw.split(|byte| *byte == 0).skip(1).step_by(2);
        let mut hash = String::new();
        for byte in &sha2::Sha256::digest(&raw)[..8] {
            let _ = write!(hash, "{byte:02x}");
        }
        Ok(Difference { files: files.map(|path| String::from_utf8_lossy(path).into_owned()).collect(), hash })
    }

    /// Puts a copy of the index where an agent's git finds it.
    pub(super) fn publish(&self, to: &Path) -> Result<(), WorkspaceError> {
        let bytes = std::fs::read(&self.index).map_err(io_error("read", &self.index))?;
        write_whole(to, &bytes)
    }
}

/// Paths as anchored patterns of a `.gitignore`.
fn patterns(paths: &[PathBuf]) -> Vec<u8> {
    let mut text = Vec::new();
    for path in paths {
        text.push(b'/');
        for byte in path.as_os_str().as_bytes() {
            if b"\\*?[] ".contains(byte) {
                text.push(b'\\');
            }
            text.push(*byte);
        }
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_patterns_that_match_only_them() {
        assert_eq!(patterns(&["a/b*c".into(), "!x ".into()]), b"/a/b\\*c\n/!x\\ \n");
    }
}
