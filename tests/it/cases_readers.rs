//! The recorded cases of other projects that readers and `judge` answer. They stand beside this repository, not in it.

use assert_cmd::Command;
use reflexion::domain::Ending;
use reflexion::reading::{Reading, read};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The lines of a file, but for those that are marked as quirks of that project.
fn cases(file: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data/cases").join(file);
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("SKIPPED: there are no cases at {}", path.display());
        return Vec::new();
    };
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    cases.filter(|case| case.get("quirk").is_none()).collect()
}

fn messages(case: &Value) -> Reading {
    let document = json!({ "messages": case["input"]["messages"] });
    read(document.to_string().as_bytes(), None).unwrap()
}

/// Says how many hold, and fails with those that do not.
fn report(file: &str, results: &[(String, bool)]) {
    let wrong: Vec<&str> = results.iter().filter(|(_, holds)| !holds).map(|(id, _)| id.as_str()).collect();
    eprintln!("{file}: {} of {} hold", results.len() - wrong.len(), results.len());
    assert!(wrong.is_empty(), "{file}: {wrong:?}");
}

#[test]
fn what_was_asked_and_answered() {
    let results: Vec<(String, bool)> = cases("context.jsonl")
        .iter()
        .map(|case| {
            let trace = messages(case).trace;
            let expected = &case["expected"];
            let asked: Vec<&str> = trace.asked.iter().map(|asked| asked.text.as_str()).collect();
            let all = |key: &str, holds: &dyn Fn(&str) -> bool| {
                expected[key].as_array().is_none_or(|parts| parts.iter().all(|part| holds(part.as_str().unwrap())))
            };
            let equal = |key: &str, found: &str| expected[key].as_str().is_none_or(|text| text == found);
            let holds = expected.get("human_messages").is_none_or(|messages| *messages == json!(asked))
                && all("task_contains", &|part| trace.task().contains(part))
                && equal("task", &trace.task())
                && equal("result", &trace.response)
                && equal("text", &trace.response);
            (case["id"].to_string(), holds)
        })
        .collect();
    report("context.jsonl", &results);
}

#[test]
fn a_turn_is_over_when_its_last_message_is_whole() {
    let all = cases("session-filter.jsonl");
    let results: Vec<(String, bool)> = all
        .iter()
        .filter(|case| case["input"]["op"] == "turn_complete")
        .map(|case| {
            let complete = messages(case).ending == Some(Ending::Finished);
            (case["id"].to_string(), case["expected"]["complete"] == complete)
        })
        .collect();
    report("session-filter.jsonl, turn_complete", &results);
}

/// Runs the real program on a document.
fn judge(document: &Value) -> (Value, Option<i32>) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::cargo_bin("reflexion").unwrap();
    let output = command
        .current_dir(dir.path())
        .args(["judge", "-", "--json"])
        .write_stdin(document.to_string())
        .output()
        .unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "judging writes nothing");
    let verdict = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (verdict, output.status.code())
}

/// Without a judge, and with tools of which no result is known, nothing may be completed; the answers have all the keys.
#[test]
fn no_answer_completes_a_task_by_its_words() {
    let all = cases("eval-judge.jsonl");
    for case in &all {
        let input = &case["input"];
        let document = json!({"task": input["task"], "tools": input["tools"], "response": input["agent_response"]});
        let (verdict, exit) = judge(&document);
        assert_eq!((&verdict["complete"], exit), (&json!(false), Some(1)), "{}: {verdict}", case["id"]);
        assert_ne!(verdict["status"], "proven", "{}", case["id"]);
        for key in ["severity", "feedback", "missing", "next_actions", "requires_human_action", "reasons"] {
            assert!(verdict.get(key).is_some(), "{}: {key}", case["id"]);
        }
    }
    eprintln!("eval-judge.jsonl: {} lines, none completed", all.len());
}
