//! What a coding agent's program is like, as data: `config/agents/<name>.json`.

use super::rule::Stream;
use crate::domain::ToolKind;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

/// A coding agent's program: how it is found, started and understood.
///
/// Everything here was tried with the versions it names, at the date it names; a newer version is a warning, never an
/// error.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Description {
    /// What people call it.
    pub title: String,
    /// When all of this was last tried, as a date.
    pub checked: String,
    /// The program, looked for on PATH.
    pub program: String,
    /// How it is installed.
    pub install: String,
    /// How it says its version, and which ones were tried.
    pub version: Version,
    /// How it is known whether somebody is logged in.
    pub login: Login,
    /// Where it does not work for root.
    #[serde(default)]
    pub refuses_root: Option<RefusesRoot>,
    /// How it is started.
    pub arguments: Arguments,
    /// Set in its environment before everything else: nothing that phones home or updates itself in the middle of a
    /// night.
    pub env: BTreeMap<String, String>,
    pub(super) launch: Vec<LaunchRule>,
    pub(super) stream: Stream,
    /// The transcript that it writes itself, if it is one that is read.
    #[serde(default)]
    pub(super) transcript: Option<Stream>,
    pub(super) tools: BTreeMap<String, ToolKind>,
    pub(super) errors: Errors,
    /// What else is good to know; for whoever reads the file.
    #[serde(default, rename = "notes")]
    _notes: Vec<String>,
}

/// How a program says its version.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// The arguments that make it print its version.
    pub args: Vec<String>,
    /// The versions that all of the description was tried with.
    pub tried: Vec<String>,
}

/// How it is known whether somebody is logged in, without spending tokens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// Variables with a key; one is enough.
    pub env: Vec<String>,
    /// Files with credentials, relative to the home directory; one is enough.
    pub files: Vec<String>,
    /// Arguments of a command that exits with 0 if somebody is logged in, where there is one.
    #[serde(default)]
    pub status: Option<Vec<String>>,
    /// What to do where nobody is.
    pub advice: String,
}

/// A program that does nothing for root when it may do everything.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusesRoot {
    /// Variables that let it work all the same, set to 1; one is enough.
    pub unless: Vec<String>,
    /// What to do about it, for people.
    pub say: String,
}

/// How it is started. `{model}`, `{turns}`, `{usd}`, `{text}` and `{conversation}` stand for values, `{json}` for the
/// text as a JSON string; `{options}` for all the arguments that the settings ask for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Arguments {
    /// A new conversation.
    pub new: Vec<String>,
    /// Going on with one.
    #[serde(default)]
    pub resume: Option<Vec<String>>,
    /// Going on with a copy of one.
    #[serde(default)]
    pub fork: Option<Vec<String>>,
    /// A model by name.
    pub model: Vec<String>,
    /// Nothing is asked, everything is allowed.
    pub allow: Vec<String>,
    /// Nothing is asked, what would be is refused.
    pub deny: Option<Vec<String>>,
    /// Nothing can be changed.
    #[serde(default)]
    pub read_only: Option<Vec<String>>,
    /// A limit of turns; without it only the runtime counts them.
    #[serde(default)]
    pub max_turns: Vec<String>,
    /// A limit of dollars; without it only the runtime counts them.
    #[serde(default)]
    pub max_cost: Vec<String>,
    /// More words for the system prompt; without it they stand before the prompt.
    #[serde(default)]
    pub system_prompt: Vec<String>,
}

/// What it means that a program ended before its first record.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LaunchRule {
    /// Its exit status.
    pub exit: i32,
    /// Words on stderr, where the status alone does not say it.
    #[serde(default)]
    pub stderr: String,
    /// What it means.
    pub means: LaunchFailure,
    /// What to do about it, for people.
    #[serde(default)]
    pub say: String,
}

/// Why a program did not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LaunchFailure {
    /// The conversation to go on with is gone.
    NoConversation,
    /// Something has to be set up first.
    Setup,
}

/// What error records mean.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Errors {
    /// By the record's own kind of error.
    #[serde(default)]
    pub kinds: BTreeMap<String, Class>,
    /// By words in an error record, where nothing in it is better structured; the first that matches.
    #[serde(default)]
    pub words: Vec<Words>,
    /// By exit status.
    #[serde(default)]
    pub exits: BTreeMap<i32, Class>,
    /// Exit statuses with which the program says that a signal ended it.
    #[serde(default)]
    pub signals: Vec<i32>,
    /// So many error records of one class, and the run is ended: for an agent that never gives up by itself.
    #[serde(default)]
    pub give_up_after: BTreeMap<Class, u32>,
}

/// A row of the wording table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    /// A regular expression; case does not matter. A group `at` is a time, `wait` a duration, `clock` what a clock
    /// shows, each until a limit resets.
    pub say: Pattern,
    /// What they mean.
    pub means: Class,
}

/// A regular expression that is compiled when it is first needed: most runs end without an error, and the tables of all
/// agents take longer to compile than a transcript to judge.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
pub(super) struct Pattern {
    text: String,
    regex: OnceLock<Regex>,
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self { text, regex: OnceLock::new() }
    }
}

impl Pattern {
    /// It is part of a description, and a test compiles every one.
    pub fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| {
            let built = RegexBuilder::new(&self.text).case_insensitive(true).build();
            built.unwrap_or_else(|error| panic!("a pattern of config/agents cannot be read: {error}"))
        })
    }
}

/// What an error is; each is an ending, but for a conversation that is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Class {
    RateLimited,
    Quota,
    Transient,
    Auth,
    Permission,
    Budget,
    Context,
    AgentError,
    NoConversation,
}

impl Description {
    /// What its tools do, by its names of them.
    #[cfg(test)]
    pub(crate) fn tools(&self) -> &BTreeMap<String, ToolKind> {
        &self.tools
    }
}

/// The names of all descriptions.
pub const AGENTS: [&str; 6] = ["claude", "codex", "opencode", "gemini", "qwen", "pi"];

/// The description of this name.
///
/// ```
/// let claude = reflexion_transcript::streams::program::describe("claude").expect("it is described");
/// assert_eq!(claude.program, "claude");
/// assert!(reflexion_transcript::streams::program::describe("nobody").is_none());
/// ```
#[must_use]
pub fn describe(name: &str) -> Option<&'static Description> {
    macro_rules! described {
        ($($agent:literal),*) => {
            match name {
                $($agent => {
                    static PARSED: LazyLock<Description> = LazyLock::new(|| parse(include_str!(concat!(
                        env!("CARGO_MANIFEST_DIR"), "/config/agents/", $agent, ".json"
                    ))));
                    Some(&*PARSED)
                })*
                _ => None,
            }
        };
    }
    described!("claude", "codex", "opencode", "gemini", "qwen", "pi")
}

/// Descriptions are part of the program; a test reads every one.
fn parse(text: &str) -> Description {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("a description of config/agents cannot be read: {error}"))
}
