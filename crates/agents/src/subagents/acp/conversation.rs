//! One conversation: initialize, a session, its options, the prompt, and how it stops.

use super::session::{Choice, Session};
use super::wire::{Agent, AskError, VERSION};
use crate::domain::TranscriptItem;
use crate::services::{AgentRequest, Clock, Conversation as Asked, Mode};
use crate::streams::acp::{Failure, Listener, Phase, read_only_modes, work_modes};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How long an agent may take to answer after its turn was cancelled; then its process is ended.
const CANCEL_WAIT: Duration = Duration::from_secs(5);

/// What a conversation is held with.
pub(super) struct Conversation {
    pub agent: Agent,
    pub request: AgentRequest,
    pub model: Option<String>,
    pub system_prompt: Option<String>,
    pub timeout: Duration,
    pub clock: Arc<dyn Clock>,
    pub listener: Arc<Listener>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The agent's name of itself.
    pub agent: String,
    /// The agent's id of the session.
    pub session: Option<String>,
    /// Why it was stopped, if it was.
    pub stop: Option<Stop>,
    /// How it went.
    pub result: Option<Result<Value, Trouble>>,
}

/// Why a conversation is stopped from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The run was interrupted.
    Cancelled,
    /// The wall-clock limit.
    Timeout,
    /// A limit of the run that only the updates show.
    Limit,
}

