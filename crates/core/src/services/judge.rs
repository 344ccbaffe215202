//! Judges: somebody who looks at what the facts leave open.

use crate::domain::{
    Allow, Change, CheckReport, CompactionVerdict, CompletionVerdict, Ending, Expects, GateReport, Opinion, Risk,
    SessionId, StuckVerdict, Trace,
};
use crate::services::{AskError, OwnWork, UsageMeter};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Decides after every turn whether the task is done: gates first, then - only where they leave it open, and if it is
/// configured - the self-assessment, the judge and the committee.
///
/// *Who calls:* the orchestrator after the checks; `reflexion judge`; `reflexion eval`. *Promise:* never fails and never
/// completes on a word: whoever errs, times out or answers garbage leaves the turn unproven, and the reasons say so.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait CompletionVerifier: Send + Sync {
    /// The verdict on a turn.
    async fn verify_turn(&self, turn: TurnEvidence) -> CompletionVerdict;
}

/// A turn that ended, with everything known of it.
#[derive(Debug, Clone)]
pub struct TurnEvidence {
    /// The agent run; verdicts are kept under it.
    pub session: SessionId,
    /// What was asked for: title, description, acceptance criteria. Empty: what the trace's first message says.
    pub task: String,
    /// The part of it that was worked on, where an agent proposed that. What it says permits nothing and requires nothing.
    pub proposed_part: Option<String>,
    /// What kind of change is expected; none where nobody said so and the task's own words decide.
    pub expects: Option<Expects>,
    /// What the task's owner permits. Without `expects` nobody was asked, and whoever judges weighs the words.
    pub allow: Vec<Allow>,
    /// What the agent did.
    pub trace: Trace,
    /// What the runtime saw itself; none for a transcript from elsewhere.
    pub observed: Option<Observed>,
    /// Where the work is: for the project's signals and instructions, and for whoever wants to look. None: unknown.
    pub dir: Option<PathBuf>,
    /// The agent that did it, so that somebody else reviews it.
    pub author: Option<String>,
    /// Why the agent stopped, where known.
    pub ending: Option<Ending>,
    /// Its own conversation, where it can be asked about its work.
    pub own: Option<OwnWork>,
    /// Counts what whoever is asked uses, whether it answers or not.
    pub spent: UsageMeter,
    /// Ends it early.
    pub cancel: CancellationToken,
}

/// What the runtime saw itself.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The recorded change, from before any check ran.
    pub change: Change,
    /// How risky the change is, from the names of its files.
    pub risk: Risk,
    /// The change as a unified diff, at most some hundred kilobytes; the end is left out.
    pub diff: String,
    /// The checks after the agent stopped.
    pub checks: Vec<CheckReport>,
    /// The same checks at the base.
    pub baseline: Vec<CheckReport>,
    /// Protected files that were changed.
    pub protected: Vec<String>,
}

/// Judges what is unproven.
///
/// *Promise:* an error is an error, never an opinion. What asking used is added to `spent`, whether an answer came, could be
/// read, or was waited for in vain; as far as it is known.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Judge: Send + Sync {
    /// Asks once.
    ///
    /// # Errors
    /// [`JudgeError`]; the turn stays unproven.
    async fn judge(&self, question: &JudgeQuestion, spent: &UsageMeter) -> Result<Opinion, JudgeError>;

    /// Any question with an answer in JSON: the self-assessment, stuck, compaction, a rubric. The text of the answer.
    ///
    /// # Errors
    /// [`JudgeError`].
    async fn ask(&self, question: &OpenQuestion, spent: &UsageMeter) -> Result<String, JudgeError>;
}

/// What a judge is asked; a command judge gets it as JSON on stdin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgeQuestion {
    /// Version of this shape: 1.
    pub v: u32,
    /// In whose place it answers.
    pub role: JudgeRole,
    /// The agent run. An answer that names another one is no answer.
    pub session: SessionId,
    /// The task, with its acceptance criteria.
    pub task: String,
    /// What the agent did, in lines: tools, commands, exit statuses, ends of outputs. Empty for reviewers.
    pub actions: Vec<String>,
    /// The diff, as far as it fits.
    pub diff: String,
    /// What the agent said at the end. Empty for reviewers.
    pub response: String,
    /// What the gates say.
    pub reasons: Vec<GateReport>,
    /// The project's own instructions (`AGENTS.md`, `CLAUDE.md`), shortened.
    pub instructions: String,
}

/// In whose place somebody judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeRole {
    /// Is the task done?
    Judge,
    /// Is the change right? Sees only the task and the diff.
    Reviewer,
    /// Is the change safe, and what was specified? Sees only the task and the diff.
    Auditor,
}

/// A question whose answer is read by whoever asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// The whole prompt.
    pub prompt: String,
    /// The JSON Schema that the answer must fit.
    pub schema: serde_json::Value,
}

/// Nobody judged.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum JudgeError {
    /// There is no judge.
    #[error("no judge is configured")]
    NoJudge,
    /// It took too long.
    #[error("the judge gave no answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// It could not be asked.
    #[error("the judge could not be asked: {0}")]
    Failed(String),
    /// What it said is no verdict.
    #[error("the judge's answer is no verdict: {0}")]
    Unreadable(String),
}

impl From<AskError> for JudgeError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Timeout(limit) => Self::Timeout(limit),
            AskError::Failed(why) => Self::Failed(why),
            AskError::Unreadable(why) => Self::Unreadable(why),
        }
    }
}

/// Looks at an agent that says nothing, or that forgot. Facts first; the judge, if there is one, where they are silent.
///
/// *Who calls:* the orchestrator while an agent runs; `reflexion judge --kind stuck|compaction`. *Promise:* never fails;
/// silent facts and nobody to ask are `undetermined` with confidence 0. What asking used is added to `spent`.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait ProgressJudge: Send + Sync {
    /// Whether it is stuck.
    async fn stuck(&self, question: &StuckQuestion, spent: &UsageMeter) -> StuckVerdict;

    /// What it should do now that its context was shortened.
    async fn after_compaction(&self, question: &CompactionQuestion, spent: &UsageMeter) -> CompactionVerdict;

    /// The loop that the agent is in, in words for the agent; none if it is in none.
    fn in_loop(&self, trace: &Trace) -> Option<String>;
}

/// An agent that says nothing. `reflexion judge --kind stuck` reads this as JSON.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StuckQuestion {
    /// Seconds since its last record.
    pub time_since_activity: f64,
    /// Its last message is whole; none where that is not known.
    pub message_completed: Option<bool>,
    /// Tokens of its last message.
    pub output_tokens: Option<u64>,
    /// What was asked last.
    pub last_user_message: String,
    /// What it said last.
    pub last_assistant_response: String,
    /// Its tool calls as `name: state` lines; `(none)` or empty for none.
    pub tool_calls: String,
}

/// An agent whose context was shortened. `reflexion judge --kind compaction` reads this as JSON.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactionQuestion {
    /// The task in short.
    pub task_summary: String,
    /// What it said last.
    pub last_assistant_response: String,
    /// The tools it used, in one line.
    pub tools_used: String,
    /// It ran git commands; none where that is not known.
    pub has_git_commands: Option<bool>,
    /// Task or answer name a pull request or an issue; none where that is not known.
    pub has_pr_issue_ref: Option<bool>,
}
