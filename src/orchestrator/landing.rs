//! Bringing confirmed work onto the run's integration branch: rebased, checked again, one task at a time.
//!
//! What does not fit, or is red on top of what was merged before, is a failed attempt: its work is kept on a branch of
//! its own, it earns a reflection, and the task is done again on top of what it has to fit.

use super::checking::{Checked, changed_outside};
use super::course::Judged;
use super::course::shown_diff;
use super::failure::failed_check;
use super::healer::Doing;
use super::healing::{Mended, Place};
use super::numbering::Base;
use super::past_failure::{PastChange, PastFailure};
use super::results::no_success;
use super::resume::LastJudged;
use super::task_run::{Prepared, TaskPlan, TaskRun, TaskRunError};
use super::verdict::is_red;
use crate::domain::{
    CheckReport, CheckResults, CheckScope, CheckSpec, EventKind, Expects, FailureContext, FailureType, JournalEntry,
    MergeOutcome, Output, ReflectionId, Signature, Status, SubtaskId, TaskMark, Timestamp, TreeId, Verdict,
};
use crate::prompt::relative;
use crate::services::{CommitRequest, RebaseOutcome, Rebased, UsageMeter, Workspace};
use std::sync::Arc;

/// What came of looking at the rebased work.
enum Looked {
    /// It may be merged, or is there already; these checks failed once and passed on the same files.
    Fits { tree: Option<TreeId>, flaky: Vec<String> },
    /// It may not.
    Fails(Box<Failing>),
    /// Somebody interrupted.
    Interrupted,
}

/// Why confirmed work is not merged.
struct Failing {
    kind: FailureType,
    because: String,
    files: Vec<String>,
    check: Option<CheckReport>,
    /// What is left of the check's failure without what failed there before, where that is known: the lesson is about that.
    rest: Option<Signature>,
}

/// The files on which work is being put, and where checks run on them.
struct Tip<'a> {
    room: &'a dyn Workspace,
    tree: &'a TreeId,
}

impl LastJudged {
    pub(super) fn of(judged: &Judged, subtask: SubtaskId, at: Timestamp) -> Self {
        Self {
            attempt: judged.attempt.number,
            session: judged.session.clone(),
            ending: judged.ending.clone(),
            subtask,
            verdict: judged.judgement.verdict,
            proof: judged.judgement.proof,
            size: judged.size,
            proof_runs: judged.proof_runs,
            proof_hunks: judged.proof_hunks.clone(),
            passed: judged.checks.iter().filter(|c| c.passed()).map(|c| c.spec.name.clone()).collect(),
            risk: Some(judged.risk.clone()),
            record: judged.record.clone(),
            at,
        }
    }
}

/// How merging ended; an interruption leaves it to be done again.
pub(super) enum Landed {
    Merged,
    NotMerged(MergeOutcome),
    /// A person merges it.
    Left(MergeOutcome),
    Interrupted,
}

impl TaskRun {
    /// Merges what the task's branch holds.
    pub(super) async fn merge(&mut self, prepared: &Prepared) -> Result<Landed, TaskRunError> {
        let context = Arc::clone(&self.plan.context);
        let Some(last) = self.progress.last_judged.clone() else {
            return Err(TaskRunError::Blocked("nothing was judged that could be merged".to_owned()));
        };
        let one_at_a_time = context.merging.lock().await;
        if context.cancel.is_cancelled() {
            return Ok(Landed::Interrupted);
        }
        let workspace = &*prepared.workspace;
        let Some(confirmed) = self.progress.committed.clone() else {
            return Err(TaskRunError::Blocked("nothing was committed that could be merged".to_owned()));
        };
        let rebased = workspace.rebase(&confirmed).await?;
        let (task, attempt, onto) = (self.plan.task.id.clone(), last.attempt, rebased.onto.clone());
        let entry = JournalEntry::MergeStarted { task: task.clone(), attempt, onto: onto.clone() };
        context.record(entry).await?;
        self.plan.doing("merging");
        match self.look(prepared, rebased).await? {
            Looked::Interrupted => Ok(Landed::Interrupted),
            Looked::Fits { tree, flaky } => {
                // The checks of just now count for nothing where something else steered them.
                self.look_at_home().await?;
                if let Some(outcome) = self.left_to_person(&workspace.prefix()) {
                    return Ok(Landed::Left(outcome));
                }
                let was_there = tree.is_none();
                let commit = match tree {
                    Some(tree) => self.advance(workspace, &onto, tree).await?,
                    None => onto,
                };
                let outcome = MergeOutcome::Merged { commit: commit.clone(), flaky, was_there };
                let entry = JournalEntry::MergeEnded { task, attempt, outcome, reflection: None };
                context.record(entry).await?;
                self.progress.report.merged = Some(commit);
                Ok(Landed::Merged)
            }
            Looked::Fails(failing) => {
                // Nobody has to wait for the lesson.
                drop(one_at_a_time);
                self.not_merged(workspace, last, onto, *failing).await
            }
        }
    }

