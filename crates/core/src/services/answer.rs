//! Asking an agent a question, in place of giving it work, or a model for an answer of a given form.

use super::asked_place::AskedPlace;
use super::{
    AgentRequest, AgentWatch, Conversation, Earlier, Mode, Model, ModelError, ModelRequest, Subagent, SubagentError,
    UsageMeter,
};
use crate::domain::{Ending, RunId, SessionId, SubtaskId, TaskId, TranscriptItem, Usage, internal};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// An agent that only answers: read-only, in a single turn, in an empty directory that is thrown away, so that it finds nothing to
/// harm there. Only who is asked about its own work is asked where it worked.
///
/// What *read-only* means is the agent's own: some refuse to write, a program (`subagents::CommandAgent`)
/// knows nothing of it and has the rights of whoever starts it. What holds all of them is the project's sandbox.
///
/// *Who asks:* the agent generator, the agent judge, the self-assessment.
#[derive(Clone)]
pub struct AnsweringAgent {
    agent: Arc<dyn Subagent>,
    /// Where the directories are made in which it is asked.
    places: Option<PathBuf>,
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
    /// It is about what the agent itself did; none: in a new conversation.
    pub own: Option<OwnWork>,
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

impl AnsweringAgent {
    /// The agent, if it can only answer. What it `cannot` do otherwise, and what to do instead, goes into the error.
    ///
    /// # Errors
    /// [`SubagentError::Unsupported`] if it has no read-only mode: who only answers must not be able to change anything.
    pub fn new(name: &str, agent: Arc<dyn Subagent>, cannot: &str) -> Result<Self, SubagentError> {
        if agent.abilities().read_only {
            return Ok(Self { agent, places: None });
        }
        let message = format!("it has no read-only mode, so it cannot {cannot}");
        Err(SubagentError::Unsupported { agent: name.to_owned(), message })
    }

    /// The same, asked in directories below this one, which is the runtime's own: there no other agent in a sandbox writes to what is asked, and
    /// the next run knows what a killed process left. Without it, it is asked among the system's temporary files.
    #[must_use]
    pub fn asked_in(self, places: PathBuf) -> Self {
        Self { places: Some(places), ..self }
    }

    /// Whether it can be asked about its own work: in a copy of its conversation.
    #[must_use]
    pub fn knows_own_work(&self) -> bool {
        self.agent.abilities().fork
    }

    /// Its closing message. What it used is counted whether it answers, fails, or is dropped.
    ///
    /// # Errors
    /// Why there is none, in words: every other ending than `finished` is an error.
    pub async fn ask(&self, question: AgentQuestion, spent: &UsageMeter) -> Result<String, String> {
        let place = AskedPlace::make(question.purpose, self.places.as_deref()).map_err(|error| error.to_string())?;
        // Whoever finds this conversation among others knows that it is one of the runtime's own.
        let prompt = internal(&question.prompt);
        let empty = place.path().join("empty");
        let prompt_file = place.path().join("prompt.md");
        tokio::fs::create_dir(&empty).await.map_err(|error| error.to_string())?;
        tokio::fs::write(&prompt_file, &prompt).await.map_err(|error| error.to_string())?;
        let (conversation, dir) = match question.own {
            None => (Conversation::New, empty),
            Some(own) => (Conversation::Fork(own.conversation), own.dir),
        };
        let turns = Arc::new(Turns::default());
        let mut bill = Bill { spent, turns: Arc::clone(&turns), reported: Usage::default() };
        let request = AgentRequest {
            run: RunId::new(question.purpose).map_err(|error| error.to_string())?,
            task: question.task,
            subtask: question.subtask,
            attempt: question.attempt,
            session: question.session,
            prompt,
            prompt_file,
            dir,
            mode: Mode::ReadOnly,
            env: BTreeMap::new(),
            conversation,
            protect: Vec::new(),
            watch: turns,
            cancel: CancellationToken::new(),
        };
        let report = self.agent.run(request).await.map_err(|error| error.to_string())?;
        bill.reported = report.usage;
        if report.ending != Ending::Finished {
            let detail = report.detail.map_or(String::new(), |detail| format!(": {detail}"));
            return Err(format!("the agent run ended: {}{detail}", report.ending.as_str()));
        }
        Ok(report.message)
    }
}

/// Asks a model, and reads its answer; asks once more, with the reason, where that cannot be read: several servers accept a
/// schema and ignore it. `again` makes the second prompt of the first one and what is wrong with the answer.
///
/// What every answer used is counted, also that of one that is of no use.
///
/// # Errors
/// The outer one is the model's; the inner one says why the second answer cannot be read.
pub async fn ask_model<T, E>(
    model: &dyn Model,
    question: ModelRequest,
    read: impl Fn(&str) -> Result<T, E>,
    again: impl Fn(&str, &E) -> String,
    spent: &UsageMeter,
) -> Result<Result<T, E>, ModelError> {
    let first = model.complete(question.clone()).await?;
    spent.add(first.usage);
    let prompt = match read(&first.text) {
        Ok(answer) => return Ok(Ok(answer)),
        Err(error) => again(&question.prompt, &error),
    };
    let second = model.complete(ModelRequest { prompt, ..question }).await?;
    spent.add(second.usage);
    Ok(read(&second.text))
}

/// What the agent used in each turn, added up.
#[derive(Default)]
struct Turns(UsageMeter);

impl AgentWatch for Turns {
    fn step(&self, item: TranscriptItem, _: Option<String>) {
        if let TranscriptItem::Turn { usage } = item {
            self.0.add(usage);
        }
    }
}

/// Settles what the agent used when its run is over, also when that is dropped at its time limit: what it reports at
/// its end, else the sum of its turns.
struct Bill<'a> {
    spent: &'a UsageMeter,
    turns: Arc<Turns>,
    reported: Usage,
}

impl Drop for Bill<'_> {
    fn drop(&mut self) {
        let known = if self.reported.is_unknown() { self.turns.0.total() } else { self.reported };
        self.spent.add(known);
    }
}
