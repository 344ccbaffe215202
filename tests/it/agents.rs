//! What can be seen of agents from outside: transcripts, and what `doctor` says of each.

use crate::project::{Project, RIGHT_AT_TWO, Ran, task, with};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn paths(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        found.push(entry.path());
        if entry.path().is_dir() {
            found.extend(paths(&entry.path()));
        }
    }
    found.sort();
    found
}

#[test]
fn transcripts_of_a_run_are_listed_and_shown() {
    let project = Project::new(RIGHT_AT_TWO);
    let run = project.run(&["run", "--json"]).exits(0).json()["run"].as_str().unwrap().to_owned();
    let before = paths(&project.dir);

    let list = project.run(&["transcript", "list", "--json"]).exits(0).json();
    let rows = list["transcripts"].as_array().unwrap();
    let attempts: Vec<(&Value, &Value)> = rows.iter().map(|r| (&r["attempt"], &r["ending"]["kind"])).collect();
    assert_eq!(attempts, [(&Value::from(1), &Value::from("finished")), (&Value::from(2), &Value::from("finished"))]);

    let newest = project.run(&["transcript", "show", "--json"]).exits(0).json();
    assert_eq!((&newest["head"]["run"], &newest["head"]["attempt"]), (&Value::from(run.as_str()), &Value::from(2)));
    assert_eq!((&newest["records"][0]["type"], &newest["unreadable"]), (&Value::from("head"), &Value::from(0)));
    let session = rows[0]["session"].as_str().unwrap();
    for which in [session, "a#1"] {
        let shown = project.run(&["transcript", "show", which, "--json", "--run", &run[..10]]).exits(0).json();
        assert_eq!(shown["head"]["session"], session);
    }
    let text = project.run(&["transcript", "show", "a#1"]).exits(0).stdout.clone();
    assert!(text.starts_with("a#1: sh\n") && text.contains("ended: finished after"), "{text}");
    assert!(project.run(&["transcript", "list"]).exits(0).stdout.clone().contains("a#2"));
    assert_eq!(paths(&project.dir), before, "reading changed the project");
}

#[test]
fn a_transcript_that_is_not_there_is_wrong_usage_and_says_what_there_is() {
    let project = Project::new(RIGHT_AT_TWO);
    project.tasks(&[task("a")]);
    let check = |args: &[&str], code: i32, part: &str| {
        let ran = project.run(&[&["transcript"], args].concat());
        let said = &ran.exits(code).stderr;
        assert!(said.contains(part), "{args:?}: {said}");
    };
    let before = paths(&project.dir);
    check(&["list"], 0, "no agent has worked here yet");
    check(&["show"], 2, "no agent has worked here yet");
    assert_eq!(paths(&project.dir), before, "reading changed the project");
    project.run(&["run"]).exits(0);
    check(&["show", "zebra"], 2, "there is no transcript `zebra`; there are a#2 (");
    check(&["show", "a#7"], 2, "there is no transcript `a#7`");
    check(&["show", "--run", "1999"], 2, "there is no transcript of a run `1999`; there are 2");
    fs::remove_file(project.dir.join("project.json")).unwrap();
    check(&["show"], 2, "project.json");
}