    /// The commit first, then the intent, then the ref: whoever goes on after a crash knows its own commit again.
    async fn advance(&self, workspace: &dyn Workspace, onto: &str, tree: TreeId) -> Result<String, TaskRunError> {
        let request = CommitRequest { tree, subject: self.plan.task.title.clone(), body: self.commit_body() };
        let commit = workspace.merge_commit(onto, request).await?;
        let entry = JournalEntry::MergeReady { task: self.plan.task.id.clone(), commit: commit.clone() };
        self.plan.context.record(entry).await?;
        let place = Place { workspace, part: self.plan.parts.len() - 1, doing: Doing::Refs };
        if let Mended::Again(heal) = self.plan.mended(place, workspace.integrate(onto, &commit).await).await? {
            self.plan.proved(heal, workspace.integrate(onto, &commit).await).await?;
        }
        Ok(commit)
    }

    /// The branch is kept under another name, a lesson is stored, and the attempt counts as failed.
    async fn not_merged(
        &mut self,
        workspace: &dyn Workspace,
        last: LastJudged,
        onto: String,
        failing: Failing,
    ) -> Result<Landed, TaskRunError> {
        let context = Arc::clone(&self.plan.context);
        let place = Place { workspace, part: self.plan.parts.len() - 1, doing: Doing::Refs };
        let kept = match self.plan.mended(place, workspace.keep(last.attempt).await).await? {
            Mended::NotNeeded(kept) => kept,
            Mended::Again(heal) => self.plan.proved(heal, workspace.keep(last.attempt).await).await?,
        };
        let reflection = self.reflect_on_merge(&last, &failing).await;
        let outcome = match failing.kind {
            FailureType::MergeConflict => MergeOutcome::Conflict { files: failing.files.clone(), kept },
            _ => MergeOutcome::Red { because: failing.because.clone(), kept },
        };
        let because = outcome.failed().unwrap_or_default();
        let (task, attempt) = (self.plan.task.id.clone(), last.attempt);
        let entry = JournalEntry::MergeEnded { task: task.clone(), attempt, outcome: outcome.clone(), reflection };
        context.record(entry).await?;
        // The newest word on the attempt: it counts as refuted from now on.
        let mark = TaskMark {
            v: 1,
            id: task,
            status: Status::InProgress,
            cause: None,
            run: Some(context.run.clone()),
            subtask: Some(last.subtask),
            attempt: Some(attempt),
            verdict: Some(Verdict::Failed),
            seen: Some(self.plan.task.updated_at),
            at: context.services.clock.now(),
        };
        context.services.tasks.mark(&[mark]).await?;
        // It was confirmed: whoever does it again should see how.
        let diff = match &self.progress.committed {
            Some(tree) => shown_diff(&workspace.diff(tree).await?),
            None => String::new(),
        };
        self.progress.last_failure = Some(PastFailure {
            part: self.plan.parts.len() - 1,
            number: attempt,
            check: failing.check,
            change: PastChange {
                number: attempt,
                because: because.clone(),
                files: self.progress.report.files.clone(),
                diff,
            },
            because,
        });
        self.progress.report.verdict = Some(Verdict::Failed);
        self.progress.report.branch = None;
        self.progress.report.files.clear();
        self.progress.report.solved_at = None;
        self.progress.onto = Some(onto);
        Ok(Landed::NotMerged(outcome))
    }

