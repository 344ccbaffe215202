//! What was used up of budgets.

use super::resume::PastRun;
use crate::domain::policy::Budget;
use crate::domain::{TaskId, Usage};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes of text to one token, as common tokenizers have it for English and code; an estimate.
const BYTES_PER_TOKEN: u64 = 4;

/// What was used up.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Spent {
    pub wall: Duration,
    pub usage: Usage,
    /// Text that an agent showed which did not say what it used.
    pub shown_bytes: u64,
    pub attempts: u32,
}

/// Which budget is used up, and how, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UsedUp {
    pub of: Of,
    pub because: String,
}

/// Whose budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Attempt,
    Task,
    Run,
    /// The run's attempts alone: those at work were allowed, and come to their end.
    RunAttempts,
}

impl Of {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Attempt => "attempt",
            Self::Task => "task",
            Self::Run | Self::RunAttempts => "run",
        }
    }
}

impl Spent {
    /// Which limit is reached, if one is.
    pub fn reached(&self, budget: &Budget, of: Of) -> Option<UsedUp> {
        let tokens = self.usage.tokens().unwrap_or(0) + self.shown_bytes / BYTES_PER_TOKEN;
        let estimated = if self.shown_bytes > 0 { " (estimated)" } else { "" };
        let micro_usd = (self.usage.cost_usd.unwrap_or(0.0) * 1e6).round() as u64;
        let dollars = |micro: u64| format!("${:.2}", micro as f64 / 1e6);
        let words = match budget {
            Budget { attempts: Some(limit), .. } if self.attempts >= *limit => format!("{limit} attempts"),
            Budget { micro_usd: Some(limit), .. } if micro_usd >= *limit => {
                format!("{} of {}", dollars(micro_usd), dollars(*limit))
            }
            Budget { tokens: Some(limit), .. } if tokens >= *limit => format!("{tokens}{estimated} of {limit} tokens"),
            Budget { wall: Some(limit), .. } if self.wall >= *limit => format!("{} s", limit.as_secs_f64()),
            _ => return None,
        };
        Some(UsedUp { of, because: format!("the budget of the {} is used up: {words}", of.as_str()) })
    }
}

impl PastRun {
    /// How the run's budget is used up already, in words, if it is.
    #[must_use]
    pub fn used_up(&self, budget: &Budget) -> Option<String> {
        let (usage, attempts) = self.spent();
        let spent = Spent { wall: self.worked, usage, shown_bytes: 0, attempts };
        spent.reached(budget, Of::Run).map(|used_up| used_up.because)
    }
}

/// What the whole run has used, over all tasks and over a crash.
#[derive(Debug, Default)]
pub(super) struct RunSpent(Mutex<Counted>);

#[derive(Debug, Default)]
pub(super) struct Counted {
    /// How long processes before this one worked on it.
    pub wall: Duration,
    pub usage: Usage,
    pub attempts: u32,
    /// What agents that are at work have said of their turn until now.
    pub at_work: BTreeMap<TaskId, Spent>,
    /// Agents of which was said that a budget does not hold them.
    pub uncounted: BTreeSet<String>,
}

impl RunSpent {
    /// What earlier processes of the run had used.
    pub fn starting_with(past: &PastRun) -> Self {
        let (usage, attempts) = past.spent();
        Self(Mutex::new(Counted { wall: past.worked, usage, attempts, ..Counted::default() }))
    }

    /// Takes one of so many attempts; false if there is none left.
    pub fn takes_attempt(&self, limit: Option<u32>) -> bool {
        let mut counted = self.counted();
        let left = limit.is_none_or(|limit| counted.attempts < limit);
        counted.attempts += u32::from(left);
        left
    }

    /// Something other than an agent at work was used.
    pub fn add(&self, usage: Usage) {
        self.counted().usage += usage;
    }

    /// An agent run is over; its report is what counts.
    pub fn ended(&self, task: &TaskId, usage: Usage) {
        let mut counted = self.counted();
        counted.at_work.remove(task);
        counted.usage += usage;
    }

    pub fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_used_up_by_whatever_comes_first() {
        let budget = Budget {
            wall: Some(Duration::from_secs(60)),
            tokens: Some(1000),
            micro_usd: Some(2_500_000),
            attempts: Some(3),
        };
        let check = |spent: Spent, expected: Option<&str>| {
            let reached = spent.reached(&budget, Of::Task).map(|used_up| used_up.because);
            let expected = expected.map(|words| format!("the budget of the task is used up: {words}"));
            assert_eq!(reached, expected);
        };
        let usage = |input: u64, cost: f64| Usage { input: Some(input), cost_usd: Some(cost), ..Usage::default() };
        let wall = Duration::from_secs(59);
        check(Spent { wall, usage: usage(999, 2.49), attempts: 2, ..Spent::default() }, None);
        check(Spent { usage: usage(1, 2.5), ..Spent::default() }, Some("$2.50 of $2.50"));
        check(Spent { usage: usage(1200, 0.0), ..Spent::default() }, Some("1200 of 1000 tokens"));
        check(Spent { shown_bytes: 4000, ..Spent::default() }, Some("1000 (estimated) of 1000 tokens"));
        check(Spent { wall: Duration::from_secs(60), ..Spent::default() }, Some("60 s"));
        check(Spent { attempts: 3, ..Spent::default() }, Some("3 attempts"));
        assert_eq!(Spent { attempts: 3, ..Spent::default() }.reached(&Budget::default(), Of::Run), None);
    }
}
