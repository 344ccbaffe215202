//! The configured agents, each behind its policies.

use super::policies::guarded_agent;
use super::redacted::RedactedAgent;
use crate::domain::AgentReport;
use crate::domain::policy;
use crate::domain::policy::AgentKind;
use crate::repair::Repair;
use crate::services::{
    AgentRequest, Clock, Command, CommandError, CommandOutput, CommandRunner, Models, RetryFrom, Sandboxed, Settings,
    Subagent, SubagentError, Subagents, Watch,
};
use crate::subagents::{
    AcpAgent, AcpAgentParams, CliAgent, CliAgentParams, CommandAgent, CommandAgentParams, CompletionAgent,
    CompletionAgentParams,
};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What agents are made of.
pub(super) struct Parts {
    /// Runs their programs.
    pub runner: Arc<dyn CommandRunner>,
    /// Answers `completion` agents.
    pub models: Arc<dyn Models>,
    /// Tells reset times.
    pub clock: Arc<dyn Clock>,
}

/// Every agent of the settings by name.
pub(super) struct AgentSet(BTreeMap<String, Arc<dyn Subagent>>);

impl AgentSet {
    pub fn new(settings: &dyn Settings, parts: &Parts) -> Result<Self, SubagentError> {
        let parts = Parts {
            runner: Arc::new(InSandbox(Arc::clone(&parts.runner))),
            models: Arc::clone(&parts.models),
            clock: Arc::clone(&parts.clock),
        };
        let make = |(name, agent): (&String, &policy::Agent)| Ok((name.clone(), make(name, agent, settings, &parts)?));
        Ok(Self(settings.agents().named.iter().map(make).collect::<Result<_, SubagentError>>()?))
    }
}

/// Starts whatever an agent of any kind is made of in the project's sandbox, also where the agent is only asked something,
/// outside of any workspace.
struct InSandbox(Arc<dyn CommandRunner>);

#[async_trait]
impl CommandRunner for InSandbox {
    async fn run(&self, command: Command) -> Result<CommandOutput, CommandError> {
        self.0.run(Command { sandboxed: Sandboxed::Always, ..command }).await
    }

    async fn run_watched(&self, command: Command, watch: Watch) -> Result<CommandOutput, CommandError> {
        self.0.run_watched(Command { sandboxed: Sandboxed::Always, ..command }, watch).await
    }
}

fn make(
    name: &str,
    agent: &policy::Agent,
    settings: &dyn Settings,
    parts: &Parts,
) -> Result<Arc<dyn Subagent>, SubagentError> {
    let runner = &parts.runner;
    let inner: Arc<dyn Subagent> = match &agent.kind {
        AgentKind::Command { argv } => Arc::new(CommandAgent::new(CommandAgentParams {
            name: name.to_owned(),
            argv: argv.clone(),
            timeout: agent.limits.timeout,
            env: agent.env.clone(),
            env_deny: settings.environment().deny.clone(),
            runner: Arc::clone(runner),
        })),
        AgentKind::Repair => Arc::new(Repair),
        AgentKind::Given => Arc::new(NotGiven(name.to_owned())),
        AgentKind::Cli { adapter, argv, options } => Arc::new(CliAgent::new(CliAgentParams {
            name: name.to_owned(),
            adapter: adapter.clone(),
            argv: argv.clone(),
            options: options.clone(),
            timeout: agent.limits.timeout,
            idle: agent.idle,
            env: agent.env.clone(),
            env_deny: settings.environment().deny.clone(),
            runner: Arc::clone(runner),
            clock: Arc::clone(&parts.clock),
        })?),
        AgentKind::Acp { argv, options } => Arc::new(AcpAgent::new(AcpAgentParams {
            name: name.to_owned(),
            argv: argv.clone(),
            options: options.clone(),
            timeout: agent.limits.timeout,
            idle: agent.idle,
            env: agent.env.clone(),
            env_deny: settings.environment().deny.clone(),
            runner: Arc::clone(runner),
            clock: Arc::clone(&parts.clock),
        })),
        AgentKind::Completion { model } => Arc::new(CompletionAgent::new(CompletionAgentParams {
            name: name.to_owned(),
            model: model.clone(),
            models: Arc::clone(&parts.models),
            clock: Arc::clone(&parts.clock),
        })),
    };
    Ok(guarded_agent(name, Arc::new(RedactedAgent(inner)), &agent.limits))
}

/// Stands where the settings of a program of its own have an agent that it did not bring.
struct NotGiven(String);

#[async_trait]
impl Subagent for NotGiven {
    async fn run(&self, _: AgentRequest) -> Result<AgentReport, SubagentError> {
        let message = "the program that names it does not bring it".to_owned();
        Err(SubagentError::Missing { agent: self.0.clone(), message })
    }

    fn retry_from(&self) -> RetryFrom {
        RetryFrom::Change
    }
}

impl Subagents for AgentSet {
    fn get(&self, name: &str) -> Result<Arc<dyn Subagent>, SubagentError> {
        self.0
            .get(name)
            .cloned()
            .ok_or_else(|| SubagentError::Unknown { name: name.to_owned(), known: self.0.keys().cloned().collect() })
    }
}
