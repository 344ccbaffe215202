//! Streams of our own (`tests/fixtures/streams/`), so that every ending is tested without recordings too.

use super::super::conclusion::Conclusion;
use super::{Play, Played, play};
use crate::domain::{Ending, Role, ToolKind, ToolStatus, TranscriptItem};
use crate::services::CommandEnd;
use std::fs;
use std::path::PathBuf;

fn stream(name: &str) -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/fixtures/streams/{name}.jsonl"));
    fs::read_to_string(file).expect("a stream of our own")
}

fn played(name: &str, exit: i32) -> Played {
    let agent = name.split('/').next().unwrap_or_default();
    play(agent, &stream(name), CommandEnd::Exited(exit))
}

#[test]
fn why_agents_ended() {
    let check = |name: &str, exit, expected: &str| {
        let played = played(name, exit);
        assert_eq!(played.ending(), expected, "{name}: {:?}", played.conclusion);
        assert!(name == "claude/half-a-line" || played.fold.unknown.is_empty(), "{name}: {:?}", played.fold.unknown);
    };
    check("claude/finished", 0, "finished");
    check("claude/budget", 1, "budget");
    check("claude/quota", 1, "quota");
    check("claude/asks", 0, "permission");
    check("claude/half-a-line", 0, "agent_error");
    check("claude/half-a-line", 143, "crash");
    check("codex/finished", 0, "finished");
    check("codex/recovered", 0, "finished");
    check("codex/quota", 1, "quota");
    check("codex/unknown-error", 1, "agent_error");
    check("codex/unknown-error-after-retries", 1, "transient");
    check("opencode/finished", 0, "finished");
    check("opencode/quota", 1, "quota");
    check("opencode/denied", 0, "permission");
    check("opencode/denied-and-went-on", 0, "finished");
    check("opencode/overflows-for-ever", 0, "context");
    check("gemini/finished", 0, "finished");
    check("gemini/quota", 173, "quota");
    check("gemini/loop", 0, "agent_error");
    check("qwen/finished", 0, "finished");
    check("qwen/rate-limit", 1, "rate_limited");
    check("pi/finished", 0, "finished");
    check("pi/recovered", 0, "finished");
}

#[test]
fn a_limit_says_when_it_resets() {
    let check = |name: &str, expected: &str| assert_eq!(played(name, 1).ending(), expected, "{name}");
    check("claude/rate-limit-event", "rate_limited in 3600 s");
    check("claude/rate-limit-event-before-another-error", "rate_limited in 3600 s");
    check("claude/rate-limit-in-words", "rate_limited in 3600 s");
    check("claude/rate-limit-by-the-clock", "rate_limited in 10800 s");
    check("codex/usage-limit-wait", "rate_limited in 183900 s");
    check("codex/usage-limit-clock", "rate_limited in 56700 s");
    check("codex/usage-limit-date", "rate_limited in 178200 s");
    check("codex/usage-limit-body", "rate_limited in 3600 s");
    check("codex/rate-limit-wait", "rate_limited in 1 s");
    check("opencode/unified-reset", "rate_limited in 3600 s");
    check("opencode/retry-after", "rate_limited in 90 s");
    check("gemini/rate-limit", "rate_limited in 34 s");
    check("pi/usage-limit", "rate_limited in 3600 s");
}

/// What a file, a tool or the model says decides nothing, and neither does a limit that is only near.
#[test]
fn words_of_a_limit_outside_error_records_decide_nothing() {
    let check = |name: &str| assert_eq!(played(name, 0).ending(), "finished", "{name}");
    check("claude/words-of-a-limit-in-files");
    check("claude/rate-limit-event-allowed");
    check("codex/words-of-a-limit-in-files");
}

#[test]
fn an_agent_that_is_ended_while_it_waits_for_its_model_does_not_hang() {
    let retry = r#"{"type":"system","subtype":"api_retry","error_status":429,"error":"rate_limit"}"#;
    let check = |stream: &str, end, expected: &str| assert_eq!(play("claude", stream, end).ending(), expected);
    check(retry, CommandEnd::Idle, "rate_limited");
    check(retry, CommandEnd::TimedOut, "rate_limited");
    check(&format!("{retry}\n{}", stream("claude/finished").lines().nth(1).unwrap()), CommandEnd::Idle, "hang");
}

#[test]
fn limits_of_ours_end_a_run() {
    let check = |name: &str, play: Play, expected: &str| {
        let agent = name.split('/').next().unwrap_or_default();
        let played = play.of(agent, stream(name).as_bytes(), CommandEnd::Stopped, "");
        assert_eq!(played.ending(), expected, "{name}");
    };
    let turns = |max| Play { max_turns: Some(max), ..Play::default() };
    check("opencode/finished", turns(1), "budget");
    check("opencode/finished", turns(2), "finished");
    check("codex/finished", turns(1), "budget");
    check("codex/finished", turns(2), "finished");
    check("gemini/finished", turns(1), "budget");
    let cost = |max| Play { max_cost_usd: Some(max), ..Play::default() };
    check("opencode/finished", cost(0.0005), "budget");
    check("opencode/finished", cost(0.01), "finished");
}

