//! Asking a language model, without an agent program.

use crate::domain::{Ending, Usage, policy};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;

/// A language model: one prompt in, one text out.
///
/// *Who calls:* the `llm` generator and the `completion` agent. *Promise:* nothing is kept between calls; the key is
/// read from the environment and is in no message.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Model: Send + Sync {
    /// Answers once. Calling twice may give two answers and costs twice.
    ///
    /// # Errors
    /// [`ModelError`], by what follows from it.
    async fn complete(&self, request: ModelRequest) -> Result<Completion, ModelError>;
}

/// Opens models as the settings describe them, each behind its policies.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Models: Send + Sync {
    /// The model of these settings; nothing is asked yet.
    ///
    /// # Errors
    /// [`ModelError`] if the program cannot talk to it at all: no key, or built without the feature `llm`.
    fn open(&self, model: &policy::Model) -> Result<Arc<dyn Model>, ModelError>;

    /// The names of the models that the provider of these settings offers; their own name is not looked at.
    ///
    /// # Errors
    /// [`ModelError`] if the list cannot be had; then nothing is known of it.
    async fn offered(&self, model: &policy::Model) -> Result<Vec<String>, ModelError>;
}

/// One question.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelRequest {
    /// The system prompt.
    pub system: Option<String>,
    /// What is asked.
    pub prompt: String,
    /// A JSON Schema that the answer must fit; providers that cannot are asked in words, so an answer is always to be
    /// validated.
    pub schema: Option<serde_json::Value>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// The text.
    pub text: String,
    /// What it used.
    pub usage: Usage,
    /// It was cut off at the limit of tokens.
    pub truncated: bool,
}

impl Completion {
    /// A whole answer, for doubles.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn whole(text: &str, usage: Usage) -> Self {
        Self { text: text.to_owned(), usage, truncated: false }
    }
}

/// A model gave no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// HTTP 429, or the provider's own words for it.
    #[error("rate limited: {message}")]
    RateLimited {
        /// How long to wait, where the answer says so (`retry-after`).
        retry_after: Option<Duration>,
        /// In the provider's words.
        message: String,
    },
    /// The account has nothing left.
    #[error("quota used up: {0}")]
    Quota(String),
    /// No key, or it was refused.
    #[error("not logged in: {0}")]
    Auth(String),
    /// A passing fault: HTTP 5xx, a broken connection.
    #[error("the model's service failed: {0}")]
    Transient(String),
    /// The prompt is longer than the model takes.
    #[error("the prompt is too long: {0}")]
    Context(String),
    /// The request was refused for another reason.
    #[error("the request was refused: {0}")]
    Rejected(String),
    /// No answer within the time limit.
    #[error("no answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// It cannot be asked at all as things are set up.
    #[error("{0}")]
    Unavailable(String),
}

impl ModelError {
    /// The ending of an agent run that rests on this answer; `now` turns a duration into a reset time.
    #[must_use]
    pub fn ending(&self, now: crate::domain::Timestamp) -> Ending {
        match self {
            Self::RateLimited { retry_after, .. } => {
                Ending::RateLimited { resets_at: retry_after.map(|d| crate::domain::later(now, d)) }
            }
            Self::Quota(_) => Ending::Quota,
            Self::Auth(_) => Ending::Auth,
            Self::Transient(_) => Ending::Transient,
            Self::Context(_) => Ending::Context,
            Self::Timeout(_) => Ending::Timeout,
            Self::Rejected(_) | Self::Unavailable(_) => Ending::AgentError,
        }
    }

    /// Whether asking again may help.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Transient(_))
    }
}

/// A model as a [`tower::Service`], so that its policies (time limit, concurrency, rate, retry, your own) are ordinary
/// tower layers.
///
/// ```no_run
/// # use reflexion_core::services::{Model, ModelService};
/// # fn policies(model: std::sync::Arc<dyn Model>) {
/// let limited = tower::ServiceBuilder::new().concurrency_limit(2).service(ModelService(model));
/// # }
/// ```
#[derive(Clone)]
pub struct ModelService(pub Arc<dyn Model>);

impl tower::Service<ModelRequest> for ModelService {
    type Response = Completion;
    type Error = tower::BoxError;
    type Future = futures_util::future::BoxFuture<'static, Result<Completion, tower::BoxError>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: ModelRequest) -> Self::Future {
        let model = Arc::clone(&self.0);
        Box::pin(async move { Ok(model.complete(request).await?) })
    }
}
