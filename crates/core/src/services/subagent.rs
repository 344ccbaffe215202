//! Agents: whoever does the work.

use crate::domain::{AgentReport, RunId, SessionId, SubtaskId, TaskId, Usage};
use crate::services::AgentWatch;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A program that does the work.
///
/// *Who calls:* the orchestrator, once per agent run; the agent generator, in [`Mode::ReadOnly`]. *Promise:* when
/// `run` returns, nothing the agent started is left running. What it changed is found by looking at the workspace, not
/// by asking it.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Subagent: Send + Sync {
    /// Works on the request until the agent stops, its time limit, or cancellation.
    ///
    /// # Errors
    /// [`SubagentError`] if the agent could not be started; every other ending is data in the report.
    async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError>;

    /// What a retry of this agent starts from under `retry.start: auto`.
    fn retry_from(&self) -> RetryFrom;

    /// What else it can do.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }
}

/// What an agent can do beside working.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Abilities {
    /// It keeps its conversations and can go on with one.
    pub resume: bool,
    /// It can copy a conversation and go on with the copy.
    pub fork: bool,
    /// It has a read-only mode, so that it can answer without changing anything.
    pub read_only: bool,
}

/// What a retry starts from under `retry.start: auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryFrom {
    /// Always the base: the agent has no memory of its own and writes its whole answer again.
    Base,
    /// The previous attempt's change.
    Change,
}

/// The named set of configured agents; whoever picks one knows none of them.
#[cfg_attr(feature = "testing", mockall::automock)]
pub trait Subagents: Send + Sync {
    /// The agent of this name.
    ///
    /// # Errors
    /// [`SubagentError::Unknown`] with the names there are.
    fn get(&self, name: &str) -> Result<Arc<dyn Subagent>, SubagentError>;
}

/// One agent run.
#[derive(Clone)]
pub struct AgentRequest {
    /// The run.
    pub run: RunId,
    /// The task.
    pub task: TaskId,
    /// The subtask.
    pub subtask: SubtaskId,
    /// From 1, over all runs.
    pub attempt: u32,
    /// This agent run.
    pub session: SessionId,
    /// What the agent is told.
    pub prompt: String,
    /// The same text in a file outside the workspace.
    pub prompt_file: PathBuf,
    /// Where it works: the workspace, in the project's place of it.
    pub dir: PathBuf,
    /// Whether it may change anything.
    pub mode: Mode,
    /// Added to its environment.
    pub env: BTreeMap<String, String>,
    /// Whether it begins a conversation of its own, or goes on with an earlier one.
    pub conversation: Conversation,
    /// Globs, relative to the project, of files that may not be changed; a check after the agent enforces it, this is
    /// for agents whose files the runtime itself writes.
    pub protect: Vec<String>,
    /// Is told each step while the agent works.
    pub watch: Arc<dyn AgentWatch>,
    /// Ends it early.
    pub cancel: CancellationToken,
}

/// Which conversation of the agent's own an agent run belongs to.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Conversation {
    /// A new one: every attempt has its own.
    #[default]
    New,
    /// Goes on with an earlier one, where the agent can; else the agent refuses with [`SubagentError::Unsupported`].
    Resume(Earlier),
    /// A copy of an earlier one, which stays as it is.
    Fork(Earlier),
}

/// An earlier conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Earlier {
    /// The agent's own id of it, from [`AgentReport::agent_session`].
    pub agent_session: String,
    /// What it had used; some agents count it again.
    pub usage: Usage,
}

/// Whether an agent may change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It works.
    Work,
    /// Nothing may be changed: it only answers.
    ReadOnly,
}

/// The agent could not be started.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SubagentError {
    /// There is no agent of this name.
    #[error("there is no agent `{name}`; configured: {}", known.join(", "))]
    Unknown {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// Its program is not there.
    #[error("agent `{agent}` is missing: {message}")]
    Missing {
        /// The agent's name.
        agent: String,
        /// What to do about it.
        message: String,
    },
    /// It cannot do what is asked.
    #[error("agent `{agent}` cannot do this: {message}")]
    Unsupported {
        /// The agent's name.
        agent: String,
        /// What it cannot do.
        message: String,
    },
    /// The conversation to go on with is not there any more.
    #[error("agent `{agent}` knows no conversation `{conversation}`")]
    NoSuchConversation {
        /// The agent's name.
        agent: String,
        /// The conversation asked for.
        conversation: String,
    },
    /// It could not be run.
    #[error("failed to run agent `{agent}`: {message}")]
    Failed {
        /// The agent's name.
        agent: String,
        /// What the system says.
        message: String,
    },
}

/// An agent as a [`tower::Service`], so that its policies (time limit, concurrency, your own) are ordinary tower layers.
///
/// ```no_run
/// # use reflexion_core::services::{AgentService, Subagent};
/// # fn policies(agent: std::sync::Arc<dyn Subagent>) {
/// let limited = tower::ServiceBuilder::new().concurrency_limit(2).service(AgentService(agent));
/// # }
/// ```
#[derive(Clone)]
pub struct AgentService(pub Arc<dyn Subagent>);

impl tower::Service<AgentRequest> for AgentService {
    type Response = AgentReport;
    type Error = tower::BoxError;
    type Future = futures_util::future::BoxFuture<'static, Result<AgentReport, tower::BoxError>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: AgentRequest) -> Self::Future {
        let agent = Arc::clone(&self.0);
        Box::pin(async move { Ok(agent.run(request).await?) })
    }
}
