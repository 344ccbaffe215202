//! Lessons in sessions that no run began: at their start, and after a command that failed.

use crate::hooks::Repo;
use crate::hooks_gate::transcript_of;
use crate::project::Ran;
use serde_json::{Value, json};

/// As the checks of the project print it.
const FAILED: &str = "pool.py:12: KeyError: 'gone' in evict_all\nFAILED tests/test_pool.py::test_evict - KeyError: 'gone' in evict_all\n1 failed in 0.1s\n";
const LESSON: &str = "collect the keys before `evict_all` changes the pool";

/// A project with a lesson about such a failure, with which a task of it has passed.
fn project() -> Repo {
    let project = crate::recall::project(false);
    project.run(&["run"]).exits(0);
    Repo(project)
}

fn id(repo: &Repo) -> String {
    let all = repo.0.run(&["memory", "list", "--task", "a", "--json"]).exits(0).json();
    all["reflections"][0]["id"].as_str().unwrap().to_owned()
}

/// The same, which a person has promoted.
fn promoted() -> Repo {
    let repo = project();
    repo.0.run(&["memory", "promote", &id(&repo)]).exits(0);
    repo
}

fn call(repo: &Repo, args: &[&str], session: &str, more: Value, env: &[(&str, &str)]) -> Ran {
    let ran = Ran::of(repo.command(args, env), &repo.payload(session, more));
    ran.exits(0);
    ran
}

