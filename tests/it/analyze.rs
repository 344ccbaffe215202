//! `reflexion analyze` as its users call it.

use crate::project::{Project, RIGHT, RIGHT_AT_TWO};
use serde_json::{Value, json};
use std::fs;

const LABELS: &str = concat!(
    "{\"confidence\":0.9,\"correct\":true}\n",
    "{\"confidence\":0.9,\"correct\":false}\n",
    "no label\n",
    "{\"confidence\":0.2,\"correct\":true}\n",
    "{\"confidence\":0.2,\"correct\":false}\n",
);

#[test]
fn calibration_prints_its_condition_first_and_a_document_with_the_promised_keys() {
    let project = Project::new(RIGHT);
    fs::remove_file(project.dir.join("project.json")).unwrap();
    project.write("labels.jsonl", LABELS);
    let before = project.git(&["status", "--porcelain"]);
    let file = project.dir.join("labels.jsonl").display().to_string();
    let ran = project.run(&["analyze", "calibration", &file, "--json"]);
    let json = ran.exits(0).says("labels.jsonl:3: not JSON").json();
    assert_eq!(json.as_object().unwrap().keys().next().map(String::as_str), Some("kill_condition"));
    assert_eq!((&json["n"], &json["killed"], &json["auc"]["value"]), (&json!(4), &json!(true), &json!(0.5)));
    assert_eq!((&json["lift"], &json["unreadable"], &json["problems"][0]["line"]), (&json!(0.0), &json!(1), &json!(3)));
    assert!(json["auc"]["lo"].is_number() && json["auc"]["hi"].is_number() && json["brier"].is_number(), "{json}");
    // The same from stdin, for people.
    let ran = project.run_with(&["analyze", "calibration", "-"], LABELS);
    let text = ran.exits(0).stdout.clone();
    let [condition, result] = ["Kill condition", "**KILLED"].map(|words| text.find(words).expect(words));
    assert!(condition < result, "{text}");
    assert_eq!(project.git(&["status", "--porcelain"]), before);
}

#[test]
fn too_little_is_said_and_never_a_pass() {
    let project = Project::new(RIGHT);
    let check = |labels: &str, because: &str| {
        let ran = project.run_with(&["analyze", "calibration", "-", "--json"], labels);
        let json = ran.exits(0).json();
        assert_eq!((&json["killed"], &json["auc"]["value"]), (&Value::Null, &Value::Null), "{json}");
        assert!(json["because"].as_str().unwrap().contains(because), "{json}");
    };
    check("{\"confidence\":null,\"correct\":true}\n", "no observation");
    check(&"{\"confidence\":0.9,\"correct\":true}\n".repeat(30), "all 30 observations are right");
}

#[test]
fn wrong_usage_is_named() {
    let project = Project::new(RIGHT);
    let check = |args: &[&str], stdin: &str, words: &str| {
        let ran = project.run_with(&[&["analyze"], args].concat(), stdin);
        ran.exits(2).says(words);
    };
    check(&[], "", "Usage");
    check(&["calibration", "none.jsonl"], "", "none.jsonl: failed to open it");
    check(&["calibration", "-"], "a\nb\n", "none of its 2 lines can be read");
    check(&["calibration", "-"], "\n", "it has no lines");
    check(&["board-history", "-"], " \n", "it is empty");
    check(&["calibration", "-", "--of", "lessons"], "", "cannot be used with");
    check(&["git-history", "--days", "0"], "", "0 is not in 1..=365");
    check(&["git-history", "--since", "yesterday"], "", "neither a day");
    check(&["git-history", "--repo", "none"], "", "none is no directory");
    check(&["board-history", "-"], "hello\n", "neither JSON nor CSV");
    check(&["board-history", "-"], "{\"completed_at\":\"soon\"}\n", "none of its 1 records can be read");
    fs::remove_file(project.dir.join("project.json")).unwrap();
    check(&["board-history"], "", "there is no project in");
}

