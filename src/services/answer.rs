//! Asking an agent a question, in place of giving it work.

use super::AgentRequest;
use super::Conversation;
use super::Mode;
use super::Subagent;
use super::SubagentError;
use super::Unwatched;
use crate::domain::Ending;
use crate::domain::RunId;
use crate::domain::SessionId;
use crate::domain::SubtaskId;
use crate::domain::TaskId;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// An agent that only answers: read-only, in a single turn, in an empty directory that is thrown away. Whatever it does,
/// it finds nothing to harm.
///
/// *Who asks:* the agent generator and the agent judge.
#[derive(Clone)]
pub struct AnsweringAgent {
    agent: Arc<dyn Subagent>,
}

/// A question to an agent, and in whose name it is asked.
#[derive(Debug, Clone)]
pub struct AgentQuestion {
    /// What is asked.
    pub prompt: String,
    /// What for, as the run of this agent run: `reflect`, `judge`.
    pub purpose: &'static str,
    /// The task that it is about.
    pub task: TaskId,
    /// The subtask.
    pub subtask: SubtaskId,
    /// The attempt.
    pub attempt: u32,
    /// This agent run.
    pub session: SessionId,
}

impl AnsweringAgent {
    /// The agent, if it can only answer. `what` it is to do and the `key` of `project.json` that names it go into the
    /// error.
    ///
    /// # Errors
    /// [`SubagentError::Unsupported`] if it has no read-only mode: who only answers must not be able to change anything.
    pub fn new(name: &str, agent: Arc<dyn Subagent>, what: &str, key: &str) -> Result<Self, SubagentError> {
        if agent.abilities().read_only {
            return Ok(Self { agent });
        }
        let message = format!("it has no read-only mode, so it cannot {what}; name another agent in `{key}`");
        Err(SubagentError::Unsupported { agent: name.to_owned(), message })
    }

    /// Its closing message.
    ///
    /// # Errors
    /// Why there is none, in words: every other ending than `finished` is an error.
    pub async fn ask(&self, question: AgentQuestion) -> Result<String, String> {
        let place = tempfile::Builder::new()
            .prefix(&format!("reflexion-{}-", question.purpose))
            .tempdir()
            .map_err(|error| error.to_string())?;
        let dir = place.path().join("empty");
        let prompt_file = place.path().join("prompt.md");
        tokio::fs::create_dir(&dir).await.map_err(|error| error.to_string())?;
        tokio::fs::write(&prompt_file, &question.prompt).await.map_err(|error| error.to_string())?;
        let request = AgentRequest {
            run: RunId::new(question.purpose).map_err(|error| error.to_string())?,
            task: question.task,
            subtask: question.subtask,
            attempt: question.attempt,
            session: question.session,
            prompt: question.prompt,
            prompt_file,
            dir,
            mode: Mode::ReadOnly,
            env: BTreeMap::new(),
            conversation: Conversation::New,
            protect: Vec::new(),
            watch: Arc::new(Unwatched),
            cancel: CancellationToken::new(),
        };
        let report = self.agent.run(request).await.map_err(|error| error.to_string())?;
        if report.ending != Ending::Finished {
            let detail = report.detail.map_or(String::new(), |detail| format!(": {detail}"));
            return Err(format!("the agent run ended: {}{detail}", report.ending.as_str()));
        }
        Ok(report.message)
    }
}
