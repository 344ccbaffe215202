//! The ancestor's test cases, as data, run through what is here. Expectations marked as quirks are ignored; every other
//! line either holds or is an exception with its reason.

use super::guards::{NotJudged, not_judged};
use super::{compaction, loops, stuck};
use crate::domain::{
    ABORT_RACE, CompactionVerdict, CompletionVerdict, Evaluated, FEEDBACK_MARK, Guard, INTERNAL_MARK, Role, Severity,
    Skipped, Standing, StateId, StuckReason, StuckVerdict, TaskType, Timestamp, ToolKind, Trace, TranscriptItem,
    is_feedback, is_internal,
};
use crate::prompt::Feedback;
use crate::services::{CompactionQuestion, StuckQuestion};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What came of a line.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    /// As expected.
    Holds,
    /// The facts are silent and nothing was claimed.
    Open,
    /// Another module's matter.
    Elsewhere,
    /// Not as expected, and how instead.
    Differs(String),
}

/// Runs a file's lines and compares the exceptions with those that have a reason.
fn run(file: &str, component: Option<&str>, exceptions: &[(&str, &str)], check: impl Fn(&Value) -> Line) {
    // Tests are run by cargo, which says where the package is; its neighbour has the data where there is any.
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let path = package.join("../../../shared/data/cases").join(file);
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("SKIPPED: the ancestor's cases are not here ({})", path.display());
        return;
    };
    let (mut quirks, mut holds, mut open, mut elsewhere, mut differs) = (0, 0, Vec::new(), 0, BTreeMap::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).expect("the data is JSON");
        if component.is_some_and(|wanted| case["component"] != wanted) {
            continue;
        }
        // A probe's quirk is the ancestor's; what is sensible stands beside it.
        if component.is_none() && case.get("quirk").is_some() {
            quirks += 1;
            continue;
        }
        let id = case["id"].as_str().expect("every line has an id").to_owned();
        match check(&case) {
            Line::Holds => holds += 1,
            Line::Open => open.push(id),
            Line::Elsewhere => elsewhere += 1,
            Line::Differs(how) => drop(differs.insert(id, how)),
        }
    }
    let all = holds + open.len() + differs.len();
    println!(
        "{file} {}: {holds} of {all} hold, {} open {open:?}, {} exceptions; {quirks} quirks, {elsewhere} elsewhere",
        component.unwrap_or(""),
        open.len(),
        differs.len()
    );
    let listed: Vec<&str> = exceptions.iter().map(|(id, _)| *id).collect();
    let found: Vec<&str> = differs.keys().map(String::as_str).collect();
    assert_eq!(found, listed, "{differs:#?}");
    assert!(all > 0, "{file} has no line for this test");
}

/// Holds if nothing differs.
fn all(differences: Vec<String>) -> Line {
    if differences.is_empty() { Line::Holds } else { Line::Differs(differences.join("; ")) }
}

fn equal<T: PartialEq + std::fmt::Debug>(is: T, expected: T) -> Line {
    if is == expected { Line::Holds } else { Line::Differs(format!("is {is:?}, expected {expected:?}")) }
}

/// The value that a probe should have.
fn wanted<'a>(case: &'a Value, key: &str) -> &'a Value {
    let sensible = &case["sensible"][key];
    // Without a quirk what was observed is sensible.
    if sensible.is_null() && case.get("quirk").is_none() { &case["peer_observed"][key] } else { sensible }
}

fn role(message: &Value) -> Role {
    match message["role"].as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => Role::System,
    }
}

/// The text of a message, with the ancestor's marks as ours.
fn text(message: &Value) -> String {
    let parts = message["parts"].as_array().cloned().unwrap_or_default();
    let texts = parts.iter().filter_map(|part| part["text"].as_str());
    let text = message["text"].as_str().map_or_else(|| texts.collect::<Vec<_>>().join("\n\n"), str::to_owned);
    let internal =
        ["ANALYZE REFLECTION-3", "SELF-ASSESS REFLECTION-3", "REVIEW REFLECTION-3 COMPLETION", "CLASSIFY TASK ROUTING"];
    if internal.iter().any(|mark| text.starts_with(mark))
        || text.starts_with("## Reflection-3 Self-Assessment\nEvaluate")
    {
        return format!("{INTERNAL_MARK}\n{text}");
    }
    if text.starts_with("## Reflection-3") {
        return format!("{FEEDBACK_MARK}\n{text}");
    }
    text
}

