//! Journal entries: what a run writes down before and after each effect, so that a killed run can be understood.

use super::{
    Again, AttemptCount, Ending, Exposure, FailureType, Fit, Flaky, HealOutcome, Proof, ProofHunks, ProofRuns,
    Proposal, RedCheck, ReflectionId, Risk, RunId, SessionId, Spell, Standing, Status, Stop, SubtaskId, Symptom,
    TaskId, TaskReport, TestsTurned, Timestamp, TreeId, Usage, Verdict,
};
use serde::{Deserialize, Serialize};

/// One line of `.reflection/runs/<run>/journal.jsonl`, in an envelope with version and time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase", tag = "type")]
#[expect(clippy::large_enum_variant, reason = "one is made at a time, and written at once")]
pub enum JournalEntry {
    /// The run begins.
    RunStarted {
        /// The run.
        run: RunId,
        /// The runtime's process id.
        pid: u32,
        /// The start of the machine that it runs in, where that has a name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        boot: Option<String>,
        /// The tasks asked for, in the order of work.
        tasks: Vec<TaskId>,
        /// How it was asked for; enough to go on with it in the same way.
        #[serde(default)]
        plan: RunPlan,
    },
    /// The run goes on in another process, after it was killed or stopped.
    RunResumed {
        /// The run.
        run: RunId,
        /// That process's id.
        pid: u32,
        /// The start of the machine that it runs in, where that has a name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        boot: Option<String>,
        /// The tasks that are left.
        tasks: Vec<TaskId>,
        /// The new deadline.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        /// When the process before it was last known to live; none where that is not known, or it ended by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<Timestamp>,
        /// How it is asked for from now on; none where an older version went on with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<Box<RunPlan>>,
        /// The commit that the user's `HEAD` was at, where the run goes on from another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<String>,
    },
    /// Intent: a workspace is about to be made for a task, set up, and its checks run at the base.
    TaskStarted {
        /// The task.
        task: TaskId,
        /// Its title.
        #[serde(default)]
        title: String,
        /// Which of the run's workers has it, from 0.
        #[serde(default)]
        worker: usize,
        /// How many attempts each of its parts had before this run.
        #[serde(default)]
        counts: Vec<AttemptCount>,
        /// Its parts, in the same order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<SubtaskId>,
        /// Why its agents are those that they are, where that is not plain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        routed: Option<String>,
        /// How many attempts it may use in this run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_attempts: Option<u32>,
    },
    /// Result: somebody was asked in which parts the task is worked on; from now on it is worked on in these.
    TaskDecomposed {
        /// The task.
        task: TaskId,
        /// What was proposed.
        proposal: Proposal,
        /// How many attempts each of the parts had before this run.
        counts: Vec<AttemptCount>,
        /// What asking used.
        #[serde(default, skip_serializing_if = "Usage::is_unknown")]
        usage: Usage,
        /// Why there is no proposal, if there is none: the task is worked on as a whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
    /// Intent: an agent is about to work.
    AttemptStarted {
        /// The task.
        task: TaskId,
        /// The subtask.
        subtask: SubtaskId,
        /// From 1, over all runs.
        attempt: u32,
        /// This agent run.
        session: SessionId,
        /// The agent.
        agent: String,
        /// The recorded tree it starts from.
        start: TreeId,
        /// The reflections in its prompt.
        injected: Vec<ReflectionId>,
        /// Why those of other tasks are among them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        others: Vec<Fit>,
        /// What coins decided about its lessons; none where there was nothing to decide.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exposure: Option<Exposure>,
        /// The agent's own conversation that is gone on with after a limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resumes: Option<String>,
    },
    /// Result: something of the user's repository was changed that is not put back; a person must look at it.
    RepositoryChanged {
        /// The task that was worked on; none where it is of a run before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// What, in words.
        what: Vec<String>,
    },
    /// Result: somebody tried what is none of the work (refs, tags, pushes, protected files, what steers tools), or did it while somebody
    /// worked. Reports tell it; what is held against an attempt stands in its judgement, and what a person must look at in
    /// [`JournalEntry::RepositoryChanged`] too.
    Noticed {
        /// The task that was worked on; none where nobody knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// What, in words.
        what: Vec<String>,
    },
    /// Result: the agent stopped; its change is recorded, and is looked at now.
    AgentStopped {
        /// The task.
        task: TaskId,
        /// The attempt's session.
        session: SessionId,
        /// Why it stopped.
        ending: Ending,
        /// What this turn used. The turn's own entry has it too: this one counts where that is never written.
        #[serde(default, skip_serializing_if = "Usage::is_unknown")]
        usage: Usage,
        /// Files that differ from the base.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        files: Option<usize>,
        /// What went wrong with the agent, in words, if something did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// Intent: the agent is about to be told something in the same conversation and workspace. An attempt's first turn
    /// begins with [`JournalEntry::AttemptStarted`].
    TurnStarted {
        /// The task.
        task: TaskId,
        /// The attempt's session.
        session: SessionId,
        /// From 2.
        turn: u32,
        /// Why there is another turn.
        reason: TurnReason,
        /// What was wrong with the turn before, in words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        because: String,
    },
    /// Result: a turn was judged. The last one's verdict is the attempt's.
    TurnJudged {
        /// The task.
        task: TaskId,
        /// The attempt's session.
        session: SessionId,
        /// From 1.
        turn: u32,
        /// Why the agent stopped.
        ending: Ending,
        /// What this turn used.
        #[serde(default, skip_serializing_if = "Usage::is_unknown")]
        usage: Usage,
        /// The files as the agent left them.
        tree: TreeId,
        /// What the evidence says.
        verdict: Verdict,
        /// What the gates leave standing.
        status: Standing,
        /// The gates that failed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        failed: Vec<String>,
        /// The runs that its proof rests on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof_runs: Option<ProofRuns>,
    },
    /// Result: a turn was stopped so that something could be said to the agent; it is not judged.
    TurnNudged {
        /// The task.
        task: TaskId,
        /// The attempt's session.
        session: SessionId,
        /// From 1.
        turn: u32,
        /// What this turn used.
        #[serde(default, skip_serializing_if = "Usage::is_unknown")]
        usage: Usage,
        /// The files as the agent left them.
        tree: TreeId,
        /// Why, in words.
        because: String,
        /// Files that differ from the base.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        files: Option<usize>,
    },
    /// Result: the agent stopped and the attempt was not judged (limits, missing logins, interruption).
    AttemptDropped {
        /// The task.
        task: TaskId,
        /// This agent run.
        session: SessionId,
        /// Why it stopped; none if it could not be started.
        ending: Option<Ending>,
        /// What it used all the same.
        #[serde(default, skip_serializing_if = "Usage::is_unknown")]
        usage: Usage,
        /// What whoever was asked about it used: the judge, the committee, self-assessment, nudges.
        #[serde(default, skip_serializing_if = "Usage::is_unknown")]
        judging_usage: Usage,
        /// Files that differ from the base; none where it could not be started, or [`JournalEntry::AgentStopped`] says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        files: Option<usize>,
        /// What went wrong with the agent, in words, if something did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// Result: the attempt was judged, and its reflection (if any) is stored.
    AttemptJudged {
        /// The task.
        task: TaskId,
        /// The subtask.
        subtask: SubtaskId,
        /// The attempt.
        attempt: u32,
        /// This agent run.
        session: SessionId,
        /// Why the agent stopped.
        ending: Ending,
        /// What the agent used, over all its turns.
        #[serde(default, skip_serializing_if = "Usage::is_unknown")]
        usage: Usage,
        /// The files as the agent left them.
        tree: TreeId,
        /// What the evidence says.
        verdict: Verdict,
        /// Why, in words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        because: String,
        /// What a confirmation rests on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<Proof>,
        /// The runs that the proof rests on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof_runs: Option<ProofRuns>,
        /// Which lines of the change the checks notice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof_hunks: Option<ProofHunks>,
        /// What became of the tests that failed at the base, as far as their runners name them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tests: Option<TestsTurned>,
        /// What kind of failure it is, if it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<FailureType>,
        /// The red check that it shows, where no test is named in what that printed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        red: Option<RedCheck>,
        /// What the agent said last, in one line: of a longer text its end. Only where it is not confirmed, or nothing was changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
        /// What a person must do before anything can go on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        person: Vec<String>,
        /// How risky its change is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        risk: Option<Risk>,
        /// Checks that failed, and of which that says nothing about the work.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        flaky: Vec<Flaky>,
        /// What the failure looks like, if it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// The digest of the record of the turn that decided; one that is there and has another is not believed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        record: Option<String>,
        /// The stored reflection.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reflection: Option<ReflectionId>,
        /// What writing a reflection used, also where none came of it.
        #[serde(default, skip_serializing_if = "Usage::is_unknown")]
        reflection_usage: Usage,
        /// What whoever was asked about the attempt used, over all its turns: the judge, the committee, self-assessment,
        /// nudges. Answers that could not be read count too.
        #[serde(default, skip_serializing_if = "Usage::is_unknown")]
        judging_usage: Usage,
    },
    /// Intent: confirmed work is about to be committed.
    CommitStarted {
        /// The task.
        task: TaskId,
        /// The tree to commit.
        tree: TreeId,
    },
    /// Intent: nothing is done for a task until a time, because a service asks for it.
    WaitStarted {
        /// The task.
        task: TaskId,
        /// Until when.
        until: Timestamp,
        /// Why, in words.
        because: String,
    },
    /// Result: the wait is over.
    WaitEnded {
        /// The task.
        task: TaskId,
    },
    /// Intent: confirmed work that is on the task's branch is about to be put on top of the integration branch, checked
    /// there, and merged.
    MergeStarted {
        /// The task.
        task: TaskId,
        /// The confirmed attempt.
        attempt: u32,
        /// The integration branch's commit that it is put on.
        onto: String,
    },
    /// Intent: the integration branch is about to be moved to this commit.
    MergeReady {
        /// The task.
        task: TaskId,
        /// The commit.
        commit: String,
    },
    /// Result: the work is merged, or is not.
    MergeEnded {
        /// The task.
        task: TaskId,
        /// The confirmed attempt.
        attempt: u32,
        /// What came of it.
        outcome: MergeOutcome,
        /// The stored reflection, where it is not merged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reflection: Option<ReflectionId>,
    },
    /// Intent: a broken workspace is about to be repaired. One without a result is done again, and does not count.
    HealStarted {
        /// The task.
        task: TaskId,
        /// The subtask that it stands in the way of.
        subtask: SubtaskId,
        /// What is wrong.
        symptom: Symptom,
        /// What is done about it.
        spell: Spell,
        /// What failed, in words.
        because: String,
    },
    /// Result: what had failed was done once more.
    HealEnded {
        /// The task.
        task: TaskId,
        /// The subtask.
        subtask: SubtaskId,
        /// What was wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        symptom: Option<Symptom>,
        /// What was done.
        spell: Spell,
        /// What came of it.
        outcome: HealOutcome,
        /// The number of the attempt that failed for want of what was brought back: nothing that it says of its work counts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        explains: Option<u32>,
    },
    /// Result: the task is over.
    TaskEnded {
        /// The task.
        task: TaskId,
        /// Verdict of the last judged attempt.
        verdict: Option<Verdict>,
        /// What a confirmation rests on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<Proof>,
        /// The branch or patch file that holds the confirmed work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        /// Why it is not confirmed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
        /// Where the task stands from now on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<Status>,
        /// What the run reports of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<Box<TaskReport>>,
    },
    /// The run cannot go on: what is wrong is wrong for every task. It goes on when that is mended.
    RunHalted {
        /// What is wrong, in words.
        because: String,
    },
    /// The run is over.
    RunEnded {
        /// It was interrupted.
        interrupted: bool,
        /// What else ended it before its tasks were done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stopped: Option<RunStop>,
        /// Branches that hold what is not on those that the user had checked out then.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ahead: Vec<String>,
        /// Branches of tasks that do not merge into what the run has merged.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        conflicts: Vec<BranchConflict>,
        /// How many lessons are in no prompt any more since then.
        #[serde(default, skip_serializing_if = "LessonsOver::are_none")]
        lessons: LessonsOver,
    },
}

/// How many lessons are in no prompt any more since a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LessonsOver {
    /// Because of their age.
    pub expired: u32,
    /// Because none of the files that they are about is there.
    pub stale: u32,
}

impl LessonsOver {
    /// Whether there is none.
    #[must_use]
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

/// A branch that does not merge into the run's integration branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchConflict {
    /// Its name.
    pub branch: String,
    /// The files, from the top of the repository.
    pub files: Vec<String>,
}

impl JournalEntry {
    /// The task it is about; none for the run as a whole.
    #[must_use]
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::RunStarted { .. } | Self::RunResumed { .. } | Self::RunHalted { .. } | Self::RunEnded { .. } => None,
            Self::RepositoryChanged { task, .. } | Self::Noticed { task, .. } => task.as_ref(),
            Self::TaskStarted { task, .. }
            | Self::TaskDecomposed { task, .. }
            | Self::AttemptStarted { task, .. }
            | Self::AgentStopped { task, .. }
            | Self::TurnStarted { task, .. }
            | Self::TurnJudged { task, .. }
            | Self::TurnNudged { task, .. }
            | Self::AttemptDropped { task, .. }
            | Self::AttemptJudged { task, .. }
            | Self::CommitStarted { task, .. }
            | Self::WaitStarted { task, .. }
            | Self::WaitEnded { task }
            | Self::MergeStarted { task, .. }
            | Self::MergeReady { task, .. }
            | Self::MergeEnded { task, .. }
            | Self::HealStarted { task, .. }
            | Self::HealEnded { task, .. }
            | Self::TaskEnded { task, .. } => Some(task),
        }
    }

