//! One task in one run: performs the machine's effects.

use super::attempt::AgentStop;
use super::attempt::Attempt;
use super::attempt::Judged;
use super::attempt::ResumePoint;
use super::drive::RunContext;
use super::drive::empty_report;
use super::drive::millis;
use super::failure::PastFailure;
use super::machine;
use super::machine::Effect;
use super::machine::End;
use super::machine::Input;
use super::machine::Plan;
use super::machine::State;
use super::router;
use crate::domain::Again;
use crate::domain::AttemptCount;
use crate::domain::CheckReport;
use crate::domain::CheckScope;
use crate::domain::CheckSpec;
use crate::domain::CheckStatus;
use crate::domain::EventKind;
use crate::domain::JournalEntry;
use crate::domain::Origin;
use crate::domain::ReflectionId;
use crate::domain::RunId;
use crate::domain::Status;
use crate::domain::Stop;
use crate::domain::Subtask;
use crate::domain::Task;
use crate::domain::TaskId;
use crate::domain::TaskMark;
use crate::domain::TaskReport;
use crate::domain::TreeId;
use crate::domain::Usage;
use crate::domain::Verdict;
use crate::domain::decompose;
use crate::services::CommitRequest;
use crate::services::JournalError;
use crate::services::OpenWorkspace;
use crate::services::UsageMeter;
use crate::services::VerifyRequest;
use crate::services::Workspace;
use crate::services::WorkspaceError;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A task with an open workspace and a known baseline.
pub(super) struct Prepared {
    pub workspace: Arc<dyn Workspace>,
    pub baseline: Vec<CheckReport>,
}

/// Why a task could not be gone on with.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum TaskRunError {
    /// The journal cannot be written: nothing may be done whose intent is not on disk.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Something around the task is not as it must be; others may go on.
    #[error("{0}")]
    SetAside(String),
    /// Setup or a check cannot even start: what is wrong with this task is likely wrong with every other.
    #[error("{0}")]
    Environment(String),
}

impl From<WorkspaceError> for TaskRunError {
    fn from(error: WorkspaceError) -> Self {
        match error {
            error @ WorkspaceError::Setup { .. } => Self::Environment(error.to_string()),
            error => Self::SetAside(error.to_string()),
        }
    }
}

/// One task in one run.
pub(super) struct TaskRun {
    pub context: Arc<RunContext>,
    pub task: Task,
    pub parts: Vec<Subtask>,
    pub report: TaskReport,
    pub usage: Usage,
    pub last_failure: Option<PastFailure>,
    /// The newest recorded change and its part: kept as a patch unless it ends on a branch.
    pub last_change: Option<(usize, TreeId)>,
    /// Where the agent of the next attempt may go on.
    pub resume: Option<ResumePoint>,
    /// The open workspace and the baseline, or why there is none.
    prepared: Option<Result<Prepared, TaskRunError>>,
    worker: usize,
    started: Duration,
}

impl TaskRun {
    pub fn new(context: Arc<RunContext>, task: Task, worker: usize) -> Self {
        let started = context.services.clock.elapsed();
        let task = task.split(context.services.settings.run().decompose);
        let (parts, report) = (task.parts(), empty_report(&task));
        Self {
            context,
            task,
            parts,
            report,
            usage: Usage::default(),
            last_failure: None,
            last_change: None,
            resume: None,
            prepared: None,
            worker,
            started,
        }
    }

    pub fn publish(&self, kind: EventKind) {
        self.context.services.publish(Some(&self.task.id), kind);
    }

    fn doing(&self, what: impl Into<String>) {
        self.publish(EventKind::Doing { what: what.into() });
    }

