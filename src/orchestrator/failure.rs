//! What is known of a failed attempt: for the next prompt, and for whoever writes the lesson.

use super::attempt::Judged;
use super::task::TaskRun;
use super::verdict::RUN_ALL;
use crate::domain::{
    Allow, CheckReport, CheckResults, CheckScope, Expects, FailedCheck, FailureContext, FailureType, Output,
    Reflection, Signature,
};
use crate::prompt::{PartOrigin, with_proposed};

/// The last failure of this run, for the next prompt.
pub(super) struct PastFailure {
    pub part: usize,
    pub number: u32,
    pub because: String,
    /// Of an attempt that changed nothing: what stands against the last one that did, and its number.
    pub of_change: Option<(u32, String)>,
    pub check: Option<CheckReport>,
    pub files: Vec<String>,
    /// What its change beside the base is, as a unified diff.
    pub diff: String,
}

/// What of red checks was red at the base, too, and so does not count.
#[derive(Debug, Clone, Default)]
pub(super) struct OldFailures {
    /// The checks in which nothing else fails, as indices.
    pub checks: Vec<usize>,
    /// Of the check that shows the failure, the ids of the tests that failed before.
    pub tests: Vec<String>,
    /// The same of each check of the project, in the order of the checks.
    pub known: Vec<Vec<String>>,
    /// What is left of its failure without them, where that is known.
    pub rest: Option<Signature>,
    /// Nothing is left of it: what counts against the attempt is that tests are not run any more.
    pub lost: bool,
}

impl OldFailures {
    /// Of an attempt whose failure this check shows.
    pub fn of(
        checks: &[CheckReport],
        baseline: &[CheckReport],
        shown: Option<usize>,
        (expects, allow): (Expects, &[Allow]),
    ) -> Self {
        let results = CheckResults::new(checks, baseline, expects, allow);
        let known = |check: &CheckReport| -> Vec<String> {
            let base = check.at_base(baseline).filter(|base| !base.passed() && check.scope == CheckScope::Project);
            let known = base.map(|base| check.signature.known_of(&base.signature)).unwrap_or_default();
            known.into_iter().map(str::to_owned).collect()
        };
        let known = checks.iter().map(known).collect();
        let mut old = Self { checks: results.known_red().collect(), known, ..Self::default() };
        let shown = shown.map(|i| &checks[i]).filter(|check| check.may_be_known_red(checks, baseline, expects));
        if let Some((check, base)) = shown.and_then(|check| Some((check, check.at_base(baseline)?))) {
            old.tests = check.signature.known_of(&base.signature).into_iter().map(str::to_owned).collect();
            old.rest = check.signature.beyond(&base.signature);
            old.lost = check.signature.beside(&base.signature).is_some_and(|beside| beside.is_only_gone());
        }
        old
    }
}

impl TaskRun {
    /// Keeps a failure for the next prompt.
    pub fn remember_failure(&mut self, judged: &Judged) {
        let part = judged.attempt.part;
        let before = self.last_failure.take().filter(|before| judged.change.no_op && before.part == part);
        let before = before.map(|before| before.of_change.unwrap_or((before.number, before.because)));
        let because = match &before {
            Some((number, because)) => {
                format!(
                    "{}. Attempt {number}, the last that changed anything, failed so: {because}",
                    judged.judgement.because
                )
            }
            None => judged.judgement.because.clone(),
        };
        self.last_failure = judged.judgement.failure.map(|_| PastFailure {
            part,
            number: judged.attempt.number,
            because,
            of_change: before,
            check: judged.shown().cloned(),
            files: changed(judged),
            diff: judged.diff.clone(),
        });
    }

