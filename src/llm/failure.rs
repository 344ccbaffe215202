//! What a failed call means: from the status, the error record's fields, and the headers.

use crate::prompt::one_line;
use crate::prompt::shorten;
use crate::services::ModelError;
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::time::Duration;

/// So much of a provider's own words is kept.
const WORDS_BYTES: usize = 500;

/// Longer waits are a record gone wrong: no limit of these providers lasts longer than a month.
const LONGEST_WAIT: f64 = 31.0 * 86_400.0;

/// Sentences of error *records* whose `type` says too little, as of 2026-11; nothing else is searched for words.
/// Anthropic sends both as `invalid_request_error`, Gemini as `INVALID_ARGUMENT`, vLLM as `BadRequestError`.
const QUOTA_WORDS: [&str; 1] = ["credit balance is too low"];
const CONTEXT_WORDS: [&str; 5] = [
    "prompt is too long",                   // Anthropic
    "exceeds the maximum number of tokens", // Gemini
    "maximum context length",               // vLLM, older OpenAI models
    "exceeds the available context size",   // llama.cpp before it had a type for it
    "too long prompt",                      // node-llama-cpp
];

/// What an error of the crate means.
pub(super) fn of(error: &genai::Error) -> ModelError {
    match error {
        genai::Error::WebModelCall { webc_error, .. } | genai::Error::WebAdapterCall { webc_error, .. } => {
            of_call(webc_error)
        }
        genai::Error::HttpError { status, body, headers, .. } => answered(status.as_u16(), headers, body),
        // Its own text holds the whole request; the answer's error record, if there is one, says more.
        genai::Error::ChatResponseGeneration { response_body, cause, .. } => in_answer(response_body)
            .unwrap_or_else(|| ModelError::Rejected(words(&format!("no readable answer: {cause}")))),
        other => ModelError::Rejected(words(&other.to_string())),
    }
}

fn of_call(error: &genai::webc::Error) -> ModelError {
    match error {
        genai::webc::Error::ResponseFailedStatus { status, body, headers } => answered(status.as_u16(), headers, body),
        genai::webc::Error::Reqwest(error) => of_transport(error),
        genai::webc::Error::ResponseFailedNotJson { content_type, body } => ModelError::Rejected(words(&format!(
            "the answer is `{content_type}` and not JSON; is the address right? It begins: {}",
            shorten(&one_line(body), 80)
        ))),
        genai::webc::Error::ResponseFailedInvalidJson { cause, .. } => {
            ModelError::Transient(words(&format!("the answer is torn: {cause}")))
        }
        genai::webc::Error::JsonValueExt(error) => ModelError::Rejected(words(&error.to_string())),
    }
}

/// No whole answer came: everything but a request that could not even be written passes.
fn of_transport(error: &reqwest::Error) -> ModelError {
    // The innermost cause says what happened ("Connection refused"); the outer ones only where.
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let host = error.url().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    let text = words(&format!("{host}: {cause}"));
    if error.is_builder() { ModelError::Rejected(text) } else { ModelError::Transient(text) }
}

/// An error record inside an answer with status 200.
pub(super) fn in_answer(body: &Value) -> Option<ModelError> {
    let record = Record::read(body)?;
    let status = record.code.as_deref().and_then(|code| code.parse().ok()).unwrap_or(400);
    Some(record.meaning(status, None))
}

/// An answer with another status than success.
fn answered(status: u16, headers: &HeaderMap, body: &str) -> ModelError {
    let record = serde_json::from_str(body)
        .ok()
        .as_ref()
        .and_then(Record::read)
        .unwrap_or_else(|| Record { message: shorten(&one_line(body), WORDS_BYTES).into_owned(), ..Record::default() });
    record.meaning(status, wait(headers))
}

/// A provider's error record: `error.type`, `error.code`, `error.status`, `error.message`, in whichever are there.
#[derive(Debug, Default)]
struct Record {
    /// Every word that names the error, in lower case.
    names: Vec<String>,
    code: Option<String>,
    message: String,
    retry_after: Option<Duration>,
}

