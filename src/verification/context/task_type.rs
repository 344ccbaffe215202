//! What kind of work a task asks for.

use crate::domain::TaskType;

/// From the task's own words, never from the agent's answer.
#[must_use]
pub fn task_type(_task: &str) -> TaskType {
    TaskType::Other
}