fn messages(case: &Value) -> Vec<Value> {
    case["input"]["messages"].as_array().cloned().unwrap_or_default()
}

/// What an adapter makes of a tool's name; edit tools get no kind, so that their names must do.
fn call(tool: &Value, number: usize) -> TranscriptItem {
    let name = tool["tool"].as_str().unwrap_or_default();
    let kind = match name {
        "bash" => ToolKind::Execute,
        "read" => ToolKind::Read,
        "glob" | "grep" => ToolKind::Search,
        "task" => ToolKind::Agent,
        "webfetch" => ToolKind::Fetch,
        "todowrite" => ToolKind::Plan,
        _ => ToolKind::Other,
    };
    TranscriptItem::ToolCall {
        id: number.to_string(),
        tool: name.to_owned(),
        kind,
        input: tool["input"].clone(),
        edits: Vec::new(),
    }
}

fn trace_of_messages(case: &Value) -> Trace {
    let mut trace = Trace::default();
    for message in messages(case) {
        let said = text(&message);
        if !said.is_empty() {
            trace.step(&TranscriptItem::Message { role: role(&message), text: said }, None, None);
        }
        let tools = message["parts"].as_array().cloned().unwrap_or_default();
        for tool in tools.iter().filter(|part| part["type"] == "tool" && message["role"] == "assistant") {
            let number = trace.calls as usize;
            trace.step(&call(tool, number), None, None);
        }
    }
    trace
}