/// A directory with programs that only know their version and whether somebody is logged in, for `PATH`.
fn programs(project: &Project, scripts: &[(&str, &str)]) -> std::ffi::OsString {
    let bin = project.out.join("bin");
    fs::create_dir_all(&bin).unwrap();
    for (name, script) in scripts {
        let file = bin.join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    // The one that works here; the system's may be too old.
    let path = std::env::var_os("PATH").unwrap();
    let git = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|git| git.is_file()).unwrap();
    if !bin.join("git").exists() {
        std::os::unix::fs::symlink(git, bin.join("git")).unwrap();
    }
    std::env::join_paths([bin.as_path(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap()
}

/// What `doctor` says, with these programs on `PATH` and none of the caller's keys.
fn doctor(project: &Project, scripts: &[(&str, &str)], env: &[(&str, &str)], code: i32) -> Vec<Value> {
    let mut command = project.command(&["doctor", "--json"]);
    for key in
        ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "CODEX_API_KEY"]
    {
        command.env_remove(key);
    }
    // Who refuses to work for root is told in `words`.
    command.env("IS_SANDBOX", "1");
    command.env("PATH", programs(project, scripts)).envs(env.iter().copied());
    let document = Ran::of(command, "").exits(code).json();
    document["findings"].as_array().unwrap().clone()
}

#[track_caller]
fn finding(findings: &[Value], what: &str) -> (bool, String, String) {
    let found = findings.iter().find(|f| f["what"] == what).unwrap_or_else(|| panic!("no `{what}` in {findings:#?}"));
    let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
    (found["ok"].as_bool().unwrap(), text("detail"), text("advice"))
}

/// The version that is described, and nobody logged in.
const TRIED: &str = "case $1 in --version) echo '2.1.330 (Claude Code)';; *) exit 1;; esac";
/// The same, and somebody.
const LOGGED_IN: &str = "case $1 in --version) echo '2.1.330 (Claude Code)';; *) exit 0;; esac";

#[test]
fn doctor_looks_at_the_version_and_the_login_of_the_agents_in_use() {
    let project = Project::new(RIGHT_AT_TWO);
    project.config(|c| c["agents"] = json!({ "default": "claude" }));
    let check =
        |script: &str, env: &[(&str, &str)], code: i32, version: (bool, &str, &str), login: Option<(bool, &str)>| {
            let findings = doctor(&project, &[("claude", script)], env, code);
            let (ok, detail, advice) = finding(&findings, "agent `claude`");
            assert_eq!(ok, version.0, "{script}: {detail}");
            assert!(detail.contains(version.1) && advice.contains(version.2), "{script}: {detail}; {advice}");
            let shown = findings.iter().find(|f| f["what"] == "agent `claude`, login");
            let shown = shown.map(|f| (f["advice"].is_null(), f["detail"].as_str().unwrap()));
            match (shown, login) {
                (None, None) => {}
                (Some((good, detail)), Some((expected, part))) if good == expected && detail.contains(part) => {}
                other => panic!("{script}: {other:?}"),
            }
        };
    let key = [("ANTHROPIC_API_KEY", "k")];
    check(TRIED, &key, 0, (true, "Claude Code 2.1.330, /", ""), Some((true, "a key is in ANTHROPIC_API_KEY")));
    check(TRIED, &[("ANTHROPIC_API_KEY", "")], 0, (true, "2.1.330", ""), Some((false, "`claude auth status` says no")));
    check(LOGGED_IN, &[], 0, (true, "2.1.330", ""), Some((true, "`claude auth status` says so")));
    check("echo 1.0.2", &key, 0, (true, "Code 1.0.2", "older than what was tried (2.1.330)"), Some((true, "")));
    check("echo 99.0.0", &key, 0, (true, "Code 99.0.0", "tried was 2.1.330"), Some((true, "")));
    check("echo hello", &key, 0, (true, "does not say its version: hello", "install it anew"), Some((true, "")));
    check(
        "echo no native binary >&2; exit 1",
        &key,
        1,
        (false, "no native binary (exit status 1)", "npm install"),
        None,
    );
    check("printf '\\033[31m'; exec sleep 0", &key, 0, (true, "does not say its version", ""), Some((true, "")));
}

#[test]
fn doctor_names_what_is_missing_and_what_else_is_there() {
    let project = Project::new(RIGHT_AT_TWO);
    project.tasks(&[with(task("a"), json!({"agent": "helper"}))]);
    project.config(|c| {
        c["agents"] = json!({
            "default": ["codex", "repair"],
            "labels": {"local": "small"},
            "helper": {"type": "acp", "argv": ["speaks-acp"]},
            "small": {"type": "completion", "model": "m", "provider": "openai", "baseUrl": "http://127.0.0.1:9/v1"},
            "unused": {"type": "command", "argv": ["nobody-looks-at-this"]},
        });
        c["reflexion"] = json!({ "generator": { "type": "command", "argv": ["writes-reflections"] } });
    });
    let scripts = [("claude", TRIED), ("speaks-acp", "exit 0")];
    let findings = doctor(&project, &scripts, &[], 1);
    let (ok, detail, advice) = finding(&findings, "agent `codex`");
    assert!(
        !ok && detail.contains("`codex` was not found") && advice.contains("npm install -g @openai/codex"),
        "{advice}"
    );
    assert!(finding(&findings, "agent `repair`").0);
    assert!(finding(&findings, "agent `helper`").1.ends_with("/speaks-acp"));
    let (ok, detail, _) = finding(&findings, "agent `small`");
    assert!(!ok && (detail.contains("does not answer") || detail.contains("llm")), "{detail}");
    assert!(!finding(&findings, "generator").0);
    assert_eq!(finding(&findings, "also here").1, "claude");
    assert!(!findings.iter().any(|f| f["what"] == "agent `unused`"), "{findings:#?}");
}

#[test]
fn doctor_and_init_see_what_is_installed_without_a_project() {
    let project = Project::new(RIGHT_AT_TWO);
    fs::remove_file(project.dir.join("project.json")).unwrap();
    let before = paths(&project.dir);
    let findings = doctor(&project, &[("gemini", "exit 1"), ("opencode", "exit 1")], &[], 1);
    assert_eq!(finding(&findings, "agents").1, "installed: opencode, gemini");
    assert_eq!(paths(&project.dir), before, "looking changed the directory");
    let mut command = project.command(&["init", "--dry-run", "--json"]);
    command.env("PATH", programs(&project, &[]));
    assert_eq!(Ran::of(command, "").exits(0).json()["project"]["agents"], json!({ "default": "opencode" }));
    let mut command = project.command(&["init", "--dry-run", "--json"]);
    command.env("PATH", "/nowhere");
    assert_eq!(Ran::of(command, "").exits(0).json()["project"]["agents"], json!({ "default": "repair" }));
}
