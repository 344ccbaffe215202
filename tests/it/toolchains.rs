//! A tool chain is a file: what `init`, `risk` and `judge` know of it stands in `config/toolchains/`, or in a file of the project's own.

use assert_cmd::Command;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn write(dir: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// The exit code, stdout and stderr.
fn ran(dir: &Path, args: &[&str], trusts: bool, stdin: &str) -> (i32, String, String) {
    let mut command = Command::cargo_bin("reflexion").unwrap();
    command.current_dir(dir).args(args).env("REFLEXION_TRUST", if trusts { "1" } else { "" }).write_stdin(stdin);
    command.env("HOME", dir);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// What `init` proposes.
fn proposed(files: &[(&str, &str)]) -> Value {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), files);
    let (_, stdout, stderr) = ran(dir.path(), &["init", "--dry-run", "--json"], true, "");
    serde_json::from_str::<Value>(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"))["project"].take()
}

/// What the verdict on an agent that edited a file and then ran this command says of the last run of tests, its status, and whether
/// the task is complete.
fn judged(dir: &Path, trusts: bool, command: &str, exit: i32, output: &str) -> (String, String, bool) {
    let transcript = json!({
        "task": "Fix the sum",
        "tools": [
            {"tool": "edit", "filePath": "src/sum.hx"},
            {"tool": "bash", "command": command, "exitCode": exit, "output": output},
        ],
        "response": "Done.",
    });
    let (_, stdout, stderr) = ran(dir, &["judge", "--json"], trusts, &transcript.to_string());
    let verdict: Value = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
    let gate = verdict["reasons"].as_array().unwrap().iter().find(|reason| reason["gate"] == "tests_passed").unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&gate["outcome"]), text(&verdict["status"]), verdict["complete"].as_bool().unwrap())
}

const OWN: &str = "code = ['hx']\n[programs]\ntest = ['utest run']\n[[summary]]\nrunner = 'utest'\ncontains = ' fine'\n\
                   line = '^(?P<passed>\\d+) fine(?:, (?P<failed>\\d+) broken)?$'\n";

fn with_own(text: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("project.json", r#"{"toolchains": ["tools/hx.toml"]}"#), ("tools/hx.toml", text)]);
    dir
}

#[test]
fn what_is_in_no_table_is_unproven() {
    let dir = tempfile::tempdir().unwrap();
    let unproven = ("not_run".to_owned(), "unproven".to_owned(), false);
    for output in ["4 fine", "all 4 tests were fine", "OK", ""] {
        assert_eq!(judged(dir.path(), true, "utest run", 0, output), unproven, "{output}");
    }
    // The same of a program that is known.
    assert_eq!(judged(dir.path(), true, "pytest", 0, "4 passed in 0.1s").0, "passed");
}

#[test]
fn a_file_of_the_projects_own_counts_once_it_is_trusted() {
    let dir = with_own(OWN);
    let gate = |trusts: bool, exit: i32, output: &str| judged(dir.path(), trusts, "utest run", exit, output).0;
    assert_eq!(gate(false, 0, "4 fine"), "not_run");
    assert_eq!(gate(true, 0, "4 fine"), "passed");
    assert_eq!(gate(true, 0, "3 fine, 1 broken"), "failed");
    let shown = || ran(dir.path(), &["trust", "--show"], false, "").1;
    let before = shown();
    assert!(before.contains("+ toolchains") && before.contains("knows tools by tools/hx.toml ("), "{before}");
    write(dir.path(), &[("tools/hx.toml", &OWN.replace("broken", "fine"))]);
    assert_ne!(shown(), before, "what counts is what is in it");
}

#[test]
fn a_file_that_cannot_be_used_is_named_with_line_and_key() {
    let check = |text: &str, expected: &str| {
        let dir = with_own(text);
        for command in [&["run"][..], &["judge", "--json"]] {
            let (exit, _, stderr) = ran(dir.path(), command, true, r#"{"task": "a", "response": "b"}"#);
            assert!(exit > 1, "{command:?}: {stderr}");
            assert!(stderr.contains("tools/hx.toml") && stderr.contains(expected), "{command:?}: {stderr}");
        }
    };
    check("code = ['hx']\n[programs]\ntests = ['a']\n", "line 3: `programs.tests`: unknown field `tests`");
    check("# a\nlockfiles = ['a[']\n", "line 2: `lockfiles`: \"a[\" is no glob");
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("project.json", r#"{"toolchains": ["nowhere.toml"]}"#)]);
    let (exit, _, stderr) = ran(dir.path(), &["run"], true, "");
    assert!(exit > 1 && stderr.contains("nowhere.toml") && stderr.contains("`toolchains` names this file"), "{stderr}");
}

#[test]
fn projects_of_the_tables_get_their_check() {
    let check = |files: &[(&str, &str)], run: &str, setup: Option<&str>| {
        let project = proposed(files);
        assert_eq!(project["checks"][0]["run"], run, "{project}");
        assert_eq!(project["setup"].as_str(), setup, "{project}");
    };
    check(&[("go.mod", "module a\n")], "go test ./...", None);
    check(&[("pom.xml", ""), ("mvnw", "")], "./mvnw test", None);
    check(&[("settings.gradle.kts", "")], "gradle test", None);
    check(&[("Shop.sln", "")], "dotnet test", None);
    check(&[("mix.exs", "")], "mix test", Some("mix deps.get"));
    check(&[("api/phpunit.xml", "")], "cd api && vendor/bin/phpunit", Some("(cd api && composer install)"));
}
