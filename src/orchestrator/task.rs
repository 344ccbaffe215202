//! One task in one run: performs the machine's effects.

use super::course::{AgentStop, Attempt, Judged};
use super::ended::Ended;
use super::healer::Doing;
use super::healing::{Mended, Place};
use super::landing::Landed;
use super::machine::{Effect, End, Input, Landing, Patience, Plan, State};
use super::resume::LastJudged;
use super::spent::Of;
use super::sum_up::millis;
use super::task_run::{LastChange, Prepared, TaskRun, TaskRunError};
use super::waiting::jitter;
use super::{machine, resume};
use crate::domain::{
    AttemptCount, Ending, EventKind, JournalEntry, KeptPatch, Needs, Proof, RunKind, Status, Stop, TaskMark,
    TaskReport, TreeId, Verdict, checked_otherwise, later,
};
use crate::prompt::one_line;
use crate::services::{CommitRequest, Workspace, lines_of_work};
use std::sync::{Arc, PoisonError};

impl TaskRun {
    /// Works until the machine says that the task is over.
    ///
    /// # Errors
    /// [`TaskRunError::Halt`] if the whole run cannot go on; the task has no end then.
    pub async fn work(mut self) -> Result<Ended, TaskRunError> {
        let (end, of_all) = match Box::pin(self.run_machine()).await {
            Ok(end) => (end, false),
            Err(halt @ TaskRunError::Halt(_)) => return Err(halt),
            Err(error) => {
                // What went wrong may be the machine's doing.
                self.plan.context.room().await?;
                let interrupted = self.plan.context.cancel.is_cancelled();
                let stop = Some(match error {
                    _ if interrupted => Stop::Interrupted,
                    TaskRunError::NoCheck(_) => Stop::NoCheck,
                    _ => Stop::Environment,
                });
                // What was judged last may be refuted; it is not confirmed before it is committed.
                let verdict = self.progress.report.verdict.filter(|v| *v != Verdict::Confirmed);
                let of_all = matches!(error, TaskRunError::Environment(_));
                let (status, cause) = (Status::Open, Some(error.to_string()));
                (End { verdict, proof: None, status, cause, stop, kept: None }, of_all)
            }
        };
        if let (Some(Stop::Interrupted), Some(because)) = (end.stop, self.plan.context.halted.get()) {
            return Err(TaskRunError::Halt(because.clone()));
        }
        let (report, status) = self.finish(end).await?;
        Ok(Ended { report, status, of_all })
    }

    async fn run_machine(&mut self) -> Result<End, TaskRunError> {
        if self.work.prepared.is_none() {
            // The error is taken out of `prepared` below.
            let _ = self.prepare().await;
        }
        let mut prepared = match self.work.prepared.take() {
            Some(Ok(prepared)) => prepared,
            Some(Err(error)) => return Err(error),
            None => return Err(TaskRunError::Blocked("the task was not prepared".to_owned())),
        };
        let result = match self.propose_parts().await {
            Ok(()) => Box::pin(self.play(&mut prepared)).await,
            Err(error) => Err(error),
        };
        let result = match result {
            Err(TaskRunError::Halt(because)) if self.plan.is_own_doing(&*prepared.workspace).await => {
                Err(TaskRunError::Blocked(format!("{because}; without what is in its workspace there is room")))
            }
            result => result,
        };
        let workspace = prepared.workspace;
        if self.progress.report.branch.is_none() {
            self.keep_unconfirmed(&*workspace).await;
        }
        if let Err(error) = workspace.close().await {
            self.plan.publish(EventKind::Warning { message: format!("the workspace was not removed: {error}") });
        }
        result
    }

    /// The attempts of each part before this run.
    pub(super) fn counts(&self) -> Vec<AttemptCount> {
        if let Some(counts) = &self.progress.counts {
            return counts.clone();
        }
        self.plan.counts_of(&self.plan.parts)
    }

    fn plan(&self, base: TreeId) -> Result<Plan, TaskRunError> {
        let settings = &self.plan.context.services.settings;
        let (patience, landing) = match self.plan.context.kind {
            RunKind::Run => (Patience::Short, Landing::Branch),
            RunKind::Overnight => (Patience::Night, Landing::Integration),
        };
        Ok(Plan {
            base,
            counts: self.counts(),
            patience,
            landing,
            jitter: jitter(&self.plan.context.run),
            max_attempts: self.plan.max_attempts(),
            agents: self.plan.agents()?,
            stronger: self.plan.stronger(),
            escalate_after: settings.agents().escalation.after.max(1),
            retry_start: settings.run().retry_start,
            limit_wait: settings.run().limit_wait,
        })
    }

