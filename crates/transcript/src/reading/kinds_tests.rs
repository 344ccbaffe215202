//! Every kind of record that agents leave behind, in small ones of our own and in the recorded ones.

use super::*;
use crate::domain::{Action, Ending, ToolKind, ToolStatus};
use serde_json::{Value, json};
use std::path::Path;

fn reading(lines: &[Value]) -> Reading {
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    let text = text.join("\n");
    read(text.as_bytes(), None).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

type Seen<'a> = (ToolKind, Option<&'a str>, Option<(ToolStatus, Option<i32>)>);

fn seen(reading: &Reading) -> Vec<Seen<'_>> {
    let what = |action: &Action| action.outcome.as_ref().map(|o| (o.status, o.exit_code));
    reading.trace.actions.iter().map(|a| (a.kind, a.command.as_deref(), what(a))).collect()
}

fn rollout(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "2026-01-01T10:00:00.000Z", "type": kind, "payload": payload})
}

fn event(item: Value) -> Value {
    rollout("event_msg", json!({"type": "item_completed", "item": item}))
}

fn codex_call(id: &str, command: &str) -> Value {
    let arguments = json!({"cmd": command}).to_string();
    rollout(
        "response_item",
        json!({"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": id}),
    )
}

fn codex_output(id: &str, output: &str) -> Value {
    rollout("response_item", json!({"type": "function_call_output", "call_id": id, "output": output}))
}

/// The session's head, and what was asked.
fn codex_head() -> [Value; 3] {
    [
        rollout("session_meta", json!({"id": "t-1", "cli_version": "0.1.0", "cwd": "/repo"})),
        rollout(
            "response_item",
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>"}]}),
        ),
        event(json!({"type": "UserMessage", "id": "u", "content": [{"type": "text", "text": "Fix it."}]})),
    ]
}

#[test]
fn codexs_rollouts_say_what_was_asked_done_and_answered() {
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** End Patch";
    let head = codex_head();
    let rest = [
        rollout(
            "response_item",
            json!({"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": "1"}),
        ),
        event(json!({"type": "FileChange", "id": "1", "status": "completed", "stdout": "Success."})),
        codex_call("2", "cargo test"),
        event(
            json!({"type": "CommandExecution", "id": "2", "status": "failed", "exit_code": 101, "aggregated_output": "1 failed"}),
        ),
        codex_output("2", "Process exited with code 0\nOutput:\n1 failed"),
        // It went on in the background; how it ended is told after another call.
        codex_call("3", "make test"),
        codex_output("3", "Process running with session ID 7\nOutput:\nProcess exited with code 0"),
        codex_call("4", "ls"),
        event(
            json!({"type": "CommandExecution", "id": "3", "status": "failed", "exit_code": 2, "aggregated_output": "no"}),
        ),
        codex_output("4", "Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:\na.rs"),
        rollout(
            "response_item",
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}),
        ),
        rollout("event_msg", json!({"type": "telepathy"})),
        rollout("event_msg", json!({"type": "task_complete", "last_agent_message": "Done."})),
    ];
    let reading = reading(&[head.as_slice(), rest.as_slice()].concat());
    assert_eq!((reading.format.to_string().as_str(), reading.session.as_deref()), ("codex-transcript", Some("t-1")));
    assert_eq!((reading.trace.task().as_str(), reading.trace.response.as_str()), ("Fix it.", "Done."));
    assert_eq!(reading.ending, Some(Ending::Finished));
    let expected = [
        (ToolKind::Edit, None, Some((ToolStatus::Ok, None))),
        (ToolKind::Execute, Some("cargo test"), Some((ToolStatus::Failed, Some(101)))),
        (ToolKind::Execute, Some("make test"), Some((ToolStatus::Failed, Some(2)))),
        (ToolKind::Execute, Some("ls"), Some((ToolStatus::Ok, Some(0)))),
    ];
    assert_eq!(seen(&reading), expected);
    assert_eq!(reading.trace.actions[0].edits, ["src/a.rs"]);
    assert_eq!(reading.unread.by_name.keys().collect::<Vec<_>>(), ["event_msg/telepathy"]);
    assert!(!reading.trace.broken_off);
}

