//! The blocks `verification`, `risk`, `feedback` and `routing`.

use super::{OneOrMany, ProviderFile};
use crate::domain::{RiskThreshold, TaskSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who decides whether a turn ended with the task done. Evidence gates always run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct VerificationFile {
    /// Who is asked where the facts leave it open.
    pub judge: JudgeFile,
    /// Structured questions to the agent, compared with the evidence.
    pub self_assessment: SelfAssessmentFile,
    /// A committee that looks at a change before it is confirmed.
    pub review: ReviewFile,
    /// What a task must have beside its checks.
    pub workflow: WorkflowFile,
}

/// Who is asked where the facts leave it open.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct JudgeFile {
    /// What kind of judge.
    #[serde(rename = "type")]
    pub kind: JudgeKind,
    /// Of a command judge: program and arguments, run in the project's directory. It gets the question as JSON on stdin
    /// and prints a verdict as JSON.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// Of an agent judge: its name under `agents`; it is asked read-only, in an empty directory. Of a `command` agent that is no
    /// promise, see [sandbox](sandbox.md#who-is-in-it).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Of a model judge: a name under `models`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Of a model judge without a `model`: whose protocol it speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderFile>,
    /// With a `provider`: its names of models in order of preference; the first one that it offers is used. Empty: fast
    /// ones of the provider.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// With a `provider`: where it is, up to and including the version; the provider's own place if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// With a `provider`: the environment variable with the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// How long one question may take, in milliseconds.
    pub timeout_ms: u64,
}

impl Default for JudgeFile {
    fn default() -> Self {
        Self {
            kind: JudgeKind::None,
            argv: Vec::new(),
            agent: None,
            model: None,
            provider: None,
            models: Vec::new(),
            base_url: None,
            key_env: None,
            timeout_ms: 120_000,
        }
    }
}

/// What kind of judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgeKind {
    /// Nobody: what the facts leave open stays unproven.
    None,
    /// Any program.
    Command,
    /// A configured agent, which is only asked.
    Agent,
    /// A language model.
    Model,
}

/// Who assesses the agent's own work before the judge does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SelfAssessmentFile {
    /// Nobody.
    #[default]
    Off,
    /// The judge, in a conversation of its own.
    Fresh,
    /// The agent itself, read-only in a copy of its conversation. Agents that cannot copy one (`gemini`, those of `acp`)
    /// are not asked, and the verdict says so.
    Agent,
}

/// A committee that looks at a change before it is confirmed: whoever dissents is answered first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ReviewFile {
    /// Who reviews: a name under `agents` or `models`. It sees only the task and the diff, and is asked as a judge is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    /// Who audits security and what was specified: a name under `agents` or `models`. It sees only the task and the diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auditor: Option<String>,
    /// Which changes they look at.
    pub when: ReviewWhen,
}

/// Which changes the committee looks at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewWhen {
    /// All of them.
    #[default]
    Always,
    /// Those whose risk needs review, see `risk.threshold`.
    Risky,
}

/// How risky a change must be to need review.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RiskFile {
    /// A change with this score or a higher one needs review, 0 to 1: docs 0.1, test 0.2, ui 0.4, build 0.6, infra 0.85,
    /// data 0.9, auth 1. The environment variable `REFLECTION_RISK_THRESHOLD` is the same.
    pub threshold: RiskThreshold,
}

/// What a task must have beside its checks.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WorkflowFile {
    /// Tests run after the last change.
    pub tests: RequiredFile,
    /// A build after the last change.
    pub build: RequiredFile,
    /// A pull request, asked for with `gh`.
    pub pull_request: RequiredFile,
    /// Green CI on the pull request, asked for with `gh`.
    pub ci: RequiredFile,
}

/// Whether something is required.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequiredFile {
    /// Where the project and the task suggest it.
    #[default]
    Auto,
    /// Always.
    Yes,
    /// Never.
    No,
}

/// What an agent hears after a turn that did not do it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FeedbackFile {
    /// Turns of one attempt: the first, and one more for each feedback or nudge. 1: no feedback. Agents that cannot go on
    /// with a conversation have 1.
    pub max_turns: u32,
    /// Nudge an agent that is stuck, loops, or lost its thread when its context was shortened.
    pub nudge: bool,
}

impl Default for FeedbackFile {
    fn default() -> Self {
        Self { max_turns: 3, nudge: true }
    }
}

/// Agents by size and kind of work. A task's own agent, the flag and labels come before it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RoutingFile {
    /// Agents by the size of a task, the smallest first, e.g. `[{"upTo": "small", "agents": "codex"}]`: the first entry that is
    /// large enough decides, and comes before the kind of work. `reflexion task show` says how large a task is, and why.
    pub by_size: Vec<SizeRouteFile>,
    /// Whether earlier runs change the order of a chain: agents that mostly failed at such tasks come after the others, see
    /// [agents](agents.md#which-agent-a-task-is-given-to).
    pub history: bool,
    /// Servers, data, interfaces between programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<OneOrMany>,
    /// Design and structure across the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<OneOrMany>,
    /// What people see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frontend: Option<OneOrMany>,
    /// Everything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<OneOrMany>,
    /// Stronger agents, for a task that fails in the same way again and again: the first after `escalateAfter` such failures,
    /// the next after as many more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalate_to: Option<OneOrMany>,
    /// After this many failures in a row that look the same; 2 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalate_after: Option<u32>,
}

/// Agents for tasks up to a size.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SizeRouteFile {
    /// `small`, `medium` or `large`.
    pub up_to: SizeFile,
    /// One name, or a fallback chain.
    pub agents: OneOrMany,
}

/// How large a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SizeFile {
    /// A change in one place.
    Small,
    /// Several places, or much to read.
    Medium,
    /// A project of its own.
    Large,
}

impl From<SizeFile> for TaskSize {
    fn from(file: SizeFile) -> Self {
        match file {
            SizeFile::Small => Self::Small,
            SizeFile::Medium => Self::Medium,
            SizeFile::Large => Self::Large,
        }
    }
}
