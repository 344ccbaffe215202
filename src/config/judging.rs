//! The blocks `verification`, `risk`, `feedback` and `routing` of `project.json`: who decides whether a turn ended with the task
//! done, and what follows if not.

use super::effective::Effective;
use super::error::{ConfigError, nearest};
use super::wire::{JudgeKind, OneOrMany, RequiredFile, ReviewWhen, RoutingFile, SelfAssessmentFile};
use crate::domain::policy;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a judge may write: a verdict, many times over.
const JUDGE_TOKENS: u32 = 2048;

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