/// Why there is no reply to the prompt.
#[derive(Debug)]
pub(super) enum Trouble {
    /// An error instead of an answer, and what was asked for.
    Refused { asked: &'static str, failure: Failure },
    /// The program ended, or closed its stdout.
    Ended { asked: &'static str },
    /// It cannot do what is asked.
    Unsupported(String),
    /// It does not know the earlier conversation.
    NoSuchConversation(String),
    /// It speaks another version of the protocol.
    Version(Value),
}

impl Conversation {
    /// Holds it to its end. An agent that does not answer is waited for until the time limit.
    pub async fn hold(self) -> Told {
        let mut told = Told::default();
        let limit = self.clock.sleep(self.timeout);
        tokio::pin!(limit);
        let opened = tokio::select! {
            biased;
            () = self.request.cancel.cancelled() => Err(Stop::Cancelled),
            () = &mut limit => Err(Stop::Timeout),
            opened = self.open(&mut told) => Ok(opened),
        };
        let session = match opened {
            Ok(Ok(session)) => session,
            Ok(Err(trouble)) => return Told { result: Some(Err(trouble)), ..told },
            Err(stop) => return Told { stop: Some(stop), ..told },
        };
        let answer = self.agent.ask("session/prompt", self.prompt(&session));
        tokio::pin!(answer);
        let stop = tokio::select! {
            biased;
            answer = &mut answer => return Told { result: Some(asked("session/prompt", answer)), ..told },
            () = self.request.cancel.cancelled() => Stop::Cancelled,
            () = &mut limit => Stop::Timeout,
            () = self.listener.over_limit.cancelled() => Stop::Limit,
        };
        self.listener.enter(Phase::Cancelled);
        self.agent.tell("session/cancel", json!({"sessionId": session.id}));
        let result = tokio::select! {
            biased;
            answer = answer => Some(asked("session/prompt", answer)),
            () = self.clock.sleep(CANCEL_WAIT) => None,
        };
        Told { stop: Some(stop), result, ..told }
    }

    /// Everything before the prompt.
    async fn open(&self, told: &mut Told) -> Result<Session, Trouble> {
        let about = self.ask("initialize", initialize()).await?;
        if about["protocolVersion"] != json!(VERSION) {
            return Err(Trouble::Version(about["protocolVersion"].clone()));
        }
        told.agent = about["agentInfo"]["name"].as_str().unwrap_or_default().to_owned();
        let session = self.session(&about["agentCapabilities"]).await?;
        told.session = Some(session.id.clone());
        let model = session.current(Choice::Model).map(str::to_owned);
        let model = self.model.clone().or(model);
        self.listener.step(TranscriptItem::Session { agent_session: session.id.clone(), model });
        self.choose_model(&session).await?;
        self.choose_mode(&session).await?;
        self.listener.enter(Phase::Working);
        Ok(session)
    }

    async fn ask(&self, method: &'static str, params: Value) -> Result<Value, Trouble> {
        asked(method, self.agent.ask(method, params).await)
    }

    /// A new session, or the earlier one: `session/resume` where there is it, for `session/load` tells all of it again.
    async fn session(&self, can: &Value) -> Result<Session, Trouble> {
        let dir = std::path::absolute(&self.request.dir).unwrap_or_else(|_| self.request.dir.clone());
        let place = json!({"cwd": dir.to_string_lossy(), "mcpServers": []});
        let earlier = match &self.request.conversation {
            Asked::New => {
                let offer = self.ask("session/new", place).await?;
                let id = offer["sessionId"].as_str().unwrap_or_default().to_owned();
                return Ok(Session::new(id, offer));
            }
            Asked::Resume(earlier) => earlier.agent_session.clone(),
            Asked::Fork(_) => return Err(Trouble::Unsupported("it cannot copy a conversation".to_owned())),
        };
        let method = match can {
            can if !can["sessionCapabilities"]["resume"].is_null() => "session/resume",
            can if can["loadSession"] == true => "session/load",
            _ => return Err(Trouble::Unsupported("it does not keep its conversations".to_owned())),
        };
        let mut params = place;
        params["sessionId"] = json!(earlier);
        match self.ask(method, params).await {
            Ok(offer) => Ok(Session::new(earlier, offer)),
            Err(Trouble::Refused { failure, .. }) if !failure.is_known() => Err(Trouble::NoSuchConversation(earlier)),
            Err(other) => Err(other),
        }
    }

    async fn choose_model(&self, session: &Session) -> Result<(), Trouble> {
        let Some(model) = self.model.as_deref().filter(|model| session.current(Choice::Model) != Some(model)) else {
            return Ok(());
        };
        let Some(change) = session.choose(Choice::Model, model) else {
            let message = "it lets nobody choose a model; take `model` out and give the agent's own option in \
                           `extraArgs` or `env`";
            return Err(Trouble::Unsupported(message.to_owned()));
        };
        match self.ask(change.method, change.params).await {
            Ok(_) => Ok(()),
            Err(Trouble::Refused { failure, .. }) if !failure.is_known() => {
                let offered = session.offered(Choice::Model).join(", ");
                let message =
                    format!("it does not take the model `{model}` ({}); it offers: {offered}", failure.message);
                Err(Trouble::Unsupported(message))
            }
            Err(other) => Err(other),
        }
    }

    /// Read-only runs need a read-only mode; an agent that starts in one is taken out of it to work.
    async fn choose_mode(&self, session: &Session) -> Result<(), Trouble> {
        let offered = session.offered(Choice::Mode);
        let first = |of: &'static [String]| of.iter().map(String::as_str).find(|mode| offered.contains(mode));
        let is_read_only = |mode: &str| read_only_modes().iter().any(|known| known == mode);
        let current = session.current(Choice::Mode);
        let mode = match self.request.mode {
            Mode::ReadOnly => Some(first(read_only_modes()).ok_or_else(|| {
                Trouble::Unsupported(format!("it has no read-only mode; it offers: {}", offered.join(", ")))
            })?),
            Mode::Work => current.filter(|mode| is_read_only(mode)).and_then(|_| first(work_modes())),
        };
        match mode.filter(|mode| current != Some(mode)).and_then(|mode| session.choose(Choice::Mode, mode)) {
            Some(change) => self.ask(change.method, change.params).await.map(drop),
            None => Ok(()),
        }
    }

    /// The protocol has no place for an addition to the system prompt in its stable version: it stands before the
    /// prompt, as a block of its own.
    fn prompt(&self, session: &Session) -> Value {
        let texts = self.system_prompt.iter().chain([&self.request.prompt]);
        let blocks: Vec<_> = texts.map(|text| json!({"type": "text", "text": text})).collect();
        json!({"sessionId": session.id, "prompt": blocks})
    }
}

/// What is offered to the agent: nothing. Offered `fs`, gemini-cli asks for a file before it writes it and takes the
/// error for a missing one as a failure of the write; with terminals, commands would run outside the workspace's
/// process group.
fn initialize() -> Value {
    json!({
        "protocolVersion": VERSION,
        "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
        "clientInfo": {"name": "reflexion", "title": "reflexion", "version": env!("CARGO_PKG_VERSION")},
    })
}

fn asked(asked: &'static str, answer: Result<Value, AskError>) -> Result<Value, Trouble> {
    answer.map_err(|error| match error {
        AskError::Refused { code, message, data } => {
            Trouble::Refused { asked, failure: Failure { code: Some(code), message, data } }
        }
        AskError::Closed => Trouble::Ended { asked },
    })
}
