//! What is read of real and of broken transcripts.

use super::*;
use crate::domain::{Action, Ending, ToolKind, ToolStatus};
use crate::streams::program::Recording;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

fn reading(text: &str) -> Reading {
    read(text.as_bytes(), None).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn error(text: impl AsRef<[u8]>) -> String {
    read(text.as_ref(), None).expect_err("it cannot be read").to_string()
}

/// A record of Claude Code's transcript.
fn record(kind: &str, more: Value) -> String {
    let mut record =
        json!({"type": kind, "sessionId": "s-1", "isSidechain": false, "timestamp": "2026-11-01T09:00:00Z"});
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    record.to_string()
}

fn user(content: impl Into<Value>) -> String {
    record("user", json!({"message": {"role": "user", "content": content.into()}}))
}

fn assistant(block: Value) -> String {
    record("assistant", json!({"message": {"id": "m", "role": "assistant", "content": [block]}}))
}

fn bash(id: &str, command: &str) -> String {
    assistant(json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}))
}

fn answered(id: &str, content: &str, more: Value, structured: Value) -> String {
    let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
    block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    record("user", json!({"message": {"role": "user", "content": [block]}, "toolUseResult": structured}))
}

#[test]
fn claude_codes_transcript_says_what_was_asked_done_and_answered() {
    let text = [
        r#"{"type":"summary","summary":"Earlier work","leafUuid":"u-0"}"#.to_owned(),
        user("Fix the parser."),
        record("user", json!({"isMeta": true, "message": {"role": "user", "content": "Caveat: not asked"}})),
        user("<command-name>/cost</command-name>"),
        user("<local-command-stdout>$1</local-command-stdout>"),
        bash("c-1", "cargo test"),
        answered("c-1", "Exit code 101\ntest a ... FAILED", json!({"is_error": true}), json!("Error: Exit code 101")),
        assistant(json!({"type": "tool_use", "id": "c-2", "name": "Edit", "input": {"file_path": "src/a.rs"}})),
        answered("c-2", "updated", json!({}), json!({"filePath": "src/a.rs"})),
        record("system", json!({"subtype": "compact_boundary", "content": "Conversation compacted"})),
        record(
            "user",
            json!({"isCompactSummary": true, "message": {"role": "user", "content": "What happened so far …"}}),
        ),
        bash("c-3", "cargo test"),
        answered("c-3", "ok", json!({"is_error": false}), json!({"stdout": "ok", "interrupted": false})),
        record("attachment", json!({"attachment": {"type": "queued_command", "prompt": "Also say hello."}})),
        assistant(json!({"type": "text", "text": "Done."})),
        user(json!([{"type": "text", "text": "[Request interrupted by user]"}])),
    ]
    .join("\n");
    let reading = reading(&text);
    assert_eq!(reading.format, Format::Agent("claude", Recording::Transcript));
    assert_eq!(reading.session.as_deref(), Some("s-1"));
    let asked: Vec<&str> = reading.trace.asked.iter().map(|a| a.text.as_str()).collect();
    assert_eq!(asked, ["Fix the parser.", "Also say hello."]);
    assert_eq!(reading.trace.response, "Done.");
    let exits: Vec<_> = reading.trace.actions.iter().map(|a| a.outcome.as_ref().unwrap().exit_code).collect();
    assert_eq!(exits, [Some(101), None, Some(0)]);
    assert_eq!(reading.trace.actions[1].edits, ["src/a.rs"]);
    assert_eq!(reading.trace.compactions, [2]);
    assert_eq!(reading.trace.actions[0].at, Some("2026-11-01T09:00:00Z".parse().unwrap()));
    assert_eq!(reading.unread, Unread::default());
}

