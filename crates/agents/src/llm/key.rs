//! Keys, which nobody may see.

use crate::domain::policy;
use crate::services::ModelError;

/// What a model without a key is sent: some servers refuse an empty one.
const NO_KEY: &str = "none";

/// A key from the environment. It is in no message and no debug output; [`Key::scrub`] takes it out of what others write.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key(Option<String>);

impl Key {
    /// The key of a model: of the variable in `keyEnv`, else of the provider's usual one, which is for the provider's own
    /// address only.
    pub fn of(model: &policy::Model, variable: impl Fn(&str) -> Option<String>) -> Result<Self, ModelError> {
        let usual = match model.provider {
            policy::Provider::Anthropic => "ANTHROPIC_API_KEY",
            policy::Provider::OpenAi => "OPENAI_API_KEY",
            policy::Provider::Gemini => "GEMINI_API_KEY",
        };
        let name = match (&model.key_env, &model.base_url) {
            (Some(name), _) => name.as_str(),
            (None, None) => usual,
            (None, Some(_)) => return Ok(Self(None)),
        };
        match variable(name).map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()) {
            Some(key) if key.chars().all(|c| c.is_ascii_graphic()) => Ok(Self(Some(key))),
            Some(_) => Err(ModelError::Auth(format!(
                "the environment variable {name} holds characters that no key has; set it to the key of `{}`",
                model.name
            ))),
            None => Err(ModelError::Auth(format!(
                "the environment variable {name} is not set; it must hold the key of `{}`",
                model.name
            ))),
        }
    }

    /// What is sent.
    pub fn sent(&self) -> &str {
        self.0.as_deref().unwrap_or(NO_KEY)
    }

    /// A text of the provider without the key.
    pub fn scrub(&self, text: &str) -> String {
        self.0.as_ref().map_or_else(|| text.to_owned(), |key| text.replace(key, "[key]"))
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}
