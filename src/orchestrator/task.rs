//! One task in one run: performs the machine's effects.

use super::attempt::{AgentStop, Attempt, Judged, ResumePoint};
use super::budget::Of;
use super::drive::{Ended, RunContext};
use super::failure::PastFailure;
use super::healer::Doing;
use super::healing::{Mended, Place};
use super::landing::Landed;
use super::machine::{Effect, End, Input, Landing, Patience, Plan, State};
use super::proof::Seen;
use super::resume::{LastJudged, PastTask, Tally};
use super::sum_up::{empty_report, millis};
use super::waiting::jitter;
use super::{machine, resume, router};
use crate::domain::{
    Again, AttemptCount, CheckReport, CheckScope, CheckSpec, Ending, EventKind, FileGlobs, JournalEntry, Needs, Proof,
    RunId, RunKind, SessionId, Spell, Status, Stop, Subtask, SubtaskId, Task, TaskMark, TaskReport, TreeId, Usage,
    Verdict, checked_otherwise, later,
};
use crate::prompt::{PartOrigin, one_line};
use crate::services::{CommitRequest, JournalError, TasksError, Workspace, WorkspaceError, lines_of_work};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// A task with an open workspace and a known baseline.
pub(super) struct Prepared {
    /// Files that no attempt may change, by the project and by the task.
    pub protect: FileGlobs,
    pub workspace: Arc<dyn Workspace>,
    /// Where checks run that decide; none without checks.
    pub room: Option<PathBuf>,
    pub baseline: Vec<CheckReport>,
}

/// Why a task could not be gone on with.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum TaskRunError {
    /// The whole run cannot go on: a journal that cannot be written, or a machine without room.
    #[error("{0}")]
    Halt(String),
    /// Something around the task is not as it must be; others may go on.
    #[error("{0}")]
    Blocked(String),
    /// No check can show that the task is done: no agent is paid for it.
    #[error("{0}")]
    NoCheck(String),
    /// Setup or a check cannot even start: what is wrong with this task is likely wrong with every other.
    #[error("{0}")]
    Environment(String),
}

impl From<JournalError> for TaskRunError {
    /// Nothing may be done whose intent is not on disk.
    fn from(error: JournalError) -> Self {
        Self::Halt(error.to_string())
    }
}

impl From<TasksError> for TaskRunError {
    /// What was found out about a task must be known to the next run.
    fn from(error: TasksError) -> Self {
        Self::Halt(format!("where tasks stand could not be written: {error}"))
    }
}

impl From<WorkspaceError> for TaskRunError {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Machine(because) => Self::Halt(because),
            error @ WorkspaceError::Setup { .. } => Self::Environment(error.to_string()),
            error => Self::Blocked(error.to_string()),
        }
    }
}

