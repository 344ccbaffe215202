//! What differs in a work tree from where the work began.

use async_trait::async_trait;
use std::path::{Path, PathBuf};

/// Lists the files that differ from a commit to now: committed since, staged, unstaged and untracked alike.
///
/// *Who calls:* `reflexion risk`. *Promise:* nothing is written, the index not even refreshed; ignored files and the
/// runtime's own `.reflection/` are no change; of a renamed file both names are listed, of a repository of its own (a
/// submodule, or one that only lies there) its directory with a `/` behind it.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Changes: Send + Sync {
    /// The files of the repository that `dir` lies in, the whole of it.
    ///
    /// # Errors
    /// [`ChangesError`].
    async fn changed_files(&self, dir: &Path, since: &Since) -> Result<ChangedFiles, ChangesError>;
}

/// Where the work began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Since {
    /// Where the branch left another one: its upstream, unless that is its own copy on a remote; else the default branch;
    /// else its own copy; HEAD where none is known. The same as [`WorkTree::fork`](super::WorkTree::fork).
    #[default]
    Branch,
    /// Where the branch left this revision; the revision itself where they have nothing in common.
    MergeBase(String),
    /// Exactly at this commit, as it was recorded then.
    Commit(String),
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangedFiles {
    /// Paths from the repository's root, sorted, each once; bytes that are no UTF-8 are kept.
    pub files: Vec<PathBuf>,
    /// The commit that the files are compared with; none where there is no commit yet.
    pub base: Option<String>,
    /// The commit that is checked out; none where there is none yet.
    pub head: Option<String>,
    /// What the base was taken from: `origin/main`, or the given revision; none where nothing but HEAD is known.
    pub against: Option<String>,
    /// The given revision has a commit in common with HEAD. If not, the files are all that differ from the revision.
    pub related: bool,
}

impl ChangedFiles {
    /// The files' names, with a replacement character for what is no UTF-8.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.files.iter().map(|file| file.to_string_lossy().into_owned())
    }
}

/// The files could not be listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangesError {
    /// There is no work tree of git.
    #[error("{dir} is in no git work tree", dir = dir.display())]
    NoWorkTree {
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// There is no such commit.
    #[error("`{revision}` names no commit of the repository")]
    NoCommit {
        /// What was asked for.
        revision: String,
    },
    /// Git failed.
    #[error("{0}")]
    Git(String),
}