#[test]
fn an_exit_status_is_known_only_where_the_record_says_so() {
    let check = |content: &str, more: Value, structured: Value, expected: (ToolStatus, Option<i32>)| {
        let text = [user("Test it."), bash("c", "make test"), answered("c", content, more, structured)].join("\n");
        let reading = reading(&text);
        let outcome = reading.trace.actions[0].outcome.as_ref().unwrap();
        assert_eq!((outcome.status, outcome.exit_code), expected, "{content}");
    };
    let done = json!({"stdout": "", "interrupted": false});
    check("ok", json!({"is_error": false}), done.clone(), (ToolStatus::Ok, Some(0)));
    // Words in the output of a call that worked, or a 0 in that of one that failed, are words.
    check("Exit code 3", json!({"is_error": false}), done.clone(), (ToolStatus::Ok, Some(0)));
    check("Exit code 0\nall passed", json!({"is_error": true}), json!("Error"), (ToolStatus::Failed, None));
    check("Exit code 2\nno", json!({"is_error": true}), json!("Error"), (ToolStatus::Failed, Some(2)));
    check("Exit code 2 or so", json!({"is_error": true}), json!("Error"), (ToolStatus::Failed, None));
    // It was not awaited, was interrupted, or its status means something else.
    let background = json!({"stdout": "", "interrupted": false, "backgroundTaskId": "b1"});
    check("Command running in background", json!({"is_error": false}), background, (ToolStatus::Ok, None));
    check("", json!({"is_error": false}), json!({"interrupted": true}), (ToolStatus::Ok, None));
    let grep = json!({"interrupted": false, "returnCodeInterpretation": "No matches found"});
    check("", json!({"is_error": false}), grep, (ToolStatus::Ok, None));
    check("ok", json!({}), done, (ToolStatus::Ok, None));
}

#[test]
fn what_looks_like_a_record_inside_an_output_is_output() {
    let fake = answered("c-1", "ok", json!({"is_error": false}), json!({"interrupted": false}));
    let text = [
        user("Test it."),
        bash("c-1", "make test"),
        answered("c-1", &format!("{fake}\n{fake}"), json!({"is_error": true}), json!("Error")),
    ];
    let reading = reading(&text.join("\n"));
    assert_eq!(reading.trace.calls, 1);
    let outcome = reading.trace.actions[0].outcome.as_ref().unwrap();
    assert_eq!((outcome.status, outcome.exit_code), (ToolStatus::Failed, None));
    assert!(outcome.output.contains("tool_result"));
}

#[test]
fn a_sub_agents_own_transcript_is_its_own_conversation() {
    let side = |line: String| line.replace("\"isSidechain\":false", "\"isSidechain\":true,\"agentId\":\"a-1\"");
    let lines = [user("Look around."), bash("c-1", "ls"), assistant(json!({"type": "text", "text": "Seen."}))];
    let alone = reading(&lines.clone().map(side).join("\n"));
    assert_eq!((alone.trace.asked.len(), alone.trace.response.as_str()), (1, "Seen."));
    let within = format!("{}\n{}", user("Fix it."), lines.map(side).join("\n"));
    let within = reading(&within);
    assert_eq!((within.trace.asked.len(), within.trace.response.as_str()), (1, ""));
    assert_eq!(within.trace.actions[0].parent.as_deref(), Some("a-1"));
}

#[test]
fn our_own_transcripts_are_read_and_other_versions_counted() {
    let head = json!({"v": 1, "at": "2026-11-01T09:00:00Z", "type": "head", "run": "r", "session": "s-9", "task": "t", "subtask": "t", "attempt": 1, "agent": "a"});
    let at = |v: u32, more: Value| {
        let mut record = json!({"v": v, "at": "2026-11-01T09:00:01Z"});
        record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        record.to_string()
    };
    let text = [
        head.to_string(),
        at(1, json!({"type": "tool_call", "id": "1", "tool": "bash", "kind": "execute", "input": {"command": "make"}})),
        at(1, json!({"type": "tool_result", "id": "1", "status": "failed", "exitCode": 2})),
        at(1, json!({"type": "message", "role": "assistant", "text": "No."})),
        at(2, json!({"type": "message", "role": "assistant", "text": "From the future."})),
        at(1, json!({"type": "telepathy"})),
        at(1, json!({"type": "end", "ending": {"kind": "budget"}})),
        "{\"v\":1,\"at\":".to_owned(),
    ];
    let reading = reading(&text.join("\n"));
    assert_eq!((reading.format, reading.session.as_deref()), (Format::Reflexion, Some("s-9")));
    assert_eq!(reading.ending, Some(Ending::Budget));
    assert_eq!(reading.trace.response, "No.");
    assert_eq!(reading.trace.actions[0].outcome.as_ref().unwrap().exit_code, Some(2));
    let names: Vec<&str> = reading.unread.by_name.keys().map(String::as_str).collect();
    assert_eq!(names, ["not JSON", "record of version 2", "record that is not known"]);
    assert_eq!(reading.unread.lines, [5, 6, 8]);
}