    /// Runs the checks on the rebased files, in the run's clean room for that.
    async fn look(&mut self, prepared: &Prepared, rebased: Rebased) -> Result<Looked, TaskRunError> {
        let (tree, new) = match rebased.outcome {
            RebaseOutcome::Fits(tree) => (tree.clone(), Some(tree)),
            RebaseOutcome::There(tree) => (tree, None),
            RebaseOutcome::Conflict(files) => {
                let because = format!("it conflicts with what was merged before in {}", files.join(", "));
                return Ok(Looked::Fails(Box::new(Failing {
                    kind: FailureType::MergeConflict,
                    because,
                    files,
                    check: None,
                    rest: None,
                })));
            }
        };
        let part = self.plan.parts.len() - 1;
        let checks = self.plan.checks_of(part);
        if checks.is_empty() {
            return Ok(Looked::Fits { tree: new, flaky: Vec::new() });
        }
        let room = self.plan.context.services.workspaces.merge_room(&self.plan.task.title).await?;
        let failing = |because: String, red: Option<(CheckReport, Option<Signature>)>| {
            let (check, rest) = red.unzip();
            let (kind, files, rest) = (FailureType::CheckFailed, Vec::new(), rest.flatten());
            Looked::Fails(Box::new(Failing { kind, because, files, check, rest }))
        };
        let tip = Tip { room: &*room, tree: &rebased.tip };
        let mut first = self.plan.checks_in(&*room, (part, &tree), checks.clone(), false).await?;
        let beside = self.plan.beside(prepared, &tip, &first).await?;
        // As they are numbered there, for what comes behind this merge.
        let as_numbered = first.reports.clone();
        self.compare(&*room, (part, &tree), Base { tree: &rebased.tip, checks: &beside }, &mut first.reports).await?;
        // Where nothing is left to merge, what it fixed is fixed in what the checks are compared with.
        let expects = if new.is_some() { self.plan.task.expects } else { Expects::Nothing };
        let red = match self.plan.first_red(prepared, &first, (&beside, expects)) {
            Ok(Some(red)) => red,
            Ok(None) => {
                self.plan.remember(&tree, &as_numbered);
                return Ok(self.plan.unless_interrupted(Looked::Fits { tree: new, flaky: Vec::new() }));
            }
            Err(because) => return Ok(self.plan.unless_interrupted(failing(because, None))),
        };
        // A check that fails and then passes on the same files says nothing about them.
        let mut second = self.plan.checks_in(&*room, (part, &tree), checks, false).await?;
        let beside = self.plan.beside(prepared, &tip, &second).await?;
        let as_numbered = second.reports.clone();
        self.compare(&*room, (part, &tree), Base { tree: &rebased.tip, checks: &beside }, &mut second.reports).await?;
        let looked = match self.plan.first_red(prepared, &second, (&beside, expects)) {
            Ok(None) => {
                self.plan.remember(&tree, &as_numbered);
                let red_once =
                    first.reports.iter().filter(|check| !check.passed()).map(|check| check.spec.name.clone());
                let passed =
                    |name: &String| second.reports.iter().any(|check| check.spec.name == *name && check.passed());
                Looked::Fits { tree: new, flaky: red_once.filter(passed).collect() }
            }
            Ok(Some(again)) => {
                let check = second.reports.into_iter().nth(again).or_else(|| first.reports.into_iter().nth(red));
                // Its base is what was merged before.
                let why = |check: &CheckReport| is_red(check, &beside).replace("at the base", "before");
                let because = check.as_ref().map_or_else(String::new, why);
                let place = room.dir();
                let red = check.map(|mut check| {
                    let rest = check.at_base(&beside).and_then(|base| check.signature.beyond(&base.signature));
                    for text in [&mut check.output.head, &mut check.output.tail] {
                        *text = relative(text, &place).into_owned();
                    }
                    (check, rest)
                });
                failing(because, red)
            }
            Err(because) => failing(because, None),
        };
        Ok(self.plan.unless_interrupted(looked))
    }

    /// Tells what failed there before from what fails now alone.
    async fn compare(
        &self,
        room: &dyn Workspace,
        (part, tree): (usize, &TreeId),
        base: Base<'_>,
        checks: &mut [CheckReport],
    ) -> Result<(), TaskRunError> {
        let files = &self.progress.report.files;
        self.plan.align(room, (part, tree, false), base, files, checks).await?;
        self.plan.excuse_what_varies(room, (part, tree), base, files, checks).await
    }

    async fn reflect_on_merge(&mut self, last: &LastJudged, failing: &Failing) -> Option<ReflectionId> {
        if !self.plan.context.services.settings.reflexion().enabled {
            return None;
        }
        let failure = self.merge_failure(last, failing).await;
        let spent = UsageMeter::default();
        let cancel = self.plan.context.cancel.clone();
        let stored = tokio::select! {
            stored = self.store(&failure, &spent) => stored.map_err(|error| error.to_string()),
            // A person who interrupts, and a deadline, do not wait for it.
            () = cancel.cancelled() => Err("the run was stopped".to_owned()),
        };
        self.progress.usage += spent.total();
        self.plan.context.spent.add(spent.total());
        match stored {
            Ok(id) => Some(id),
            Err(error) => {
                self.plan.publish(EventKind::Warning { message: format!("no reflection was stored: {error}") });
                None
            }
        }
    }

