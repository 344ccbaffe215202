//! Language models: providers behind the port [`Model`](crate::services::Model).
//!
//! [`open`] makes the bare model of the settings: it asks once and says what happened. Time limits, retries and the
//! like are tower layers that the composition root puts around it. The dialects (Anthropic's Messages, `OpenAI`'s chat
//! completions, Google's `generateContent`) come from the crate `genai`; what a failed call means is read from the
//! provider's status and error record in `failure`. Without the feature `llm` there is only the sentence that says so.

#[cfg(feature = "llm")]
mod failure;
#[cfg(feature = "llm")]
mod key;
mod open;
#[cfg(feature = "llm")]
mod provider;

pub use open::{offered, open};
