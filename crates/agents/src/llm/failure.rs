//! What a failed call means: from the status, the error record's fields, and the headers.

use crate::prompt::{one_line, shorten};
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

/// Takes out of a text what nobody may see. It sees every text whole: of a key that is cut in two, half would stay.
pub(super) type Hide<'a> = &'a dyn Fn(&str) -> String;

/// What an error of the crate means.
pub(super) fn of(error: &genai::Error, hide: Hide<'_>) -> ModelError {
    match error {
        genai::Error::WebModelCall { webc_error, .. } | genai::Error::WebAdapterCall { webc_error, .. } => {
            of_call(webc_error, hide)
        }
        genai::Error::HttpError { status, body, headers, .. } => {
            Record::of(body, hide).meaning(status.as_u16(), wait(headers))
        }
        // Its own text holds the whole request; the answer's error record, if there is one, says more.
        genai::Error::ChatResponseGeneration { response_body, cause, .. } => in_answer(response_body, hide)
            .unwrap_or_else(|| ModelError::Rejected(words(&format!("no readable answer: {cause}"), hide))),
        other => ModelError::Rejected(words(&other.to_string(), hide)),
    }
}

fn of_call(error: &genai::webc::Error, hide: Hide<'_>) -> ModelError {
    match error {
        genai::webc::Error::ResponseFailedStatus { status, body, headers } => {
            Record::of(body, hide).meaning(status.as_u16(), wait(headers))
        }
        genai::webc::Error::Reqwest(error) => of_transport(error, hide),
        genai::webc::Error::ResponseFailedNotJson { content_type, body } => ModelError::Rejected(format!(
            "the answer is `{}` and not JSON; is the address right? It begins: {}",
            words(content_type, hide),
            shorten(&clean(body, hide), 80)
        )),
        genai::webc::Error::ResponseFailedInvalidJson { cause, .. } => {
            ModelError::Transient(words(&format!("the answer is torn: {cause}"), hide))
        }
        genai::webc::Error::JsonValueExt(error) => ModelError::Rejected(words(&error.to_string(), hide)),
    }
}

/// No whole answer came: everything but a request that could not even be written passes.
fn of_transport(error: &reqwest::Error, hide: Hide<'_>) -> ModelError {
    // The innermost cause says what happened ("Connection refused"); the outer ones only where.
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let host = error.url().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    let text = words(&format!("{host}: {cause}"), hide);
    if error.is_builder() { ModelError::Rejected(text) } else { ModelError::Transient(text) }
}

/// An error record inside an answer with status 200.
pub(super) fn in_answer(body: &Value, hide: Hide<'_>) -> Option<ModelError> {
    let record = Record::read(body, hide)?;
    let status = record.code.as_deref().and_then(|code| code.parse().ok()).unwrap_or(400);
    Some(record.meaning(status, None))
}

/// A provider's error record: `error.type`, `error.code`, `error.status`, `error.message`, in whichever are there.
#[derive(Debug, Default)]
struct Record {
    /// Every word that names the error, in lower case.
    names: Vec<String>,
    code: Option<String>,
    /// Clean, and not yet capped.
    message: String,
    retry_after: Option<Duration>,
}

impl Record {
    /// Reads the body of an answer with another status than success; what is no record is all message.
    fn of(body: &str, hide: Hide<'_>) -> Self {
        let record = serde_json::from_str(body).ok().and_then(|body| Self::read(&body, hide));
        record.unwrap_or_else(|| Self { message: clean(body, hide), ..Self::default() })
    }

