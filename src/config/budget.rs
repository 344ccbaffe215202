//! The block `budget` of `project.json`: what may be used up.

use super::effective::Effective;
use super::error::ConfigError;
use super::wire::{BudgetsFile, TaskUseFile, UseFile};
use crate::domain::policy;
use std::time::Duration;

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
