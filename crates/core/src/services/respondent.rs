//! Putting a question to somebody who answers in a given form: a program, an agent or a language model.

use super::{Earlier, SubagentError, UsageMeter};
use crate::domain::{SubtaskId, TaskId, policy};
use async_trait::async_trait;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The file in each directory in which an agent is asked that whoever asks holds locked: where nobody does, the asking process is dead.
pub const HELD: &str = ".held";

/// Whoever answers questions: generators of reflections, judges, reviewers and decomposers are prompts, schemas and readers over it.
///
/// *Who calls:* [`ask`]. *Promise:* an answer is one that `accepts` took, and everything else an error; tokens and money are added to
/// `spent` as soon as they are known, because it may fail or be dropped afterwards. Asking again may give another answer and costs again.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Respondent: Send + Sync {
    /// The text of an answer that `accepts` took. Its error says what cannot be read.
    ///
    /// # Errors
    /// [`AskError`].
    async fn answer<'a>(
        &self,
        question: &Question,
        accepts: &'a Accepts<'a>,
        spent: &UsageMeter,
    ) -> Result<String, AskError>;
}

/// Whether an answer can be read, and if not, why.
pub type Accepts<'a> = dyn Fn(&str) -> Result<(), String> + Send + Sync + 'a;

/// Opens whoever the settings name, each behind one time limit, one second try for an answer that cannot be read, and the answers of the
/// last minute.
#[cfg_attr(feature = "testing", mockall::automock)]
pub trait Respondents: Send + Sync {
    /// Nobody is asked yet. `limit` is how long one question may take, every try and wait in it.
    ///
    /// # Errors
    /// [`SubagentError`] if there is no such agent, or it cannot only answer: who answers must not be able to change anything.
    fn open(&self, who: Who, limit: Duration) -> Result<Arc<dyn Respondent>, SubagentError>;

    /// The agent of this name, to be asked about what it did itself ([`Question::own`]).
    ///
    /// # Errors
    /// Why it cannot be asked, in words.
    fn author(&self, name: &str, limit: Duration) -> Result<Arc<dyn Respondent>, String>;
}

/// Somebody who can be asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Who {
    /// A program: [`Question::data`] as JSON on stdin, the answer on stdout, exit status 0. It is asked once.
    Program {
        /// Program and arguments.
        argv: Vec<String>,
    },
    /// A configured agent: read-only, in a single turn, in an empty directory that is thrown away. Its closing message is the answer.
    Agent {
        /// Its name.
        name: String,
        /// What it could not do without a read-only mode, and what to do instead, for the error.
        cannot: String,
    },
    /// A language model, held to the schema where the provider can be.
    Model {
        /// Names in order of preference; the first that the provider offers is asked. Empty: the fast ones of the provider.
        wanted: Vec<String>,
        /// How it is asked; its name is not looked at.
        template: policy::Model,
    },
}

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What for: `reflect`, `judge`, `decompose`. An agent's run has this name.
    pub purpose: &'static str,
    /// The whole prompt, for agents and models.
    pub prompt: String,
    /// The JSON Schema that the answer must fit. Several servers accept a schema and ignore it, so the answer is read as any text is.
    pub schema: Value,
    /// The same question as data, for programs.
    pub data: Value,
    /// Added to the environment of programs.
    pub env: BTreeMap<String, String>,
    /// The work that it is about, where it is one attempt's.
    pub about: Option<Attempted>,
    /// It is about what the agent itself did; none: in a new conversation.
    pub own: Option<OwnWork>,
}

/// An attempt that a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempted {
    /// The task.
    pub task: TaskId,
    /// The subtask.
    pub subtask: SubtaskId,
    /// The attempt's number.
    pub attempt: u32,
}

/// What an agent did, in a conversation that it can be asked about.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnWork {
    /// The conversation. A copy of it is asked, so that it stays as it is.
    pub conversation: Earlier,
    /// Where it worked; agents find their conversations there. Whoever asks has recorded what it changed, and looks after
    /// what it must not touch.
    pub dir: PathBuf,
}

/// Nobody answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// It took too long.
    #[error("no answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// It could not be asked, or reported an error.
    #[error("{0}")]
    Failed(String),
    /// The answer is not of the form that was asked for.
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
}

/// Asks, and reads the answer.
///
/// # Errors
/// [`AskError`]; `read` says why an answer cannot be read.
pub async fn ask<T>(
    who: &dyn Respondent,
    question: &Question,
    read: impl Fn(&str) -> Result<T, String> + Send + Sync,
    spent: &UsageMeter,
) -> Result<T, AskError> {
    let text = who.answer(question, &|text| read(text).map(drop), spent).await?;
    read(&text).map_err(AskError::Unreadable)
}
