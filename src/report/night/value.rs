//! What a run's journal comes to: the document that `report --json` prints, and what the other forms are made of.

use crate::domain::{
    ChangeSize, Ending, Exposure, Fit, Flaky, HealOutcome, KeptPatch, LessonsOver, LineProblem, MergeOutcome, Proof,
    ProofHunks, ProofRuns, RedCheck, ReflectionId, Risk, RunId, RunPlan, SessionId, Spell, Stop, SubtaskId, Symptom,
    TaskId, TestsShow, TestsTurned, Timestamp, Unmerged, Usage, Verdict,
};
use crate::effect::Effect;
use serde::Serialize;

/// A run as its journal tells it.
///
/// Made by [`Night::of`](super::Night::of). Times are those of the journal; where the clock was set back while the run
/// went on, later times are moved so that durations stay true, and `clockSetBackMs` says by how much.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Night {
    /// Format version, 1.
    pub v: u32,
    /// The run.
    pub run: RunId,
    /// One sentence.
    pub headline: String,
    /// How the run stands.
    pub state: NightState,
    /// Why it could not go on, where that is how it stands.
    pub halted: Option<String>,
    /// What was changed in the user's repository and is not put back, and during which task; told among what needs you.
    #[serde(skip)]
    pub(super) changed: Vec<(Option<usize>, String)>,
    /// There is a newer run (for a night: a newer night), so this one is not gone on with.
    pub superseded: bool,
    /// The process that works on it, where that is stopped and does nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_pid: Option<u32>,
    /// Processes that killed runs started and that still run, where no runtime works on it any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_running: Vec<u32>,
    /// It does not go on until the deadline that it had.
    #[serde(skip)]
    pub(super) past_deadline: bool,
    /// How it was asked for.
    pub plan: RunPlan,
    /// The commit that the user's `HEAD` was at when it went on, where that was not its base any more.
    pub head: Option<String>,
    /// When it began; null if its journal does not say so.
    pub started_at: Option<Timestamp>,
    /// The last time in the journal.
    pub last_sign_at: Option<Timestamp>,
    /// The branch that confirmed work was merged into, if any was.
    pub integration: Option<String>,
    /// That branch is in one of the user's since: the one that is checked out, or the main one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub brought_in: bool,
    /// What to do next about the whole run.
    pub next: Vec<Step>,
    /// How many tasks stand where.
    pub counts: Counts,
    /// What needs a person, the most urgent first.
    pub needs: Vec<Need>,
    /// What agents tried, or somebody did while they worked, that is none of the work: refs, tags, pushes, protected files, what steers tools.
    pub security: Vec<Noticed>,
    /// Every task, in the order of work.
    pub tasks: Vec<NightTask>,
    /// Every agent run, in the order in which they began.
    pub attempts: Vec<NightAttempt>,
    /// What everything used.
    pub spend: Spend,
    /// The workers' time.
    pub workers: Vec<WorkerTime>,
    /// Limits, missing logins and watchdogs that ended agent runs.
    pub limits: Vec<Limit>,
    /// Workspaces that were repaired, or were to be.
    pub heals: Vec<Heal>,
    /// What was learned.
    pub lessons: Vec<Lesson>,
    /// Lessons that are in no prompt any more since the run: too old, or about files that are gone.
    #[serde(rename = "lessonsOver", skip_serializing_if = "LessonsOver::are_none")]
    pub lessons_over: LessonsOver,
    /// What became of attempts with and without lessons in their prompt.
    pub injection: Injection,
    /// Whether lessons help, as far as the project's retries tell; none where no coin was drawn in this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// The same of lessons of other tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others_effect: Option<Effect>,
    /// Who did what from when to when, for a timeline.
    pub spans: Vec<Span>,
    /// When no process worked on the run although it was not over.
    pub gaps: Vec<Gap>,
    /// By how much the clock was set back while the run went on, in milliseconds.
    pub clock_set_back_ms: u64,
    /// Lines of the journal that could not be read; the first hundred.
    pub problems: Vec<LineProblem>,
    /// How many lines could not be read.
    pub unreadable: usize,
    /// The journal's last line was not written to its end.
    pub torn: bool,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NightState {
    /// A process works on it.
    Running,
    /// It came to its end.
    Ended,
    /// The time was up.
    Deadline,
    /// Its budget was used up.
    Budget,
    /// A person stopped it.
    Interrupted,
    /// It could not go on; [`Night::halted`] says why.
    Halted,
    /// Its runtime is gone, and it never said that it ended: killed, or the machine went down. What that had started may still
    /// run: [`Night::left_running`].
    Dead,
}