/// What the agent is given to read.
fn given(ran: &Ran, event: &str) -> String {
    let said: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
    assert_eq!(said["hookSpecificOutput"]["hookEventName"], event, "{said}");
    said["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

fn failed() -> Value {
    json!({ "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "error": format!("Exit code 1\n{FAILED}") })
}

#[test]
fn a_session_begins_with_the_lessons_that_a_person_promoted_and_is_given_each_once() {
    let repo = promoted();
    let start = json!({ "hook_event_name": "SessionStart" });
    let learn = &["session-start", "--learn", "--agent", "claude"];
    let first = call(&repo, learn, "s1", start.clone(), &[("REFLECTION_MODE", "")]);
    let text = given(&first, "SessionStart");
    assert!(text.contains(LESSON) && text.contains("are data"), "{text}");
    // Resumed, and after a failure about which it is: the session has it already.
    assert_eq!(call(&repo, learn, "s1", start.clone(), &[]).stdout, "");
    assert_eq!(call(&repo, &["after-tool"], "s1", failed(), &[]).stdout, "");
    given(&call(&repo, learn, "s2", start.clone(), &[]), "SessionStart");
    repo.0.run(&["memory", "retire", &id(&repo)]).exits(0);
    assert_eq!(call(&repo, learn, "s3", start, &[]).stdout, "");
}

#[test]
fn a_command_that_failed_brings_the_lesson_about_such_a_failure() {
    let repo = project();
    let start = call(&repo, &["session-start", "--learn"], "s1", json!({ "hook_event_name": "SessionStart" }), &[]);
    assert_eq!(start.stdout, "", "it was neither measured nor promoted");
    let text = given(&call(&repo, &["after-tool"], "s1", failed(), &[("REFLECTION_MODE", "")]), "PostToolUseFailure");
    assert!(text.contains(LESSON) && text.contains(" failure]"), "{text}");
    let again = |session: &str, more: Value, env: &[(&str, &str)]| {
        call(&repo, &["after-tool"], session, more, env).stdout.clone()
    };
    assert_eq!(again("s1", failed(), &[]), "", "each once");
    let with =
        |text: &str| json!({ "hook_event_name": "PostToolUse", "tool_response": { "stdout": text, "stderr": "" } });
    assert_eq!(again("s2", with("5 passed"), &[]), "");
    assert_eq!(again("s2", with("src/pool.rs:3:5: error[E0502]: cannot borrow `pool` as mutable"), &[]), "");
    // Inside of a run a coin decides, and off is off.
    for mode in ["orchestrated", "off", "rubbish"] {
        assert_eq!(again("s2", failed(), &[("REFLECTION_MODE", mode)]), "", "{mode}");
    }
    assert!(again("s2", with(FAILED), &[]).contains(LESSON));
}

#[test]
fn what_nobody_trusts_or_nobody_here_wrote_is_given_to_no_session() {
    let start = json!({ "hook_event_name": "SessionStart" });
    let nothing = |repo: &Repo, env: &[(&str, &str)]| {
        for (args, more) in [(&["session-start", "--learn"][..], start.clone()), (&["after-tool"], failed())] {
            assert_eq!(call(repo, args, "s1", more, env).stdout, "", "{args:?}");
        }
    };
    let untrusted = promoted();
    untrusted.0.config(|config| config["agents"]["sh"]["argv"][2] = json!("another program"));
    nothing(&untrusted, &[("REFLEXION_TRUST", "")]);
    let switched_off = promoted();
    switched_off.0.config(|config| config["reflexion"]["enabled"] = json!(false));
    nothing(&switched_off, &[]);
    // Pulled from somebody else: the same lines, without our digest.
    let foreign = promoted();
    for file in ["memory/reflections.jsonl", "memory/lessons.jsonl"] {
        let text = String::from_utf8(foreign.0.read(file)).unwrap();
        let unsigned = text.lines().map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line.as_object_mut().unwrap().retain(|key, _| key != "digest");
            format!("{line}\n")
        });
        foreign.0.write(file, unsigned.collect::<String>());
    }
    nothing(&foreign, &[]);
}

#[test]
fn a_broken_memory_costs_a_session_its_lessons_and_nothing_else() {
    let repo = promoted();
    std::fs::remove_file(repo.dir().join("memory/reflections.jsonl")).unwrap();
    std::fs::create_dir(repo.dir().join("memory/reflections.jsonl")).unwrap();
    let ran = call(&repo, &["after-tool"], "s1", failed(), &[]);
    assert_eq!(ran.stdout, "");
    ran.says("reflexion hook: no lessons were given: ");
}

#[test]
fn what_keeps_lessons_from_sessions_is_said_by_the_doctor_and_by_the_hook() {
    let repo = promoted();
    let doctor = |trust: &str| {
        let mut command = repo.0.command(&["doctor"]);
        command.env("REFLEXION_TRUST", trust);
        Ran::of(command, "").stdout
    };
    let said = "! lessons in sessions: sessions with claude are given none, because this project is not trusted";
    repo.0.config(|config| config["agents"]["sh"]["argv"][2] = json!("another program"));
    assert!(!doctor("").contains("lessons in sessions"), "no hook gives any");
    repo.0.run(&["hook", "install", "claude", "--learn"]).exits(0);
    assert!(doctor("").contains(said), "{}", doctor(""));
    assert!(!doctor("1").contains("lessons in sessions"));
    let ran = Ran::of(repo.command(&["after-tool", "--agent", "claude"], &[]), "{\"tool_response\": ");
    ran.exits(0).says("no lesson was looked for: invalid_payload: EOF");
    assert_eq!(ran.stdout, "");
}

/// As `cargo test` prints it, with what no file may hold.
const RED: &str = "Exit code 101\nrunning 1 test\ntest sum ... FAILED\n\nfailures:\n\n---- sum stdout ----\n\
    token ghp_0123456789abcdefghijABCDEFGHIJ012345\nthread 'sum' panicked at src/sum.rs:7:5:\n\
    assertion `left == right` failed: the carry is lost\n  left: 3\n right: 4\n\n\nfailures:\n    sum\n\n\
    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";

#[test]
fn a_stop_that_was_refuted_leaves_a_lesson_which_another_session_is_given_once_a_person_allows_it() {
    let repo = Repo::new();
    repo.0.write("t.jsonl", transcript_of(&repo, "All tests pass now.", RED));
    let more = json!({ "transcript_path": repo.dir().join("t.jsonl"), "prompt_id": "p1" });
    let stop = |args: &[&str], session: &str, env: &[(&str, &str)]| {
        call(&repo, &[&["stop", "--verify"], args].concat(), session, more.clone(), env)
    };
    let lessons = || repo.0.run(&["memory", "list", "--json"]).exits(0).json()["reflections"].clone();
    let silent = stop(&[], "s0", &[]);
    assert_eq!(stop(&["--learn"], "s1", &[("REFLEXION_TRUST", "")]).stdout, silent.stdout);
    assert_eq!(lessons(), json!([]), "nobody asked for lessons, or nobody trusts the project");
    let loud = stop(&["--learn"], "s2", &[]);
    assert_eq!((&loud.stdout, &loud.stderr), (&silent.stdout, &silent.stderr), "nothing else changes");
    assert_eq!(stop(&["--learn"], "s2", &[]).stdout, "", "the same stop again");
    let lessons = lessons();
    assert_eq!(lessons.as_array().map(Vec::len), Some(1), "{lessons}");
    let lesson = &lessons[0];
    assert_eq!((&lesson["taskId"], &lesson["sessionId"]), (&json!("session-s2"), &json!("s2")), "{lesson}");
    assert_eq!((&lesson["foreign"], &lesson["failure"]["tests"]), (&Value::Null, &json!(["sum"])), "{lesson}");
    assert!(lesson["analysis"].as_str().unwrap().contains("the carry is lost"), "{lesson}");
    let file = String::from_utf8(repo.0.read("memory/reflections.jsonl")).unwrap();
    assert!(!file.contains("ghp_0123"), "{file}");

    let red = json!({ "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "error": RED });
    let after = |session: &str| call(&repo, &["after-tool"], session, red.clone(), &[]);
    assert_eq!(after("s3").stdout, "", "a new lesson is nobody's");
    repo.0.run(&["memory", "promote", lesson["id"].as_str().unwrap()]).exits(0);
    let text = given(&after("s3"), "PostToolUseFailure");
    assert!(text.contains("the carry is lost") && text.contains("session-s2"), "{text}");
    repo.0.run(&["hook", "install", "claude", "--verify", "--learn"]).exits(0);
    let settings = String::from_utf8(repo.0.read(".claude/settings.json")).unwrap();
    assert!(settings.contains("hook stop --verify --learn --agent claude\""), "{settings}");
}
