//! An agent that is asked a question, in place of being given work.

use super::place::AskedPlace;
use crate::domain::{Ending, RunId, SessionId, SubtaskId, TaskId, TranscriptItem, Usage, internal};
use crate::services::{
    Accepts, AgentRequest, AgentWatch, AskError, Attempted, Clock, Conversation, Mode, Question, Respondent, Subagent,
    UsageMeter,
};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// An agent that only answers: read-only, in a single turn, in an empty directory that is thrown away, so that it finds nothing to
/// harm there. Only who is asked about its own work is asked where it worked.
///
/// What *read-only* means is the agent's own: some refuse to write, a program ([`CommandAgent`](crate::subagents::CommandAgent))
/// knows nothing of it and has the rights of whoever starts it. What holds all of them is the project's sandbox.
///
/// Its closing message is the answer; every other ending than `finished` is an error. What it used is counted whether it answers, fails, or
/// is dropped.
pub(super) struct AgentRespondent {
    pub agent: Arc<dyn Subagent>,
    /// Where the directories are made in which it is asked.
    pub places: PathBuf,
    /// Gives each of its runs a name of its own.
    pub clock: Arc<dyn Clock>,
}

#[async_trait]
impl Respondent for AgentRespondent {
    async fn answer<'a>(
        &self,
        question: &Question,
        accepts: &'a Accepts<'a>,
        spent: &UsageMeter,
    ) -> Result<String, AskError> {
        let place = AskedPlace::make(question.purpose, &self.places).map_err(failed)?;
        let turns = Arc::new(Turns::default());
        let mut bill = Bill { spent, turns: Arc::clone(&turns), reported: Usage::default() };
        let request = self.request(question, &place, turns).await?;
        let report = self.agent.run(request).await.map_err(failed)?;
        bill.reported = report.usage;
        if report.ending != Ending::Finished {
            let detail = report.detail.map_or(String::new(), |detail| format!(": {detail}"));
            return Err(AskError::Failed(format!("the agent run ended: {}{detail}", report.ending.as_str())));
        }
        accepts(&report.message).map_err(AskError::Unreadable)?;
        Ok(report.message)
    }
}

impl AgentRespondent {
    async fn request(
        &self,
        question: &Question,
        place: &AskedPlace,
        turns: Arc<Turns>,
    ) -> Result<AgentRequest, AskError> {
        // Whoever finds this conversation among others knows that it is one of the runtime's own.
        let prompt = internal(&question.prompt);
        let empty = place.path().join("empty");
        let prompt_file = place.path().join("prompt.md");
        tokio::fs::create_dir(&empty).await.map_err(failed)?;
        tokio::fs::write(&prompt_file, &prompt).await.map_err(failed)?;
        let (conversation, dir) = match question.own.clone() {
            None => (Conversation::New, empty),
            Some(own) => (Conversation::Fork(own.conversation), own.dir),
        };
        let about = match question.about.clone() {
            Some(about) => about,
            None => Attempted {
                task: TaskId::new(question.purpose).map_err(failed)?,
                subtask: SubtaskId::new(question.purpose).map_err(failed)?,
                attempt: 1,
            },
        };
        Ok(AgentRequest {
            run: RunId::new(question.purpose).map_err(failed)?,
            task: about.task,
            subtask: about.subtask,
            attempt: about.attempt,
            session: SessionId::new(format!("{}-{}", question.purpose, self.clock.new_id())),
            prompt,
            prompt_file,
            dir,
            mode: Mode::ReadOnly,
            env: BTreeMap::new(),
            conversation,
            protect: Vec::new(),
            watch: turns,
            cancel: CancellationToken::new(),
        })
    }
}

fn failed(error: impl std::fmt::Display) -> AskError {
    AskError::Failed(error.to_string())
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
