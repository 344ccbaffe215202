//! A run: takes ready tasks from the queue, works on several at a time, and sums up.

use super::context::RunContext;
use super::cuts::{CutOff, cut_off};
use super::ended::Ended;
use super::halt::InARow;
use super::limits::Limits;
use super::ports::Services;
use super::queue::{Adopt, Next, Queue};
use super::resume::PastRun;
use super::spent::RunSpent;
use super::sum_up::empty_report;
use super::task_run::{TaskRun, TaskRunError};
use super::track_record::TrackRecord;
use super::waiting::wait_until;
use super::{parts, resume};
use crate::domain::{
    EventKind, FileGlobs, INTEGRATION, JournalEntry, RunId, RunKind, RunPlan, RunReport, RunStop, SETTINGS_FILES,
    Status, Stop, Task, TaskId, TaskList, TaskReport, Timestamp, is_integration,
};
use crate::services::{BeginRun, Branches, Orchestrator, ResumedBase, RunBase, RunError, RunRequest, Start};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, OnceLock};
use tokio::task::JoinSet;

/// So many runs before a new one are asked how often an attempt was cut short.
const EARLIER_RUNS: usize = 10;

/// The loop over [`Services`].
pub struct Loop {
    services: Services,
}

impl Loop {
    /// Puts the loop on its services.
    #[must_use]
    pub fn new(services: Services) -> Self {
        Self { services }
    }
}

#[async_trait]
impl Orchestrator for Loop {
    async fn run(&self, request: RunRequest) -> Result<RunReport, RunError> {
        let started = self.services.clock.elapsed();
        // Before this process says of itself that it lives.
        let seen = self.services.journal.last_alive(&request.run).await;
        let _one_run_at_a_time = self.services.lock.acquire(&request.run).map_err(environment)?;
        let (past, cut_off) = self.past(&request, seen).await?;
        let edits = self.services.tasks.edits();
        let list = self.tasks(past.as_ref(), &request.run).await?;
        self.has_its_tasks(past.as_ref(), &list)?;
        let (list, cut_off) = self.use_up(list, cut_off, &request).await?;
        let (plan, asked) = match &past {
            Some(past) => (planned_anew(past, &request), past.left(&list)),
            None => (plan(&request), list.select(&request.tasks, request.again).map_err(RunError::Usage)?),
        };
        self.told_apart(&asked)?;
        let base = self.services.workspaces.begin(begin(&request.run, past.as_ref())).await.map_err(environment)?;
        let queue = Queue::new(&list.tasks, asked);
        let track_record = TrackRecord::of_agents(&self.services, &list.tasks, &request.run).await;
        let proposals = parts::proposals(&self.services, &request.run).await;
        let past = past.unwrap_or_default();
        let context = Arc::new(RunContext {
            services: self.services.clone(),
            run: request.run.clone(),
            cancel: request.cancel.child_token(),
            drain: request.drain.child_token(),
            stopped: OnceLock::new(),
            halted: OnceLock::new(),
            confirmed_by: Mutex::new(past.confirmed_by(&list, &request.run)),
            edits,
            list: Mutex::new(Arc::new(list)),
            kind: plan.kind,
            again: plan.again,
            agent: plan.agent.clone(),
            max_attempts: plan.max_attempts,
            track_record,
            proposals: Mutex::new(proposals),
            adopt: if plan.everything { Adopt::New } else { Adopt::Nothing },
            tests: FileGlobs::new(&self.services.settings.run().tests)
                .map_err(|error| RunError::Usage(error.to_string()))?,
            left_to_person: Mutex::new(past.left_to_person()),
            baselines: Mutex::default(),
            started,
            spent: RunSpent::starting_with(&past),
            limits: Limits::new(plan.kind),
            heals: Mutex::new(past.heals.clone()),
            newest: Mutex::new(past.newest.clone()),
            merging: tokio::sync::Mutex::default(),
            fallbacks: AtomicU32::new(0),
            expired: AtomicU32::new(0),
            stale: AtomicU32::new(0),
            file_names: OnceLock::new(),
            probabilities: tokio::sync::OnceCell::new(),
        });
        context.announce(&request, &queue, plan, &base, past.seen).await?;
        context.announce_cut_off(&request, cut_off).await?;
        context.look_at_records().await?;
        context.follow_files().await;
        context.services.workspaces.room().await.map_err(environment)?;
        let before = past.worked;
        let worked = context.work_until(&request, queue, past).await;
        let branches = context.put_back().await;
        // A run that could not go on has no end: it goes on when the cause is gone.
        let ended = worked?;
        context.expire_lessons().await;
        let (interrupted, stopped) = (request.cancel.is_cancelled(), context.stopped.get().copied());
        let entry = JournalEntry::RunEnded {
            interrupted,
            stopped,
            ahead: branches.ahead.clone(),
            conflicts: branches.conflicts.clone(),
            lessons: context.lessons_over(),
        };
        context.record(entry).await.map_err(environment)?;
        let duration = before + self.services.clock.elapsed().saturating_sub(started);
        Ok(context.sum_up(ended, duration, interrupted, &branches.ahead))
    }
}

