//! What agents try to do to the user's repository and machine, with and without a sandbox.

use crate::project::{Project, RIGHT_AT_TWO, Ran, task, task_with_check};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

/// Tries everything once, writes down what went through, and does the honest work.
const TRIES: &str = r#"
try() { name=$1; shift; if "$@" > /dev/null 2>&1; then echo "$name yes"; else echo "$name no"; fi >> "$OUT/tried"; }
top=$(cd ../../../.. && pwd)
try temp mktemp
try plain-push git push -q origin HEAD:refs/heads/plain
try write sh -c "echo evil > '$top/answer.txt'"
try add touch "$top/evil"
try remove rm "$top/project.json.bak"
try state touch "$top/.reflection/evil"
try home touch "$HOME/.profile"
try hook sh -c "echo evil > '$top/.git/hooks/post-commit'"
try config git -C "$top" config alias.evil '!sh'
try branch git -C "$top" branch -D side
try tag git -C "$top" tag evil
try move git -C "$top" update-ref refs/heads/main side
try switch git -C "$top" switch -q -c taken
try link ln "$top/answer.txt" hard-link
echo right > answer.txt
try commit git commit -qam mine
try push env -u GIT_CONFIG_COUNT git push -q origin HEAD:refs/heads/stolen
try signal kill -0 "$RUNTIME"
(env -i setsid sleep 1000 &)
"#;

fn project(agent: &str, sandbox: &Value) -> Project {
    let project = Project::new(agent);
    project.config(|config| config["sandbox"] = sandbox.clone());
    project.write("project.json.bak", "kept");
    project.commit();
    let url = project.dir.parent().unwrap().join("remote.git");
    project.git(&["init", "-q", "--bare", url.to_str().unwrap()]);
    project.git(&["remote", "add", "origin", url.to_str().unwrap()]);
    project.git(&["branch", "side"]);
    project
}

/// Everything of the user's that must stay as it was.
fn standing(project: &Project) -> Vec<String> {
    let refs = ["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/main", "refs/heads/side", "refs/tags"];
    let mut all = vec![
        project.git(&refs),
        project.git(&["status", "--porcelain"]),
        project.git(&["symbolic-ref", "HEAD"]),
        project.git(&["ls-remote", "origin"]),
        String::from_utf8(project.read(".git/config")).unwrap(),
    ];
    for path in ["evil", ".reflection/evil", ".git/hooks/post-commit", "../home/.profile", "project.json.bak"] {
        all.push(format!("{path} {}", project.dir.join(path).exists()));
    }
    all
}

fn tried(project: &Project) -> BTreeMap<String, bool> {
    let said = fs::read_to_string(project.out.join("tried")).unwrap();
    let mut tried = BTreeMap::new();
    for (name, how) in said.lines().filter_map(|line| line.split_once(' ')) {
        // Of several attempts, one is enough.
        *tried.entry(name.to_owned()).or_insert(false) |= how == "yes";
    }
    tried
}

/// `$RUNTIME` is the process that starts the agent, also where a sandbox stands between.
fn run(project: &Project) -> Ran {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "export RUNTIME=$$; exec \"$@\"", "sh"]);
    let program = project.command(&["run", "--json"]);
    command.arg(program.get_program()).args(program.get_args()).current_dir(&project.dir);
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Ran::of(command, "")
}

/// Linux 6.12.
fn keeps_signals_in() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split('.').map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(12))
}

/// In the sandbox only what is allowed goes through, and honest work is confirmed.
fn is_kept_in(sandbox: &Value) {
    let project = project(TRIES, sandbox);
    let before = standing(&project);
    let ran = run(&project);
    assert_eq!(standing(&project), before, "{:?}", tried(&project));
    ran.exits(0);
    assert_eq!(ran.verdict("a"), "confirmed");
    let mut tried = tried(&project);
    if !keeps_signals_in() {
        eprintln!("SKIPPED: this kernel's Landlock knows nothing of signals");
        tried.remove("signal");
    }
    let allowed: Vec<String> = tried.into_iter().filter(|(_, went)| *went).map(|(name, _)| name).collect();
    assert_eq!(allowed, ["commit", "temp"]);
    assert_eq!(project.processes(), Vec::<String>::new());
    assert_eq!(project.worktrees(), Vec::<PathBuf>::new());
    prints(&project, &["doctor"], "keeps programs from writing to your checkout; tried");
}

