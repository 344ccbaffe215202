//! `reflexion risk`, and what runs do with the risk of a change.

use crate::project::{Project, Ran, task_with_check};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::ffi::OsStrExt;

fn block(ran: &Ran) -> (bool, f64, String) {
    let json = ran.exits(0).json();
    let surface = json["surface"].as_str().unwrap().to_owned();
    (json["needs_review"].as_bool().unwrap(), json["score"].as_f64().unwrap(), surface)
}

fn listed(ran: &Ran) -> Vec<String> {
    let json = ran.exits(0).json();
    let files = json["files"].as_array().unwrap();
    files
        .iter()
        .map(|file| format!("{} {}", file["surface"].as_str().unwrap(), file["path"].as_str().unwrap()))
        .collect()
}

/// A directory that is no project and no repository.
fn nowhere() -> Project {
    let project = Project::without_git("true");
    fs::remove_file(project.dir.join("project.json")).unwrap();
    project
}

#[test]
fn named_files_are_looked_at_without_a_project_or_a_repository() {
    let project = nowhere();
    let ran = project.run(&["risk", "--json", "--files", "src/auth/mod.rs", "docs/login.md", "docs/login.md"]);
    assert_eq!(block(&ran), (true, 1.0, "auth".to_owned()));
    assert_eq!(ran.json()["reason"], "auth: src/auth/mod.rs");
    assert_eq!(listed(&ran), ["auth src/auth/mod.rs", "docs docs/login.md"]);
    let keys: Vec<String> = ran.json().as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["needs_review", "score", "surface", "reason", "files", "base", "base_commit", "threshold"]);
    assert_eq!((&ran.json()["base"], &ran.json()["threshold"]), (&Value::Null, &json!(0.5)));
    let nothing = project.run(&["risk", "--json", "--files"]);
    assert_eq!(block(&nothing), (false, 0.0, "none".to_owned()));
    let text = project.run(&["risk", "--files", "Cargo.toml"]).exits(0).stdout.clone();
    assert_eq!(text, "needs review: build 0.6 (threshold 0.5)\n  build Cargo.toml\n");
    assert_eq!(project.run(&["risk", "--files", "a\u{1b}[2J.sql"]).exits(0).stdout.matches('\u{1b}').count(), 0);
    // Nothing was written.
    let left: Vec<_> = fs::read_dir(&project.dir).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn names_come_from_stdin() {
    let project = nowhere();
    let check = |stdin: &str, expected: &[&str]| {
        assert_eq!(listed(&project.run_with(&["risk", "--json", "--files", "-"], stdin)), expected, "{stdin:?}");
    };
    check("", &[]);
    check("a.sql\r\nREADME.md\n\n", &["data a.sql", "docs README.md"]);
    check("a b.rs\0login\n.rs\0", &["auth login\n.rs", "none a b.rs"]);
    check("\"docs/\\303\\274ber.md\"\n", &["docs docs/über.md"]);
}