    /// Reads `{"error": {…}}`, `{"error": "…"}`, a list of one of these (Gemini's streaming endpoint), or vLLM's bare
    /// `{"object": "error", …}`.
    fn read(body: &Value, hide: Hide<'_>) -> Option<Self> {
        let body = body.get(0).unwrap_or(body);
        let error = match body.get("error") {
            Some(Value::String(message)) => return Some(Self { message: clean(message, hide), ..Self::default() }),
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
            message: clean(&text("message").unwrap_or_else(|| error.to_string()), hide),
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
            text => format!("{} (HTTP status {status})", shorten(text, WORDS_BYTES)),
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
        } else if status == 404 {
            // No such model, or no such address: asking again, or another attempt, changes nothing.
            ModelError::Unavailable(message)
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
fn words(text: &str, hide: Hide<'_>) -> String {
    shorten(&clean(text, hide), WORDS_BYTES).into_owned()
}

/// A provider's words on one line, whole.
fn clean(text: &str, hide: Hide<'_>) -> String {
    hide(&one_line(&crate::prompt::plain(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, headers: &HeaderMap, body: &str) -> ModelError {
        Record::of(body, &str::to_owned).meaning(status, wait(headers))
    }

    /// The variant and the wait, as `rate limited 7s`.
    fn kind(error: &ModelError) -> String {
        match error {
            ModelError::RateLimited { retry_after: Some(wait), .. } => format!("rate limited {}s", wait.as_secs_f64()),
            ModelError::RateLimited { .. } => "rate limited".to_owned(),
            ModelError::Quota(_) => "quota".to_owned(),
            ModelError::Auth(_) => "auth".to_owned(),
            ModelError::Transient(_) => "transient".to_owned(),
            ModelError::Context(_) => "context".to_owned(),
            ModelError::Rejected(_) => "rejected".to_owned(),
            ModelError::Unavailable(_) => "unavailable".to_owned(),
            other @ ModelError::Timeout(_) => format!("{other:?}"),
        }
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| ((*name).parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn the_record_and_the_status_say_what_it_means() {
        let check = |status: u16, body: &str, expected: &str| {
            assert_eq!(kind(&answered(status, &HeaderMap::new(), body)), expected, "{status} {body}");
        };
        // Anthropic, https://platform.claude.com/docs/en/api/errors
        let anthropic = |kind: &str| format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"m"}}}}"#);
        check(429, &anthropic("rate_limit_error"), "rate limited");
        check(529, &anthropic("overloaded_error"), "transient");
        check(500, &anthropic("api_error"), "transient");
        check(401, &anthropic("authentication_error"), "auth");
        check(403, &anthropic("permission_error"), "auth");
        check(402, &anthropic("billing_error"), "quota");
        check(413, &anthropic("request_too_large"), "context");
        check(404, &anthropic("not_found_error"), "unavailable");
        check(404, &anthropic("api_error"), "unavailable");
        check(400, &anthropic("invalid_request_error"), "rejected");
        let too_long = "prompt is too long: 214000 tokens > 200000 maximum";
        check(400, &anthropic("invalid_request_error").replace("\"m\"", &format!("\"{too_long}\"")), "context");
        let no_credit = "Your credit balance is too low to access the Anthropic API.";
        check(400, &anthropic("invalid_request_error").replace("\"m\"", &format!("\"{no_credit}\"")), "quota");
        // OpenAI, https://platform.openai.com/docs/guides/error-codes
        let openai = |code: &str| format!(r#"{{"error":{{"message":"m","type":"t","param":null,"code":"{code}"}}}}"#);
        check(429, &openai("rate_limit_exceeded"), "rate limited");
        check(429, &openai("insufficient_quota"), "quota");
        check(400, &openai("context_length_exceeded"), "context");
        check(401, &openai("invalid_api_key"), "auth");
        check(404, &openai("model_not_found"), "unavailable");
        check(503, r#"{"error":{"message":"m","type":"server_error","code":null}}"#, "transient");
        // Gemini, https://ai.google.dev/gemini-api/docs/troubleshooting
        let gemini = |code: u16, status: &str, details: &str| {
            format!(r#"{{"error":{{"code":{code},"message":"m","status":"{status}","details":[{details}]}}}}"#)
        };
        let info = r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}"#;
        check(429, &gemini(429, "RESOURCE_EXHAUSTED", info), "rate limited 34.5s");
        check(429, &format!("[{}]", gemini(429, "RESOURCE_EXHAUSTED", "")), "rate limited");
        check(400, &gemini(400, "INVALID_ARGUMENT", r#"{"reason":"API_KEY_INVALID"}"#), "auth");
        check(400, &gemini(400, "INVALID_ARGUMENT", ""), "rejected");
        check(503, &gemini(503, "UNAVAILABLE", ""), "transient");
        // Local servers: llama.cpp, vLLM, Ollama.
        check(400, r#"{"error":{"code":400,"message":"m","type":"exceed_context_size_error"}}"#, "context");
        check(
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}"#,
            "context",
        );
        check(404, r#"{"error":"model 'x' not found"}"#, "unavailable");
        // No record at all.
        check(502, "<html>Bad Gateway</html>", "transient");
        check(408, "", "transient");
        check(429, "slow down", "rate limited");
        check(302, "", "rejected");
    }

    #[test]
    fn words_outside_of_the_record_decide_nothing() {
        // The prompt, echoed beside the record, is not the provider's word.
        let body = r#"{"error":{"message":"m","type":"t"},"echo":"prompt is too long; credit balance is too low"}"#;
        assert_eq!(kind(&answered(400, &HeaderMap::new(), body)), "rejected");
    }

    #[test]
    fn the_headers_say_how_long_to_wait() {
        let check = |pairs: &[(&'static str, &str)], expected: &str| {
            assert_eq!(kind(&answered(429, &headers(pairs), "{}")), expected, "{pairs:?}");
        };
        check(&[("retry-after", "7")], "rate limited 7s");
        check(&[("retry-after-ms", "1500"), ("retry-after", "7")], "rate limited 1.5s");
        let date = "Fri, 01 May 2026 10:00:00 GMT";
        check(&[("date", date), ("retry-after", "Fri, 01 May 2026 10:01:30 GMT")], "rate limited 90s");
        check(&[("date", date), ("retry-after", "Fri, 01 May 2026 09:00:00 GMT")], "rate limited 0s");
        check(&[("retry-after", "Fri, 01 May 2026 10:01:30 GMT")], "rate limited");
        check(&[("retry-after", "soon")], "rate limited");
        check(&[("retry-after", "-3")], "rate limited");
        check(&[("retry-after", "1e300")], "rate limited");
    }

    #[test]
    fn words_are_kept_on_one_line_and_capped() {
        let body = serde_json::json!({ "error": { "message": format!("a\n\u{1b}[31mb {}", "x".repeat(9_000)) } });
        let said = answered(400, &HeaderMap::new(), &body.to_string()).to_string();
        assert!(said.starts_with("the request was refused: a b xxx") && said.len() < 600, "{said}");
    }

    #[test]
    fn an_error_record_may_come_with_status_200() {
        let body = serde_json::json!({ "error": { "message": "busy", "code": 429 } });
        assert_eq!(in_answer(&body, &str::to_owned).as_ref().map(kind).as_deref(), Some("rate limited"));
        assert_eq!(in_answer(&serde_json::json!({ "choices": [] }), &str::to_owned), None);
    }
}
