//! One task in one run: what it is, how far it has come, and where it is worked on.

use super::context::RunContext;
use super::course::ResumePoint;
use super::machine::Input;
use super::past_failure::PastFailure;
use super::proof::Seen;
use super::resume::{LastJudged, PastTask, Tally};
use super::sum_up::empty_report;
use super::{machine, router};
use crate::domain::{
    Again, AttemptCount, CheckReport, CheckScope, CheckSpec, EventKind, FileGlobs, Needs, SessionId, Spell, Status,
    Subtask, SubtaskId, Task, TaskReport, TreeId, Usage,
};
use crate::prompt::PartOrigin;
use crate::services::{JournalError, TasksError, Workspace, WorkspaceError};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
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

/// A recorded change.
pub(super) struct LastChange {
    /// The part, counted from 0.
    pub part: usize,
    /// The attempt that made it.
    pub attempt: u32,
    /// The files with it.
    pub tree: TreeId,
}

/// One task in one run: what is fixed about it, how far it has come, and where it is worked on.
pub(super) struct TaskRun {
    pub plan: TaskPlan,
    pub progress: Progress,
    pub work: Work,
}

/// What is fixed about a task once its parts are known. Whoever has only this can look at the task and act for it, and changes nothing of how far it
/// has come.
pub(super) struct TaskPlan {
    pub context: Arc<RunContext>,
    pub task: Task,
    pub parts: Vec<Subtask>,
    /// Whose words they are.
    pub origin: PartOrigin,
    pub worker: usize,
    pub started: Duration,
}

/// How far a task has come: what the journal says of it, and its report.
pub(super) struct Progress {
    pub report: TaskReport,
    pub usage: Usage,
    pub last_failure: Option<PastFailure>,
    /// The same of the attempt before the one that was judged last.
    pub failed_before: Option<PastFailure>,
    /// The newest recorded change: kept as a patch unless it ends on a branch.
    pub last_change: Option<LastChange>,
    /// Where the agent of the next attempt may go on.
    pub resume: Option<ResumePoint>,
    /// The attempt that was judged last.
    pub last_judged: Option<LastJudged>,
    /// The tree on the task's branch.
    pub committed: Option<TreeId>,
    /// The files that merging that brings.
    pub merges: Vec<String>,
    /// Those of them that hold what is carried.
    pub carried: Vec<String>,
    /// The commit to start from instead of the run's base, because the work did not merge.
    pub onto: Option<String>,
    /// Sessions of this run whose attempt has no result: it is done again.
    pub open_sessions: Vec<SessionId>,
    /// Sessions of this run on which a lesson may be stored that is not written down.
    pub taught: Vec<SessionId>,
    /// What the machine is fed again with.
    pub past: Vec<Input>,
    pub counts: Option<Vec<AttemptCount>>,
    /// Attempts, by part and number, that failed for want of something that was brought back since: what they say of the work, and their lessons, do
    /// not count.
    pub explained: BTreeSet<(SubtaskId, u32)>,
    /// Attempts of this task that this run has begun.
    pub begun: u32,
    /// How long earlier processes of this run worked on it.
    pub worked: Duration,
}

/// Where a task is worked on, and what was seen there.
#[derive(Default)]
pub(super) struct Work {
    /// The open workspace and the baseline, or why there is none.
    pub prepared: Option<Result<Prepared, TaskRunError>>,
    /// Checks that the last attempt may have failed because of what is around its files.
    pub suspects: Vec<(CheckScope, CheckSpec)>,
    /// What an earlier process judged last, in workspaces that were made anew since: whether something was gone there, its files tell.
    pub made_anew: Option<TreeId>,
    /// What the checks said of which tree, for the proofs of later turns and attempts.
    pub seen: Seen,
    /// What in the home directory steered tools otherwise than when the run began, in words, while the last attempt was made and checked.
    pub steered: BTreeSet<String>,
}

impl TaskRun {
    pub fn new(context: Arc<RunContext>, task: Task, worker: usize) -> Self {
        let started = context.services.clock.elapsed();
        let task = task.split(context.services.settings.run().decompose);
        let (task, origin) = context.with_proposal(task);
        let (parts, progress) = (task.parts(), Progress::new(empty_report(&task)));
        let plan = TaskPlan { context, task, parts, origin, worker, started };
        Self { plan, progress, work: Work::default() }
    }

