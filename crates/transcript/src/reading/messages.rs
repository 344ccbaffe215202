//! Messages of the plain form, in the notations that agents and their services have for them.

use super::plain::{tell, text_of, value_of};
use super::plain_tool::{fault, whole_number};
use super::tools::{edits_of, kind_of};
use crate::domain::{Ending, Role, ToolStatus, Trace, TranscriptItem};
use crate::streams::program::exit_in_tail;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Messages so far.
#[derive(Default)]
pub(super) struct Messages {
    /// The last thing said to the agent asked for an assessment of its own work: what it answers is no result.
    assessing: bool,
    /// Somebody judged before and told the agent what is missing.
    told: bool,
    /// What the last message says of how it ended.
    pub ending: Option<Ending>,
}

/// What other judges begin their messages with; they are nobody's wishes. (Reflection-3, an `OpenCode` plugin.)
const TOLD: &str = "## Reflection-3";
const ASSESSMENT: &str = "## Reflection-3 Self-Assessment";
/// Gemini CLI's own words at the beginning of a conversation.
const GEMINI_CONTEXT: &str = "<session_context>";

/// `{"role", "parts": […]}` or `{"role", "content": "…" | […]}`; `OpenCode` exports `{"info": {"role"}, "parts": […]}`,
/// Gemini CLI kept `{"type": "user" | "gemini", "content", "toolCalls": […]}`.
#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow, default)]
    info: Option<Info<'a>>,
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "toolCalls")]
    gemini_calls: Option<&'a RawValue>,
    #[serde(borrow, default)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    parts: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    time: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_call_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "exitCode", alias = "exit_code")]
    exit_code: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "isError", alias = "is_error")]
    is_error: Option<&'a RawValue>,
}

/// What `OpenCode` says of a message beside its parts.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Info<'a> {
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    time: Option<&'a RawValue>,
}

/// A call as Gemini CLI keeps it, with its result.
#[derive(Deserialize, Default)]
#[serde(default)]
struct GeminiCall<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

/// A part of a message: a text, a tool call with or without what came of it, or what came of an earlier one.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Part<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    /// The agent program wrote the text, not whose message it is.
    #[serde(deserialize_with = "is_true")]
    synthetic: bool,
    #[serde(borrow)]
    tool: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "callID")]
    call_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    state: Option<State<'a>>,
    #[serde(borrow)]
    tool_use_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow, rename = "isError", alias = "is_error")]
    is_error: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow, rename = "exitCode", alias = "exit_code")]
    exit_code: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct State<'a> {
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<Metadata<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata<'a> {
    #[serde(borrow)]
    exit: Option<&'a RawValue>,
}

/// A call as chat completions have it.
#[derive(Deserialize)]
struct FunctionCall<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