    /// Feeds the machine until it ends: first with what an earlier process of the run found out, whose effects are done.
    async fn play(&mut self, prepared: &mut Prepared) -> Result<End, TaskRunError> {
        let base = prepared.workspace.base();
        let mut state = State::new(self.plan(base.clone())?);
        let mut input = Input::Ready;
        self.recall_failure(prepared).await;
        for past in resume::replayed(std::mem::take(&mut self.progress.past), &base) {
            state = machine::step(state, input).0;
            input = past;
        }
        let mut last: Option<Judged> = None;
        loop {
            let (next, effects) = machine::step(state, input);
            state = next;
            input = Input::Interrupted;
            for effect in effects {
                match effect {
                    Effect::Attempt { part, number, agent, from } => {
                        self.reflect_on_pass(last.as_mut(), &prepared.baseline).await;
                        self.close_attempt(last.take()).await?;
                        let attempt = Attempt { part, number, agent, from };
                        input = Box::pin(self.attempt(prepared, attempt, &mut last)).await?;
                    }
                    Effect::Reflect => self.reflect(last.as_mut()).await,
                    Effect::Wait { duration, because } => input = self.plan.wait(duration, because).await?,
                    Effect::Commit { tree } => {
                        self.reflect_on_pass(last.as_mut(), &prepared.baseline).await;
                        self.close_attempt(last.take()).await?;
                        if tree == prepared.workspace.base() {
                            // Nothing was to be changed, and nothing is: a branch would say that something is.
                            self.progress.report.solved_at =
                                self.progress.last_judged.as_ref().map(|last| last.attempt);
                        } else {
                            self.commit(&*prepared.workspace, tree).await?;
                        }
                    }
                    Effect::Merge if self.progress.committed.is_none() => input = Input::Merged,
                    Effect::Merge => input = self.land(prepared).await?,
                    Effect::Rebase => input = self.open_anew(prepared).await?,
                    Effect::End(end) => {
                        self.close_attempt(last.take()).await?;
                        return Ok(end);
                    }
                }
            }
        }
    }

    async fn land(&mut self, prepared: &Prepared) -> Result<Input, TaskRunError> {
        self.look_at_home().await?;
        if let Some(outcome) = self.left_to_person(&prepared.workspace.prefix()) {
            return self.leave_to_person(outcome).await;
        }
        Ok(match self.merge(prepared).await? {
            Landed::Merged => Input::Merged,
            Landed::NotMerged(outcome) => Input::NotMerged { outcome },
            Landed::Left(outcome) => self.leave_to_person(outcome).await?,
            Landed::Interrupted => Input::Interrupted,
        })
    }

    /// A workspace on top of what was merged before, in place of the one that stood on the run's base.
    async fn open_anew(&mut self, prepared: &mut Prepared) -> Result<Input, TaskRunError> {
        prepared.workspace.close().await?;
        *prepared = self.open_workspace().await?;
        // What was changed before was a change to another base.
        (self.progress.last_change, self.progress.committed) = (None, None);
        Ok(Input::Rebased { base: prepared.workspace.base() })
    }