fn trace_of_tools(case: &Value) -> Trace {
    let mut trace = Trace::default();
    let tools = case["input"]["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().enumerate().for_each(|(number, tool)| trace.step(&call(tool, number), None, None));
    trace
}

fn planning(case: &Value, trace: &Trace, detected: &Value) -> Line {
    let found = loops::planning_loop(trace.since_asked());
    if let Some(writes) = case["expected"]["write_count"].as_u64() {
        assert_eq!(found.map(|found| found.writes as u64), Some(writes), "{case}");
    }
    equal(Some(found.is_some()), detected.as_bool())
}

#[test]
fn planning_loops() {
    run("planning-loop.jsonl", None, &[], |case| match case["input"]["op"].as_str() {
        Some("should_apply") => {
            let kind: TaskType = serde_json::from_value(case["input"]["task_type"].clone()).expect("a type");
            equal(Some(loops::asks_for_change(kind)), case["expected"]["apply"].as_bool())
        }
        _ => planning(case, &trace_of_messages(case), &case["expected"]["detected"]),
    });
    run("probes.jsonl", Some("planning-loop"), &[], |case| {
        // A test run is no write either: both answers are sensible there.
        let either = wanted(case, "note").as_str().is_some_and(|note| note.contains("or true"));
        if either { Line::Holds } else { planning(case, &trace_of_tools(case), wanted(case, "detected")) }
    });
}

#[test]
fn action_loops() {
    let detected = |trace: &Trace| Some(loops::action_loop(trace.since_asked()).is_some());
    run("action-loop.jsonl", None, &[], |case| {
        equal(detected(&trace_of_messages(case)), case["expected"]["detected"].as_bool())
    });
    run("probes.jsonl", Some("action-loop"), &[], |case| {
        equal(detected(&trace_of_tools(case)), wanted(case, "detected").as_bool())
    });
}

/// What an expected verdict says, key by key.
fn as_expected(verdict: &StuckVerdict, expected: &Value) -> Line {
    let reason = serde_json::to_value(verdict.reason).expect("a word");
    let mut differences = Vec::new();
    for (key, value) in expected.as_object().expect("an object") {
        let holds = match key.as_str() {
            "stuck" => verdict.stuck == *value,
            "should_nudge" => verdict.should_nudge == *value,
            "reason" => reason == *value,
            "reason_not" => reason != *value,
            other => panic!("{other} is not known"),
        };
        if !holds {
            differences.push(format!("{key} is not {value}: {verdict:?}"));
        }
    }
    all(differences)
}

#[test]
fn stuck_agents_by_facts_alone() {
    run("eval-stuck.jsonl", None, &[], |case| {
        let question: StuckQuestion = serde_json::from_value(case["input"].clone()).expect("a question");
        let verdict = stuck::by_facts(&question).unwrap_or_else(|| stuck::without_judge(&question));
        let line = as_expected(&verdict, &case["expected"]);
        if verdict.reason == StuckReason::Undetermined { Line::Open } else { line }
    });
    run("stuck-static.jsonl", None, &[], |case| static_state(&case["input"], &case["expected"]));
}

fn static_state(input: &Value, expected: &Value) -> Line {
    let seconds = input["message_age_ms"].as_f64().map_or(90.0, |ms| ms / 1_000.0);
    let tools = input["pending_tool_calls"].as_array().cloned().unwrap_or_default();
    let question = StuckQuestion {
        time_since_activity: seconds,
        message_completed: input["message_complete"].as_bool().or(Some(true)),
        output_tokens: input["output_tokens"].as_u64(),
        last_user_message: "Go on".to_owned(),
        last_assistant_response: input["last_text"].as_str().unwrap_or_default().to_owned(),
        tool_calls: tools.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"),
    };
    let verdict = stuck::by_facts(&question);
    let reason = verdict.as_ref().map(|verdict| verdict.reason);
    match input["op"].as_str() {
        Some("needs_check") => equal(Some(verdict.is_none()), expected["check"].as_bool()),
        Some("static_state") if expected.get("tool_running").is_some() => equal(reason, Some(StuckReason::Working)),
        Some("static_state") => equal(reason, Some(StuckReason::GenuinelyStuck)),
        // The cache of answers is tested beside it; fast models are chosen where models are asked.
        _ => Line::Elsewhere,
    }
}

#[test]
fn shortened_contexts_by_facts_alone() {
    run("eval-compression.jsonl", None, &[], |case| {
        let question: CompactionQuestion = serde_json::from_value(case["input"].clone()).expect("a question");
        let verdict = compaction::by_facts(&question).unwrap_or_else(|| compaction::without_judge(&question));
        if verdict.confidence == 0.0 { Line::Open } else { compacted(&verdict, &case["expected"]) }
    });
    run("post-compression-actions.jsonl", None, &[], |case| {
        let action = serde_json::from_value(case["input"]["action"].clone()).expect("an action");
        let answer = CompactionVerdict {
            action,
            has_active_git_work: true,
            confidence: 0.9,
            nudge_message: "Go on.".to_owned(),
        };
        let verdict = compaction::by_judge(&CompactionQuestion::default(), answer);
        equal(Some(!verdict.nudge_message.is_empty()), case["expected"]["nudge"].as_bool())
    });
}

fn compacted(verdict: &CompactionVerdict, expected: &Value) -> Line {
    let action = serde_json::to_value(verdict.action).expect("a word");
    let holds = expected["action_in"].as_array().is_some_and(|allowed| allowed.contains(&action));
    if holds { Line::Holds } else { Line::Differs(format!("{verdict:?}")) }
}

#[test]
fn plan_modes() {
    let planning = |trace: &Trace| Some(not_judged(trace) == Some(NotJudged::Planning));
    let exceptions = [
        ("plan-mode-014", "a task whose result is a plan is a task: it is judged by what it asks for"),
        (
            "plan-mode-015",
            "the same; with such words taken for a mode, \"create a plan for our customers\" is never judged",
        ),
    ];
    run("plan-mode.jsonl", None, &exceptions, |case| {
        equal(planning(&trace_of_messages(case)), case["expected"]["plan_mode"].as_bool())
    });
    run("probes.jsonl", Some("plan-mode"), &[], |case| {
        equal(planning(&trace_of_messages(case)), wanted(case, "plan_mode").as_bool())
    });
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_700_000_000_000 + ms).expect("a time")
}