    /// The attempt that it is about, as far as it names one itself.
    #[must_use]
    pub fn attempt(&self) -> NamedAttempt<'_> {
        let nothing = NamedAttempt::default();
        match self {
            Self::AttemptStarted { subtask, attempt, session, .. }
            | Self::AttemptJudged { subtask, attempt, session, .. } => {
                NamedAttempt { subtask: Some(subtask), number: Some(*attempt), session: Some(session) }
            }
            Self::AgentStopped { session, .. }
            | Self::TurnStarted { session, .. }
            | Self::TurnJudged { session, .. }
            | Self::TurnNudged { session, .. }
            | Self::AttemptDropped { session, .. } => NamedAttempt { session: Some(session), ..nothing },
            Self::MergeStarted { attempt, .. } | Self::MergeEnded { attempt, .. } => {
                NamedAttempt { number: Some(*attempt), ..nothing }
            }
            Self::HealStarted { subtask, .. } | Self::HealEnded { subtask, .. } => {
                NamedAttempt { subtask: Some(subtask), ..nothing }
            }
            Self::RunStarted { .. }
            | Self::RunResumed { .. }
            | Self::RunHalted { .. }
            | Self::RunEnded { .. }
            | Self::RepositoryChanged { .. }
            | Self::Noticed { .. }
            | Self::TaskStarted { .. }
            | Self::TaskDecomposed { .. }
            | Self::CommitStarted { .. }
            | Self::WaitStarted { .. }
            | Self::WaitEnded { .. }
            | Self::MergeReady { .. }
            | Self::TaskEnded { .. } => nothing,
        }
    }
}

