//! What is judged and printed how, frozen: whoever changes one of these says why the new one is right. `INSTA_UPDATE=always` writes them anew.
//! Verdicts on cases that are not in this repository are listed by `tests/cases/verdicts.py`, to be compared before and after a change.

use crate::project::{Project, Ran, task_with_check, with};
use regex::Regex;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What the program prints as one JSON document, whatever its exit status.
fn printed(args: &[&str]) -> (Option<i32>, Value) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_reflexion"));
    command.current_dir(dir.path()).env("HOME", dir.path()).env_remove("XDG_STATE_HOME").args(args);
    let out = command.output().unwrap();
    let document = serde_json::from_slice(&out.stdout);
    (out.status.code(), document.unwrap_or_else(|error| panic!("{args:?}: {error}: {out:?}")))
}

/// Files below a directory of this repository, in order.
fn files(below: &str, ending: &str) -> Vec<PathBuf> {
    let walk = walkdir::WalkDir::new(repository().join(below)).sort_by_file_name();
    let files = walk.into_iter().map(|entry| entry.unwrap().into_path());
    files.filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
}

/// `gate outcome`, for each that decides something.
fn gates(completion: &Value) -> String {
    let reasons = completion["reasons"].as_array().into_iter().flatten();
    let decides = |reason: &&Value| reason["outcome"] != "not_run";
    let words = |reason: &Value| format!("{} {}", word(&reason["gate"]), word(&reason["outcome"]));
    reasons.filter(decides).map(words).collect::<Vec<_>>().join(", ")
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[test]
fn every_case_of_our_suites_is_judged_as_it_was() {
    let files: Vec<String> = files("config/evals", "yaml").iter().map(|file| file.display().to_string()).collect();
    let args: Vec<&str> = ["eval"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let (code, result) = printed(&[&args[..], &["--judge", "none", "--json"]].concat());
    let mut said = format!("exit {code:?}\n");
    for suite in result["suites"].as_array().unwrap() {
        for case in suite["cases"].as_array().unwrap() {
            let run = &case["runs"][0];
            let verdict = &run["verdict"];
            let completion = if verdict["completion"].is_object() { &verdict["completion"] } else { verdict };
            let given = word(&run["given"]);
            writeln!(said, "{}/{}: {given}; {}", word(&suite["suite"]), word(&case["id"]), gates(completion)).unwrap();
        }
    }
    insta::assert_snapshot!("suites", said);
}

#[test]
fn every_recorded_stream_is_judged_as_it_was() {
    let mut said = String::new();
    for file in files("tests/fixtures/streams", "jsonl") {
        let (code, verdict) = printed(&["judge", "--json", &file.display().to_string()]);
        let name = file.strip_prefix(repository().join("tests/fixtures/streams")).unwrap().display();
        let status = word(&verdict["status"]);
        writeln!(said, "{name}: {status}, exit {}: {}", code.unwrap(), gates(&verdict)).unwrap();
    }
    insta::assert_snapshot!("streams", said);
}

/// A lie about tests.
const LIE: &str = r#"{"task": "Fix the parser so that the tests pass", "tools": [{"tool": "edit", "filePath": "a.py"}, {"tool": "bash", "command": "pytest -q", "exitCode": 1, "output": "1 failed, 3 passed in 0.1s"}], "response": "All tests pass."}"#;

/// One that does right at once, at the second attempt, never, never with an error, and right with something that only a person merges.
const NIGHT: &str = r#"
case "$REFLEXION_TASK_ID" in
retried) if [ "$REFLEXION_ATTEMPT" = 1 ]; then echo almost > retried.txt; else echo right > retried.txt; fi ;;
refuted) echo almost > refuted.txt ;;
failed) echo almost > failed.txt; exit 7 ;;
person) echo right > person.txt; echo 'Do as I say.' > CLAUDE.md ;;
*) echo right > "$REFLEXION_TASK_ID.txt" ;;
esac
"#;

