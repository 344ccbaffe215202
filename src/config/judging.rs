//! The blocks `verification`, `risk`, `feedback` and `routing` of `project.json`: who decides whether a turn ended with the task
//! done, and what follows if not.

use super::agents::{OneOrMany, ProviderFile};
use super::error::{ConfigError, nearest};
use super::load::Effective;
use crate::domain::{RiskThreshold, TaskSize, policy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What a judge may write: a verdict, many times over.
const JUDGE_TOKENS: u32 = 2048;

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

impl RoutingFile {
    /// The entries, with their category and key.
    pub(super) fn entries(&self) -> impl Iterator<Item = (policy::WorkCategory, &'static str, &OneOrMany)> {
        use policy::WorkCategory::{Architecture, Backend, Default, Frontend};
        let all = [
            (Backend, "routing.backend", &self.backend),
            (Architecture, "routing.architecture", &self.architecture),
            (Frontend, "routing.frontend", &self.frontend),
            (Default, "routing.default", &self.default),
        ];
        all.into_iter().filter_map(|(category, key, agents)| Some((category, key, agents.as_ref()?)))
    }
}

impl Effective {
    /// The blocks `verification` and `feedback`, checked.
    pub(super) fn verification(
        &self,
        named: &BTreeMap<String, policy::Agent>,
    ) -> Result<policy::Verification, ConfigError> {
        let (file, feedback) = (&self.file.verification, &self.file.feedback);
        self.require((1..=100).contains(&feedback.max_turns), "feedback.maxTurns", "is 1 to 100")?;
        let timeout = Duration::from_millis(file.judge.timeout_ms);
        let reviewer = |name: &Option<String>, key: &str| -> Result<Option<policy::Reviewer>, ConfigError> {
            let Some(name) = name else { return Ok(None) };
            if let Some(model) = self.named_model(name, named, timeout)? {
                return Ok(Some(policy::Reviewer::Model { model: judging(model) }));
            }
            self.answering_agent(named, name, key)?;
            Ok(Some(policy::Reviewer::Agent { name: name.clone() }))
        };
        let judge = self.judge(named)?;
        let asks = file.self_assessment == SelfAssessmentFile::Fresh;
        self.require(
            !asks || judge != policy::Judge::None,
            "verification.selfAssessment",
            "is `fresh` and needs a `verification.judge` that answers it",
        )?;
        Ok(policy::Verification {
            judge,
            judge_timeout: timeout,
            self_assessment: match file.self_assessment {
                SelfAssessmentFile::Off => policy::SelfAssessment::Off,
                SelfAssessmentFile::Fresh => policy::SelfAssessment::Fresh,
                SelfAssessmentFile::Agent => policy::SelfAssessment::Agent,
            },
            reviewer: reviewer(&file.review.reviewer, "verification.review.reviewer")?,
            auditor: reviewer(&file.review.auditor, "verification.review.auditor")?,
            review: match file.review.when {
                ReviewWhen::Always => policy::Review::Always,
                ReviewWhen::Risky => policy::Review::Risky,
            },
            workflow: policy::Workflow {
                tests: required(file.workflow.tests),
                build: required(file.workflow.build),
                pull_request: required(file.workflow.pull_request),
                ci: required(file.workflow.ci),
            },
            max_turns: feedback.max_turns,
            nudge: if feedback.nudge { policy::Nudge::On } else { policy::Nudge::Off },
        })
    }

    fn judge(&self, named: &BTreeMap<String, policy::Agent>) -> Result<policy::Judge, ConfigError> {
        let (file, key) = (&self.file.verification.judge, "verification.judge");
        self.require(file.timeout_ms > 0, key, "has a `timeoutMs` of 0")?;
        let model = file.kind == JudgeKind::Model;
        let keys = [
            ("argv", !file.argv.is_empty(), file.kind == JudgeKind::Command),
            ("agent", file.agent.is_some(), file.kind == JudgeKind::Agent),
            ("model", file.model.is_some(), model),
            ("provider", file.provider.is_some(), model),
            ("models", !file.models.is_empty(), model),
            ("baseUrl", file.base_url.is_some(), model),
            ("keyEnv", file.key_env.is_some(), model),
        ];
        self.all_used(key, "a judge", keys.into_iter())?;
        let timeout = Duration::from_millis(file.timeout_ms);
        Ok(match file.kind {
            JudgeKind::None => policy::Judge::None,
            JudgeKind::Command => {
                self.require(
                    !file.argv.is_empty(),
                    key,
                    "is a command and needs `argv`, a list of program and arguments",
                )?;
                policy::Judge::Command { argv: file.argv.clone() }
            }
            JudgeKind::Agent => {
                let Some(name) = &file.agent else {
                    return Err(self.wrong(key, format!("`{key}` needs an `agent`, a name under `agents`")));
                };
                self.answering_agent(named, name, key)?;
                policy::Judge::Agent { name: name.clone() }
            }
            JudgeKind::Model => self.judging_model(named, key, timeout)?,
        })
    }

    fn judging_model(
        &self,
        named: &BTreeMap<String, policy::Agent>,
        key: &str,
        timeout: Duration,
    ) -> Result<policy::Judge, ConfigError> {
        let file = &self.file.verification.judge;
        if let Some(name) = &file.model {
            let alone =
                file.provider.is_none() && file.models.is_empty() && file.base_url.is_none() && file.key_env.is_none();
            self.require(alone, key, "has a `model`: its provider, host and key stand under `models`")?;
            let Some(model) = self.named_model(name, named, timeout)? else {
                let hint = match nearest(name, self.file.models.keys().map(String::as_str)) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("write \"models\": {{\"{name}\": {{\"provider\": …, \"model\": …}}}}"),
                };
                let message = format!("`{key}` names the model `{name}`, which is not under `models`; {hint}");
                return Err(self.wrong(key, message));
            };
            return Ok(policy::Judge::Model { models: vec![model.name.clone()], template: judging(model) });
        }
        let Some(provider) = file.provider else {
            return Err(self.wrong(key, format!("`{key}` needs a `model`, a name under `models`")));
        };
        let web = |url: &String| url.starts_with("http://") || url.starts_with("https://");
        let known = file.base_url.as_ref().is_none_or(web);
        self.require(known, key, "has a `baseUrl` that does not begin with http:// or https://")?;
        Ok(policy::Judge::Model {
            models: file.models.clone(),
            template: policy::Model {
                provider: provider.into(),
                name: String::new(),
                base_url: file.base_url.clone(),
                key_env: file.key_env.clone(),
                max_tokens: JUDGE_TOKENS,
                temperature_milli: None,
                structured: policy::Structured::On,
                limits: policy::Limits { timeout, concurrency: None, per_minute: None, retries: 2 },
            },
        })
    }

    /// A configured agent that can answer a question without changing anything.
    pub(super) fn answering_agent(
        &self,
        named: &BTreeMap<String, policy::Agent>,
        name: &str,
        key: &str,
    ) -> Result<(), ConfigError> {
        self.known_agent(named, name, key)?;
        let answers = !matches!(named[name].kind, policy::AgentKind::Repair | policy::AgentKind::Completion { .. });
        self.require(answers, key, &format!("names `{name}`, which only works and answers no questions"))
    }
}

/// A model that answers in a verdict, which is short.
fn judging(model: policy::Model) -> policy::Model {
    policy::Model { max_tokens: model.max_tokens.min(JUDGE_TOKENS), ..model }
}

fn required(file: RequiredFile) -> policy::Required {
    match file {
        RequiredFile::Auto => policy::Required::Auto,
        RequiredFile::Yes => policy::Required::Yes,
        RequiredFile::No => policy::Required::No,
    }
}