/// What an entry says itself of the attempt that it is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NamedAttempt<'e> {
    /// The part of the task.
    pub subtask: Option<&'e SubtaskId>,
    /// Its number, from 1, over all runs.
    pub number: Option<u32>,
    /// Its agent run.
    pub session: Option<&'e SessionId>,
}

/// How a run was asked for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunPlan {
    /// `run` or `overnight`.
    pub kind: RunKind,
    /// Tasks worked on at the same time.
    pub jobs: usize,
    /// The commit (or snapshot) that tasks start from.
    pub base: Option<String>,
    /// The agent for every task, if one was named.
    pub agent: Option<String>,
    /// Attempts per task, if that was said.
    pub max_attempts: Option<u32>,
    /// Whether closed and blocked tasks are done again.
    pub again: Again,
    /// Whether everything open was asked for, and not certain tasks.
    pub everything: bool,
    /// When it stops at the latest.
    pub until: Option<Timestamp>,
    /// The files of the home directory that steer tools, as they were when it began: a digest and a name each. None in a journal of an older
    /// version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<Vec<String>>,
    /// What stood on its command line in the place of settings.
    #[serde(skip_serializing_if = "RunOptions::is_empty")]
    pub options: RunOptions,
}

/// What stands on a run's command line in the place of settings; a run that goes on keeps it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunOptions {
    /// Tasks worked on at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<usize>,
    /// The run's budget in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    /// The run's budget in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Reflections are neither written nor put into prompts.
    #[serde(skip_serializing_if = "is_off")]
    pub no_reflexion: bool,
    /// The machine may go to sleep.
    #[serde(skip_serializing_if = "is_off")]
    pub no_keep_awake: bool,
    /// The part of the day in which there is work, such as `22:00-07:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_off(flag: &bool) -> bool {
    !flag
}