/// The events of a case through the guard, as whoever evaluates would use it: enter, wait, look again, evaluate.
fn evaluations(events: &[Value]) -> u64 {
    let (mut guard, mut waiting, mut evaluated) = (Guard::default(), Vec::new(), 0);
    let mut settle = |guard: &mut Guard, waiting: &mut Vec<(i64, crate::domain::Pass)>, until: i64| {
        while waiting.first().is_some_and(|(ready, _)| *ready <= until) {
            let (ready, pass) = waiting.remove(0);
            let good = guard.still(&pass, at(ready)).is_ok();
            evaluated += u64::from(good);
            guard.leave(pass, if good { Evaluated::Yes } else { Evaluated::Failed });
        }
    };
    let race = i64::try_from(ABORT_RACE.as_millis()).expect("short");
    for event in events {
        let (time, session) = (event["t"].as_i64().expect("a time"), event["session"].as_str().expect("a session"));
        settle(&mut guard, &mut waiting, time - 1);
        if event["event"] == "session.error" {
            guard.aborted(session, at(time));
        } else if let Ok(pass) = guard.enter(session, StateId::of([(None, session)]), at(time)) {
            waiting.push((time + race, pass));
        }
    }
    settle(&mut guard, &mut waiting, i64::MAX);
    evaluated
}

#[test]
fn aborted_turns() {
    run("abort-guard.jsonl", None, &[], |case| {
        let (input, expected) = (&case["input"], &case["expected"]);
        if let Some(events) = input["events"].as_array() {
            return equal(Some(evaluations(events)), expected["reflections"].as_u64());
        }
        let mut guard = Guard::default();
        for message in messages(case).iter().filter(|message| message["error"]["name"] == "MessageAbortedError") {
            assert_eq!(role(message), Role::Assistant);
            guard.aborted("s", at(0));
        }
        let entered = guard.enter("s", StateId::of([(None, "s")]), at(0)).is_ok();
        match (&expected["aborted"], &expected["skip_reflection"]) {
            (Value::Bool(aborted), _) => equal(entered, !aborted),
            (_, Value::Bool(skip)) => equal(entered, !skip),
            // Whether a message is whole is said by the readers of transcripts.
            _ => Line::Elsewhere,
        }
    });
}

#[test]
fn evaluations_meanwhile() {
    let exceptions = [(
        "dedup-race-007",
        "an evaluation that failed is repeated, as the quirk of 005 says; the error's type is no reason",
    )];
    run("dedup-race.jsonl", None, &exceptions, |case| {
        let (input, expected) = (&case["input"], &case["expected"]);
        let (mut guard, state) = (Guard::default(), StateId::of([(Some("msg_1"), "Fix the bug")]));
        let pass = guard.enter("a", state, at(0)).expect("free");
        let asked =
            input.get("user_message_after_judge").is_some() || input.get("messages_at_pre_feedback_check").is_some();
        if asked {
            guard.asked("a");
        }
        if input["abort_before_feedback"] == true {
            guard.aborted("a", at(20_000));
        }
        let good = guard.still(&pass, at(30_000 - 1));
        let failed = ["prompt_call_fails", "client", "first_throws"].iter().any(|key| input.get(key).is_some());
        guard.leave(pass, if failed { Evaluated::Failed } else { Evaluated::Yes });
        let other = guard.enter("b", state, at(30_000)).is_ok();
        let again = guard.enter("a", state, at(40_000));
        let mut differences = Vec::new();
        for (key, value) in expected.as_object().expect("an object") {
            let holds = match key.as_str() {
                "abort_reflection" => good.is_err() == *value,
                "feedback_sent" => good.is_ok() == *value,
                "lock_released" => (again != Err(Skipped::AlreadyAtIt)) == *value,
                "marked_reflected" => (again == Err(Skipped::SameState)) == (*value != false),
                "handled" => other,
                // Nothing here throws; calls of prompts are counted where they are made.
                "crashed" | "prompt_calls" => true,
                other => panic!("{other} is not known"),
            };
            if !holds {
                differences.push(format!("{key} is not {value}"));
            }
        }
        all(differences)
    });
    run("probes.jsonl", Some("dedup-race"), &[], |case| {
        let message = &case["input"]["message"];
        let (id, text) = (message["info"]["id"].as_str(), message["parts"][0]["text"].as_str().expect("a text"));
        let state = StateId::of([(id, text)]);
        let begins_alike = format!("{}, and then the printer", &text[..20]);
        equal(
            (state == StateId::of([(Some("msg_other"), text)]), state == StateId::of([(id, begins_alike.as_str())])),
            (false, false),
        )
    });
}

