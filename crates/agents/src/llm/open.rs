//! The one way to a bare model.

use crate::domain::policy;
use crate::services::{Model, ModelError};
use std::sync::Arc;

/// The model of these settings, without any policy around it; nothing is asked yet.
///
/// `variable` looks up an environment variable: keys come from there and nowhere else. A model at a `baseUrl` gets a
/// key only if `keyEnv` names one, so that a provider's usual key never goes to somebody else's server.
///
/// # Errors
/// [`ModelError::Auth`] naming the variable that is missing; [`ModelError::Unavailable`] if the program was built without
/// the feature `llm`, or the address cannot be read.
#[cfg(feature = "llm")]
pub fn open(model: &policy::Model, variable: impl Fn(&str) -> Option<String>) -> Result<Arc<dyn Model>, ModelError> {
    Ok(Arc::new(super::provider::Provider::open(model, variable)?))
}

/// Says that this program was built without the feature `llm`.
///
/// # Errors
/// Always [`ModelError::Unavailable`].
#[cfg(not(feature = "llm"))]
pub fn open(_: &policy::Model, _: impl Fn(&str) -> Option<String>) -> Result<Arc<dyn Model>, ModelError> {
    Err(ModelError::Unavailable(
        "this program was built without the feature `llm`, so it cannot ask a language model; build it with the default features"
            .to_owned(),
    ))
}

/// The names of the models that the provider of these settings offers.
///
/// # Errors
/// As [`open`]; and what the provider says in place of a list.
#[cfg(feature = "llm")]
pub async fn offered(
    model: &policy::Model,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<String>, ModelError> {
    let provider = super::provider::Provider::open(model, variable)?;
    provider.offered().await
}

/// Says that this program was built without the feature `llm`.
///
/// # Errors
/// Always [`ModelError::Unavailable`].
#[cfg(not(feature = "llm"))]
pub async fn offered(
    model: &policy::Model,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<String>, ModelError> {
    open(model, variable).map(|_| Vec::new())
}

#[cfg(all(test, not(feature = "llm")))]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn without_the_feature_it_says_so() {
        let model = policy::Model {
            provider: policy::Provider::OpenAi,
            name: "m".to_owned(),
            base_url: None,
            key_env: None,
            max_tokens: 1,
            temperature_milli: None,
            structured: policy::Structured::On,
            limits: policy::Limits { timeout: Duration::from_secs(1), concurrency: None, per_minute: None, retries: 0 },
        };
        let said = open(&model, |_| None).err().map(|e| e.to_string());
        assert!(said.is_some_and(|said| said.contains("without the feature `llm`")));
    }
}
