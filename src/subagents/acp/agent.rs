//! Any program that speaks the Agent Client Protocol.

use crate::domain::AgentReport;
use crate::domain::policy::AgentOptions;
use crate::services::AgentRequest;
use crate::services::CommandRunner;
use crate::services::RetryFrom;
use crate::services::Subagent;
use crate::services::SubagentError;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Any program that speaks the Agent Client Protocol.
pub struct AcpAgent {
    params: AcpAgentParams,
}

/// What a [`AcpAgent`] is made of.
pub struct AcpAgentParams {
    /// How messages call it.
    pub name: String,
    /// Program and arguments.
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
}

#[async_trait]
impl Subagent for AcpAgent {
    async fn run(&self, _: AgentRequest) -> Result<AgentReport, SubagentError> {
        Err(SubagentError::Unsupported { agent: self.params.name.clone(), message: "not yet".to_owned() })
    }

    fn retry_from(&self) -> RetryFrom {
        RetryFrom::Change
    }
}

impl AcpAgent {
    /// An agent of one program.
    #[must_use]
    pub fn new(params: AcpAgentParams) -> Self {
        Self { params }
    }
}