impl Record {
    /// Reads `{"error": {…}}`, `{"error": "…"}`, a list of one of these (Gemini's streaming endpoint), or vLLM's bare
    /// `{"object": "error", …}`.
    fn read(body: &Value) -> Option<Self> {
        let body = body.get(0).unwrap_or(body);
        let error = match body.get("error") {
            Some(Value::String(message)) => return Some(Self { message: message.clone(), ..Self::default() }),
            Some(error @ Value::Object(_)) => error,
            _ if body.get("object").and_then(Value::as_str) == Some("error") => body,
            _ => return None,
        };
        let text = |key: &str| match error.get(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let details = error.get("details").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let reasons = details.iter().filter_map(|d| d.get("reason")?.as_str().map(str::to_owned));
        let names = ["type", "code", "status"].into_iter().filter_map(text).chain(reasons);
        let retry = details.iter().find_map(|d| d.get("retryDelay")?.as_str()?.strip_suffix('s')?.parse().ok());
        Some(Self {
            names: names.map(|name| name.to_ascii_lowercase()).collect(),
            code: text("code"),
            message: text("message").unwrap_or_else(|| error.to_string()),
            retry_after: retry.and_then(seconds),
        })
    }

    fn is_any(&self, names: &[&str]) -> bool {
        self.names.iter().any(|name| names.contains(&name.as_str()))
    }

    fn says_any(&self, words: &[&str]) -> bool {
        let message = self.message.to_ascii_lowercase();
        words.iter().any(|words| message.contains(words))
    }

    /// The names first, because some providers put a meaning of its own under a status of another.
    fn meaning(&self, status: u16, retry_after: Option<Duration>) -> ModelError {
        let message = match self.message.trim() {
            "" => format!("HTTP status {status}"),
            text => format!("{} (HTTP status {status})", words(text)),
        };
        let passes = [
            "overloaded_error",
            "api_error",
            "server_error",
            "internal_error",
            "unavailable",
            "internal",
            "deadline_exceeded",
            "service_unavailable",
            "timeout_error",
        ];
        if self.is_any(&["insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active"])
            || self.says_any(&QUOTA_WORDS)
            || status == 402
        {
            ModelError::Quota(message)
        } else if self.is_any(&["authentication_error", "invalid_api_key", "api_key_invalid", "unauthenticated"])
            || self.is_any(&["permission_error", "permission_denied"])
            || matches!(status, 401 | 403)
        {
            ModelError::Auth(message)
        } else if self.is_any(&["rate_limit_error", "rate_limit_exceeded", "resource_exhausted"]) || status == 429 {
            ModelError::RateLimited { retry_after: retry_after.or(self.retry_after), message }
        } else if self.is_any(&["context_length_exceeded", "exceed_context_size_error", "request_too_large"])
            || self.says_any(&CONTEXT_WORDS)
            || status == 413
        {
            ModelError::Context(message)
        } else if self.is_any(&passes) || matches!(status, 408 | 425) || status >= 500 {
            ModelError::Transient(message)
        } else {
            ModelError::Rejected(message)
        }
    }
}

/// How long to wait, as the headers have it: milliseconds, seconds, or a date, which is counted from the answer's own
/// `date`.
fn wait(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()) {
        return seconds(ms / 1000.0);
    }
    let after = text("retry-after")?;
    if let Ok(number) = after.parse() {
        return seconds(number);
    }
    let date = |text: &str| jiff::fmt::rfc2822::parse(text).ok();
    let until = date(after)?.timestamp().duration_since(date(text("date")?)?.timestamp());
    seconds(until.as_secs_f64().max(0.0))
}

fn seconds(number: f64) -> Option<Duration> {
    (0.0..=LONGEST_WAIT).contains(&number).then(|| Duration::from_secs_f64(number))
}

/// A provider's words on one line, capped.
fn words(text: &str) -> String {
    shorten(&one_line(&crate::prompt::plain(text)), WORDS_BYTES).into_owned()
}

/// The same error with its words changed.
pub(super) fn map_words(error: ModelError, change: impl Fn(&str) -> String) -> ModelError {
    match error {
        ModelError::RateLimited { retry_after, message } => {
            ModelError::RateLimited { retry_after, message: change(&message) }
        }
        ModelError::Quota(words) => ModelError::Quota(change(&words)),
        ModelError::Auth(words) => ModelError::Auth(change(&words)),
        ModelError::Transient(words) => ModelError::Transient(change(&words)),
        ModelError::Context(words) => ModelError::Context(change(&words)),
        ModelError::Rejected(words) => ModelError::Rejected(change(&words)),
        ModelError::Unavailable(words) => ModelError::Unavailable(change(&words)),
        ModelError::Timeout(limit) => ModelError::Timeout(limit),
    }
}
