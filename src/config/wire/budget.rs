//! The block `budgets`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What attempts, tasks and runs may use up. What is not given has no limit.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BudgetsFile {
    /// Of one attempt: its agent is stopped, and what it has done so far is checked.
    pub attempt: UseFile,
    /// Of one task in one run: it stays open.
    pub task: TaskUseFile,
    /// Of one run, all tasks together: everything is stopped, and what is open stays open.
    pub run: TaskUseFile,
}

/// Of one attempt.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UseFile {
    /// Milliseconds.
    pub wall_ms: Option<u64>,
    /// Tokens, in and out, cached ones too; estimated from what an agent shows where it does not say.
    pub tokens: Option<u64>,
    /// US dollars, where the agent says so or the price table knows its model.
    pub cost_usd: Option<f64>,
}

/// Of one task, or of a run.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TaskUseFile {
    /// Milliseconds.
    pub wall_ms: Option<u64>,
    /// Tokens, in and out, cached ones too, with those of judging and reflections.
    pub tokens: Option<u64>,
    /// US dollars, where agents say so or the price table knows their model.
    pub cost_usd: Option<f64>,
    /// Attempts, those too that are not judged.
    pub attempts: Option<u32>,
}
