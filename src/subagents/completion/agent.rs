//! A language model without tools: it answers with whole files.

use crate::domain::AgentReport;
use crate::domain::policy::Model;
use crate::services::AgentRequest;
use crate::services::Clock;
use crate::services::Models;
use crate::services::RetryFrom;
use crate::services::Subagent;
use crate::services::SubagentError;
use async_trait::async_trait;
use std::sync::Arc;

/// A language model without tools: it answers with whole files.
pub struct CompletionAgent {
    params: CompletionAgentParams,
}

/// What a [`CompletionAgent`] is made of.
pub struct CompletionAgentParams {
    /// How messages call it.
    pub name: String,
    /// Which model, and how it is asked.
    pub model: Model,
    /// Opens it.
    pub models: Arc<dyn Models>,
    /// Turns waits into reset times.
    pub clock: Arc<dyn Clock>,
}

#[async_trait]
impl Subagent for CompletionAgent {
    async fn run(&self, _: AgentRequest) -> Result<AgentReport, SubagentError> {
        Err(SubagentError::Unsupported { agent: self.params.name.clone(), message: "not yet".to_owned() })
    }

    fn retry_from(&self) -> RetryFrom {
        RetryFrom::Base
    }
}

impl CompletionAgent {
    /// An agent of one model.
    #[must_use]
    pub fn new(params: CompletionAgentParams) -> Self {
        Self { params }
    }
}