impl RunOptions {
    /// Whether nothing was given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same budgets, each twice as large, as they stand on a command line; none if these options limit nothing.
    #[must_use]
    pub fn raised(&self) -> Option<String> {
        let cost = self.max_cost.map(|cost| format!("--max-cost {}", 2.0 * cost));
        let tokens = self.max_tokens.map(|tokens| format!("--max-tokens {}", tokens.saturating_mul(2)));
        let flags: Vec<String> = cost.into_iter().chain(tokens).collect();
        (!flags.is_empty()).then(|| flags.join(" "))
    }

    /// These, and of the others what is not given here.
    #[must_use]
    pub fn or(self, others: &Self) -> Self {
        Self {
            jobs: self.jobs.or(others.jobs),
            max_cost: self.max_cost.or(others.max_cost),
            max_tokens: self.max_tokens.or(others.max_tokens),
            no_reflexion: self.no_reflexion || others.no_reflexion,
            no_keep_awake: self.no_keep_awake || others.no_keep_awake,
            between: self.between.or_else(|| others.between.clone()),
        }
    }
}

/// Which command a run is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// `reflexion run`: confirmed work stays on its task's branch.
    #[default]
    Run,
    /// `reflexion overnight`: confirmed work is merged into the run's integration branch.
    Overnight,
}

