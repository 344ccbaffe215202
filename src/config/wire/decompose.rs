//! The key `decompose`.

use super::ProviderFile;
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which parts a task is worked on in: a word, or who is asked.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum DecomposeFile {
    /// The description's own structure, or nothing.
    By(DecomposeWord),
    /// Somebody is asked.
    Asked(Box<DecomposerFile>),
}

impl Default for DecomposeFile {
    fn default() -> Self {
        Self::By(DecomposeWord::Off)
    }
}

/// Which lists in a task's description are its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecomposeWord {
    /// None.
    Off,
    /// A checklist.
    Checklist,
    /// A checklist, or else the only numbered list.
    Structure,
}

/// Who is asked for the parts of a task that has neither subtasks nor a checklist, once before its first attempt. Either an
/// `agent` or a `model`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DecomposerFile {
    /// The name of an agent; it is asked read-only, in an empty directory. Of a `command` agent that is no promise, see
    /// [sandbox](sandbox.md#who-is-in-it).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// A language model, asked directly: a name under `models`, or the provider's with a `provider` beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Of a model: whose protocol it speaks; Ollama, llama.cpp, vLLM and most others speak `openai`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderFile>,
    /// Of a model: where it is, up to and including the version; the provider's own place if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Of a model: the environment variable with the key; the provider's usual one if not given, and none at a `baseUrl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// Of a model: at most this many tokens are written; 4096 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Of a model: sampling temperature, 0 to 2; the provider's default if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Of a model: whether a JSON Schema is sent; off for servers that refuse it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<bool>,
    /// Of a model: how often a passing fault is tried again; 2 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// How long the answer may take, in milliseconds.
    pub timeout_ms: u64,
}

impl Default for DecomposerFile {
    fn default() -> Self {
        Self {
            agent: None,
            model: None,
            provider: None,
            base_url: None,
            key_env: None,
            max_tokens: None,
            temperature: None,
            structured: None,
            retries: None,
            timeout_ms: 120_000,
        }
    }
}

// serde's `untagged` would lose what is wrong inside, and where.
impl<'de> Deserialize<'de> for DecomposeFile {
    fn deserialize<D: serde::Deserializer<'de>>(de: D) -> Result<Self, D::Error> {
        struct WordOrObject;
        impl<'de> Visitor<'de> for WordOrObject {
            type Value = DecomposeFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`off`, `checklist`, `structure`, or an object such as {\"agent\": \"claude\"}")
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<DecomposeFile, E> {
                DecomposeWord::deserialize(StrDeserializer::new(word)).map(DecomposeFile::By)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DecomposeFile, A::Error> {
                let file = DecomposerFile::deserialize(MapAccessDeserializer::new(map))?;
                Ok(DecomposeFile::Asked(Box::new(file)))
            }
        }
        de.deserialize_any(WordOrObject)
    }
}