    async fn merge_failure(&self, last: &LastJudged, failing: &Failing) -> FailureContext {
        let part = self.plan.parts.len() - 1;
        let check = failing.check.as_ref();
        FailureContext {
            id: format!("fc-{}", self.plan.context.services.clock.new_id()),
            session_id: last.session.clone(),
            subtask_id: self.plan.parts[part].id.clone(),
            subtask_description: self.plan.described(part),
            acceptance_criteria: self.plan.task.acceptance_criteria.clone(),
            failure_type: failing.kind,
            ending: last.ending.clone(),
            check: check.map(failed_check),
            output: check.map_or_else(|| Output::whole(failing.because.clone()), |c| c.output.clone()),
            signature: failing.rest.clone().or_else(|| Some(check?.signature.clone())).unwrap_or_default(),
            files_changed: if failing.files.is_empty() {
                self.progress.report.files.clone()
            } else {
                failing.files.clone()
            },
            diff_hash: self.progress.committed.clone().map(|tree| tree.0).unwrap_or_default(),
            previous_reflections: self.plan.previous_reflections(part).await,
            ..FailureContext::new(self.plan.task.id.clone(), last.attempt, self.plan.context.services.clock.now())
        }
    }
}

impl TaskPlan {
    /// What the checks of a merge are compared with: the task's own checks as they were at its base, and the project's as they are on
    /// the tip. Those are known from the merge before; where they are not and one is red now, they are run there.
    async fn beside(
        &self,
        prepared: &Prepared,
        tip: &Tip<'_>,
        checked: &Checked,
    ) -> Result<Vec<CheckReport>, TaskRunError> {
        let mut baseline = prepared.baseline.clone();
        if *tip.tree == tip.room.base() {
            return Ok(baseline);
        }
        let is_project = |check: &&CheckReport| check.scope == CheckScope::Project;
        let project: Vec<&CheckReport> = checked.reports.iter().filter(is_project).collect();
        let unknown: Vec<(CheckScope, CheckSpec)> = project
            .iter()
            .filter(|check| self.remembered(tip.tree, &check.spec).is_none())
            .map(|check| (check.scope, check.spec.clone()))
            .collect();
        let is_red = project.iter().any(|check| !check.passed());
        if is_red && !unknown.is_empty() && !self.context.cancel.is_cancelled() {
            self.doing("checks on what was merged before");
            let there = self.checks_in(tip.room, (self.parts.len() - 1, tip.tree), unknown, false).await?;
            self.remember(tip.tree, &there.reports);
        }
        for check in project {
            let known = self.remembered(tip.tree, &check.spec);
            // What is red and nobody knows of the tip is no old failure.
            if known.is_some() || is_red {
                baseline.retain(|base| base.scope != check.scope || base.spec != check.spec);
            }
            baseline.extend(known);
        }
        Ok(baseline)
    }

    fn remembered(&self, tree: &TreeId, check: &CheckSpec) -> Option<CheckReport> {
        self.baselines().get(&(tree.clone(), check.clone())).cloned()
    }

    /// Keeps how the project's checks are on these files, which may become the tip.
    fn remember(&self, tree: &TreeId, checks: &[CheckReport]) {
        if self.context.cancel.is_cancelled() {
            return;
        }
        let project = checks.iter().filter(|check| check.scope == CheckScope::Project);
        self.baselines().extend(project.map(|check| ((tree.clone(), check.spec.clone()), check.clone())));
    }

    /// The first check that is red on the rebased files and counts; none: all is green. An error says what else is wrong.
    fn first_red(
        &self,
        prepared: &Prepared,
        checked: &Checked,
        (baseline, expects): (&[CheckReport], Expects),
    ) -> Result<Option<usize>, String> {
        let checks = &checked.reports;
        if let Some(because) = &checked.not_set_up {
            return Err(format!("on top of what was merged before, {because}"));
        }
        let changed = changed_outside(checks, baseline);
        if !changed.is_empty() {
            return Err(changed.join("; "));
        }
        let results = CheckResults::new(checks, baseline, expects, &self.task.allow);
        if let Some(red) = results.counted().find(|&i| !checks[i].passed()) {
            return Ok(Some(red));
        }
        // Fewer tests than at the base may be what was merged before.
        let no_success = || checks.iter().find_map(|check| no_success(check, check.at_base(baseline)?));
        match Self::rewrote(prepared, checks, baseline).or_else(no_success) {
            Some(because) => Err(because),
            None => Ok(None),
        }
    }

    fn unless_interrupted(&self, looked: Looked) -> Looked {
        if self.context.cancel.is_cancelled() { Looked::Interrupted } else { looked }
    }
}
