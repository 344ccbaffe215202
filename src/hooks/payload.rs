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
    /// What the person asks for, where the hook is called before that is read or after it was done.
    pub prompt: Option<String>,
    /// The agent's last words, as its record will have them.
    pub last_words: Option<String>,
    /// What the agent calls this hook by.
    pub event: Option<String>,
    /// The command line that the tool ran, of one that runs some.
    pub command: Option<String>,
    /// What that tool has answered.
    pub answer: Option<String>,
    /// Whether the command passed; none where the agent does not say.
    pub passed: Option<bool>,
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
        let answer = if runs_commands(map) { answer(map) } else { None };
        let mut payload = Self {
            session: text("session_id"),
            dir: text("cwd").map(PathBuf::from),
            transcript: text("transcript_path").map(PathBuf::from),
            refired: map.get("stop_hook_active") == Some(&Value::Bool(true)),
            turn: text("prompt_id").or_else(|| text("turn_id")).or_else(|| text("prompt")),
            prompt: map.get("prompt").and_then(Value::as_str).map(str::to_owned),
            last_words: map.get("last_assistant_message").and_then(Value::as_str).map(str::to_owned),
            event: text("hook_event_name"),
            command: answer.as_ref().and_then(|_| command(map)),
            passed: answer.as_deref().and_then(|answer| passed(map, answer)),
            answer,
            problem: None,
        };
        let nameless = || "invalid_payload: it has no `session_id`".to_owned();
        payload.problem = wrong.or_else(|| payload.session.is_none().then(nameless));
        payload
    }
}

/// Whether the tool that was called runs commands; a payload that names none is taken for such a tool's.
fn runs_commands(map: &Map<String, Value>) -> bool {
    const SHELLS: [&str; 6] = ["bash", "shell", "local_shell", "exec_command", "run_shell_command", "unified_exec"];
    let tool = map.get("tool_name").and_then(Value::as_str);
    tool.is_none_or(|tool| SHELLS.contains(&tool.to_ascii_lowercase().as_str()))
}

/// All texts of the answer: each agent has a shape of its own for it (`stdout` and `stderr`, `llmContent`, one text), and Claude Code another
/// key for a call that failed.
fn answer(map: &Map<String, Value>) -> Option<String> {
    let found: Vec<&str> = ["tool_response", "error"].iter().filter_map(|key| map.get(*key)).flat_map(texts).collect();
    (!found.is_empty()).then(|| found.join("\n"))
}

fn command(map: &Map<String, Value>) -> Option<String> {
    let line = map.get("tool_input")?.get("command")?;
    Some(line.as_str().map_or_else(|| texts(line).join(" "), str::to_owned)).filter(|line| !line.trim().is_empty())
}

/// An exit status says it, as a number or in a line (`Exit code: 1`). Claude Code calls its hook for commands that passed by another name than for those that failed,
/// and Gemini CLI names only a status that is not 0. Codex says nothing of it.
fn passed(map: &Map<String, Value>, answer: &str) -> Option<bool> {
    /// An agent says it at one of the ends.
    const LINES: usize = 5;
    if map.contains_key("error") {
        return Some(false);
    }
    let response = map.get("tool_response")?;
    let number = ["exit_code", "exitCode", "exit"].iter().find_map(|key| response.get(*key)?.as_i64());
    let in_line = |line: &str| -> Option<i64> {
        let line = line.trim().to_ascii_lowercase();
        line.strip_prefix("exit code")?.trim_start_matches(':').trim().parse().ok()
    };
    let said = || answer.lines().take(LINES).chain(answer.lines().rev().take(LINES)).find_map(in_line);
    if let Some(status) = number.or_else(said) {
        return Some(status == 0);
    }
    let is_of_passed = map.get("hook_event_name").and_then(Value::as_str) == Some("PostToolUse")
        && response.get("interrupted") == Some(&Value::Bool(false))
        && response.get("backgroundTaskId").is_none();
    let ended =
        |text: &str| text.starts_with("Output: ") && !text.contains("\nSignal: ") && !text.contains("\nError: ");
    let is_whole = response.get("llmContent").and_then(Value::as_str).is_some_and(ended);
    (is_of_passed || (is_whole && response.get("error").is_none())).then_some(true)
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
        none(r#""tool_name":"Read","tool_response":"FAILED a""#);
    }

    #[test]
    fn whether_a_command_passed_is_read_where_an_agent_says_it() {
        let check = |more: &str, expected: Option<bool>| {
            let text =
                format!(r#"{{"session_id":"s1","tool_name":"Bash","tool_input":{{"command":"make t"}},{more}}}"#);
            let payload = Payload::read(text.as_bytes());
            assert_eq!((payload.passed, payload.command.as_deref()), (expected, Some("make t")), "{more}");
        };
        let claude = r#""hook_event_name":"PostToolUse","tool_response":{"stdout":"ok","interrupted":false"#;
        check(&format!("{claude}}}"), Some(true));
        check(&format!(r#"{claude},"backgroundTaskId":"b1"}}"#), None);
        check(r#""hook_event_name":"PostToolUse","tool_response":{"stdout":"o","interrupted":true}"#, None);
        check(r#""hook_event_name":"PostToolUseFailure","error":"Exit code 1\nno""#, Some(false));
        check(
            r#""hook_event_name":"AfterTool","tool_response":{"llmContent":"Output: ok\nProcess Group PGID: 7"}"#,
            Some(true),
        );
        check(r#""tool_response":{"llmContent":"Output: no\nExit Code: 2\nProcess Group PGID: 7"}"#, Some(false));
        check(r#""tool_response":{"llmContent":"Command was cancelled by user before it could complete."}"#, None);
        check(r#""tool_response":"Exit code: 0\nOutput:\nok""#, Some(true));
        check(r#""tool_response":"1 passed""#, None);
        check(r#""tool_response":{"output":"no","exit":1}"#, Some(false));
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