#[test]
fn steps_are_the_same_for_every_agent() {
    let check = |name: &str, expected: &[&str]| {
        let steps = played(name, 0).steps;
        let shown: Vec<String> = steps.iter().map(|(item, _)| shown(item)).collect();
        assert_eq!(shown, expected, "{name}");
    };
    check(
        "claude/finished",
        &[
            "session s-1 claude-sonnet-4-5",
            "turn Some(15) None",
            "assistant: I look.",
            "call c1 Read Read []",
            "result c1 Ok None None: print(1)",
            "turn Some(15) None",
            "assistant: Done.",
        ],
    );
    check(
        "codex/finished",
        &[
            "session t-1 -",
            "turn None None",
            "call i1 command_execution Execute []",
            "result i1 Ok Some(0) None: a",
            "turn None None",
            "assistant: Done.",
        ],
    );
    check(
        "opencode/finished",
        &[
            "session ses_1 -",
            "call c1 edit Edit [\"a.py\"]",
            "result c1 Ok None Some(250): 429 usage limit reached",
            "turn Some(20) Some(7)",
            "assistant: Done. (429)",
            "turn Some(20) Some(7)",
        ],
    );
    check(
        "gemini/finished",
        &[
            "session g-1 gemini-2.5-pro",
            "user: fix 429",
            "turn None None",
            "assistant: I look.",
            "call c1 write_file Edit [\"a.py\"]",
            "result c1 Ok None None: RESOURCE_EXHAUSTED",
            "turn None None",
            "assistant: Done.",
        ],
    );
    check(
        "opencode/denied",
        &[
            "session ses_1 -",
            "call c1 edit Edit [\"a.py\"]",
            "result c1 Denied None None: The user rejected permission to use this specific tool call.",
            "turn Some(20) Some(7)",
        ],
    );
}

fn shown(item: &TranscriptItem) -> String {
    match item {
        TranscriptItem::Session { agent_session, model } => {
            format!("session {agent_session} {}", model.as_deref().unwrap_or("-"))
        }
        TranscriptItem::Message { role: Role::Assistant, text } => format!("assistant: {text}"),
        TranscriptItem::Message { role: Role::User, text } => format!("user: {text}"),
        TranscriptItem::Turn { usage } => format!("turn {:?} {:?}", usage.input, usage.output),
        TranscriptItem::ToolCall { id, tool, kind, edits, .. } => {
            let kind: ToolKind = *kind;
            format!("call {id} {tool} {kind:?} {edits:?}")
        }
        TranscriptItem::ToolResult { id, status, exit_code, output, duration_ms } => {
            let status: ToolStatus = *status;
            format!("result {id} {status:?} {exit_code:?} {duration_ms:?}: {output}")
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn usage_follows_one_convention() {
    let check = |name: &str, expected: (u64, u64, u64)| {
        let usage = played(name, 0).fold.used();
        assert_eq!(
            (usage.input, usage.cached, usage.output),
            (Some(expected.0), Some(expected.1), Some(expected.2)),
            "{name}"
        );
    };
    check("claude/finished", (25, 5, 7));
    check("codex/finished", (20, 5, 7));
    check("opencode/finished", (40, 10, 14));
    check("gemini/finished", (20, 5, 7));
    check("qwen/finished", (20, 5, 7));
    check("pi/finished", (20, 5, 7));
}

#[test]
fn what_was_tried_again_and_went_well_decides_nothing_later() {
    let retry = r#"{"type":"system","subtype":"api_retry","error_status":429,"error":"rate_limit"}"#;
    let limit = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1800000000}}"#;
    let call = r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}"#;
    let odd = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["something else"]}"#;
    let check =
        |lines: &[&str], end| match Play::default().of("claude", lines.join("\n").as_bytes(), end, "").conclusion {
            Conclusion::Ended { ending, .. } => ending,
            other => panic!("{other:?}"),
        };
    // Interrupted from outside: exit status 0 or 1, and no last word.
    for code in [0, 1] {
        assert_eq!(check(&[retry, call], CommandEnd::Exited(code)), Ending::AgentError);
        assert_eq!(check(&[limit, call], CommandEnd::Exited(code)), Ending::AgentError);
    }
    assert_eq!(check(&[retry, call, odd], CommandEnd::Exited(1)), Ending::AgentError);
    // Not recovered: it is what ended the run.
    assert!(matches!(check(&[call, retry], CommandEnd::Exited(1)), Ending::RateLimited { .. }));
}
