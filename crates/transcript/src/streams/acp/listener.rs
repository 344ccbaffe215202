//! What an agent says while it works: steps for the transcript, permissions, errors beside the reply, and limits.

use super::calls::{Calls, Step};
use super::permission;
use super::rules::{Failure, RULES};
use super::text::Capped;
use crate::domain::policy::Permissions;
use crate::domain::{Role, ToolKind, TranscriptItem, Usage};
use crate::prompt::first_bytes;
use crate::services::AgentWatch;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// So much of a line that nobody understands is kept, in bytes.
const UNKNOWN_BYTES: usize = 512;
/// So many names of what nobody understands are counted, the rest as one; agents make names up.
const UNKNOWN_NAMES: usize = 50;
/// So much of such a name is kept, in bytes.
const UNKNOWN_NAME_BYTES: usize = 80;
/// So many lines of each name are steps.
const UNKNOWN_KEPT: u64 = 2;

/// Hears what an agent says by itself.
pub trait Hears: Send + Sync + 'static {
    /// A notification.
    fn told(&self, method: &str, params: &Value);
    /// A request; the answer is sent at once. None: there is no such method here.
    fn asked(&self, method: &str, params: &Value) -> Option<Value>;
    /// A line that is no message.
    fn garbage(&self, line: &str);
    /// A line that is longer than can be read; the program is ended.
    fn too_long(&self, limit: usize);
}

/// Hears everything that an agent says by itself during one run.
pub struct Listener {
    params: ListenerParams,
    /// Cancelled when a limit of the run is exceeded; [`Heard::exceeded`] says which.
    pub over_limit: CancellationToken,
    state: Mutex<State>,
}

/// What a [`Listener`] is made of.
pub struct ListenerParams {
    /// Gets the steps.
    pub watch: Arc<dyn AgentWatch>,
    /// How questions for a permission are answered.
    pub permissions: Permissions,
    /// A limit of the model's answers.
    pub max_turns: Option<u32>,
    /// A limit of what the run costs, in cents of a US dollar.
    pub max_cost_cents: Option<u32>,
}

/// What was heard until now.
#[derive(Default)]
struct State {
    phase: Phase,
    speech: Option<Speech>,
    calls: Calls,
    /// The model is answering: what comes belongs to the same turn.
    answering: bool,
    plans: u32,
    heard: Heard,
}

/// What is left when a run is over.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    /// The last message of the agent itself.
    pub message: String,
    /// Answers of the model, as far as they can be told apart: a new one begins with what comes after a tool's result.
    pub turns: u32,
    /// Refused permissions.
    pub denied: u32,
    /// Nothing came after the last refusal.
    pub refused_last: bool,
    /// What the session cost before this run, in US dollars.
    pub cost_before: f64,
    /// What the session cost in all.
    pub cost: Option<f64>,
    /// The last error that was told beside the reply.
    pub error: Option<Failure>,
    /// That error ended the turn.
    pub failed: bool,
    /// What was said of a limit of the account.
    pub limit: Value,
    /// Which limit of the run was exceeded.
    pub exceeded: Option<String>,
    /// A line of more bytes came.
    pub too_long: Option<usize>,
    /// What nobody knows, by name.
    pub unknown: BTreeMap<String, u64>,
}

/// Which part of a run it is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Before the prompt; an agent that goes on with a conversation tells all of it again.
    #[default]
    Before,
    /// The prompt is being worked on.
    Working,
    /// The turn was cancelled; no permission is given any more.
    Cancelled,
}

/// A message that is told in pieces.
struct Speech {
    thought: bool,
    message: Option<String>,
    parent: Option<String>,
    text: Capped,
}

impl Hears for Listener {
    fn told(&self, method: &str, params: &Value) {
        if method == "session/update" {
            self.update(&params["update"]);
        } else if !RULES.quiet_methods.iter().any(|quiet| quiet == method) {
            self.unknown(method, &params.to_string());
        }
    }

    fn asked(&self, method: &str, params: &Value) -> Option<Value> {
        if method != "session/request_permission" {
            self.unknown(method, &params.to_string());
            return None;
        }
        let answer = match self.state().phase {
            Phase::Cancelled => permission::cancelled(),
            Phase::Before | Phase::Working => permission::answer(params, self.params.permissions),
        };
        let refused = self.params.permissions == Permissions::Deny || answer == permission::cancelled();
        self.answered(params, refused);
        Some(answer)
    }

    fn garbage(&self, line: &str) {
        self.unknown("not a message", line);
    }

