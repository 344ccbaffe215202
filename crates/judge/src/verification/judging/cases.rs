//! The ancestor's test cases, as data, run through what is here. Expectations marked as quirks are ignored; every other
//! line either holds or is an exception with its reason.

use super::{
    Who, assessment_schema, cross_check, read_assessment, read_compaction, read_stuck, read_verdict, split, who_acts,
};
use crate::domain::{Action, GateOutcome, Opinion, Outcome, SessionId, Severity, ToolKind, ToolStatus, Trace};
use crate::prompt::{TurnParts, self_assessment_prompt};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What came of a line.
enum Line {
    Holds,
    /// It is about something that this module does not do.
    Elsewhere,
    Differs(String),
}

fn holds(differences: Vec<String>) -> Line {
    if differences.is_empty() { Line::Holds } else { Line::Differs(differences.join("; ")) }
}

fn equal(is: impl Into<Value>, expected: impl Into<Value>) -> Line {
    let (is, expected) = (is.into(), expected.into());
    if is == expected { Line::Holds } else { Line::Differs(format!("is {is}, expected {expected}")) }
}

/// Runs a file's lines and compares the exceptions with those that have a reason.
fn run(file: &str, component: Option<&str>, exceptions: &[&str], check: impl Fn(&Value) -> Line) {
    // Tests are run by cargo, which says where the package is; its neighbour has the data where there is any.
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let path = package.join("../../../shared/data/cases").join(file);
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("SKIPPED: the ancestor's cases are not here ({})", path.display());
        return;
    };
    let (mut quirks, mut held, mut elsewhere, mut differs) = (0, 0, 0, BTreeMap::new());
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
        match check(&case) {
            Line::Holds => held += 1,
            Line::Elsewhere => elsewhere += 1,
            Line::Differs(how) => drop(differs.insert(case["id"].as_str().unwrap_or_default().to_owned(), how)),
        }
    }
    println!(
        "{file} {}: {held} of {} hold; {quirks} quirks ignored, {elsewhere} elsewhere",
        component.unwrap_or_default(),
        held + differs.len()
    );
    assert_eq!(differs.keys().map(String::as_str).collect::<Vec<_>>(), exceptions, "{differs:#?}");
    assert!(held > 0, "{file} has no line for this test");
}

/// The value that a probe should have; without a quirk what was observed is sensible.
fn wanted(case: &Value) -> &Value {
    if case["sensible"].is_null() { &case["peer_observed"] } else { &case["sensible"] }
}

fn session() -> SessionId {
    SessionId::new("s".to_owned())
}

/// Every expected field that is there, by name.
fn fields(written: &Value, expected: &Value, names: &[(&str, &str)]) -> Line {
    let mut wrong = Vec::new();
    for (wanted, ours) in names {
        if let Some(value) = expected.get(*wanted).filter(|value| **value != written[*ours]) {
            wrong.push(format!("{wanted} is {}, expected {value}", written[*ours]));
        }
    }
    for text in expected["nudge_contains"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !written["nudgeMessage"].as_str().is_some_and(|said| said.contains(text)) {
            wrong.push(format!("the nudge does not contain {text:?}"));
        }
    }
    holds(wrong)
}

/// Whether there is something to tell the agent.
fn pushes(opinion: &Opinion) -> bool {
    let left = split(opinion.missing.iter().chain(&opinion.next_actions));
    !opinion.completes() && !left.agent.is_empty()
}

#[test]
fn verdicts_are_read() {
    run("judge-verdict-parse.jsonl", None, &[], |case| {
        let (input, expected) = (&case["input"], &case["expected"]);
        let text = input["text"].as_str().map_or_else(|| input["verdict"].to_string(), str::to_owned);
        match input["kind"].as_str().unwrap_or_default() {
            "stuck_verdict" => {
                let written = serde_json::to_value(read_stuck(&text).expect(&text)).unwrap();
                let names = [
                    ("stuck", "stuck"),
                    ("reason", "reason"),
                    ("confidence", "confidence"),
                    ("should_nudge", "shouldNudge"),
                    ("nudge_message", "nudgeMessage"),
                ];
                fields(&written, expected, &names)
            }
            "compression_verdict" => {
                let mut written = serde_json::to_value(read_compaction(&text).expect(&text)).unwrap();
                if written.get("nudgeMessage").is_none() {
                    written["nudgeMessage"] = json!("");
                }
                let names = [
                    ("action", "action"),
                    ("has_active_git_work", "hasActiveGitWork"),
                    ("confidence", "confidence"),
                    ("nudge", "nudgeMessage"),
                ];
                fields(&written, expected, &names)
            }
            "push_decision" => {
                equal(pushes(&read_verdict(&text, &session()).unwrap()), expected["push_feedback"].clone())
            }
            _ => {
                let opinion = read_verdict(&text, &session()).unwrap();
                let written = serde_json::to_value(&opinion).unwrap();
                fields(
                    &written,
                    expected,
                    &[("complete", "complete"), ("severity", "severity"), ("feedback", "feedback")],
                )
            }
        }
    });
}

