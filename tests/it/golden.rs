//! What is judged how, frozen: whoever changes one of these says why the new verdict is right. `INSTA_UPDATE=always` writes them anew.

use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What the program prints as one JSON document, whatever its exit status.
fn json(args: &[&str]) -> (Option<i32>, Value) {
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
    let (code, result) = json(&[&args[..], &["--judge", "none", "--json"]].concat());
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
        let (code, verdict) = json(&["judge", "--json", &file.display().to_string()]);
        let name = file.strip_prefix(repository().join("tests/fixtures/streams")).unwrap().display();
        let status = word(&verdict["status"]);
        writeln!(said, "{name}: {status}, exit {}: {}", code.unwrap(), gates(&verdict)).unwrap();
    }
    insta::assert_snapshot!("streams", said);
}
