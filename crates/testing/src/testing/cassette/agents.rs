//! Agents on tape.

use super::normalise::{Place, Secrets, retold};
use super::request::AgentCall;
use super::tape::CassetteError;
use super::wire::{Outcome, Record, Step};
use super::{Cassette, changes};
use crate::domain::{AgentReport, TranscriptItem};
use crate::layer::Svc;
use crate::services::{Abilities, AgentRequest, AgentWatch, RetryFrom, Subagent, SubagentError, Subagents};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError};

/// A set of agents: live ones while recording.
pub(super) struct TapedAgents {
    pub cassette: Cassette,
    pub live: Option<Svc<dyn Subagents>>,
}

impl Subagents for TapedAgents {
    fn get(&self, name: &str) -> Result<Arc<dyn Subagent>, SubagentError> {
        if let Some(live) = &self.live {
            return Ok(taped_agent(&self.cassette, name, Some(live.get(name)?)));
        }
        let known = self.cassette.tape.agents();
        if known.iter().any(|known| known == name) {
            Ok(taped_agent(&self.cassette, name, None))
        } else {
            Err(SubagentError::Unknown { name: name.to_owned(), known })
        }
    }
}

/// One agent under its name: a live one to record, or the recorded one.
///
/// # Panics
/// Without a recorded agent of this name, or if it cannot be written.
pub(super) fn taped_agent(cassette: &Cassette, name: &str, live: Option<Arc<dyn Subagent>>) -> Arc<dyn Subagent> {
    let (cassette, name) = (cassette.clone(), name.to_owned());
    if let Some(live) = live {
        let (retry_from, abilities) = (live.retry_from(), live.abilities());
        written(cassette.tape.write(&Record::Agent { name: name.clone(), retry_from, abilities }));
        return Arc::new(RecordedAgent { cassette, name, live });
    }
    let Some((retry_from, abilities)) = cassette.tape.agent(&name) else {
        let tape = cassette.tape.name();
        panic!("{tape} has no recording of an agent `{name}`; record it again with `Cassette::record`");
    };
    Arc::new(ReplayedAgent { cassette, name, retry_from, abilities })
}

/// Recording is all or nothing: a cassette with a gap would be found out much later.
pub(super) fn written(result: Result<(), CassetteError>) {
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// Runs the live agent and writes down what it does.
struct RecordedAgent {
    cassette: Cassette,
    name: String,
    live: Arc<dyn Subagent>,
}

impl RecordedAgent {
    /// What was read of the directory; a change that cannot be recorded cannot be replayed.
    fn done<T>(&self, call: &AgentCall, result: Result<T, String>) -> T {
        result.unwrap_or_else(|message| panic!("{}: {}: {message}", self.cassette.tape.name(), call.name()))
    }
}

/// Passes steps on, and keeps them.
struct Listening {
    watch: Arc<dyn AgentWatch>,
    steps: Mutex<Vec<Step>>,
}

impl AgentWatch for Listening {
    fn step(&self, item: TranscriptItem, parent: Option<String>) {
        let step = Step { parent: parent.clone(), item: item.clone() };
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).push(step);
        self.watch.step(item, parent);
    }
}

#[async_trait]
impl Subagent for RecordedAgent {
    async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
        let Cassette { tape, normaliser, files } = &self.cassette;
        let call = AgentCall::new(&self.name, &request, normaliser);
        let (place, secrets, dir) = (Place::of(&request), Secrets::of(&request.env), request.dir.clone());
        let before = self.done(&call, files.look(&dir));
        let listening = Arc::new(Listening { watch: Arc::clone(&request.watch), steps: Mutex::default() });
        let result = self.live.run(AgentRequest { watch: listening.clone(), ..request }).await;
        let changes = self.done(&call, files.changes(&dir, &before, &secrets));
        let steps = std::mem::take(&mut *listening.steps.lock().unwrap_or_else(PoisonError::into_inner));
        let outcome = match &result {
            Ok(report) => Outcome::Report(report.clone()),
            Err(error) => Outcome::Error(error.clone()),
        };
        let told = |text: &str| secrets.hide(&place.leave(text));
        let record = Record::AgentRun {
            steps: steps.iter().map(|step| retold(step, &told)).collect(),
            outcome: retold(&outcome, &told),
            request: call.clone(),
            changes,
        };
        written(tape.write(&record));
        result
    }

    fn retry_from(&self) -> RetryFrom {
        self.live.retry_from()
    }

    fn abilities(&self) -> Abilities {
        self.live.abilities()
    }
}

/// Does again what was recorded.
struct ReplayedAgent {
    cassette: Cassette,
    name: String,
    retry_from: RetryFrom,
    abilities: Abilities,
}

#[async_trait]
impl Subagent for ReplayedAgent {
    async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
        let Cassette { tape, normaliser, .. } = &self.cassette;
        let call = AgentCall::new(&self.name, &request, normaliser);
        let Record::AgentRun { steps, outcome, changes, .. } =
            tape.play(&call.name(), &call.text(normaliser), normaliser)
        else {
            unreachable!("the text of an agent's request begins with its name");
        };
        let place = Place::of(&request);
        let here = |text: &str| place.enter(text);
        for step in &steps {
            let Step { item, parent } = retold(step, &here);
            request.watch.step(item, parent);
        }
        if let Err(message) = changes::make(&request.dir, &changes) {
            panic!("{}: {}: {message}", tape.name(), call.name());
        }
        match retold(&outcome, &here) {
            Outcome::Report(report) => Ok(report),
            Outcome::Error(error) => Err(error),
        }
    }

    fn retry_from(&self) -> RetryFrom {
        self.retry_from
    }

    fn abilities(&self) -> Abilities {
        self.abilities
    }
}