impl Messages {
    /// Adds a message to a trace.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn add(&mut self, message: Message<'_>, trace: &mut Trace) -> Result<(), String> {
        let info = message.info.unwrap_or_default();
        let role = match message.role.or(info.role).or(message.kind).as_deref() {
            Some("user" | "human") => Some(Role::User),
            Some("assistant" | "model" | "agent" | "gemini") => Some(Role::Assistant),
            Some("system" | "developer" | "info" | "warning" | "error") => Some(Role::System),
            Some("tool" | "function") => None,
            Some(_) | None => return Err("`role` is one of user, assistant, system, tool".to_owned()),
        };
        let Some(role) = role else {
            let output = message.content.map(words_of).unwrap_or_default();
            let id = message.tool_call_id.as_deref().unwrap_or_default().to_owned();
            let exit = message.exit_code.map_or(Ok(None), whole_number)?;
            let status = status_of([message.is_error, message.error], exit);
            tell(trace, &result(id, status, exit, output));
            return Ok(());
        };
        let error = message.error.or(info.error).filter(|error| error.get() != "null");
        self.ending = (role == Role::Assistant).then(|| ending_of(message.time.or(info.time), error)).flatten();
        let mut said = Vec::new();
        for list in [message.parts, message.content, message.text].into_iter().flatten() {
            match serde_json::from_str::<Vec<Part<'_>>>(list.get()) {
                Ok(parts) => parts.into_iter().try_for_each(|part| part.add(&mut said, trace))?,
                Err(_) if list.get().starts_with('"') => said.push(text_of(list)),
                Err(_) if list.get() == "null" => {}
                Err(error) => return Err(format!("`parts` or `content` is a text or a list of parts: {error}")),
            }
        }
        if let Some(calls) = message.tool_calls {
            let calls: Vec<FunctionCall<'_>> =
                serde_json::from_str(calls.get()).map_err(|error| format!("`tool_calls`: {error}"))?;
            for call in calls {
                let input = call.function.arguments.map(|part| {
                    // Services give arguments as a text that holds JSON.
                    let text = text_of(part);
                    serde_json::from_str(&text).unwrap_or(Value::String(text))
                });
                let id = call.id.as_deref().unwrap_or_default().to_owned();
                tell(trace, &called(id, call.function.name.into_owned(), input.unwrap_or_default()));
            }
        }
        let calls = message.gemini_calls.map(gemini_calls).transpose()?.unwrap_or_default();
        if !said.is_empty() {
            self.said(role, said.join("\n"), trace);
        }
        calls.iter().for_each(|item| tell(trace, item));
        if let Some(error) = error {
            tell(trace, &TranscriptItem::Error { status: None, message: text_of(error) });
        }
        Ok(())
    }

    fn said(&mut self, role: Role, text: String, trace: &mut Trace) {
        let role = match role {
            Role::User if text.starts_with(GEMINI_CONTEXT) => Role::System,
            Role::User => {
                self.assessing = text.starts_with(ASSESSMENT);
                self.told = text.starts_with(TOLD);
                if self.told { Role::System } else { Role::User }
            }
            Role::Assistant if self.assessing || self.told && is_assessment(&text) => Role::System,
            role => role,
        };
        tell(trace, &TranscriptItem::Message { role, text });
    }
}

/// Why a message was its agent's last, as far as it says so: it has an error, or it has a time when it was whole.
fn ending_of(time: Option<&RawValue>, error: Option<&RawValue>) -> Option<Ending> {
    if let Some(error) = error {
        let aborted = error.get().contains("Abort") || error.get().contains("cancelled");
        return Some(if aborted { Ending::Cancelled } else { Ending::AgentError });
    }
    let time: Value = serde_json::from_str(time?.get()).ok()?;
    time.get("completed").filter(|completed| !completed.is_null()).map(|_| Ending::Finished)
}

/// Somebody who was told what is missing may answer with another assessment, as JSON.
fn is_assessment(text: &str) -> bool {
    let value: Value = serde_json::from_str(text.trim()).unwrap_or_default();
    value.get("status").is_some_and(Value::is_string) && value.get("confidence").is_some_and(Value::is_number)
}

