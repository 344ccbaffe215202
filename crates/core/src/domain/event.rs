//! Events: what a watcher of a run may want to show.

use super::CheckStatus;
use super::Ending;
use super::HealOutcome;
use super::Origin;
use super::Spell;
use super::Stop;
use super::SubtaskId;
use super::Symptom;
use super::TaskId;
use super::Timestamp;
use super::TurnReason;
use super::Verdict;

/// Something happened in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// The task it belongs to; none for the run as a whole.
    pub task: Option<TaskId>,
    /// What.
    pub kind: EventKind,
}

/// The one closed list of what can happen, in the order in which a task meets it.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// The run begins with so many tasks.
    RunStarted {
        /// Tasks asked for.
        tasks: usize,
        /// Worked on at the same time.
        jobs: usize,
    },
    /// Something the user should know; the run goes on.
    Warning {
        /// In words.
        message: String,
    },
    /// A task begins.
    TaskStarted {
        /// Its title.
        title: String,
        /// How many attempts it may use in this run.
        max_attempts: u32,
    },
    /// A rule, or what earlier runs found out, says which agents a task is given to.
    Routed {
        /// The fallback chain.
        agents: Vec<String>,
        /// Why these, in words.
        because: String,
    },
    /// Somebody was asked in which parts the task is worked on.
    Decomposed {
        /// Their titles, in the order of work; none: it is worked on as a whole.
        parts: Vec<String>,
    },
    /// What the task is doing now, e.g. `setup`, `baseline`, `agent`, `check test`, `reflecting`.
    Doing {
        /// In words.
        what: String,
    },
    /// An attempt begins.
    AttemptStarted {
        /// The subtask.
        subtask: SubtaskId,
        /// From 1, over all runs.
        attempt: u32,
        /// The agent that works.
        agent: String,
        /// How many reflections its prompt holds.
        injected: usize,
    },
    /// The agent does something.
    AgentActed {
        /// In a few words, e.g. `Bash: cargo test`.
        what: String,
        /// Answers of its model so far.
        turns: u32,
        /// Tokens so far, where the agent says so while it works.
        tokens: Option<u64>,
    },
    /// The agent stopped.
    AgentEnded {
        /// Why.
        ending: Ending,
        /// Files that differ from the base.
        files: usize,
        /// What went wrong with it, in words, if something did.
        detail: Option<String>,
    },
    /// A check was run.
    Checked {
        /// Its name.
        name: String,
        /// What came of it.
        status: CheckStatus,
    },
    /// The agent is told something in the same conversation: the attempt's next turn begins.
    TurnStarted {
        /// From 2.
        turn: u32,
        /// Why there is another turn.
        reason: TurnReason,
        /// What was wrong with the turn before, in words.
        because: String,
    },
    /// Nothing goes on before a person acts.
    PersonNeeded {
        /// Exactly what the person must do.
        actions: Vec<String>,
    },
    /// An attempt was judged.
    AttemptJudged {
        /// The subtask.
        subtask: SubtaskId,
        /// The attempt.
        attempt: u32,
        /// What the evidence says.
        verdict: Verdict,
        /// Why, in words.
        because: String,
    },
    /// A reflection was stored.
    Reflected {
        /// The attempt it is about.
        attempt: u32,
        /// Who wrote it.
        origin: Origin,
        /// What went wrong, in short.
        analysis: String,
    },
    /// The agent's service asks to wait.
    Waiting {
        /// Until when.
        until: Timestamp,
        /// Why.
        because: String,
    },
    /// The agent changed refs, configuration or hooks of the user's repository; they were put back.
    Tampered {
        /// What.
        what: Vec<String>,
    },
    /// Something of the user's repository was changed that is not put back; a person must look at it.
    RepositoryChanged {
        /// What.
        what: Vec<String>,
    },
    /// Something was wrong with the workspace, and something was done about it.
    Healed {
        /// What was wrong.
        symptom: Symptom,
        /// What was done.
        spell: Spell,
        /// Whether what had failed went well when it was done once more.
        outcome: HealOutcome,
    },
    /// A budget leaves nothing for another agent run.
    BudgetReached {
        /// Which, and how, in words.
        because: String,
    },
    /// Confirmed work is on the run's integration branch, and the checks passed there.
    Merged {
        /// The branch's new commit.
        commit: String,
        /// Checks that failed at first and passed when they ran once more on the same files.
        flaky: Vec<String>,
    },
    /// Confirmed work is not: it is kept on a branch of its own, and the attempt counts as failed.
    NotMerged {
        /// Why, in words.
        because: String,
    },
    /// A task is over.
    TaskEnded {
        /// Verdict of the last judged attempt, if one was judged.
        verdict: Option<Verdict>,
        /// Attempts judged in this run.
        attempts: u32,
        /// Why it is not confirmed, or where the confirmed work is.
        note: Option<String>,
        /// What stands in the way, where it is nothing about the work itself.
        stop: Option<Stop>,
    },
    /// The run is over.
    RunEnded,
}
