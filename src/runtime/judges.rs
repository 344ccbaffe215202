//! Whoever is asked where the facts leave it open, built from the settings.

use crate::domain::policy;
use crate::services::{AnsweringAgent, Clock, CommandRunner, Judge, Models, Settings, SubagentError, Subagents};
use crate::verification::judging::{
    AgentJudge, Cached, CommandJudge, Deadline, FastModel, FastModelParams, Instructed, ModelJudge, NoJudge,
};
use std::sync::Arc;
use std::time::Duration;

/// What judges are made of.
pub(super) struct JudgeParts {
    /// Runs a judge that is a program.
    pub runner: Arc<dyn CommandRunner>,
    /// The configured agents, each behind its policies.
    pub subagents: Arc<dyn Subagents>,
    /// Language models, each behind its policies.
    pub models: Arc<dyn Models>,
    /// Says when an answer is old.
    pub clock: Arc<dyn Clock>,
}

/// The configured judge: the project's instructions, the cache, and the time limit around a program, an agent or a model.
pub(super) fn judge(settings: &dyn Settings, parts: JudgeParts) -> Result<Arc<dyn Judge>, SubagentError> {
    let limit = settings.verification().judge_timeout;
    let clock = parts.clock;
    let bare: Arc<dyn Judge> = match &settings.verification().judge {
        policy::Judge::None => return Ok(Arc::new(NoJudge)),
        policy::Judge::Command { argv } => Arc::new(CommandJudge {
            runner: parts.runner,
            argv: argv.clone(),
            dir: settings.project().root.clone(),
            env_deny: settings.environment().deny.clone(),
            timeout: limit,
        }),
        policy::Judge::Agent { name } => agent(name, "verification.judge.agent", settings, &*parts.subagents, &clock)?,
        policy::Judge::Model { models, template } => model(models.clone(), template.clone(), parts.models, &clock),
    };
    let cached = guarded(bare, limit, &clock);
    Ok(Arc::new(Instructed::new(cached, clock, settings.project().root.clone())))
}

/// Those who look at a change before it is confirmed, each if it is configured.
pub(super) struct Committee {
    /// Is the change right?
    pub reviewer: Option<Arc<dyn Judge>>,
    /// Is it safe, and what was specified?
    pub auditor: Option<Arc<dyn Judge>>,
}

/// The configured reviewer and auditor, each behind the cache and the time limit.
pub(super) fn committee(
    settings: &dyn Settings,
    subagents: &dyn Subagents,
    models: &Arc<dyn Models>,
    clock: &Arc<dyn Clock>,
) -> Result<Committee, SubagentError> {
    let verification = settings.verification();
    let member = |who: &Option<policy::Reviewer>, key: &str| -> Result<Option<Arc<dyn Judge>>, SubagentError> {
        let bare = match who {
            None => return Ok(None),
            Some(policy::Reviewer::Agent { name }) => agent(name, key, settings, subagents, clock)?,
            Some(policy::Reviewer::Model { model: one }) => {
                model(vec![one.name.clone()], one.clone(), Arc::clone(models), clock)
            }
        };
        Ok(Some(guarded(bare, verification.judge_timeout, clock)))
    };
    Ok(Committee {
        reviewer: member(&verification.reviewer, "verification.review.reviewer")?,
        auditor: member(&verification.auditor, "verification.review.auditor")?,
    })
}

fn model(
    wanted: Vec<String>,
    template: policy::Model,
    models: Arc<dyn Models>,
    clock: &Arc<dyn Clock>,
) -> Arc<dyn Judge> {
    let model = FastModel::new(FastModelParams { models, clock: Arc::clone(clock), wanted, template });
    Arc::new(ModelJudge { model })
}

fn agent(
    name: &str,
    key: &str,
    settings: &dyn Settings,
    subagents: &dyn Subagents,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<dyn Judge>, SubagentError> {
    let cannot = format!("judge; name another agent in `{key}`");
    let agent = AnsweringAgent::new(name, subagents.get(name)?, &cannot)?.asked_in(settings.project().asked_dir());
    Ok(Arc::new(AgentJudge { agent, clock: Arc::clone(clock), own: None }))
}

fn guarded(bare: Arc<dyn Judge>, limit: Duration, clock: &Arc<dyn Clock>) -> Arc<dyn Judge> {
    Arc::new(Cached::new(Arc::new(Deadline { inner: bare, limit }), Arc::clone(clock)))
}