    /// Works until the machine says that the task is over.
    ///
    /// # Errors
    /// Only a journal that cannot be written ends the whole run.
    pub async fn work(mut self) -> Result<(TaskReport, Status), JournalError> {
        let end = match self.run_machine().await {
            Ok(end) => end,
            Err(TaskRunError::Journal(error)) => return Err(error),
            Err(TaskRunError::SetAside(because) | TaskRunError::Environment(because)) => {
                let interrupted = self.context.cancel.is_cancelled();
                let stop = Some(if interrupted { Stop::Interrupted } else { Stop::Environment });
                // What was judged last may be refuted; it is not confirmed before it is committed.
                let verdict = self.report.verdict.filter(|v| *v != Verdict::Confirmed);
                End { verdict, proof: None, status: Status::Open, cause: Some(because), stop }
            }
        };
        self.finish(end).await
    }

    async fn run_machine(&mut self) -> Result<End, TaskRunError> {
        if self.prepared.is_none() {
            // The error is taken out of `prepared` below.
            let _ = self.prepare().await;
        }
        let prepared = match self.prepared.take() {
            Some(Ok(prepared)) => prepared,
            Some(Err(error)) => return Err(error),
            None => return Err(TaskRunError::SetAside("the task was not prepared".to_owned())),
        };
        let workspace = Arc::clone(&prepared.workspace);
        let result = self.play(prepared).await;
        if self.report.branch.is_none() {
            self.keep_unconfirmed(&*workspace).await;
        }
        if let Err(error) = workspace.close().await {
            self.publish(EventKind::Warning { message: format!("the workspace was not removed: {error}") });
        }
        result
    }

    /// Opens the workspace, runs `setup`, and runs every check once at the base.
    ///
    /// # Errors
    /// What stands in the way; [`TaskRun::work`] then ends the task with it.
    pub async fn prepare(&mut self) -> Result<(), TaskRunError> {
        let max_attempts = self.max_attempts();
        self.publish(EventKind::TaskStarted { title: self.task.title.clone(), max_attempts });
        self.doing("preparing");
        let prepared = self.open().await;
        let result = prepared.as_ref().map(|_| ()).map_err(Clone::clone);
        self.prepared = Some(prepared);
        result
    }

    async fn open(&self) -> Result<Prepared, TaskRunError> {
        let context = &self.context;
        let (task, title) = (self.task.id.clone(), self.task.title.clone());
        context.services.journal.record(JournalEntry::TaskStarted { task, title, worker: self.worker }).await?;
        self.agents()?;
        decompose(&self.task, context.services.settings.run().decompose)
            .map_err(|e| TaskRunError::SetAside(e.to_string()))?;
        let request =
            OpenWorkspace { run: context.run.clone(), task: self.task.id.clone(), on_top_of: self.blockers() };
        let workspace = context.services.workspaces.open(request).await?;
        let baseline = async {
            workspace.reset(&workspace.base(), &context.cancel).await?;
            self.doing("checks at base");
            self.baseline(&*workspace).await
        };
        match baseline.await {
            Ok(baseline) => Ok(Prepared { workspace, baseline }),
            Err(error) => {
                // The first error is what the user must see; a workspace that stays is removed by the next run.
                let _ = workspace.close().await;
                Err(error)
            }
        }
    }

    fn blockers(&self) -> Vec<(RunId, TaskId)> {
        let confirmed = self.context.confirmed_by.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.task.blockers().chain(self.context.list.children(&self.task.id));
        all.filter_map(|id| Some((confirmed.get(id)?.clone(), id.clone()))).collect()
    }