/// How many tasks stand where; the seven parts add up to `tasks`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Tasks asked for.
    pub tasks: usize,
    /// On the integration branch, checked there.
    pub merged: usize,
    /// Confirmed on a branch of its own (or a patch file).
    pub confirmed: usize,
    /// Confirmed without a change: nothing was to be changed.
    pub unchanged: usize,
    /// Refuted until the attempts were used up.
    pub failed: usize,
    /// Blocked: it needs a person.
    pub blocked: usize,
    /// Left open.
    pub open: usize,
    /// Being worked on.
    pub working: usize,
    /// Closed since, not by this run.
    pub closed: usize,
}

/// Where a task stands after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// On the integration branch, checked there.
    Merged,
    /// Confirmed on a branch of its own (or a patch file).
    Confirmed,
    /// Confirmed without a change: nothing was to be changed.
    Unchanged,
    /// Refuted until the attempts were used up.
    Failed,
    /// Blocked: it needs a person.
    Blocked,
    /// Left open.
    Open,
    /// Being worked on.
    Working,
    /// Left open by the run, and closed since: by a person, or by another run.
    Closed,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NightTask {
    /// Its id.
    pub id: TaskId,
    /// Its title; empty if it was never started.
    pub title: String,
    /// Where it stands.
    pub state: TaskState,
    /// Work on it began.
    pub started: bool,
    /// Why it was given to the agents that it was given to, where that is not plain.
    pub routed: Option<String>,
    /// The parts that were proposed for it and that it was worked on in; empty where nobody proposed any.
    pub parts: Vec<SubtaskId>,
    /// The verdict of its last judged attempt.
    pub verdict: Option<Verdict>,
    /// What a confirmation rests on.
    pub proof: Option<Proof>,
    /// Which lines of its last judged change the checks notice, where that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof_hunks: Option<ProofHunks>,
    /// The branch or patch file with its confirmed work.
    pub branch: Option<String>,
    /// The files that its confirmed work changes, from the top of the repository.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// What became of the tests that failed before it, as its last judged attempt left them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestsTurned>,
    /// What its work that is kept changes, as far as the repository was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<TaskChange>,
    /// The runs that show what its last judged change proves.
    #[serde(skip)]
    pub(super) proof_runs: Option<ProofRuns>,
    /// It is a bug of which no fix is expected, as the task list says: changed tests alone may count.
    #[serde(skip)]
    pub(super) is_loose_bug: bool,
    /// The task list expects no change of it.
    #[serde(skip)]
    pub(super) expects_nothing: bool,
    /// It is in a branch of the user's since: the one that is checked out, or the main one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub brought_in: bool,
    /// The tasks that were done before it, as the task list says.
    #[serde(skip)]
    pub(super) after: Vec<TaskId>,
    /// Why it is not confirmed, in words.
    pub cause: Option<String>,
    /// The patch files that keep what its last attempt changed where nothing confirmed it, from the project's directory.
    pub kept: Vec<String>,
    /// The attempts that those patch files are of, as far as their tasks' ends say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<KeptPatch>,
    /// What stands in the way, where it is nothing about the work.
    pub stop: Option<Stop>,
    /// What a person must do before it can go on.
    pub person: Vec<String>,
    /// The risk of its last judged change.
    pub risk: Option<Risk>,
    /// Its agent runs, as places in `attempts`.
    pub attempts: Vec<usize>,
    /// Judged attempts of this run.
    pub judged: u32,
    /// The number of the attempt that was confirmed.
    pub solved_at: Option<u32>,
    /// What came of merging it, every time.
    pub merges: Vec<Merge>,
    /// What became of its confirmed work that could not be merged, and of the attempts after that.
    #[serde(skip)]
    pub(super) unmerged: Unmerged,
    /// The files in which its branch conflicts with all that was merged, as far as the run's end says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// The tasks that it waits for and that wait for a person themselves.
    pub held_by: Vec<TaskId>,
    /// At the last sign it was being worked on.
    pub in_work: bool,
    /// A commit or a merge of it was begun, and its end is not known: the next run looks.
    pub landing: bool,
    /// What its attempts, reflections and judging used.
    pub usage: Usage,
    /// How long its agents worked, in milliseconds.
    pub agent_ms: u64,
}

impl Night {
    /// How many things need a person. Tasks that wait for one and the same are one; each that failed is one.
    #[must_use]
    pub fn things(&self) -> usize {
        self.needs.iter().map(|need| if need.kind == NeedKind::Failed { need.tasks.len() } else { 1 }).sum()
    }
}

impl NightTask {
    /// Whether its confirmed work is a patch file, and no branch: there is no git.
    pub(super) fn is_patch(&self) -> bool {
        self.branch.as_ref().is_some_and(|branch| branch.ends_with(".patch"))
    }
}