/// Whether Landlock can be tried here; says so if not.
fn has_landlock() -> bool {
    let refused = project("true", &json!("landlock")).run(&["doctor"]).stdout.contains("Landlock cannot be used here");
    if refused {
        eprintln!("SKIPPED: this kernel has no Landlock");
    }
    !refused
}

#[test]
fn landlock_keeps_agents_in_their_workspace() {
    if has_landlock() {
        is_kept_in(&json!({ "write": ["../out"] }));
    }
}

/// Whether bubblewrap can be tried here; says so if not.
fn has_bubblewrap() -> bool {
    let works = std::process::Command::new("bwrap").args(["--ro-bind", "/", "/", "--unshare-pid", "true"]).status();
    let works = works.is_ok_and(|status| status.success());
    if !works {
        eprintln!("SKIPPED: there is no bubblewrap, or it may not make namespaces here");
    }
    works
}

/// As docs/sandbox.md has it, around a project that is itself below `/tmp`.
fn bubblewrap() -> Value {
    let words = "bwrap --ro-bind / / --dev /dev --proc /proc --unshare-pid --cap-drop ALL --tmpfs /tmp \
                 --ro-bind {project} {project} --ro-bind {git} {git} --bind {git}/objects {git}/objects \
                 --bind {project}/../out {project}/../out --ro-bind {home} {home} --ro-bind {project}/../remote.git {project}/../remote.git \
                 --bind {workspace} {workspace} --bind {cache} {cache}";
    json!({ "command": words.split_whitespace().collect::<Vec<_>>() })
}

#[test]
fn bubblewrap_keeps_agents_in_their_workspace() {
    if has_bubblewrap() {
        is_kept_in(&bubblewrap());
    }
}

/// Root mounts anew what is mounted read-only, unless it may not mount.
#[test]
fn bubblewrap_that_lets_root_mount_is_no_sandbox() {
    if !has_bubblewrap() || !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root keeps its rights in bubblewrap");
        return;
    }
    let mut loose = bubblewrap();
    loose["command"].as_array_mut().unwrap().retain(|word| word != "--cap-drop" && word != "ALL");
    let project = project(TRIES, &loose);
    let ran = run(&project);
    ran.exits(4).says("a program in it may mount").says(r#"add `"--cap-drop", "ALL"`"#);
    assert!(!project.out.join("tried").exists());
}

/// Who is asked something, in place of being given work: tries what agents try, and answers nothing of use.
const ASKED: &str = r#"
touch "$CHECKOUT/evil"
touch "$HOME/.profile"
touch "$CHECKOUT/.git/hooks/post-commit"
echo note > own && mktemp && echo "$ROLE" >> "$OUT/asked"
"#;

/// Whoever is asked is kept where workers are: each role, each an agent of any program.
fn who_is_asked_is_kept_in(sandbox: &Value) {
    let project = project(&format!("{RIGHT_AT_TWO}; echo 'The answer is in answer.txt.'"), sandbox);
    let checkout = project.dir.display().to_string();
    let agent = |role: &str| {
        let env = json!({ "ROLE": role, "CHECKOUT": checkout });
        json!({ "type": "command", "argv": ["sh", "-c", ASKED], "env": env })
    };
    project.config(|config| {
        for role in ["splits", "reflects", "judges", "reviews", "audits"] {
            config["agents"][role] = agent(role);
        }
        config["maxAttempts"] = json!(2);
        config["decompose"] = json!({ "agent": "splits" });
        config["reflexion"] = json!({ "generator": { "type": "agent", "agent": "reflects" } });
        let review = json!({ "reviewer": "reviews", "auditor": "audits" });
        config["verification"] = json!({ "judge": { "type": "agent", "agent": "judges" }, "review": review });
    });
    // What the runtime remembers is not theirs.
    project.write(".gitignore", "memory/\n");
    // The second has no check, so that somebody has to be asked.
    project.tasks(&[task("a"), json!({ "id": "b", "title": "Write an answer" })]);
    let before = standing(&project);
    let ran = run(&project);
    assert_eq!(standing(&project), before, "{}{}", ran.stdout, ran.stderr);
    let told = project.told("asked");
    let asked: BTreeSet<&str> = told.lines().collect();
    assert_eq!(asked, BTreeSet::from(["audits", "judges", "reflects", "reviews", "splits"]), "{}", ran.stderr);
}

