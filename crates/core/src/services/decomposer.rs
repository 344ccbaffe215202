//! Proposing the parts of a task.

use super::UsageMeter;
use crate::domain::{ProposedPart, Task};
use async_trait::async_trait;
use std::time::Duration;

/// Says in which parts a task should be worked on.
///
/// *Who calls:* the loop, once per task, before its first attempt; a proposal is written to the journal before anything is
/// done with it, so that it is never asked for twice. Asking again may give another answer and costs again.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Decomposer: Send + Sync {
    /// Two parts or more, at most [`MOST_PARTS`](crate::domain::MOST_PARTS), in the order of work; none where the task is
    /// better worked on as a whole. They are words for agents and change nothing else of the task. Tokens and money are
    /// added to `spent` as soon as they are known, because it may fail or be dropped afterwards.
    ///
    /// # Errors
    /// [`DecomposerError`]; the task is then worked on as a whole.
    async fn propose(&self, task: &Task, spent: &UsageMeter) -> Result<Vec<ProposedPart>, DecomposerError>;
}

/// Why there is no proposal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecomposerError {
    /// Whoever should answer could not, or reported an error.
    #[error("{0}")]
    Failed(String),
    /// The answer holds no parts.
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
    /// It took too long.
    #[error("no answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
}
