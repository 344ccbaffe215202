//! The block `budget` of `project.json`: what may be used up.

use super::error::ConfigError;
use super::load::Effective;
use crate::domain::policy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

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

impl Effective {
    pub(super) fn budgets(&self) -> Result<policy::Budgets, ConfigError> {
        let BudgetsFile { attempt, task, run } = self.file.budget;
        let UseFile { wall_ms, tokens, cost_usd } = attempt;
        let attempt = TaskUseFile { wall_ms, tokens, cost_usd, attempts: None };
        Ok(policy::Budgets {
            attempt: self.budget("budget.attempt", attempt)?,
            task: self.budget("budget.task", task)?,
            run: self.budget("budget.run", run)?,
        })
    }

    fn budget(&self, key: &str, file: TaskUseFile) -> Result<policy::Budget, ConfigError> {
        let enough = |name: &str, enough: bool| {
            let message = "leaves nothing to work with; leave the key out for no limit";
            self.require(enough, &format!("{key}.{name}"), message)
        };
        enough("wallMs", file.wall_ms != Some(0))?;
        enough("tokens", file.tokens != Some(0))?;
        enough("attempts", file.attempts != Some(0))?;
        enough("costUsd", file.cost_usd.is_none_or(|usd| usd >= 0.000_001))?;
        let reached = file.cost_usd.is_none_or(|usd| usd < 1e9);
        let message = "is a limit that nothing reaches; leave the key out for no limit";
        self.require(reached, &format!("{key}.costUsd"), message)?;
        Ok(policy::Budget {
            wall: file.wall_ms.map(Duration::from_millis),
            tokens: file.tokens,
            micro_usd: file.cost_usd.map(|usd| (usd * 1e6).round() as u64),
            attempts: file.attempts,
        })
    }
}
