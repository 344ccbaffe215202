//! Small exchanges of our own: what agents may do to the runtime, and what it asks of them.

use super::player::{Act, Played, Stage, opening, reply, update};
use crate::domain::policy::{AgentOptions, Permissions};
use crate::domain::{CostSource, Ending, Role, ToolKind, ToolStatus, TranscriptItem, Usage};
use crate::services::{CommandEnd, Conversation, Earlier, Mode, SubagentError};
use serde_json::{Value, json};
use std::time::Duration;

/// An exchange with an agent that offers nothing, up to its prompt, and then these.
fn working(then: impl IntoIterator<Item = Act>) -> Stage {
    Stage::new(opening(json!({})).into_iter().chain(then).chain([Act::EndsAfterStdin]).collect())
}

fn says(text: &str) -> Act {
    update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
}

fn call(id: &str, kind: &str, more: Value) -> Act {
    let mut call = json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": kind, "kind": kind});
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    update(call)
}

fn done(id: &str, status: &str, more: Value) -> Act {
    let mut call = json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status});
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    update(call)
}

fn ending(played: &Played) -> &Ending {
    &played.report.as_ref().unwrap().ending
}

#[tokio::test(start_paused = true)]
async fn updates_become_steps() {
    let played = working([
        update(json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "Hm"}})),
        says("I write "),
        says("it."),
        call("c1", "edit", json!({"locations": [{"path": "/repo/a"}], "rawInput": {}})),
        done(
            "c1",
            "in_progress",
            json!({"rawInput": {"path": "/repo/a"}, "content": [{"type": "diff", "path": "/repo/b", "newText": ""}]}),
        ),
        done("c1", "completed", json!({"rawOutput": "ok"})),
        update(json!({"sessionUpdate": "plan", "entries": [{"content": "test", "status": "pending"}]})),
        call("c2", "execute", json!({"rawInput": {"command": "make"}})),
        done("c2", "failed", json!({"rawOutput": "Exit code 2\nboom"})),
        update(json!({"sessionUpdate": "of the future", "x": 1})),
        says("Done."),
        reply("end_turn"),
    ]);
    let played = played.play().await;
    let kinds: Vec<String> =
        played.items.iter().map(|item| serde_json::to_value(item).unwrap()["type"].to_string()).collect();
    let expected = [
        "session",
        "reasoning",
        "message",
        "tool_call",
        "tool_result",
        "turn",
        "tool_call",
        "tool_call",
        "tool_result",
        "turn",
        "unknown",
        "message",
        "turn",
    ];
    assert_eq!(kinds, expected.map(|kind| format!("\"{kind}\"")));
    let message = TranscriptItem::Message { role: Role::Assistant, text: "I write it.".to_owned() };
    assert_eq!(played.items[2], message);
    let edits = vec!["/repo/a".to_owned(), "/repo/b".to_owned()];
    let (id, tool, input) = ("c1".to_owned(), "edit".to_owned(), json!({"path": "/repo/a"}));
    assert_eq!(played.items[3], TranscriptItem::ToolCall { id, tool, kind: ToolKind::Edit, input, edits });
    let (id, output) = ("c2".to_owned(), "Exit code 2\nboom".to_owned());
    let failed = ToolStatus::Failed;
    let result = TranscriptItem::ToolResult { id, status: failed, exit_code: Some(2), output, duration_ms: None };
    assert_eq!(played.items[8], result);
    let report = played.report.unwrap();
    assert_eq!((report.ending, report.message.as_str()), (Ending::Finished, "Done."));
    assert_eq!(report.unknown.into_iter().collect::<Vec<_>>(), [("of the future".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_reason_to_stop_is_an_ending() {
    let table = [
        ("end_turn", Ending::Finished),
        ("max_tokens", Ending::Context),
        ("max_turn_requests", Ending::Budget),
        ("refusal", Ending::AgentError),
        ("cancelled", Ending::AgentError),
        ("of the future", Ending::AgentError),
    ];
    for (reason, expected) in table {
        // What an agent writes decides nothing.
        let played = working([says("429 usage limit reached, invalid api key"), reply(reason)]).play().await;
        assert_eq!(ending(&played), &expected, "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn refused_permissions_are_counted_and_other_requests_are_answered_with_an_error() {
    let ask = |id: u32, call: &str| {
        let options = json!([{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]);
        let params = json!({"sessionId": "s1", "options": options, "toolCall": {"toolCallId": call, "kind": "edit"}});
        Act::Says(json!({"id": id, "method": "session/request_permission", "params": params}))
    };
    let acts = |then: Vec<Act>| {
        let acts = [
            ask(7, "c1"),
            Act::Hears(json!({"id": 7})),
            done("c1", "failed", json!({})),
            Act::Says(json!({"id": 8, "method": "fs/read_text_file", "params": {"path": "/etc/passwd"}})),
            Act::Hears(json!({"id": 8})),
        ];
        acts.into_iter().chain(then)
    };
    let denying = async |then: Vec<Act>| {
        let mut stage = working(acts(then));
        stage.options.permissions = Permissions::Deny;
        stage.play().await
    };
    // It goes on without; it stops; it stops and says that all is well.
    assert_eq!(ending(&denying(vec![says("Then not."), reply("end_turn")]).await), &Ending::Finished);
    assert_eq!(ending(&denying(vec![reply("cancelled")]).await), &Ending::Permission);
    let played = denying(vec![reply("end_turn")]).await;
    assert_eq!(ending(&played), &Ending::Permission);
    assert_eq!(played.report.as_ref().unwrap().denied, 1);
    let answer = |played: &Played, id: u32| played.heard.iter().find(|heard| heard["id"] == id).unwrap().clone();
    assert_eq!(answer(&played, 7)["result"]["outcome"]["optionId"], "n");
    assert_eq!(answer(&played, 8)["error"]["code"], -32601);
    let statuses = played.items.iter().filter_map(|item| match item {
        TranscriptItem::ToolResult { status, .. } => Some(*status),
        _ => None,
    });
    assert_eq!(statuses.collect::<Vec<_>>(), [ToolStatus::Denied]);
    assert!(played.items.iter().any(|item| matches!(item, TranscriptItem::Turn { .. })), "a refusal ends a turn");
    let allowing = working(acts(vec![reply("end_turn")])).play().await;
    assert_eq!(answer(&allowing, 7)["result"]["outcome"]["optionId"], "y");
    assert_eq!(allowing.report.unwrap().denied, 0);
}

#[tokio::test(start_paused = true)]
async fn garbage_is_counted_and_ends_nothing() {
    let played = working([
        Act::Prints(b"\x1b[31mwarning\x1b[0m \xff\xfe\n\n[]\n{\"half\": \n{\"id\":1,\"x\":2}\n".to_vec()),
        Act::Says(json!({"method": "session/update", "params": 5})),
        Act::Says(
            json!({"method": "session/update", "params": {"update": {"sessionUpdate": "tool_call", "toolCallId": 5}}}),
        ),
        Act::Says(json!({"id": "nobody asked", "result": {}})),
        says("fine"),
        reply("end_turn"),
    ]);
    let report = played.play().await.report.unwrap();
    assert_eq!((report.ending, report.message.as_str()), (Ending::Finished, "fine"));
    assert!(report.unknown["not a message"] >= 3, "{:?}", report.unknown);
}

#[tokio::test(start_paused = true)]
async fn a_reply_without_an_end_of_line_is_heard() {
    let stage = |reply: &'static [u8]| {
        let acts = opening(json!({})).into_iter().filter(|act| !matches!(act, Act::Hears(m) if m["id"] == 3));
        Stage::new(acts.chain([Act::Prints(reply.to_vec()), Act::Ends(CommandEnd::Exited(0))]).collect())
    };
    let played = stage(b"{\"jsonrpc\":\"2.0\",\"method\":\"session/upd").play().await;
    assert_eq!(ending(&played), &Ending::AgentError);
}

#[tokio::test(start_paused = true)]
async fn a_line_without_end_ends_the_run() {
    let acts = std::iter::repeat_n(Act::Prints(vec![b'x'; 1024 * 1024]), 65);
    let report = working(acts).play().await.report.unwrap();
    assert_eq!(report.ending, Ending::AgentError);
    assert_eq!(report.detail.unwrap(), "agent `acp`: it printed a line of more than 64 MiB");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_ends_early_is_no_success() {
    let table = [
        (CommandEnd::Exited(0), Ending::AgentError),
        (CommandEnd::Exited(3), Ending::AgentError),
        (CommandEnd::Signaled(9), Ending::Crash),
        (CommandEnd::Idle, Ending::Hang),
    ];
    for (end, expected) in table {
        for acts in [Vec::new(), opening(json!({}))] {
            let complains = Act::Complains("\u{1b}[31mno such \u{1b}[1moption\u{1b}[0m --acp");
            let acts = acts.into_iter().chain([complains, Act::Ends(end)]);
            let report = Stage::new(acts.collect()).play().await.report.unwrap();
            assert_eq!(report.ending, expected, "{end:?}");
            assert!(report.detail.unwrap().ends_with("\nno such option --acp"), "{end:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_stays_is_ended_and_has_finished() {
    let acts = opening(json!({})).into_iter().chain([reply("end_turn"), Act::Stays]);
    assert_eq!(ending(&Stage::new(acts.collect()).play().await), &Ending::Finished);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_never_answers_is_cancelled_at_its_limit() {
    for acts in [Vec::new(), opening(json!({}))] {
        let stage =
            Stage { timeout: Duration::from_secs(5), ..Stage::new(acts.into_iter().chain([Act::Stays]).collect()) };
        assert_eq!(ending(&stage.play().await), &Ending::Timeout);
    }
    let stage = Stage {
        timeout: Duration::from_secs(5),
        ..working([Act::Hears(json!({"method": "session/cancel"})), reply("cancelled")])
    };
    // The double interrupts the run where it waits for a cancellation; both may be the reason.
    assert!(matches!(ending(&stage.play().await), Ending::Timeout | Ending::Cancelled));
}

#[tokio::test(start_paused = true)]
async fn limits_of_turns_and_cost_are_kept() {
    let cost =
        |amount: f64| update(json!({"sessionUpdate": "usage_update", "cost": {"amount": amount, "currency": "USD"}}));
    let turn = |id: &str| [call(id, "read", json!({})), done(id, "completed", json!({}))];
    let work = |then: Vec<Act>| {
        let acts = turn("1").into_iter().chain(turn("2")).chain([cost(0.5)]).chain(then);
        working(acts.collect::<Vec<_>>())
    };
    let check = async |options: AgentOptions, then: Vec<Act>, expected: Ending| {
        let mut stage = work(then);
        stage.options = options.clone();
        let played = stage.play().await;
        assert_eq!(ending(&played), &expected, "{options:?}");
        assert_eq!(played.told("session/cancel").is_some(), expected == Ending::Budget, "{options:?}");
    };
    let two = || AgentOptions { max_turns: Some(2), ..AgentOptions::default() };
    check(two(), vec![reply("end_turn")], Ending::Finished).await;
    check(two(), vec![says("a third")], Ending::Budget).await;
    let cents = |max| AgentOptions { max_cost_cents: Some(max), ..AgentOptions::default() };
    check(cents(50), vec![reply("end_turn")], Ending::Finished).await;
    check(cents(49), Vec::new(), Ending::Budget).await;
}

fn offer() -> Value {
    let select = |id: &str, current: &str, values: &[&str]| {
        let options: Vec<_> = values.iter().map(|value| json!({"value": value})).collect();
        json!({"id": id, "category": id, "currentValue": current, "options": options})
    };
    json!({"configOptions": [select("model", "big", &["big", "small"]), select("mode", "read-only", &["read-only", "auto"])]})
}

#[tokio::test(start_paused = true)]
async fn model_mode_and_system_prompt_are_set_before_the_prompt() {
    let mut stage = Stage::new(opening(offer()).into_iter().chain([reply("end_turn"), Act::EndsAfterStdin]).collect());
    stage.options = AgentOptions {
        model: Some("small".to_owned()),
        system_prompt: Some("Be brief.".to_owned()),
        ..AgentOptions::default()
    };
    let played = stage.play().await;
    let chosen = played.heard.iter().filter(|heard| heard["method"] == "session/set_config_option");
    let chosen: Vec<_> = chosen.map(|heard| heard["params"]["value"].clone()).collect();
    assert_eq!(chosen, ["small", "auto"]);
    let prompt = &played.told("session/prompt").unwrap()["params"]["prompt"];
    assert_eq!(prompt[0]["text"], "Be brief.");
    assert_eq!(prompt[1]["text"], "Create hello.txt containing hi");
    assert_eq!(played.told("session/new").unwrap()["params"]["cwd"], "/repo");
    let offered = &played.told("initialize").unwrap()["params"]["clientCapabilities"];
    assert_eq!(offered["fs"], json!({"readTextFile": false, "writeTextFile": false}));
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_cannot_do_is_said() {
    let unsupported = async |mut stage: Stage, change: fn(&mut Stage)| {
        change(&mut stage);
        match stage.play().await.report {
            Err(SubagentError::Unsupported { message, .. }) => message,
            other => panic!("{other:?}"),
        }
    };
    let plain = || working([reply("end_turn")]);
    let message = unsupported(plain(), |stage| stage.options.model = Some("m".to_owned())).await;
    assert!(message.contains("`extraArgs`"), "{message}");
    let message = unsupported(plain(), |stage| stage.mode = Mode::ReadOnly).await;
    assert!(message.contains("no read-only mode"), "{message}");
    let earlier = || Earlier { agent_session: "old".to_owned(), usage: Usage::default() };
    let mut fork = plain();
    fork.conversation = Conversation::Fork(earlier());
    let message = unsupported(fork, |_| ()).await;
    assert!(message.contains("copy"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn an_earlier_conversation_goes_on_without_being_told_twice() {
    let earlier = Earlier { agent_session: "s1".to_owned(), usage: Usage::default() };
    let stage = |answer: Value| {
        let load = [Act::Hears(json!({"method": "session/load", "id": 2})), says("of old"), Act::Says(answer)];
        let work = [
            Act::Hears(json!({"method": "session/prompt", "id": 3})),
            says("new"),
            reply("end_turn"),
            Act::EndsAfterStdin,
        ];
        let acts = opening(json!({})).into_iter().take(2).chain(load).chain(work).collect();
        Stage { conversation: Conversation::Resume(earlier.clone()), ..Stage::new(acts) }
    };
    let played = stage(json!({"id": 2, "result": {}})).play().await;
    let texts = played.items.iter().filter_map(|item| match item {
        TranscriptItem::Message { text, .. } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(texts.collect::<Vec<_>>(), ["new"]);
    assert_eq!(played.report.unwrap().agent_session.as_deref(), Some("s1"));
    let gone = stage(json!({"id": 2, "error": {"code": -32002, "message": "Resource not found"}})).play().await;
    assert!(matches!(gone.report, Err(SubagentError::NoSuchConversation { .. })));
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_conversation_cost_is_not_counted_again() {
    let check = async |before: Option<f64>, after: f64, expected: f64| {
        let cost = |amount: f64| {
            let cost = json!({"amount": amount, "currency": "USD"});
            update(json!({"sessionUpdate": "usage_update", "cost": cost}))
        };
        let load = [Act::Hears(json!({"method": "session/load", "id": 2})), says("of old")];
        let loaded = before.map(cost).into_iter().chain([Act::Says(json!({"id": 2, "result": {}}))]);
        let work = [
            Act::Hears(json!({"method": "session/prompt", "id": 3})),
            cost(after),
            reply("end_turn"),
            Act::EndsAfterStdin,
        ];
        let acts = opening(json!({})).into_iter().take(2).chain(load).chain(loaded).chain(work).collect();
        let earlier = Earlier { agent_session: "s1".to_owned(), usage: Usage::default() };
        let stage = Stage { conversation: Conversation::Resume(earlier), ..Stage::new(acts) };
        let usage = stage.play().await.report.unwrap().usage;
        assert_eq!((usage.cost_usd, usage.cost_source), (Some(expected), Some(CostSource::Reported)));
    };
    check(Some(0.5), 0.75, 0.25).await;
    // One that begins at zero after it told what was before, and one that tells nothing of before.
    check(Some(0.5), 0.25, 0.25).await;
    check(None, 0.25, 0.25).await;
}

#[tokio::test(start_paused = true)]
async fn another_version_of_the_protocol_is_named() {
    let acts = [
        Act::Hears(json!({"method": "initialize", "id": 1})),
        Act::Says(json!({"id": 1, "result": {"protocolVersion": 9}})),
        Act::EndsAfterStdin,
    ];
    let report = Stage::new(acts.into()).play().await.report.unwrap();
    assert_eq!(report.ending, Ending::AgentError);
    assert!(report.detail.unwrap().contains("version 9"));
}

#[tokio::test(start_paused = true)]
async fn an_error_beside_the_reply_counts_only_if_it_ended_the_turn() {
    let info = |what: Value| update(json!({"sessionUpdate": "session_info_update", "_meta": {"codex": what}}));
    let error = |retry: bool| {
        info(
            json!({"error": {"message": "m", "willRetry": retry, "codexErrorInfo": "usageLimitExceeded", "resetsAt": 1_767_225_660}}),
        )
    };
    let state = |state: &str| info(json!({"threadStatus": {"type": state}}));
    let limited = Ending::RateLimited { resets_at: Some("2026-01-01T00:01:00Z".parse().unwrap()) };
    let table = [
        (vec![error(true), state("active"), reply("end_turn")], Ending::Finished),
        (vec![error(false), state("systemError"), reply("end_turn")], limited),
        (vec![state("systemError"), reply("end_turn")], Ending::AgentError),
    ];
    for (acts, expected) in table {
        let played = working(acts).play().await;
        assert_eq!(ending(&played), &expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cost_of_nothing_is_unknown_and_estimated_where_the_model_has_a_price() {
    let check = async |model: &str, amount: f64, expected: Option<CostSource>| {
        let usage = json!({"inputTokens": 1000, "outputTokens": 10, "totalTokens": 1010});
        let cost = json!({"amount": amount, "currency": "USD"});
        let acts = [
            update(json!({"sessionUpdate": "usage_update", "cost": cost})),
            Act::Says(json!({"id": 3, "result": {"stopReason": "end_turn", "usage": usage}})),
            Act::EndsAfterStdin,
        ];
        let models = json!({"configOptions": [
            {"id": "model", "category": "model", "currentValue": "m", "options": [{"value": "m"}, {"value": model}]},
        ]});
        let mut stage = Stage::new(opening(models).into_iter().chain(acts).collect());
        stage.options.model = Some(model.to_owned());
        let usage = stage.play().await.report.unwrap().usage;
        assert_eq!((usage.input, usage.cost_source), (Some(1000), expected), "{model} {amount}");
        assert_eq!(usage.cost_usd.is_some_and(|cost| cost > 0.0), expected.is_some(), "{model} {amount}");
    };
    check("gpt-5", 0.5, Some(CostSource::Reported)).await;
    check("gpt-5", 0.0, Some(CostSource::Estimated)).await;
    check("my-own", 0.0, None).await;
}

#[tokio::test(start_paused = true)]
async fn names_that_an_agent_makes_up_have_a_limit() {
    let odd = |n: usize| update(json!({"sessionUpdate": format!("{n:03}{}", "x".repeat(200))}));
    let acts = (0..60).chain([0, 0, 0]).map(odd).chain([reply("end_turn")]);
    let played = working(acts.collect::<Vec<_>>()).play().await;
    let unknown = played.report.unwrap().unknown;
    assert_eq!((unknown.len(), unknown["others"]), (51, 10));
    assert!(unknown.keys().all(|name| name.len() <= 80));
    assert_eq!(unknown.values().max(), Some(&10));
    assert_eq!(unknown.values().sum::<u64>(), 63);
    let steps = played.items.iter().filter(|item| matches!(item, TranscriptItem::Unknown { .. })).count();
    assert_eq!(steps, 50 + 1 + 2, "of each name two at most");
}

#[tokio::test(start_paused = true)]
async fn what_goes_into_a_tool_and_comes_out_of_it_has_a_limit() {
    let long = "x".repeat(200_000);
    let input = json!({"a": long, "b": [long, {"c": long}], "d": 1});
    let acts = [
        call("c", "execute", json!({"rawInput": input})),
        done("c", "completed", json!({"rawOutput": long})),
        reply("end_turn"),
    ];
    let played = working(acts).play().await;
    let length = |of: &str| {
        let items = played.items.iter().map(|item| serde_json::to_value(item).unwrap());
        let texts: Vec<_> = items.filter(|item| item["type"] == of).map(|item| item.to_string()).collect();
        assert!(texts.iter().any(|text| text.contains("bytes left out")), "{of}");
        texts.iter().map(String::len).max()
    };
    assert!(length("tool_call") < Some(17_000), "{:?}", length("tool_call"));
    assert!(length("tool_result") < Some(66_000), "{:?}", length("tool_result"));
}