impl Loop {
    /// The tasks. A run that was killed may have written a result to its journal and not to them: that is done now.
    async fn tasks(&self, past: Option<&PastRun>, run: &RunId) -> Result<TaskList, RunError> {
        let list = self.services.tasks.load().await.map_err(environment)?;
        let missing = past.map(|past| past.missing_marks(&list, run)).unwrap_or_default();
        if missing.is_empty() {
            return Ok(list);
        }
        self.services.tasks.mark(&missing).await.map_err(environment)?;
        self.services.tasks.load().await.map_err(environment)
    }

    /// Verdicts name checks: two of one name would be one.
    fn told_apart(&self, asked: &[Task]) -> Result<(), RunError> {
        let project = &self.services.settings.run().checks;
        let wrong = asked.iter().find_map(|task| Some((&task.id, task.checks_told_apart(project).err()?)));
        wrong.map_or(Ok(()), |(id, because)| Err(RunError::Usage(format!("task `{id}`: {because}"))))
    }

    /// Whether a run that goes on finds the tasks that are left of it.
    fn has_its_tasks(&self, past: Option<&PastRun>, list: &TaskList) -> Result<(), RunError> {
        let lost: Vec<String> =
            past.map(|past| past.lost(list)).unwrap_or_default().iter().map(|id| format!("`{id}`")).collect();
        if lost.is_empty() {
            return Ok(());
        }
        let file = self.services.settings.project().tasks.display();
        let how = list.problems.first().map_or_else(
            || "has no tasks, or is not there".to_owned(),
            |problem| format!("cannot be read in line {}", problem.line),
        );
        Err(RunError::Environment(format!(
            "the run was asked for {}, and {file} {how}: bring the file back, and resume then; or begin a new run",
            lost.join(", ")
        )))
    }

    /// What the journal tells of a run that goes on, and the attempts that were cut short too often. Their results are told of
    /// as if they were written down, which they are when the run is announced.
    async fn past(
        &self,
        request: &RunRequest,
        seen: Option<Timestamp>,
    ) -> Result<(Option<PastRun>, Vec<CutOff>), RunError> {
        let boot = self.services.clock.boot();
        if request.start == Start::New {
            return Ok((None, cut_off(self.earlier(&request.run).await.iter().map(Vec::as_slice), boot.as_deref())));
        }
        let mut entries = self.services.journal.read(&request.run).await.map_err(environment)?;
        let cut_off = cut_off([entries.as_slice()], boot.as_deref());
        let now = entries.last().map_or_else(|| self.services.clock.now(), |(at, _)| *at);
        entries.extend(cut_off.iter().map(|cut| (now, cut.clone().judged())));
        let mut past = resume::replay(&entries);
        past.lived_until(seen);
        if past.plan.base.is_none() {
            return Err(RunError::Usage(format!(
                "run {} cannot go on: it never began, or not here, or by an older version, so its journal is not believed; \
                 start a new one",
                request.run
            )));
        }
        Ok((Some(past), cut_off))
    }

    /// The journals of the newest runs before this one, the oldest first. One that cannot be read tells nothing.
    async fn earlier(&self, run: &RunId) -> Vec<Vec<(Timestamp, JournalEntry)>> {
        let runs = self.services.journal.runs().await.unwrap_or_default();
        let mut journals = Vec::new();
        for earlier in runs.iter().filter(|earlier| *earlier != run).take(EARLIER_RUNS) {
            journals.extend(self.services.journal.read(earlier).await);
        }
        // Names of runs tell seconds, in which several may begin.
        journals.sort_by_key(|entries| entries.first().map(|(at, _)| *at));
        journals
    }

