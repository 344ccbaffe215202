//! The ancestor's completion cases, as data, run through gates and composition. Quirks are ignored; every other line holds,
//! or is an exception with its reason. What counts are two numbers: nothing incomplete is called complete, and nothing
//! complete is refuted.

use super::gates::fixture::{Turn, turn};
use super::judging::Authors;
use super::{Completion, CompletionParams};
use crate::domain::{CompletionVerdict, Opinion, Standing, ToolKind, policy};
use crate::services::{CompletionVerifier, JudgeError, MockJudge, MockRemote, MockRespondents};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The lines of a file; none, loudly, where the data is not there.
fn cases(file: &str) -> Vec<Value> {
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let path = package.join("../../../shared/data/cases").join(file);
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("SKIPPED: the ancestor's cases are not here ({})", path.display());
        return Vec::new();
    };
    text.lines().filter(|l| !l.trim().is_empty()).map(|l| serde_json::from_str(l).expect("the data is JSON")).collect()
}

/// `{tool, …}`: keys beside `tool` are its input.
fn with_tool(turn: Turn, call: &Value) -> Turn {
    let text = |key: &str| call[key].as_str().unwrap_or_default();
    if let Some(command) = call["command"].as_str() {
        return turn.bash(command);
    }
    let (tool, path) = (text("tool"), text("filePath"));
    match tool {
        "write" | "edit" => {
            let input = serde_json::json!({"oldString": call["oldString"], "newString": call["newString"]});
            turn.call(ToolKind::Edit, tool, &[path], &input.to_string())
        }
        "read" => turn.call(ToolKind::Read, tool, &[], "{}"),
        "webfetch" => turn.call(ToolKind::Fetch, tool, &[], "{}"),
        "todoread" => turn.call(ToolKind::Plan, tool, &[], "{}"),
        _ => turn.call(ToolKind::Other, tool, &[], "{}"),
    }
}

async fn verdict(turn: Turn, policy: policy::Verification, judge: MockJudge) -> CompletionVerdict {
    let authors = Authors { respondents: Arc::new(MockRespondents::new()), limit: Duration::ZERO };
    let params = CompletionParams {
        policy,
        judge: Arc::new(judge),
        authors,
        reviewer: None,
        auditor: None,
        remote: Arc::new(MockRemote::new()),
    };
    Completion::new(params).verify_turn(turn.turn).await
}

fn silent() -> MockJudge {
    let mut judge = MockJudge::new();
    judge.expect_judge().returning(|_, _| Err(JudgeError::NoJudge));
    judge
}

/// A judge that believes whatever the agent says: nothing incomplete may slip through where facts are against it.
fn gullible() -> MockJudge {
    let mut judge = MockJudge::new();
    judge.expect_judge().returning(|_, _| Ok(Opinion { complete: true, ..Opinion::default() }));
    judge
}

#[tokio::test]
async fn completion_without_a_judge() {
    let (mut refuted, mut open, mut false_complete, mut false_alarm, mut gullible_complete) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for case in cases("eval-judge.jsonl") {
        let text = |key: &str| case["input"][key].as_str().unwrap_or_default();
        let calls = case["input"]["tools"].as_array().cloned().unwrap_or_default();
        let made = || calls.iter().fold(turn(text("task")), with_tool).answer(text("agent_response"));
        let verdict_without = verdict(made(), policy::Verification::default(), silent()).await;
        let verdict_gullible = verdict(made(), policy::Verification::default(), gullible()).await;
        let id = case["id"].as_str().unwrap_or_default().trim_start_matches("eval-judge-").to_owned();
        let complete = case["expected"]["complete"] == true;
        let failed: Vec<&str> = verdict_without
            .reasons
            .iter()
            .filter(|r| r.outcome == crate::domain::GateOutcome::Failed)
            .map(|r| r.gate.as_str())
            .collect();
        match (complete, verdict_without.status) {
            (true, Standing::Refuted) => false_alarm.push(format!("{id} ({})", failed.join(", "))),
            (false, Standing::Refuted) => refuted.push(format!("{id} ({})", failed.join(", "))),
            _ => open.push(id.clone()),
        }
        if !complete && verdict_without.complete {
            false_complete.push(id.clone());
        }
        if !complete && verdict_gullible.complete {
            gullible_complete.push(id.clone());
        }
    }
    eprintln!("eval-judge.jsonl: false complete {false_complete:?}, false alarms {false_alarm:?}");
    eprintln!("refuted on facts {}: {refuted:?}\nunproven {}: {open:?}", refuted.len(), open.len());
    eprintln!(
        "a judge that believes everything completes {} of the incomplete: {gullible_complete:?}",
        gullible_complete.len()
    );
    assert!(false_complete.is_empty() && false_alarm.is_empty());
}