/// One task in one run.
pub(super) struct TaskRun {
    pub context: Arc<RunContext>,
    pub task: Task,
    pub parts: Vec<Subtask>,
    /// Whose words they are.
    pub origin: PartOrigin,
    pub report: TaskReport,
    pub usage: Usage,
    pub last_failure: Option<PastFailure>,
    /// The same of the attempt before the one that was judged last.
    pub failed_before: Option<PastFailure>,
    /// The newest recorded change and its part: kept as a patch unless it ends on a branch.
    pub last_change: Option<(usize, TreeId)>,
    /// Where the agent of the next attempt may go on.
    pub resume: Option<ResumePoint>,
    /// The open workspace and the baseline, or why there is none.
    pub prepared: Option<Result<Prepared, TaskRunError>>,
    /// The attempt that was judged last.
    pub last_judged: Option<LastJudged>,
    /// The tree on the task's branch.
    pub committed: Option<TreeId>,
    /// The files that merging that brings.
    pub merges: Vec<String>,
    /// Those of them that hold what is carried.
    pub carried: Vec<String>,
    /// What in the home directory steered tools otherwise than when the run began, in words, while the last attempt was made and checked.
    pub steered: BTreeSet<String>,
    /// The commit to start from instead of the run's base, because the work did not merge.
    pub onto: Option<String>,
    /// Sessions of this run whose attempt has no result: it is done again.
    pub open_sessions: Vec<SessionId>,
    /// Sessions of this run on which a lesson may be stored that is not written down.
    pub taught: Vec<SessionId>,
    /// What the machine is fed again with.
    pub past: Vec<Input>,
    pub counts: Option<Vec<AttemptCount>>,
    /// Checks that the last attempt may have failed because of what is around its files.
    pub suspects: Vec<(CheckScope, CheckSpec)>,
    /// What an earlier process judged last, in workspaces that were made anew since: whether something was gone there, its files tell.
    pub made_anew: Option<TreeId>,
    /// Attempts, by part and number, that failed for want of something that was brought back since: what they say of the work, and their lessons, do
    /// not count.
    pub explained: BTreeSet<(SubtaskId, u32)>,
    pub worker: usize,
    /// What the checks said of which tree, for the proofs of later turns and attempts.
    pub seen: Seen,
    /// Attempts of this task that this run has begun.
    pub begun: u32,
    /// How long earlier processes of this run worked on it.
    pub worked: Duration,
    pub started: Duration,
}

impl TaskRun {
    pub fn new(context: Arc<RunContext>, task: Task, worker: usize) -> Self {
        let started = context.services.clock.elapsed();
        let task = task.split(context.services.settings.run().decompose);
        let (task, origin) = context.with_proposal(task);
        let (parts, report) = (task.parts(), empty_report(&task));
        Self {
            context,
            task,
            parts,
            origin,
            report,
            usage: Usage::default(),
            last_failure: None,
            failed_before: None,
            last_change: None,
            resume: None,
            prepared: None,
            last_judged: None,
            committed: None,
            merges: Vec::new(),
            carried: Vec::new(),
            steered: BTreeSet::new(),
            onto: None,
            open_sessions: Vec::new(),
            taught: Vec::new(),
            past: Vec::new(),
            counts: None,
            suspects: Vec::new(),
            made_anew: None,
            explained: BTreeSet::new(),
            worker,
            seen: Seen::default(),
            begun: 0,
            worked: Duration::ZERO,
            started,
        }
    }

    /// Goes on where an earlier process of the run left the task.
    pub fn go_on(mut self, past: PastTask, run: &RunId) -> Self {
        self.worked = past.worked;
        if past.ended.is_some() {
            // A person has opened it again since: only what it has used up counts on.
            (self.usage, self.begun) = (past.tally.usage, past.attempts_begun);
            return self;
        }
        let same_parts = past.is_of(&self.part_ids());
        let Tally { attempts, reflections_written, reflections_injected, endings, usage, judging_usage } = past.tally;
        self.usage = usage;
        self.report = TaskReport {
            attempts,
            reflections_written,
            reflections_injected,
            endings,
            judging_usage,
            verdict: past.last.as_ref().map(|last| last.verdict),
            ..self.report
        };
        // Parts that were changed by hand meanwhile are other parts: they begin anew.
        if same_parts {
            self.counts = Some(past.counts);
            self.past = past.inputs;
            self.onto = past.onto;
        }
        let merging = past.last.as_ref().filter(|_| past.merging.is_some()).map(|last| last.session.clone());
        self.taught = past.open_sessions.iter().cloned().chain(merging).collect();
        self.begun = past.attempts_begun;
        self.report.risk = past.last.as_ref().and_then(|last| last.risk.clone());
        if let Some(commit) = past.merged {
            self.report.branch = Some(format!("reflexion/{run}/{}", self.task.id));
            self.report.solved_at = past.last.as_ref().map(|last| last.attempt);
            self.report.merged = Some(commit);
        }
        if let Some(branch) = past.left_to_person {
            self.report.branch = Some(branch);
            self.report.solved_at = past.last.as_ref().map(|last| last.attempt);
            self.report.needs = Some(Needs::Person);
        }
        (self.last_judged, self.explained) = (past.last, past.explained);
        self.open_sessions = past.open_sessions;
        self
    }

