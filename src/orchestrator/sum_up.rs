//! What a run comes to.

use super::context::RunContext;
use super::ended::Ended;
use crate::domain::{Proof, RunReport, RunTotals, Task, TaskReport, Usage, Verdict, integration_branch};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

impl RunContext {
    /// `ahead`: the branches that hold what is not on those that the user has checked out.
    pub(super) fn sum_up(
        &self,
        ended: Vec<Ended>,
        duration: Duration,
        interrupted: bool,
        ahead: &[String],
    ) -> RunReport {
        let mut tasks: Vec<TaskReport> = ended.into_iter().map(|e| e.report).collect();
        by_risk(&mut tasks);
        let mut totals = RunTotals { duration_ms: millis(duration), ..totals(&tasks) };
        totals.fallbacks = self.fallbacks.load(Ordering::Relaxed);
        let over = self.lessons_over();
        (totals.lessons_expired, totals.lessons_stale) = (over.expired, over.stale);
        totals.heals = self.heals.lock().unwrap_or_else(PoisonError::into_inner).run();
        let project = self.services.settings.project().name.clone();
        let merged = tasks.iter().any(|task| task.merged.is_some());
        // Without git there is no branch that anybody could merge.
        let patches = tasks.iter().any(|task| task.branch.as_ref().is_some_and(|branch| branch.ends_with(".patch")));
        let integration = (merged && !patches).then(|| integration_branch(&self.run, ahead));
        let stopped = self.stopped.get().copied();
        RunReport { run: self.run.clone(), project, tasks, totals, kind: self.kind, interrupted, stopped, integration }
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn empty_report(task: &Task) -> TaskReport {
    TaskReport {
        id: task.id.clone(),
        verdict: None,
        attempts: 0,
        solved_at: None,
        reflections_written: 0,
        reflections_injected: 0,
        tokens: None,
        cost_usd: None,
        usage: Usage::default(),
        judging_usage: Usage::default(),
        duration_ms: 0,
        endings: Vec::new(),
        proof: None,
        proof_runs: None,
        proof_hunks: None,
        cause: None,
        stop: None,
        by_hand: None,
        branch: None,
        kept: None,
        patch: None,
        merged: None,
        needs: None,
        risk: None,
        files: Vec::new(),
    }
}

/// What a person should look at first comes first; where nothing tells tasks apart, they stay as they ended.
fn by_risk(tasks: &mut [TaskReport]) {
    let score = |task: &TaskReport| task.risk.as_ref().map(|risk| risk.score);
    tasks.sort_by(|a, b| score(b).partial_cmp(&score(a)).unwrap_or(std::cmp::Ordering::Equal));
}

fn totals(tasks: &[TaskReport]) -> RunTotals {
    let count = |wanted: Option<Verdict>| tasks.iter().filter(|t| t.verdict == wanted).count() as u32;
    let (mut usage, mut judging_usage) = (Usage::default(), Usage::default());
    for task in tasks {
        usage += task.usage;
        judging_usage += task.judging_usage;
    }
    RunTotals {
        tasks: tasks.len() as u32,
        confirmed: count(Some(Verdict::Confirmed)),
        turned_green: tasks.iter().filter(|t| t.proof == Some(Proof::TurnedGreen)).count() as u32,
        failed: count(Some(Verdict::Failed)),
        false_done: count(Some(Verdict::FalseDone)),
        unverifiable: count(Some(Verdict::Unverifiable)),
        not_judged: count(None),
        attempts: tasks.iter().map(|t| t.attempts).sum(),
        reflections_written: tasks.iter().map(|t| t.reflections_written).sum(),
        reflections_injected: tasks.iter().map(|t| t.reflections_injected).sum(),
        tokens: usage.tokens(),
        usage,
        judging_usage,
        cost_usd: usage.cost_usd,
        ..RunTotals::default()
    }
}