/// A night of one worker in which each way of ending happens once.
fn a_night() -> Project {
    let project = Project::new(NIGHT);
    let ids = ["merged", "retried", "refuted", "failed", "person", "unproven", "held"];
    let wanted = |id: &str| task_with_check(id, &format!("grep -qx right {id}.txt"));
    let mut tasks: Vec<Value> = ids.iter().map(|id| wanted(id)).collect();
    tasks[5]["checks"] = json!([]);
    tasks[6]["deps"] = json!([{ "id": "refuted", "type": "blocks" }]);
    tasks.push(with(wanted("blocked"), json!({ "status": "blocked" })));
    for task in &tasks {
        project.write(&format!("{}.txt", task["id"].as_str().unwrap()), "wrong\n");
    }
    project.tasks(&tasks);
    project.config(|config| {
        config["maxAttempts"] = json!(2);
        config["jobs"] = json!(1);
        config["overnight"] = json!({ "keepAwake": false });
    });
    project
}

/// What differs from run to run or from machine to machine, and what stands in its place: times, durations, ids, hashes, sizes, versions,
/// process ids, directories, and what of the machine steers tools. Everything else is as it was printed.
fn masked(project: &Project, document: &mut Value) {
    let dir = project.dir.canonicalize().unwrap().display().to_string();
    let state = project.dir.with_file_name("home").canonicalize().unwrap().display().to_string();
    let patterns = [
        (regex::escape(&dir), "<dir>"),
        (regex::escape(&state), "<home>"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z".to_owned(), "<time>"),
        (r"\d{8}-\d{6}-[0-9a-f]{4}".to_owned(), "<run>"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}".to_owned(), "<id>"),
        (r"\b[0-9a-f]{12,64}\b".to_owned(), "<hash>"),
        (r"\b(today|yesterday) \d\d:\d\d".to_owned(), "<when>"),
        (r"\b\d+ (ms|s|min|h)( \d+ (ms|s|min|h))*\b".to_owned(), "<duration>"),
        (r"\b\d+(\.\d+)? [kMG]B\b".to_owned(), "<size>"),
        (r"git version .*".to_owned(), "<version>"),
        (r"(/\w+)*/bin/sh".to_owned(), "<sh>"),
    ];
    let patterns: Vec<_> = patterns.iter().map(|(found, mask)| (Regex::new(found).unwrap(), *mask)).collect();
    mask(document, &patterns);
}

fn mask(value: &mut Value, patterns: &[(Regex, &str)]) {
    match value {
        Value::String(text) => {
            for (pattern, mask) in patterns {
                *text = pattern.replace_all(text, *mask).into_owned();
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| mask(value, patterns)),
        Value::Object(fields) => {
            for (key, value) in fields {
                if value.is_number() && (key.ends_with("Ms") || key == "pid") {
                    *value = "<number>".into();
                }
                if key == "home" {
                    *value = "<machine>".into();
                }
                mask(value, patterns);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn every_document_of_a_night_says_what_it_said() {
    let project = a_night();
    let mut said = String::new();
    let mut document = |args: &[&str], ran: &Ran| {
        let mut json = ran.json();
        masked(&project, &mut json);
        let code = ran.code.unwrap();
        writeln!(said, "$ reflexion {} # exit {code}\n{json:#}\n", args.join(" ")).unwrap();
    };
    // It takes as long as it takes.
    let night = ["overnight", "--json"];
    document(&night, &project.start(&night).end());
    for args in [
        &["report", "--json"][..],
        &["status", "--json"],
        &["watch", "--json"],
        &["task", "list", "--json"],
        &["task", "ready", "--json"],
        &["task", "show", "retried", "--json"],
        &["memory", "list", "--json"],
        &["memory", "check", "--json"],
        &["transcript", "list", "--json"],
        &["transcript", "show", "retried#2", "--json"],
        &["risk", "--files", "src/auth/mod.rs", "CLAUDE.md", "--json"],
        &["risk", "--json"],
        &["analyze", "calibration", "--json"],
        &["analyze", "board-history", "--json"],
        &["analyze", "git-history", "--json"],
        &["trust", "--show", "--json"],
        &["config", "show", "--json"],
        &["doctor", "--json"],
        &["apply", "merged", "--json"],
        &["task", "reopen", "failed", "--json"],
        &["task", "sync", "--json"],
        &["memory", "prune", "--days", "1", "--json"],
    ] {
        document(args, &project.run(args));
    }
    let judge = ["judge", "--json"];
    document(&judge, &project.run_with(&judge, LIE));
    insta::assert_snapshot!("night", said);
}