    /// What is known of a failed attempt, for the generator.
    pub async fn failure_context(&self, judged: &Judged) -> FailureContext {
        let services = &self.context.services;
        let part = &self.parts[judged.attempt.part];
        // Of what fails in it, nothing is about this attempt.
        let check = judged.shown().filter(|_| !judged.old.lost).or_else(|| still_red(judged));
        let shown = |other: &CheckReport| check.is_some_and(|check| std::ptr::eq(check, other));
        let ran = judged.checks.iter().filter(|other| !other.is_not_run() && !shown(other));
        FailureContext {
            v: 1,
            id: format!("fc-{}", services.clock.new_id()),
            session_id: judged.session.clone(),
            task_id: self.task.id.clone(),
            subtask_id: part.id.clone(),
            subtask_description: self.described(judged.attempt.part),
            acceptance_criteria: self.task.acceptance_criteria.clone(),
            attempt_number: judged.attempt.number,
            failure_type: judged.judgement.failure.unwrap_or(FailureType::CheckFailed),
            ending: judged.ending.clone(),
            check: check.map(failed_check),
            ran: ran.map(|check| check.spec.name.clone()).collect(),
            todo: match check {
                Some(_) => Vec::new(),
                None if judged.old.lost => vec![RUN_ALL.to_owned()],
                None => judged.judgement.todo.clone(),
            },
            output: check.map_or_else(|| agent_output(judged), |c| c.output.clone()),
            // Of a check that was red before, the lesson is about what is new.
            signature: judged.old.rest.clone().or_else(|| Some(check?.signature.clone())).unwrap_or_default(),
            flaky: judged.doubts.flaky.clone(),
            known_failures: check.map(|check| judged.known_failures(check)).unwrap_or_default(),
            files_changed: changed(judged),
            files_left: if judged.change.no_op { judged.change.files.clone() } else { Vec::new() },
            diff_hash: judged.change.diff_hash.clone(),
            diff: judged.diff.clone(),
            agent_message: judged.message.clone(),
            previous_reflections: self.previous_reflections(judged.attempt.part).await,
            created_at: services.clock.now(),
        }
    }

    /// What a part is about, in words.
    pub(super) fn described(&self, part: usize) -> String {
        if let Some(proposed) = self.proposed(part) {
            return with_proposed(&format!("{}\n\n{}", self.task.title, self.task.description), &proposed);
        }
        self.words_of(part)
    }

    fn words_of(&self, part: usize) -> String {
        let part = &self.parts[part];
        format!("{}\n\n{}", part.title, part.description).trim().to_owned()
    }

    /// The words of a part, if they are an agent's.
    pub(super) fn proposed(&self, part: usize) -> Option<String> {
        let is_proposed = self.origin == PartOrigin::Proposed && !self.task.subtasks.is_empty();
        is_proposed.then(|| self.words_of(part))
    }

    /// Earlier lessons of a part. Without them the next may repeat one; that is no reason to have none.
    pub(super) async fn previous_reflections(&self, part: usize) -> Vec<Reflection> {
        let limit = self.context.services.settings.reflexion().max_reflections_per_retry;
        let mut previous = self.recent(part, limit).await.unwrap_or_default();
        previous.retain(|r| r.subtask_id == self.parts[part].id.as_str());
        previous
    }
}

impl Judged {
    /// The tests of one of its checks, by id, that failed in the same way before.
    fn known_failures(&self, check: &CheckReport) -> Vec<String> {
        let at = self.checks.iter().position(|other| std::ptr::eq(other, check));
        at.and_then(|at| self.old.known.get(at)).cloned().unwrap_or_default()
    }
}

/// A red check as generators are told of it.
pub(super) fn failed_check(check: &CheckReport) -> FailedCheck {
    FailedCheck {
        name: check.spec.name.clone(),
        run: check.spec.run.clone(),
        exit_status: check.exit_status,
        signal: check.signal,
        timed_out: check.timed_out,
    }
}

/// A check that was red before, where the agent did not get to change that: it changed nothing, or was cut off. Of work that
/// something else refutes it says nothing.
fn still_red(judged: &Judged) -> Option<&CheckReport> {
    let never_came_to_it = judged.change.no_op || !judged.ending.claims_done();
    // Where the task has no check of its own, one that was red before may be all that shows what it is about; but not where each of
    // its failing tests is known to be somebody else's.
    let own = judged.checks.iter().any(|check| check.scope == CheckScope::Task);
    let is_named = |at: &usize| judged.checks[*at].signature.counted.is_some();
    let counts =
        |at: &usize| !(judged.old.checks.contains(at) && (own || is_named(at)) || judged.old.lost && is_named(at));
    let mut counted = judged.checks.iter().enumerate().filter(|(at, _)| counts(at)).map(|(_, check)| check);
    counted.find(|check| never_came_to_it && !check.passed() && !check.is_not_run())
}

/// What the attempt itself changed. What differs from the base where it did nothing is an earlier attempt's.
fn changed(judged: &Judged) -> Vec<String> {
    if judged.change.no_op { Vec::new() } else { judged.change.files.clone() }
}

/// What is known where no check is red: why the attempt is refuted, and what went wrong with the agent.
fn agent_output(judged: &Judged) -> Output {
    let detail = judged.detail.as_deref().unwrap_or_default();
    Output::whole(format!("{}\n{detail}", judged.judgement.because).trim().to_owned())
}