    /// Marks the attempts that were cut short too often, and leaves out those that were marked before.
    async fn use_up(
        &self,
        list: TaskList,
        cut_off: Vec<CutOff>,
        request: &RunRequest,
    ) -> Result<(TaskList, Vec<CutOff>), RunError> {
        let now = self.services.clock.now();
        let mark = |cut: CutOff| (cut.mark(&list, &request.run, now), cut);
        let (mut marks, mut used_up) = (Vec::new(), Vec::new());
        for (mark, cut) in cut_off.into_iter().map(mark) {
            // What goes on has its mark by now; its journal has not.
            if mark.is_some() || request.start == Start::Resume {
                used_up.push(cut);
            }
            marks.extend(mark);
        }
        if marks.is_empty() {
            return Ok((list, used_up));
        }
        self.services.tasks.mark(&marks).await.map_err(environment)?;
        Ok((self.services.tasks.load().await.map_err(environment)?, used_up))
    }
}

fn plan(request: &RunRequest) -> RunPlan {
    RunPlan {
        kind: request.kind,
        agent: request.agent.clone(),
        max_attempts: request.max_attempts,
        again: request.again,
        everything: request.tasks.is_empty(),
        until: request.until,
        options: request.options.clone(),
        ..RunPlan::default()
    }
}

/// The plan of a run that goes on: as it was, but for what is given anew.
fn planned_anew(past: &PastRun, request: &RunRequest) -> RunPlan {
    RunPlan {
        agent: request.agent.clone().or_else(|| past.plan.agent.clone()),
        max_attempts: request.max_attempts.or(past.plan.max_attempts),
        until: request.until,
        options: request.options.clone().or(&past.plan.options),
        ..past.plan.clone()
    }
}

fn begin(run: &RunId, past: Option<&PastRun>) -> BeginRun {
    let resumed = past.and_then(|past| {
        let commit = past.plan.base.clone()?;
        let (integration, pending) = (past.integration.clone(), past.pending.clone());
        Some(ResumedBase { commit, integration, pending, home: past.plan.home.clone() })
    });
    BeginRun { run: run.clone(), resumed }
}

fn environment(error: impl std::fmt::Display) -> RunError {
    RunError::Environment(error.to_string())
}

impl RunContext {
    async fn announce(
        &self,
        request: &RunRequest,
        queue: &Queue,
        plan: RunPlan,
        base: &RunBase,
        seen: Option<Timestamp>,
    ) -> Result<(), RunError> {
        let services = &self.services;
        let jobs = services.settings.run().jobs;
        let (run, pid, boot, tasks) = (self.run.clone(), std::process::id(), services.clock.boot(), queue.ids());
        let entry = match request.start {
            Start::New => {
                let plan = RunPlan { jobs, base: Some(base.commit.clone()), home: Some(base.home.clone()), ..plan };
                JournalEntry::RunStarted { run, pid, boot, tasks, plan }
            }
            Start::Resume => {
                let (until, head) = (request.until, base.head.clone());
                let plan = Some(Box::new(RunPlan { jobs, ..plan }));
                JournalEntry::RunResumed { run, pid, boot, tasks, until, seen, plan, head }
            }
        };
        self.record(entry).await.map_err(environment)?;
        for what in &base.cleaned {
            self.publish(None, EventKind::Warning { message: format!("left behind by an earlier run: {what}") });
        }
        for what in &base.missing {
            self.publish(None, EventKind::Warning { message: what.clone() });
        }
        // The settings and the task file are read from the user's checkout, whatever is committed.
        let tasks = services.settings.project().tasks.file_name().map(|n| n.to_string_lossy().into_owned());
        let own = |file: &&String| SETTINGS_FILES.contains(&file.as_str()) || Some(*file) == tasks.as_ref();
        let not_included: Vec<&String> = base.not_included.iter().filter(|file| !own(file)).collect();
        if !not_included.is_empty() {
            let files = not_included.iter().take(10).map(|file| file.as_str()).collect::<Vec<_>>().join(", ");
            let more = not_included.len().saturating_sub(10);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let message =
                format!("agents start from {}; your uncommitted changes are not included: {files}{more}", base.label);
            self.publish(None, EventKind::Warning { message });
        }
        Ok(())
    }

    /// Says which attempts are not done again. A run that goes on writes down their results; another one has none of them.
    /// Notes how far the records reach before anybody works, and says what others changed in them since a run worked here last.
    async fn look_at_records(&self) -> Result<(), RunError> {
        let what = self.services.journal.foreign_changes().await.map_err(environment)?;
        if what.is_empty() {
            return Ok(());
        }
        self.record(JournalEntry::RepositoryChanged { task: None, what }).await.map_err(environment)
    }