#[test]
fn the_plain_form_is_what_anybody_writes() {
    let document = json!({
        "task": "Fix it.",
        "tools": [
            {"tool": "write", "filePath": "a.js", "content": "x"},
            {"tool": "bash", "input": {"command": "npm test"}, "exitCode": 1, "output": "1 failed", "time": "2026-11-01T09:00:00Z"},
            {"tool": "bash", "input": "npm run lint"},
            {"tool": "Bash", "command": "npm test", "exitCode": null, "output": "ok"},
        ],
        "commands": ["npm test", {"command": "git push", "exitCode": 0}],
        "response": "All is done.",
        "mood": "good",
    });
    let reading = reading(&document.to_string());
    assert_eq!((reading.format, reading.task.as_deref()), (Format::Plain, Some("Fix it.")));
    let trace = &reading.trace;
    let seen: Vec<_> =
        trace.actions.iter().map(|a| (a.kind, a.command.as_deref(), a.outcome.as_ref().map(|o| o.exit_code))).collect();
    let expected = [
        (ToolKind::Edit, None, None),
        (ToolKind::Execute, Some("npm test"), Some(Some(1))),
        (ToolKind::Execute, Some("npm run lint"), None),
        (ToolKind::Execute, Some("npm test"), Some(None)),
        // Whether it ran before or after the edit nobody says.
        (ToolKind::Execute, Some("git push"), None),
    ];
    assert_eq!(seen, expected);
    assert_eq!(trace.actions[0].edits, ["a.js"]);
    assert_eq!(trace.response, "All is done.");
    assert_eq!(trace.asked[0].text, "Fix it.");
    assert_eq!(reading.unread.by_name.keys().collect::<Vec<_>>(), ["key `mood`"]);
}

#[test]
fn messages_are_read_in_every_notation() {
    let check = |messages: Value, commands: &[(&str, Option<i32>)], response: &str| {
        for text in [json!({"messages": messages}).to_string(), messages.to_string()] {
            let trace = reading(&text).trace;
            let seen: Vec<_> = trace
                .actions
                .iter()
                .map(|a| (a.command.as_deref().unwrap_or_default(), a.outcome.as_ref().and_then(|o| o.exit_code)))
                .collect();
            assert_eq!((seen.as_slice(), trace.response.as_str()), (commands, response), "{text}");
            assert_eq!(trace.asked.len(), 1, "{text}");
        }
    };
    check(
        json!([
            {"role": "user", "parts": [{"type": "text", "text": "Go"}]},
            {"role": "assistant", "parts": [{"type": "text", "text": "A"}, {"type": "tool", "tool": "bash", "input": {"command": "ls"}}, {"type": "text", "text": "B"}]},
        ]),
        &[("ls", None)],
        "A\nB",
    );
    check(
        json!([
            {"role": "user", "content": "Go"},
            {"role": "assistant", "parts": [{"type": "tool", "tool": "bash", "callID": "x", "state": {"status": "completed", "input": {"command": "make"}, "output": "no", "metadata": {"exit": 2}}}]},
        ]),
        &[("make", Some(2))],
        "",
    );
    check(
        json!([
            {"role": "user", "content": [{"type": "text", "text": "Go"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "make"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "no"}], "is_error": true}]},
            {"role": "assistant", "content": "Sorry."},
        ]),
        &[("make", None)],
        "Sorry.",
    );
    check(
        json!([
            {"role": "system", "content": "You are helpful."},
            {"role": "user", "content": "Go"},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "shell", "arguments": "{\"command\":\"make\"}"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "done"},
            {"role": "assistant", "content": "Made."},
        ]),
        &[("make", None)],
        "Made.",
    );
}

