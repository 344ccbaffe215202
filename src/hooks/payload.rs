//! What an agent says to its hooks on stdin.

use serde_json::{Map, Value};
use std::path::PathBuf;

/// The payload of a hook, of whichever agent: Claude Code and Codex (`Stop`), Gemini (`AfterAgent`), and OpenCode through
/// the plugin that `reflexion hook install` writes. Nothing in it is required.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Payload {
    /// The agent's id of the conversation.
    pub session: Option<String>,
    /// Where the session is.
    pub dir: Option<PathBuf>,
    /// The agent's record of the conversation.
    pub transcript: Option<PathBuf>,
    /// The agent stops again after a hook sent it back to work.
    pub refired: bool,
    /// What tells this stop's prompt from the ones before, if anything does.
    pub turn: Option<String>,
    /// The agent's last words, as its record will have them.
    pub last_words: Option<String>,
    /// What the agent calls this hook by.
    pub event: Option<String>,
    /// What the tool that was called has answered.
    pub answer: Option<String>,
    /// What is wrong with it.
    pub problem: Option<String>,
}

impl Payload {
    /// Reads it; what cannot be read is missing, and [`Payload::problem`] says so.
    #[must_use]
    pub fn read(text: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(text) {
            Ok(Value::Object(map)) => Self::of(&map),
            Ok(_) => Self::broken("it is no JSON object"),
            Err(_) if text.trim_ascii().is_empty() => Self::broken("it is empty"),
            Err(error) => Self::broken(&error.to_string()),
        }
    }

    /// A payload that says nothing.
    #[must_use]
    pub fn broken(because: &str) -> Self {
        Self { problem: Some(format!("invalid_payload: {because}")), ..Self::default() }
    }

    fn of(map: &Map<String, Value>) -> Self {
        let mut wrong = None;
        let mut text = |key: &str| match map.get(key) {
            Some(Value::String(text)) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
            None | Some(Value::Null) => None,
            Some(_) => {
                wrong = Some(format!("invalid_payload: `{key}` is no text"));
                None
            }
        };
        let mut payload = Self {
            session: text("session_id"),
            dir: text("cwd").map(PathBuf::from),
            transcript: text("transcript_path").map(PathBuf::from),
            refired: map.get("stop_hook_active") == Some(&Value::Bool(true)),
            turn: text("prompt_id").or_else(|| text("turn_id")).or_else(|| text("prompt")),
            last_words: map.get("last_assistant_message").and_then(Value::as_str).map(str::to_owned),
            event: text("hook_event_name"),
            answer: answer(map),
            problem: None,
        };
        let nameless = || "invalid_payload: it has no `session_id`".to_owned();
        payload.problem = wrong.or_else(|| payload.session.is_none().then(nameless));
        payload
    }
}

/// All texts of the answer of a tool that runs commands, unless it says that the command passed: each agent has a shape of its own for it (`stdout` and `stderr`, `llmContent`, one text), and Claude Code another
/// key for a call that failed.
fn answer(map: &Map<String, Value>) -> Option<String> {
    const SHELLS: [&str; 6] = ["bash", "shell", "local_shell", "exec_command", "run_shell_command", "unified_exec"];
    let tool = map.get("tool_name").and_then(Value::as_str);
    if tool.is_some_and(|tool| !SHELLS.contains(&tool.to_ascii_lowercase().as_str())) {
        return None;
    }
    let found: Vec<&str> = ["tool_response", "error"].iter().filter_map(|key| map.get(*key)).flat_map(texts).collect();
    let text = found.join("\n");
    let passed = text.lines().any(|line| line.trim().eq_ignore_ascii_case("exit code: 0"));
    (!found.is_empty() && !passed).then_some(text)
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(map) => map.values().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payloads_of_all_agents_say_the_same() {
        let check = |text: &str, turn: &str, refired: bool| {
            let payload = Payload::read(text.as_bytes());
            assert_eq!(payload.session.as_deref(), Some("s1"), "{text}");
            assert_eq!(payload.dir.as_deref(), Some("/repo".as_ref()), "{text}");
            assert_eq!((payload.turn.as_deref(), payload.refired), (Some(turn), refired), "{text}");
            assert_eq!(payload.problem, None, "{text}");
        };
        let claude = r#"{"session_id":"s1","transcript_path":"/t.jsonl","cwd":"/repo","prompt_id":"p1","effort":{"level":"medium"},
            "hook_event_name":"Stop","stop_hook_active":true,"last_assistant_message":"Done.","background_tasks":[]}"#;
        check(claude, "p1", true);
        let codex = r#"{"session_id":"s1","turn_id":"u1","transcript_path":"/t.jsonl","cwd":"/repo","hook_event_name":"Stop",
            "model":"m","stop_hook_active":false,"last_assistant_message":"Done."}"#;
        check(codex, "u1", false);
        let gemini = r#"{"session_id":"s1","cwd":"/repo","hook_event_name":"AfterAgent","prompt":"Fix it",
            "prompt_response":"Done.","stop_hook_active":false}"#;
        check(gemini, "Fix it", false);
    }

    #[test]
    fn what_a_tool_answered_is_read_from_every_agents_payload() {
        let check = |more: &str| {
            let text = format!(r#"{{"session_id":"s1","hook_event_name":"E",{more}}}"#);
            let payload = Payload::read(text.as_bytes());
            assert!(payload.answer.as_ref().is_some_and(|answer| answer.contains("FAILED a")), "{payload:?}");
            assert_eq!(payload.event.as_deref(), Some("E"));
        };
        check(r#""tool_response":{"stdout":"FAILED a","stderr":"","interrupted":false}"#);
        check(r#""error":"Exit code 1\nFAILED a""#);
        check(r#""tool_response":"FAILED a""#);
        check(r#""tool_response":{"llmContent":[{"text":"FAILED a"}],"returnDisplay":""}"#);
        let none = |more: &str| {
            let text = format!(r#"{{"session_id":"s1",{more}}}"#);
            assert_eq!(Payload::read(text.as_bytes()).answer, None, "{more}");
        };
        none(r#""tool_response":{"ok":true}"#);
        none(r#""tool_response":"Exit code: 0\nOutput:\nFAILED a""#);
        none(r#""tool_name":"Read","tool_response":"FAILED a""#);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let check = |text: &[u8], expected: &str| {
            let problem = Payload::read(text).problem.unwrap();
            assert!(problem.starts_with("invalid_payload: ") && problem.contains(expected), "{problem}");
        };
        check(b"", "it is empty");
        check(b" \n", "it is empty");
        check(br#"{"session_id":"s1""#, "EOF");
        check(b"[1]", "it is no JSON object");
        check(b"\xff\xfe{", "");
        check(br#"{"session_id":7,"cwd":"/"}"#, "`session_id` is no text");
        check(br#"{"session_id":"s","cwd":[]}"#, "`cwd` is no text");
        check(br#"{"session_id":""}"#, "it has no `session_id`");
    }
}
