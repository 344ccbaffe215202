//! The completion gate as a hook, and how hooks get into agents' settings, through the real program.

use crate::hooks::Repo;
use crate::project::{Project, Ran};
use serde_json::{Value, json};
use std::fs;

#[test]
fn installing_keeps_what_is_there() {
    let project = Project::new("true");
    let settings = "{\n  // mine\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [{ \"hooks\": [{ \"type\": \"command\", \"command\": \"true\" }] }]\n  }\n}\n";
    project.write(".claude/settings.json", settings);
    let install = |args: &[&str]| project.run(&[&["hook"], args].concat());
    let ran = install(&["install", "claude", "--json"]);
    assert_eq!(ran.exits(0).json()["changed"], true);
    let new = String::from_utf8(project.read(".claude/settings.json")).unwrap();
    assert!(new.contains("  // mine\n  \"model\": \"opus\",\n") && new.contains("hook stop --agent claude"), "{new}");
    assert_eq!(install(&["install", "claude", "--json"]).json()["changed"], false);
    install(&["install", "claude", "--verify"]).exits(0);
    install(&["install", "claude"]).exits(0).says("not any more");
    install(&["install", "claude", "--verify"]).exits(0);
    let verify = String::from_utf8(project.read(".claude/settings.json")).unwrap();
    assert_eq!((verify.matches("hook stop").count(), verify.matches("hook stop --verify").count()), (1, 1), "{verify}");
    install(&["uninstall", "claude"]).exits(0);
    let old = String::from_utf8(project.read(".claude/settings.json")).unwrap();
    assert!(!old.contains("reflexion") && old.contains("// mine") && old.contains("\"true\""), "{old}");

    // Where the agent is usually not started.
    project.write("src/x", "");
    let mut deep = project.command(&["hook", "install", "claude"]);
    deep.current_dir(project.dir.join("src"));
    Ran::of(deep, "").exits(0).says("is not the top of its repository").says("-C");
    assert!(!ran.stderr.contains("not the top"), "{}", ran.stderr);

    project.write(".gemini/settings.json", "{\n  \"a\": 1\n  \"b\": 2\n}\n");
    install(&["install", "gemini"]).exits(4).says(".gemini/settings.json:2:");
    install(&["install", "opencode", "--verify"]).exits(2).says("--verify");
    install(&["install", "pi"]).exits(2).says("claude, codex, gemini or opencode");
    for (agent, file) in
        [("codex", "home/.codex/hooks.json"), ("opencode", "home/.config/opencode/plugin/reflexion.js")]
    {
        let file = project.dir.parent().unwrap().join(file);
        let mut command = project.command(&["hook", "install", agent, "--user"]);
        command.env_remove("CODEX_HOME").env_remove("XDG_CONFIG_HOME");
        Ran::of(command, "").exits(0);
        assert!(fs::read_to_string(&file).unwrap().contains("reflexion"), "{}", file.display());
    }
}

#[test]
fn what_a_person_added_to_the_plugin_stays() {
    let project = Project::new("true");
    let hook = |args: &[&str]| project.run(&[&["hook"], args].concat());
    let file = ".opencode/plugin/reflexion.js";
    hook(&["install", "opencode"]).exits(0);
    let ours = String::from_utf8(project.read(file)).unwrap();
    let (line, mine) = (ours.lines().count() + 1, format!("{ours}export const Mine = async () => ({{}})\n"));
    project.write(file, &mine);
    for args in [&["uninstall", "opencode"][..], &["install", "opencode"], &["install", "opencode", "--learn"]] {
        hook(args)
            .exits(4)
            .says(&format!("{file}:{line}:1: somebody has changed this plugin"))
            .says("delete this file");
        assert_eq!(String::from_utf8(project.read(file)).unwrap(), mine, "{args:?}");
    }
    project.write(file, &ours);
    hook(&["install", "opencode", "--learn"]).exits(0);
    hook(&["uninstall", "opencode"]).exits(0).prints("removed");
    assert!(!project.dir.join(file).exists());
}

/// A conversation of Claude Code in which the test that was asked for fails, and the agent says that it passes.
fn transcript(repo: &Repo, said: &str) -> String {
    transcript_of(repo, said, "Exit code 101\ntest sum ... FAILED")
}

/// The same, of a test that prints this.
pub(crate) fn transcript_of(repo: &Repo, said: &str, failed: &str) -> String {
    let entry = |value: Value| format!("{value}\n");
    let common = |kind: &str, id: &str, parent: Value, message: Value| {
        entry(json!({ "type": kind, "uuid": id, "parentUuid": parent, "sessionId": "s1", "cwd": repo.dir(),
            "timestamp": "2026-11-22T10:00:00.000Z", "message": message }))
    };
    let says = |id: &str, parent: &str, content: Value| {
        common("assistant", id, json!(parent), json!({ "id": id, "role": "assistant", "content": content }))
    };
    let answers = |id: &str, parent: &str, content: Value| {
        common("user", id, json!(parent), json!({ "role": "user", "content": content }))
    };
    let write = json!({ "file_path": repo.dir().join("src/sum.rs"), "content": "fn sum() {}" });
    [
        common(
            "user",
            "u1",
            Value::Null,
            json!({ "role": "user", "content": "Fix the sum in src/sum.rs and see `cargo test` pass" }),
        ),
        says("u2", "u1", json!([{ "type": "tool_use", "id": "t1", "name": "Write", "input": write }])),
        answers("u3", "u2", json!([{ "type": "tool_result", "tool_use_id": "t1", "content": "File created" }])),
        says(
            "u4",
            "u3",
            json!([{ "type": "tool_use", "id": "t2", "name": "Bash", "input": { "command": "cargo test" } }]),
        ),
        answers(
            "u5",
            "u4",
            json!([{ "type": "tool_result", "tool_use_id": "t2", "is_error": true, "content": failed }]),
        ),
        says("u6", "u5", json!([{ "type": "text", "text": said }])),
    ]
    .concat()
}

