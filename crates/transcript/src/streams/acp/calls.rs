//! Tool calls, put together from the pieces in which agents tell them.

use super::rules::RULES;
use super::text::Capped;
use crate::domain::{ToolKind, ToolStatus, TranscriptItem};
use crate::prompt::excerpt;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What is kept of a tool's output, in bytes: enough for a whole failing test run's words.
const OUTPUT_BYTES: usize = 64 * 1024;
/// So many calls are remembered; those that ended are forgotten first.
const CALLS: usize = 2_000;
/// What is kept of a tool's input, in bytes.
const INPUT_BYTES: usize = 16 * 1024;

/// The calls of a conversation by the agent's id of them.
#[derive(Default)]
pub(super) struct Calls(BTreeMap<String, Call>);

/// One tool call, as far as it was told.
#[derive(Default)]
struct Call {
    tool: String,
    title: String,
    kind: ToolKind,
    input: Value,
    edits: Vec<String>,
    parent: Option<String>,
    exit_code: Option<i32>,
    output: Option<String>,
    pieces: Capped,
    shown: bool,
    ended: bool,
}

/// An item of a transcript, and the call that started the sub-agent whose it is.
pub(super) type Step = (TranscriptItem, Option<String>);

impl Calls {
    /// Whether a call was told before.
    pub fn knows(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// Takes what an update says of a call, and gives the steps that are complete with it.
    pub fn update(&mut self, update: &Value, parent: Option<String>) -> Vec<Step> {
        let Some(id) = update["toolCallId"].as_str() else {
            return Vec::new();
        };
        let mut steps = self.ready(Some(id));
        if self.0.len() >= CALLS {
            self.0.retain(|_, call| !call.ended);
        }
        if self.0.len() >= CALLS && !self.0.contains_key(id) {
            return steps;
        }
        let call = self.0.entry(id.to_owned()).or_default();
        call.parent = call.parent.take().or(parent);
        call.merge(update);
        match update["status"].as_str() {
            Some("completed") => steps.extend(call.end(id, ToolStatus::Ok)),
            Some("failed") => steps.extend(call.end(id, ToolStatus::Failed)),
            Some("in_progress") if call.has_input() => steps.extend(call.show(id)),
            _ => {}
        }
        steps
    }

    /// The calls that are complete because the agent speaks of something else; their input came in pieces.
    pub fn ready(&mut self, except: Option<&str>) -> Vec<Step> {
        let waiting = self.0.iter_mut().filter(|(id, call)| Some(id.as_str()) != except && call.has_input());
        waiting.filter_map(|(id, call)| call.show(id)).collect()
    }

    /// A permission is asked for: the call is complete; a refused one is over.
    pub fn asked(&mut self, call: &Value, refused: bool) -> Vec<Step> {
        let mut steps = self.update(call, None);
        let id = call["toolCallId"].as_str().unwrap_or_default();
        if let Some(call) = self.0.get_mut(id) {
            // What is shown to the person who is asked is no output.
            call.output = None;
            steps.extend(if refused { call.end(id, ToolStatus::Denied) } else { call.show(id).into_iter().collect() });
        }
        steps
    }

    /// What was never told completely.
    pub fn rest(&mut self) -> Vec<Step> {
        self.0.iter_mut().filter_map(|(id, call)| call.show(id)).collect()
    }
}

impl Call {
    fn merge(&mut self, update: &Value) {
        let title = update["title"].as_str().unwrap_or_default();
        if self.title.is_empty() {
            self.title = title.to_owned();
        }
        if self.tool.is_empty() {
            let named = RULES.tool_names.iter().find_map(|at| update.pointer(at)?.as_str());
            // A title of one word is a tool's name, one of several is what is done with it.
            let named = named.or(Some(title).filter(|title| !title.contains(char::is_whitespace)));
            self.tool = named.or(update["kind"].as_str()).unwrap_or_default().to_owned();
        }
        if let Some(kind) = update["kind"].as_str() {
            self.kind = kind_of(kind, &self.tool);
        }
        if !self.shown && !update["rawInput"].is_null() {
            self.input = cut(&update["rawInput"], &mut INPUT_BYTES.clone());
        }
        let diffs = list(&update["content"]).iter().filter(|content| content["type"] == "diff");
        for place in list(&update["locations"]).iter().chain(diffs) {
            let path = place["path"].as_str().unwrap_or_default();
            if !path.is_empty() && !self.edits.iter().any(|edit| edit == path) {
                self.edits.push(path.to_owned());
            }
        }
        if let Some(piece) = update.pointer(&RULES.output_pieces).and_then(Value::as_str) {
            self.pieces.push(piece);
        }
        let output = output_of(update).map(|output| excerpt(&output, OUTPUT_BYTES).into_owned());
        self.output = output.or(self.output.take());
        let exit = RULES.exit_codes.iter().find_map(|at| update.pointer(at)?.as_i64());
        self.exit_code = exit.and_then(|code| i32::try_from(code).ok()).or(self.exit_code);
    }

