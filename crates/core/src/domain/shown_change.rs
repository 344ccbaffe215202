//! A change as a person is shown it.

use super::ChangeSize;

/// Which change of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeOf {
    /// A commit, beside its first parent.
    Commit(String),
    /// A branch, beside where it left a commit.
    Branch {
        /// The commit.
        base: String,
        /// The branch.
        branch: String,
    },
}

/// What a change is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownChange {
    /// The commit that it is compared with.
    pub from: String,
    /// The commit with the change.
    pub to: String,
    /// How many lines and files it has. A file that is no text has no lines.
    pub size: ChangeSize,
    /// The unified diff as git prints it; none of one that is too large to be shown.
    pub diff: Option<String>,
}