    async fn attempt(
        &mut self,
        prepared: &Prepared,
        attempt: Attempt,
        last: &mut Option<Judged>,
    ) -> Result<Input, TaskRunError> {
        if !self.plan.await_turn(&attempt.agent).await? {
            return Ok(Input::Interrupted);
        }
        if self.plan.context.drains() {
            return Ok(Input::Interrupted);
        }
        if let Err(used_up) = self.may_begin() {
            if matches!(used_up.of, Of::Run | Of::RunAttempts) {
                self.plan.context.stop_for(&used_up);
                return Ok(Input::Interrupted);
            }
            self.plan.publish(EventKind::BudgetReached { because: used_up.because.clone() });
            return Ok(Input::UsedUp { because: used_up.because });
        }
        let agent = attempt.agent.clone();
        self.plan.context.room().await?;
        // What steers the checks of this attempt, whatever steered those before it.
        if attempt.part == 0 {
            self.work.steered.clear();
        }
        self.look_at_home().await?;
        let mut stop = Box::pin(self.run_attempt(prepared, attempt)).await?;
        self.look_at_home().await?;
        let confirmed = |judged: &Judged| judged.judgement.verdict == Verdict::Confirmed;
        if !matches!(&stop, AgentStop::Judged(judged) if confirmed(judged)) {
            // On a full disk the agent or its checks may have failed for that; nothing is written down about them then.
            self.plan.context.room().await?;
        }
        let steered: Vec<String> = self.work.steered.iter().cloned().collect();
        if let (AgentStop::Judged(judged), Some(because)) = (&mut stop, checked_otherwise(&steered))
            && confirmed(judged)
        {
            judged.risk = judged.risk.clone().to_review(&because);
            self.progress.report.risk = Some(judged.risk.clone());
        }
        let now = self.plan.context.services.clock.now();
        match &stop {
            AgentStop::Stopped { ending: Ending::RateLimited { resets_at }, .. } => {
                let jitter = jitter(&self.plan.context.run);
                self.plan.context.limits.close(&agent, resets_at.map(|resets_at| later(resets_at, jitter)), now);
            }
            _ => self.plan.context.limits.open(&agent),
        }
        match stop {
            AgentStop::NotStarted { because } => Ok(Input::NotStarted { because }),
            AgentStop::Stopped { ending, detail } => Ok(Input::Stopped { ending, detail, at: now }),
            AgentStop::Judged(judged) => {
                let input = Input::Judged {
                    judgement: judged.judgement.clone(),
                    tree: judged.change.tree.clone(),
                    signature: judged.signature(),
                };
                *last = Some(*judged);
                Ok(input)
            }
        }
    }

    /// Writes the judged attempt's result: its reflection is stored by now, or there is none.
    async fn close_attempt(&mut self, judged: Option<Judged>) -> Result<(), TaskRunError> {
        let Some(judged) = judged else { return Ok(()) };
        let subtask = self.plan.parts[judged.attempt.part].id.clone();
        self.progress.last_judged =
            Some(LastJudged::of(&judged, subtask.clone(), self.plan.context.services.clock.now()));
        let services = &self.plan.context.services;
        let mark = TaskMark {
            v: 1,
            id: self.plan.task.id.clone(),
            status: Status::InProgress,
            cause: None,
            run: Some(self.plan.context.run.clone()),
            subtask: Some(subtask.clone()),
            attempt: Some(judged.attempt.number),
            verdict: Some(judged.judgement.verdict),
            seen: Some(self.plan.task.updated_at),
            at: services.clock.now(),
        };
        let flaky = judged.doubts.flaky.clone();
        let signature = judged.shown().map(|c| c.signature.fingerprint.clone());
        let (red, answer) = (judged.red_check(), judged.said_last());
        let entry = JournalEntry::AttemptJudged {
            task: self.plan.task.id.clone(),
            subtask,
            attempt: judged.attempt.number,
            session: judged.session,
            ending: judged.ending,
            usage: judged.usage,
            tree: judged.change.tree,
            verdict: judged.judgement.verdict,
            because: judged.judgement.because,
            proof: judged.judgement.proof,
            proof_runs: judged.proof_runs,
            proof_hunks: judged.proof_hunks.clone(),
            tests: judged.tests,
            failure: judged.judgement.failure,
            red,
            answer,
            person: judged.judgement.person,
            risk: Some(judged.risk),
            flaky,
            signature,
            record: judged.record,
            reflection: judged.reflection,
            reflection_usage: judged.reflection_usage,
            judging_usage: judged.judging_usage,
        };
        self.plan.context.record(entry).await?;
        Ok(services.tasks.mark(&[mark]).await?)
    }

    async fn commit(&mut self, workspace: &dyn Workspace, tree: TreeId) -> Result<(), TaskRunError> {
        let entry = JournalEntry::CommitStarted { task: self.plan.task.id.clone(), tree: tree.clone() };
        self.plan.context.record(entry).await?;
        let request =
            CommitRequest { tree: tree.clone(), subject: self.plan.task.title.clone(), body: self.commit_body() };
        let place = Place { workspace, part: self.plan.parts.len() - 1, doing: Doing::Refs };
        let committed = match self.plan.mended(place, workspace.commit(request.clone()).await).await? {
            Mended::NotNeeded(committed) => committed,
            Mended::Again(heal) => self.plan.proved(heal, workspace.commit(request).await).await?,
        };
        self.progress.committed = Some(tree);
        self.progress.report.branch = Some(committed.target);
        self.progress.report.files = committed.files;
        self.progress.merges = committed.merges;
        self.progress.carried = committed.carried;
        self.progress.report.solved_at = self.progress.last_judged.as_ref().map(|last| last.attempt);
        if !self.work.steered.is_empty() && self.plan.context.kind == RunKind::Run {
            self.progress.report.needs = Some(Needs::Person);
        }
        Ok(())
    }

