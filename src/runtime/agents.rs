//! The configured agents, each behind its policies.

use crate::domain::policy;
use crate::domain::policy::AgentKind;
use crate::services::CommandRunner;
use crate::services::Settings;
use crate::services::Subagent;
use crate::services::SubagentError;
use crate::services::Subagents;
use crate::subagents::CommandAgent;
use crate::subagents::CommandAgentParams;
use crate::subagents::Repair;
use crate::subagents::with_deadline;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Every agent of the settings by name.
pub(super) struct AgentSet(BTreeMap<String, Arc<dyn Subagent>>);

impl AgentSet {
    pub fn new(settings: &dyn Settings, runner: &Arc<dyn CommandRunner>) -> Self {
        let make = |(name, agent): (&String, &policy::Agent)| (name.clone(), make(name, agent, settings, runner));
        Self(settings.agents().named.iter().map(make).collect())
    }
}

fn make(
    name: &str,
    agent: &policy::Agent,
    settings: &dyn Settings,
    runner: &Arc<dyn CommandRunner>,
) -> Arc<dyn Subagent> {
    let inner: Arc<dyn Subagent> = match &agent.kind {
        AgentKind::Command { argv } => Arc::new(CommandAgent::new(CommandAgentParams {
            name: name.to_owned(),
            argv: argv.clone(),
            timeout: agent.timeout,
            env: agent.env.clone(),
            env_deny: settings.environment().deny.clone(),
            runner: Arc::clone(runner),
        })),
        AgentKind::Repair => Arc::new(Repair),
    };
    with_deadline(inner, agent.timeout)
}

impl Subagents for AgentSet {
    fn get(&self, name: &str) -> Result<Arc<dyn Subagent>, SubagentError> {
        self.0
            .get(name)
            .cloned()
            .ok_or_else(|| SubagentError::Unknown { name: name.to_owned(), known: self.0.keys().cloned().collect() })
    }
}