/// What a task's work changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskChange {
    /// How many lines and files.
    pub size: ChangeSize,
    /// The command that shows all of it.
    pub command: String,
    /// The diff, redacted; of a longer one its beginning, and none of a large one.
    #[serde(skip)]
    pub diff: Option<String>,
    /// Some of the diff is left out.
    #[serde(skip)]
    pub cut: bool,
}

/// Something that is none of the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Noticed {
    /// What, in words.
    pub what: String,
    /// The tasks that were worked on then; none where nobody knows.
    pub tasks: Vec<TaskId>,
}

/// An end of a merge.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Merge {
    /// The confirmed attempt.
    pub attempt: u32,
    /// When.
    pub at: Timestamp,
    /// What came of it.
    pub outcome: MergeOutcome,
    /// The reflection on it.
    pub reflection: Option<ReflectionId>,
}

/// An agent run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NightAttempt {
    /// The task.
    pub task: TaskId,
    /// The subtask.
    pub subtask: SubtaskId,
    /// The attempt's number; the same again where it was made anew or gone on with.
    pub attempt: u32,
    /// This agent run.
    pub session: SessionId,
    /// The agent.
    pub agent: String,
    /// Which worker, from 0.
    pub worker: usize,
    /// When the agent was started.
    pub started_at: Timestamp,
    /// When the agent last stopped; null if it never did.
    pub stopped_at: Option<Timestamp>,
    /// When it was judged or dropped; null if it never was.
    pub ended_at: Option<Timestamp>,
    /// How long the agent worked, in milliseconds, over all turns.
    pub agent_ms: u64,
    /// How long it was checked and judged, in milliseconds.
    pub checking_ms: u64,
    /// Turns begun.
    pub turns: u32,
    /// It was asked for a test of its work, and what came of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_for_test: Option<AskedForTest>,
    /// What the test shows that was written then and left out, as far as runs say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_shows: Option<TestsShow>,
    /// What became of it.
    pub fate: Fate,
    /// Why the agent stopped.
    pub ending: Option<Ending>,
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// Why, in words.
    pub because: String,
    /// The red check that it shows, where no test is named in what that printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub red: Option<RedCheck>,
    /// What the failure looks like.
    #[serde(skip)]
    pub(super) signature: Option<String>,
    /// What the agent said last, where it is not confirmed, or nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Checks that failed, and of which that says nothing about the work.
    pub flaky: Vec<Flaky>,
    /// The risk of its change.
    pub risk: Option<Risk>,
    /// What it, its judging and its reflection used.
    pub usage: Usage,
    /// The reflections in its prompt.
    pub injected: Vec<ReflectionId>,
    /// What a coin decided about its lessons; none where there was nothing to decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exposure: Option<Exposure>,
    /// Why lessons of other tasks are in the prompt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Fit>,
    /// The reflection on it.
    pub reflection: Option<ReflectionId>,
}

/// What came of it that an agent was asked for a test of work that no check tells from none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedForTest {
    /// It wrote one that fails without the work.
    Proves,
    /// It wrote nothing then: the one that it had written before fails without the work, as was found out then.
    HadOne,
    /// What it wrote does not prove the work, and was left out: [`NightAttempt::test_shows`] says why.
    LeftOut,
    /// It wrote nothing, or nothing is known of it.
    Nothing,
}

impl AskedForTest {
    /// The same in words; `shows` is what the test shows that was left out.
    pub(super) fn words(self, shows: Option<TestsShow>) -> String {
        match (self, shows) {
            (Self::Proves, _) => {
                "a test was asked for, and the one that was written fails without the change".to_owned()
            }
            (Self::HadOne, _) => {
                "a test was asked for; the one that was there already fails without the change".to_owned()
            }
            (Self::LeftOut, Some(shows)) => {
                format!("a test was asked for; what was written then {}, and was left out", shows.words())
            }
            (Self::LeftOut, None) => {
                "a test was asked for; what was written then does not prove the change, and was left out".to_owned()
            }
            (Self::Nothing, _) => {
                "a test that fails without the change by what it asserts was asked for, and none came".to_owned()
            }
        }
    }
}

/// What became of an agent run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It was judged.
    Judged,
    /// It was not judged: limits, missing logins, interruption.
    Dropped,
    /// The run died while it worked or was judged.
    Cut,
    /// It goes on.
    Working,
}

/// Something that needs a person.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Need {
    /// What kind of thing.
    pub kind: NeedKind,
    /// The tasks, as places in `tasks`.
    pub tasks: Vec<usize>,
    /// What is the matter, in words.
    pub why: String,
    /// The branch that keeps the work, if one does.
    pub branch: Option<String>,
    /// What to do.
    pub commands: Vec<Step>,
}

/// A command to give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// As it is typed.
    pub command: String,
    /// What it does, in a few words.
    pub does: &'static str,
}

