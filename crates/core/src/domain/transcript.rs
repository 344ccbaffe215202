//! Transcripts: what an agent did, step by step, the same for every agent.

use super::{RunId, SessionId, Timestamp, Usage};
use serde::{Deserialize, Serialize};

/// One line of a transcript.
///
/// ```
/// # use reflexion_core::domain::{TranscriptItem, TranscriptRecord, Role};
/// let line = r#"{"v":1,"at":"2026-01-01T00:00:00Z","type":"message","role":"assistant","text":"Done."}"#;
/// let record: TranscriptRecord = serde_json::from_str(line)?;
/// assert_eq!(record.item, TranscriptItem::Message { role: Role::Assistant, text: "Done.".to_owned() });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TranscriptRecord {
    /// Version of this shape: 1.
    pub v: u32,
    /// When the runtime read it.
    pub at: Timestamp,
    /// The call that started the sub-agent whose step this is; none for the agent's own steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub item: TranscriptItem,
}

/// What a transcript is about; its first line says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptHead {
    /// The run.
    pub run: RunId,
    /// This agent run.
    pub session: SessionId,
    /// The task.
    pub task: super::TaskId,
    /// The subtask.
    pub subtask: super::SubtaskId,
    /// From 1, over all runs.
    pub attempt: u32,
    /// The agent's name.
    pub agent: String,
}

/// One step of an agent.
///
/// Texts are capped by whoever records them; a cut says how much is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase", tag = "type")]
pub enum TranscriptItem {
    /// The first line: whose transcript it is.
    Head(TranscriptHead),
    /// The agent says which conversation this is.
    Session {
        /// The agent's own id of it, to resume it with.
        agent_session: String,
        /// The model, where the agent says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// Something was said.
    Message {
        /// By whom.
        role: Role,
        /// What.
        text: String,
    },
    /// The model's reasoning, where the agent shows it.
    Reasoning {
        /// What.
        text: String,
    },
    /// A tool is called.
    ToolCall {
        /// The agent's id of the call.
        id: String,
        /// The agent's name of the tool.
        tool: String,
        /// What the tool does, as far as the adapter knows.
        kind: ToolKind,
        /// Its arguments.
        #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
        input: serde_json::Value,
        /// The files it edits, as the agent names them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        edits: Vec<String>,
    },
    /// A tool answered.
    ToolResult {
        /// The call.
        id: String,
        /// How it went.
        status: ToolStatus,
        /// The exit status, where the record has one; unknown otherwise, never taken for a failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// What it printed or answered.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        output: String,
        /// How long it took, in milliseconds, where the record says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// The model answered once: one turn of the conversation between the agent program and its model.
    Turn {
        /// What the answer used, where the record says so.
        #[serde(default, skip_serializing_if = "Usage::is_unknown")]
        usage: Usage,
    },
    /// The agent shortened its own context.
    Compaction {
        /// In the agent's words, if it has any.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// The agent waits and asks its model again.
    Retry {
        /// HTTP status, where the record has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// In the agent's words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
    },
    /// An error record; whether it ended the run is said by the ending.
    Error {
        /// HTTP status, where the record has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// In the agent's words.
        message: String,
    },
    /// The last line: why it ended, and what it used in all.
    End {
        /// Why.
        ending: super::Ending,
        /// In all, as reported or estimated.
        #[serde(default, skip_serializing_if = "Usage::is_unknown")]
        usage: Usage,
        /// Lines that no rule knows, by name; kept as a count.
        #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
        unknown: std::collections::BTreeMap<String, u64>,
    },
    /// A record that the adapter does not know.
    Unknown {
        /// Its type, as far as it has one.
        name: String,
        /// The beginning of the line.
        line: String,
    },
}

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The prompt, or an answer to the agent.
    User,
    /// The agent's model.
    Assistant,
    /// The agent program itself, hooks included.
    System,
}

/// What a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads files.
    Read,
    /// Changes files.
    Edit,
    /// Runs a command.
    Execute,
    /// Searches files.
    Search,
    /// Reads from the network.
    Fetch,
    /// Starts another agent.
    Agent,
    /// Keeps a plan or a to-do list.
    Plan,
    /// Asks a person.
    Ask,
    /// Anything else.
    #[default]
    Other,
}

/// How a tool call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// The agent says it worked.
    Ok,
    /// The agent says it failed.
    Failed,
    /// A permission was refused.
    Denied,
}
