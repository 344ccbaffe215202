//! What a repository names is not started, and nobody gets a key, before a person trusts it.

use crate::project::Project;
use crate::project::Ran;
use crate::project::task_with_check;
use serde_json::Value;
use serde_json::json;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::process::Stdio;

/// A program that leaves a mark, and then does what it is for.
fn marks(name: &str, then: &str) -> String {
    format!("touch \"$OUT/{name}\"; {then}")
}

fn sh(name: &str, then: &str) -> Value {
    json!(["sh", "-c", marks(name, then)])
}

/// A project in which everything that can name a program names one.
fn stranger() -> Project {
    let project = Project::new(&marks("agent", "echo right > answer.txt"));
    let wrap = project.out.join("wrap");
    fs::write(&wrap, "#!/bin/sh\ntouch \"$OUT/sandbox\"\nexec \"$@\"\n").unwrap();
    fs::set_permissions(&wrap, fs::Permissions::from_mode(0o755)).unwrap();
    project.config(|c| {
        c["checks"] = json!([{ "name": "tests", "run": marks("check", "true") }]);
        c["setup"] = json!(marks("setup", "true"));
        c["sandbox"] = json!({ "command": [wrap] });
        c["agents"]["labels"] = json!({ "hard": "cli" });
        c["agents"]["cli"] = json!({ "type": "claude", "argv": sh("version", "true") });
        c["verification"] = json!({ "judge": { "type": "command", "argv": sh("judge", "cat > /dev/null") } });
        c["reflexion"] = json!({ "generator": { "type": "command", "argv": sh("generator", "cat > /dev/null") } });
        c["notify"] = json!([{ "type": "command", "argv": sh("notice", "cat > /dev/null") }]);
    });
    project.tasks(&[task_with_check("a", &marks("own-check", "grep -qx right answer.txt"))]);
    project
}

/// The same with every program that git itself would start.
fn hostile_git(project: &Project) {
    project.write("data.bin", "1\n");
    project.write(".gitattributes", "*.bin filter=one diff=one\n*.txt filter=a=b diff=one\n");
    project.commit();
    let program = |name: &str| format!("touch '{}/{name}'; cat", project.out.display());
    for (key, value) in [
        ("filter.one.clean", program("clean")),
        ("filter.one.smudge", program("smudge")),
        ("filter.one.process", program("process")),
        ("filter.one.required", "true".to_owned()),
        ("filter.a=b.clean", program("clean-odd")),
        ("diff.external", program("external")),
        ("diff.one.textconv", program("textconv")),
        ("diff.one.command", program("driver")),
        ("core.fsmonitor", program("fsmonitor")),
        ("core.sshCommand", program("ssh")),
        ("core.pager", program("pager")),
        ("core.editor", program("editor")),
        ("core.askPass", program("askpass")),
        ("credential.helper", format!("!{}", program("credential"))),
        ("gpg.program", program("gpg")),
        ("log.showSignature", "true".to_owned()),
        ("remote.origin.url", "ssh://stranger.invalid/repository".to_owned()),
        ("remote.origin.promisor", "true".to_owned()),
        ("remote.origin.partialclonefilter", "blob:none".to_owned()),
    ] {
        project.git(&["config", key, &value]);
    }
    // Something that differs, so that git has to read it, and something that is only there with the promisor.
    project.write("data.bin", "2\n");
    project.write("answer.txt", "other\n");
    let blob = project.git(&["rev-parse", "HEAD~1:project.json"]);
    let blob = blob.trim();
    let _ = fs::remove_file(project.dir.join(".git/objects").join(&blob[..2]).join(&blob[2..]));
}

fn untrusted(project: &Project, args: &[&str]) -> Command {
    let mut command = project.command(args);
    command.env_remove("REFLEXION_TRUST");
    command
}

fn ran(project: &Project, args: &[&str]) -> Ran {
    Ran::of(untrusted(project, args), "")
}

/// What left a mark.
fn marked(project: &Project) -> Vec<String> {
    let names = fs::read_dir(&project.out).unwrap().flatten().map(|e| e.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name != "wrap" && !name.starts_with("strace")).collect();
    names.sort();
    names
}

/// Commands that only look.
const LOOKING: [&[&str]; 19] = [
    &["status"],
    &["report"],
    &["memory", "list"],
    &["task", "list"],
    &["task", "ready"],
    &["task", "show", "a"],
    &["transcript", "list"],
    &["judge", "../transcript.json"],
    &["judge", "--dir", ".", "--json", "../transcript.json"],
    &["risk"],
    &["risk", "--base", "HEAD~1"],
    &["analyze", "git-history"],
    &["doctor"],
    &["config", "show"],
    &["run", "--dry-run"],
    &["init", "--dry-run"],
    &["trust", "--show"],
    &["hook", "session-start", "--verify"],
    &["hook", "stop", "--verify"],
];