    pub fn commit_body(&self) -> String {
        let last = self.progress.last_judged.as_ref();
        let runs =
            last.and_then(|last| last.proof_runs?.words()).map(|words| format!(" ({words})")).unwrap_or_default();
        let hunks = last.and_then(|last| last.proof_hunks.as_ref()?.words(one_line));
        let hunks = hunks.map(|words| format!("{words}\n")).unwrap_or_default();
        // Where the only ones are still red by what failed before, the proof says what there is to say.
        let checks = last.map(|last| last.passed.join(", ")).filter(|checks| !checks.is_empty());
        let checks = checks.map(|checks| format!("checks: {checks}\n")).unwrap_or_default();
        format!(
            "{}\nattempt: {}\n{checks}proof: {}{runs}\n{hunks}",
            lines_of_work(&self.plan.context.run, &self.plan.task.id).join("\n"),
            last.map_or(0, |last| last.attempt),
            last.and_then(|last| last.proof).map_or("none", Proof::as_str),
        )
    }

    /// What was paid for and not confirmed is kept as a patch.
    async fn keep_unconfirmed(&mut self, workspace: &dyn Workspace) {
        let Some(LastChange { part, attempt, tree }) = &self.progress.last_change else { return };
        let what = format!("what attempt {attempt} changed, which is not merged,");
        let message = match workspace.save_patch(tree, &self.plan.parts[*part].id).await {
            Ok(path) => {
                let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                self.progress.report.patch = Some(KeptPatch { file, attempt: *attempt });
                format!("{what} is kept in {}", path.display())
            }
            Err(error) => format!("{what} could not be kept: {error}"),
        };
        self.plan.publish(EventKind::Warning { message });
    }

    async fn finish(mut self, mut end: End) -> Result<(TaskReport, Status), TaskRunError> {
        let context = Arc::clone(&self.plan.context);
        if end.stop == Some(Stop::Interrupted)
            && let Some(stopped) = context.stopped.get()
        {
            let (stop, cause) = stopped.of_task();
            (end.stop, end.cause) = (Some(stop), Some(cause.to_owned()));
        }
        let services = &context.services;
        self.progress.report.by_hand = self.plan.said_meanwhile().await;
        self.progress.report.verdict = end.verdict;
        self.progress.report.proof = end.proof;
        let last = self.progress.last_judged.as_ref().filter(|_| end.proof.is_some());
        self.progress.report.proof_runs = last.and_then(|last| last.proof_runs);
        self.progress.report.proof_hunks = last.and_then(|last| last.proof_hunks.clone());
        self.progress.report.cause.clone_from(&end.cause);
        self.progress.report.kept.clone_from(&end.kept);
        self.progress.report.stop = end.stop;
        self.progress.report.tokens = self.progress.usage.tokens();
        self.progress.report.usage = self.progress.usage;
        self.progress.report.cost_usd = self.progress.usage.cost_usd;
        self.progress.report.duration_ms =
            millis(self.progress.worked + services.clock.elapsed().saturating_sub(self.plan.started));
        let entry = JournalEntry::TaskEnded {
            task: self.plan.task.id.clone(),
            verdict: end.verdict,
            proof: end.proof,
            branch: self.progress.report.branch.clone(),
            cause: end.cause.clone(),
            status: Some(end.status),
            report: Some(Box::new(self.progress.report.clone())),
        };
        self.plan.context.record(entry).await?;
        self.curate().await;
        if end.status == Status::Closed {
            let mut confirmed = context.confirmed_by.lock().unwrap_or_else(PoisonError::into_inner);
            confirmed.insert(self.plan.task.id.clone(), context.run.clone());
        }
        let mark = TaskMark {
            v: 1,
            id: self.plan.task.id.clone(),
            status: end.status,
            cause: end.cause.clone(),
            run: Some(context.run.clone()),
            subtask: None,
            attempt: None,
            verdict: None,
            seen: Some(self.plan.task.updated_at),
            at: services.clock.now(),
        };
        // A run that judged nothing found out nothing: the task stands where it stood.
        let nothing_found = end.status == Status::Open && self.progress.report.attempts == 0;
        if !nothing_found {
            services.tasks.mark(&[mark]).await?;
        }
        // A person's word is what the others that wait for it go by, too.
        let status = self.progress.report.by_hand.unwrap_or(end.status);
        Ok((self.progress.report, status))
    }
}
