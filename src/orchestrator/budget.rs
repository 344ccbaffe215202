//! Budgets: what an attempt, a task or a run may use up, looked at while an agent works.
//!
//! Tokens and money are as fine as what the agent says while it works; where it says nothing, tokens are estimated from
//! what it shows, and money is known at the end of a turn only. Time is exact for all of them.

use super::context::RunContext;
use super::course::Course;
use super::spent::{Of, Spent, UsedUp};
use super::task_run::{TaskPlan, TaskRun};
use crate::domain::policy::Budget;
use crate::domain::{AgentReport, Ending, EventKind, RunStop};
use std::time::Duration;

impl RunContext {
    /// What the run has used until now, agents at work included.
    fn run_spent(&self) -> Spent {
        let counted = self.spent.counted();
        let wall = counted.wall + self.services.clock.elapsed().saturating_sub(self.started);
        let mut spent = Spent { wall, usage: counted.usage, shown_bytes: 0, attempts: counted.attempts };
        for at_work in counted.at_work.values() {
            spent.usage += at_work.usage;
            spent.shown_bytes += at_work.shown_bytes;
        }
        spent
    }

    /// Whether the run's budget leaves nothing for anything new.
    pub fn is_used_up(&self) -> bool {
        self.run_spent().reached(&self.services.settings.run().budgets.run, Of::Run).is_some()
    }

    /// Stops everything, because the run's budget is used up; where only its attempts are, those at work come to their end.
    pub fn stop_for(&self, used_up: &UsedUp) {
        let first = match used_up.of {
            Of::RunAttempts => {
                let first = self.stopped.set(RunStop::Budget).is_ok();
                self.drain.cancel();
                first
            }
            Of::Attempt | Of::Task | Of::Run => self.stop(RunStop::Budget),
        };
        if first {
            self.publish(None, EventKind::BudgetReached { because: used_up.because.clone() });
        }
    }

    /// Stops everything; false if it was stopped before.
    pub fn stop(&self, stop: RunStop) -> bool {
        // The order matters: who sees the cancellation asks why.
        let first = self.stopped.set(stop).is_ok();
        self.cancel.cancel();
        first
    }
}

impl TaskRun {
    /// Whether the task may begin another attempt, and counts it then.
    pub(super) fn may_begin(&mut self) -> Result<(), UsedUp> {
        let budgets = &self.plan.context.services.settings.run().budgets;
        let run = at_work(budgets.run);
        let reached = self
            .plan
            .context
            .run_spent()
            .reached(&run, Of::Run)
            .or_else(|| self.task_spent(Spent::default()).reached(&budgets.task, Of::Task));
        if let Some(used_up) = reached {
            return Err(used_up);
        }
        if !self.plan.context.spent.takes_attempt(budgets.run.attempts) {
            let because = format!("the budget of the run is used up: {} attempts", budgets.run.attempts.unwrap_or(0));
            return Err(UsedUp { of: Of::RunAttempts, because });
        }
        self.progress.begun += 1;
        Ok(())
    }

    fn task_spent(&self, streamed: Spent) -> Spent {
        let mut usage = self.progress.usage;
        usage += streamed.usage;
        let wall = self.progress.worked + self.plan.context.services.clock.elapsed().saturating_sub(self.plan.started);
        Spent { wall, usage, shown_bytes: streamed.shown_bytes, attempts: self.progress.begun }
    }

    /// Ends when a budget is used up; never, if there is none.
    pub(super) async fn used_up(&self, course: &Course) -> UsedUp {
        let services = &self.plan.context.services;
        let budgets = services.settings.run().budgets;
        loop {
            let moved = course.watching.moved();
            let streamed = course.watching.streamed();
            self.plan.context.spent.counted().at_work.insert(self.plan.task.id.clone(), streamed);
            let mut attempt = Spent { wall: services.clock.elapsed().saturating_sub(course.began), ..streamed };
            attempt.usage += course.usage;
            let reached = attempt
                .reached(&budgets.attempt, Of::Attempt)
                .or_else(|| self.task_spent(streamed).reached(&at_work(budgets.task), Of::Task))
                .or_else(|| self.plan.context.run_spent().reached(&at_work(budgets.run), Of::Run));
            if let Some(used_up) = reached {
                return used_up;
            }
            let left = [
                (budgets.attempt.wall, attempt.wall),
                (budgets.task.wall, self.task_spent(Spent::default()).wall),
                (budgets.run.wall, self.plan.context.run_spent().wall),
            ];
            let left = left.into_iter().filter_map(|(limit, wall)| Some(limit?.saturating_sub(wall))).min();
            let time = async {
                match left {
                    Some(left) => services.clock.sleep(left.max(Duration::from_millis(1))).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = moved => {}
                () = time => {}
            }
        }
    }
}

impl TaskPlan {
    /// Says, once of each agent, that a budget does not hold it because it does not say what it uses.
    pub(super) fn say_uncounted(&self, agent: &str, report: &AgentReport) {
        let budgets = &self.context.services.settings.run().budgets;
        let Some(what) = uncounted(&[budgets.attempt, budgets.task, budgets.run], report) else { return };
        if !self.context.spent.counted().uncounted.insert(agent.to_owned()) {
            return;
        }
        let says = match what {
            "dollars" => "what it costs",
            "tokens" => "how many tokens it uses",
            _ => "what it uses and costs",
        };
        let message = format!(
            "agent `{agent}` does not say {says}, so the budget of {what} does not hold it; budgets of time and attempts do"
        );
        self.context.publish(None, EventKind::Warning { message });
    }
}

/// What these budgets limit and a finished agent run does not say.
fn uncounted(budgets: &[Budget], report: &AgentReport) -> Option<&'static str> {
    if report.ending != Ending::Finished {
        return None;
    }
    let tokens = report.usage.tokens().is_none() && budgets.iter().any(|budget| budget.tokens.is_some());
    let dollars = report.usage.cost_usd.is_none() && budgets.iter().any(|budget| budget.micro_usd.is_some());
    match (tokens, dollars) {
        (false, false) => None,
        (true, false) => Some("tokens"),
        (false, true) => Some("dollars"),
        (true, true) => Some("tokens and dollars"),
    }
}

/// The agent run that is looked at is counted already: one that may begin may also end.
fn at_work(budget: Budget) -> Budget {
    Budget { attempts: None, ..budget }
}