/// What ends a run before its tasks are done, beside an interruption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStop {
    /// The time was up.
    Deadline,
    /// The run's budget was used up.
    Budget,
    /// A person let it come to its end after the attempts that were at work.
    Drained,
}

impl RunStop {
    /// What it means for a task that is not done, and why in words.
    #[must_use]
    pub fn of_task(self) -> (Stop, &'static str) {
        match self {
            Self::Deadline => (Stop::Deadline, "the run's time was up"),
            Self::Budget => (Stop::Budget, "the run's budget was used up"),
            Self::Drained => (Stop::Interrupted, "the run was asked to stop"),
        }
    }
}

/// What came of merging confirmed work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum MergeOutcome {
    /// It is on the integration branch, and the checks passed there.
    Merged {
        /// The integration branch's new commit.
        commit: String,
        /// Checks that failed there at first and passed when they ran once more on the same files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        flaky: Vec<String>,
        /// Nothing was left to merge: what it changes was in what had been merged, and the commit is that one's.
        #[serde(default, rename = "wasThere", skip_serializing_if = "std::ops::Not::not")]
        was_there: bool,
    },
    /// It does not fit what was merged before.
    Conflict {
        /// The files.
        files: Vec<String>,
        /// The branch that keeps it.
        kept: String,
    },
    /// Nothing was merged: it changes what steers agents or the runtime, it was checked under other settings of the home directory than the
    /// run began with, nothing shows that it did what was asked, or it stands on such work. It stays on its branch, and counts as confirmed.
    LeftToPerson {
        /// The files that steer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
        /// The files that hold what is carried, as `file (what is carried)`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        carried: Vec<String>,
        /// What in the home directory steered tools otherwise than when the run began, in words, while it was checked.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steered: Vec<String>,
        /// The tasks of this run that it stands on and that are left to a person too.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        on: Vec<TaskId>,
        /// What its confirmation rests on, where that is too little for the runtime to merge it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<Proof>,
        /// How large the change is, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<ChangeSize>,
        /// The branch, or patch file, with the work.
        branch: String,
    },
    /// It fits, and a check that counts is red on top of what was merged before.
    Red {
        /// Why, in words.
        because: String,
        /// The branch that keeps it.
        kept: String,
    },
}

