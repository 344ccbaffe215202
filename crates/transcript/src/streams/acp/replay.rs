//! A conversation that was recorded, heard again.

use super::listener::{Heard, Hears, Listener, ListenerParams, Phase};
use super::rules::Failure;
use super::usage::tokens;
use crate::domain::policy::Permissions;
use crate::domain::{Ending, Role, Timestamp, TranscriptItem, Usage};
use crate::services::AgentWatch;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// So many questions may be open at a time; a recording of more is no conversation.
const OPEN: usize = 1000;

/// The messages of both sides, in the order in which they were recorded.
pub(crate) struct Replay {
    listener: Listener,
    steps: Arc<Steps>,
    /// What was asked and is not answered yet, by the message's id: prompts and sessions of the client …
    client: BTreeMap<String, Asked>,
    /// … and permissions of the agent, whose ids are counted apart.
    permissions: BTreeMap<String, Value>,
    session: Option<String>,
    ending: Option<Ending>,
}

/// What the client asked for.
enum Asked {
    Session,
    Prompt,
}

/// An item of a transcript, and the call that started the sub-agent whose it is.
type Step = (TranscriptItem, Option<String>);

impl Default for Replay {
    fn default() -> Self {
        let steps = Arc::<Steps>::default();
        let listener = Listener::new(ListenerParams {
            watch: Arc::<Steps>::clone(&steps),
            permissions: Permissions::Allow,
            max_turns: None,
            max_cost_cents: None,
        });
        // Recordings of only what the agent said have no prompt.
        listener.enter(Phase::Working);
        Self { listener, steps, client: BTreeMap::new(), permissions: BTreeMap::new(), session: None, ending: None }
    }
}

impl Replay {
    /// Takes a message and hands over its steps. Says whether it is one.
    pub fn message(&mut self, message: &Value, step: &mut dyn FnMut(Step)) -> bool {
        let id = message.get("id").filter(|id| !id.is_null()).map(Value::to_string);
        match (message["method"].as_str(), id) {
            (Some(method), id) => self.told(method, id, &message["params"]),
            (None, Some(id)) if message.get("result").is_some() => self.result(&id, &message["result"]),
            (None, Some(id)) if message.get("error").is_some() => self.refused(&id, &message["error"]),
            (None, None) if message.get("error").is_some() => {}
            _ => return false,
        }
        self.hand_over(step);
        true
    }

    /// The steps that waited for what would follow; gives the messages that nobody knows, by name.
    pub fn finish(&mut self, step: &mut dyn FnMut(Step)) -> BTreeMap<String, u64> {
        let heard = self.listener.finish(Usage::default());
        self.hand_over(step);
        heard.unknown
    }

    /// What the listener does not know, so far.
    pub fn unknown(&self) -> u64 {
        self.listener.unknown_count()
    }

    /// The agent's own id of the conversation.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Why the last turn ended, if it did.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    fn hand_over(&self, step: &mut dyn FnMut(Step)) {
        self.steps.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..).for_each(step);
    }

    fn told(&mut self, method: &str, id: Option<String>, params: &Value) {
        match (method, id) {
            ("session/prompt", Some(id)) => {
                self.turn_ends(Usage::default());
                self.ending = None;
                self.listener.enter(Phase::Working);
                let blocks = params["prompt"].as_array().map(Vec::as_slice).unwrap_or_default();
                let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
                self.listener.step(TranscriptItem::Message { role: Role::User, text: texts.join("\n") });
                self.asks(id, Asked::Prompt);
            }
            ("session/load" | "session/resume", Some(id)) => {
                // The agent tells all of an earlier conversation again.
                self.listener.enter(Phase::Before);
                self.session = params["sessionId"].as_str().map(str::to_owned);
                self.asks(id, Asked::Session);
            }
            ("session/new", Some(id)) => self.asks(id, Asked::Session),
            ("session/request_permission", Some(id)) if self.permissions.len() < OPEN => {
                self.permissions.insert(id, params.clone());
            }
            ("initialize" | "authenticate" | "session/cancel" | "session/set_mode" | "session/set_model", _) => {}
            // What the agent has its client do stands among its tool calls too.
            (method, _) if method.starts_with("fs/") || method.starts_with("terminal/") => {}
            (method, _) => self.listener.told(method, params),
        }
    }

    fn asks(&mut self, id: String, what: Asked) {
        if self.client.len() < OPEN {
            self.client.insert(id, what);
        }
    }

    fn result(&mut self, id: &str, result: &Value) {
        if result["outcome"].is_object() {
            if let Some(asked) = self.permissions.remove(id) {
                self.listener.answered(&asked, refuses(&asked, &result["outcome"]));
            }
            return;
        }
        match self.client.remove(id) {
            Some(Asked::Session) => {
                let named = result["sessionId"].as_str().map(str::to_owned);
                self.session = named.or(self.session.take());
                if let Some(agent_session) = self.session.clone() {
                    let model = result["models"]["currentModelId"].as_str().map(str::to_owned);
                    self.listener.step(TranscriptItem::Session { agent_session, model });
                }
            }
            Some(Asked::Prompt) => {
                let heard = self.turn_ends(tokens(result));
                self.ending = Some(ending_of(result, &heard));
            }
            None => {}
        }
    }

    fn refused(&mut self, id: &str, error: &Value) {
        if !matches!(self.client.remove(id), Some(Asked::Prompt)) {
            return;
        }
        let heard = self.turn_ends(Usage::default());
        let message = error["message"].as_str().unwrap_or_default().to_owned();
        let code = error["code"].as_i64().and_then(|code| i32::try_from(code).ok());
        let failure = Failure { code, message: message.clone(), data: error["data"].clone() };
        self.listener.step(TranscriptItem::Error { status: failure.status(), message });
        // What was recorded is over: no limit of it resets any more.
        self.ending = Some(failure.ending(Timestamp::UNIX_EPOCH, &heard.limit));
    }

    fn turn_ends(&self, usage: Usage) -> Heard {
        self.listener.finish(usage)
    }
}

/// Whether the answer to a question for a permission is no.
fn refuses(asked: &Value, outcome: &Value) -> bool {
    let chosen = |option: &&Value| option["optionId"] == outcome["optionId"];
    let options = asked["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let kind = options.iter().find(chosen).and_then(|option| option["kind"].as_str()).unwrap_or_default();
    outcome["outcome"] == "cancelled" || kind.starts_with("reject")
}

/// Why the turn ended, by the reply's reason and what was said beside it.
fn ending_of(reply: &Value, heard: &Heard) -> Ending {
    let beside = || heard.error.as_ref().map(|error| error.ending(Timestamp::UNIX_EPOCH, &heard.limit));
    match reply["stopReason"].as_str() {
        Some("end_turn") if heard.failed => beside().unwrap_or(Ending::AgentError),
        Some("end_turn") if heard.refused_last => Ending::Permission,
        Some("end_turn") => Ending::Finished,
        Some("cancelled") => Ending::Cancelled,
        Some("max_tokens") => Ending::Context,
        Some("max_turn_requests") => Ending::Budget,
        _ => Ending::AgentError,
    }
}

#[derive(Default)]
struct Steps(Mutex<Vec<Step>>);

impl AgentWatch for Steps {
    fn step(&self, item: TranscriptItem, parent: Option<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((item, parent));
    }
}