    fn too_long(&self, limit: usize) {
        self.state().heard.too_long = Some(limit);
    }
}

impl Listener {
    /// A listener that has heard nothing yet.
    pub fn new(params: ListenerParams) -> Self {
        Self { params, over_limit: CancellationToken::new(), state: Mutex::default() }
    }

    /// Another part of the run begins.
    pub fn enter(&self, phase: Phase) {
        let mut state = self.state();
        state.phase = phase;
        if phase == Phase::Working {
            state.heard.cost_before = state.heard.cost.unwrap_or_default();
        }
    }

    /// A permission was asked for, and is answered now.
    pub fn answered(&self, params: &Value, refused: bool) {
        let mut state = self.state();
        if refused {
            state.heard.denied += 1;
        }
        let steps = state.asked(&params["toolCall"], refused);
        self.tell(state, steps);
    }

    /// Tells what is left, and gives what was heard; `usage` is what the whole run used.
    pub fn finish(&self, usage: Usage) -> Heard {
        let mut state = self.state();
        let mut steps = state.stop_speaking();
        steps.extend(state.calls.rest());
        if state.answering {
            steps.push((TranscriptItem::Turn { usage }, None));
        }
        let heard = state.heard.clone();
        self.tell(state, steps);
        heard
    }

    /// What was heard until now.
    pub fn heard(&self) -> Heard {
        self.state().heard.clone()
    }

    /// How many messages nobody knew until now.
    pub fn unknown_count(&self) -> u64 {
        self.state().heard.unknown.values().sum()
    }

    /// Takes a step of the run itself into the transcript.
    pub fn step(&self, item: TranscriptItem) {
        self.params.watch.step(item, None);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes steps on, in order; whoever watches may take as long as writing a line takes.
    fn tell(&self, state: MutexGuard<'_, State>, steps: Vec<Step>) {
        for (item, parent) in steps {
            self.params.watch.step(item, parent);
        }
        drop(state);
    }

    fn unknown(&self, name: &str, line: &str) {
        let mut state = self.state();
        let steps = state.unknown(name, line);
        self.tell(state, steps);
    }

    fn update(&self, update: &Value) {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let mut state = self.state();
        if kind == "usage_update" {
            state.cost(update);
        }
        if state.phase == Phase::Before {
            return;
        }
        let parent = RULES.parents.iter().find_map(|at| update.pointer(at)?.as_str()).map(str::to_owned);
        let steps = match kind {
            "agent_message_chunk" | "agent_thought_chunk" => state.speak(update, parent),
            "tool_call" | "tool_call_update" => state.call(update, parent),
            "plan" => state.plan(update),
            "usage_update" => state.interlude(),
            quiet if RULES.quiet.iter().any(|name| name == quiet) => state.beside(update),
            "" => state.unknown("session/update", &update.to_string()),
            other => state.unknown(other, &update.to_string()),
        };
        self.check_limits(&mut state);
        self.tell(state, steps);
    }

    fn check_limits(&self, state: &mut State) {
        let heard = &mut state.heard;
        let turns = self.params.max_turns.filter(|max| heard.turns > *max).map(|max| format!("more than {max} turns"));
        let cents = (heard.cost.unwrap_or_default() - heard.cost_before) * 100.0;
        let cost = self.params.max_cost_cents.filter(|max| cents > f64::from(*max));
        let cost = cost.map(|max| format!("more than ${:.2}", f64::from(max) / 100.0));
        if let Some(exceeded) = turns.or(cost) {
            heard.exceeded.get_or_insert(exceeded);
            self.over_limit.cancel();
        }
    }
}

impl State {
    fn unknown(&mut self, name: &str, line: &str) -> Vec<Step> {
        let unknown = &mut self.heard.unknown;
        let name = first_bytes(name, UNKNOWN_NAME_BYTES);
        let full = unknown.len() >= UNKNOWN_NAMES && !unknown.contains_key(name);
        let name = if full { "others" } else { name };
        let count = unknown.entry(name.to_owned()).or_default();
        *count += 1;
        if *count > UNKNOWN_KEPT {
            return Vec::new();
        }
        let (name, line) = (name.to_owned(), first_bytes(line, UNKNOWN_BYTES).to_owned());
        vec![(TranscriptItem::Unknown { name, line }, None)]
    }

