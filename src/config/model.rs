//! A language model as agents, generators and `decompose` name it.

use super::agents::{AgentFile, ProviderFile};
use super::decompose::DecomposerFile;
use super::error::ConfigError;
use super::load::Effective;
use super::wire::GeneratorFile;
use crate::domain::policy;

/// How often a model's passing fault is tried again.
pub(super) const MODEL_RETRIES: u32 = 2;
/// What a model may write: a few files, or a reflection many times over.
const MAX_TOKENS: u32 = 4096;

/// What agents, generators and decomposers say alike about a model.
pub(super) struct Asked<'a> {
    model: Option<&'a String>,
    provider: Option<ProviderFile>,
    base_url: Option<&'a String>,
    key_env: Option<&'a String>,
    max_tokens: Option<u32>,
    temperature: Option<f64>,
    structured: Option<bool>,
}

impl<'a> Asked<'a> {
    pub(super) fn of_agent(file: &'a AgentFile) -> Self {
        Self {
            model: file.model.as_ref(),
            provider: file.provider,
            base_url: file.base_url.as_ref(),
            key_env: file.key_env.as_ref(),
            max_tokens: file.max_tokens,
            temperature: file.temperature,
            structured: file.structured,
        }
    }

    pub(super) fn of_generator(file: &'a GeneratorFile) -> Self {
        Self {
            model: file.model.as_ref(),
            provider: file.provider,
            base_url: file.base_url.as_ref(),
            key_env: file.key_env.as_ref(),
            max_tokens: file.max_tokens,
            temperature: file.temperature,
            structured: file.structured,
        }
    }

    pub(super) fn of_decomposer(file: &'a DecomposerFile) -> Self {
        Self {
            model: file.model.as_ref(),
            provider: file.provider,
            base_url: file.base_url.as_ref(),
            key_env: file.key_env.as_ref(),
            max_tokens: file.max_tokens,
            temperature: file.temperature,
            structured: file.structured,
        }
    }

    /// The keys that only a model's settings use, beside its name, for [`Effective::all_used`].
    pub(super) fn keys(&self, retries: Option<u32>, used: bool) -> [(&'static str, bool, bool); 7] {
        [
            ("provider", self.provider.is_some(), used),
            ("baseUrl", self.base_url.is_some(), used),
            ("keyEnv", self.key_env.is_some(), used),
            ("maxTokens", self.max_tokens.is_some(), used),
            ("temperature", self.temperature.is_some(), used),
            ("structured", self.structured.is_some(), used),
            ("retries", retries.is_some(), used),
        ]
    }

    pub(super) fn model(
        &self,
        effective: &Effective,
        key: &str,
        limits: policy::Limits,
    ) -> Result<policy::Model, ConfigError> {
        let Some(name) = self.model.filter(|name| !name.is_empty()) else {
            return Err(effective.wrong(key, format!("`{key}` needs a `model`, the provider's name of it")));
        };
        let Some(provider) = self.provider else {
            return Err(effective.wrong(key, format!("`{key}` needs a `provider`: anthropic, openai or gemini")));
        };
        if let Some(url) = self.base_url {
            let known = url.starts_with("http://") || url.starts_with("https://");
            effective.require(known, key, "has a `baseUrl` that does not begin with http:// or https://")?;
        }
        let temperature = self.temperature.unwrap_or(0.0);
        effective.require((0.0..=2.0).contains(&temperature), key, "has a `temperature` outside of 0 to 2")?;
        effective.require(self.max_tokens != Some(0), key, "has a `maxTokens` of 0")?;
        Ok(policy::Model {
            provider: provider.into(),
            name: name.clone(),
            base_url: self.base_url.cloned(),
            key_env: self.key_env.cloned(),
            max_tokens: self.max_tokens.unwrap_or(MAX_TOKENS),
            temperature_milli: self.temperature.map(|t| in_parts(t, 1000.0)),
            structured: match self.structured {
                Some(false) => policy::Structured::Off,
                Some(true) | None => policy::Structured::On,
            },
            limits,
        })
    }
}

/// A checked setting in whole parts, so that settings can be compared: dollars in cents, temperatures in thousandths.
pub(super) fn in_parts(value: f64, parts: f64) -> u32 {
    (value * parts).round() as u32
}