    async fn announce_cut_off(&self, request: &RunRequest, cut_off: Vec<CutOff>) -> Result<(), RunError> {
        for cut in cut_off {
            self.publish(None, EventKind::Warning { message: cut.warning() });
            if request.start == Start::Resume {
                self.record(cut.judged()).await.map_err(environment)?;
            }
        }
        Ok(())
    }

    /// Nobody but the runtime decides what the run's branches hold.
    async fn put_back(&self) -> Branches {
        let warn = |message| self.publish(None, EventKind::Warning { message });
        let branches = match self.services.workspaces.finish().await {
            Ok(branches) => branches,
            Err(error) => {
                warn(format!("the run's branches could not be looked at: {error}"));
                return Branches::default();
            }
        };
        let Branches { moved, ahead, .. } = &branches;
        if !moved.is_empty() {
            let what = format!(
                "branches of the run were moved or deleted by somebody, and are put back: {}; what they were moved to is \
                 kept beside them (`git branch --list 'reflexion/*@*'`)",
                moved.join(", ")
            );
            let noticed = JournalEntry::Noticed { task: None, what: vec![what.clone()] };
            if let Err(error) = self.record(noticed).await {
                warn(error.to_string());
            }
            warn(what);
        }
        if !ahead.is_empty() {
            warn(format!(
                "you have branches of the run checked out, which were left where they were; what came since is on {}",
                ahead.join(", ")
            ));
        }
        branches
    }

    /// Works through the queue until it is empty or the time is up.
    async fn work_until(
        self: &Arc<Self>,
        request: &RunRequest,
        queue: Queue,
        past: PastRun,
    ) -> Result<Vec<Ended>, RunError> {
        let Some(until) = request.until else { return self.work(queue, past).await };
        let clock = Arc::clone(&self.services.clock);
        let deadline = async {
            wait_until(&*clock, until).await;
            let _ = self.stop(RunStop::Deadline);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            worked = self.work(queue, past) => worked,
            () = deadline => Ok(Vec::new()),
        }
    }

    /// Works through the queue. Tasks are prepared alone until one could be: if checks cannot even start, the run stops
    /// before an agent is paid; a night tries a few tasks before, see [`InARow`].
    async fn work(self: &Arc<Self>, mut queue: Queue, mut past: PastRun) -> Result<Vec<Ended>, RunError> {
        let jobs = self.services.settings.run().jobs.max(1);
        let mut running: JoinSet<(TaskId, Result<Ended, TaskRunError>)> = JoinSet::new();
        let mut ended = past.take_ended(&queue);
        let mut proven = false;
        // The lowest number that is free, so that a report can draw a line per worker.
        let mut workers: BTreeMap<TaskId, usize> = BTreeMap::new();
        let mut edits = self.services.tasks.edits();
        let mut in_a_row = InARow::default();
        loop {
            if self.kind == RunKind::Overnight && edits != self.services.tasks.edits() {
                edits = self.services.tasks.edits();
                self.reread(&mut queue, &mut ended).await;
            }
            while running.len() < jobs && !queue.is_empty() && !self.cancel.is_cancelled() && !self.drains() {
                match queue.pick() {
                    Next::Start(task) if self.kind == RunKind::Overnight && is_integration(task.id.as_str()) => {
                        queue.ended(&task.id, Status::Open);
                        let because = format!("its branch would be the run's branch `{INTEGRATION}`: rename the task");
                        ended.push(self.block(&task, Stop::Environment, because).await?);
                    }
                    Next::Start(task) if self.list().refused.contains_key(&task.id) => {
                        let because = self.list().refused.get(&task.id).cloned().unwrap_or_default();
                        queue.ended(&task.id, Status::Open);
                        ended.push(self.block(&task, Stop::Environment, because).await?);
                    }
                    Next::Start(task) => {
                        let worker = (0..).find(|n| !workers.values().any(|used| used == n)).unwrap_or_default();
                        workers.insert(task.id.clone(), worker);
                        let begun = past.begun.remove(&task.id);
                        let mut run = TaskRun::new(Arc::clone(self), *task, worker);
                        if let Some(begun) = begun {
                            run = run.go_on(begun);
                        }
                        if !proven {
                            proven = self.prove_environment(&mut run).await;
                            if self.halted.get().is_some() {
                                break;
                            }
                        }
                        running.spawn(Self::work_on(run));
                    }
                    Next::Blocked(task, stop, because) => {
                        replace(&mut ended, self.block(&task, stop, because).await?);
                    }
                    Next::Wait | Next::Empty => break,
                }
            }
            let Some(joined) = running.join_next().await else { break };
            match joined {
                Ok((id, Ok(task))) => {
                    workers.remove(&id);
                    queue.ended(&id, task.status);
                    if let Some(because) = in_a_row.after(&task) {
                        self.halt(&because);
                    }
                    replace(&mut ended, task);
                }
                Ok((_, Err(error))) => self.halt(&error.to_string()),
                Err(error) => self.halt(&format!("a task's worker failed: {error}")),
            }
        }
        if let Some(halted) = self.halted().await {
            return Err(halted);
        }
        // An interrupted run leaves what it never started in the report, so that nothing is silently missing.
        for task in queue.drain() {
            // What was done of one that came back is told already.
            if !ended.iter().any(|earlier| earlier.report.id == task.id && earlier.report.attempts > 0) {
                replace(&mut ended, self.never_started(&task));
            }
        }
        Ok(ended)
    }

