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

/// A command of a session that ended, as Claude Code says it.
fn ran(passed: bool) -> Value {
    let input = json!({ "command": "pytest -q" });
    if passed {
        let response = json!({ "stdout": "1 passed in 0.1s", "stderr": "", "interrupted": false });
        return json!({ "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": input, "tool_response": response });
    }
    crate::project::with(failed(), json!({ "tool_input": input }))
}

/// The moments of sessions in the record, the last line of each.
fn moments(repo: &Repo) -> Vec<Value> {
    let lines = String::from_utf8(repo.0.read("memory/attempts.jsonl")).unwrap();
    let all = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut last: Vec<Value> = Vec::new();
    for moment in all.filter(|line| line.get("moment").is_some()) {
        last.retain(|one| (&one["session"], &one["attempt"]) != (&moment["session"], &moment["attempt"]));
        last.push(moment);
    }
    last
}

fn trials(repo: &Repo) -> u64 {
    repo.0.run(&["memory", "stats", "--json"]).exits(0).json()["others"]["trials"].as_u64().unwrap_or(0)
}

#[test]
fn a_coin_holds_lessons_out_of_sessions_and_the_next_run_of_the_command_says_how_it_ended() {
    let repo = project();
    repo.0.config(|config| config["reflexion"]["holdout"] = json!(true));
    let coin = [("REFLEXION_HOLDOUT", "1")];
    let after =
        |session: &str, more: Value| call(&repo, &["after-tool", "--agent", "claude"], session, more, &coin).stdout;
    let sessions: Vec<String> = (0..16).map(|n| format!("s{n}")).collect();
    let given: Vec<bool> = sessions.iter().map(|session| after(session, ran(false)).contains(LESSON)).collect();
    assert!(given.contains(&true) && given.contains(&false), "{given:?}");
    let begun = moments(&repo);
    for ((moment, session), given) in begun.iter().zip(&sessions).zip(&given) {
        let coin = &moment["exposure"]["others"];
        assert_eq!((&moment["session"], &moment["moment"]), (&json!(session), &json!("failure")), "{moment}");
        assert_eq!((&coin["probability"], &coin["injected"]), (&json!(0.8), &json!(given)), "{moment}");
        assert_eq!(moment["shown"].as_array().map(Vec::len), given.then_some(1), "{moment}");
        assert_eq!((&moment["verdict"], &moment["agent"]), (&Value::Null, &json!("claude")), "{moment}");
    }
    assert_eq!((begun.len(), trials(&repo)), (16, 0), "nobody knows yet how one ended");
    // Another command says nothing, and neither does this one where nobody says how it ended.
    let other = crate::project::with(ran(true), json!({ "tool_input": { "command": "ls" } }));
    let interrupted = json!({ "tool_response": { "stdout": "", "interrupted": true } });
    for more in [other, crate::project::with(ran(true), interrupted)] {
        assert_eq!(after("s0", more), "");
    }
    assert_eq!(trials(&repo), 0);
    for (at, session) in sessions.iter().take(10).enumerate() {
        assert_eq!(after(session, ran(at % 2 == 0)), "", "each lesson once, held out or not");
        // What it does afterwards is another matter.
        after(session, ran(at % 2 == 1));
    }
    let verdicts = || moments(&repo).iter().map(|one| one["verdict"].as_str().map(str::to_owned)).collect::<Vec<_>>();
    let count = |verdict: &str| verdicts().iter().flatten().filter(|one| *one == verdict).count();
    assert_eq!((count("confirmed"), count("failed"), trials(&repo)), (5, 5, 10));
    // What is known from no journal is kept.
    repo.0.run(&["memory", "rebuild"]).exits(0);
    assert_eq!((moments(&repo).len(), trials(&repo)), (16, 10));
    // Without a coin each sees it, and the record has no number.
    let off = call(&repo, &["after-tool"], "off", ran(false), &[("REFLEXION_HOLDOUT", "0")]);
    assert!(off.stdout.contains(LESSON));
    let last = moments(&repo).pop().unwrap();
    assert_eq!((&last["exposure"], last["shown"].as_array().map(Vec::len)), (&Value::Null, Some(1)), "{last}");
}