#[test]
fn landlock_keeps_in_who_is_asked() {
    if has_landlock() {
        who_is_asked_is_kept_in(&json!({ "write": ["../out"] }));
    }
}

#[test]
fn bubblewrap_keeps_in_who_is_asked() {
    if has_bubblewrap() {
        who_is_asked_is_kept_in(&bubblewrap());
    }
}

/// The user's own programs are no agents: they run as the user set them up.
/// Agents, checks and `setup` are started where somebody sits at a terminal, and find none.
#[test]
fn nothing_reaches_the_terminal() {
    const REACH: &str = r#"if (: < /dev/tty) 2> /dev/null; then echo "$0" >> "$OUT/reached"; fi"#;
    let project = Project::new(&format!("{REACH}; echo right > answer.txt"));
    project.config(|config| config["setup"] = format!("{REACH}; echo ran >> \"$OUT/set_up\"").into());
    project.tasks(&[task_with_check("a", &format!("{REACH}; grep -qx right answer.txt"))]);
    let at_terminal = |line: &str| {
        let mut script = project.program("script");
        script.args(["--quiet", "--return", "--command", line, "/dev/null"]);
        let ran = script.env("REFLEXION", env!("CARGO_BIN_EXE_reflexion")).stdin(Stdio::null()).output();
        ran.map(|ran| (ran.status.code(), String::from_utf8_lossy(&ran.stdout).into_owned()))
    };
    let Ok((seen, _)) = at_terminal(": < /dev/tty") else {
        eprintln!("SKIPPED: `script` is not installed, so nobody sits at a terminal");
        return;
    };
    assert_eq!(seen, Some(0), "there is a terminal");
    let (code, said) = at_terminal("\"$REFLEXION\" run a").unwrap();
    assert_eq!(code, Some(0), "{said}");
    assert!(!project.out.join("reached").exists(), "{}", project.told("reached"));
    assert!(project.told("set_up").starts_with("ran"));
}

/// What it loads is of the repository, into which agents' work is merged.
#[test]
fn a_generator_and_a_notice_that_are_programs_are_confined_too() {
    for (sandbox, is_written) in [("landlock", false), ("none", true)] {
        if sandbox == "landlock" && !has_landlock() {
            continue;
        }
        let project = project(RIGHT_AT_TWO, &json!(sandbox));
        let writes = |name: &str| {
            let tried = project.out.join(format!("tried-{name}"));
            json!([
                "sh",
                "-c",
                format!("touch {name}; touch \"$TMPDIR/x\" || true; touch {:?}", tried.display().to_string())
            ])
        };
        let (generated, noticed) = (writes("generated"), writes("noticed"));
        project.config(|config| {
            config["reflexion"] = json!({ "generator": { "type": "command", "argv": generated } });
            config["notify"] = json!([{ "type": "command", "argv": noticed, "on": ["finished"] }]);
            if sandbox == "landlock" {
                config["sandbox"] = json!({ "write": [project.out.display().to_string()] });
            }
        });
        run(&project).exits(0);
        for name in ["generated", "noticed"] {
            assert!(project.out.join(format!("tried-{name}")).exists(), "{sandbox} {name}");
            assert_eq!(project.dir.join(name).exists(), is_written, "{sandbox} {name}");
        }
    }
}

#[test]
fn what_a_run_has_started_gives_no_commands_for_its_project() {
    let agent = format!(
        "for command in 'task add More --check true' 'task close b' 'trust' 'run' 'memory prune' 'apply b'; do\n\
         {:?} --project \"$PROJECT\" $command >> \"$OUT/said\" 2>&1; echo \"$command: $?\" >> \"$OUT/exits\"; done\n\
         {:?} --project \"$PROJECT\" status > /dev/null && echo looked >> \"$OUT/exits\"\n\
         cd \"$PWD\" && echo right > answer.txt",
        env!("CARGO_BIN_EXE_reflexion"),
        env!("CARGO_BIN_EXE_reflexion"),
    );
    let project = Project::new(&agent);
    let mut command = project.command(&["run"]);
    command.env("PROJECT", &project.dir);
    Ran::of(command, "").exits(0);
    let exits = project.told("exits");
    assert_eq!(exits.matches(": 4\n").count(), 6, "{exits}{}", project.told("said"));
    assert!(exits.ends_with("looked\n"), "{exits}");
    assert!(project.told("said").contains("do it outside of the run"), "{}", project.told("said"));
}

