//! The block `agents` of `project.json`: coding agents by name, and the models of those that are one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The agents by name, and the default.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AgentsFile {
    /// One name, or a fallback chain: the next one works where the one before is missing, not logged in, or out of quota.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<OneOrMany>,
    /// Agents for tasks with a label, e.g. `{"docs": "gemini"}`; the first label here that a task has decides. A task's own
    /// `agent` comes before it.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "labels_as_map")]
    pub labels: Vec<(String, OneOrMany)>,
    /// Every agent.
    #[serde(flatten)]
    pub named: BTreeMap<String, AgentFile>,
}

/// One name, or several in the order of preference.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected an agent's name, or a list of names")]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

/// One agent. The agents `claude`, `codex`, `opencode`, `gemini`, `qwen`, `pi` and `repair` are there without an entry.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AgentFile {
    /// What it is; not needed where the agent's name says it. `claude`, `codex`, `opencode`, `gemini`, `qwen`, `pi`: the
    /// command-line program of that name. `acp`: any program that speaks the Agent Client Protocol. `command`: any
    /// program, prompt on stdin, exit status 0 says *done*. `completion`: a language model without tools, which answers
    /// with whole files. `repair`: the embedded search-based agent.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<AgentKindFile>,
    /// Program and arguments. For `command` and `acp`: needed. For an agent's program: in place of the one on PATH, to
    /// which the runtime adds its own arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// Wall-clock limit of one agent run, in milliseconds; one hour if not given, ten minutes for `repair`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// An agent that prints nothing for so long hangs and is ended, in milliseconds; 15 minutes if not given, 0 for never.
    /// Not for `command`, `completion` and `repair`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout_ms: Option<u64>,
    /// Added to its environment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The agent's name of a model; its own default if not given. For `completion`: a name under `models`, or the provider's with a
    /// `provider` beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// At most this many answers of the model in one agent run; no limit if not given. The runtime counts where the agent
    /// has no such option.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// At most this many US dollars in one agent run, as far as the agent reports its cost while it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// What happens where the agent would ask for a permission; nobody is ever asked. `allow`: it may, in its own
    /// workspace. `deny`: what its own settings do not allow is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<PermissionsFile>,
    /// Added to the arguments of an agent's program, as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extra_args: Vec<String>,
    /// Added to the agent's own system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// At most this many runs of this agent at the same time; no limit if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<usize>,
    /// At most this many runs of this agent (or calls of a `completion` agent's model) are started in a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<u32>,
    /// For `completion`: whose protocol the model speaks; Ollama, llama.cpp, vLLM and most others speak `openai`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderFile>,
    /// For `completion`: where the model is, up to and including the version, e.g. `http://127.0.0.1:11434/v1`; the provider's own if not
    /// given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// For `completion`: the environment variable that holds the key; `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `GEMINI_API_KEY` if not given.
    /// A model at a `baseUrl` needs none, and gets one only if this names it: a provider's usual key goes to nobody else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// For `completion`: at most this many tokens are written; 4096 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// For `completion`: sampling temperature, 0 to 2; the provider's default if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// For `completion`: whether a JSON Schema is sent where one is wanted; off for servers that refuse it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<bool>,
    /// For `completion`: how often a passing fault (a rate limit, HTTP 5xx, a broken connection) of the model is tried again; 2 if not
    /// given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
}

/// What happens where an agent would ask for a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionsFile {
    /// It may.
    Allow,
    /// It may not.
    Deny,
}

/// Whose protocol a model speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderFile {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's chat completions.
    Openai,
    /// Google's Gemini.
    Gemini,
}

/// What kind of program an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentKindFile {
    /// Any program.
    Command,
    /// The embedded search-based agent.
    Repair,
    /// A language model without tools.
    Completion,
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// OpenCode.
    Opencode,
    /// Gemini CLI.
    Gemini,
    /// Qwen Code.
    Qwen,
    /// pi.
    Pi,
    /// Any program that speaks the Agent Client Protocol.
    Acp,
}

impl AgentKindFile {
    /// The kinds that are agents without an entry of their own, by name.
    pub(in crate::config) const BUILT_IN: [(&'static str, Self); 7] = [
        ("repair", Self::Repair),
        ("claude", Self::Claude),
        ("codex", Self::Codex),
        ("opencode", Self::Opencode),
        ("gemini", Self::Gemini),
        ("qwen", Self::Qwen),
        ("pi", Self::Pi),
    ];
}

fn labels_as_map<S: serde::Serializer>(labels: &[(String, OneOrMany)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(labels.iter().map(|(label, agents)| (label, agents)))
}

// serde's `flatten` would lose the position of an error, so the map is read by hand: `default` is special, every other
// key is an agent.
impl<'de> Deserialize<'de> for AgentsFile {
    fn deserialize<D: serde::Deserializer<'de>>(de: D) -> Result<Self, D::Error> {
        struct Agents;
        impl<'de> serde::de::Visitor<'de> for Agents {
            type Value = AgentsFile;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object with `default` and one key per agent")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<AgentsFile, A::Error> {
                let mut agents = AgentsFile::default();
                while let Some(key) = map.next_key::<String>()? {
                    if key == "default" {
                        agents.default = Some(map.next_value()?);
                    } else if key == "labels" {
                        agents.labels = map.next_value::<Labels>()?.0;
                    } else {
                        agents.named.insert(key, map.next_value::<AgentObject>()?.0);
                    }
                }
                Ok(agents)
            }
        }
        de.deserialize_map(Agents)
    }
}

/// In the order of the file, because the first one that a task has decides.
struct Labels(Vec<(String, OneOrMany)>);

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: serde::Deserializer<'de>>(de: D) -> Result<Self, D::Error> {
        struct Map;
        impl<'de> serde::de::Visitor<'de> for Map {
            type Value = Labels;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(r#"an object such as {"docs": "gemini"}"#)
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut labels = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    labels.push(entry);
                }
                Ok(Labels(labels))
            }
        }
        de.deserialize_map(Map)
    }
}

/// An agent, and no list in its place (see [`Objects`](super::wire::Objects)).
struct AgentObject(AgentFile);

impl<'de> Deserialize<'de> for AgentObject {
    fn deserialize<D: serde::Deserializer<'de>>(de: D) -> Result<Self, D::Error> {
        struct Map;
        impl<'de> serde::de::Visitor<'de> for Map {
            type Value = AgentObject;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("struct AgentFile")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<AgentObject, A::Error> {
                AgentFile::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(AgentObject)
            }
        }
        de.deserialize_map(Map)
    }
}

impl JsonSchema for AgentsFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Agents".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let default = generator.subschema_for::<OneOrMany>();
        let agent = generator.subschema_for::<AgentFile>();
        schemars::json_schema!({
            "type": "object",
            "properties": {
                "default": default,
                "labels": { "type": "object", "additionalProperties": default },
            },
            "additionalProperties": agent,
        })
    }
}

impl From<ProviderFile> for crate::domain::policy::Provider {
    fn from(file: ProviderFile) -> Self {
        match file {
            ProviderFile::Anthropic => Self::Anthropic,
            ProviderFile::Openai => Self::OpenAi,
            ProviderFile::Gemini => Self::Gemini,
        }
    }
}