    pub fn publish(&self, kind: EventKind) {
        self.context.publish(Some(&self.task.id), kind);
    }

    pub fn doing(&self, what: impl Into<String>) {
        self.publish(EventKind::Doing { what: what.into() });
    }

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
                self.context.room().await?;
                let interrupted = self.context.cancel.is_cancelled();
                let stop = Some(match error {
                    _ if interrupted => Stop::Interrupted,
                    TaskRunError::NoCheck(_) => Stop::NoCheck,
                    _ => Stop::Environment,
                });
                // What was judged last may be refuted; it is not confirmed before it is committed.
                let verdict = self.report.verdict.filter(|v| *v != Verdict::Confirmed);
                let of_all = matches!(error, TaskRunError::Environment(_));
                let (status, cause) = (Status::Open, Some(error.to_string()));
                (End { verdict, proof: None, status, cause, stop, kept: None }, of_all)
            }
        };
        if let (Some(Stop::Interrupted), Some(because)) = (end.stop, self.context.halted.get()) {
            return Err(TaskRunError::Halt(because.clone()));
        }
        let (report, status) = self.finish(end).await?;
        Ok(Ended { report, status, of_all })
    }

    /// Whether it is the task's own workspace that fills the disk, which is empty then: one task must not stop every night.
    async fn is_own_doing(&self, workspace: &dyn Workspace) -> bool {
        if self.context.halted.get().is_some() || self.context.room().await.is_ok() {
            return false;
        }
        workspace.mend(Spell::MakeAnew).await.is_ok() && self.context.room().await.is_ok()
    }

    async fn run_machine(&mut self) -> Result<End, TaskRunError> {
        if self.prepared.is_none() {
            // The error is taken out of `prepared` below.
            let _ = self.prepare().await;
        }
        let mut prepared = match self.prepared.take() {
            Some(Ok(prepared)) => prepared,
            Some(Err(error)) => return Err(error),
            None => return Err(TaskRunError::Blocked("the task was not prepared".to_owned())),
        };
        let result = match self.propose_parts().await {
            Ok(()) => Box::pin(self.play(&mut prepared)).await,
            Err(error) => Err(error),
        };
        let result = match result {
            Err(TaskRunError::Halt(because)) if self.is_own_doing(&*prepared.workspace).await => {
                Err(TaskRunError::Blocked(format!("{because}; without what is in its workspace there is room")))
            }
            result => result,
        };
        let workspace = prepared.workspace;
        if self.report.branch.is_none() {
            self.keep_unconfirmed(&*workspace).await;
        }
        if let Err(error) = workspace.close().await {
            self.publish(EventKind::Warning { message: format!("the workspace was not removed: {error}") });
        }
        result
    }

    pub(super) fn max_attempts(&self) -> u32 {
        let asked = self.context.max_attempts.or(self.task.max_attempts);
        asked.unwrap_or(self.context.services.settings.run().max_attempts).max(1)
    }

    /// Which agents it is given to, and why.
    pub(super) fn route(&self) -> router::Route {
        let context = &self.context;
        router::route(context.services.settings.agents(), &self.task, context.agent.as_deref(), &context.track_record)
    }

    /// The fallback chain, with what each agent's retries start from.
    pub(super) fn agents(&self) -> Result<Vec<machine::Agent>, TaskRunError> {
        let agent = |name: String| {
            let agent = self.context.services.subagents.get(&name).map_err(|e| TaskRunError::Blocked(e.to_string()))?;
            Ok(machine::Agent { name, retry_from: agent.retry_from() })
        };
        self.route().agents.into_iter().map(agent).collect()
    }

    /// Who steps in; one that is not there is left out, as one that cannot be started is later.
    fn stronger(&self) -> Vec<machine::Agent> {
        let context = &self.context;
        // A person who names an agent wants that one.
        let named = context.agent.is_some() || self.task.agent.is_some();
        let to = if named { &[][..] } else { &context.services.settings.agents().escalation.to[..] };
        let agent = |name: &String| {
            let agent = context.services.subagents.get(name).ok()?;
            Some(machine::Agent { name: name.clone(), retry_from: agent.retry_from() })
        };
        to.iter().filter_map(agent).collect()
    }

    /// The attempts of each part before this run.
    pub(super) fn counts(&self) -> Vec<AttemptCount> {
        if let Some(counts) = &self.counts {
            return counts.clone();
        }
        self.counts_of(&self.parts)
    }

    /// The same as the tasks say it.
    pub(super) fn counts_of(&self, parts: &[Subtask]) -> Vec<AttemptCount> {
        let list = self.context.list();
        let counts = parts.iter().map(|part| {
            let count = list.attempts.get(&(self.task.id.clone(), part.id.clone())).copied().unwrap_or_default();
            match self.context.again {
                Again::No => count,
                Again::Yes => AttemptCount { since_opened: 0, ..count },
            }
        });
        counts.collect()
    }

    fn plan(&self, base: TreeId) -> Result<Plan, TaskRunError> {
        let settings = &self.context.services.settings;
        let (patience, landing) = match self.context.kind {
            RunKind::Run => (Patience::Short, Landing::Branch),
            RunKind::Overnight => (Patience::Night, Landing::Integration),
        };
        Ok(Plan {
            base,
            counts: self.counts(),
            patience,
            landing,
            jitter: jitter(&self.context.run),
            max_attempts: self.max_attempts(),
            agents: self.agents()?,
            stronger: self.stronger(),
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
        for past in resume::replayed(std::mem::take(&mut self.past), &base) {
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
                    Effect::Wait { duration, because } => input = self.wait(duration, because).await?,
                    Effect::Commit { tree } => {
                        self.reflect_on_pass(last.as_mut(), &prepared.baseline).await;
                        self.close_attempt(last.take()).await?;
                        if tree == prepared.workspace.base() {
                            // Nothing was to be changed, and nothing is: a branch would say that something is.
                            self.report.solved_at = self.last_judged.as_ref().map(|last| last.attempt);
                        } else {
                            self.commit(&*prepared.workspace, tree).await?;
                        }
                    }
                    Effect::Merge if self.committed.is_none() => input = Input::Merged,
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
        (self.last_change, self.committed) = (None, None);
        Ok(Input::Rebased { base: prepared.workspace.base() })
    }

    async fn attempt(
        &mut self,
        prepared: &Prepared,
        attempt: Attempt,
        last: &mut Option<Judged>,
    ) -> Result<Input, TaskRunError> {
        if !self.await_turn(&attempt.agent).await? {
            return Ok(Input::Interrupted);
        }
        if self.context.drains() {
            return Ok(Input::Interrupted);
        }
        if let Err(used_up) = self.may_begin() {
            if matches!(used_up.of, Of::Run | Of::RunAttempts) {
                self.context.stop_for(&used_up);
                return Ok(Input::Interrupted);
            }
            self.publish(EventKind::BudgetReached { because: used_up.because.clone() });
            return Ok(Input::UsedUp { because: used_up.because });
        }
        let agent = attempt.agent.clone();
        self.context.room().await?;
        // What steers the checks of this attempt, whatever steered those before it.
        if attempt.part == 0 {
            self.steered.clear();
        }
        self.look_at_home().await?;
        let mut stop = Box::pin(self.run_attempt(prepared, attempt)).await?;
        self.look_at_home().await?;
        let confirmed = |judged: &Judged| judged.judgement.verdict == Verdict::Confirmed;
        if !matches!(&stop, AgentStop::Judged(judged) if confirmed(judged)) {
            // On a full disk the agent or its checks may have failed for that; nothing is written down about them then.
            self.context.room().await?;
        }
        let steered: Vec<String> = self.steered.iter().cloned().collect();
        if let (AgentStop::Judged(judged), Some(because)) = (&mut stop, checked_otherwise(&steered))
            && confirmed(judged)
        {
            judged.risk = judged.risk.clone().to_review(&because);
            self.report.risk = Some(judged.risk.clone());
        }
        let now = self.context.services.clock.now();
        match &stop {
            AgentStop::Stopped { ending: Ending::RateLimited { resets_at }, .. } => {
                let jitter = jitter(&self.context.run);
                self.context.limits.close(&agent, resets_at.map(|resets_at| later(resets_at, jitter)), now);
            }
            _ => self.context.limits.open(&agent),
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
        let subtask = self.parts[judged.attempt.part].id.clone();
        self.last_judged = Some(LastJudged::of(&judged, subtask.clone(), self.context.services.clock.now()));
        let services = &self.context.services;
        let mark = TaskMark {
            v: 1,
            id: self.task.id.clone(),
            status: Status::InProgress,
            cause: None,
            run: Some(self.context.run.clone()),
            subtask: Some(subtask.clone()),
            attempt: Some(judged.attempt.number),
            verdict: Some(judged.judgement.verdict),
            seen: Some(self.task.updated_at),
            at: services.clock.now(),
        };
        let flaky = judged.doubts.flaky.clone();
        let signature = judged.shown().map(|c| c.signature.fingerprint.clone());
        let entry = JournalEntry::AttemptJudged {
            task: self.task.id.clone(),
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
            person: judged.judgement.person,
            risk: Some(judged.risk),
            flaky,
            signature,
            record: judged.record,
            reflection: judged.reflection,
            reflection_usage: judged.reflection_usage,
            judging_usage: judged.judging_usage,
        };
        self.context.record(entry).await?;
        Ok(services.tasks.mark(&[mark]).await?)
    }

    async fn commit(&mut self, workspace: &dyn Workspace, tree: TreeId) -> Result<(), TaskRunError> {
        let entry = JournalEntry::CommitStarted { task: self.task.id.clone(), tree: tree.clone() };
        self.context.record(entry).await?;
        let request = CommitRequest { tree: tree.clone(), subject: self.task.title.clone(), body: self.commit_body() };
        let place = Place { workspace, part: self.parts.len() - 1, doing: Doing::Refs };
        let committed = match self.mended(place, workspace.commit(request.clone()).await).await? {
            Mended::NotNeeded(committed) => committed,
            Mended::Again(heal) => self.proved(heal, workspace.commit(request).await).await?,
        };
        self.committed = Some(tree);
        self.report.branch = Some(committed.target);
        self.report.files = committed.files;
        self.merges = committed.merges;
        self.carried = committed.carried;
        self.report.solved_at = self.last_judged.as_ref().map(|last| last.attempt);
        if !self.steered.is_empty() && self.context.kind == RunKind::Run {
            self.report.needs = Some(Needs::Person);
        }
        Ok(())
    }

    pub fn commit_body(&self) -> String {
        let last = self.last_judged.as_ref();
        let runs =
            last.and_then(|last| last.proof_runs?.words()).map(|words| format!(" ({words})")).unwrap_or_default();
        let hunks = last.and_then(|last| last.proof_hunks.as_ref()?.words(one_line));
        let hunks = hunks.map(|words| format!("{words}\n")).unwrap_or_default();
        // Where the only ones are still red by what failed before, the proof says what there is to say.
        let checks = last.map(|last| last.passed.join(", ")).filter(|checks| !checks.is_empty());
        let checks = checks.map(|checks| format!("checks: {checks}\n")).unwrap_or_default();
        format!(
            "{}\nattempt: {}\n{checks}proof: {}{runs}\n{hunks}",
            lines_of_work(&self.context.run, &self.task.id).join("\n"),
            last.map_or(0, |last| last.attempt),
            last.and_then(|last| last.proof).map_or("none", Proof::as_str),
        )
    }

    /// What was paid for and not confirmed is kept as a patch.
    async fn keep_unconfirmed(&self, workspace: &dyn Workspace) {
        let Some((part, tree)) = &self.last_change else { return };
        let message = match workspace.save_patch(tree, &self.parts[*part].id).await {
            Ok(path) => format!("the last attempt's change, which is not merged, is kept in {}", path.display()),
            Err(error) => format!("the last attempt's change, which is not merged, could not be kept: {error}"),
        };
        self.publish(EventKind::Warning { message });
    }

    async fn finish(mut self, mut end: End) -> Result<(TaskReport, Status), TaskRunError> {
        let context = Arc::clone(&self.context);
        if end.stop == Some(Stop::Interrupted)
            && let Some(stopped) = context.stopped.get()
        {
            let (stop, cause) = stopped.of_task();
            (end.stop, end.cause) = (Some(stop), Some(cause.to_owned()));
        }
        let services = &context.services;
        self.report.by_hand = self.said_meanwhile().await;
        self.report.verdict = end.verdict;
        self.report.proof = end.proof;
        let last = self.last_judged.as_ref().filter(|_| end.proof.is_some());
        self.report.proof_runs = last.and_then(|last| last.proof_runs);
        self.report.proof_hunks = last.and_then(|last| last.proof_hunks.clone());
        self.report.cause.clone_from(&end.cause);
        self.report.kept.clone_from(&end.kept);
        self.report.stop = end.stop;
        self.report.tokens = self.usage.tokens();
        self.report.usage = self.usage;
        self.report.cost_usd = self.usage.cost_usd;
        self.report.duration_ms = millis(self.worked + services.clock.elapsed().saturating_sub(self.started));
        let entry = JournalEntry::TaskEnded {
            task: self.task.id.clone(),
            verdict: end.verdict,
            proof: end.proof,
            branch: self.report.branch.clone(),
            cause: end.cause.clone(),
            status: Some(end.status),
            report: Some(Box::new(self.report.clone())),
        };
        self.context.record(entry).await?;
        self.curate().await;
        if end.status == Status::Closed {
            let mut confirmed = context.confirmed_by.lock().unwrap_or_else(PoisonError::into_inner);
            confirmed.insert(self.task.id.clone(), context.run.clone());
        }
        let mark = TaskMark {
            v: 1,
            id: self.task.id.clone(),
            status: end.status,
            cause: end.cause.clone(),
            run: Some(context.run.clone()),
            subtask: None,
            attempt: None,
            verdict: None,
            seen: Some(self.task.updated_at),
            at: services.clock.now(),
        };
        // A run that judged nothing found out nothing: the task stands where it stood.
        let nothing_found = end.status == Status::Open && self.report.attempts == 0;
        if !nothing_found {
            services.tasks.mark(&[mark]).await?;
        }
        // A person's word is what the others that wait for it go by, too.
        let status = self.report.by_hand.unwrap_or(end.status);
        Ok((self.report, status))
    }

    /// What a person set the task to since it was taken up: its result is told, and it stays what they said. A file that
    /// cannot be read now says nothing; the marks hold no older word against theirs in any case.
    async fn said_meanwhile(&self) -> Option<Status> {
        let tasks = &self.context.services.tasks;
        if tasks.edits() == self.context.edits {
            return None;
        }
        let list = tasks.load().await.ok()?;
        let now = list.tasks.iter().find(|now| now.id == self.task.id)?;
        (now.updated_at > self.task.updated_at && now.status != Status::Open).then_some(now.status)
    }
}
