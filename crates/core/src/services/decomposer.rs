//! Proposing the parts of a task.

use super::{AskError, UsageMeter};
use crate::domain::{ProposedPart, Task};
use async_trait::async_trait;

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
    /// [`AskError`]; the task is then worked on as a whole.
    async fn propose(&self, task: &Task, spent: &UsageMeter) -> Result<Vec<ProposedPart>, AskError>;
}
