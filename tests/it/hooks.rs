//! What agents' hooks do, through the real program and real repositories: records, sessions, bad input, settings.

use crate::project::{Project, RIGHT, Ran};
use reflexion::domain::Capture;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A repository with one commit, and sessions in it.
pub(crate) struct Repo(pub(crate) Project);

impl Repo {
    pub(crate) fn new() -> Self {
        Self(Project::new("true"))
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.0.dir
    }

    pub(crate) fn payload(&self, session: &str, more: Value) -> String {
        let payload =
            json!({ "session_id": session, "cwd": self.dir(), "hook_event_name": "Stop", "stop_hook_active": false });
        crate::project::with(payload, more).to_string()
    }

    pub(crate) fn command(&self, args: &[&str], env: &[(&str, &str)]) -> Command {
        let mut command = self.0.command(&[&["hook"], args].concat());
        for name in ["MODE", "DIR", "INPUT", "TASK_REF", "AGENT", "RISK_THRESHOLD"] {
            command.env_remove(format!("REFLECTION_{name}"));
        }
        command.env_remove("CLAUDE_PROJECT_DIR").env("REFLECTION_MODE", "solo").envs(env.iter().copied());
        command
    }

    /// A hook never fails, and says nothing to the agent.
    fn hook(&self, args: &[&str], stdin: &str, env: &[(&str, &str)]) -> Ran {
        let ran = Ran::of(self.command(args, env), stdin);
        ran.exits(0);
        assert_eq!(ran.stdout, "", "{}", ran.stderr);
        assert!(ran.stderr.lines().count() <= 1, "{}", ran.stderr);
        ran
    }

    pub(crate) fn start(&self, session: &str) {
        let ran = self.hook(&["session-start"], &self.payload(session, json!({})), &[]);
        assert_eq!(ran.stderr, "");
    }

    fn stop(&self, session: &str) -> Ran {
        self.hook(&["stop", "--agent", "claude"], &self.payload(session, json!({})), &[])
    }

    /// All records in the order of their names; each is what its type says, and back again.
    pub(crate) fn records(&self) -> Vec<Capture> {
        self.values().into_iter().map(|value| serde_json::from_value(value).unwrap()).collect()
    }

    fn values(&self) -> Vec<Value> {
        let mut files = files(&self.dir().join(".reflection/reflections"));
        files.sort();
        files.iter().map(|file| serde_json::from_slice(&fs::read(file).unwrap()).unwrap()).collect()
    }

