//! Whose records these are, from the first of them.

use crate::streams::program::{AGENTS, Likeness, Recording, recorders};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use std::fmt;
use std::str::FromStr;

/// So many lines are looked at.
const LINES: usize = 40;

/// How a transcript is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// What an agent left behind, by its name in `config/agents/`.
    Agent(&'static str, Recording),
    /// `.reflection/runs/<run>/transcripts/<session>.jsonl`.
    Reflexion,
    /// The messages between an agent and its client, one JSON-RPC message of the Agent Client Protocol a line.
    Acp,
    /// One JSON document: task, messages, tools, response, commands; also `opencode export`, and the chat files of Gemini
    /// CLI before they were JSON Lines.
    Plain,
}

/// The names of all formats, as `--format` takes them.
pub const FORMATS: &[&str] = &[
    "claude",
    "claude-transcript",
    "codex",
    "codex-transcript",
    "opencode",
    "gemini",
    "gemini-transcript",
    "qwen",
    "pi",
    "acp",
    "reflexion",
    "plain",
];

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(agent, Recording::Stream) => f.write_str(agent),
            Self::Agent(agent, Recording::Transcript) => write!(f, "{agent}-transcript"),
            Self::Acp => f.write_str("acp"),
            Self::Reflexion => f.write_str("reflexion"),
            Self::Plain => f.write_str("plain"),
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let agent = |name: &str| AGENTS.into_iter().find(|agent| *agent == name);
        match name {
            "reflexion" => Ok(Self::Reflexion),
            "plain" => Ok(Self::Plain),
            "acp" => Ok(Self::Acp),
            name => match name.strip_suffix("-transcript").filter(|_| FORMATS.contains(&name)) {
                Some(of) => agent(of).map(|agent| Self::Agent(agent, Recording::Transcript)),
                None => agent(name).map(|agent| Self::Agent(agent, Recording::Stream)),
            }
            .ok_or_else(|| format!("`{name}` is no format; there are {}", FORMATS.join(", "))),
        }
    }
}

/// The format of what begins so; none if nothing in it is known.
pub(super) fn detect(beginning: &[u8]) -> Option<Format> {
    let first = beginning.trim_ascii_start();
    // A document over several lines, or a list of messages.
    let own_keys = Keys::of(first);
    if first.starts_with(b"[") || own_keys.plain && !own_keys.kind {
        return Some(Format::Plain);
    }
    let mut known: Vec<(Format, usize)> = Vec::new();
    let mut looked_at = 0;
    for line in beginning.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|l| !l.is_empty()).take(LINES) {
        looked_at += 1;
        let keys = Keys::of(line);
        if keys.version && keys.at && keys.kind {
            return Some(Format::Reflexion);
        }
        if keys.rpc {
            return Some(Format::Acp);
        }
        for (agent, recording, likeness) in recorders(line) {
            let format = Format::Agent(agent, recording);
            if likeness == Likeness::Marked {
                return Some(format);
            }
            match known.iter_mut().find(|(other, _)| *other == format) {
                Some((_, count)) => *count += 1,
                None => known.push((format, 1)),
            }
        }
    }
    // Names such as `error` are common: most of the records must be known. Of equals, the first agent is it.
    let best = known.into_iter().rev().max_by_key(|(_, count)| *count)?;
    (best.1 * 2 >= looked_at).then_some(best.0)
}

/// The keys of an object that tell formats apart, as far as it can be read.
#[derive(Debug, Default, Clone, Copy)]
struct Keys {
    kind: bool,
    version: bool,
    at: bool,
    plain: bool,
    /// It is a JSON-RPC message, or holds one in `msg`.
    rpc: bool,
}

impl Keys {
    fn of(text: &[u8]) -> Self {
        let mut keys = Self::default();
        let mut input = serde_json::Deserializer::from_slice(text);
        // What follows a beginning that breaks off is not needed.
        let _ = input.deserialize_map(Top(&mut keys));
        keys
    }
}

struct Top<'k>(&'k mut Keys);

impl<'de> DeserializeSeed<'de> for Top<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Top<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<std::borrow::Cow<'_, str>>()? {
            match &*key {
                "type" => self.0.kind = true,
                "v" => self.0.version = true,
                "at" => self.0.at = true,
                "jsonrpc" => self.0.rpc = true,
                "msg" => {
                    let mut inside = Keys::default();
                    map.next_value_seed(Top(&mut inside))?;
                    self.0.rpc |= inside.rpc;
                    continue;
                }
                "task" | "messages" | "tools" | "tool_calls" | "response" | "answer" | "commands" => {
                    self.0.plain = true;
                }
                _ => {}
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}
