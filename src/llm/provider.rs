//! A provider's model behind the port.

use super::client::client;
use super::failure;
use super::key::Key;
use crate::domain::Usage;
use crate::domain::policy;
use crate::services::Completion;
use crate::services::Model;
use crate::services::ModelError;
use crate::services::ModelRequest;
use async_trait::async_trait;
use genai::Client;
use genai::ModelIden;
use genai::ServiceTarget;
use genai::adapter::AdapterKind;
use genai::chat::ChatMessage;
use genai::chat::ChatOptions;
use genai::chat::ChatRequest;
use genai::chat::ChatResponse;
use genai::chat::JsonSpec;
use genai::chat::ReasoningEffort;
use genai::chat::StopReason;
use genai::resolver::AuthData;
use genai::resolver::Endpoint;

/// The name that goes with a JSON Schema; `OpenAI` wants one.
const SCHEMA_NAME: &str = "answer";

/// One model of one provider, asked once per call.
pub(super) struct Provider {
    client: Client,
    target: ServiceTarget,
    key: Key,
    options: ChatOptions,
    structured: policy::Structured,
}

impl Provider {
    pub fn open(model: &policy::Model, variable: impl Fn(&str) -> Option<String>) -> Result<Self, ModelError> {
        let key = Key::of(model, variable)?;
        let (adapter, own) = match model.provider {
            policy::Provider::Anthropic => (AdapterKind::Anthropic, "https://api.anthropic.com/v1/"),
            policy::Provider::OpenAi => (AdapterKind::OpenAI, "https://api.openai.com/v1/"),
            policy::Provider::Gemini => (AdapterKind::Gemini, "https://generativelanguage.googleapis.com/v1beta/"),
        };
        // The dialects append their path, so the address ends with a slash.
        let address = format!("{}/", model.base_url.as_deref().unwrap_or(own).trim_end_matches('/'));
        let client = Client::builder()
            .with_reqwest(client(&address)?)
            .build()
            .map_err(|error| ModelError::Unavailable(error.to_string()))?;
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(address),
            auth: AuthData::from_single(key.sent()),
            model: ModelIden::new(adapter, model.name.clone()),
        };
        Ok(Self { client, target, key, options: options(model), structured: model.structured })
    }

    fn completion(&self, response: &ChatResponse) -> Result<Completion, ModelError> {
        let text = response.content.texts().concat();
        if text.is_empty() {
            // Some servers send an error record with status 200.
            if let Some(error) = response.captured_raw_body.as_ref().and_then(failure::in_answer) {
                return Err(error);
            }
        }
        if let Some(StopReason::ContentFilter(reason)) = &response.stop_reason {
            return Err(ModelError::Rejected(format!("the provider withheld the answer ({reason})")));
        }
        Ok(Completion {
            text,
            usage: usage(&response.usage),
            truncated: response.stop_reason.as_ref().is_some_and(StopReason::is_max_tokens),
        })
    }
}

#[async_trait]
impl Model for Provider {
    async fn complete(&self, request: ModelRequest) -> Result<Completion, ModelError> {
        let mut chat = ChatRequest::new(vec![ChatMessage::user(request.prompt)]);
        if let Some(system) = request.system {
            chat = chat.with_system(system);
        }
        let mut options = self.options.clone();
        if let (Some(schema), policy::Structured::On) = (request.schema, self.structured) {
            options = options.with_response_format(JsonSpec::new(SCHEMA_NAME, schema));
        }
        let answer = match self.client.exec_chat(self.target.clone(), chat, Some(&options)).await {
            Ok(response) => self.completion(&response),
            Err(error) => Err(failure::of(&error)),
        };
        answer.map_err(|error| failure::map_words(error, |words| self.key.scrub(words)))
    }
}

fn options(model: &policy::Model) -> ChatOptions {
    let mut options = ChatOptions::default()
        .with_max_tokens(model.max_tokens)
        // Local models that think aloud do so inside the text.
        .with_normalize_reasoning_content(true)
        .with_capture_raw_body(true);
    if let Some(milli) = model.temperature_milli {
        options = options.with_temperature(f64::from(milli) / 1000.0);
    }
    if model.provider == policy::Provider::OpenAi {
        // Otherwise the end of a name like `qwen-max` is taken for an effort and cut off; a budget sends nothing.
        options = options.with_reasoning_effort(ReasoningEffort::Budget(0));
    }
    options
}

/// The crate's convention is ours: `prompt_tokens` holds cached ones too, `completion_tokens` reasoning too.
fn usage(usage: &genai::chat::Usage) -> Usage {
    let count = |n: Option<i32>| n.and_then(|n| u64::try_from(n).ok());
    Usage {
        input: count(usage.prompt_tokens),
        cached: count(usage.prompt_tokens_details.as_ref().and_then(|d| d.cached_tokens)),
        output: count(usage.completion_tokens),
        reasoning: count(usage.completion_tokens_details.as_ref().and_then(|d| d.reasoning_tokens)),
        ..Usage::default()
    }
}
