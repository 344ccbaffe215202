//! A change as a person is shown it.

use super::ChangeSize;

/// Which change of a repository: that of a commit, or of the last one of a branch, beside its first parent. The runtime makes one commit of a
/// task's work, on top of what it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeOf(pub String);

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