#[test]
fn a_projects_own_runs_are_their_own_labels() {
    let project = Project::new(RIGHT_AT_TWO);
    project.run(&["run", "--json"]).exits(0);
    // The lesson of attempt 1 was in the prompt of attempt 2, which was confirmed.
    let json = project.run(&["analyze", "calibration", "--json"]).exits(0).json();
    assert_eq!((&json["source"], &json["n"], &json["base_rate"]["count"]), (&json!("lessons"), &json!(1), &json!(1)));
    let json = project.run(&["analyze", "board-history", "--json"]).exits(0).json();
    assert_eq!((&json["n"], &json["right"], &json["killed"]), (&json!(1), &json!(1), &json!(false)));
    assert_eq!(json["signals"], json!({"verdict confirmed": 1}));
    // An agent that says how sure it is: surer of what was wrong than of what was right.
    let project = Project::new(&format!(
        "{RIGHT_AT_TWO}; echo '{{\"session_id\":\"'$REFLEXION_SESSION_ID'\",\"confidence\":'$((10 - REFLEXION_ATTEMPT))e-1'}}' \
         > \"$REFLECTION_INPUT\""
    ));
    project.run(&["run", "--json"]).exits(0);
    let json = project.run(&["analyze", "calibration", "--json"]).exits(0).json();
    assert_eq!((&json["source"], &json["n"], &json["auc"]["value"]), (&json!("self-reports"), &json!(2), &json!(0.0)));
    assert_eq!(json["killed"], true);
    let json = project.run(&["analyze", "calibration", "--of", "lessons", "--json"]).exits(0).json();
    assert_eq!(json["source"], "lessons");
}

#[test]
fn git_history_finds_what_was_repaired_soon_after() {
    let project = Project::new(RIGHT);
    let commit = |file: &str, text: &str, message: &str| {
        project.write(file, text);
        project.git(&["add", "-A"]);
        project.git(&["commit", "-q", "-m", message]);
    };
    let numbered = |from: u32| (from..from + 20).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n") + "\n";
    commit("src/a.rs", &numbered(0), "Add a");
    commit("src/a.rs", &numbered(100), "fix: a loses data");
    commit("src/b.rs", "one\n", "Add b");
    commit("src/b.rs", "two\n", "Fix typo in b");
    commit("src/c.rs", "one\n", "Add c");
    project.git(&["revert", "--no-edit", "HEAD"]);
    commit("src/d.rs", "prefix\n", "Prefix everything");
    let ran = project.run(&["analyze", "git-history", "--json"]);
    let json = ran.exits(0).json();
    assert_eq!(json["kinds"], json!({"revert": 1, "fix": 2}));
    let count = |gate: &str| json["gates"][gate]["count"].as_u64().unwrap();
    assert_eq!((count("ci"), count("review"), count("self_reflection")), (0, 1, 2), "{json}");
    assert_eq!((&json["n"], &json["killed"], &json["conclusive"]), (&json!(3), &json!(false), &json!(false)));
    let examples: Vec<&str> =
        json["examples"].as_array().unwrap().iter().map(|e| e["subject"].as_str().unwrap()).collect();
    assert_eq!(examples, ["Fix typo in b", "Revert \"Add c\"", "fix: a loses data"]);
    let ran = project.run(&["analyze", "git-history"]);
    let text = ran.exits(0).stdout.clone();
    assert!(text.find("Kill condition").unwrap() < text.find("**not killed").unwrap(), "{text}");
    assert!(text.contains("repairs ") && text.contains("Add c"), "{text}");
    // Nothing was committed since.
    let json = project.run(&["analyze", "git-history", "--since", "2100-01-01", "--json"]).exits(0).json();
    assert_eq!((&json["commits"], &json["killed"]), (&json!(0), &Value::Null));
}

#[test]
fn boards_are_read_from_files() {
    let project = Project::new(RIGHT);
    project.write(
        "board.csv",
        "id,status,completed_at,reopened_at\na,done,2026-01-01,2026-01-05\nb,done,2026-01-01,2026-03-01\nc,open,,\nd,done,soon,\n",
    );
    let file = project.dir.join("board.csv").display().to_string();
    let ran = project.run(&["analyze", "board-history", &file, "--json"]);
    let json = ran.exits(0).says("board.csv:5: `completed_at` is a time").json();
    assert_eq!((&json["n"], &json["wrong"], &json["unfinished"]), (&json!(2), &json!(1), &json!(1)));
    assert_eq!((&json["killed"], &json["signal"]["rate"]), (&json!(false), &json!(0.5)));
    project.run(&["analyze", "board-history", &file]).exits(0);
    // Our own list of tasks is a board, too.
    let tasks = project.run(&["task", "list", "--json"]).exits(0).stdout.clone();
    let json = project.run_with(&["analyze", "board-history", "-", "--json"], &tasks).exits(0).json();
    assert_eq!((&json["n"], &json["unfinished"], &json["unreadable"]), (&json!(0), &json!(1), &json!(0)));
}