#[test]
fn what_a_stop_shows_says_how_a_session_ended_that_began_with_lessons() {
    let repo = promoted();
    let start = json!({ "hook_event_name": "SessionStart" });
    call(&repo, &["session-start", "--verify", "--learn"], "s1", start, &[]);
    assert_eq!(moments(&repo)[0]["moment"], "session_start");
    repo.0.write("t.jsonl", transcript_of(&repo, "All tests pass now.", RED));
    let more = json!({ "transcript_path": repo.dir().join("t.jsonl"), "prompt_id": "p1" });
    call(&repo, &["stop", "--verify"], "s1", more.clone(), &[]);
    assert_eq!(moments(&repo)[0]["verdict"], Value::Null, "it was not asked to write that down");
    repo.0.write("more.rs", "x");
    call(&repo, &["stop", "--verify", "--learn"], "s1", more, &[]);
    assert_eq!(moments(&repo)[0]["verdict"], "failed");
}

#[test]
fn a_session_whose_moments_cannot_be_written_down_is_given_nothing() {
    let repo = project();
    std::fs::remove_file(repo.dir().join("memory/attempts.jsonl")).unwrap();
    std::fs::create_dir(repo.dir().join("memory/attempts.jsonl")).unwrap();
    assert_eq!(call(&repo, &["after-tool"], "s1", failed(), &[]).stdout, "");
}

#[test]
fn a_failure_that_a_person_pastes_brings_its_lesson_and_other_prompts_nothing() {
    let repo = project();
    let prompt = |session: &str, words: &str| {
        let more = json!({ "hook_event_name": "UserPromptSubmit", "prompt": words });
        call(&repo, &["prompt", "--agent", "claude"], session, more, &[("REFLECTION_MODE", "")])
    };
    for words in ["Fix the pool: its test fails", "KeyError: 'gone' in evict_all", "1 passed in 0.1s", "", "```\n```"] {
        assert_eq!(prompt("s1", words).stdout, "", "{words}");
    }
    let pasted = format!("Why does this fail?\n\n```\n{FAILED}```\n");
    let text = given(&prompt("s1", &pasted), "UserPromptSubmit");
    assert!(text.contains(LESSON), "{text}");
    assert_eq!(prompt("s1", &pasted).stdout, "", "each once");
    assert_eq!(moments(&repo)[0]["moment"], "failure");
    for (agent, file, event) in [
        ("claude", ".claude/settings.json", "UserPromptSubmit"),
        ("codex", ".codex/hooks.json", "UserPromptSubmit"),
        ("gemini", ".gemini/settings.json", "BeforeAgent"),
    ] {
        repo.0.run(&["hook", "install", agent, "--learn"]).exits(0);
        let settings: Value = serde_json::from_slice(&repo.0.read(file)).unwrap();
        let called = settings["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap().to_owned();
        assert!(called.ends_with(&format!("hook prompt --agent {agent}")), "{settings}");
        repo.0.run(&["hook", "uninstall", agent]).exits(0).prints("removed");
    }
}

#[test]
fn a_payload_that_cannot_be_read_disturbs_no_session_and_is_named_in_one_line() {
    let repo = promoted();
    let hooks: [&[&str]; 4] =
        [&["session-start", "--verify", "--learn"], &["prompt"], &["after-tool"], &["stop", "--verify", "--learn"]];
    for args in hooks {
        for payload in ["", "{\"session_id\":", "[1]", "\u{1}\u{2}", "{\"session_id\":7}"] {
            let ran = Ran::of(repo.command(args, &[("REFLECTION_MODE", "")]), payload);
            ran.exits(0).says("invalid_payload: ");
            let lines = ran.stderr.lines().filter(|line| line.starts_with("reflexion hook: ")).count();
            assert_eq!((ran.stdout.as_str(), lines), ("", ran.stderr.lines().count()), "{args:?} {payload}");
        }
    }
}
