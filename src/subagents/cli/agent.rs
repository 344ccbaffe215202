//! A coding agent's command-line program, driven by a description.

use crate::domain::AgentReport;
use crate::domain::policy::AgentOptions;
use crate::services::AgentRequest;
use crate::services::Clock;
use crate::services::CommandRunner;
use crate::services::RetryFrom;
use crate::services::Subagent;
use crate::services::SubagentError;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A coding agent's command-line program, driven by a description.
pub struct CliAgent {
    params: CliAgentParams,
}

/// What a [`CliAgent`] is made of.
pub struct CliAgentParams {
    /// How messages call it.
    pub name: String,
    /// The name of its description.
    pub adapter: String,
    /// Program and arguments; empty: the description's own program.
    pub argv: Vec<String>,
    /// How it is run.
    pub options: AgentOptions,
    /// Wall-clock limit of one agent run.
    pub timeout: Duration,
    /// An agent that prints nothing for so long hangs.
    pub idle: Option<Duration>,
    /// Added to its environment.
    pub env: BTreeMap<String, String>,
    /// Globs of inherited variables that it does not get.
    pub env_deny: Vec<String>,
    /// Runs it.
    pub runner: Arc<dyn CommandRunner>,
    /// Turns waits into reset times.
    pub clock: Arc<dyn Clock>,
}

#[async_trait]
impl Subagent for CliAgent {
    async fn run(&self, _: AgentRequest) -> Result<AgentReport, SubagentError> {
        Err(SubagentError::Unsupported { agent: self.params.name.clone(), message: "not yet".to_owned() })
    }

    fn retry_from(&self) -> RetryFrom {
        RetryFrom::Change
    }
}

impl CliAgent {
    /// The agent of a description.
    ///
    /// # Errors
    /// [`SubagentError::Unsupported`] if there is no such description.
    pub fn new(params: CliAgentParams) -> Result<Self, SubagentError> {
        Ok(Self { params })
    }
}