    /// Takes over what a person changed in the task file. One that cannot be read as a whole now changes nothing.
    async fn reread(&self, queue: &mut Queue, ended: &mut Vec<Ended>) {
        let because = match self.services.tasks.load().await {
            Ok(list) if list.tasks.is_empty() => "the task file is empty or gone".to_owned(),
            Ok(list) => match list.problems.first() {
                None => return self.take_over(list, queue, ended),
                Some(problem) => format!("line {} of the task file: {}", problem.line, problem.message),
            },
            Err(error) => error.to_string(),
        };
        let message = format!("the tasks as they were are gone on with: {because}");
        self.publish(None, EventKind::Warning { message });
    }

    fn take_over(&self, list: TaskList, queue: &mut Queue, ended: &mut Vec<Ended>) {
        for (task, because) in queue.refresh(&list.tasks, self.adopt) {
            self.publish(Some(&task.id), EventKind::LeftAlone { because: because.clone() });
            let by_hand = list.tasks.iter().find(|now| now.id == task.id).map(|now| now.status);
            let report = TaskReport { cause: Some(because), by_hand, ..empty_report(&task) };
            replace(ended, Ended::new(report, Status::Open));
        }
        self.set_list(list);
    }

    /// Prepares a task alone. True if that worked; false if the task has a trouble of its own, which ends only itself, or
    /// if the run cannot go on.
    async fn prove_environment(&self, run: &mut TaskRun) -> bool {
        match run.prepare().await {
            Ok(()) => true,
            Err(TaskRunError::Environment(_)) if self.cancel.is_cancelled() => false,
            // Nobody is there to start it again: what was out of reach for one task may be there for the next.
            Err(TaskRunError::Environment(_)) if self.kind == RunKind::Overnight => false,
            Err(error @ (TaskRunError::Halt(_) | TaskRunError::Environment(_))) => {
                self.halt(&error.to_string());
                false
            }
            Err(TaskRunError::Blocked(_) | TaskRunError::NoCheck(_)) => false,
        }
    }

    async fn work_on(run: TaskRun) -> (TaskId, Result<Ended, TaskRunError>) {
        // Boxed: a task's whole life is a large future.
        (run.plan.task.id.clone(), Box::pin(run.work()).await)
    }

    /// Leaves a task open that cannot be started; reports tell why from the journal.
    async fn block(&self, task: &Task, stop: Stop, because: String) -> Result<Ended, RunError> {
        let stop = Some(stop);
        let report = TaskReport { cause: Some(because.clone()), stop, ..empty_report(task) };
        let entry = JournalEntry::TaskEnded {
            task: task.id.clone(),
            verdict: None,
            proof: None,
            branch: None,
            cause: Some(because),
            status: Some(Status::Open),
            report: Some(Box::new(report.clone())),
        };
        self.record(entry).await.map_err(environment)?;
        Ok(Ended::new(report, Status::Open))
    }

    fn never_started(&self, task: &Task) -> Ended {
        let interrupted = (Stop::Interrupted, "the run was interrupted");
        let (stop, cause) = self.stopped.get().map_or(interrupted, |stopped| stopped.of_task());
        let (stop, cause) = (Some(stop), Some(format!("{cause} before it was started")));
        Ended::new(TaskReport { cause, stop, ..empty_report(task) }, Status::Open)
    }
}

/// A task that came back has one end, its last.
fn replace(ended: &mut Vec<Ended>, task: Ended) {
    ended.retain(|earlier| earlier.report.id != task.report.id);
    ended.push(task);
}