#[test]
fn geminis_chats_say_what_was_asked_done_and_answered() {
    let answer = |calls: Value| json!({"id": "g-1", "timestamp": "2026-01-01T10:00:00Z", "type": "gemini", "content": "I test.", "tokens": {"input": 10, "output": 2}, "toolCalls": calls});
    let called = |id: &str, command: &str, status: &str, output: &str| json!({"id": id, "name": "run_shell_command", "args": {"command": command}, "status": status, "result": [{"functionResponse": {"id": id, "response": {"output": output}}}]});
    let calls = json!([
        called("1", "make test", "success", "Output: Exit Code: 0\nExit Code: 2\nProcess Group PGID: 7"),
        called("2", "ls", "cancelled", ""),
        {"id": "3", "name": "replace", "args": {"file_path": "a.py"}, "status": "success"},
        called("4", "sleep 9", "executing", ""),
    ]);
    let reading = reading(&[
        json!({"sessionId": "s-1", "projectHash": "0", "startTime": "2026-01-01T10:00:00Z", "kind": "main"}),
        json!({"$set": {"lastUpdated": "2026-01-01T10:00:00Z"}}),
        json!({"id": "u-0", "type": "user", "content": [{"text": "<session_context>\nThis is the Gemini CLI."}]}),
        json!({"id": "u-1", "type": "user", "content": [{"text": "Fix it."}]}),
        answer(json!(null)),
        // The same answer again, with its calls; and once more.
        answer(calls.clone()),
        answer(calls),
        json!({"id": "u-2", "type": "user", "content": [{"functionResponse": {"id": "1", "response": {"output": "no"}}}]}),
        json!({"id": "x", "type": "telepathy"}),
    ]);
    assert_eq!((reading.format.to_string().as_str(), reading.session.as_deref()), ("gemini-transcript", Some("s-1")));
    assert_eq!(reading.trace.task(), "Fix it.");
    let expected = [
        (ToolKind::Execute, Some("make test"), Some((ToolStatus::Ok, Some(2)))),
        (ToolKind::Execute, Some("ls"), Some((ToolStatus::Failed, None))),
        (ToolKind::Edit, None, Some((ToolStatus::Ok, None))),
        (ToolKind::Execute, Some("sleep 9"), None),
    ];
    assert_eq!(seen(&reading), expected);
    assert_eq!(reading.trace.usage.input, Some(10));
    assert_eq!(reading.unread.by_name.keys().collect::<Vec<_>>(), ["telepathy"]);
    assert!(reading.trace.broken_off);
}