    /// Every check of every part once at the base; project checks are shared by all tasks with the same base.
    async fn baseline(&self, workspace: &dyn Workspace) -> Result<Vec<CheckReport>, TaskRunError> {
        let base = workspace.base();
        let mut reports = Vec::new();
        workspace.guard().await?;
        for (scope, spec) in self.all_checks() {
            let key = (base.clone(), spec.clone());
            let cached = match scope {
                CheckScope::Project => self.baselines().get(&key).cloned(),
                CheckScope::Task => None,
            };
            let report = match cached {
                Some(report) => report,
                None => self.verify(workspace, vec![(scope, spec)]).await.remove(0),
            };
            if scope == CheckScope::Project {
                self.baselines().insert(key, report.clone());
            }
            if self.context.cancel.is_cancelled() {
                return Err(TaskRunError::SetAside("the run was interrupted".to_owned()));
            }
            if let CheckStatus::NotRun { because } = &report.status {
                return Err(TaskRunError::Environment(format!("check `{}` cannot start: {because}", report.spec.name)));
            }
            reports.push(report);
        }
        let tampered = workspace.restore_guarded().await?;
        if !tampered.is_empty() {
            self.publish(EventKind::Tampered { what: tampered });
        }
        Ok(reports)
    }

    fn baselines(&self) -> std::sync::MutexGuard<'_, std::collections::HashMap<(TreeId, CheckSpec), CheckReport>> {
        self.context.baselines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn verify(&self, workspace: &dyn Workspace, checks: Vec<(CheckScope, CheckSpec)>) -> Vec<CheckReport> {
        if checks.is_empty() {
            return Vec::new();
        }
        let cancel = self.context.cancel.clone();
        let request = VerifyRequest { checks, dir: workspace.dir(), env: workspace.env(), cancel };
        self.context.services.verifier.verify(request).await
    }

    fn all_checks(&self) -> Vec<(CheckScope, CheckSpec)> {
        let own = self.parts.iter().flat_map(|p| &p.checks).chain(&self.task.checks);
        let project = self.context.services.settings.run().checks.iter();
        project.map(|c| (CheckScope::Project, c.clone())).chain(own.map(|c| (CheckScope::Task, c.clone()))).collect()
    }

    /// The checks that decide about a part: its own; after the last one also the project's and the task's.
    pub fn checks_of(&self, part: usize) -> Vec<(CheckScope, CheckSpec)> {
        let own = self.parts[part].checks.iter().map(|c| (CheckScope::Task, c.clone()));
        if part + 1 < self.parts.len() {
            return own.collect();
        }
        let project = self.context.services.settings.run().checks.iter().map(|c| (CheckScope::Project, c.clone()));
        project.chain(own).chain(self.task.checks.iter().map(|c| (CheckScope::Task, c.clone()))).collect()
    }

    fn max_attempts(&self) -> u32 {
        let asked = self.context.max_attempts.or(self.task.max_attempts);
        asked.unwrap_or(self.context.services.settings.run().max_attempts).max(1)
    }

    /// The fallback chain, with what each agent's retries start from.
    fn agents(&self) -> Result<Vec<machine::Agent>, TaskRunError> {
        let agents = self.context.services.settings.agents();
        let chain = router::chain(agents, &self.task, self.context.agent.as_deref());
        let agent = |name: String| {
            let agent =
                self.context.services.subagents.get(&name).map_err(|e| TaskRunError::SetAside(e.to_string()))?;
            Ok(machine::Agent { name, retry_from: agent.retry_from() })
        };
        chain.into_iter().map(agent).collect()
    }

    fn plan(&self, base: TreeId) -> Result<Plan, TaskRunError> {
        let settings = &self.context.services.settings;
        let counts = self.parts.iter().map(|part| {
            let count =
                self.context.list.attempts.get(&(self.task.id.clone(), part.id.clone())).copied().unwrap_or_default();
            match self.context.again {
                Again::No => count,
                Again::Yes => AttemptCount { since_opened: 0, ..count },
            }
        });
        Ok(Plan {
            base,
            counts: counts.collect(),
            max_attempts: self.max_attempts(),
            agents: self.agents()?,
            retry_start: settings.run().retry_start,
            limit_wait: settings.run().limit_wait,
        })
    }