#[test]
fn assessments_are_read() {
    run("self-assessment-parse.jsonl", None, &[], |case| {
        let read = read_assessment(case["input"]["text"].as_str().unwrap());
        match case["expected"].get("fields") {
            Some(fields) => {
                let read = serde_json::to_value(read.unwrap()).unwrap();
                equal(json!({ "status": read["status"], "confidence": read["confidence"] }), fields.clone())
            }
            None => equal(read.is_ok(), case["expected"]["is_self_assessment"].clone()),
        }
    });
    run("probes.jsonl", Some("self-assessment-parse"), &[], |case| {
        let read = read_assessment(case["input"]["text"].as_str().unwrap());
        let status = read.map_or(Value::Null, |read| serde_json::to_value(read.status).unwrap());
        equal(status, wanted(case)["value"]["status"].clone())
    });
    assert!(assessment_schema().is_object());
}

#[test]
fn who_must_act_is_told_apart() {
    let class = |item: &Value| match who_acts(item.as_str().unwrap()) {
        Who::Person => "human_only",
        Who::Agent => "agent_actionable",
    };
    run("human-action.jsonl", None, &[], |case| {
        let (input, expected) = (&case["input"], &case["expected"]);
        if input["op"] == "classify_item" {
            return equal(class(&input["item"]), expected["class"].clone());
        }
        let opinion = read_verdict(&input["verdict"].to_string(), &session()).unwrap();
        equal(pushes(&opinion), expected["push_agent"].clone())
    });
    run("probes.jsonl", Some("human-action"), &[], |case| {
        equal(class(&case["input"]["item"]), wanted(case)["class"].clone())
    });
}

/// The commands of a probe as a record: each ran once and passed.
fn trace(case: &Value) -> Trace {
    let mut trace = Trace::default();
    for command in case["input"]["context"]["recentCommands"].as_array().into_iter().flatten().filter_map(Value::as_str)
    {
        trace.act(Action {
            id: trace.calls.to_string(),
            number: trace.calls,
            tool: "bash".to_owned(),
            kind: ToolKind::Execute,
            command: Some(command.to_owned()),
            edits: Vec::new(),
            input: String::new(),
            outcome: Some(Outcome { status: ToolStatus::Ok, exit_code: Some(0), output: String::new() }),
            parent: None,
            at: None,
        });
    }
    trace
}

/// Of the gates' cases those that an assessment decides: what is left, who must do it, and what is a lie. Requirements
/// (tests, a build, a pull request) are the gates' own.
#[test]
fn assessments_are_compared_with_the_record() {
    let check = |case: &Value, expected: &Value| {
        let Ok(assessment) = read_assessment(&case["input"]["assessment"].to_string()) else {
            return equal(true, expected.get("error").is_some());
        };
        let said = cross_check(&assessment, &trace(case), &[]);
        let mut wrong = Vec::new();
        let in_the_way =
            said.report.outcome == GateOutcome::Failed || !said.missing.is_empty() || !said.human_actions.is_empty();
        if expected["complete"] == json!(true) && in_the_way {
            wrong.push(format!("{said:?} stands in the way"));
        }
        if let Some(human) =
            expected["requires_human_action"].as_bool().filter(|human| *human == said.human_actions.is_empty())
        {
            wrong.push(format!("requires_human_action is not {human}: {said:?}"));
        }
        if expected.get("error").is_some() {
            wrong.push("it was read".to_owned());
        }
        if expected["severity"] == "LOW" && said.severity > Severity::Medium {
            wrong.push(format!("severity is {:?}", said.severity));
        }
        holds(wrong)
    };
    run("gates.jsonl", None, &[], |case| check(case, &case["expected"]));
    run("probes.jsonl", Some("gates"), &[], |case| check(case, &case["sensible"]));
}

/// The lines of the prompts that are about what a prompt must not say; the rest is the ancestor's own wording, its
/// override files and its tool, which let an agent rewrite its judge and do not exist here.
#[test]
fn prompts_say_what_they_must() {
    run("prompt.jsonl", None, &[], |case| {
        let (input, expected) = (&case["input"], &case["expected"]);
        if input["op"] != "self_assessment_prompt" {
            return Line::Elsewhere;
        }
        let task = input["context"]["taskSummary"].as_str().unwrap();
        let text = self_assessment_prompt(&TurnParts { task, ..TurnParts::default() });
        let texts = |key: &str| {
            let values = expected[key].as_array().cloned().unwrap_or_default();
            values.iter().map(|value| value.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let mut wrong: Vec<String> = texts("contains").into_iter().filter(|words| !text.contains(words)).collect();
        wrong.extend(texts("not_contains").into_iter().filter(|words| text.contains(words)));
        if !text.contains(task) {
            wrong.push("the task is not in it".to_owned());
        }
        holds(wrong)
    });
}