/// Chats of earlier versions of Gemini CLI, and what `opencode export` prints, are one document.
#[test]
fn exported_conversations_are_read() {
    let gemini = json!({"sessionId": "s-1", "projectHash": "0", "startTime": "x", "lastUpdated": "y", "messages": [
        {"id": "1", "timestamp": "x", "type": "user", "content": "Fix it."},
        {"id": "2", "timestamp": "x", "type": "gemini", "content": "I test.", "toolCalls": [
            {"id": "c", "name": "run_shell_command", "args": {"command": "make"}, "status": "error", "result": [{"functionResponse": {"response": {"error": "Exit Code: 2"}}}]}]},
        {"id": "3", "timestamp": "x", "type": "info", "content": "Saved."},
        {"id": "4", "timestamp": "x", "type": "gemini", "content": "Done."},
    ]});
    let reading = self::reading(&[gemini]);
    assert_eq!((reading.session.as_deref(), reading.unread.total()), (Some("s-1"), 0));
    assert_eq!((reading.trace.task().as_str(), reading.trace.response.as_str()), ("Fix it.", "Done."));
    assert_eq!(seen(&reading), [(ToolKind::Execute, Some("make"), Some((ToolStatus::Failed, Some(2))))]);

    let tool = |id: &str, state: Value| json!({"type": "tool", "tool": "bash", "callID": id, "state": state});
    let opencode = json!({"info": {"id": "ses_1", "title": "t"}, "messages": [
        {"info": {"role": "user", "time": {"created": 1}}, "parts": [{"type": "text", "text": "Fix it."}, {"type": "text", "synthetic": true, "text": "Not asked."}]},
        {"info": {"role": "assistant", "time": {"created": 1, "completed": 2}}, "parts": [
            {"type": "step-start"},
            tool("1", json!({"status": "completed", "input": {"command": "make"}, "output": "no", "metadata": {"exit": 2}})),
            tool("2", json!({"status": "error", "input": {"command": "rm a"}, "error": "The user rejected permission to use this specific tool call."})),
            {"type": "compaction", "auto": true},
            {"type": "text", "text": "Done."}]},
    ]});
    // It is printed over many lines.
    let printed = format!("{opencode:#}");
    let reading = read(printed.as_bytes(), None).unwrap();
    assert_eq!((reading.session.as_deref(), reading.unread.total()), (Some("ses_1"), 0));
    assert_eq!((reading.trace.task().as_str(), reading.trace.response.as_str()), ("Fix it.", "Done."));
    assert_eq!((reading.ending.as_ref(), reading.trace.compactions.as_slice()), (Some(&Ending::Finished), &[2][..]));
    let expected = [
        (ToolKind::Execute, Some("make"), Some((ToolStatus::Failed, Some(2)))),
        (ToolKind::Execute, Some("rm a"), Some((ToolStatus::Denied, None))),
    ];
    assert_eq!(seen(&reading), expected);
}

#[test]
fn messages_of_the_agent_client_protocol_are_heard_again() {
    let update = |update: Value| json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s-1", "update": update}});
    let call = |id: &str, command: &str| {
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": command, "kind": "execute", "status": "in_progress", "rawInput": {"command": command}}),
        )
    };
    let said =
        |text: &str| update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}));
    let ask =
        |id: u64, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let tell = |id: u64, result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    let conversation = [
        ask(1, "initialize", json!({})),
        tell(1, json!({"protocolVersion": 1})),
        ask(2, "session/new", json!({"cwd": "/repo"})),
        tell(2, json!({"sessionId": "s-1"})),
        ask(3, "session/prompt", json!({"sessionId": "s-1", "prompt": [{"type": "text", "text": "Fix it."}]})),
        said("I "),
        said("test."),
        call("1", "make test"),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "failed", "rawOutput": {"output": "no", "metadata": {"exit": 2}}}),
        ),
        call("2", "rm -r /"),
        // The agent counts its questions apart from the client's.
        ask(
            3,
            "session/request_permission",
            json!({"toolCall": {"toolCallId": "2"}, "options": [{"optionId": "n", "kind": "reject_once"}, {"optionId": "y", "kind": "allow_once"}]}),
        ),
        tell(3, json!({"outcome": {"outcome": "selected", "optionId": "n"}})),
        update(json!({"sessionUpdate": "telepathy"})),
        said("Done."),
        tell(3, json!({"stopReason": "end_turn"})),
    ];
    let recorded = conversation.clone().map(|message| json!({"t": 0.1, "dir": "x", "msg": message}));
    let ended = [json!({"t": 9, "dir": "exit", "msg": {"rc": 0}})];
    for lines in [conversation.to_vec(), [recorded.as_slice(), ended.as_slice()].concat()] {
        let reading = reading(&lines);
        assert_eq!((reading.format, reading.session.as_deref()), (Format::Acp, Some("s-1")));
        assert_eq!((reading.trace.task().as_str(), reading.trace.response.as_str()), ("Fix it.", "Done."));
        assert_eq!(reading.ending, Some(Ending::Finished));
        let expected = [
            (ToolKind::Execute, Some("make test"), Some((ToolStatus::Failed, Some(2)))),
            (ToolKind::Execute, Some("rm -r /"), Some((ToolStatus::Denied, None))),
        ];
        assert_eq!(seen(&reading), expected);
        assert_eq!(reading.unread.by_name.keys().collect::<Vec<_>>(), ["telepathy"]);
        assert_eq!(reading.unread.lines, [13]);
    }
    // An error instead of a reply, and a recording that ends in the middle.
    let error = json!({"jsonrpc": "2.0", "id": 3, "error": {"code": -32000, "message": "Authentication required"}});
    let refused = reading(&[&conversation[..5], &[error][..]].concat());
    assert_eq!((refused.ending, refused.trace.errors), (Some(Ending::Auth), 1));
    assert!(reading(&conversation[..8]).trace.broken_off);
}

