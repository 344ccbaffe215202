//! What a repository names is not started, and nobody gets a key, before a person trusts it.

use crate::project::{Project, Ran, task, task_with_check};
use rustix::fs::OFlags;
use rustix::pty::OpenptFlags;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

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
        ("hook.a=b.command", program("hook")),
        ("hook.a=b.event", "post-index-change".to_owned()),
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

/// Git 2.54 starts hooks that settings name, which `core.hooksPath` does not turn off. Which git is installed here is not known, so one before
/// it says what that one would do.
#[test]
fn no_hook_that_gits_settings_name_runs_when_a_run_writes_to_the_repository() {
    let project = Project::new("echo right > answer.txt");
    project.git(&["config", "hook.a=b.command", "true"]);
    project.git(&["config", "hook.a=b.event", "reference-transaction"]);
    let bin = project.out.join("bin");
    fs::create_dir(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    let git = r#"#!/bin/sh
PATH=${PATH#*:}
[ "$1" = version ] && { echo git version 2.54.0; exit; }
for word; do
    case $word in update-ref | fetch | read-tree | checkout | reset | apply)
        events=$(git config --get-all hook.a=b.event) && {
            last=$(git config --get-all hook.a=b.event | tail -n 1)
            touch "$OUT/${last:-kept}"
        }
    esac
done
exec git "$@"
"#;
    fs::write(bin.join("git"), git).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut run = project.command(&["run"]);
    run.env("PATH", format!("{}:{path}", bin.display()));
    Ran::of(run, "").exits(0);
    assert!(project.out.join("kept").exists(), "git was called so that it could run");
    assert!(!project.out.join("reference-transaction").exists());
}

/// What left a mark.
fn marked(project: &Project) -> Vec<String> {
    let names = fs::read_dir(&project.out).unwrap().flatten().map(|e| e.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name != "wrap" && !name.starts_with("strace")).collect();
    names.sort();
    names
}

/// What a command is in somebody else's project.
enum Deed {
    /// Starts nothing and sends nothing, called like this.
    Looks(&'static [&'static [&'static str]]),
    /// Writes what its caller says into files, and starts nothing.
    Writes(&'static [&'static str]),
    /// Starts what the project names, once it is trusted.
    Acts(&'static [&'static str]),
}

/// All that the program can do. A new command has to be put here.
fn deeds() -> BTreeMap<&'static str, Deed> {
    use Deed::{Acts, Looks, Writes};
    BTreeMap::from([
        ("init", Looks(&[&["init", "--dry-run"]])),
        ("trust", Looks(&[&["trust", "--show"], &["trust", "--show", "--json"]])),
        ("run", Looks(&[&["run", "--dry-run"], &["run"]])),
        ("overnight", Acts(&["overnight"])),
        ("report", Looks(&[&["report"], &["report", "--json"], &["report", "--html"]])),
        ("status", Looks(&[&["status"], &["status", "--json"]])),
        ("watch", Looks(&[&["watch", "--once"], &["watch", "--json"]])),
        ("apply", Acts(&["apply", "a"])),
        ("task list", Looks(&[&["task", "list"]])),
        ("task ready", Looks(&[&["task", "ready"]])),
        ("task show", Looks(&[&["task", "show", "a"]])),
        ("task add", Writes(&["task", "add", "One more", "--id", "more"])),
        ("task edit", Writes(&["task", "edit", "more", r#"{"priority":0}"#])),
        ("task close", Writes(&["task", "close", "more"])),
        ("task reopen", Writes(&["task", "reopen", "more"])),
        ("task sync", Writes(&["task", "sync"])),
        ("transcript list", Looks(&[&["transcript", "list"]])),
        ("transcript show", Looks(&[&["transcript", "show"]])),
        (
            "judge",
            Looks(&[
                &["judge", "../transcript.json"],
                &["judge", "--dir", ".", "--json", "../transcript.json"],
                &["judge", "--kind", "stuck", "-"],
            ]),
        ),
        ("risk", Looks(&[&["risk"], &["risk", "--base", "HEAD~1"]])),
        ("memory list", Looks(&[&["memory", "list"], &["memory", "list", "--everywhere"]])),
        ("memory show", Looks(&[&["memory", "show", "none"]])),
        ("memory stats", Looks(&[&["memory", "stats"]])),
        ("memory rebuild", Writes(&["memory", "rebuild"])),
        (
            "memory search",
            Looks(&[
                &["memory", "search", "tasks.jsonl"],
                &["memory", "search", "--explain", "--task", "a", "tasks.jsonl"],
            ]),
        ),
        ("memory review", Looks(&[&["memory", "review"], &["memory", "review", "--json"]])),
        ("memory check", Looks(&[&["memory", "check"], &["memory", "check", "--json"]])),
        ("memory promote", Writes(&["memory", "promote", "none"])),
        ("memory retire", Writes(&["memory", "retire", "none"])),
        ("memory pin", Writes(&["memory", "pin", "none"])),
        ("memory unpin", Writes(&["memory", "unpin", "none"])),
        ("memory edit", Writes(&["memory", "edit", "none"])),
        ("memory add", Writes(&["memory", "add"])),
        ("memory prune", Writes(&["memory", "prune"])),
        ("memory export", Looks(&[&["memory", "export"], &["memory", "export", "--format", "markdown"]])),
        ("memory import", Writes(&["memory", "import", "../transcript.json"])),
        ("eval", Acts(&["eval", "suite.yaml"])),
        ("analyze calibration", Looks(&[&["analyze", "calibration"]])),
        ("analyze git-history", Looks(&[&["analyze", "git-history"]])),
        ("analyze board-history", Looks(&[&["analyze", "board-history", "../transcript.json"]])),
        ("config show", Looks(&[&["config", "show"]])),
        ("doctor", Looks(&[&["doctor"], &["doctor", "--checks"]])),
        ("notify test", Acts(&["notify", "test"])),
        ("hook session-start", Looks(&[&["hook", "session-start", "--verify"], &["hook", "session-start", "--learn"]])),
        ("hook prompt", Looks(&[&["hook", "prompt"]])),
        ("hook after-tool", Looks(&[&["hook", "after-tool"]])),
        ("hook stop", Looks(&[&["hook", "stop"], &["hook", "stop", "--verify"]])),
        ("hook install", Writes(&["hook", "install", "claude"])),
        ("hook uninstall", Writes(&["hook", "uninstall", "claude"])),
        ("completions", Looks(&[&["completions", "bash"]])),
    ])
}

/// The commands that the program says it has.
fn commands() -> BTreeSet<String> {
    let reference = reflexion::cli::reference();
    let rows = reference.lines().filter_map(|line| line.strip_prefix("| [`reflexion "));
    rows.filter_map(|row| Some(row.split_once('`')?.0.to_owned())).collect()
}

#[test]
fn every_command_is_known_here() {
    let known: BTreeSet<String> = deeds().into_keys().map(str::to_owned).collect();
    assert_eq!(commands(), known, "say in `deeds` what a new command does in somebody else's project");
}

/// Runs a command, and says what it started and where it connected to, as strace sees it; without strace nothing is said.
fn traced(project: &Project, args: &[&str], stdin: &str) -> (Ran, Vec<String>) {
    static THERE: LazyLock<bool> = LazyLock::new(|| {
        let there =
            Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
        if !there {
            // Past the harness, which shows only what a test that failed has printed.
            let said = "SKIPPED: strace is not there, so what looking commands start is seen by its marks alone\n";
            std::io::stderr().write_all(said.as_bytes()).unwrap();
        }
        there
    });
    let plain = untrusted(project, args);
    let trace = project.out.join("strace");
    let mut command = if *THERE { project.program("strace") } else { untrusted(project, args) };
    if *THERE {
        command.args(["-f", "-qq", "-e", "trace=execve,connect", "-s", "300", "-o"]).arg(&trace);
        command.arg(plain.get_program()).args(plain.get_args());
    }
    // Where a person has put the directory that they are in into their PATH.
    let path = format!(".:{}", std::env::var("PATH").unwrap());
    command.env("PATH", path).env("REFLECTION_MODE", "solo").env("OPENAI_API_KEY", "sk-of-the-user");
    command.env_remove("REFLEXION_TRUST");
    let said = Ran::of(command, stdin);
    let trace = fs::read_to_string(trace).unwrap_or_default();
    let mine = project.dir.parent().unwrap().to_str().unwrap();
    let is_strange = |line: &&str| {
        let program = line.split('"').nth(1).unwrap_or_default();
        let known = ["/reflexion", "/git", "/systemd-inhibit"].iter().any(|known| program.ends_with(known));
        let started = line.contains("execve(") && line.ends_with("= 0") && (!known || program.starts_with(mine));
        started || (line.contains("connect(") && line.contains("AF_INET"))
    };
    (said, trace.lines().filter(is_strange).map(str::to_owned).collect())
}

/// What a command may be given on stdin.
fn payload(project: &Project, args: &[&str]) -> String {
    match args {
        ["hook", ..] => json!({ "session_id": "s", "cwd": project.dir, "transcript_path": project.dir.with_file_name("transcript.json") }),
        ["memory", "add"] => json!({ "taskId": "a", "subtaskId": "a", "attemptNumber": 1, "category": "root_cause",
            "analysis": "It was wrong.", "suggestion": "Write right." }),
        _ => json!({ "output_tokens": 1 }),
    }
    .to_string()
}

/// What a stranger's project has in it when somebody clones or unpacks it: settings, git's configuration, a run of before.
fn hostile(host: &TcpListener) -> Project {
    let project = stranger();
    project.config(|c| c["sandbox"] = json!("none"));
    assert_eq!(project.run(&["run"]).code, Some(0));
    project.config(|c| {
        let model = json!({ "provider": "openai", "model": "m",
            "baseUrl": format!("http://{}/v1", host.local_addr().unwrap()), "keyEnv": "OPENAI_API_KEY" });
        c["models"]["theirs"] = model;
        c["agents"]["labels"]["easy"] = json!("model");
        c["agents"]["model"] = json!({ "type": "completion", "model": "theirs" });
        c["sandbox"] = json!({ "command": [project.out.join("wrap")] });
    });
    project.tasks(&[task_with_check("b", &marks("own-check", "true")), task_with_check("a", "true")]);
    project.write("git", "#!/bin/sh\ntouch \"$OUT/git-of-theirs\"\n");
    fs::set_permissions(project.dir.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    project.write("suite.yaml", "name: s\nkind: completion\ncases:\n- {id: a, description: a, input: {task: Do, tools: [], response: Done}, expect: {done: true, status: proven, complete: true}}\n");
    hostile_submodule(&project);
    hostile_git(&project);
    fs::write(
        project.dir.with_file_name("transcript.json"),
        r#"{"task":"Add a file","tools":[],"response":"It is done, I think."}"#,
    )
    .unwrap();
    for name in marked(&project) {
        fs::remove_file(project.out.join(name)).unwrap();
    }
    project
}

/// A submodule whose own configuration names programs; git hands the settings of a call on to it, and knows nothing of its filters.
fn hostile_submodule(project: &Project) {
    let inner = project.dir.join("lib/sub");
    fs::create_dir_all(&inner).unwrap();
    let git = |args: &[&str]| {
        let done = project.program("git").current_dir(&inner).args(args).output().unwrap();
        assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "-q", "-b", "main"]);
    fs::write(inner.join("file.bin"), "1\n").unwrap();
    fs::write(inner.join(".gitattributes"), "*.bin filter=two\n").unwrap();
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "one"]);
    for key in ["core.fsmonitor", "filter.two.clean", "filter.two.process"] {
        let name = key.replace('.', "-");
        git(&["config", key, &format!("touch '{}/sub-{name}'; cat", project.out.display())]);
    }
    fs::write(inner.join("file.bin"), "2\n").unwrap();
    project.write(".gitmodules", "[submodule \"sub\"]\n\tpath = lib/sub\n\turl = ./sub\n");
}

#[test]
fn who_looks_at_a_strangers_project_starts_nothing_of_it() {
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    host.set_nonblocking(true).unwrap();
    let project = hostile(&host);
    let check = |args: &[&str]| {
        let (said, strange) = traced(&project, args, &payload(&project, args));
        assert_eq!(marked(&project), Vec::<String>::new(), "{args:?}: {} {}", said.stdout, said.stderr);
        assert!(host.accept().is_err(), "{args:?} connects to a host that the project names");
        assert_eq!(strange, Vec::<String>::new(), "{args:?}: {} {}", said.stdout, said.stderr);
        assert!(said.code.is_some_and(|code| code < 5), "{args:?}: {said:?}");
        said
    };
    for (name, deed) in deeds() {
        match deed {
            Deed::Looks(all) => all.iter().for_each(|args| drop(check(args))),
            Deed::Writes(args) => drop(check(args)),
            Deed::Acts(args) => assert_eq!(check(args).code, Some(4), "{name}"),
        }
    }
    check(&["eval", "suite.yaml", "--judge", "none"]).prints("1 of 1");
    // What was looked at is really seen.
    let risk = ran(&project, &["risk", "--json"]);
    for file in ["data.bin", "answer.txt", "lib/sub"] {
        assert!(risk.stdout.contains(file), "{file}: {}", risk.stdout);
    }
    ran(&project, &["judge", "../transcript.json"]).says("is not trusted");
    // In a project of one's own all of it works.
    ran(&project, &["trust"]).exits(0);
    ran(&project, &["judge", "../transcript.json"]);
    assert_eq!(marked(&project), ["judge", "sandbox"]);
    ran(&project, &["doctor"]);
    assert_eq!(marked(&project), ["judge", "sandbox", "version"]);
}

#[test]
fn what_a_clone_has_left_out_is_not_fetched_to_look_at_it() {
    let project = stranger();
    hostile_git(&project);
    let head = project.git(&["rev-parse", "HEAD"]);
    let head = head.trim();
    fs::remove_file(project.dir.join(".git/objects").join(&head[..2]).join(&head[2..])).unwrap();
    // Git itself would: that is what this shows.
    let _ = project.program("git").args(["rev-parse", "HEAD^{commit}"]).output().unwrap();
    assert_eq!(marked(&project), ["ssh"]);
    fs::remove_file(project.out.join("ssh")).unwrap();
    for args in [&["risk"][..], &["analyze", "git-history"], &["doctor"], &["hook", "stop", "--verify"], &["status"]] {
        let (said, strange) = traced(&project, args, &payload(&project, args));
        assert_eq!((marked(&project), strange), (Vec::new(), Vec::new()), "{args:?}: {} {}", said.stdout, said.stderr);
        if matches!(args[0], "risk" | "analyze") {
            said.exits(4).says("left objects out");
        }
    }
}

#[test]
fn a_git_directory_among_the_files_starts_nothing_either() {
    let project = stranger();
    hostile_git(&project);
    // Elsewhere than people look, with another place of the files, and settings that are included.
    fs::rename(project.dir.join(".git"), project.dir.join("objects.git")).unwrap();
    project.write(".git", "gitdir: objects.git\n");
    let more = format!("[core]\n\tfsmonitor = touch {}/included\n", project.out.display());
    project.write("more.config", more);
    project.git(&["config", "include.path", "../more.config"]);
    project.git(&["config", "core.worktree", ".."]);
    for args in
        [&["risk"][..], &["doctor"], &["hook", "stop", "--verify"], &["analyze", "git-history"], &["trust", "--show"]]
    {
        let (said, strange) = traced(&project, args, &payload(&project, args));
        assert_eq!((marked(&project), strange), (Vec::new(), Vec::new()), "{args:?}: {} {}", said.stdout, said.stderr);
    }
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
    // Runs that are not begun yet are not gone.
    assert_eq!(ran(&project, &["trust"]).code, Some(0));
    let shown = ran(&project, &["trust", "--show"]).stdout;
    assert!(!shown.contains("- .reflection"), "{shown}");
    assert_eq!(ran(&project, &["trust", "--revoke"]).code, Some(0));
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
fn nothing_that_acts_hides_from_the_question() {
    let program = |name: &str| json!({ "type": "command", "argv": sh(name, "echo right > answer.txt") });
    // Whatever stands in a name: an agent is asked about.
    for name in ["odd[0m", "x\u{1b}[0m", "//", "$schema", "a.b", "default[0]", "", "\u{202e}x"] {
        let project = Project::new("true");
        project.config(|c| {
            c["checks"] = json!([]);
            c["agents"] = json!({ "default": name, name: program("ran") });
        });
        project.tasks(&[task("a")]);
        let shown = ran(&project, &["trust", "--show", "--json"]);
        if shown.code == Some(2) {
            // No name for an agent.
            continue;
        }
        let told: Value = serde_json::from_str(&shown.stdout).unwrap();
        let texts: Vec<&str> = told["items"].as_array().unwrap().iter().filter_map(|i| i["text"].as_str()).collect();
        assert!(texts.iter().any(|text| text.contains("/ran")), "{name:?}: {texts:?}");
        assert_eq!((ran(&project, &["run"]).code, marked(&project)), (Some(4), Vec::new()), "{name:?}");
    }
    // What looks like a secret is shown all the same, and by the rules of the project itself as well.
    let project = stranger();
    let hidden = format!("npm test # -----{} PRIVATE KEY-----\ntouch hidden-one\n# -----END PRIVATE KEY-----", "BEGIN");
    project.write("rules.toml", "[[rules]]\nid = \"ok\"\nregex = 'touch.*'\n");
    project.config(|c| {
        c["redaction"] = json!({ "rules": "rules.toml" });
        c["checks"] =
            json!([{ "name": "a", "run": hidden }, { "name": "b", "run": "machine h login m password hidden-two" }]);
    });
    for (args, all) in [(&["trust", "--show"][..], true), (&["trust", "--show", "--json"], true), (&["run"], false)] {
        let said = ran(&project, args);
        let text = if all { &said.stdout } else { &said.stderr };
        assert!(text.contains("touch hidden-one") && text.contains("password hidden-two"), "{args:?}: {text}");
    }
    // Until it is trusted, it says nowhere what is a secret and what is none.
    let token = ["gh", "p_", "k3Qv9TzR1mXw7LbYc5HnD2sPfJ8aGuE4tV6o"].concat();
    project.write("rules.toml", "[allowlist]\nregexes = ['.*']\n");
    project.tasks(&[json!({ "id": "a", "title": format!("Use {token}") })]);
    assert!(!ran(&project, &["task", "list"]).stdout.contains(&token));
}

#[test]
fn a_task_that_comes_after_the_start_is_not_trusted_with_the_rest() {
    let late = task_with_check("late", &marks("late", "true")).to_string();
    let script = format!("echo right > answer.txt; printf '%s\\n' {} >> \"$PROJECT/tasks.jsonl\"", shell_words(&late));
    let project = Project::new(&script);
    project.tasks(&[task("a")]);
    for (i, trusts) in [true, false].into_iter().enumerate() {
        project.tasks(&[task(&format!("a{i}"))]);
        let mut night = untrusted(&project, if trusts { &["overnight"] } else { &["overnight", "--trust"] });
        night.env("PROJECT", &project.dir);
        if trusts {
            night.env("REFLEXION_TRUST", "1");
        }
        let said = Ran::of(night, "");
        assert_eq!(marked(&project), Vec::<String>::new(), "{}{}", said.stdout, said.stderr);
        assert!(said.stdout.contains("late") || said.stderr.contains("late"), "{}{}", said.stdout, said.stderr);
    }
}

fn shell_words(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[test]
fn one_task_that_nobody_trusts_is_blocked_and_the_night_goes_on() {
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

/// Runs it on a terminal, where a person gives this answer; the exit code, and what they saw.
fn on_terminal(project: &Project, args: &[&str], answer: &str) -> (Option<i32>, String) {
    let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    rustix::pty::grantpt(&master).unwrap();
    rustix::pty::unlockpt(&master).unwrap();
    let name = rustix::pty::ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let not_ours = OFlags::NOCTTY.bits().cast_signed();
    let terminal = fs::File::options().read(true).write(true).custom_flags(not_ours).open(name).unwrap();
    let mut command = untrusted(project, args);
    command.stdin(terminal.try_clone().unwrap()).stdout(Stdio::null()).stderr(terminal);
    let mut child = command.spawn().unwrap();
    // Who has it open sees no end of it.
    drop(command);
    let mut master = fs::File::from(master);
    master.write_all(answer.as_bytes()).unwrap();
    let (mut seen, mut bytes) = (Vec::new(), [0; 4096]);
    while let Ok(n @ 1..) = master.read(&mut bytes) {
        seen.extend_from_slice(&bytes[..n]);
    }
    (child.wait().unwrap().code(), String::from_utf8_lossy(&seen).into_owned())
}

#[test]
fn on_a_terminal_a_person_is_asked_once() {
    let project = Project::new("echo right > answer.txt");
    for answer in ["\n", "n\n", "maybe\n", "\u{4}"] {
        let (code, seen) = on_terminal(&project, &["run"], answer);
        assert_eq!(code, Some(4), "{answer:?}: {seen}");
        assert!(seen.contains("+ agents.sh") && seen.contains("[y/N]"), "{answer:?}: {seen}");
    }
    let (code, seen) = on_terminal(&project, &["run"], "y\n");
    assert_eq!(code, Some(0), "{seen}");
    // What was not shown is not trusted by that.
    project.tasks(&[task("a"), task_with_check("closed", "true # nobody saw it")]);
    ran(&project, &["task", "close", "closed"]).exits(0);
    project.tasks(&[
        task("a"),
        task_with_check("closed", "true # nobody saw it"),
        task_with_check("new", "true # new"),
    ]);
    let (code, seen) = on_terminal(&project, &["run", "new"], "yes\n");
    assert!(seen.contains("# new") && !seen.contains("nobody saw") && !seen.contains("agents.sh"), "{seen}");
    assert_eq!(code, Some(0), "{seen}");
    let (code, seen) = on_terminal(&project, &["run", "new", "a", "--again"], "");
    assert!(!seen.contains("[y/N]"), "{seen}");
    assert_eq!(code, Some(0), "{seen}");
    ran(&project, &["run", "closed", "--again"]).exits(4);
    // One that is not to be trusted does not keep the others from being worked on.
    project.tasks(&[task("a"), task_with_check("odd", "true # odd")]);
    let (code, seen) = on_terminal(&project, &["run", "--again"], "n\n");
    assert!(code == Some(1) && seen.contains("untrusted"), "{code:?} {seen}");
}

/// A project that a colleague has set up, on somebody's first day with it.
#[test]
fn who_works_normally_is_asked_once_and_never_for_what_they_wrote() {
    let project = Project::new("echo right > answer.txt");
    ran(&project, &["doctor"]).exits(0);
    ran(&project, &["run"]).exits(4);
    ran(&project, &["run", "--trust"]).exits(0);
    ran(&project, &["task", "add", "Mine", "--id", "mine", "--check", "grep -q right answer.txt"]).exits(0);
    ran(&project, &["run", "mine"]).exits(0);
    // A colleague's memory, and what does not act.
    let lesson = json!({ "taskId": "a", "subtaskId": "a", "attemptNumber": 1, "category": "root_cause",
        "analysis": "It was wrong.", "suggestion": "Write right." });
    Ran::of(untrusted(&project, &["memory", "add"]), &lesson.to_string()).exits(0);
    project.config(|c| c["maxAttempts"] = json!(2));
    ran(&project, &["doctor", "--checks"]).exits(0);
    ran(&project, &["apply", "mine"]).exits(0);
    ran(&project, &["overnight", "--again"]).exits(0);
    ran(&project, &["trust", "--show"]).exits(0).prints("all of it is trusted");

    // The first one who sets a project up is never asked.
    let own = Project::new("true");
    fs::remove_file(own.dir.join("project.json")).unwrap();
    own.write("Makefile", "test:\n\t@grep -q wrong answer.txt\n");
    own.tasks(&[]);
    ran(&own, &["init"]).exits(0);
    ran(&own, &["doctor", "--checks"]).exits(0);
    ran(&own, &["task", "add", "Mine", "--id", "mine", "--check", "true"]).exits(0);
    own.commit();
    for args in [&["run", "--max-attempts", "1"][..], &["overnight", "--again", "--max-attempts", "1"]] {
        let said = ran(&own, args);
        assert!(!said.stderr.contains("trust"), "{args:?}: {}", said.stderr);
        assert_ne!(said.code, Some(4), "{args:?}: {}", said.stderr);
    }
}

#[test]
fn where_what_is_trusted_cannot_be_read_nothing_is_started() {
    let project = stranger();
    ran(&project, &["trust"]).exits(0);
    let file = project.dir.with_file_name("home").join(".local/state/reflexion/trust.jsonl");
    let whole = fs::read(&file).unwrap();
    // Torn where a crash left it: what stands in whole lines counts.
    fs::write(&file, &whole[..whole.len() - 20]).unwrap();
    let shown = ran(&project, &["trust", "--show"]).exits(1).stdout.clone();
    assert_eq!(shown.lines().filter(|line| line.starts_with('+')).count(), 1, "{shown}");
    ran(&project, &["trust"]).exits(0);
    ran(&project, &["trust", "--show"]).exits(0);
    fs::write(&file, [&b"{\"v\":9,\"dir\":\"/\"}\n\xff\n[]\n"[..], &fs::read(&file).unwrap()].concat()).unwrap();
    ran(&project, &["trust", "--show"]).exits(0);
    let whole = fs::read(&file).unwrap();
    let away = file.with_file_name("away");
    fs::write(&away, whole).unwrap();
    for make in [link as fn(&Path), directory, pipe] {
        fs::remove_file(&file).unwrap();
        make(&file);
        for args in
            [&["run"][..], &["overnight"], &["trust"], &["trust", "--show"], &["trust", "--revoke"], &["doctor"]]
        {
            let said = ran(&project, args);
            let words = format!("{}{}", said.stderr, said.stdout);
            assert!(said.code == Some(4) && words.contains("trust.jsonl"), "{args:?} {:?}: {words}", said.code);
        }
        Ran::of(untrusted(&project, &["judge", "-"]), r#"{"task":"Add","tools":[],"response":"It is done, I think."}"#);
        assert_eq!(marked(&project), Vec::<String>::new());
        if file.symlink_metadata().unwrap().is_dir() {
            fs::remove_dir(&file).unwrap();
            fs::write(&file, "").unwrap();
        }
    }
}

fn link(file: &Path) {
    std::os::unix::fs::symlink("away", file).unwrap();
}

fn directory(file: &Path) {
    fs::create_dir(file).unwrap();
}

fn pipe(file: &Path) {
    assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
}

#[test]
fn several_processes_may_trust_at_once() {
    let project = Project::new("true");
    let checks = (0..12).map(|n| (format!("t{n}"), format!("test {n}"))).collect::<Vec<_>>();
    let all: Vec<Command> = checks
        .iter()
        .map(|(id, check)| untrusted(&project, &["task", "add", "One", "--id", id, "--check", check]))
        .chain([untrusted(&project, &["trust"])])
        .collect();
    let all: Vec<_> = all.into_iter().map(|mut command| command.stdout(Stdio::null()).spawn().unwrap()).collect();
    for mut child in all {
        assert!(child.wait().unwrap().success());
    }
    // `trust` may come first or last: what stands in the file is whole, and once more is enough.
    ran(&project, &["trust"]).exits(0);
    let shown = ran(&project, &["trust", "--show", "--json"]).exits(0).json();
    assert!(shown["items"].as_array().unwrap().len() >= checks.len(), "{shown}");
    assert_eq!(shown["gone"], json!([]));
}

#[test]
fn trust_is_in_a_directory_by_whatever_name() {
    let project = Project::new("echo right > answer.txt");
    let other = project.dir.with_file_name("other name");
    std::os::unix::fs::symlink(&project.dir, &other).unwrap();
    ran(&project, &["-C", other.to_str().unwrap(), "trust"]).exits(0);
    ran(&project, &["run"]).exits(0);
    ran(&project, &["-C", other.to_str().unwrap(), "run", "--again"]).exits(0);
    // A copy, and the same elsewhere, are other projects.
    fs::remove_file(&other).unwrap();
    assert!(Command::new("cp").arg("-a").args([&project.dir, &other]).status().unwrap().success());
    ran(&project, &["-C", other.to_str().unwrap(), "run", "--again"]).exits(4).says("+ .reflection");
    fs::rename(&project.dir, project.dir.with_file_name("moved")).unwrap();
    fs::create_dir(&project.dir).unwrap();
    ran(&project, &["-C", "../moved", "run", "--again"]).exits(4).says("+ agents.sh");
}

#[test]
fn what_is_named_is_printed_as_json_too() {
    let project = Project::new("true");
    project.config(|c| {
        c["workspace"] = json!({ "env": { "LD_PRELOAD": "./evil.so", "PATH": "bin" } });
        c["notify"] =
            json!([{ "type": "webhook", "url": "https://a.example/x", "headersEnv": { "Authorization": "KEY" } }]);
        c["checks"] = json!([{ "name": "one", "run": "echo '\u{1b}[31m'\n+ checks[9]  runs nothing" }]);
        c["sandbox"] = json!({ "write": ["/"] });
        c["allowPush"] = json!(true);
        c["verification"] = json!({ "judge": { "type": "model", "provider": "openai", "models": ["m"] },
            "review": { "reviewer": "claude", "auditor": "codex" } });
        c["reflexion"] =
            json!({ "generator": { "type": "llm", "provider": "gemini", "model": "m", "keyEnv": "SECRET" } });
        c["decompose"] = json!({ "agent": "gemini" });
        c["agents"]["claude"] =
            json!({ "env": { "ANTHROPIC_BASE_URL": "https://b.example" }, "extraArgs": ["--yolo"] });
    });
    let shown = ran(&project, &["trust", "--show", "--json"]).exits(1).json();
    let keys: Vec<&String> = shown.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["dir", "file", "items", "gone"]);
    let items = shown["items"].as_array().unwrap().iter();
    let of = |item: &Value| {
        format!(
            "{} {} {}",
            item["place"].as_str().unwrap(),
            item["kind"].as_str().unwrap(),
            item["text"].as_str().unwrap()
        )
    };
    let items: Vec<String> = items.map(of).collect();
    for expected in [
        "workspace.env.LD_PRELOAD variable LD_PRELOAD=./evil.so",
        "workspace.env.PATH variable PATH=bin",
        "notify[0] host https://a.example/x, with Authorization: $KEY",
        "sandbox sandbox landlock, where they may also write to /",
        "allowPush push push",
        "verification.judge host openai, with its usual key",
        "verification.review program [\"codex\"]",
        "reflexion.generator host gemini, with $SECRET",
        "decompose program [\"gemini\"]",
        "agents.claude program [\"claude\",\"--yolo\"]",
        "agents.claude.env.ANTHROPIC_BASE_URL variable ANTHROPIC_BASE_URL=https://b.example",
    ] {
        assert!(items.iter().any(|item| item == expected), "{expected}: {items:#?}");
    }
    // Nothing in a text looks like an item of its own, or moves the cursor.
    let lines = ran(&project, &["trust", "--show"]).stdout;
    assert!(!lines.contains('\u{1b}') && !lines.lines().any(|line| line.starts_with("+ checks[9]")), "{lines}");
    ran(&project, &["trust", "--json"]).exits(0);
    project.config(|c| {
        c["workspace"]["env"]["PATH"] = json!("bin2");
        c["notify"][0]["headersEnv"]["Authorization"] = json!("OTHER");
    });
    let shown = ran(&project, &["trust", "--show", "--json"]).exits(1).json();
    let changed: Vec<(&str, &str)> = shown["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["trusted"] == false)
        .map(|item| (item["place"].as_str().unwrap(), item["was"].as_str().unwrap_or_default()))
        .collect();
    assert_eq!(
        changed,
        [("workspace.env.PATH", "PATH=bin"), ("notify[0]", "https://a.example/x, with Authorization: $KEY")]
    );
    project.config(|c| drop(c.as_object_mut().unwrap().remove("allowPush")));
    ran(&project, &["trust", "--show"]).exits(1).prints("- allowPush");
}

/// The same words with more rights are something else.
#[test]
fn what_is_trusted_in_the_sandbox_is_asked_about_outside_of_it() {
    let project = Project::new("echo right > answer.txt");
    project.config(|c| {
        c["checks"] = json!([{ "name": "c", "run": ["sh", "x.sh"] }]);
        c["agents"]["claude"] = json!({ "permissions": "deny", "env": { "MODE": "a" } });
    });
    project.write("x.sh", "exit 1\n");
    project.commit();
    ran(&project, &["trust"]).exits(0);
    ran(&project, &["trust", "--show"]).exits(0).prints("runs claude, without what it would have to ask for");
    let asked = |change: &dyn Fn(&mut Value), lines: &[&str]| {
        let before = project.read("project.json");
        project.config(change);
        let shown = ran(&project, &["trust", "--show"]);
        shown.exits(1);
        let new: Vec<&str> = shown.stdout.lines().filter_map(|line| line.strip_prefix("+ ")).collect();
        let words = |line: &&str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(new.iter().map(words).collect::<Vec<_>>(), lines, "{}", shown.stdout);
        assert_eq!(ran(&project, &["run"]).code, Some(4));
        project.write("project.json", before);
        ran(&project, &["trust", "--show"]).exits(0);
    };
    let program = || json!({ "type": "command", "argv": ["sh", "x.sh"] });
    asked(
        &|c| {
            c["reflexion"] = json!({ "generator": program() });
            c["verification"] = json!({ "judge": program() });
            c["notify"] = json!([program()]);
        },
        &[
            "reflexion.generator runs sh x.sh, in your checkout",
            "verification.judge runs sh x.sh, in your checkout",
            "notify[0] runs sh x.sh, in your checkout",
        ],
    );
    asked(&|c| c["agents"]["claude"]["permissions"] = json!("allow"), &["agents.claude runs claude"]);
    asked(&|c| c["workspace"] = json!({ "env": { "MODE": "a" } }), &["workspace.env.MODE sets MODE=a"]);
    // Who trusts it outside trusts it inside.
    project.config(|c| {
        c["checks"] = json!([]);
        c["notify"] = json!([program()]);
    });
    ran(&project, &["trust"]).exits(0);
    project.config(|c| {
        c["checks"] = json!([{ "name": "c", "run": ["sh", "x.sh"] }]);
        c["notify"] = json!([]);
    });
    ran(&project, &["trust", "--show"]).exits(0);
}

#[test]
fn what_is_wrong_is_said() {
    let project = Project::new("true");
    for args in
        [&["trust", "--show", "--revoke"][..], &["trust", "--revoke", "--json"], &["trust", "sh"], &["trust", "--all"]]
    {
        ran(&project, args).exits(2);
    }
    ran(&project, &["-C", "..", "trust"]).exits(2).says("project.json");
    project.config(|c| c["trust"] = json!(true));
    ran(&project, &["trust"]).exits(2).says("trust");
    project.config(|c| drop(c.as_object_mut().unwrap().remove("trust")));
    // Never a setting, and nothing but 1 is yes.
    for no in ["", "0", "yes", "true"] {
        let mut run = untrusted(&project, &["run"]);
        run.env("REFLEXION_TRUST", no);
        Ran::of(run, "").exits(4).says("reflexion trust");
    }
    project.write("tasks.jsonl", "not JSON\n");
    ran(&project, &["trust", "--show"]).exits(1).says("tasks.jsonl:1");
}

#[test]
fn programs_of_gits_own_configuration_are_asked_about_before_a_run() {
    let project = Project::new("echo right > answer.txt");
    ran(&project, &["trust"]).exits(0);
    ran(&project, &["run"]).exits(0);
    project.write(".gitattributes", "*.txt filter=one\n");
    project.commit();
    let program = |name: &str| format!("touch '{}/{name}'; cat", project.out.display());
    project.git(&["config", "filter.one.clean", &program("clean")]);
    project.git(&["config", "filter.one.smudge", &program("smudge")]);
    // The user's own are theirs, and what no run takes over is of no account.
    let user = project.dir.with_file_name("home").join(".gitconfig");
    fs::write(&user, [&fs::read(&user).unwrap()[..], b"[filter \"two\"]\n\tclean = cat\n"].concat()).unwrap();
    project.git(&["config", "core.hooksPath", ".husky"]);
    for args in [&["run", "--again"][..], &["overnight", "--again"], &["apply", "a"]] {
        let said = ran(&project, args);
        said.exits(4).says("+ .git/config filter.one.clean");
        assert!(!said.stderr.contains("two") && !said.stderr.contains("husky"), "{}", said.stderr);
        assert_eq!(marked(&project), Vec::<String>::new());
    }
    // They belong to this machine: what only looks never starts them, trusted or not.
    ran(&project, &["trust"]).exits(0);
    for args in [&["risk"][..], &["doctor"], &["hook", "stop", "--verify"]] {
        Ran::of(untrusted(&project, args), &payload(&project, args));
        assert_eq!(marked(&project), Vec::<String>::new());
    }
    ran(&project, &["run", "--again"]).exits(0);
    assert!(marked(&project).contains(&"clean".to_owned()), "{:?}", marked(&project));
    ran(&project, &["apply", "a"]).exits(0);
}

#[test]
fn runs_that_came_with_a_project_are_not_gone_on_with() {
    let project = Project::new("echo right > answer.txt");
    ran(&project, &["overnight", "--trust"]).exits(0);
    let journals = project.dir.join(".reflection/runs");
    let run = fs::read_dir(&journals).unwrap().flatten().find(|entry| entry.path().is_dir()).unwrap().path();
    // A night that seems to have been killed, with an agent of the stranger's choice.
    let journal = run.join("journal.jsonl");
    let first = fs::read_to_string(&journal).unwrap().lines().next().unwrap().to_owned();
    let mut started: Value = serde_json::from_str(&first).unwrap();
    started["plan"]["agent"] = json!("claude");
    fs::write(&journal, format!("{started}\n")).unwrap();
    let theirs = project.dir.with_file_name("theirs");
    assert!(Command::new("cp").arg("-a").args([&project.dir, &theirs]).status().unwrap().success());
    let theirs = theirs.to_str().unwrap().to_owned();
    // Also where all that the files name is trusted.
    let state = Path::new(&theirs).join(".reflection");
    fs::rename(&state, project.dir.with_file_name("unpacked")).unwrap();
    ran(&project, &["-C", &theirs, "trust"]).exits(0);
    fs::rename(project.dir.with_file_name("unpacked"), &state).unwrap();
    let named = ran(&project, &["-C", &theirs, "trust", "--show", "--json"]).exits(1).json();
    let new = named["items"].as_array().unwrap().iter().filter(|item| item["trusted"] == false);
    assert_eq!(new.map(|item| item["place"].as_str().unwrap()).collect::<Vec<_>>(), [".reflection"]);
    // Their journal is not believed, so there is no night to go on with, and nothing is open.
    for (args, code) in [
        (&["overnight"][..], 0),
        (&["overnight", "--resume"], 2),
        (&["overnight", "--again"], 4),
        (&["run", "--again"], 4),
        (&["apply", "a"], 4),
        (&["doctor", "--checks"], 4),
    ] {
        let said = ran(&project, &[&["-C", &theirs], args].concat());
        assert!(said.code == Some(code), "{args:?} {:?}: {} {}", said.code, said.stdout, said.stderr);
        assert_eq!(marked(&project), Vec::<String>::new(), "{args:?}");
    }
    // Taken away, there is nothing to go on with, and what comes then is one's own.
    fs::remove_dir_all(&state).unwrap();
    ran(&project, &["-C", &theirs, "run", "--again"]).exits(0);
    ran(&project, &["-C", &theirs, "run", "--again"]).exits(0);
    // What a pull brings into a directory of one's own is the repository's.
    project.git(&["add", "-f", ".reflection/runs"]);
    project.git(&["commit", "-q", "-m", "runs"]);
    ran(&project, &["overnight", "--again"]).exits(4).says("+ .reflection, in git");
}

#[test]
fn what_leads_out_of_a_project_or_hides_secrets_is_asked_about() {
    let project = Project::new("echo right > answer.txt");
    ran(&project, &["trust"]).exits(0);
    let outside = project.dir.with_file_name("outside.jsonl");
    project.config(|c| c["tasks"] = json!("../outside.jsonl"));
    for args in [
        &["task", "add", "One"][..],
        &["task", "close", "a"],
        &["task", "sync"],
        &["task", "edit", "a", "{\"priority\":0}"],
    ] {
        ran(&project, args).exits(4).says("outside.jsonl");
    }
    assert!(!outside.exists());
    std::os::unix::fs::symlink(&outside, project.dir.join("link.jsonl")).unwrap();
    fs::write(&outside, "").unwrap();
    project.config(|c| c["tasks"] = json!("link.jsonl"));
    ran(&project, &["task", "add", "One"]).exits(4);
    ran(&project, &["trust"]).exits(0);
    ran(&project, &["task", "add", "One", "--id", "one", "--check", "true"]).exits(0);
    ran(&project, &["run"]).exits(0);
    // A rule by which nothing is a secret.
    project.write("secrets.toml", "[allowlist]\nregexes = ['x{40}']\n");
    project.config(|c| c["redaction"] = json!({ "rules": "secrets.toml" }));
    ran(&project, &["run", "--again"]).exits(4).says("+ redaction.rules");
    ran(&project, &["trust"]).exits(0);
    project.write("secrets.toml", "[allowlist]\nregexes = ['.*']\n");
    ran(&project, &["run", "--again"]).exits(4).says("+ redaction.rules");
}

#[test]
fn a_task_file_that_is_a_link_out_of_the_project_is_asked_about_whoever_chose_its_name() {
    let project = Project::new("echo right > answer.txt");
    let (outside, other) = (project.dir.with_file_name("outside.jsonl"), project.dir.with_file_name("rc"));
    fs::write(&outside, project.read("tasks.jsonl")).unwrap();
    fs::write(&other, "").unwrap();
    let leads_to = |target: &std::path::Path| {
        fs::remove_file(project.dir.join("tasks.jsonl")).unwrap();
        std::os::unix::fs::symlink(target, project.dir.join("tasks.jsonl")).unwrap();
    };
    let writes = [
        &["task", "add", "One", "--no-check"][..],
        &["task", "close", "a"],
        &["task", "edit", "a", "{\"priority\":0}"],
        &["task", "sync"],
    ];
    let are_refused = |target: &std::path::Path| {
        leads_to(target);
        let before = fs::read(target).unwrap();
        ran(&project, &["trust", "--show"]).exits(1).prints("+ tasks").prints(target.to_str().unwrap());
        for args in writes {
            ran(&project, args).exits(4).says("the task file is outside of the project");
        }
        assert_eq!(fs::read(target).unwrap(), before);
    };
    are_refused(&outside);
    ran(&project, &["trust"]).exits(0);
    ran(&project, &["task", "close", "a"]).exits(0);
    assert!(fs::read_to_string(&outside).unwrap().contains("closed"));
    // Who trusts one file has not trusted another one.
    are_refused(&other);
}

#[test]
fn doctor_starts_checks_and_agents_of_tasks_only_where_they_are_trusted() {
    let project = Project::new("echo right > answer.txt");
    project.config(|c| c["checks"] = json!([{ "name": "tests", "run": marks("check", "true") }]));
    ran(&project, &["doctor", "--checks"]).exits(4).prints("reflexion trust");
    assert_eq!(marked(&project), Vec::<String>::new());
    ran(&project, &["trust"]).exits(0);
    ran(&project, &["doctor", "--checks"]).exits(0);
    assert_eq!(marked(&project), ["check"]);
    // A task that came by a pull, for an agent that nobody has asked for.
    let bin = project.dir.with_file_name("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("claude"), "#!/bin/sh\ntouch \"$OUT/claude\"\n").unwrap();
    fs::set_permissions(bin.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let pulled = json!({ "id": "b", "title": "B", "agent": "claude", "checks": [{ "name": "x", "run": marks("pulled", "true") }] });
    project.tasks(&[task("a"), pulled]);
    for args in [&["doctor"][..], &["doctor", "--checks"]] {
        let mut doctor = untrusted(&project, args);
        doctor.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
        Ran::of(doctor, "");
        assert_eq!(marked(&project), ["check"], "{args:?}");
    }
}

#[test]
fn a_hook_that_judges_says_that_nobody_was_asked() {
    let project = stranger();
    let stop = |call: &[&str]| {
        let mut command = untrusted(&project, call);
        command.env("REFLECTION_MODE", "solo");
        let transcript = project.dir.with_file_name("transcript.json");
        fs::write(&transcript, r#"{"task":"Add a file","tools":[],"response":"It is done, I think."}"#).unwrap();
        Ran::of(command, &payload(&project, call))
    };
    project.config(|c| c["verification"]["judge"] = json!({ "type": "model", "provider": "openai", "models": ["m"] }));
    stop(&["hook", "session-start", "--verify"]);
    project.write("answer.txt", "other\n");
    stop(&["hook", "stop", "--verify"]).says("is not trusted");
    assert_eq!(marked(&project), Vec::<String>::new());
}

#[test]
fn who_takes_the_sandbox_away_is_asked_also_where_only_tasks_have_programs() {
    let project = Project::new("true");
    project.write("project.json", r#"{"sandbox":"landlock"}"#);
    ran(&project, &["trust"]).exits(0);
    project.write("project.json", "{}");
    ran(&project, &["trust", "--show"]).exits(1).prints("+ sandbox");
    ran(&project, &["run"]).exits(4).says("no sandbox");
    // Who gives it by a flag or a variable of their own has said so.
    let mut own = untrusted(&project, &["trust", "--show"]);
    own.env("REFLEXION_SANDBOX", "none");
    Ran::of(own, "").exits(0);
}

/// What is trusted is known by digests; the words beside them are for people, and lie outside of the project.
#[test]
fn what_is_kept_of_trust_holds_no_secrets() {
    let project = Project::new("true");
    let token = ["gh", "p_", "x7Kq2mPz9RtY4wVb8NcL3sHd6fJg1aQe5uTo"].concat();
    let secrets = [token.as_str(), "only here it is", "tr0ub4dor-and-3", "sw0rdf1sh-9"];
    let settings = |first: &str| {
        project.config(|c| {
            c["agents"]["sh"] = json!({
                "type": "command", "argv": ["sh", "-c", "true", "--token", first], "env": { "ACME_KEY": secrets[1] }
            });
            c["checks"] = json!([{ "name": "db", "run": format!("true postgres://me:{}@db/x", secrets[2]) }]);
            c["workspace"] = json!({ "env": { "DB_PASSWORD": secrets[3] } });
        });
    };
    settings(&token);
    project.tasks(&[task_with_check("a", &format!("curl -H 'Authorization: Bearer {token}' host"))]);
    let kept = || fs::read_to_string(project.dir.with_file_name("home/.local/state/reflexion/trust.jsonl")).unwrap();
    ran(&project, &["trust"]).exits(0);
    for args in [&["run", "--trust", "--dry-run"][..], &["run", "--trust"], &["trust", "--show"], &["trust"]] {
        ran(&project, args);
        for secret in secrets {
            assert!(!kept().contains(secret), "{args:?}: {secret} in {}", kept());
        }
    }
    assert!(kept().contains("[redacted:"), "{}", kept());
    // A secret that is another one is another command all the same.
    ran(&project, &["trust", "--show"]).exits(0);
    settings(&token.replace("x7Kq", "y8Lr"));
    ran(&project, &["trust", "--show"]).exits(1);
    assert!(!kept().contains("y8Lr"));
}