/// However a URL is spelled, and whatever git makes of it: in the place of the host, a program in the place of `ssh` takes what is pushed.
#[test]
fn pushes_by_url_are_refused_by_what_git_makes_of_them() {
    let urls = [
        "https://github.com/me/other",
        "gh:me/x",
        "deploy@host.example:x.git",
        "myhost:x.git",
        "alice@git.corp:team/proj2.git",
        "own",
        "ssh://host.example/x",
    ];
    let tries = urls.map(|url| {
        format!("git push {url} HEAD:refs/heads/evil 2>> \"$OUT/said\" && echo {url} >> \"$OUT/arrived\"\n")
    });
    let fetches = "git ls-remote myhost:x.git >> \"$OUT/fetched\" && git ls-remote own >> \"$OUT/fetched\"\n";
    let own = "git init -q --bare \"$TMPDIR/own.git\" && git push -q \"$TMPDIR/own.git\" HEAD:refs/heads/x && echo own-test >> \"$OUT/pushed\"\n";
    let agent = format!("export TMPDIR=$(mktemp -d)\n{}{fetches}{own}echo right > answer.txt", tries.concat());
    for by_variable in [false, true] {
        let project = Project::new(&agent);
        let there = project.dir.parent().unwrap();
        let (remote, bin) = (there.join("remote.git"), there.join("bin"));
        project.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
        project.git(&["push", "-q", remote.to_str().unwrap(), "HEAD:refs/heads/known"]);
        project.git(&["remote", "add", "own", "alice@git.corp:team/proj.git"]);
        let settings = there.join("home/.gitconfig");
        let more = "[url \"git@github.com:\"]\n\tpushInsteadOf = https://github.com/\n\tinsteadOf = gh:\n";
        fs::write(&settings, fs::read_to_string(&settings).unwrap() + more).unwrap();
        fs::create_dir(&bin).unwrap();
        // `ssh [options] HOST "git-upload-pack 'x.git'"`.
        let ssh = "#!/bin/sh\nfor last; do :; done\nexec ${last%% *} \"$REMOTE\"\n";
        fs::write(bin.join("ssh"), ssh).unwrap();
        fs::set_permissions(bin.join("ssh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut command = project.command(&["run"]);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", bin.display())).env("REMOTE", &remote);
        if by_variable {
            command.env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes");
        }
        Ran::of(command, "").exits(0);
        let arrived = fs::read_to_string(project.out.join("arrived")).unwrap_or_default();
        assert_eq!(arrived, "", "{}", project.told("said"));
        let refs = project.git(&["--git-dir", remote.to_str().unwrap(), "for-each-ref", "--format=%(refname)"]);
        assert_eq!(refs, "refs/heads/known\n");
        assert!(
            project.told("said").matches("reflexion-does-not-push").count() >= urls.len(),
            "{}",
            project.told("said")
        );
        assert_eq!(project.told("fetched").matches("refs/heads/known").count(), 2);
        assert_eq!(project.told("pushed"), "own-test\n");
    }
}

#[test]
fn without_a_sandbox_a_plain_push_is_refused_and_another_one_is_told() {
    let project = project(TRIES, &json!("none"));
    run(&project);
    let tried = tried(&project);
    for (name, went) in [("plain-push", false), ("push", true), ("write", true), ("switch", true), ("branch", true)] {
        assert_eq!(tried[name], went, "{name}");
    }
    let report = project.run(&["report", "--json"]).json();
    let needs: Vec<&Value> = report["needs"].as_array().unwrap().iter().filter(|n| n["kind"] == "repository").collect();
    let told = |words: &str| needs.iter().any(|need| need["why"].as_str().unwrap().contains(words));
    assert!(told("`refs/heads/stolen` of the remote `origin` was made"), "{needs:#?}");
    assert_eq!(project.processes(), Vec::<String>::new());
}

/// All that an agent does to the repository that it works in, and then the work.
const UPSETS_GIT: &str = r"
git branch -q -D side main
git checkout -q -b evil
git commit -q --allow-empty -m evil
git tag v9
git config alias.evil '!sh'
git config core.hooksPath /tmp
git remote remove origin
echo scratch > scratch && git add scratch && git stash -q
printf '#!/bin/sh\nexit 1\n' > .git/hooks-pre-commit
echo deadbeef > .git/shallow
echo /nowhere > .git/objects/info/alternates
echo right > answer.txt
";

