//! The plain form: one JSON document that anybody can write.

use super::messages;
use super::plain_tool::{Call, Ran};
use super::result::{ReadError, Reading};
use crate::domain::{Trace, TranscriptItem};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The parts of a document, not looked into yet: they may stand in any order, but happened in this one.
#[derive(Default)]
struct Parts<'a> {
    task: Option<&'a RawValue>,
    messages: Option<&'a RawValue>,
    tools: Option<&'a RawValue>,
    commands: Option<&'a RawValue>,
    response: Option<&'a RawValue>,
    /// What `OpenCode` says of an exported session.
    info: Option<&'a RawValue>,
    /// Gemini CLI's id of a session.
    session: Option<&'a RawValue>,
    /// Keys that nothing reads.
    others: Vec<String>,
}

/// So many keys that nothing reads are named.
const OTHERS: usize = 20;

/// Reads a document, or a list of messages.
///
/// # Errors
/// [`ReadError::Plain`], with line and column.
pub(super) fn document(text: &[u8], mut into: Reading) -> Result<Reading, ReadError> {
    let at = |error: &serde_json::Error| ReadError::Plain {
        line: error.line(),
        column: error.column(),
        message: in_words(error),
    };
    let text = text.trim_ascii_end();
    let parts: Parts<'_> = if text.trim_ascii_start().starts_with(b"[") {
        let messages = serde_json::from_slice(text).map_err(|error| at(&error))?;
        Parts { messages: Some(messages), ..Parts::default() }
    } else {
        serde_json::from_slice(text).map_err(|error| at(&error))?
    };
    let within = |part: &RawValue, error: &serde_json::Error| inside(text, part, error);
    for name in &parts.others {
        into.unread.add(&format!("key `{name}`"), 1);
    }
    let mut messages = messages::Messages::default();
    into.session = parts.info.and_then(session_of).or_else(|| parts.session.map(text_of));
    if let Some(part) = parts.task {
        let task: Option<Cow<'_, str>> =
            serde_json::from_str(part.get()).map_err(|e| within(part, &named("task", e)))?;
        into.task = task.map(Cow::into_owned).filter(|task| !task.trim().is_empty());
    }
    if let Some(part) = parts.messages {
        each(part, "messages", |message| {
            into.records += 1;
            messages.add(message, &mut into.trace)
        })
        .map_err(|error| within(part, &error))?;
        into.ending = messages.ending.take();
        if into.records == 0 && text.trim_ascii_start().starts_with(b"[") {
            return Err(ReadError::Plain { line: 1, column: 1, message: "the list holds no message".to_owned() });
        }
    }
    if into.trace.asked.is_empty()
        && let Some(task) = &into.task
    {
        into.trace.ask(task);
    }
    if let Some(part) = parts.tools {
        each(part, "tools", |call: Call| {
            into.records += 1;
            call.tell(&mut into.trace);
            Ok(())
        })
        .map_err(|error| within(part, &error))?;
    }
    if let Some(part) = parts.commands {
        commands(part, &mut into).map_err(|error| within(part, &error))?;
    }
    if let Some(part) = parts.response {
        let response: Option<Cow<'_, str>> =
            serde_json::from_str(part.get()).map_err(|e| within(part, &named("response", e)))?;
        if let Some(response) = response {
            let text = response.into_owned();
            into.records += 1;
            into.trace.step(&TranscriptItem::Message { role: crate::domain::Role::Assistant, text }, None, None);
        }
    }
    Ok(into)
}

/// Commands that ran and are not among the tools. In what order they ran beside these nobody says, so their result is
/// not known where the tools changed something.
fn commands(part: &RawValue, into: &mut Reading) -> Result<(), serde_json::Error> {
    let mut known: Vec<String> = into.trace.actions.iter().filter_map(|action| action.command.clone()).collect();
    let changed = into.trace.actions.iter().any(|action| action.kind == crate::domain::ToolKind::Edit);
    each(part, "commands", |ran: Ran| {
        into.records += 1;
        if let Some(at) = known.iter().position(|command| command.trim() == ran.command().trim()) {
            known.swap_remove(at);
            return Ok(());
        }
        ran.tell(&mut into.trace, changed);
        Ok(())
    })
}

/// The session that `OpenCode`'s words about it name.
fn session_of(part: &RawValue) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(part.get()).ok()?;
    Some(value.get("id")?.as_str()?.to_owned())
}

