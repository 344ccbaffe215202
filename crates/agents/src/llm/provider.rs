//! A provider's model behind the port.

use super::failure;
use super::failure::Hide;
use super::key::Key;
use crate::domain::{Usage, policy};
use crate::http::client;
use crate::services::{Completion, Model, ModelError, ModelRequest};
use async_trait::async_trait;
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatOptions, ChatRequest, ChatResponse, JsonSpec, ReasoningEffort, StopReason};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};

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
        let reqwest = client(&address).map_err(|because| ModelError::Unavailable(format!("`{address}`: {because}")))?;
        let client = Client::builder()
            .with_reqwest(reqwest)
            .build()
            .map_err(|error| ModelError::Unavailable(error.to_string()))?;
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(address),
            auth: AuthData::from_single(key.sent()),
            model: ModelIden::new(adapter, model.name.clone()),
        };
        Ok(Self { client, target, key, options: options(model), structured: model.structured })
    }

    /// The names of the models that there are.
    pub async fn offered(&self) -> Result<Vec<String>, ModelError> {
        let place = (self.target.endpoint.clone(), self.target.auth.clone());
        match self.client.all_model_names(self.target.model.adapter_kind, place).await {
            Ok(names) => Ok(names),
            Err(error) => Err(failure::of(&error, &|words| self.key.scrub(words))),
        }
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
        match self.client.exec_chat(self.target.clone(), chat, Some(&options)).await {
            Ok(response) => completion(&response, &|words| self.key.scrub(words)),
            Err(error) => Err(failure::of(&error, &|words| self.key.scrub(words))),
        }
    }
}

