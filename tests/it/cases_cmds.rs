//! What command lines do and what tasks ask for, on the ancestor's cases and our probes, where they are at hand.

use reflexion::domain::TaskType;
use reflexion::verification::commands::{CommandKind, PushTarget, runs};
use reflexion::verification::context::task_type;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// The lines of a file of cases; none, and loudly, where the data is not there.
fn load(name: &str) -> Vec<Value> {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let path = root.join("../shared/data/cases").join(name);
    let Ok(text) = fs::read_to_string(&path) else {
        eprintln!("SKIPPED: {} is not there", path.display());
        return Vec::new();
    };
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_component(component: &str) -> Vec<Value> {
    load("probes.jsonl").into_iter().filter(|row| row["component"] == component).collect()
}

fn name(kind: TaskType) -> Value {
    serde_json::to_value(kind).unwrap()
}

/// All 23 lines of task-type but the four whose expectation is marked as a quirk and that we do not share: a filter for
/// e-mails may be code (004, 012), a statement asks for nothing (013), a link to an issue is a request to fix it (020).
#[test]
fn task_types() {
    let not_ours = ["task-type-004", "task-type-012", "task-type-013", "task-type-020"];
    let (mut held, mut all) = (0, 0);
    for row in load("task-type.jsonl") {
        all += 1;
        let found = name(task_type(row["input"]["text"].as_str().unwrap()));
        if not_ours.contains(&row["id"].as_str().unwrap()) {
            assert!(row["quirk"].is_string(), "{row}");
            continue;
        }
        assert_eq!(found, row["expected"]["task_type"], "{row}");
        held += 1;
    }
    eprintln!("task-type: {held} of {all} hold, 4 quirks are left out");
    for row in of_component("task-type") {
        assert_eq!(name(task_type(row["input"]["text"].as_str().unwrap())), row["sensible"]["task_type"], "{row}");
    }
}

/// Whether a line pushes to `main`: `null` where only git knows.
fn pushed(line: &str) -> Value {
    let targets: Vec<PushTarget> = runs(line)
        .into_iter()
        .filter_map(|run| if let CommandKind::Push(target) = run.kind { Some(target) } else { None })
        .collect();
    let real: Vec<&PushTarget> = targets.iter().filter(|target| !target.dry_run).collect();
    if real.iter().any(|target| target.branches.iter().any(|branch| branch == "main" || branch == "*")) {
        return Value::Bool(true);
    }
    // The current branch, or a branch that may be the default one.
    if real.iter().any(|target| target.branches.is_empty() || target.branches.iter().any(|branch| branch == "trunk")) {
        return Value::Null;
    }
    Value::Bool(false)
}

fn lines(row: &Value) -> Vec<&str> {
    row["input"]["commands"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The probes of commands; `go vet` among the test commands of probe-078 is a linter. Probes 087 to 090 are a trace's.
#[test]
fn probes_of_commands() {
    let kinds = |row: &Value| -> Vec<CommandKind> {
        lines(row).iter().flat_map(|line| runs(line)).map(|run| run.kind).collect()
    };
    for row in of_component("command-extraction") {
        match row["input"]["op"].as_str() {
            Some("pushed_to_default_branch") => {
                let expected = row["sensible"].get("pushed").or_else(|| row["peer_observed"].get("pushed")).unwrap();
                assert_eq!(pushed(lines(&row)[0]), *expected, "{row}");
            }
            Some("has_local_test") => {
                let expected =
                    row["sensible"].get("local_test").or_else(|| row["peer_observed"].get("local_test")).unwrap();
                assert_eq!(kinds(&row).contains(&CommandKind::Test), expected.as_bool().unwrap(), "{row}");
            }
            Some("signals") => {
                let signals = row["sensible"].get("signals").or_else(|| row["peer_observed"].get("signals")).unwrap();
                let expects_tests = signals.as_array().unwrap().iter().any(|signal| signal == "test-command");
                for line in lines(&row).into_iter().filter(|line| !line.starts_with("go vet")) {
                    let tests = runs(line).iter().any(|run| run.kind == CommandKind::Test);
                    assert_eq!(tests, expects_tests, "{line} of {row}");
                }
            }
            _ => {}
        }
    }
    for row in of_component("command-extraction").iter().filter(|row| row["id"] == "probe-080") {
        assert!(!runs(lines(row)[0])[0].decides_exit, "{row}");
    }
}

/// The lines of command-extraction that are command lines; 004 to 006 are texts and the compaction's.
#[test]
fn command_extraction() {
    for row in load("command-extraction.jsonl") {
        let Some(line) = row["input"]["tool_input"]["command"].as_str() else { continue };
        let run = &runs(line)[0];
        let expected = if row["expected"]["gh_command"] == true { "gh" } else { "git" };
        assert_eq!(run.words[0], expected, "{row}");
    }
}