/// Why an attempt has another turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnReason {
    /// The turn before did not do it, and the agent is told what is missing.
    Feedback,
    /// The turn before was stopped, because the agent was stuck, looped, or had lost its thread.
    Nudge,
    /// The work is confirmed, and a test was asked for that tells it from no work.
    Test,
}

impl TurnReason {
    /// The word used in files and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Feedback => "feedback",
            Self::Nudge => "nudge",
            Self::Test => "test",
        }
    }
}

impl MergeOutcome {
    /// Why it is not merged, in words.
    #[must_use]
    pub fn failed(&self) -> Option<String> {
        match self {
            Self::Merged { .. } => None,
            Self::Conflict { files, kept } => {
                let files = files.join(", ");
                Some(format!("it conflicts with what was merged before in {files}; the work is kept on {kept}"))
            }
            Self::LeftToPerson { files, carried, steered, on, proof, .. } => {
                Some(left_to_person((files, carried, steered), on, *proof))
            }
            Self::Red { because, kept } => {
                Some(format!("on top of what was merged before {because}; the work is kept on {kept}"))
            }
        }
    }
}

/// How many lines and files a change has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSize {
    /// Lines that are new.
    pub added: usize,
    /// Lines that are gone.
    pub removed: usize,
    /// Files that differ.
    pub files: usize,
}

impl std::fmt::Display for ChangeSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let files = if self.files == 1 { "file" } else { "files" };
        write!(f, "+{} −{} lines in {} {files}", self.added, self.removed, self.files)
    }
}

/// Why work that was checked under other settings than its run began with is a person's to look at, in words; none: it was not.
#[must_use]
pub fn checked_otherwise(steered: &[String]) -> Option<String> {
    (!steered.is_empty()).then(|| {
        format!(
            "since the run began, {}, which steers tools, so its checks may show what the change does not do: put that back, or begin a new run \
             if it is yours",
            steered.join(", ")
        )
    })
}

/// Why only a person merges work, in words.
fn left_to_person(
    (files, carried, steered): (&[String], &[String], &[String]),
    on: &[TaskId],
    proof: Option<Proof>,
) -> String {
    let changes = (!files.is_empty())
        .then(|| format!("it changes what steers agents or the runtime ({}), which a person merges", files.join(", ")));
    let tasks: Vec<String> = on.iter().map(|task| format!("`{task}`")).collect();
    let stands = (!on.is_empty()).then(|| format!("it stands on {}, which a person merges first", tasks.join(", ")));
    let shows = proof.map(|proof| format!("{}, so a person merges it", proof.words()));
    let holds = (!carried.is_empty()).then(|| {
        format!(
            "files hold what is carried and not committed ({}), which a person looks at before it is merged",
            carried.join(", ")
        )
    });
    let steered = checked_otherwise(steered);
    changes.into_iter().chain(holds).chain(steered).chain(shows).chain(stands).collect::<Vec<_>>().join("; ")
}
