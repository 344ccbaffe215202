//! What a repository says about the work that lies in it, asked without waiting for anybody.

use std::path::{Path, PathBuf};

/// A checkout, as it stands.
///
/// *Who calls:* the hooks of an agent's session, which run at every stop of every agent and therefore ask as little as
/// they can. *Promise:* nothing is changed, not even the index is refreshed; no hook and no helper of the user's runs.
/// The calls block.
pub trait WorkTree: Send + Sync {
    /// Its top directory.
    fn top(&self) -> &Path;

    /// The repository's name: that of the directory with its main checkout.
    fn name(&self) -> String;

    /// What is checked out, and every file that differs from it. One call of git.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    fn status(&self) -> Result<TreeStatus, WorkTreeError>;

    /// Files that differ between two commits; from nothing, every file of the second.
    ///
    /// # Errors
    /// [`WorkTreeError`], also if a commit is not there.
    fn changed(&self, from: Option<&str>, to: &str) -> Result<Vec<PathBuf>, WorkTreeError>;

    /// Where the branch left another one: its upstream, unless that is its own copy on a remote; else the default branch;
    /// else its own copy; none if there is no such place.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    fn fork(&self, status: &TreeStatus) -> Result<Option<Fork>, WorkTreeError>;

    /// What changes whenever a file's content does; none if there is no file. Of a repository of its own: whenever
    /// something is committed, checked out or staged in it.
    fn stamp(&self, path: &Path) -> Option<String>;
}

/// What a checkout looks like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeStatus {
    /// The commit that is checked out; none if there is no commit yet.
    pub head: Option<String>,
    /// The branch; none if `HEAD` is detached.
    pub branch: Option<String>,
    /// Files that are staged, unstaged or untracked, from the top, sorted; an ignored file is none of them. A repository of
    /// its own has a `/` behind its name.
    pub dirty: Vec<PathBuf>,
}

/// Where a branch left another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// The last commit that they have in common.
    pub commit: String,
    /// The other branch, for people: `origin/main`.
    pub from: String,
}

/// A repository could not be asked.
#[derive(Debug, Clone, thiserror::Error)]
#[error("git {command} failed: {message}")]
pub struct WorkTreeError {
    /// What was called.
    pub command: String,
    /// What it said.
    pub message: String,
}