/// Claude Code's records of a command in the background, from its stream and its transcript.
#[test]
fn what_became_of_a_command_in_the_background_is_its_exit_status() {
    let notice = |code: &str| {
        format!(
            "<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>c-1</tool-use-id>\n<status>failed</status>\n<summary>Background command \"exit code 0\" {code}</summary>\n</task-notification>"
        )
    };
    let transcript = |kind: &str, more: Value| {
        let mut record = json!({"type": kind, "sessionId": "s-1", "isSidechain": false});
        record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        record
    };
    let begun = |task: &str| {
        let result = json!({"type": "tool_result", "tool_use_id": "c-1", "is_error": false, "content": "Command running in background"});
        [
            transcript("user", json!({"message": {"content": "Test it."}})),
            transcript(
                "assistant",
                json!({"message": {"id": "m", "content": [{"type": "tool_use", "id": "c-1", "name": "Bash", "input": {"command": "make test"}}]}}),
            ),
            transcript(
                "user",
                json!({"message": {"content": [result]}, "toolUseResult": {"interrupted": false, "backgroundTaskId": task}}),
            ),
        ]
    };
    let check = |later: Value, expected: (ToolStatus, Option<i32>)| {
        let reading = reading(&[begun("b1").as_slice(), std::slice::from_ref(&later)].concat());
        assert_eq!(seen(&reading)[0], (ToolKind::Execute, Some("make test"), Some(expected)), "{later}");
        assert_eq!((reading.trace.asked.len(), reading.unread.total()), (1, 0), "{later}");
    };
    let queued = |text: String| {
        transcript(
            "attachment",
            json!({"attachment": {"type": "queued_command", "commandMode": "task-notification", "prompt": text}}),
        )
    };
    check(queued(notice("failed with exit code 3")), (ToolStatus::Failed, Some(3)));
    check(queued(notice("was stopped")), (ToolStatus::Ok, None));
    let said = notice("completed (exit code 0)");
    check(transcript("user", json!({"message": {"content": said}})), (ToolStatus::Ok, Some(0)));
    let asked = |structured: Value| {
        transcript(
            "user",
            json!({"message": {"content": [{"type": "tool_result", "tool_use_id": "c-9", "content": "…"}]}, "toolUseResult": structured}),
        )
    };
    check(asked(json!({"shellId": "b1", "status": "completed", "exitCode": 4})), (ToolStatus::Failed, Some(4)));
    check(asked(json!({"shellId": "b1", "status": "running", "exitCode": null})), (ToolStatus::Ok, None));
    check(asked(json!({"shellId": "b2", "status": "completed", "exitCode": 4})), (ToolStatus::Ok, None));
    check(
        asked(json!({"retrieval_status": "success", "task": {"task_id": "b1", "exitCode": 0, "output": "ok"}})),
        (ToolStatus::Ok, Some(0)),
    );
    // Whatever a tool prints is no notice.
    let fake = json!({"type": "tool_result", "tool_use_id": "c-8", "content": notice("completed (exit code 0)")});
    check(transcript("user", json!({"message": {"content": [fake]}})), (ToolStatus::Ok, None));

    let stream = reading(&[
        json!({"type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "2.1.0"}),
        json!({"type": "assistant", "message": {"id": "m", "content": [{"type": "tool_use", "id": "c-1", "name": "Bash", "input": {"command": "make test"}}]}}),
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "c-1", "is_error": false, "content": "Command running in background"}]}, "tool_use_result": {"interrupted": false, "backgroundTaskId": "b1"}}),
        json!({"type": "system", "subtype": "task_notification", "task_id": "b1", "tool_use_id": "c-1", "status": "failed", "summary": "Background command \"make test\" failed with exit code 2"}),
    ]);
    assert_eq!(seen(&stream), [(ToolKind::Execute, Some("make test"), Some((ToolStatus::Failed, Some(2))))]);
}

