//! What the repository's remote says; asked by the runtime, never taken from an agent.

use async_trait::async_trait;
use std::path::Path;

/// Looks at remotes, branches, pull requests and CI. Nothing is ever changed there.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Remote: Send + Sync {
    /// What git knows without the network.
    async fn state(&self, dir: &Path) -> RemoteState;

    /// The pull request of a branch, through `gh`.
    ///
    /// # Errors
    /// Why it could not be asked, in words; then nothing is known.
    async fn pull_request(&self, dir: &Path, branch: &str) -> Result<Option<PullRequest>, String>;
}

/// What git knows of a repository's remotes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemoteState {
    /// The names of remotes; empty: there is none.
    pub remotes: Vec<String>,
    /// The remote's default branch, where git knows it.
    pub default_branch: Option<String>,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// The branch that a bare `git push` goes to, where it is configured.
    pub upstream: Option<String>,
    /// The current branch's pull request, where one was required and asked for; the error says why nothing is known.
    pub pull_request: Option<Result<Option<PullRequest>, String>>,
}

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// Its address.
    pub url: String,
    /// How CI stands.
    pub ci: Ci,
}

/// How CI stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ci {
    /// Every check passed.
    Passing,
    /// A check failed.
    Failing,
    /// Not over.
    Pending,
    /// There is none.
    None,
}