    fn speak(&mut self, update: &Value, parent: Option<String>) -> Vec<Step> {
        let thought = update["sessionUpdate"] == "agent_thought_chunk";
        let message = update["messageId"].as_str().map(str::to_owned);
        let mut steps = self.calls.ready(None);
        let same =
            self.speech.as_ref().is_some_and(|s| s.thought == thought && s.message == message && s.parent == parent);
        if !same {
            steps.extend(self.stop_speaking());
        }
        self.begin_turn(parent.as_ref());
        let text = update["content"]["text"].as_str().unwrap_or_default();
        let speech = self.speech.get_or_insert_with(|| Speech { thought, message, parent, text: Capped::default() });
        speech.text.push(text);
        steps
    }

    fn stop_speaking(&mut self) -> Vec<Step> {
        let Some(mut speech) = self.speech.take() else {
            return Vec::new();
        };
        let text = speech.text.take();
        if text.trim().is_empty() {
            return Vec::new();
        }
        if speech.thought {
            return vec![(TranscriptItem::Reasoning { text }, speech.parent)];
        }
        if speech.parent.is_none() {
            self.heard.message = text.clone();
        }
        vec![(TranscriptItem::Message { role: Role::Assistant, text }, speech.parent)]
    }

    fn call(&mut self, update: &Value, parent: Option<String>) -> Vec<Step> {
        let mut steps = self.stop_speaking();
        if !self.calls.knows(update["toolCallId"].as_str().unwrap_or_default()) {
            self.begin_turn(parent.as_ref());
        }
        let own = parent.is_none();
        steps.extend(self.calls.update(update, parent));
        if own {
            self.end_turn(&mut steps);
        }
        steps
    }

    /// A permission is asked for; some agents tell of the call only so.
    fn asked(&mut self, call: &Value, refused: bool) -> Vec<Step> {
        let mut steps = self.stop_speaking();
        if !self.calls.knows(call["toolCallId"].as_str().unwrap_or_default()) {
            self.begin_turn(None);
        }
        steps.extend(self.calls.asked(call, refused));
        self.heard.refused_last = refused;
        self.end_turn(&mut steps);
        steps
    }

    /// A tool's result goes back to the model, which then answers anew.
    fn end_turn(&mut self, steps: &mut Vec<Step>) {
        let ended = steps.iter().any(|(item, _)| matches!(item, TranscriptItem::ToolResult { .. }));
        if ended && std::mem::take(&mut self.answering) {
            steps.push((TranscriptItem::Turn { usage: Usage::default() }, None));
        }
    }

    /// A sub-agent's turns are not the agent's.
    fn begin_turn(&mut self, parent: Option<&String>) {
        self.heard.refused_last = false;
        if parent.is_none() && !std::mem::replace(&mut self.answering, true) {
            self.heard.turns += 1;
        }
    }

    fn plan(&mut self, update: &Value) -> Vec<Step> {
        let mut steps = self.interlude();
        self.plans += 1;
        let (id, tool) = (format!("plan-{}", self.plans), "plan".to_owned());
        let input = update["entries"].clone();
        steps.push((TranscriptItem::ToolCall { id, tool, kind: ToolKind::Plan, input, edits: Vec::new() }, None));
        steps
    }

    /// The agent speaks of something else, so what it said before is complete.
    fn interlude(&mut self) -> Vec<Step> {
        let mut steps = self.stop_speaking();
        steps.extend(self.calls.ready(None));
        steps
    }

    fn cost(&mut self, update: &Value) {
        let cost = &update["cost"];
        if cost["currency"] == "USD" {
            self.heard.cost = cost["amount"].as_f64().or(self.heard.cost);
        }
        if let Some(limit) = RULES.limits.iter().find_map(|at| update.pointer(at)) {
            self.heard.limit = limit.clone();
        }
    }

    /// Errors that stand beside the reply.
    fn beside(&mut self, update: &Value) -> Vec<Step> {
        let mut steps = Vec::new();
        for rule in &RULES.side_errors {
            if let Some(state) = update.pointer(&rule.state).and_then(Value::as_str) {
                self.heard.failed = state == rule.failed;
            }
            let Some(error) = update.pointer(&rule.error) else {
                continue;
            };
            let message = error["message"].as_str().unwrap_or_default().to_owned();
            let failure = Failure { code: None, message: message.clone(), data: error.clone() };
            let status = failure.status();
            self.heard.error = Some(failure);
            let retries = error[&rule.retries] == true;
            let item = if retries {
                TranscriptItem::Retry { status, message }
            } else {
                TranscriptItem::Error { status, message }
            };
            steps.push((item, None));
        }
        steps
    }
}
