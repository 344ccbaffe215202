//! Any program that speaks the Agent Client Protocol.

use crate::domain::AgentReport;
use crate::domain::policy::AgentOptions;
#[cfg(feature = "acp")]
use crate::services::Abilities;
use crate::services::{AgentRequest, Clock, CommandRunner, RetryFrom, Subagent, SubagentError};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Any program that speaks the Agent Client Protocol, version 1.
///
/// It is offered neither files nor terminals and works with its own tools. Permissions that it asks for are given or
/// refused at once, as the policy says; every other request is answered with *method not found*. `max_turns` is counted
/// here, from the order of what it says. Whether it can go on with a conversation is seen when it is asked to.
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
    /// Its time limit, and when limits of its account are over.
    pub clock: Arc<dyn Clock>,
}

#[async_trait]
impl Subagent for AcpAgent {
    #[cfg(feature = "acp")]
    async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
        super::run::run(&self.params, request).await
    }

    #[cfg(not(feature = "acp"))]
    async fn run(&self, _: AgentRequest) -> Result<AgentReport, SubagentError> {
        let message = "this program was built without the feature `acp`; build it with `--features acp`".to_owned();
        Err(SubagentError::Unsupported { agent: self.params.name.clone(), message })
    }

    fn retry_from(&self) -> RetryFrom {
        RetryFrom::Change
    }

    #[cfg(feature = "acp")]
    fn abilities(&self) -> Abilities {
        Abilities { resume: true, fork: false, read_only: crate::streams::acp::has_read_only_mode(&self.params.argv) }
    }
}

impl AcpAgent {
    /// An agent of one program.
    #[must_use]
    pub fn new(params: AcpAgentParams) -> Self {
        Self { params }
    }
}