#[test]
fn who_looks_at_a_strangers_project_starts_nothing_of_it() {
    let project = stranger();
    hostile_git(&project);
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    host.set_nonblocking(true).unwrap();
    let model = json!({ "type": "completion", "provider": "openai", "model": "m",
        "baseUrl": format!("http://{}/v1", host.local_addr().unwrap()), "keyEnv": "OPENAI_API_KEY" });
    let mut settings: Value = serde_json::from_slice(&project.read("project.json")).unwrap();
    settings["agents"]["labels"]["easy"] = json!("model");
    settings["agents"]["model"] = model;
    project.write("project.json", settings.to_string());
    let transcript = project.dir.with_file_name("transcript.json");
    fs::write(transcript, r#"{"task":"Add a file","tools":[],"response":"It is done, I think."}"#).unwrap();
    let traced = Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    if !traced {
        eprintln!("SKIPPED: strace is not there, so what is started is seen by its marks alone");
    }
    for args in LOOKING {
        let plain = untrusted(&project, args);
        let mut command = if traced { project.program("strace") } else { untrusted(&project, args) };
        if traced {
            let trace = project.out.join("strace");
            command.args(["-f", "-qq", "-e", "trace=execve,connect", "-s", "300", "-o"]).arg(trace);
            command.arg(plain.get_program()).args(plain.get_args());
        }
        command.env("REFLECTION_MODE", "solo").env("OPENAI_API_KEY", "sk-of-the-user").env_remove("REFLEXION_TRUST");
        let payload = json!({ "session_id": "s", "cwd": project.dir, "transcript_path": project.dir.with_file_name("transcript.json") });
        let said = Ran::of(command, &payload.to_string());
        assert_eq!(marked(&project), Vec::<String>::new(), "{args:?}: {} {}", said.stdout, said.stderr);
        assert!(host.accept().is_err(), "{args:?} connects to a host that the project names");
        if traced {
            let trace = fs::read_to_string(project.out.join("strace")).unwrap();
            let started = trace.lines().filter(|line| line.contains("execve(") && line.ends_with("= 0"));
            let strange = started.filter(|line| {
                let program = line.split('"').nth(1).unwrap_or_default();
                !["/reflexion", "/git", "/systemd-inhibit"].iter().any(|known| program.ends_with(known))
            });
            assert_eq!(strange.collect::<Vec<_>>(), Vec::<&str>::new(), "{args:?}");
            let connects = trace.lines().any(|line| line.contains("connect(") && line.contains("AF_INET"));
            assert!(!connects, "{args:?} connects: {trace}");
        }
    }
    // What was looked at is really seen.
    let risk = ran(&project, &["risk", "--json"]);
    assert!(risk.stdout.contains("data.bin") && risk.stdout.contains("answer.txt"), "{}", risk.stdout);
    let judged = ran(&project, &["judge", "../transcript.json"]);
    assert!(judged.stderr.contains("is not trusted"), "{}", judged.stderr);
    // In a clone of one's own all of it works.
    let own = ran(&project, &["trust"]);
    assert_eq!(own.code, Some(0), "{}", own.stderr);
    ran(&project, &["judge", "../transcript.json"]);
    assert_eq!(marked(&project), ["judge"]);
    ran(&project, &["doctor"]);
    assert_eq!(marked(&project), ["judge", "sandbox", "version"]);
}

#[test]
fn a_run_says_what_it_would_start_and_starts_it_once_it_is_trusted() {
    let project = stranger();
    for args in [&["run"][..], &["overnight"], &["doctor", "--checks"], &["notify", "test"]] {
        let refused = ran(&project, args);
        assert_eq!((refused.code, marked(&project)), (Some(4), Vec::new()), "{args:?}: {}", refused.stderr);
    }
    let refused = ran(&project, &["run"]).stderr;
    for named in [
        "checks[0]",
        "setup",
        "agents.sh",
        "verification.judge",
        "notify[0]",
        "sandbox",
        "task a, check",
        "reflexion trust",
    ] {
        assert!(refused.contains(named), "{named}: {refused}");
    }
    // One that stops nothing is refused before anything begins.
    project.config(|c| c["sandbox"] = json!("none"));
    let run = ran(&project, &["run", "--trust"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for name in ["agent", "check", "own-check", "setup"] {
        assert!(marked(&project).contains(&name.to_owned()), "{name}: {:?}", marked(&project));
    }
    // Asked once, and never again for what stays as it is or is of no account.
    project.config(|c| c["maxAttempts"] = json!(5));
    assert_eq!(ran(&project, &["run", "--again"]).code, Some(0));
    assert_eq!(ran(&project, &["trust", "--show"]).code, Some(0));
    project.config(|c| c["checks"][0]["run"] = json!("true # other"));
    let shown = ran(&project, &["trust", "--show"]);
    assert_eq!(shown.code, Some(1));
    assert!(shown.stdout.contains("+ checks[0]") && shown.stdout.contains("trusted was"), "{}", shown.stdout);
    assert_eq!(ran(&project, &["run", "--again"]).code, Some(4));
    assert_eq!(ran(&project, &["trust"]).code, Some(0));
    assert_eq!(ran(&project, &["run", "--again"]).code, Some(0));
    assert_eq!(ran(&project, &["trust", "--revoke"]).code, Some(0));
    assert_eq!(ran(&project, &["run", "--again"]).code, Some(4));
    // For one call, and nothing is kept of it.
    let mut once = untrusted(&project, &["run", "--again"]);
    once.env("REFLEXION_TRUST", "1");
    assert_eq!(Ran::of(once, "").code, Some(0));
    assert_eq!(ran(&project, &["run", "--again"]).code, Some(4));
}

#[test]
fn one_task_that_nobody_trusts_is_set_aside_and_the_night_goes_on() {
    let project = Project::new("echo right > answer.txt");
    assert_eq!(ran(&project, &["trust"]).code, Some(0));
    let check = |name: &str| format!("touch \"$OUT/{name}\"; grep -qx right answer.txt");
    project.tasks(&[task_with_check("pulled", &check("pulled"))]);
    let all = ran(&project, &["overnight"]);
    assert_eq!((all.code, marked(&project)), (Some(4), Vec::new()), "{}", all.stderr);
    let added = ran(&project, &["task", "add", "Mine", "--id", "mine", "--check", &check("mine")]);
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    let night = ran(&project, &["overnight", "--json", "--new"]);
    assert_eq!(night.code, Some(1), "{}", night.stderr);
    let night: Value = serde_json::from_str(&night.stdout).unwrap();
    let by_id = |id: &str| night["tasks"].as_array().unwrap().iter().find(|task| task["id"] == id).unwrap().clone();
    assert_eq!(by_id("mine")["verdict"], "confirmed");
    let cause = by_id("pulled")["cause"].as_str().unwrap_or_default().to_owned();
    assert!(cause.starts_with("untrusted: ") && cause.contains("reflexion trust"), "{cause}");
    assert_eq!(marked(&project), ["mine"]);
    // Who writes a task's title has not looked at its check; who writes the check has.
    assert_eq!(ran(&project, &["task", "edit", "pulled", r#"{"priority":0}"#]).code, Some(0));
    assert_eq!(ran(&project, &["run", "pulled"]).code, Some(4));
    let fields = json!({ "checks": [{ "name": "x", "run": check("edited") }] }).to_string();
    assert_eq!(ran(&project, &["task", "edit", "pulled", &fields]).code, Some(0));
    assert_eq!(ran(&project, &["run", "pulled"]).code, Some(0));
    assert_eq!(marked(&project), ["edited", "mine"]);
}

#[test]
fn what_a_person_writes_with_init_is_trusted_and_what_was_there_before_is_not() {
    let project = Project::new("true");
    fs::remove_file(project.dir.join("project.json")).unwrap();
    project.write("Makefile", "test:\n\t@touch \"$$OUT/made\"\n");
    project.write("config/reflexion.json", json!({ "setup": marks("setup", "true") }).to_string());
    project.tasks(&[task_with_check("a", &marks("own-check", "true"))]);
    assert_eq!(ran(&project, &["init"]).code, Some(0));
    let shown: Value = serde_json::from_str(&ran(&project, &["trust", "--show", "--json"]).stdout).unwrap();
    let trusted = |place: &str| {
        let items = shown["items"].as_array().unwrap();
        items
            .iter()
            .filter(|item| item["place"].as_str().unwrap().starts_with(place))
            .all(|item| item["trusted"] == true)
    };
    assert!(trusted("checks") && trusted("agents"), "{shown}");
    assert!(!trusted("setup") && !trusted("task a"), "{shown}");
}