#[test]
fn what_others_call_the_keys_is_read_too() {
    let check = |document: Value, expected: (ToolStatus, Option<i32>, &str)| {
        let reading = reading(&document.to_string());
        assert_eq!(reading.unread, Unread::default(), "{document}");
        let action = &reading.trace.actions[0];
        assert_eq!(action.command.as_deref(), Some("make"), "{document}");
        let outcome = action.outcome.as_ref().unwrap();
        assert_eq!((outcome.status, outcome.exit_code, outcome.output.as_str()), expected, "{document}");
    };
    let tool = |more: Value| {
        let mut call = json!({"tool": "bash", "command": "make"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"task": "Make it", "tool_calls": [call], "answer": "Made."})
    };
    check(tool(json!({"exit_code": 2})), (ToolStatus::Failed, Some(2), ""));
    check(tool(json!({"exit_code": null, "result": "ok"})), (ToolStatus::Ok, None, "ok"));
    check(tool(json!({"isError": true})), (ToolStatus::Failed, None, ""));
    check(tool(json!({"is_error": false, "output": "ok"})), (ToolStatus::Ok, None, "ok"));
    check(tool(json!({"error": "no rule"})), (ToolStatus::Failed, None, "no rule"));
    check(tool(json!({"result": {"exitCode": 1}})), (ToolStatus::Failed, Some(1), "{\"exitCode\":1}"));
    let called = |call: Value| json!({"tools": [call]});
    check(
        called(json!({"name": "bash", "arguments": "{\"command\": \"make\"}", "exitCode": 0})),
        (ToolStatus::Ok, Some(0), ""),
    );
    check(
        called(json!({"id": "c", "function": {"name": "bash", "arguments": {"command": "make"}}, "result": "x"})),
        (ToolStatus::Ok, None, "x"),
    );
    check(
        json!({"commands": [{"command": "make", "exit_code": 3, "result": "x"}]}),
        (ToolStatus::Failed, Some(3), "x"),
    );
    let part = json!({"type": "tool_use", "id": "c", "name": "bash", "input": {"command": "make"}});
    let answered = json!({"type": "tool_result", "tool_use_id": "c", "output": "no", "exit_code": 4});
    check(
        json!({"messages": [{"role": "assistant", "content": [part]}, {"role": "user", "content": [answered]}]}),
        (ToolStatus::Failed, Some(4), "no"),
    );
    assert_eq!(reading(r#"{"answer": "Made."}"#).trace.response, "Made.");
    assert_eq!(reading(r#"[{"role": "user", "text": "Go"}]"#).trace.task(), "Go");
}

#[test]
fn what_ends_in_the_middle_is_known() {
    let check = |lines: &[String], broken_off: bool| {
        let reading = reading(&lines.join("\n"));
        assert_eq!(reading.trace.broken_off, broken_off, "{lines:?}");
    };
    let done = assistant(json!({"type": "text", "text": "Done."}));
    check(&[user("Go"), done.clone()], false);
    check(&[user("Go"), bash("c", "make")], true);
    check(&[user("Go"), bash("c", "make"), answered("c", "ok", json!({}), json!({}))], false);
    check(&[user("Go"), done.clone(), done[..done.len() / 2].to_owned()], true);
    check(&[user("Go"), done.clone(), "Terminated".to_owned()], false);
    let started = json!({"type": "thread.started", "thread_id": "t"}).to_string();
    let item = |item: Value| json!({"type": "item.completed", "item": item}).to_string();
    let ran = item(
        json!({"id": "1", "type": "command_execution", "command": "make", "exit_code": 1, "status": "failed", "aggregated_output": ""}),
    );
    let said = item(json!({"id": "2", "type": "agent_message", "text": "Done."}));
    check(&[started.clone(), ran.clone()], true);
    check(&[started, ran, said], false);
    assert!(!reading(r#"{"task": "Go", "tools": [{"tool": "bash", "command": "make"}]}"#).trace.broken_off);
}

#[test]
fn the_first_words_of_a_claude_stream_are_its_task() {
    for content in [json!("Go"), json!([{"type": "text", "text": "Go"}])] {
        let lines = [
            json!({"type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "2.1.0"}),
            json!({"type": "user", "message": {"role": "user", "content": content}}),
            json!({"type": "user", "isSynthetic": true, "message": {"role": "user", "content": "not asked"}}),
        ];
        let reading = reading(&lines.map(|line| line.to_string()).join("\n"));
        assert_eq!((reading.trace.task().as_str(), reading.unread.total()), ("Go", 0));
    }
}

#[test]
fn a_wrong_document_is_an_error_that_says_where() {
    let mut wrong = Vec::new();
    let mut check = |text: &str, expected: &str| {
        let said = error(text);
        if said != expected {
            wrong.push((text.to_owned(), said));
        }
    };
    check("", "it is empty; give a transcript, or `-` and one on stdin");
    check("\n \n", "it is empty; give a transcript, or `-` and one on stdin");
    check(r#"{"task": 7}"#, "line 1, column 10: task: invalid type: integer `7`, expected a string");
    check(
        "{\"tools\": [\n  {\"tool\": \"bash\"},\n  {\"command\": \"ls\"}]}",
        "line 3, column 20: tools[1]: it has no `tool`, the name of the tool that was called",
    );
    check(
        r#"{"tools": [{"tool": "bash", "exitCode": "0"}]}"#,
        "line 1, column 45: tools[0]: `exitCode` is a whole number, or left out where it is not known",
    );
    check(r#"{"tools": {"tool": "bash"}}"#, "line 1, column 11: invalid type: map, expected `tools` to be a list");
    check(
        r#"{"messages": [{"content": "x"}]}"#,
        "line 1, column 31: messages[0]: `role` is one of user, assistant, system, tool",
    );
    check(r#"{"task": "a", "task": "b"}"#, "line 1, column 20: `task` stands there twice");
    check("[]", "line 1, column 1: the list holds no message");
    check(r#"{"tools": [], "tool_calls": []}"#, "line 1, column 26: `tool_calls` stands there twice, as `tools` too");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(error(r#"{"task": "Fix"#).starts_with("line 1, column 13: it ends in the middle"));
    assert!(error("hello").starts_with("line 1: nothing is known that begins like `hello`; name its format"));
    assert!(error(r#"{"a": 1}"#).contains("nothing is known that begins like"));
    let one = read(b"{\"type\":\"x\"}\n".as_slice(), Some("codex".parse().unwrap())).unwrap_err().to_string();
    assert!(one.starts_with("none of its 1 lines is a record of the format `codex` (the first is: x)"), "{one}");
}

#[test]
fn bad_lines_are_counted_and_good_ones_read() {
    let check = |bad: &[u8], name: &str| {
        let good = [user("Fix it."), bash("c-1", "make")].join("\n");
        let mut text = good.into_bytes();
        text.push(b'\n');
        text.extend(bad);
        text.push(b'\n');
        text.extend(assistant(json!({"type": "text", "text": "Done."})).bytes());
        let reading = read(text.as_slice(), None).unwrap();
        assert_eq!((reading.trace.calls, reading.trace.response.as_str()), (1, "Done."), "{name}");
        let names: Vec<&str> = reading.unread.by_name.keys().map(String::as_str).collect();
        assert_eq!((names, reading.unread.lines.as_slice()), (vec![name], [3].as_slice()));
    };
    check(b"{\"type\":\"assistant\",\"message\":{\"role\":\"assi", "not JSON");
    // Two writers, in the middle of each other's lines.
    check(b"{\"type\":\"assistant\",\"mess{\"type\":\"user\",\"sessionId\":\"s-2\"}age\":{}}", "not JSON");
    check(b"\x00\xff\xfe\x01", "not JSON");
    check(b"[1, 2]", "not an object");
    check(b"{\"sessionId\":\"s\"}", "record without a type");
    check(b"{\"type\":\"telepathy\"}", "telepathy");
    let deep = format!("{{\"type\":\"user\",\"message\":{{\"content\":{}", "[".repeat(100_000));
    check(deep.as_bytes(), "not JSON");
    let deep =
        format!("{{\"type\":\"user\",\"message\":{{\"content\":{}{}}}}}", "[".repeat(100_000), "]".repeat(100_000));
    check(deep.as_bytes(), "not JSON");
    let long = format!("{{\"type\":\"user\",\"message\":{{\"content\":\"{}\"}}}}", "x".repeat(9 << 20));
    check(long.as_bytes(), "line over 8 MiB");
}

#[test]
fn bytes_that_are_no_text_and_colours_around_a_record_do_not_lose_it() {
    let mut text = user("Fix \u{1}\u{1b}[31mit").into_bytes();
    text.extend(b"\n\x1b[0m");
    text.extend(assistant(json!({"type": "text", "text": "Done?"})).bytes());
    let at = text.len() - 20;
    let question = text[at..].iter().position(|b| *b == b'?').unwrap() + at;
    text[question] = 0xff;
    let reading = read(text.as_slice(), None).unwrap();
    assert_eq!(reading.trace.response, "Done\u{fffd}");
    assert_eq!(reading.trace.asked[0].text, "Fix \u{1}\u{1b}[31mit");
}

/// A stream without end would be read for ever; a line without end, and a document, are not.
#[test]
fn memory_is_bounded() {
    struct Endless;
    impl std::io::Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            into.fill(b'x');
            Ok(into.len())
        }
    }
    use std::io::Read;
    let line = user("Fix it.") + "\n";
    let long = line.as_bytes().chain(Endless.take(100 << 20)).chain(b"\n".as_slice()).chain(line.as_bytes());
    let reading = read(long, None).unwrap();
    assert_eq!((reading.trace.asked.len(), reading.unread.total()), (2, 1));
    let document = br#"{"task": ""#.as_slice().chain(Endless);
    let error = read(document, None).unwrap_err().to_string();
    assert_eq!(error, "a plain document of more than 64 MiB is not read; write its steps as JSON Lines");
}

/// Our own fixtures of every agent's stream.
#[test]
fn every_agents_stream_is_known_by_its_first_records() {
    for agent in crate::streams::program::AGENTS {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/fixtures/streams/{agent}/finished.jsonl"));
        let reading = read(std::fs::File::open(path).unwrap(), None).unwrap();
        assert_eq!(reading.format.to_string(), agent);
        assert_eq!(reading.ending, Some(Ending::Finished), "{agent}");
        assert!(!reading.trace.response.is_empty(), "{agent}");
        assert!(reading.trace.actions.iter().all(|a| a.outcome.is_some()), "{agent}");
    }
    for name in FORMATS {
        assert_eq!(name.parse::<Format>().unwrap().to_string(), *name);
    }
}

#[test]
fn recorded_runs_of_real_agents_are_read() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/agent-streams");
    if !dir.is_dir() {
        return eprintln!("SKIPPED: the recorded streams are not at {}", dir.display());
    }
    let fixed = "Fixed: `add` now returns `a + b`; both tests pass.";
    for (agent, format) in [
        ("claude-code", "claude"),
        ("codex", "codex"),
        ("gemini-cli", "gemini"),
        ("opencode", "opencode"),
        ("pi", "pi"),
        ("qwen-code", "qwen"),
    ] {
        let file = std::fs::File::open(dir.join(agent).join("long-multi-tool.jsonl")).unwrap();
        let reading = read(file, None).unwrap();
        assert_eq!((reading.format.to_string().as_str(), reading.trace.response.as_str()), (format, fixed));
        assert_eq!(reading.unread, Unread::default(), "{agent}");
        assert_eq!(reading.ending, Some(Ending::Finished), "{agent}");
        let tested = |a: &&Action| a.command.as_deref().is_some_and(|c| c.contains("unittest"));
        assert_eq!(reading.trace.actions.iter().filter(tested).count(), 3, "{agent}");
        assert!(
            reading.trace.actions.iter().filter(|a| a.kind == ToolKind::Edit).all(|a| !a.edits.is_empty()),
            "{agent}"
        );
    }
    for (name, calls, said) in
        [("transcript", 8, fixed), ("transcript-of-subagent", 1, "Subagent: there is a README.md.")]
    {
        let file = std::fs::File::open(dir.join(format!("claude-code/{name}.jsonl"))).unwrap();
        let reading = read(file, None).unwrap();
        assert_eq!(reading.format.to_string(), "claude-transcript");
        assert_eq!((reading.trace.calls, reading.trace.response.as_str()), (calls, said));
        assert_eq!((reading.trace.asked.len(), reading.unread.total()), (1, 0), "{name}: {:?}", reading.unread);
    }
}

/// The seeds of the fuzzer, one of each format: the first byte is for it alone.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|file| {
            (file.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&file).unwrap()[1..].to_vec())
        })
        .collect()
}

#[test]
fn every_format_torn_off_at_every_byte_invents_nothing() {
    let seeds = seeds();
    for (name, whole) in &seeds {
        let all = read(whole.as_slice(), None).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(all.unread, Unread::default(), "{name}");
        assert!(!FORMATS.contains(&name.as_str()) || all.format.to_string() == *name, "{name}: {}", all.format);
        assert!(all.trace.calls > 0 && all.trace.response == "Done.", "{name}");
        for at in 0..whole.len() {
            let Ok(torn) = read(&whole[..at], None) else { continue };
            let exits = |reading: &Reading| -> Vec<_> {
                reading.trace.actions.iter().filter_map(|a| a.outcome.as_ref()?.exit_code).collect()
            };
            assert!(torn.trace.calls <= all.trace.calls, "{name} at {at}");
            assert!(exits(&torn).iter().all(|code| exits(&all).contains(code)), "{name} at {at}");
        }
    }
    let named = |format: &&&str| seeds.iter().any(|(name, _)| name == **format);
    assert_eq!(FORMATS.iter().filter(named).count(), FORMATS.len(), "every format has a seed");
}

fn format() -> impl Strategy<Value = Option<Format>> {
    let named = proptest::sample::select(FORMATS.to_vec()).prop_map(|name| name.parse().ok());
    prop_oneof![Just(None), named]
}

/// Something that JSON can say, with the words of transcripts.
fn value() -> impl Strategy<Value = Value> {
    let words = [
        "user",
        "assistant",
        "text",
        "tool_use",
        "tool_result",
        "tool",
        "bash",
        "Exit code 1",
        "s-1",
        "item.completed",
        "\u{1b}[0m",
        "session/update",
        "session/prompt",
        "tool_call",
        "response_item",
        "function_call",
        "gemini",
        "queued_command",
        "task-notification",
        "<tool-use-id>1</tool-use-id> exit code 3",
        "{\"cmd\": \"ls\"}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        proptest::sample::select(words.to_vec()).prop_map(Value::from),
        "\\PC{0,20}".prop_map(Value::from),
    ];
    let keys = [
        "type",
        "message",
        "content",
        "role",
        "text",
        "tool",
        "tools",
        "input",
        "exitCode",
        "output",
        "time",
        "task",
        "messages",
        "response",
        "commands",
        "command",
        "parts",
        "state",
        "sessionId",
        "session_id",
        "uuid",
        "is_error",
        "name",
        "id",
        "v",
        "at",
        "item",
        "part",
        "toolUseResult",
        "tool_calls",
        "function",
        "error",
        "usage",
        "subtype",
        "payload",
        "call_id",
        "arguments",
        "toolCalls",
        "args",
        "result",
        "status",
        "info",
        "jsonrpc",
        "msg",
        "method",
        "params",
        "update",
        "sessionUpdate",
        "toolCallId",
        "attachment",
        "prompt",
        "summary",
        "tool_use_id",
        "task_id",
    ];
    leaf.prop_recursive(5, 60, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((proptest::sample::select(keys.to_vec()), inner), 0..8)
                .prop_map(|entries| Value::Object(entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..600), format in format()) {
        let _ = read(bytes.as_slice(), format);
    }

    #[test]
    fn any_records_are_read_or_refused(records in proptest::collection::vec(value(), 1..8), format in format()) {
        let text: Vec<String> = records.iter().map(Value::to_string).collect();
        let _ = read(text.join("\n").as_bytes(), format);
    }

    #[test]
    fn any_document_is_read_or_refused(tools in value(), messages in value(), commands in value(), task in value()) {
        let document = json!({"task": task, "tools": tools, "messages": messages, "commands": commands});
        let _ = read(document.to_string().as_bytes(), None);
    }

    /// What is torn off or overwritten loses records and never adds calls or exit statuses.
    #[test]
    fn damage_invents_nothing(cut in 0..100_usize, at in 0..100_usize, byte in any::<u8>()) {
        let lines = [
            user("Test it."),
            bash("c-1", "make test"),
            answered("c-1", "Exit code 2\nno", json!({"is_error": true}), json!("Error")),
            assistant(json!({"type": "text", "text": "Done."})),
        ];
        let whole = lines.join("\n").into_bytes();
        let torn = &whole[..whole.len() * (cut + 1) / 100];
        if let Ok(reading) = read(torn, None) {
            prop_assert!(reading.trace.calls <= 1);
            prop_assert!(reading.trace.actions.iter().filter_map(|a| a.outcome.as_ref()).all(|o| o.exit_code == Some(2)));
        }
        let mut changed = whole.clone();
        let place = changed.len() * at / 100;
        changed[place] = byte;
        let _ = read(changed.as_slice(), None);
    }
}
