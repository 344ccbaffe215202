//! One of `models`.

use super::ProviderFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One language model.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ModelFile {
    /// Whose protocol it speaks; Ollama, llama.cpp, vLLM and most others speak `openai`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderFile>,
    /// The provider's name of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where it is, up to and including the version, e.g. `http://127.0.0.1:11434/v1`; the provider's own place if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds the key; `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `GEMINI_API_KEY` if not given. A model at a
    /// `baseUrl` needs none, and gets one only if this names it: a provider's usual key goes to nobody else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// At most this many tokens are written; 4096 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Sampling temperature, 0 to 2; the provider's default if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Whether a JSON Schema is sent where one is wanted; off for servers that refuse it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<bool>,
    /// How often a passing fault (a rate limit, HTTP 5xx, a broken connection) is tried again; 2 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
}