#[test]
fn own_sessions() {
    // Words that a person may use are no mark; these three belong to plugins before Reflection-3.
    let legacy = "\"You are a judge\", \"Task to evaluate\" and \"TASK VERIFICATION\" are words of people and agents";
    let exceptions =
        ["001", "002", "020", "030", "031", "032", "042", "043", "044"].map(|n| format!("session-filter-{n}"));
    let exceptions: Vec<(&str, &str)> = exceptions.iter().map(|id| (id.as_str(), legacy)).collect();
    run("session-filter.jsonl", None, &exceptions, |case| {
        let said = |own: fn(&str) -> bool| {
            let own = move |message: &Value| role(message) == Role::User && own(&text(message));
            messages(case).into_iter().map(move |message| own(&message)).collect::<Vec<bool>>()
        };
        let index = |found: Option<usize>| found.map_or(-1, |at| i64::try_from(at).expect("small"));
        match case["input"]["op"].as_str() {
            Some("is_internal_session") => {
                let internal = not_judged(&trace_of_messages(case)) == Some(NotJudged::Internal);
                equal(Some(internal), case["expected"]["internal"].as_bool())
            }
            Some("first_injected_index") => {
                let first = said(|text| is_feedback(text) || is_internal(text)).iter().position(|own| *own);
                equal(Some(index(first)), case["expected"]["index"].as_i64())
            }
            Some("last_feedback_index") => {
                let last = said(is_feedback).iter().rposition(|own| *own);
                equal(Some(index(last)), case["expected"]["index"].as_i64())
            }
            // Whether a message is whole is said by the readers of transcripts.
            _ => Line::Elsewhere,
        }
    });
}

#[test]
fn feedback_texts() {
    run("feedback.jsonl", None, &[], |case| {
        let input = &case["input"];
        let list =
            |key: &str| -> Vec<String> { serde_json::from_value(input["verdict"][key].clone()).unwrap_or_default() };
        let severity = input["severity"].as_str().expect("a severity").to_uppercase();
        let verdict = CompletionVerdict {
            severity: serde_json::from_value::<Severity>(severity.into()).expect("a severity"),
            feedback: input["verdict"]["feedback"].as_str().unwrap_or_default().to_owned(),
            missing: list("missing"),
            next_actions: list("next_actions"),
            ..CompletionVerdict::bare(Standing::Unproven)
        };
        let in_loop =
            (input["planning_loop"] == true || input["action_loop"] == true).then_some("You repeat yourself.");
        let number = |key: &str| u32::try_from(input[key].as_u64().expect("a number")).expect("small");
        let feedback = Feedback {
            verdict: &verdict,
            turn: number("attempt"),
            max_turns: number("max_attempts"),
            previous: None,
            in_loop,
        };
        let text = feedback.render().unwrap_or_default().to_lowercase();
        let has = |words: &Value| text.contains(&words.as_str().expect("words").to_lowercase());
        let list = |key: &str| case["expected"][key].as_array().cloned().unwrap_or_default();
        let lacks = list("contains").into_iter().filter(|words| !has(words)).map(|words| format!("lacks {words}"));
        let extra = list("not_contains").into_iter().filter(has).map(|words| format!("has {words}"));
        all(lacks.chain(extra).collect())
    });
}

#[test]
fn a_judge_that_is_not_sure_nudges_nobody() {
    run("probes.jsonl", Some("hook-flow"), &[], |case| {
        let Some(confidence) = case["input"]["confidence"].as_f64() else { return Line::Elsewhere };
        let reason = serde_json::from_value(case["input"]["judge"].clone()).expect("a reason");
        let answer =
            StuckVerdict { stuck: true, reason, confidence, should_nudge: true, nudge_message: "Go on.".to_owned() };
        equal(Some(stuck::by_judge(answer).should_nudge), case["sensible"]["blocked"].as_bool())
    });
}