    pub(crate) fn record(&self) -> Capture {
        let mut records = self.records();
        assert_eq!(records.len(), 1, "{records:#?}");
        records.remove(0)
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).map(|entries| entries.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default()
}

#[test]
fn what_a_session_changed_is_recorded_however_it_stands() {
    let repo = Repo::new();
    for (path, text) in [("kept.txt", "the user's"), ("touched.txt", "the user's"), ("committed.txt", "the user's")] {
        repo.0.write(path, text);
    }
    repo.start("s1");
    repo.0.write("touched.txt", "the agent's, longer");
    repo.0.write("src/auth/mod.rs", "fn login() {}");
    repo.0.git(&["add", "src/auth/mod.rs", "committed.txt"]);
    repo.0.git(&["commit", "-q", "-m", "work"]);
    repo.0.write("answer.txt", "changed");
    repo.0.write("staged.rs", "x");
    repo.0.git(&["add", "staged.rs"]);
    repo.0.git(&["mv", "tasks.jsonl", "renamed.jsonl"]);
    repo.0.write("new dir/ünïcode \"x\".bin", b"\0\xff");
    assert_eq!(repo.stop("s1").stderr, "");
    let record = repo.record();
    let expected = [
        "answer.txt",
        "committed.txt",
        "new dir/ünïcode \"x\".bin",
        "renamed.jsonl",
        "src/auth/mod.rs",
        "staged.rs",
        "tasks.jsonl",
        "touched.txt",
    ];
    assert_eq!(record.files_changed, expected);
    assert_eq!((record.risk.needs_review, record.risk.surface.as_str()), (true, "auth"));
    assert_eq!((record.agent.as_str(), record.session_id.as_str()), ("claude", "s1"));
    assert_eq!(record.task_ref, "project#main");
    assert_eq!((record.provenance.degraded, record.provenance.is_final), (false, None));
    assert_eq!(record.provenance.base_commit.unwrap(), repo.0.git(&["rev-parse", "HEAD~1"]).trim());
    assert!(!repo.0.git(&["status", "--porcelain"]).contains(".reflection"));
}

#[test]
fn off_leaves_no_trace() {
    let repo = Repo::new();
    for mode in ["", "off"] {
        for what in ["stop", "session-start"] {
            let ran = repo.hook(&[what], "no JSON", &[("REFLECTION_MODE", mode)]);
            assert_eq!(ran.stderr, "");
        }
        repo.hook(&["stop", "--no-such-flag"], "", &[("REFLECTION_MODE", mode)]);
    }
    repo.hook(&["stop"], &repo.payload("s", json!({})), &[("REFLECTION_MODE", "on")]).says("REFLECTION_MODE is `on`");
    assert!(!repo.dir().join(".reflection").exists());
    // A wrong call is no answer of the hook's either: Claude Code takes 2 for a block.
    Ran::of(repo.command(&["stop", "--no-such-flag"], &[]), "").exits(0).says("--no-such-flag");
    let wrong = Ran::of(repo.command(&["stop", "--no-such-flag"], &[]), "");
    assert_eq!(wrong.stderr.lines().count(), 1, "{}", wrong.stderr);
}

#[test]
fn without_a_start_the_branch_is_counted_from_where_it_left() {
    let repo = Repo::new();
    repo.0.git(&["checkout", "-q", "-b", "feature"]);
    repo.0.write("one.rs", "x");
    repo.0.commit();
    repo.0.write("two.rs", "x");
    repo.stop("s1").says("no_session_start");
    let record = repo.record();
    assert_eq!(record.files_changed, ["one.rs", "two.rs"]);
    let said = "no_session_start: counted from where the branch left main";
    assert_eq!(record.provenance.degraded_reason.as_deref(), Some(said));
    assert_eq!(record.provenance.base_commit.unwrap(), repo.0.git(&["rev-parse", "main"]).trim());
}

#[test]
fn a_report_counts_if_it_is_of_this_session() {
    let check = |report: &str, confidence: Option<f64>, reason: &str| {
        let repo = Repo::new();
        repo.start("s1");
        repo.0.write(".reflection/reflection-input.json", report);
        repo.stop("s1");
        let record = repo.record();
        assert_eq!(record.confidence, confidence, "{report}");
        let said = record.provenance.degraded_reason.unwrap_or_default();
        assert!(said.starts_with(reason) && said.is_empty() == reason.is_empty(), "{report}: {said}");
        assert_eq!(record.provenance.degraded, !reason.is_empty());
        record.most_likely_wrong
    };
    let full =
        r#"{"session_id":"s1","confidence":0.7,"most_likely_wrong":{"surface":"data","description":"time zones"}}"#;
    assert_eq!(check(full, Some(0.7), "").unwrap().description, "time zones");
    check(r#"{"session_id":"yesterday","confidence":0.7}"#, None, "");
    check(r#"{"confidence":0.7}"#, None, "invalid_self_report: it names no `session_id`");
    check(r#"{"session_id":"s1","confidence":"high"}"#, None, "invalid_self_report");
    check(r#"{"session_id":"s1","confidence":7}"#, None, "invalid_self_report");
    check(r#"{"session_id":"s1","confidence":0.7,"most_likely_wrong":[]}"#, None, "invalid_self_report");
    check("{", None, "invalid_self_report");
    let repo = Repo::new();
    repo.start("s1");
    repo.0.write("elsewhere.json", r#"{"session_id":"s1","known_not_in_diff":"not tried on Windows"}"#);
    // From the top, wherever the agent stands.
    repo.0.write("src/deep/x", "");
    let payload = |prompt: &str| repo.payload("s1", json!({ "cwd": repo.dir().join("src/deep"), "prompt_id": prompt }));
    repo.hook(&["stop"], &payload("1"), &[("REFLECTION_INPUT", "elsewhere.json")]);
    assert_eq!(repo.record().known_not_in_diff.as_deref(), Some("not tried on Windows"));
    // Somebody waits for it there.
    let missing = [("REFLECTION_INPUT", "missing.json")];
    repo.hook(&["stop"], &payload("2"), &missing).says("no_self_report: ").says("missing.json is not there");
    assert!(repo.records().iter().any(|record| record.provenance.degraded));
}

#[test]
fn what_was_dirty_and_is_destroyed_was_changed() {
    let repo = Repo::new();
    repo.0.write("answer.txt", "the user's work");
    repo.0.write("notes.rs", "untracked");
    repo.start("s1");
    repo.0.git(&["checkout", "-q", "answer.txt"]);
    fs::remove_file(repo.dir().join("notes.rs")).unwrap();
    repo.stop("s1");
    assert_eq!(repo.record().files_changed, ["answer.txt", "notes.rs"]);
}

#[test]
fn records_inside_the_repository_are_no_change() {
    let repo = Repo::new();
    let link = repo.0.out.join("link");
    std::os::unix::fs::symlink(repo.dir(), &link).unwrap();
    for (at, dir) in ["records".to_owned(), link.join("out").display().to_string(), ".".to_owned()].iter().enumerate() {
        let env = [("REFLECTION_DIR", dir.as_str())];
        let session = format!("s{at}");
        repo.hook(&["session-start"], &repo.payload(&session, json!({})), &env);
        for prompt in ["1", "2"] {
            repo.0.write(&format!("{session}-{prompt}.rs"), "x");
            let more = json!({ "prompt_id": prompt, "cwd": link });
            repo.hook(&["stop"], &repo.payload(&session, more), &env);
        }
        let mut found = files(&repo.dir().join(dir));
        found.retain(|file| file.to_string_lossy().ends_with(".reflection.json"));
        found.sort();
        let last: Capture = serde_json::from_slice(&fs::read(found.last().unwrap()).unwrap()).unwrap();
        assert_eq!(last.files_changed, [format!("{session}-1.rs"), format!("{session}-2.rs")], "{dir}");
    }
}

#[test]
fn a_directory_that_is_gone_is_said_and_the_next_best_is_looked_at() {
    let repo = Repo::new();
    repo.start("s1");
    repo.0.write("a.rs", "x");
    let gone = repo.dir().join("gone");
    let payload = json!({ "session_id": "s1", "cwd": gone }).to_string();
    let mut command = repo.command(&["stop"], &[("CLAUDE_PROJECT_DIR", repo.dir().to_str().unwrap())]);
    command.current_dir(&repo.0.out);
    Ran::of(command, &payload).exits(0).says("no_directory: ").says("gone is not there");
    assert_eq!(repo.record().files_changed, ["a.rs"]);
    assert!(repo.record().provenance.degraded_reason.unwrap().starts_with("no_directory: "));
}

#[test]
fn a_project_says_from_which_score_on_its_sessions_need_review() {
    let repo = Repo::new();
    repo.0.config(|config| config["risk"] = json!({ "threshold": 0.9 }));
    repo.start("s1");
    repo.0.write("Dockerfile", "FROM scratch");
    let stop = |prompt: &str, env: &[(&str, &str)]| {
        let ran = repo.hook(&["stop"], &repo.payload("s1", json!({ "prompt_id": prompt })), env);
        let needs: Vec<bool> = repo.records().iter().map(|record| record.risk.needs_review).collect();
        (ran.stderr, *needs.last().unwrap())
    };
    assert_eq!(stop("1", &[]), (String::new(), false));
    assert_eq!(stop("2", &[("REFLECTION_RISK_THRESHOLD", "")]), (String::new(), false));
    assert_eq!(stop("3", &[("REFLECTION_RISK_THRESHOLD", "0.8")]), (String::new(), true));
    // An agent that eases it is judged by the built-in one.
    repo.0.config(|config| config["risk"] = json!({ "threshold": 1 }));
    let (said, needs) = stop("4", &[]);
    assert!(needs && said.contains("invalid_threshold: the project's settings changed"), "{said}");
}

#[test]
fn old_sessions_are_forgotten() {
    let repo = Repo::new();
    let sessions = repo.dir().join(".reflection/sessions");
    for session in ["old", "alive", "new"] {
        repo.start(session);
    }
    let age = |name: &str| {
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(31 * 24 * 3600);
        fs::File::options().write(true).open(sessions.join(name)).unwrap().set_modified(old).unwrap();
    };
    fs::write(sessions.join("mine.txt"), "").unwrap();
    // A lock is as old as its session's first hook.
    ["old.json", "old.lock", "alive.lock", "mine.txt"].into_iter().for_each(age);
    repo.start("another");
    let mut left: Vec<String> =
        files(&sessions).iter().map(|file| file.file_name().unwrap().to_string_lossy().into_owned()).collect();
    left.sort();
    let expected = ["alive.json", "alive.lock", "another.json", "another.lock", "mine.txt", "new.json", "new.lock"];
    assert_eq!(left, expected);
}

#[test]
fn a_stop_is_recorded_once() {
    let repo = Repo::new();
    repo.start("s1");
    let stop = |prompt: &str, again: bool| {
        repo.hook(&["stop"], &repo.payload("s1", json!({ "prompt_id": prompt, "stop_hook_active": again })), &[])
    };
    repo.0.write("a.rs", "x");
    for _ in 0..3 {
        stop("p1", false);
    }
    assert_eq!(repo.record().files_changed, ["a.rs"]);
    stop("p1", true);
    assert_eq!(repo.record().provenance.reflection_attempt, 1);
    // Another hook sent it back to work: the same stop, with more.
    repo.0.write("b.rs", "x");
    stop("p1", true);
    let record = repo.record();
    assert_eq!((record.files_changed.len(), record.provenance.reflection_attempt), (2, 2));
    stop("p2", false);
    assert_eq!(repo.records().len(), 2, "another prompt is another stop");
    repo.0.write("c.rs", "x");
    stop("p3", true);
    assert_eq!(repo.records().len(), 3, "the first stop of this prompt was not seen, and p2's record stays");
    let new = Repo::new();
    new.hook(&["stop"], &new.payload("s1", json!({ "stop_hook_active": true })), &[]);
    assert_eq!(new.records().len(), 1, "nothing was recorded before");
}

#[test]
fn what_stands_in_a_session_file_harms_nobody() {
    let at = "2026-11-22T10:00:00Z";
    let repo = Repo::new();
    let victim = repo.0.out.join("victim.reflection.json");
    repo.0.write("mine.reflection.json", "precious");
    fs::write(&victim, "precious").unwrap();
    let option = format!("--output={}", victim.display());
    for record in [victim.to_str().unwrap(), "../../mine.reflection.json", "../sessions/s1.json"] {
        let last = json!({ "record": record, "state": "other", "turn": "", "captures": 1 });
        let session = json!({ "start": { "head": option, "dirty": {}, "at": at }, "last": last });
        repo.0.write(".reflection/sessions/s1.json", session.to_string());
        let payload = repo.payload("s1", json!({ "stop_hook_active": true }));
        repo.hook(&["stop"], &payload, &[]).says("no_session_start");
    }
    assert_eq!(repo.records().len(), 3);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(repo.0.read("mine.reflection.json"), b"precious");
    assert!(repo.dir().join(".reflection/sessions/s1.json").is_file());
}

#[test]
fn links_and_pipes_in_the_way_are_not_followed() {
    for place in [".reflection", ".reflection/reflections", ".reflection/sessions"] {
        let repo = Repo::new();
        let elsewhere = repo.0.out.join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let place = repo.dir().join(place);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &place).unwrap();
        repo.stop("s").says("is a symbolic link where a directory belongs");
        assert_eq!(files(&elsewhere).len(), 0, "{}", place.display());
    }
    for (name, said) in [("s.lock", "is a pipe where a file belongs"), ("s.json", "no_session_start")] {
        let repo = Repo::new();
        let dir = repo.dir().join(".reflection/sessions");
        fs::create_dir_all(&dir).unwrap();
        assert!(Command::new("mkfifo").arg(dir.join(name)).status().unwrap().success());
        repo.stop("s").says(said);
    }
}

#[test]
fn one_record_of_an_attempt_is_final() {
    let repo = Repo::new();
    let attempt = |session: &str, number: &str| {
        let env = [
            ("REFLECTION_MODE", "orchestrated"),
            ("REFLEXION_RUN_ID", "r1"),
            ("REFLEXION_ATTEMPT", number),
            ("REFLECTION_TASK_REF", "fix-dates"),
            ("REFLECTION_AGENT", "mine"),
            ("REFLECTION_RISK_THRESHOLD", "0"),
        ];
        repo.hook(&["stop", "--agent", "claude"], &repo.payload(session, json!({})), &env);
    };
    for (at, (session, number)) in [("s1", "1"), ("s1", "1"), ("s2", "1"), ("s3", "2")].into_iter().enumerate() {
        repo.0.write(&format!("{at}.rs"), "x");
        attempt(session, number);
    }
    let records = repo.records();
    assert_eq!(records.len(), 4);
    let of = |number: u32| records.iter().filter(move |r| r.provenance.attempt == Some(number));
    let finals: Vec<&str> =
        records.iter().filter(|r| r.provenance.is_final == Some(true)).map(|r| &*r.session_id).collect();
    assert_eq!((of(1).count(), of(2).count(), finals), (3, 1, vec!["s2", "s3"]));
    assert!(records.iter().all(|r| r.provenance.is_final.is_some() && r.provenance.run.as_deref() == Some("r1")));
    assert!(records.iter().all(|r| r.agent == "mine" && r.task_ref == "fix-dates" && r.risk.needs_review));
    repo.hook(&["stop"], &repo.payload("s9", json!({})), &[("REFLECTION_MODE", "orchestrated")]).says("no_run");
}

#[test]
fn the_records_of_a_run_are_bound_to_its_attempts() {
    let agent = format!(
        "if [ $REFLEXION_ATTEMPT = 1 ]; then echo almost > answer.txt; else {RIGHT}; fi; \
         echo '{{\"session_id\":\"'$REFLEXION_SESSION_ID'\",\"confidence\":0.'$REFLEXION_ATTEMPT'}}' > \"$REFLECTION_INPUT\"; \
         echo '{{\"session_id\":\"own-'$REFLEXION_ATTEMPT'\"}}' | {} hook stop; env > $OUT/env",
        env!("CARGO_BIN_EXE_reflexion")
    );
    let repo = Repo(Project::new(&agent));
    let ran = repo.0.run(&["run", "--json"]);
    ran.exits(0);
    let records = repo.records();
    let finals: Vec<&Capture> = records.iter().filter(|r| r.provenance.is_final == Some(true)).collect();
    assert_eq!((records.len(), finals.len()), (4, 2), "{records:#?}\n{}", ran.stderr);
    let run = repo.0.told("env").lines().find_map(|l| l.strip_prefix("REFLEXION_RUN_ID=").map(str::to_owned)).unwrap();
    for attempt in [1, 2] {
        let own = finals.iter().find(|r| r.provenance.attempt == Some(attempt)).unwrap();
        assert_eq!(own.provenance.run.as_deref(), Some(&*run));
        assert_eq!((own.task_ref.as_str(), own.agent.as_str()), ("a", "sh"));
        assert_eq!((own.confidence, own.files_changed.len()), (Some(f64::from(attempt) / 10.0), 1));
        assert!(!own.provenance.degraded);
        let hook = records.iter().find(|r| r.session_id == format!("own-{attempt}")).unwrap();
        assert_eq!((hook.provenance.attempt, hook.provenance.is_final), (Some(attempt), Some(false)));
        assert_eq!(hook.confidence, own.confidence, "the hook knows the session by the runtime's name of it");
    }
    schema_holds(&repo.values());
}

#[test]
fn whatever_comes_in_the_session_goes_on() {
    let huge = format!("{{\"session_id\":\"s\",\"x\":\"{}\"}}", "y".repeat(17 << 20));
    for (stdin, reason) in [
        ("", "invalid_payload: it is empty"),
        ("{\"session_id\":\"s", "invalid_payload: EOF"),
        ("Done.", "invalid_payload: "),
        ("[]", "invalid_payload: it is no JSON object"),
        ("{\"session_id\":7}", "invalid_payload: `session_id` is no text"),
        (huge.as_str(), "invalid_payload: it is larger than 16 MiB"),
    ] {
        let repo = Repo::new();
        repo.0.write("a.rs", "x");
        repo.hook(&["stop"], stdin, &[]).says(reason);
        let record = repo.record();
        assert_eq!((record.session_id.as_str(), record.provenance.degraded), ("unknown", true));
        assert!(record.provenance.degraded_reason.unwrap().starts_with(reason));
        assert_eq!(record.files_changed, ["a.rs"]);
        // Once more is said once more: nobody knows whether it is the same stop.
        repo.hook(&["stop"], stdin, &[]).says(reason);
        assert_eq!(repo.records().len(), 2);
    }
    let repo = Repo::new();
    repo.stop("../../../out/../\n\u{0}x/'$(touch y)'");
    repo.stop(&"long".repeat(1000));
    assert_eq!(repo.records().len(), 2);
    assert!(files(&repo.dir().join(".reflection/reflections")).iter().all(|f| f.to_string_lossy().contains("/h-")));
}

#[test]
fn every_repository_is_looked_at_as_it_is() {
    let none = Repo(Project::without_git("true"));
    none.stop("s").says("no_repository");
    assert_eq!(
        (none.record().risk.reason.as_str(), none.record().repo.as_str()),
        ("which files were changed is not known", "project")
    );

    let detached = Repo::new();
    detached.0.git(&["checkout", "-q", "--detach"]);
    detached.start("s");
    detached.0.write("a.rs", "x");
    detached.0.commit();
    detached.stop("s");
    let record = detached.record();
    assert_eq!((record.files_changed.clone(), record.provenance.degraded), (vec!["a.rs".to_owned()], false));
    assert!(record.task_ref.starts_with("project#") && record.task_ref.len() == 20, "{}", record.task_ref);

    let unborn = Repo(Project::without_git("true"));
    unborn.0.git(&["init", "-q", "-b", "main"]);
    unborn.start("s");
    unborn.0.write("a.rs", "x");
    unborn.stop("s");
    assert_eq!(
        (unborn.record().files_changed.clone(), unborn.record().provenance.base_commit),
        (vec!["a.rs".to_owned()], None)
    );
    unborn.0.git(&["add", "a.rs"]);
    unborn.0.git(&["commit", "-q", "-m", "first"]);
    unborn.hook(&["stop"], &unborn.payload("s", json!({"prompt_id": "2"})), &[]);
    assert!(unborn.records().iter().all(|r| r.files_changed == ["a.rs"] && !r.provenance.degraded));

    let shallow = Repo::new();
    shallow.0.commit();
    let source = format!("file://{}", shallow.dir().display());
    shallow.0.git(&["clone", "-q", "--depth", "1", &source, "clone"]);
    let clone = shallow.dir().join("clone");
    fs::write(clone.join("a.rs"), "x").unwrap();
    let payload = json!({ "session_id": "s", "cwd": clone }).to_string();
    shallow.hook(&["stop"], &payload, &[]).says("no_session_start");
    let found = files(&clone.join(".reflection/reflections"));
    let record: Capture = serde_json::from_slice(&fs::read(&found[0]).unwrap()).unwrap();
    assert_eq!((record.files_changed, record.repo.as_str()), (vec!["a.rs".to_owned()], "clone"));
}

#[test]
fn submodules_and_odd_names_are_files_like_others() {
    let repo = Repo::new();
    let inner = Repo::new();
    let source = inner.dir().display().to_string();
    repo.0.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", &source, "inner"]);
    repo.0.commit();
    repo.start("s");
    repo.0.write("inner/answer.txt", "dirty");
    let odd = std::ffi::OsStr::from_bytes(b"odd-\xff\n.rs");
    fs::write(repo.dir().join(odd), "x").unwrap();
    repo.0.write("blob.bin", b"\0\x01\xff");
    repo.stop("s");
    assert_eq!(repo.record().files_changed, ["blob.bin", "inner/", "odd-\u{fffd}\n.rs"]);
    assert_eq!(repo.record().risk.surface.as_str(), "build");
    // What was dirty inside before counts again once it is committed there.
    repo.start("u");
    repo.hook(&["stop"], &repo.payload("u", json!({})), &[]);
    repo.0.git(&["-C", "inner", "commit", "-q", "-a", "-m", "more"]);
    repo.hook(&["stop"], &repo.payload("u", json!({ "prompt_id": "2" })), &[]);
    let of_u: Vec<_> = repo.records().into_iter().filter(|r| r.session_id == "u").map(|r| r.files_changed).collect();
    assert_eq!(of_u, [vec![], vec!["inner/".to_owned()]]);
    // From a directory further down, and inside the submodule.
    let payload = json!({ "session_id": "t", "cwd": repo.dir().join("inner") }).to_string();
    repo.hook(&["stop"], &payload, &[]);
    assert_eq!(files(&repo.dir().join("inner/.reflection/reflections")).len(), 1);
}

#[test]
fn a_directory_that_takes_no_record_costs_the_record() {
    let repo = Repo::new();
    // Root may write everywhere; a file in the way stops everybody.
    fs::write(repo.dir().join(".reflection"), "in the way").unwrap();
    repo.stop("s").says("the record could not be written").says("/.reflection");
    repo.hook(&["session-start"], &repo.payload("s", json!({})), &[]).says("reflexion hook: ");
    let other = repo.0.out.join("records");
    let env = [("REFLECTION_DIR", other.to_str().unwrap())];
    repo.hook(&["stop"], &repo.payload("s", json!({})), &env).says("no_session_start");
    assert_eq!(files(&other).iter().filter(|f| f.extension().is_some_and(|e| e == "json")).count(), 1);
}

#[test]
fn two_hooks_of_one_session_at_once_make_one_record() {
    let repo = Repo::new();
    repo.start("s");
    repo.0.write("a.rs", "x");
    let payload = repo.payload("s", json!({}));
    let runs: Vec<Ran> = std::thread::scope(|scope| {
        let hooks: Vec<_> = (0..6).map(|_| scope.spawn(|| repo.hook(&["stop"], &payload, &[]))).collect();
        hooks.into_iter().map(|hook| hook.join().unwrap()).collect()
    });
    assert!(runs.iter().all(|ran| ran.stderr.is_empty() || ran.stderr.contains("another hook")), "{runs:?}");
    assert_eq!(repo.record().files_changed, ["a.rs"]);
}

#[test]
fn a_session_before_that_dies_leaves_no_lock() {
    let repo = Repo::new();
    repo.0.write(".reflection/sessions/s.lock", "");
    repo.0.write(".reflection/sessions/s.json", "{\"start\": broken");
    repo.stop("s").says("no_session_start");
    repo.record();
}

/// Every record is checked by a validator that knows nothing of us: Python's `jsonschema`, in an environment of its own.
fn schema_holds(records: &[Value]) {
    const CHECK: &str = "
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
records = json.load(sys.stdin)
for record in records:
    validator.validate(record)
for change in [{'new': 1}, {'schema': 'reflection.v2'}, {'confidence': 1.5}, {'risk': None}, {'files_changed': 'x'}]:
    assert not validator.is_valid({**records[0], **change}), change
worse = json.loads(json.dumps(records[0])); worse['provenance']['new'] = 1
assert not validator.is_valid(worse)
print(len(records), 'records hold')
";
    let venv = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("jsonschema");
    let python = venv.join("bin/python");
    let run = |program: &Path, args: &[&str], stdin: String| {
        let mut command = assert_cmd::Command::new(program);
        command.args(args).write_stdin(stdin).timeout(std::time::Duration::from_secs(240)).output()
    };
    let succeeds = |program: &Path, args: &[&str]| run(program, args, String::new()).is_ok_and(|o| o.status.success());
    let there = succeeds(&python, &["-c", "import jsonschema"])
        || (succeeds("python3".as_ref(), &["-m", "venv", venv.to_str().unwrap()])
            && succeeds(&python, &["-m", "pip", "install", "-q", "jsonschema==4.25.1"]));
    if !there {
        return eprintln!("SKIPPED: Python's jsonschema could not be installed, so no record is validated with it");
    }
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/config/reflection.v1.schema.json");
    let output = run(&python, &["-c", CHECK, schema], Value::from(records).to_string()).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