    /// Feeds the machine until it ends.
    async fn play(&mut self, prepared: Prepared) -> Result<End, TaskRunError> {
        let mut state = State::new(self.plan(prepared.workspace.base())?);
        let mut input = Input::Ready;
        let mut last: Option<Judged> = None;
        loop {
            let (next, effects) = machine::step(state, input);
            state = next;
            input = Input::Interrupted;
            for effect in effects {
                match effect {
                    Effect::Attempt { part, number, agent, from } => {
                        self.close_attempt(last.take()).await?;
                        let attempt = Attempt { part, number, agent, from };
                        input = self.attempt(&prepared, attempt, &mut last).await?;
                    }
                    Effect::Reflect => self.reflect(last.as_mut()).await,
                    Effect::Wait { duration, because } => input = self.wait(duration, because).await?,
                    Effect::Commit { tree } => {
                        let body = last.as_ref().map(|judged| self.commit_body(judged)).unwrap_or_default();
                        let solved_at = last.as_ref().map(|judged| judged.attempt.number);
                        self.close_attempt(last.take()).await?;
                        self.commit(&*prepared.workspace, tree, body).await?;
                        self.report.solved_at = solved_at;
                    }
                    Effect::End(end) => {
                        self.close_attempt(last.take()).await?;
                        return Ok(end);
                    }
                }
            }
        }
    }