#[test]
fn what_an_agent_does_to_its_own_repository_is_nobodys_harm() {
    let project = project(UPSETS_GIT, &json!("none"));
    let before = standing(&project);
    let ran = project.run(&["run", "--json"]);
    assert_eq!(ran.exits(0).verdict("a"), "confirmed");
    assert_eq!(standing(&project), before);
    assert_eq!(project.git(&["stash", "list"]), "");
    project.git(&["fsck", "--connectivity-only"]);
}

#[test]
fn a_sandbox_that_does_not_work_is_no_reason_to_go_without() {
    let check = |sandbox: Value, words: &str| {
        let project = project("touch \"$OUT/started\"", &sandbox);
        project.run(&["run"]).exits(4).says(words).says("Agents are not started without it");
        assert!(!project.out.join("started").exists());
        prints(&project, &["doctor"], words).exits(4);
    };
    check(json!({ "command": ["no-such-sandbox"] }), "`no-such-sandbox` was not found");
    check(json!({ "command": ["env"] }), "can write to");
    check(json!({ "command": ["false"] }), "exited with status 1");
    // Neither starts anything.
    check(json!({ "command": ["true"] }), "cannot be told");
    check(json!({ "command": ["echo"] }), "cannot be told");
    if has_bubblewrap() {
        // No device can be opened in the first, `/dev/null` neither; in the third the workspace is another one's.
        check(json!({ "command": ["bwrap", "--bind", "/", "/"] }), "can write to");
        check(json!({ "command": ["bwrap", "--bind", "/", "/", "--dev", "/dev"] }), "can write to");
        let own = ["bwrap", "--ro-bind", "/", "/", "--tmpfs", "{workspace}", "--chdir", "{workspace}"];
        check(json!({ "command": own }), "does not arrive there");
        check(json!({ "command": ["bwrap", "--ro-bind", "/", "/"] }), "cannot write to its own workspace");
    }
    check(json!({ "write": ["nowhere"] }), "which is not there");
    check(json!({ "write": ["."] }), "your own checkout");
    let project = project("true", &json!({ "comand": [] }));
    project.run(&["run"]).exits(2).says("landlock");
}

/// A program that the sandbox hides is a fault of the surroundings, and no attempt's.
#[test]
fn an_agent_whose_program_cannot_be_seen_inside_uses_up_no_attempt() {
    if !has_bubblewrap() {
        return;
    }
    let project = project("true", &bubblewrap());
    let program = project.dir.parent().unwrap().join("mine");
    fs::copy("/bin/sh", &program).unwrap();
    project.config(|config| config["agents"]["sh"]["argv"] = json!([program, "-c", "echo right > answer.txt"]));
    let ran = project.run(&["run", "--json"]);
    assert_eq!(ran.exits(4).says("cannot be seen inside the sandbox").task("a")["attempts"], json!(0));
    prints(&project, &["doctor"], "cannot be seen inside the sandbox").exits(4);
    assert!(!project.dir.join("memory/reflections.jsonl").exists());
    // What is not there at all is said as ever, and so is a program of the project that is still to be written.
    project.config(|config| config["agents"]["sh"]["argv"] = json!(["/no/such/program"]));
    project.run(&["run"]).exits(4).says("`/no/such/program` was not found");
}

#[test]
fn after_kill_nine_nothing_of_the_repository_is_another() {
    let agent = format!(
        "if [ -e \"$OUT/killed\" ]; then echo right > answer.txt; exit; fi\n{UPSETS_GIT}\ntouch \"$OUT/done\"; sleep 1000"
    );
    let project = project(&agent, &json!("none"));
    let before = standing(&project);
    let mut started = project.start(&["run"]);
    project.await_told("done");
    started.kill();
    assert_eq!(standing(&project), before);
    fs::write(project.out.join("killed"), "").unwrap();
    project.run(&["run"]).exits(0);
    assert_eq!(standing(&project), before);
}

fn prints(project: &Project, args: &[&str], words: &str) -> Ran {
    let ran = project.run(args);
    assert!(ran.stdout.contains(words), "no `{words}` in\n{}{}", ran.stdout, ran.stderr);
    ran
}
