//! The key `decompose` of `project.json`: in which parts a task is worked on.

use super::agents::ProviderFile;
use super::error::ConfigError;
use super::load::Effective;
use super::model::ModelSettings;
use crate::domain::policy;
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

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

impl DecomposeFile {
    pub(super) fn how(&self) -> policy::Decompose {
        match self {
            Self::By(DecomposeWord::Off) => policy::Decompose::Off,
            Self::By(DecomposeWord::Checklist) => policy::Decompose::Checklist,
            Self::By(DecomposeWord::Structure) => policy::Decompose::Structure,
            Self::Asked(_) => policy::Decompose::Asked,
        }
    }
}

impl Effective {
    pub(super) fn decomposer(
        &self,
        named: &BTreeMap<String, policy::Agent>,
    ) -> Result<policy::Decomposer, ConfigError> {
        let DecomposeFile::Asked(file) = &self.file.decompose else { return Ok(policy::Decomposer::Nobody) };
        let key = "decompose";
        self.require(file.timeout_ms > 0, key, "has a `timeoutMs` of 0")?;
        self.require(file.agent.is_some() != file.model.is_some(), key, "needs either an `agent` or a `model`")?;
        let model = file.model.is_some();
        for (name, given, used) in ModelSettings::from(&**file).keys(model) {
            self.require(!given || used, key, &format!("has `{name}`, which only a `model` uses"))?;
        }
        let timeout = Duration::from_millis(file.timeout_ms);
        if let Some(name) = &file.agent {
            self.answering_agent(named, name, "decompose.agent")?;
            return Ok(policy::Decomposer::Agent { name: name.clone(), timeout });
        }
        let retries = self.model_settings(&**file).retries();
        let limits = policy::Limits { timeout, concurrency: None, per_minute: None, retries };
        Ok(policy::Decomposer::Llm { model: self.model(&**file, key, limits)? })
    }
}

#[cfg(test)]
mod tests {
    use super::super::load::{Inputs, load};
    use super::*;

    fn settings(decompose: &str, env: &[(&str, &str)]) -> Result<policy::Values, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("project.json"), format!(r#"{{"decompose":{decompose}}}"#)).unwrap();
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        load(&Inputs { dir: dir.path().to_owned(), env, flags: Vec::new() })?.settings()
    }

    #[test]
    fn a_word_or_whoever_is_asked() {
        let run = settings(r#""structure""#, &[]).unwrap().run;
        assert_eq!((run.decompose, run.decomposer), (policy::Decompose::Structure, policy::Decomposer::Nobody));
        let run = settings(r#"{"agent":"claude","timeoutMs":5000}"#, &[]).unwrap().run;
        let agent = policy::Decomposer::Agent { name: "claude".to_owned(), timeout: Duration::from_secs(5) };
        assert_eq!((run.decompose, run.decomposer), (policy::Decompose::Asked, agent));
        let run = settings(r#""off""#, &[("REFLEXION_DECOMPOSE", r#"{"model":"m","provider":"openai"}"#)]).unwrap().run;
        let policy::Decomposer::Llm { model } = run.decomposer else { panic!("{:?}", run.decomposer) };
        assert_eq!((model.name.as_str(), model.limits.timeout.as_secs(), model.limits.retries), ("m", 120, 2));
        let run = settings(r#""off""#, &[("REFLEXION_DECOMPOSE", "checklist")]).unwrap().run;
        assert_eq!(run.decompose, policy::Decompose::Checklist);
    }

    #[test]
    fn errors_say_what_was_meant() {
        for (decompose, expected) in [
            (r#""checklst""#, "did you mean `checklist`?"),
            ("true", "expected `off`, `checklist`, `structure`, or an object such as"),
            (r#"{"agnet":"claude"}"#, "did you mean `agent`?"),
            ("{}", "`decompose` needs either an `agent` or a `model`"),
            (r#"{"agent":"claude","model":"m","provider":"openai"}"#, "needs either an `agent` or a `model`"),
            (r#"{"agent":"clade"}"#, "did you mean `claude`?"),
            (r#"{"agent":"repair"}"#, "which only works and answers no questions"),
            (r#"{"agent":"claude","retries":3}"#, "`decompose` has `retries`, which only a `model` uses"),
            (r#"{"model":"m"}"#, "`decompose` names the model `m`, which is not under `models` and has no `provider`"),
            (r#"{"agent":"claude","timeoutMs":0}"#, "has a `timeoutMs` of 0"),
        ] {
            let said = settings(decompose, &[]).unwrap_err().to_string();
            assert!(said.contains(expected), "{decompose}\n  said:     {said}\n  expected: {expected}");
        }
    }
}
