//! What a repository says about the work that lies in it, asked without waiting for anybody.

use std::path::Path;
use std::path::PathBuf;

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

    /// Where the branch left its upstream, or else the default branch; none if there is no such place.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    fn merge_base(&self, status: &TreeStatus) -> Result<Option<String>, WorkTreeError>;

    /// What changes whenever a file's content does; none if there is no file.
    fn stamp(&self, path: &Path) -> Option<String>;
}

/// What a checkout looks like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeStatus {
    /// The commit that is checked out; none if there is no commit yet.
    pub head: Option<String>,
    /// The branch; none if `HEAD` is detached.
    pub branch: Option<String>,
    /// The branch's upstream.
    pub upstream: Option<String>,
    /// Files that are staged, unstaged or untracked, from the top; an ignored file is none of them.
    pub dirty: Vec<PathBuf>,
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