    fn has_input(&self) -> bool {
        self.input.as_object().is_some_and(|input| !input.is_empty())
    }

    fn said(&self) -> Value {
        if self.title.is_empty() || self.title == self.tool { Value::Null } else { json!({"title": self.title}) }
    }

    fn show(&mut self, id: &str) -> Option<Step> {
        if std::mem::replace(&mut self.shown, true) {
            return None;
        }
        let input = match std::mem::take(&mut self.input) {
            // An agent that keeps the arguments to itself says in the title what it does.
            Value::Object(input) if input.is_empty() => self.said(),
            Value::Null => self.said(),
            input => input,
        };
        let edits = if self.kind == ToolKind::Edit { std::mem::take(&mut self.edits) } else { Vec::new() };
        let item =
            TranscriptItem::ToolCall { id: id.to_owned(), tool: self.tool.clone(), kind: self.kind, input, edits };
        Some((item, self.parent.clone()))
    }

    fn end(&mut self, id: &str, status: ToolStatus) -> Vec<Step> {
        if std::mem::replace(&mut self.ended, true) {
            return Vec::new();
        }
        let mut steps: Vec<_> = self.show(id).into_iter().collect();
        let pieces = || excerpt(&self.pieces.take(), OUTPUT_BYTES).into_owned();
        let output = self.output.take().unwrap_or_else(pieces);
        if status == ToolStatus::Failed && self.kind == ToolKind::Execute {
            self.exit_code = self.exit_code.or_else(|| exit_code_in(&output));
        }
        let item = TranscriptItem::ToolResult {
            id: id.to_owned(),
            status,
            exit_code: self.exit_code,
            output,
            duration_ms: None,
        };
        steps.push((item, self.parent.clone()));
        steps
    }
}

/// What a tool printed: its raw output where that is text, else the text that is shown to people.
fn output_of(update: &Value) -> Option<String> {
    let raw = &update["rawOutput"];
    let raw = raw.as_str().or_else(|| raw["output"].as_str()).or_else(|| raw["formatted_output"].as_str());
    let shown: Vec<&str> =
        list(&update["content"]).iter().filter_map(|content| content["content"]["text"].as_str()).collect();
    raw.map(str::to_owned).or_else(|| (!shown.is_empty()).then(|| shown.join("\n")))
}

/// A value as long as `room` lasts; texts are cut to what is left of it.
fn cut(value: &Value, room: &mut usize) -> Value {
    *room = room.saturating_sub(2);
    match value {
        Value::String(text) => {
            let text = excerpt(text, *room).into_owned();
            *room = room.saturating_sub(text.len());
            Value::from(text)
        }
        Value::Array(items) => {
            let mut list = Vec::new();
            for item in items {
                if *room == 0 {
                    break;
                }
                list.push(cut(item, room));
            }
            Value::from(list)
        }
        Value::Object(entries) => {
            let mut map = serde_json::Map::new();
            for (key, value) in entries {
                if *room < key.len() {
                    break;
                }
                *room -= key.len();
                map.insert(key.clone(), cut(value, room));
            }
            Value::Object(map)
        }
        short => short.clone(),
    }
}

/// claude-agent-acp has a failed command's exit status in the first line of its output only.
fn exit_code_in(output: &str) -> Option<i32> {
    output.lines().next()?.strip_prefix(&RULES.exit_code_prefix)?.parse().ok()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The protocol's kinds of tools; a tool that starts another agent has none of its own and is known by its name.
fn kind_of(kind: &str, tool: &str) -> ToolKind {
    match kind {
        _ if matches!(tool, "Task" | "Agent" | "task") => ToolKind::Agent,
        "read" => ToolKind::Read,
        "edit" | "delete" | "move" => ToolKind::Edit,
        "search" => ToolKind::Search,
        "execute" => ToolKind::Execute,
        "fetch" => ToolKind::Fetch,
        "switch_mode" => ToolKind::Plan,
        _ => ToolKind::Other,
    }
}