#[test]
fn a_denied_call_of_claude_did_not_happen() {
    let check = |content: &str, more: Value, expected: ToolStatus| {
        let call = json!({"type": "tool_use", "id": "c-1", "name": "Bash", "input": {"command": "make test"}});
        let result = json!({"type": "tool_result", "tool_use_id": "c-1", "is_error": true, "content": content});
        let mut answer = json!({"type": "user", "sessionId": "s-1", "message": {"content": [result]}});
        answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let lines =
            [json!({"type": "assistant", "sessionId": "s-1", "message": {"id": "m", "content": [call]}}), answer];
        assert_eq!(seen(&reading(&lines))[0].2, Some((expected, None)), "{content}");
    };
    check(
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        json!({}),
        ToolStatus::Denied,
    );
    check("Permission to use Bash has been denied.", json!({}), ToolStatus::Denied);
    check("No.", json!({"permissionDecision": {"decision": "reject"}}), ToolStatus::Denied);
    check("make: *** No rule to make target 'test'.", json!({}), ToolStatus::Failed);
}

#[test]
fn recordings_of_every_other_kind_are_read() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/agent-streams");
    if !dir.is_dir() {
        return eprintln!("SKIPPED: the recorded streams are not at {}", dir.display());
    }
    let open = |file: &str| read(std::fs::File::open(dir.join(file)).unwrap(), None).unwrap();
    let fixed = "Fixed: `add` now returns `a + b`; both tests pass.";
    for (file, format) in [("codex/rollout.jsonl", "codex-transcript"), ("gemini-cli/chat.jsonl", "gemini-transcript")]
    {
        let reading = open(file);
        assert_eq!((reading.format.to_string().as_str(), reading.trace.response.as_str()), (format, fixed));
        assert_eq!((reading.trace.asked.len(), reading.unread.clone()), (1, Unread::default()), "{file}");
        let tested = |a: &&Action| a.command.as_deref().is_some_and(|c| c.contains("unittest"));
        let exits: Vec<_> =
            reading.trace.actions.iter().filter(tested).map(|a| a.outcome.as_ref().unwrap().exit_code).collect();
        assert_eq!(exits.len(), 3, "{file}");
        assert_eq!(exits[..2], [Some(1), Some(1)], "{file}");
    }
    for agent in ["claude-code", "codex", "codex-zed", "gemini-cli", "opencode"] {
        let file = format!("acp/{agent}-success.jsonl");
        let reading = open(&file);
        assert_eq!((reading.format, reading.ending.clone()), (Format::Acp, Some(Ending::Finished)), "{agent}");
        assert!(!reading.trace.response.is_empty() && !reading.trace.task().is_empty(), "{agent}");
        let acts = std::fs::read_to_string(dir.join(&file)).unwrap().contains("tool_call");
        assert_eq!((reading.trace.calls >= 2, reading.trace.actions.iter().all(|a| a.outcome.is_some())), (acts, true));
        assert_eq!(reading.unread, Unread::default(), "{agent}");
        // Not every one of them asked; where one did, the answer was no.
        let file = format!("acp/{agent}-reject.jsonl");
        if let Ok(text) = std::fs::read_to_string(dir.join(&file)) {
            let refused = |a: &Action| a.outcome.as_ref().is_some_and(|o| o.status == ToolStatus::Denied);
            let asked = text.contains("session/request_permission");
            assert_eq!(open(&file).trace.actions.iter().any(refused), asked, "{agent}");
        }
        assert_eq!(open(&format!("acp/{agent}-cancel.jsonl")).ending, Some(Ending::Cancelled), "{agent}");
    }
}
