//! The lines of a cassette.
//!
//! The types of `domain` and `services` that have no JSON form of their own get one here. The compiler compares them
//! field by field with the originals.

use super::changes::FileChange;
use super::normalise::Normaliser;
use super::request::{AgentCall, ModelCall};
use crate::domain::{AgentReport, Ending, TranscriptItem, Usage};
use crate::services::{Abilities, Completion, ModelError, RetryFrom, SubagentError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// The version of every line.
pub(super) const VERSION: u64 = 1;

/// One line.
#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum Record {
    /// An agent, once, before its first run.
    Agent {
        name: String,
        #[serde(with = "RetryFromDef")]
        retry_from: RetryFrom,
        #[serde(with = "AbilitiesDef")]
        abilities: Abilities,
    },
    /// A run of it.
    AgentRun {
        request: AgentCall,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<Step>,
        outcome: Outcome,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<FileChange>,
    },
    /// A question to a model.
    Question { request: ModelCall, answer: Answer },
}

impl Record {
    /// How messages call it.
    pub fn name(&self) -> String {
        match self {
            Self::Agent { name, .. } => format!("agent `{name}`"),
            Self::AgentRun { request, .. } => request.name(),
            Self::Question { request, .. } => request.name(),
        }
    }

    /// The request as a text, if it is one.
    pub fn text(&self, normaliser: &Normaliser) -> Option<String> {
        match self {
            Self::Agent { .. } => None,
            Self::AgentRun { request, .. } => Some(request.text(normaliser)),
            Self::Question { request, .. } => Some(request.text(normaliser)),
        }
    }

    /// Whether it is played once, when it is asked for.
    pub fn is_call(&self) -> bool {
        !matches!(self, Self::Agent { .. })
    }
}

/// A step as its watch was told it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Step {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(flatten)]
    pub item: TranscriptItem,
}

/// How an agent run came out.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Report(#[serde(with = "ReportDef")] AgentReport),
    Error(#[serde(with = "SubagentErrorDef")] SubagentError),
}

/// How a question came out.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Completion(#[serde(with = "CompletionDef")] Completion),
    Error(#[serde(with = "ModelErrorDef")] ModelError),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RetryFrom", rename_all = "snake_case")]
enum RetryFromDef {
    Base,
    Change,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Abilities", rename_all = "camelCase")]
struct AbilitiesDef {
    resume: bool,
    fork: bool,
    read_only: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "AgentReport", rename_all = "camelCase")]
struct ReportDef {
    ending: Ending,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(default, skip_serializing_if = "Usage::is_unknown")]
    usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_session: Option<String>,
    #[serde(default)]
    denied: u32,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    unknown: BTreeMap<String, u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "SubagentError", tag = "kind", rename_all = "snake_case")]
enum SubagentErrorDef {
    Unknown { name: String, known: Vec<String> },
    Missing { agent: String, message: String },
    Unsupported { agent: String, message: String },
    NoSuchConversation { agent: String, conversation: String },
    Failed { agent: String, message: String },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Completion")]
struct CompletionDef {
    text: String,
    #[serde(default, skip_serializing_if = "Usage::is_unknown")]
    usage: Usage,
    #[serde(default)]
    truncated: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ModelError", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum ModelErrorDef {
    RateLimited { retry_after: Option<Duration>, message: String },
    Quota(String),
    Auth(String),
    Transient(String),
    Context(String),
    Rejected(String),
    Timeout(Duration),
    Unavailable(String),
}

/// Why a line is none.
pub(super) enum Unreadable {
    /// Its version.
    Version(String),
    /// What is wrong with it.
    Line(String),
}

/// A recording as a line, without its end.
pub(super) fn line(record: &Record) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        v: u64,
        #[serde(flatten)]
        record: &'a Record,
    }
    serde_json::to_string(&Line { v: VERSION, record }).expect("strings, numbers and maps with text keys")
}

/// A line as a recording.
pub(super) fn read(bytes: &[u8]) -> Result<Record, Unreadable> {
    let wrong = |error: serde_json::Error| Unreadable::Line(format!("this is no recording: {error}"));
    let value: Value = serde_json::from_slice(bytes).map_err(wrong)?;
    match value.get("v") {
        Some(v) if *v == VERSION => serde_json::from_value(value).map_err(wrong),
        Some(other) => Err(Unreadable::Version(other.to_string())),
        None => Err(Unreadable::Line("this is no recording: it has no version `v`".to_owned())),
    }
}