    /// Goes on where an earlier process of the run left the task.
    pub fn go_on(mut self, past: PastTask) -> Self {
        let same_parts = past.is_of(&self.plan.part_ids());
        let branch = format!("reflexion/{}/{}", self.plan.context.run, self.plan.task.id);
        self.progress.go_on(past, same_parts, branch);
        self
    }
}

impl Progress {
    /// Of a task that was not begun.
    fn new(report: TaskReport) -> Self {
        Self {
            report,
            usage: Usage::default(),
            last_failure: None,
            failed_before: None,
            last_change: None,
            resume: None,
            last_judged: None,
            committed: None,
            merges: Vec::new(),
            carried: Vec::new(),
            onto: None,
            open_sessions: Vec::new(),
            taught: Vec::new(),
            past: Vec::new(),
            counts: None,
            explained: BTreeSet::new(),
            begun: 0,
            worked: Duration::ZERO,
        }
    }

    /// Takes over what an earlier process of the run wrote down. `branch`: where the task's work is, if it was merged.
    fn go_on(&mut self, past: PastTask, same_parts: bool, branch: String) {
        self.worked = past.worked;
        self.begun = past.attempts_begun;
        self.usage = past.tally.usage;
        if past.ended.is_some() {
            // A person has opened it again since: only what it has used up counts on.
            return;
        }
        let Tally { attempts, reflections_written, reflections_injected, endings, judging_usage, .. } = past.tally;
        let report = &mut self.report;
        report.attempts = attempts;
        report.reflections_written = reflections_written;
        report.reflections_injected = reflections_injected;
        report.endings = endings;
        report.judging_usage = judging_usage;
        report.verdict = past.last.as_ref().map(|last| last.verdict);
        report.risk = past.last.as_ref().and_then(|last| last.risk.clone());
        // Parts that were changed by hand meanwhile are other parts: they begin anew.
        if same_parts {
            self.counts = Some(past.counts);
            self.past = past.inputs;
            self.onto = past.onto;
        }
        let merging = past.last.as_ref().filter(|_| past.merging.is_some()).map(|last| last.session.clone());
        self.taught = past.open_sessions.iter().cloned().chain(merging).collect();
        if let Some(commit) = past.merged {
            report.branch = Some(branch);
            report.solved_at = past.last.as_ref().map(|last| last.attempt);
            report.merged = Some(commit);
        }
        if let Some(branch) = past.left_to_person {
            report.branch = Some(branch);
            report.solved_at = past.last.as_ref().map(|last| last.attempt);
            report.needs = Some(Needs::Person);
        }
        (self.last_judged, self.explained) = (past.last, past.explained);
        self.open_sessions = past.open_sessions;
    }
}

impl TaskPlan {
    pub fn publish(&self, kind: EventKind) {
        self.context.publish(Some(&self.task.id), kind);
    }

    pub fn doing(&self, what: impl Into<String>) {
        self.publish(EventKind::Doing { what: what.into() });
    }

    /// Whether it is the task's own workspace that fills the disk, which is empty then: one task must not stop every night.
    pub async fn is_own_doing(&self, workspace: &dyn Workspace) -> bool {
        if self.context.halted.get().is_some() || self.context.room().await.is_ok() {
            return false;
        }
        workspace.mend(Spell::MakeAnew).await.is_ok() && self.context.room().await.is_ok()
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
    pub fn stronger(&self) -> Vec<machine::Agent> {
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

    /// What a person set the task to since it was taken up: its result is told, and it stays what they said. A file that
    /// cannot be read now says nothing; the marks hold no older word against theirs in any case.
    pub async fn said_meanwhile(&self) -> Option<Status> {
        let tasks = &self.context.services.tasks;
        if tasks.edits() == self.context.edits {
            return None;
        }
        let list = tasks.load().await.ok()?;
        let now = list.tasks.iter().find(|now| now.id == self.task.id)?;
        (now.updated_at > self.task.updated_at && now.status != Status::Open).then_some(now.status)
    }
}