/// What kind of thing needs a person, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NeedKind {
    /// The user's repository was changed beside the work, and that is not put back.
    Repository,
    /// An agent's login or quota.
    Login,
    /// Something around the work is missing or broken.
    Environment,
    /// A task waits for a person.
    Person,
    /// A change is done, and nothing could verify it.
    Unverifiable,
    /// Confirmed work that could not be merged, kept on a branch.
    Unmerged,
    /// Confirmed work that only a person merges.
    YoursToMerge,
    /// A task that is blocked.
    #[serde(rename = "set_aside")]
    Blocked,
    /// Tasks whose attempts are used up: nobody tries them again by itself.
    Failed,
    /// Tasks that wait for one which waits for a person.
    Held,
    /// A confirmed change that somebody should look at.
    Review,
}

/// What was used; sums of what was reported, so a lower bound where something was not.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spend {
    /// Tokens and money of everything.
    pub usage: Usage,
    /// US dollars that agents reported.
    pub reported_usd: Option<f64>,
    /// US dollars that were computed from the price table, at least in part.
    pub estimated_usd: Option<f64>,
    /// The part that went into judging.
    pub judging: Usage,
    /// The part that went into reflections.
    pub reflecting: Usage,
    /// The part that went into proposing the parts of tasks.
    pub splitting: Usage,
    /// By agent, by name.
    pub agents: Vec<AgentSpend>,
    /// Agent runs that reported neither tokens nor money.
    pub silent: usize,
}

/// What an agent used.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSpend {
    /// The agent.
    pub agent: String,
    /// Its runs.
    pub runs: usize,
    /// How long it worked, in milliseconds.
    pub agent_ms: u64,
    /// Tokens and money.
    pub usage: Usage,
}

/// A worker's time, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerTime {
    /// It had a task and did something for it.
    pub busy_ms: u64,
    /// It had a task that waited for a service.
    pub waiting_ms: u64,
    /// It had no task while the run went on.
    pub idle_ms: u64,
}

/// What ended agent runs beside their work, by agent and kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Limit {
    /// The agent.
    pub agent: String,
    /// The kind of ending: `rate_limited`, `quota`, `hang`, ….
    pub ending: &'static str,
    /// How often.
    pub times: usize,
    /// The first time.
    pub first_at: Timestamp,
    /// The last time.
    pub last_at: Timestamp,
}

/// A repair of a workspace.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Heal {
    /// The task.
    pub task: TaskId,
    /// The subtask.
    pub subtask: SubtaskId,
    /// What was wrong.
    pub symptom: Symptom,
    /// What was done about it.
    pub spell: Spell,
    /// What had failed, in words.
    pub because: String,
    /// When.
    pub started_at: Timestamp,
    /// What came of it; null if the run died in it, or it goes on.
    pub outcome: Option<HealOutcome>,
}

/// A lesson that was written in the run, or stood in a prompt of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lesson {
    /// The reflection.
    pub id: ReflectionId,
    /// It was written in this run.
    pub written: bool,
    /// The task that it is about.
    pub task: Option<String>,
    /// The attempt that it is about.
    pub attempt: Option<u32>,
    /// What went wrong; null if the memory no longer has it.
    pub analysis: Option<String>,
    /// What to do differently; null if the memory no longer has it.
    pub suggestion: Option<String>,
    /// The first lesson of the run with the same words, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<ReflectionId>,
    /// The agent runs with it in their prompt, as places in `attempts`.
    pub injected_into: Vec<usize>,
}

/// What became of judged attempts with and without a lesson in their prompt. This compares nothing: attempts with one
/// are retries of tasks that had failed before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Injection {
    /// Judged attempts with at least one lesson in their prompt.
    pub with: usize,
    /// Of these, confirmed.
    pub with_confirmed: usize,
    /// Judged attempts without.
    pub without: usize,
    /// Of these, confirmed.
    pub without_confirmed: usize,
}

/// Somebody did something for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    /// Which worker, from 0.
    pub worker: usize,
    /// The task, as a place in `tasks`.
    pub task: usize,
    /// The agent run, as a place in `attempts`.
    pub attempt: Option<usize>,
    /// What.
    pub kind: SpanKind,
    /// From when.
    pub start: Timestamp,
    /// Until when.
    pub end: Timestamp,
    /// The run died in it, or it goes on: the end is the last time that is known.
    pub cut: bool,
}

/// What somebody did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// A workspace was made and set up, and its checks ran at the base.
    Preparing,
    /// An agent worked.
    Agent,
    /// Its work was checked, judged and reflected upon.
    Checking,
    /// A service asked to wait.
    Waiting,
    /// Confirmed work was committed, merged and checked again.
    Merging,
}

/// No process worked on the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gap {
    /// The last sign before.
    pub start: Timestamp,
    /// When it was gone on with.
    pub end: Timestamp,
}