#[test]
fn a_refuted_stop_sends_the_agent_back_and_not_for_ever() {
    let repo = Repo::new();
    repo.0.write("t.jsonl", transcript(&repo, "All tests pass now."));
    let stop = |prompt: &str, again: bool, env: &[(&str, &str)]| {
        let more =
            json!({ "transcript_path": repo.dir().join("t.jsonl"), "prompt_id": prompt, "stop_hook_active": again });
        let ran = Ran::of(repo.command(&["stop", "--verify"], env), &repo.payload("s1", more));
        ran.exits(0);
        ran
    };
    let unset = [("REFLECTION_MODE", "")];
    let first = stop("p1", false, &unset);
    let answer = first.json();
    assert_eq!(answer["decision"], "block", "{}", first.stderr);
    assert!(answer["reason"].as_str().unwrap().contains("cargo test"), "{answer}");
    assert!(!repo.dir().join(".reflection/reflections").exists() || repo.records().is_empty(), "only judged");
    assert_eq!(stop("p1", true, &unset).stdout, "", "never twice for the same");
    // Work, but the same failure: one turn is left of three.
    repo.0.write("a.rs", "x");
    assert_eq!(stop("p1", true, &unset).json()["decision"], "block");
    repo.0.write("b.rs", "x");
    stop("p1", true, &unset).says("all its turns");
    assert_eq!(stop("p2", false, &unset).json()["decision"], "block", "another task");
    for mode in ["off", "orchestrated"] {
        repo.0.write("c.rs", mode);
        assert_eq!(stop("p3", false, &[("REFLECTION_MODE", mode)]).stdout, "");
    }
    let broken = repo.payload("s1", json!({ "transcript_path": "/nowhere", "prompt_id": "p4" }));
    let ran = Ran::of(repo.command(&["stop", "--verify"], &unset), &broken);
    ran.exits(0).says("/nowhere");
    assert_eq!(ran.stdout, "");
}

#[test]
fn a_record_that_is_still_being_written_is_waited_for() {
    let repo = Repo::new();
    let whole = transcript(&repo, "All tests pass now.");
    repo.0.write("t.jsonl", whole.lines().next().unwrap());
    let more = json!({ "transcript_path": repo.dir().join("t.jsonl"), "prompt_id": "p1", "last_assistant_message": "All tests pass now." });
    let (file, rest) = (repo.dir().join("t.jsonl"), whole);
    let writes = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        fs::write(file, rest).unwrap();
    });
    let ran = Ran::of(repo.command(&["stop", "--verify"], &[("REFLECTION_MODE", "")]), &repo.payload("s1", more));
    writes.join().unwrap();
    assert!(ran.exits(0).json()["reason"].as_str().unwrap().contains("`cargo test`"), "{}", ran.stderr);
}

#[test]
fn an_agent_that_eases_its_rules_is_judged_by_the_built_in_ones() {
    let repo = Repo::new();
    repo.0.write("t.jsonl", transcript(&repo, "All tests pass now."));
    let unset = [("REFLECTION_MODE", "")];
    let begin = repo.payload("s1", json!({}));
    Ran::of(repo.command(&["session-start", "--verify"], &unset), &begin).exits(0);
    let stop = |prompt: &str, again: bool| {
        let more =
            json!({ "transcript_path": repo.dir().join("t.jsonl"), "prompt_id": prompt, "stop_hook_active": again });
        let ran = Ran::of(repo.command(&["stop", "--verify"], &unset), &repo.payload("s1", more));
        ran.exits(0);
        ran
    };
    let reason = |ran: &Ran| ran.json()["reason"].as_str().unwrap().to_owned();
    assert!(!reason(&stop("p1", false)).contains("built-in"));
    repo.0.write("project.json", "{ broken");
    let eased = stop("p2", false);
    eased.says("changed since the session began");
    assert!(reason(&eased).contains("the built-in ones are used"));
    // Without the count nobody knows how often it was sent back.
    fs::remove_dir_all(repo.dir().join(".reflection")).unwrap();
    let lost = stop("p2", true);
    lost.says("is lost");
    assert_eq!(lost.stdout, "");
}

#[test]
fn a_stop_that_was_sent_back_is_one_record_also_where_the_agent_does_not_say_so() {
    // Gemini CLI: the first stop after it was sent back says `stop_hook_active: false`.
    let repo = Repo::new();
    repo.0.write("t.jsonl", transcript(&repo, "All tests pass now."));
    repo.start("s1");
    let stop = || {
        let more = json!({ "transcript_path": repo.dir().join("t.jsonl"), "prompt": "Fix it" });
        let ran = Ran::of(repo.command(&["stop", "--verify", "--agent", "gemini"], &[]), &repo.payload("s1", more));
        ran.exits(0);
        ran
    };
    assert_eq!(stop().json()["decision"], "block");
    repo.0.write("a.rs", "x");
    stop();
    let record = repo.record();
    assert_eq!((record.files_changed, record.provenance.reflection_attempt), (vec!["a.rs".to_owned()], 2));
}
