//! What must be there before a task counts as done.

use super::RepositorySignals;
use crate::domain::Expects;
use crate::domain::TaskType;
use crate::domain::policy::Workflow;

/// What must be there, each with the reason in words where it is required.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requirements {
    /// Something is changed.
    pub change: Option<String>,
    /// Tests ran after the last change, and passed.
    pub tests: Option<String>,
    /// A build ran after the last change, and passed.
    pub build: Option<String>,
    /// A pull request.
    pub pull_request: Option<String>,
    /// Green CI on it.
    pub ci: Option<String>,
}

/// Declared requirements as they are; the others from the task and the project. `has_remote` is none where nobody looked.
#[must_use]
pub fn requirements(
    _task: &str,
    _kind: TaskType,
    _expects: Option<Expects>,
    _signals: &RepositorySignals,
    _has_remote: Option<bool>,
    _declared: Workflow,
) -> Requirements {
    Requirements::default()
}