fn completion(response: &ChatResponse, hide: Hide<'_>) -> Result<Completion, ModelError> {
    let text = response.content.texts().concat();
    if text.is_empty() {
        // Some servers send an error record with status 200.
        if let Some(error) = response.captured_raw_body.as_ref().and_then(|body| failure::in_answer(body, hide)) {
            return Err(error);
        }
    }
    if let Some(StopReason::ContentFilter(reason)) = &response.stop_reason {
        return Err(ModelError::Rejected(format!("the provider withheld the answer ({})", hide(reason))));
    }
    Ok(Completion {
        text,
        usage: usage(&response.usage),
        truncated: response.stop_reason.as_ref().is_some_and(StopReason::is_max_tokens),
    })
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
        // Otherwise the end of a name like `qwen-max` is taken for an effort and cut off; a budget sends nothing. The
        // other two dialects would send a budget, and none of their models has such a name.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    const SECRET: &str = "sk-very-secret-0123456789";

    /// Answers one request with `response`, and gives the request.
    async fn server(response: String) -> (String, tokio::task::JoinHandle<String>) {
        serve(response, is_whole).await
    }

    /// The same for a request without a body.
    async fn get_server(response: String) -> (String, tokio::task::JoinHandle<String>) {
        serve(response, |request| request.ends_with(b"\r\n\r\n")).await
    }

    async fn serve(response: String, is_whole: fn(&[u8]) -> bool) -> (String, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !is_whole(&request) {
                let mut piece = [0; 4096];
                let n = stream.read(&mut piece).await.unwrap();
                assert!(n > 0, "the request is torn");
                request.extend_from_slice(&piece[..n]);
            }
            stream.write_all(response.as_bytes()).await.unwrap();
            String::from_utf8(request).unwrap()
        });
        (address, seen)
    }

    fn is_whole(request: &[u8]) -> bool {
        let text = String::from_utf8_lossy(request).to_ascii_lowercase();
        text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            length.is_some_and(|length| body.len() >= length.parse::<usize>().unwrap())
        })
    }

    fn http(status: &str, headers: &str, body: &str) -> String {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
    }

    fn model(provider: policy::Provider, base_url: Option<String>) -> policy::Model {
        policy::Model {
            provider,
            name: "small-max".to_owned(),
            base_url,
            key_env: None,
            max_tokens: 77,
            temperature_milli: Some(250),
            structured: policy::Structured::On,
            limits: policy::Limits {
                timeout: Duration::from_secs(30),
                concurrency: None,
                per_minute: None,
                retries: 0,
            },
        }
    }

    fn keyed(provider: policy::Provider, base_url: String) -> Provider {
        let model = policy::Model { key_env: Some("MY_KEY".to_owned()), ..model(provider, Some(base_url)) };
        Provider::open(&model, |name| (name == "MY_KEY").then(|| SECRET.to_owned())).unwrap()
    }

    fn question() -> ModelRequest {
        ModelRequest {
            system: Some("be brief".to_owned()),
            prompt: "why?".to_owned(),
            schema: Some(serde_json::json!({
                "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"],
                "additionalProperties": false,
            })),
        }
    }

    /// Asks once, and gives the request's head, its body, and the answer.
    async fn ask(
        provider: policy::Provider,
        response: String,
    ) -> (String, serde_json::Value, Result<Completion, ModelError>) {
        let (address, seen) = server(response).await;
        let answer = keyed(provider, address).complete(question()).await;
        let request = seen.await.unwrap();
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        (head.to_ascii_lowercase(), serde_json::from_str(body).unwrap(), answer)
    }

    #[tokio::test]
    async fn openai_is_asked_in_its_dialect() {
        let answer = r#"{"choices":[{"message":{"role":"assistant","content":"<think>hm</think>because"},"finish_reason":"length"}],
            "usage":{"prompt_tokens":10,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":6},"completion_tokens_details":{"reasoning_tokens":3}}}"#;
        let (head, body, answer) = ask(policy::Provider::OpenAi, http("200 OK", "", answer)).await;
        assert!(head.starts_with("post /v1/chat/completions "), "{head}");
        assert!(head.contains(&format!("authorization: bearer {SECRET}")), "{head}");
        assert_eq!(body["model"], "small-max", "the end of the name is no effort");
        assert_eq!(body["max_tokens"], 77);
        assert_eq!(body["temperature"], 0.25);
        assert_eq!(body.get("reasoning_effort"), None);
        assert_eq!(body["response_format"]["json_schema"]["schema"]["required"], serde_json::json!(["a"]));
        assert_eq!(body["messages"][0]["content"], "be brief");
        assert_eq!(body["messages"][1]["content"], "why?");
        let usage = Usage { input: Some(10), cached: Some(6), output: Some(4), reasoning: Some(3), ..Usage::default() };
        assert_eq!(answer, Ok(Completion { text: "because".to_owned(), usage, truncated: true }));
    }

    #[tokio::test]
    async fn anthropic_is_asked_in_its_dialect() {
        let answer = r#"{"content":[{"type":"text","text":"because "},{"type":"text","text":"so"}],"stop_reason":"end_turn","model":"m",
            "usage":{"input_tokens":3,"cache_read_input_tokens":6,"cache_creation_input_tokens":1,"output_tokens":4}}"#;
        let (head, body, answer) = ask(policy::Provider::Anthropic, http("200 OK", "", answer)).await;
        assert!(head.starts_with("post /v1/messages "), "{head}");
        assert!(head.contains(&format!("x-api-key: {SECRET}")), "{head}");
        assert_eq!(body["max_tokens"], 77);
        assert_eq!(body["output_config"]["format"]["schema"]["required"], serde_json::json!(["a"]));
        let usage = Usage { input: Some(10), cached: Some(6), output: Some(4), ..Usage::default() };
        assert_eq!(answer, Ok(Completion { text: "because so".to_owned(), usage, truncated: false }));
    }

    #[tokio::test]
    async fn gemini_is_asked_in_its_dialect() {
        let answer = r#"{"candidates":[{"content":{"parts":[{"text":"because"}],"role":"model"},"finishReason":"STOP"}],
            "usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":6,"candidatesTokenCount":1,"thoughtsTokenCount":3,"totalTokenCount":14}}"#;
        let (head, body, answer) = ask(policy::Provider::Gemini, http("200 OK", "", answer)).await;
        assert!(head.starts_with("post /v1/models/small"), "{head}");
        assert!(head.contains(&format!("x-goog-api-key: {SECRET}")), "{head}");
        assert!(!head.lines().next().unwrap_or_default().contains(SECRET), "the key is in the address: {head}");
        assert_eq!(body["generationConfig"]["maxOutputTokens"], 77);
        assert_eq!(body["generationConfig"]["responseMimeType"], "application/json");
        let usage = Usage { input: Some(10), cached: Some(6), output: Some(4), reasoning: Some(3), ..Usage::default() };
        assert_eq!(answer, Ok(Completion { text: "because".to_owned(), usage, truncated: false }));
    }

    #[tokio::test]
    async fn the_models_that_there_are_can_be_asked_for() {
        async fn check(provider: policy::Provider, header: &str, body: &str) {
            let (address, seen) = get_server(http("200 OK", "", body)).await;
            let offered = keyed(provider, address).offered().await;
            assert_eq!(offered, Ok(vec!["small".to_owned(), "large".to_owned()]));
            let request = seen.await.unwrap().to_ascii_lowercase();
            assert!(request.starts_with("get /v1/models "), "{request}");
            assert!(request.contains(&format!("{header}{SECRET}")), "{request}");
        }
        let list = r#"{"data":[{"id":"small"},{"id":"large"}]}"#;
        check(policy::Provider::OpenAi, "authorization: bearer ", list).await;
        check(policy::Provider::Anthropic, "x-api-key: ", list).await;
        let list = r#"{"models":[{"name":"models/small"},{"name":"models/large"}]}"#;
        check(policy::Provider::Gemini, "x-goog-api-key: ", list).await;

        let body = format!(r#"{{"error":{{"message":"key {SECRET} is unknown","type":"authentication_error"}}}}"#);
        let (address, _seen) = get_server(http("401 Unauthorized", "", &body)).await;
        let error = keyed(policy::Provider::OpenAi, address).offered().await.unwrap_err();
        assert_eq!(error.to_string(), "not logged in: key [key] is unknown (HTTP status 401)");
    }

    #[tokio::test]
    async fn a_schema_is_not_sent_where_the_settings_say_so() {
        let (address, seen) = server(http("200 OK", "", r#"{"choices":[{"message":{"content":"x"}}]}"#)).await;
        let model =
            policy::Model { structured: policy::Structured::Off, ..model(policy::Provider::OpenAi, Some(address)) };
        let provider = Provider::open(&model, |name| panic!("{name} is read, and nobody asked for it")).unwrap();
        provider.complete(question()).await.unwrap();
        let request = seen.await.unwrap();
        assert!(!request.contains("response_format"), "{request}");
        assert!(request.to_ascii_lowercase().contains("authorization: bearer none"), "{request}");
    }

    #[tokio::test]
    async fn an_error_keeps_its_wait_and_loses_the_key() {
        let body = format!(r#"{{"error":{{"message":"key {SECRET} is over its limit","type":"requests"}}}}"#);
        let response = http("429 Too Many Requests", "retry-after: 12\r\n", &body);
        let (_, _, answer) = ask(policy::Provider::OpenAi, response).await;
        let message = "key [key] is over its limit (HTTP status 429)".to_owned();
        assert_eq!(answer, Err(ModelError::RateLimited { retry_after: Some(Duration::from_secs(12)), message }));
    }

    #[tokio::test]
    async fn no_half_of_a_key_is_left_where_a_message_is_cut() {
        async fn check(response: impl Fn(&str) -> String) {
            let lengths = (60..=80).chain(480..=500);
            let mut hidden = 0;
            for length in lengths {
                let response = response(&format!("{}{SECRET}", "x".repeat(length)));
                let said = ask(policy::Provider::OpenAi, response).await.2.unwrap_err().to_string();
                assert!(!said.contains("xsk"), "{length}: {said}");
                hidden += usize::from(said.contains("x[key]"));
            }
            assert!(hidden > 0, "the key was in none of the messages");
        }
        check(|text| http("400 Bad Request", "", &format!(r#"{{"error":{{"message":"{text}"}}}}"#))).await;
        check(|text| http("200 OK", "", &format!(r#"{{"error":{{"message":"{text}"}}}}"#))).await;
        check(|text| http("400 Bad Request", "", text)).await;
        check(|text| http("200 OK", "", text).replace("application/json", "text/html")).await;
    }

    #[tokio::test]
    async fn what_is_no_answer_says_what_it_is() {
        async fn check(response: String, expected: &str) {
            let (_, _, answer) = ask(policy::Provider::OpenAi, response).await;
            let said = answer.map_err(|error| error.to_string());
            assert!(matches!(&said, Err(said) if said.starts_with(expected)), "{said:?}\nexpected: {expected}");
        }
        let html =
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 7\r\nconnection: close\r\n\r\n<html/>";
        check(html.to_owned(), "the request was refused: the answer is `text/html` and not JSON").await;
        check(http("200 OK", "", "{\"choices\":[{"), "the model's service failed: the answer is torn").await;
        let torn = http("200 OK", "", "{}").replace("content-length: 2", "content-length: 99");
        check(torn, "the model's service failed: 127.0.0.1: ").await;
        check(String::new(), "the model's service failed: 127.0.0.1: ").await;
        let elsewhere = http("307 Temporary Redirect", "location: http://127.0.0.1:9/\r\n", "");
        check(elsewhere, "the request was refused: HTTP status 307").await;
        let busy = r#"{"error":{"message":"busy","code":502}}"#;
        check(http("200 OK", "", busy), "the model's service failed: busy").await;
        let withheld = r#"{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]}"#;
        check(http("200 OK", "", withheld), "the request was refused: the provider withheld the answer").await;
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_a_passing_fault() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        drop(listener);
        let answer = keyed(policy::Provider::OpenAi, address).complete(question()).await;
        assert!(matches!(&answer, Err(ModelError::Transient(why)) if why.contains("refused")), "{answer:?}");
    }

    #[test]
    fn a_missing_key_is_named_before_anything_is_asked() {
        let check = |provider, key_env: Option<&str>, value: Option<&str>, expected: &str| {
            let model = policy::Model { key_env: key_env.map(str::to_owned), ..model(provider, None) };
            let said = Provider::open(&model, |_| value.map(str::to_owned)).err().map(|error| error.to_string());
            assert!(said.as_ref().is_some_and(|said| said.contains(expected)), "{said:?}\nexpected: {expected}");
        };
        check(policy::Provider::Anthropic, None, None, "ANTHROPIC_API_KEY is not set");
        check(policy::Provider::OpenAi, None, Some("  "), "OPENAI_API_KEY is not set");
        check(policy::Provider::Gemini, None, None, "GEMINI_API_KEY is not set");
        check(policy::Provider::OpenAi, Some("MINE"), None, "MINE is not set");
        check(policy::Provider::OpenAi, None, Some("two\nlines"), "OPENAI_API_KEY holds characters that no key has");
    }

    #[test]
    fn a_key_is_in_no_debug_text() {
        let provider = keyed(policy::Provider::OpenAi, "http://127.0.0.1:9/v1".to_owned());
        let shown = format!("{:?} {:?} {:?}", provider.key, provider.target, provider.client);
        assert!(!shown.contains(SECRET), "{shown}");
        assert_eq!(provider.key.scrub(&format!("a {SECRET} b")), "a [key] b");
    }

    #[test]
    fn an_address_that_is_none_is_an_error() {
        let said = Provider::open(&model(policy::Provider::OpenAi, Some("http://[::1".to_owned())), |_| None).err();
        assert!(matches!(&said, Some(ModelError::Unavailable(why)) if why.contains("http://[::1")), "{said:?}");
    }
}
