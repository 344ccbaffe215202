//! Requests as texts that can be compared.

use super::normalise::{Normaliser, Secrets};
use crate::services::{AgentRequest, Conversation, Mode, ModelRequest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What of an agent's request is recorded and compared.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct AgentCall {
    pub agent: String,
    pub task: String,
    pub subtask: String,
    pub attempt: u32,
    pub mode: String,
    pub conversation: String,
    pub prompt: String,
}

impl AgentCall {
    pub fn new(agent: &str, request: &AgentRequest, normaliser: &Normaliser) -> Self {
        let mode = match request.mode {
            Mode::Work => "work",
            Mode::ReadOnly => "read_only",
        };
        let conversation = match request.conversation {
            Conversation::New => "new",
            Conversation::Resume(_) => "resume",
            Conversation::Fork(_) => "fork",
        };
        Self {
            agent: agent.to_owned(),
            task: request.task.to_string(),
            subtask: request.subtask.to_string(),
            attempt: request.attempt,
            mode: mode.to_owned(),
            conversation: conversation.to_owned(),
            prompt: normaliser.prompt(request),
        }
    }

    /// How messages call it.
    pub fn name(&self) -> String {
        format!(
            "agent `{}` on subtask `{}` of task `{}`, attempt {}",
            self.agent, self.subtask, self.task, self.attempt
        )
    }

    /// Equal texts are the same request.
    pub fn text(&self, normaliser: &Normaliser) -> String {
        let Self { agent, task, subtask, attempt, mode, conversation, prompt } = self;
        let prompt = normaliser.again(prompt);
        format!(
            "agent: {agent}\ntask: {task}\nsubtask: {subtask}\nattempt: {attempt}\nmode: {mode}\n\
             conversation: {conversation}\nprompt:\n{prompt}\n"
        )
    }
}

/// What of a question is recorded and compared.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ModelCall {
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    pub prompt: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

impl ModelCall {
    pub fn new(model: &str, request: &ModelRequest, normaliser: &Normaliser) -> Self {
        let secrets = Secrets::of(&BTreeMap::new());
        let clean = |text: &str| normaliser.again(&secrets.hide(text));
        Self {
            model: model.to_owned(),
            system: request.system.as_deref().map(clean),
            prompt: clean(&request.prompt),
            schema: request.schema.clone(),
        }
    }

    /// How messages call it.
    pub fn name(&self) -> String {
        format!("a question to model `{}`", self.model)
    }

    /// Equal texts are the same request.
    pub fn text(&self, normaliser: &Normaliser) -> String {
        let again = |text: &str| normaliser.again(text);
        let mut text = format!("model: {}\n", self.model);
        if let Some(system) = &self.system {
            text.push_str(&format!("system:\n{}\n", again(system)));
        }
        if let Some(schema) = &self.schema {
            text.push_str(&format!("schema:\n{schema:#}\n"));
        }
        text.push_str(&format!("prompt:\n{}\n", again(&self.prompt)));
        text
    }
}