/// Lines that differ, each with the reason why that is right.
const EXCEPTIONS: [(&str, &str); 1] =
    [("gates-001", "`local` tests are no requirement of their own: tests that nobody ran are missing once")];

#[tokio::test]
async fn assessments_in_the_whole_verdict() {
    let probes = cases("probes.jsonl").into_iter().filter(|case| case["component"] == "gates");
    let (mut held, mut quirks, mut differs) = (0, 0, Vec::new());
    for case in cases("gates.jsonl").into_iter().chain(probes) {
        let id = case["id"].as_str().unwrap_or_default().to_owned();
        let probe = case.get("component").is_some();
        let expected = match (probe, case.get("sensible"), case.get("quirk")) {
            (true, Some(sensible), _) => sensible,
            (true, None, _) => &case["peer_observed"],
            (false, _, Some(_)) => {
                quirks += 1;
                continue;
            }
            (false, ..) => &case["expected"],
        };
        let found = judged(&case).await;
        let different = differences(expected, &found);
        if different.is_empty() { held += 1 } else { differs.push((id, different)) }
    }
    eprintln!("gates.jsonl and probes `gates`: {held} hold, {quirks} quirks ignored, differ: {differs:#?}");
    differs.retain(|(id, _)| !EXCEPTIONS.iter().any(|(known, _)| known == id));
    assert!(differs.is_empty(), "{differs:#?}");
}

/// A judge that gives this assessment, and otherwise says what it says.
async fn judged(case: &Value) -> CompletionVerdict {
    let input = &case["input"];
    let (context, assessment) = (&input["context"], input["assessment"].clone());
    let required = |key: &str| if context[key] == true { policy::Required::Yes } else { policy::Required::No };
    let workflow = policy::Workflow {
        tests: required("requiresTests"),
        build: required("requiresBuild"),
        pull_request: required("requiresPR"),
        ci: required("requiresCI"),
    };
    let policy = policy::Verification {
        workflow,
        self_assessment: policy::SelfAssessment::Fresh,
        ..policy::Verification::default()
    };
    let complete = assessment["status"].as_str().is_some_and(|status| status.eq_ignore_ascii_case("complete"));
    let mut judge = MockJudge::new();
    judge.expect_judge().returning(move |_, _| Ok(Opinion { complete, ..Opinion::default() }));
    judge.expect_ask().returning(move |_, _| Ok(assessment.to_string()));
    let commands = context["recentCommands"].as_array().cloned().unwrap_or_default();
    let task = context["taskSummary"].as_str().or(input["user_message"].as_str()).unwrap_or("Do it");
    let made = commands.iter().filter_map(Value::as_str).fold(turn(task), |turn, line| turn.ran(line, 0, ""));
    verdict(made.answer("Done."), policy, judge).await
}

fn differences(expected: &Value, found: &CompletionVerdict) -> Vec<String> {
    let mut different = Vec::new();
    let mut bool = |key: &str, is: bool| {
        if expected[key].as_bool().is_some_and(|wanted| wanted != is) {
            different.push(format!("{key} is {is}"));
        }
    };
    bool("complete", found.complete);
    bool("requires_human_action", found.requires_human_action);
    bool("should_continue", !found.missing.is_empty() || !found.next_actions.is_empty());
    let least = expected["missing_min"].as_u64().unwrap_or(0) as usize;
    if found.missing.len() < least {
        different.push(format!("missing has {} items", found.missing.len()));
    }
    for (key, list) in [("missing_contains_ci", &found.missing), ("next_actions_contains_ci", &found.next_actions)] {
        for word in expected[key].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !list.iter().any(|item| item.to_lowercase().contains(word)) {
                different.push(format!("{word:?} is not in {list:?}"));
            }
        }
    }
    different
}
