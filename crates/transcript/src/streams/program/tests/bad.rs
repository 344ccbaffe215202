//! What no agent should print, and some do.

use super::{Play, play};
use crate::domain::TranscriptItem;
use crate::services::{CommandEnd, Flow};
use std::collections::BTreeMap;

const DONE: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"done"}"#;

fn unknown(names: &[(&str, u64)]) -> BTreeMap<String, u64> {
    names.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

#[test]
fn lines_that_are_no_records_are_counted_and_never_fatal() {
    let check = |stream: &str, names: &[(&str, u64)]| {
        let played = play("claude", &format!("{stream}\n{DONE}\n"), CommandEnd::Exited(0));
        let shown = crate::prompt::first_bytes(stream, 80);
        assert_eq!(played.fold.unknown, unknown(names), "{shown}");
        assert_eq!(played.ending(), "finished", "{shown}");
    };
    check("Segmentation fault (core dumped)", &[("not JSON", 1)]);
    check("{\"type\":\"assist", &[("not JSON", 1)]);
    check("[]\n42\n\"text\"\nnull", &[("not an object", 4)]);
    check("{}", &[("record without a type", 1)]);
    check("{\"type\":7}", &[("record without a type", 1)]);
    check(
        "{\"type\":\"news\"}\n{\"type\":\"news\"}\n{\"type\":\"system\",\"subtype\":\"more\"}",
        &[("news", 2), ("system/more", 1)],
    );
    check("\n\r\n   \n", &[]);
    check(&format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000)), &[("not an object", 1)]);
    check(&format!("{{\"type\":\"user\",\"message\":{{\"content\":{}", "[".repeat(100_000)), &[("not JSON", 1)]);
}

#[test]
fn a_record_is_read_whatever_is_around_it() {
    let check = |stream: &[u8]| {
        let played = Play::default().of("claude", stream, CommandEnd::Exited(0), "");
        assert_eq!(played.ending(), "finished", "{}", String::from_utf8_lossy(stream));
        assert_eq!(played.fold.closing.as_deref().map(|text| text.trim_end_matches('\u{fffd}')), Some("done"));
    };
    check(DONE.as_bytes());
    check(format!("{DONE}\r\n").as_bytes());
    check(format!("\u{1b}[0m\u{1b}[32m{DONE}\u{1b}[0m\n").as_bytes());
    check(br#"{"result":"done","is_error":false,"subtype":"success","type":"result"}"#);
    check(b"{\"result\":\"done\xff\xfe\",\"is_error\":false,\"subtype\":\"success\",\"type\":\"result\"}\n");
    check("{\"type\":\"result\",\"unheard\":{\"of\":[1,{\"deep\":\"\u{1f600}\"}]},\"is_error\":false,\"result\":\"done\"}".as_bytes());
}

#[test]
fn garbage_does_not_fill_the_memory() {
    let mut stream = String::new();
    for number in 0..10_000 {
        stream.push_str(&format!("{{\"type\":\"made up {number}\",\"text\":\"{}\"}}\n", "x".repeat(1000)));
    }
    let played = play("claude", &stream, CommandEnd::Exited(0));
    assert!(played.fold.unknown.len() <= 51);
    assert_eq!(played.fold.unknown.values().sum::<u64>(), 10_000);
    let kept = played.steps.iter().filter(|(item, _)| matches!(item, TranscriptItem::Unknown { .. }));
    assert!(kept.count() <= 2 * 51);
}

#[test]
fn long_texts_are_capped_and_say_so() {
    let text = "word ".repeat(100_000);
    let check = |text: &str| {
        let record = serde_json::json!({"type": "result", "is_error": false, "result": text});
        let played = play("claude", &format!("{record}\n"), CommandEnd::Exited(0));
        let closing = played.fold.closing.unwrap();
        assert!(closing.len() < 17 * 1024 && closing.contains("bytes left out"), "{}", closing.len());
    };
    check(&text);
    check(&text.replace(' ', "\n"));
    let call = serde_json::json!({"type": "assistant", "message": {"id": "m", "content": [
        {"type": "tool_use", "id": "c", "name": "Write", "input": {"file_path": "a", "content": text, "more": [text, text]}},
    ]}});
    let played = play("claude", &format!("{call}\n"), CommandEnd::Exited(0));
    let kept = played.steps.iter().find_map(|(item, _)| match item {
        TranscriptItem::ToolCall { input, .. } => Some(input.to_string().len()),
        _ => None,
    });
    assert!(kept.is_some_and(|bytes| bytes < 20 * 1024), "{kept:?}");
}

#[test]
fn a_word_and_an_exit_status_that_contradict_each_other() {
    let failed = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["it broke"]}"#;
    let check = |stream: &str, end, expected: &str| assert_eq!(play("claude", stream, end).ending(), expected);
    check(DONE, CommandEnd::Exited(0), "finished");
    check(DONE, CommandEnd::Exited(1), "agent_error");
    check(failed, CommandEnd::Exited(0), "agent_error");
    check("", CommandEnd::Exited(0), "agent_error");
    check("garbage", CommandEnd::Exited(3), "agent_error");
    // It says its last word and never exits, or is ended while it lingers.
    check(DONE, CommandEnd::Stopped, "finished");
    check(DONE, CommandEnd::TimedOut, "finished");
    check(DONE, CommandEnd::Cancelled, "cancelled");
    check(DONE, CommandEnd::Signaled(9), "crash");
    check("", CommandEnd::Idle, "hang");
    check("", CommandEnd::TimedOut, "timeout");
}

#[test]
fn after_its_last_word_an_agent_may_go() {
    let check = |agent: &str, record: &str, expected: Flow| {
        assert_eq!(play(agent, record, CommandEnd::Exited(0)).flow, expected, "{record}");
    };
    check("claude", DONE, Flow::Done);
    check("claude", r#"{"type":"result","is_error":false,"result":"","queued_turn_count":1}"#, Flow::Continue);
    check("codex", r#"{"type":"turn.completed","usage":{}}"#, Flow::Done);
    check("opencode", r#"{"type":"step_finish","part":{"reason":"stop"}}"#, Flow::Continue);
}