#[test]
fn the_threshold_comes_from_the_flag_the_environment_or_the_project() {
    let project = nowhere();
    let needs = |project: &Project, env: Option<&str>, args: &[&str]| {
        let mut command = project.command(&[&["risk", "--json", "--files", "App.tsx"], args].concat());
        if let Some(value) = env {
            command.env("REFLECTION_RISK_THRESHOLD", value);
        }
        Ran::of(command, "").exits(0).json()["needs_review"].as_bool().unwrap()
    };
    assert!(!needs(&project, None, &[]));
    assert!(needs(&project, None, &["--threshold", "0.4"]));
    assert!(needs(&project, Some("0.3"), &[]));
    assert!(!needs(&project, Some("0.3"), &["--threshold", "0.5"]));
    project.write("project.json", r#"{"risk":{"threshold":0.4}}"#);
    assert!(needs(&project, None, &[]));
    assert!(!needs(&project, Some("1"), &[]));
}

#[test]
fn wrong_usage_is_said_and_ends_with_2() {
    let project = nowhere();
    for args in [
        &["risk", "--threshold", "high"][..],
        &["risk", "--threshold", "1.5"],
        &["risk", "--threshold", "-1"],
        &["risk", "--threshold", "NaN"],
        &["risk", "--base", "main", "--files", "a"],
        &["risk", "--files", "-", "a"],
        &["risk", "--files", ""],
        &["risk", "--files", "a", ""],
        &["risk", "src/a.rs"],
        &["risk", "--frobnicate"],
    ] {
        project.run(args).exits(2);
    }
    project.run(&["risk", "--threshold", "1.5"]).exits(2).says("`1.5` is no risk threshold");
    project.run(&["risk"]).exits(2).says("is in no git work tree").says("--files");
    project.run(&["-C", "missing", "risk"]).exits(2).says("missing is no directory");
    // An empty variable is none.
    let mut command = project.command(&["risk", "--files", "a"]);
    command.env("REFLECTION_RISK_THRESHOLD", "");
    Ran::of(command, "").exits(0);
    for wrong in ["high", "1.5"] {
        let mut command = project.command(&["risk", "--files", "a"]);
        command.env("REFLECTION_RISK_THRESHOLD", wrong);
        Ran::of(command, "").exits(2).says("REFLECTION_RISK_THRESHOLD").says(wrong);
    }
    project.write("project.json", r#"{"risk":{"threshold":2}}"#);
    project.run(&["risk", "--files", "a"]).exits(2).says("`2` is no risk threshold").says("project.json");
}

#[test]
fn the_work_tree_is_compared_with_where_the_branch_began() {
    let project = Project::new("true");
    assert_eq!(listed(&project.run(&["risk", "--json"])), Vec::<String>::new());
    project.git(&["checkout", "-q", "-b", "feature"]);
    project.write("src/login.rs", "1\n");
    project.commit();
    project.git(&["mv", "src/login.rs", "src/hello.rs"]);
    project.write("answer.txt", "staged\n");
    project.git(&["add", "answer.txt"]);
    project.write("project.json", project.read("project.json").iter().chain(b"\n").copied().collect::<Vec<_>>());
    project.write("new/Dockerfile", "FROM scratch\n");
    fs::write(project.dir.join(std::ffi::OsStr::from_bytes(b"b\xff.sql")), [0, 159, 146]).unwrap();
    let ran = project.run(&["risk", "--json"]);
    // Of the renamed file both names count.
    let expected = [
        "auth src/login.rs",
        "data b\u{fffd}.sql",
        "infra new/Dockerfile",
        "build project.json",
        "docs answer.txt",
        "none src/hello.rs",
    ];
    assert_eq!(listed(&ran), expected);
    let text = project.run(&["risk"]).exits(0).stdout.clone();
    assert!(text.starts_with("needs review: auth 1 (threshold 0.5, against main)\n"), "{text}");
    // The same from a directory inside, and with the branch's own start by name.
    assert_eq!(listed(&project.run(&["-C", "src", "risk", "--json"])), expected);
    assert_eq!(listed(&project.run(&["risk", "--json", "--base", "main"])), expected);
    let since_head = listed(&project.run(&["risk", "--json", "--base", "HEAD"]));
    assert_eq!(since_head, expected);
    let json = ran.json();
    let main = project.git(&["rev-parse", "main"]);
    assert_eq!((&json["base"], json["base_commit"].as_str()), (&json!("main"), Some(main.trim())));
    // A copy of the branch on a remote is the same work.
    project.git(&["init", "-q", "--bare", "../remote"]);
    project.git(&["remote", "add", "origin", "../remote"]);
    project.git(&["push", "-q", "-u", "origin", "feature"]);
    assert_eq!(listed(&project.run(&["risk", "--json"])), expected);
    // The runtime's own files are nobody's work, and another history has no place where it was left.
    project.write(".reflection/x.sql", "");
    assert_eq!(listed(&project.run(&["risk", "--json"])), expected);
    let tree = project.git(&["rev-parse", "HEAD^{tree}"]);
    let other = project.git(&["commit-tree", "-m", "other", tree.trim()]);
    let ran = project.run(&["risk", "--base", other.trim(), "--json"]);
    ran.exits(0).says("no commit in common");
    assert_eq!(ran.json()["base"], other.trim());
    project.run(&["risk", "--base", "nowhere"]).exits(2).says("`nowhere` names no commit");
    project.run(&["risk", "--base", "--help-me"]).exits(2);
}

#[test]
fn other_repositories_inside_are_listed_as_what_they_are() {
    let project = Project::new("true");
    project.git(&["init", "-q", "in"]);
    project.write("in/a.rs", "");
    project.git(&["-C", "in", "add", "a.rs"]);
    project.git(&["-C", "in", "commit", "-q", "-m", "inner"]);
    assert_eq!(listed(&project.run(&["risk", "--json"])), ["build in/"]);
    let text = project.run(&["risk"]).exits(0).stdout.clone();
    assert!(text.contains("  build in/ (a repository of its own)\n"), "{text}");
}

#[test]
fn a_repository_without_a_commit_works() {
    let project = Project::without_git("true");
    project.git(&["init", "-q", "-b", "main"]);
    project.write("schema.sql", "");
    let ran = project.run(&["risk", "--json"]);
    assert_eq!(listed(&ran), ["data schema.sql", "build project.json", "docs answer.txt", "none tasks.jsonl"]);
}

/// An agent that does what its task's title says.
const AS_TOLD: &str = "prompt=$(cat); case $prompt in *'the auth module'*) mkdir -p src/auth; echo 1 > src/auth/mod.rs;; \
                       *) mkdir -p docs; echo 1 > docs/auth.md;; esac";

/// A reviewer that approves, and leaves a note of what it was shown.
const REVIEWER: &str = r#"cat >> $OUT/shown; echo '{"complete": true, "severity": "NONE"}'"#;

#[test]
fn what_needs_review_is_reviewed_and_comes_first() {
    let project = Project::new(AS_TOLD);
    let reviewer = json!({ "type": "command", "argv": ["sh", "-c", REVIEWER] });
    let review = |when: &str| json!({ "review": { "reviewer": "reviewer", "when": when } });
    project.config(|config| {
        config["agents"]["reviewer"] = reviewer;
        config["verification"] = review("risky");
    });
    let mut tasks =
        [task_with_check("words", "test -e docs/auth.md"), task_with_check("login", "test -e src/auth/mod.rs")];
    tasks[0]["title"] = json!("Describe it");
    tasks[1]["title"] = json!("Write the auth module");
    project.tasks(&tasks);
    let ran = project.run(&["run", "--json", "--max-attempts", "1"]);
    let json = ran.exits(0).json();
    let order: Vec<&str> = json["tasks"].as_array().unwrap().iter().map(|t| t["id"].as_str().unwrap()).collect();
    assert_eq!(order, ["login", "words"], "the docs were done first");
    let risk = |id: &str| ran.task(id)["risk"].clone();
    assert_eq!(risk("login")["reason"], "auth: src/auth/mod.rs");
    assert_eq!((&risk("login")["needs_review"], &risk("words")["needs_review"]), (&json!(true), &json!(false)));
    let shown = project.told("shown");
    assert!(shown.contains("src/auth/mod.rs") && !shown.contains("docs/auth.md"), "{shown}");
    // In the journal and in the record of the turn, too.
    let run = json["run"].as_str().unwrap();
    let journal = String::from_utf8(project.read(&format!(".reflection/runs/{run}/journal.jsonl"))).unwrap();
    let judged: Vec<Value> = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let judged: Vec<&Value> = judged.iter().filter(|entry| entry["type"] == "attempt_judged").collect();
    assert_eq!(judged.iter().map(|e| e["risk"]["surface"].as_str().unwrap()).collect::<Vec<_>>(), ["docs", "auth"]);
    let session = judged[1]["session"].as_str().unwrap();
    let mut records = fs::read_dir(project.dir.join(".reflection")).unwrap().flatten();
    let record = records.find(|f| f.file_name().to_string_lossy().starts_with(&format!("{session}_"))).unwrap();
    let record: Value = serde_json::from_slice(&fs::read(record.path()).unwrap()).unwrap();
    assert_eq!(record["risk"], risk("login"));
    // For people, and with everything reviewed.
    fs::remove_file(project.out.join("shown")).unwrap();
    project.config(|config| config["verification"] = review("always"));
    let text = project.run(&["run", "--again", "--max-attempts", "1"]);
    let report = text.exits(0).stdout.clone();
    assert!(report.contains("needs review: auth: src/auth/mod.rs"), "{report}");
    assert!(report.find("login").unwrap() < report.find("words").unwrap(), "{report}");
    let shown = project.told("shown");
    assert!(shown.contains("src/auth/mod.rs") && shown.contains("docs/auth.md"), "{shown}");
}