impl Part<'_> {
    fn add(self, said: &mut Vec<String>, trace: &mut Trace) -> Result<(), String> {
        match self.kind.as_deref() {
            Some("text" | "input_text" | "output_text") if self.synthetic => {}
            Some("text" | "input_text" | "output_text") => said.extend(self.text.map(text_of)),
            Some("compaction") => tell(trace, &TranscriptItem::Compaction { note: String::new() }),
            // Gemini's services name no type of a part.
            None => said.extend(self.text.map(text_of)),
            Some("tool" | "tool_use") => {
                let state = self.state.unwrap_or_default();
                let id = self.id.or(self.call_id).map_or_else(|| trace.calls.to_string(), Cow::into_owned);
                let name = self.tool.or(self.name).map(Cow::into_owned).unwrap_or_default();
                let input = self.input.or(state.input).map(value_of).unwrap_or_default();
                tell(trace, &called(id.clone(), name, input));
                let exit = self.exit_code.or(state.metadata.and_then(|m| m.exit));
                let exit = exit.map_or(Ok(None), whole_number)?;
                let error = state.error.or(self.error);
                let words = error.and_then(fault).filter(|words| !words.is_empty()).and(error);
                let output = self.output.or(self.result).or(state.output).or(words);
                let mut status = status_of([self.is_error, error], exit);
                if state.status.as_deref() == Some("error") {
                    status = if state.error.is_some_and(|error| is_refusal(&text_of(error))) {
                        ToolStatus::Denied
                    } else {
                        ToolStatus::Failed
                    };
                }
                if exit.is_some() || output.is_some() || status != ToolStatus::Ok {
                    tell(trace, &result(id, status, exit, output.map(text_of).unwrap_or_default()));
                }
            }
            Some("tool_result") => {
                let exit = self.exit_code.map_or(Ok(None), whole_number)?;
                let status = status_of([self.is_error, self.error], exit);
                let id = self.tool_use_id.map(Cow::into_owned).unwrap_or_default();
                let output = self.content.or(self.output).or(self.result);
                tell(trace, &result(id, status, exit, output.map(words_of).unwrap_or_default()));
            }
            _ => {}
        }
        Ok(())
    }
}

/// `OpenCode`'s words for a call that was not allowed.
fn is_refusal(error: &str) -> bool {
    ["The user rejected permission", "The user has specified a rule which prevents"]
        .iter()
        .any(|w| error.starts_with(w))
}

/// Whatever else stands there is no.
fn is_true<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(<&RawValue>::deserialize(deserializer)?.get() == "true")
}

/// Calls and results as Gemini CLI keeps them. It says an exit status in the last lines of an output.
fn gemini_calls(calls: &RawValue) -> Result<Vec<TranscriptItem>, String> {
    let calls: Vec<GeminiCall<'_>> =
        serde_json::from_str(calls.get()).map_err(|error| format!("`toolCalls`: {error}"))?;
    let mut items = Vec::new();
    for call in calls {
        let id = call.id.map(Cow::into_owned).unwrap_or_default();
        let name = call.name.map(Cow::into_owned).unwrap_or_default();
        items.push(called(id.clone(), name, call.args.map(value_of).unwrap_or_default()));
        let status = match call.status.as_deref() {
            Some("success") => ToolStatus::Ok,
            Some("error" | "cancelled") => ToolStatus::Failed,
            _ => continue,
        };
        let value: Value = call.result.and_then(|part| serde_json::from_str(part.get()).ok()).unwrap_or_default();
        let response = value.pointer("/0/functionResponse/response");
        let words = response.and_then(|said| said.get("output").or_else(|| said.get("error"))?.as_str());
        let output = crate::prompt::excerpt(words.unwrap_or_default(), crate::domain::KEPT_BYTES).into_owned();
        items.push(result(id, status, exit_in_tail(&output, "Exit Code: "), output));
    }
    Ok(items)
}

fn called(id: String, tool: String, input: Value) -> TranscriptItem {
    let kind = kind_of(&tool, &input);
    let edits = edits_of(kind, &input);
    TranscriptItem::ToolCall { id, tool, kind, input, edits }
}

/// How it went, by what is said of errors and by its exit status.
fn status_of(errors: [Option<&RawValue>; 2], exit: Option<i32>) -> ToolStatus {
    let failed = exit.is_some_and(|code| code != 0) || errors.into_iter().flatten().any(|part| fault(part).is_some());
    if failed { ToolStatus::Failed } else { ToolStatus::Ok }
}

fn result(id: String, status: ToolStatus, exit_code: Option<i32>, output: String) -> TranscriptItem {
    TranscriptItem::ToolResult { id, status, exit_code, output, duration_ms: None }
}

/// The words of a text, or of the texts in a list of parts.
fn words_of(content: &RawValue) -> String {
    match serde_json::from_str::<Vec<Part<'_>>>(content.get()) {
        Ok(parts) => parts.iter().filter_map(|part| part.text.map(text_of)).collect::<Vec<_>>().join("\n"),
        Err(_) => text_of(content),
    }
}
