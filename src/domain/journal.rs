//! Journal entries: what a run writes down before and after each effect, so that a killed run can be understood.

use super::Ending;
use super::Proof;
use super::ReflectionId;
use super::Risk;
use super::RunId;
use super::SessionId;
use super::Standing;
use super::SubtaskId;
use super::TaskId;
use super::TreeId;
use super::Usage;
use super::Verdict;
use serde::Deserialize;
use serde::Serialize;

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
        /// The tasks asked for, in the order of work.
        tasks: Vec<TaskId>,
    },
    /// Intent: a workspace is about to be made for a task, set up, and its checks run at the base.
    TaskStarted {
        /// The task.
        task: TaskId,
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
        /// The agent's own conversation that is gone on with after a limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resumes: Option<String>,
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
        /// How risky its change is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        risk: Option<Risk>,
        /// What the failure looks like, if it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
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
    },
    /// The run is over.
    RunEnded {
        /// It was interrupted.
        interrupted: bool,
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
}

impl TurnReason {
    /// The word used in files and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Feedback => "feedback",
            Self::Nudge => "nudge",
        }
    }
}