    async fn attempt(
        &mut self,
        prepared: &Prepared,
        attempt: Attempt,
        last: &mut Option<Judged>,
    ) -> Result<Input, TaskRunError> {
        match self.run_attempt(prepared, attempt).await? {
            AgentStop::NotStarted { because } => Ok(Input::NotStarted { because }),
            AgentStop::Stopped { ending, detail } => {
                Ok(Input::Stopped { ending, detail, at: self.context.services.clock.now() })
            }
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
            at: services.clock.now(),
        };
        let signature = judged.failing().map(|c| c.signature.fingerprint.clone());
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
            risk: Some(judged.risk),
            signature,
            reflection: judged.reflection,
            reflection_usage: judged.reflection_usage,
            judging_usage: judged.judging_usage,
        };
        services.journal.record(entry).await?;
        services.tasks.mark(&[mark]).await.map_err(|e| TaskRunError::SetAside(e.to_string()))
    }

    /// A reflection that cannot be made or stored is reported and costs the lesson, never the task.
    async fn reflect(&mut self, judged: Option<&mut Judged>) {
        let (Some(judged), true) = (judged, self.context.services.settings.reflexion().enabled) else {
            return;
        };
        self.doing("reflecting");
        let cancel = self.context.cancel.clone();
        let spent = UsageMeter::default();
        let stored = tokio::select! {
            stored = self.store_reflection(judged, &spent) => stored.map_err(|error| error.to_string()),
            // Dropping the generator ends its processes; a person who interrupts does not wait for it.
            () = cancel.cancelled() => Err("the run was interrupted".to_owned()),
        };
        judged.reflection_usage = spent.total();
        self.usage += spent.total();
        match stored {
            Ok(id) => judged.reflection = Some(id),
            Err(because) => {
                self.publish(EventKind::Warning { message: format!("no reflection was stored: {because}") });
            }
        }
    }

    async fn store_reflection(
        &mut self,
        judged: &Judged,
        spent: &UsageMeter,
    ) -> Result<ReflectionId, crate::services::ReflectionError> {
        let context = Arc::clone(&self.context);
        let failure = self.failure_context(judged).await;
        let reflection = context.services.reflections.generate_counted(&failure, spent).await?;
        context.services.reflections.save(&reflection).await?;
        self.report.reflections_written += 1;
        let origin = reflection.origin.unwrap_or(Origin::Person);
        let generator = &context.services.settings.reflexion().generator;
        if matches!(origin, Origin::Heuristic { .. }) && *generator != crate::domain::policy::Generator::Heuristic {
            context.fallbacks.fetch_add(1, Ordering::Relaxed);
        }
        self.publish(EventKind::Reflected { attempt: judged.attempt.number, origin, analysis: reflection.analysis });
        Ok(reflection.id)
    }

    async fn wait(&self, duration: Duration, because: String) -> Result<Input, TaskRunError> {
        let services = &self.context.services;
        let (task, until) = (self.task.id.clone(), services.clock.now() + duration);
        let entry = JournalEntry::WaitStarted { task: task.clone(), until, because: because.clone() };
        services.journal.record(entry).await?;
        self.publish(EventKind::Waiting { until, because });
        let input = tokio::select! {
            () = services.clock.sleep(duration) => Input::Waited,
            () = self.context.cancel.cancelled() => Input::Interrupted,
        };
        services.journal.record(JournalEntry::WaitEnded { task }).await?;
        Ok(input)
    }

    async fn commit(&mut self, workspace: &dyn Workspace, tree: TreeId, body: String) -> Result<(), TaskRunError> {
        let entry = JournalEntry::CommitStarted { task: self.task.id.clone(), tree: tree.clone() };
        self.context.services.journal.record(entry).await?;
        let request = CommitRequest { tree, subject: self.task.title.clone(), body };
        let committed = workspace.commit(request).await?;
        self.report.branch = Some(committed.target);
        self.report.files = committed.files;
        Ok(())
    }

    fn commit_body(&self, judged: &Judged) -> String {
        let passed = judged.checks.iter().filter(|c| c.passed()).map(|c| c.spec.name.as_str());
        format!(
            "run: {}\ntask: {}\nattempt: {}\nchecks: {}\nproof: {}\n",
            self.context.run,
            self.task.id,
            judged.attempt.number,
            passed.collect::<Vec<_>>().join(", "),
            judged.judgement.proof.map_or("none", crate::domain::Proof::as_str),
        )
    }

    /// What was paid for and not confirmed is kept as a patch.
    async fn keep_unconfirmed(&self, workspace: &dyn Workspace) {
        let Some((part, tree)) = &self.last_change else { return };
        let message = match workspace.save_patch(tree, &self.parts[*part].id).await {
            Ok(path) => format!("the last attempt's unconfirmed change is kept in {}", path.display()),
            Err(error) => format!("the last attempt's unconfirmed change could not be kept: {error}"),
        };
        self.publish(EventKind::Warning { message });
    }

    async fn finish(mut self, end: End) -> Result<(TaskReport, Status), JournalError> {
        let context = Arc::clone(&self.context);
        let services = &context.services;
        self.report.verdict = end.verdict;
        self.report.proof = end.proof;
        self.report.cause.clone_from(&end.cause);
        self.report.stop = end.stop;
        self.report.tokens = self.usage.tokens();
        self.report.usage = self.usage;
        self.report.cost_usd = self.usage.cost_usd;
        self.report.duration_ms = millis(services.clock.elapsed().saturating_sub(self.started));
        let entry = JournalEntry::TaskEnded {
            task: self.task.id.clone(),
            verdict: end.verdict,
            proof: end.proof,
            branch: self.report.branch.clone(),
            cause: end.cause.clone(),
            status: Some(end.status),
            report: Some(Box::new(self.report.clone())),
        };
        services.journal.record(entry).await?;
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
            at: services.clock.now(),
        };
        // A run that judged nothing found out nothing: the task stands where it stood.
        let nothing_found = end.status == Status::Open && self.report.attempts == 0;
        let marked = if nothing_found { Ok(()) } else { services.tasks.mark(&[mark]).await };
        if let Err(error) = marked {
            self.publish(EventKind::Warning { message: format!("the task's status could not be written: {error}") });
        }
        let note = self.report.branch.clone().or(end.cause);
        self.publish(EventKind::TaskEnded {
            verdict: end.verdict,
            attempts: self.report.attempts,
            note,
            stop: end.stop,
        });
        Ok((self.report, end.status))
    }
}