/// Hands over the entries of a list, one by one.
fn each<'a, T: Deserialize<'a>>(
    part: &'a RawValue,
    name: &'static str,
    take: impl FnMut(T) -> Result<(), String>,
) -> Result<(), serde_json::Error> {
    struct Entries<T, F> {
        name: &'static str,
        take: F,
        entry: std::marker::PhantomData<T>,
    }
    impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), String>> Visitor<'de> for Entries<T, F> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "`{}` to be a list", self.name)
        }

        fn visit_unit<E>(self) -> Result<(), E> {
            Ok(())
        }

        fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
            let mut index = 0;
            loop {
                let place = |error: &dyn fmt::Display| {
                    let words = error.to_string();
                    let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
                    A::Error::custom(format!("{}[{index}]: {words}", self.name))
                };
                match list.next_element::<T>().map_err(|error| place(&error))? {
                    Some(entry) => (self.take)(entry).map_err(|error| place(&error))?,
                    None => return Ok(()),
                }
                index += 1;
            }
        }
    }
    let mut input = serde_json::Deserializer::from_str(part.get());
    input.deserialize_any(Entries { name, take, entry: std::marker::PhantomData })
}

/// An error of a part as one of the document.
fn inside(document: &[u8], part: &RawValue, error: &serde_json::Error) -> ReadError {
    let offset = (part.get().as_ptr() as usize).saturating_sub(document.as_ptr() as usize).min(document.len());
    let before = &document[..offset];
    let lines = memchr::memchr_iter(b'\n', before).count();
    let column = offset - memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    let first = error.line() <= 1;
    ReadError::Plain {
        line: lines + error.line().max(1),
        column: if first { column + error.column().max(1) } else { error.column() },
        message: in_words(error),
    }
}

fn named(key: &str, error: serde_json::Error) -> serde_json::Error {
    serde_json::Error::custom(format!("{key}: {}", in_words(&error)))
}

/// What is wrong, without the position that stands before it.
fn in_words(error: &serde_json::Error) -> String {
    let words = error.to_string();
    let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
    match words {
        "recursion limit exceeded" => "it is nested too deeply".to_owned(),
        words if error.is_eof() => format!("it ends in the middle: {words}"),
        words => words.to_owned(),
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Parts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Top;
        impl<'de> Visitor<'de> for Top {
            type Value = Parts<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(r#"an object such as {"task": "…", "tools": [], "response": "…"}"#)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parts<'de>, A::Error> {
                let mut parts = Parts::default();
                while let Some(key) = map.next_key::<Cow<'_, str>>()? {
                    let (part, name) = match &*key {
                        "task" => (&mut parts.task, "task"),
                        "messages" => (&mut parts.messages, "messages"),
                        "tools" | "tool_calls" => (&mut parts.tools, "tools"),
                        "commands" => (&mut parts.commands, "commands"),
                        "response" | "answer" => (&mut parts.response, "response"),
                        "info" => (&mut parts.info, "info"),
                        "sessionId" => (&mut parts.session, "sessionId"),
                        // What else stands at the head of Gemini CLI's chats.
                        "projectHash" | "startTime" | "lastUpdated" => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                        _ => {
                            if parts.others.len() < OTHERS {
                                parts.others.push(crate::prompt::first_bytes(&key, 80).to_owned());
                            }
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    if part.is_some() {
                        let other = if key == name { String::new() } else { format!(", as `{name}` too") };
                        return Err(A::Error::custom(format!("`{key}` stands there twice{other}")));
                    }
                    *part = Some(map.next_value()?);
                }
                Ok(parts)
            }
        }
        deserializer.deserialize_map(Top)
    }
}

/// A text up to the cap of a trace, whatever the value is: what is no text is shown as JSON.
pub(super) fn text_of(part: &RawValue) -> String {
    const KEPT: usize = crate::domain::KEPT_BYTES;
    match serde_json::from_str::<Cow<'_, str>>(part.get()) {
        Ok(text) => crate::prompt::excerpt(&text, KEPT).into_owned(),
        Err(_) => crate::prompt::excerpt(part.get(), KEPT).into_owned(),
    }
}

/// A value as it is, if it is of a size that arguments have; else the ends of its text.
pub(super) fn value_of(part: &RawValue) -> serde_json::Value {
    const ARGUMENTS: usize = 256 * 1024;
    let small = (part.get().len() <= ARGUMENTS).then(|| serde_json::from_str(part.get()).ok()).flatten();
    small.unwrap_or_else(|| text_of(part).into())
}

/// Adds an item that nothing else is known of.
pub(super) fn tell(trace: &mut Trace, item: &TranscriptItem) {
    trace.step(item, None, None);
}
