//! Words that help: where settings are looked for, how tasks are called, and what a wrong call is told.

use crate::project::{Project, RIGHT, Ran, task, with};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The program, started in a directory below the project's.
fn run_in(project: &Project, dir: &str, args: &[&str]) -> Ran {
    let dir = project.dir.join(dir);
    fs::create_dir_all(&dir).unwrap();
    let mut command = project.command(args);
    command.current_dir(dir);
    Ran::of(command, "")
}

/// What Nx writes.
const NX: &str = r#"{"$schema":"../node_modules/nx/schemas/project-schema.json","name":"shop","projectType":"application","targets":{"build":{}}}"#;

#[test]
fn commands_find_the_project_that_a_directory_lies_in() {
    let project = Project::new(RIGHT);
    run_in(&project, "src/deep", &["run"]).exits(0).says("[a] confirmed");
    let list = run_in(&project, "src/deep", &["task", "list", "--json"]).exits(0).json();
    assert_eq!(list["tasks"][0]["status"], "closed");
    // Another checkout below is not this project, and nothing above its top is looked at.
    fs::create_dir_all(project.dir.join("other/.git")).unwrap();
    run_in(&project, "other/src", &["task", "list"]).exits(2).says("there is no project.json in").says("none above it");
    // The nearest one counts.
    project.write("packages/a/project.json", r#"{"name":"inner"}"#);
    let shown = run_in(&project, "packages/a/src", &["config", "show"]);
    assert!(shown.exits(0).stdout.contains("name = \"inner\""), "{}", shown.stdout);
}

#[test]
fn without_a_repository_only_the_directory_itself_is_looked_at() {
    let project = Project::without_git(RIGHT);
    run_in(&project, "src", &["task", "list"]).exits(2).says("there is no project.json in");
    project.run(&["task", "list"]).exits(0);
}

#[test]
fn a_directory_of_another_owner_is_not_entered() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can give a directory to somebody else");
        return;
    }
    let project = Project::new(RIGHT);
    fs::create_dir(project.dir.join("src")).unwrap();
    std::os::unix::fs::chown(&project.dir, Some(4242), None).unwrap();
    run_in(&project, "src", &["task", "list"]).exits(2).says("there is no project.json in");
}

#[test]
fn where_project_json_is_another_tools_reflexion_json_holds_the_settings() {
    let project = Project::new(RIGHT);
    let settings = project.read("project.json");
    project.write("project.json", NX);
    project.run(&["task", "list"]).exits(2).says("run `reflexion init`");
    let told = project.run(&["init", "--json"]).exits(0).json();
    assert!(told["written"].as_array().unwrap().contains(&json!("reflexion.json")), "{told}");
    assert_eq!(project.read("project.json"), NX.as_bytes());
    project.run(&["init"]).exits(2).says("reflexion.json exists and was left as it is");
    project.write("reflexion.json", &settings);
    project.commit();
    project.run(&["run"]).exits(0).says("[a] confirmed");
    let shown = project.run(&["config", "show"]);
    assert!(shown.exits(0).stdout.contains("(reflexion.json)"), "{}", shown.stdout);
    project.write("reflexion.json", r#"{"jobs":"many"}"#);
    project.run(&["task", "list"]).exits(2).says("reflexion.json:1:");
}

#[test]
fn two_files_with_settings_are_refused() {
    let project = Project::new(RIGHT);
    project.write("reflexion.json", "{}");
    project.run(&["task", "list"]).exits(2).says("reflexion.json and project.json both hold settings of reflexion");
    // A key that says nothing is nobody's, and the other name wins.
    project.write("project.json", r#"{"name":"shop"}"#);
    project.run(&["task", "list"]).exits(0);
}

#[test]
fn nobody_changes_their_own_rules_under_the_other_name_either() {
    let project = Project::new(&format!("{RIGHT}; echo '{{\"checks\":[]}}' > reflexion.json"));
    let settings = project.read("project.json");
    fs::remove_file(project.dir.join("project.json")).unwrap();
    project.write("reflexion.json", settings);
    project.commit();
    let told = project.run(&["overnight", "--json"]).exits(0).json();
    assert_eq!((&told["tasks"][0]["needs"], &told["tasks"][0]["merged"]), (&json!("person"), &json!(null)), "{told}");
}

#[test]
fn a_task_is_called_after_its_title() {
    let project = Project::new(RIGHT);
    let add =
        |title: &str| project.run(&["task", "add", title, "--json"]).exits(0).json()["id"].as_str().unwrap().to_owned();
    assert_eq!(add("It's the Café's total: 2.50 €!"), "its-the-cafes-total-2-50");
    assert_eq!(add("its the cafes total 2 50"), "its-the-cafes-total-2-50-2");
    assert_eq!(add("Integration"), "integration-2");
    let long = add(&"a word or more ".repeat(20));
    assert!(long.len() <= 64 && !long.ends_with('-'), "{long}");
    let other = add("合計を直す");
    assert!(other.starts_with("t-") && other.len() == 8, "{other}");
}

#[test]
fn init_says_which_agent_it_chose_and_which_others_there_are() {
    let project = Project::new(RIGHT);
    fs::remove_file(project.dir.join("project.json")).unwrap();
    let bin = project.out.join("bin");
    fs::create_dir(&bin).unwrap();
    let install = |name: &str| {
        fs::write(bin.join(name), "#!/bin/sh\n").unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    };
    let init = |path: &Path| {
        let mut command = project.command(&["init", "--dry-run"]);
        command.env("PATH", path);
        Ran::of(command, "")
    };
    init(&bin).exits(0).says("Agent: repair, which is built in");
    install("claude");
    install("codex");
    init(&bin).exits(0).says("Agent: claude. Also installed: codex;");
}

#[test]
fn doctor_knows_who_refuses_to_work_for_root() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: nobody refuses to work here");
        return;
    }
    let project = Project::new(RIGHT);
    let set = |more: serde_json::Value| {
        project.config(|config| {
            config["agents"] = json!({ "default": "cli", "cli": { "type": "claude", "argv": ["sh", "-c", "echo '2.1.330 (Claude Code)'"] } });
            config["agents"]["cli"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        });
        let mut command = project.command(&["doctor", "--json"]);
        command.env_remove("IS_SANDBOX");
        let findings = Ran::of(command, "").json()["findings"].clone();
        let found = findings.as_array().unwrap().iter().find(|f| f["what"] == "agent `cli`").unwrap().clone();
        (found["ok"].as_bool().unwrap(), found.to_string())
    };
    let (ok, said) = set(json!({}));
    assert!(
        !ok && said.contains("refuses to work without permissions as root") && said.contains("IS_SANDBOX"),
        "{said}"
    );
    assert!(said.contains("what is changed in the settings is trusted with `reflexion trust`"), "{said}");
    assert!(set(json!({ "env": { "IS_SANDBOX": "1" } })).0);
    assert!(set(json!({ "permissions": "deny" })).0);
}

#[test]
fn doctor_tells_of_setup_only_where_there_is_one() {
    let project = Project::new(RIGHT);
    let said = |project: &Project| {
        let findings = project.run(&["doctor", "--checks", "--json"]).json()["findings"].clone();
        let found = findings.as_array().unwrap().iter().find(|f| f["what"] == "workspace").unwrap().clone();
        found["detail"].as_str().unwrap().to_owned()
    };
    assert_eq!(said(&project), "made");
    project.config(|config| config["setup"] = json!("true"));
    assert_eq!(said(&project), "made, and setup ran");
}

#[test]
fn a_lesson_names_no_command_that_nobody_ran() {
    let project = Project::new("echo '# more' >> app.py");
    project.write("app.py", "def add(a, b):\n    return a - b\n");
    project.write(
        "it/test_app.py",
        "import unittest\nfrom app import add\nclass Adds(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(add(2, 3), 5)\n",
    );
    let check = "python3 -B -m unittest discover -s it -t .";
    project.write("it/__init__.py", "");
    let task = crate::project::task_with_check("a", check);
    project.tasks(&[task]);
    project.config(|config| config["maxAttempts"] = 1.into());
    project.run(&["run"]).exits(1);
    let lesson = project.run(&["memory", "list", "--json"]).exits(0).json()["reflections"][0].clone();
    assert_eq!(lesson["actionItems"], json!(["It worked when `it.test_app.Adds.test_two` passes"]), "{lesson}");
    let words = [&lesson["analysis"], &lesson["suggestion"]].map(ToString::to_string).concat();
    assert!(words.contains("test_app.py:5"), "{words}");
    assert!(!words.contains("python3") && !words.contains("unittest discover"), "{words}");
}

#[test]
fn wrong_calls_say_what_and_what_to_do() {
    let project = Project::new(RIGHT);
    let check = |args: &[&str], words: &[&str]| {
        let ran = project.run(args);
        words.iter().for_each(|words| _ = ran.exits(2).says(words));
        for inner in ["expected ident", "struct ", "storage_error", "not_found", "budget.run"] {
            assert!(!ran.stderr.contains(inner), "{args:?}: {}", ran.stderr);
        }
    };
    check(&["task", "edit", "a", "foo"], &["`foo` is no JSON object", r#"'{"priority":0}'"#]);
    check(&["task", "edit", "a", r#"{"title":5}"#], &["`title` is the number `5`; it must be one line of text"]);
    check(&["overnight", "--max-cost", "-5"], &["give US dollars, such as 20", "without the option there is no limit"]);
    check(&["overnight", "--max-tokens", "0"], &["give a number of tokens"]);
    check(&["memory", "show", "abc"], &["no reflection has the id `abc`", "`reflexion memory list`"]);
    check(&["memory", "import", "nothere"], &["failed to read nothere", "name a file of lessons"]);
    check(&["memory", "add"], &["stdin is not a reflection", r#"{"taskId":"#]);
    project.write("project.json", r#"{"reflexion":null}"#);
    check(&["task", "list"], &["`reflexion`: null is no value (leave the key out for what is built in)"]);
}

#[test]
fn prompt_files_have_the_names_that_the_documents_say() {
    let project = Project::new(RIGHT);
    project.tasks(&[task("prices")]);
    let run = project.run(&["run", "--json"]).exits(0).json()["run"].as_str().unwrap().to_owned();
    let found = fs::read_dir(project.dir.join(format!(".reflection/runs/{run}/prompts"))).unwrap();
    let names: Vec<String> = found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, ["prices+prices+1.md"]);
    let document = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/formats.md")).unwrap();
    assert!(document.contains("/prompts/prices+prices+2.md\n"));
}

#[test]
fn messages_name_the_file_that_holds_the_settings() {
    let project = Project::new(RIGHT);
    let settings = project.read("project.json");
    project.write("project.json", NX);
    project.write("reflexion.json", &settings);
    project.commit();
    let check = |args: &[&str], code: i32, words: &str| {
        let ran = project.run(args);
        ran.exits(code);
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert!(told.contains(words) && !told.contains("project.json"), "{args:?}: {told}");
    };
    check(&["task", "edit", "a", r#"{"agent":"cluade"}"#], 0, "which is not under `agents` in reflexion.json");
    check(&["run", "--dry-run"], 0, "which is not under `agents` in reflexion.json");
    check(&["notify", "test"], 2, "`notify` in reflexion.json is empty");
    check(&["doctor"], 0, "reflexion.json: ");
    // The user's own settings are read where they stand, whatever is committed.
    project.write("reflexion.json", [settings.as_slice(), b"\n"].concat());
    project.run(&["task", "edit", "a", r#"{"agent":null}"#]).exits(0);
    let ran = project.run(&["run"]);
    assert!(!ran.exits(0).stderr.contains("not included"), "{}", ran.stderr);
}

#[test]
fn risk_finds_the_project_too() {
    let project = Project::new(RIGHT);
    project.config(|config| config["risk"] = json!({ "threshold": 0.9 }));
    let ran = run_in(&project, "src/deep", &["risk", "--json", "--files", "Cargo.toml"]);
    assert_eq!(ran.exits(0).json()["threshold"], json!(0.9));
}

#[test]
fn a_reflection_is_found_by_the_beginning_of_its_id() {
    let project = Project::new(RIGHT);
    for id in ["ref-aab", "ref-aac", "ref-b", "ref-bc"] {
        // The check's command is the same in each line of the list, and is left out.
        let analysis = format!("it is {id} (`{}`) indeed", "cargo test ".repeat(12).trim());
        let text = json!({ "id": id, "taskId": "a", "analysis": analysis, "suggestion": "s" }).to_string();
        project.run_with(&["memory", "add"], &text).exits(0);
    }
    let show = |id: &str| project.run(&["memory", "show", id, "--json"]);
    assert_eq!(show("ref-aac").exits(0).json()["id"], "ref-aac");
    assert_eq!(show("ref-b").exits(0).json()["id"], "ref-b", "a whole id is itself");
    assert_eq!(show("ref-bc").exits(0).json()["id"], "ref-bc");
    show("ref-a").exits(2).says("`ref-a` begins 2 ids").says("it is ref-aab").says("it is ref-aac");
    show("ref-x").exits(2).says("`reflexion memory list` shows which there are");
    show("").exits(2);
    project.run_with(&["memory", "add"], r#"{"id":"other","taskId":"a","analysis":"x","suggestion":"y"}"#).exits(0);
    assert_eq!(show("o").exits(0).json()["id"], "other");
    project.run(&["memory", "list"]).exits(0).prints("it is ref-aab indeed");
}

#[test]
fn an_edit_that_is_no_task_is_told_what_belongs_there() {
    let project = Project::new(RIGHT);
    let edit = |fields: &str, words: &str| {
        project.run(&["task", "edit", "a", fields]).exits(2).says(words);
    };
    edit(r#"{"labels":"ui"}"#, r#"`labels` is the text "ui"; it must be a list of texts, such as {"labels": ["#);
    edit(r#"{"checks":{}}"#, r#"`checks` is an object; it must be a list of checks, such as {"checks": [{"name": "#);
    edit(r#"{"title":null}"#, "missing field `title`: it must be one line of text");
    edit(r#"{"subtasks":[{"id":7}]}"#, "`subtasks[0].id` is the number `7`");
    edit(r#"{"expects":"fixx"}"#, "`change`, `fix` or `nothing`");
}

#[test]
fn a_check_that_says_nothing_is_compared_with_nothing() {
    let lessons = |check: &str, agent: &str| {
        let project = Project::new(agent);
        project.config(|config| config["maxAttempts"] = json!(2));
        project.tasks(&[with(task("a"), json!({ "checks": [{ "name": "answer", "run": check }] }))]);
        project.run(&["run"]).exits(1);
        String::from_utf8(project.read("memory/reflections.jsonl")).unwrap()
    };
    let changes = "echo $REFLEXION_ATTEMPT > answer.txt";
    let silent = lessons("grep -qx right answer.txt", changes);
    assert!(!silent.contains("exactly as") && !silent.contains("the same change"), "{silent}");
    let loud = lessons("echo 'Error: it is not right'; exit 1", changes);
    assert!(
        loud.contains("failed in the same way as attempt 1")
            && loud.contains("The same change alone would fail in the same way again"),
        "{loud}"
    );
    // Who has changed nothing has made no change that could be made again.
    let idle = lessons("echo 'Error: it is not right'; exit 1", "true");
    assert!(!idle.contains("the same change"), "{idle}");
}

#[test]
fn globs_that_can_protect_nothing_are_refused_where_they_are_written() {
    let project = Project::new(RIGHT);
    let add = |glob: &str| project.run(&["task", "add", "x", "--no-check", "--protect", glob]);
    add("../up").exits(2).says("`protect`: the glob `../up` has a `..`").says("globs start at the project's directory");
    add("").exits(2).says("`protect`: the glob `` is empty");
    add("/etc/passwd").exits(2).says("the glob `/etc/passwd` names something outside of the project");
    let own = project.dir.canonicalize().unwrap().join("answer.txt").display().to_string();
    add(&own).exits(2).says("write `answer.txt`");
    assert_eq!(project.run(&["task", "list", "--json"]).json()["tasks"].as_array().unwrap().len(), 1);
    project.run(&["task", "edit", "a", r#"{"protect":["a/../../b"]}"#]).exits(2).says("has a `..`");
    // A leading slash means the project's directory; what is not there yet may come.
    add("/answer.txt").exits(0);
    let idle = add("/abs/**");
    idle.exits(0).says("the glob `/abs/**` under `protect` of task x-2 matches no file at the base");
    project.tasks(&[with(task("a"), json!({ "protect": ["../up"] }))]);
    project.run(&["run"]).exits(1).says("tasks.jsonl:1: the glob `../up` has a `..`");
    for (glob, words) in [("", "is empty"), ("../up", "has a `..`"), ("/etc/passwd", "outside of the project")] {
        project.config(|config| config["protect"] = json!([glob]));
        let said = format!("`protect` has the glob `{glob}`, which ");
        project.run(&["task", "list"]).exits(2).says(&said).says(words);
    }
}

#[test]
fn an_error_in_settings_found_further_up_names_the_file_as_it_is_found() {
    let project = Project::new(RIGHT);
    let file = project.dir.canonicalize().unwrap().join("project.json").display().to_string();
    let check = |text: &str, place: &str| {
        project.write("project.json", text);
        for args in [&["task", "list"][..], &["run"], &["overnight"], &["config", "show"], &["status"]] {
            run_in(&project, "src/deep", args).exits(2).says(&format!("{file}{place}"));
            run_in(&project, "", args).exits(2).says(&format!("error: project.json{place}"));
        }
        let found = run_in(&project, "src/deep", &["doctor"]);
        assert!(found.stdout.contains(&format!("{file}{place}")), "{}", found.stdout);
        run_in(&project, "../out", &["-C", &project.dir.display().to_string(), "task", "list"]).exits(2).says(&file);
    };
    check("{\n  \"jobs\": 2,\n}", ":3:1: ");
    check(r#"{"jobs":0}"#, ": `jobs` is 1 to 1024");
}

#[test]
fn where_another_night_is_asked_for_than_the_one_that_was_killed_there_are_two_commands() {
    let project = Project::new(&format!("[ -e $OUT/begun ] || {{ touch $OUT/begun; exec sleep 300; }}; {RIGHT}"));
    project.tasks(&[task("a"), task("b")]);
    let mut night = project.start(&["overnight"]);
    project.await_told("begun");
    night.kill();
    let ran = project.run(&["overnight", "--for", "5m", "a"]);
    ran.exits(2).says("was killed before it was done. It was asked for every open task");
    ran.says("\n  reflexion overnight --resume\n").says("\n  reflexion overnight --for 5m a --new\n");
    project.run(&["overnight", "--for", "5m", "a", "--new"]).exits(0);
}

#[test]
fn two_checks_of_one_name_are_refused_where_the_second_one_stands() {
    let project = Project::new(RIGHT);
    let two = json!([{ "name": "x", "run": "true" }, { "name": "x", "run": "false" }]);
    let edit = |fields: serde_json::Value| project.run(&["task", "edit", "a", &fields.to_string()]);
    edit(json!({ "checks": two })).exits(2).says("there are two checks named `x`");
    project.config(|config| config["checks"] = json!([{ "name": "check-1", "run": "true" }]));
    let add = project.run(&["task", "add", "y", "--check", "true", "--no-check"]);
    add.exits(2).says("it has a check named `check-1`, and so has the project").says("give this one another name");
    edit(json!({ "checks": [{ "name": "check-1", "run": "true" }] })).exits(2).says("and so has the project");
    let part = |name: &str| json!([{ "id": "p", "title": "P", "checks": [{ "name": name, "run": "true" }] }]);
    edit(json!({ "subtasks": part("check-1") })).exits(2).says("its part `p` has a check named `check-1`");
    // What nobody added by a command is refused before anything begins.
    project.config(|config| config["checks"] = json!([{ "name": "answer", "run": "true" }]));
    for args in [&["run"][..], &["run", "--dry-run"], &["overnight"], &["run", "a"]] {
        project.run(args).exits(2).says("task `a`: it has a check named `answer`, and so has the project");
    }
    assert!(!project.dir.join(".reflection/runs").exists());
    project.tasks(&[with(task("a"), json!({ "checks": two }))]);
    project.run(&["run"]).exits(1).says("tasks.jsonl:1: there are two checks named `x`");
    project.config(|config| config["checks"] = two.clone());
    project.run(&["task", "list"]).exits(2).says("project.json:1:").says("there are two checks named `x`");
}

#[test]
fn a_bug_with_a_red_check_is_told_how_changed_tests_alone_do_not_count() {
    let project = Project::new(RIGHT);
    let add = |id: &str, more: &[&str]| {
        let args = [&["task", "add", "Fix it", "--id", id, "--check", "exit 1"], more].concat();
        project.run(&args).exits(0).says("is red at the base").stderr.clone()
    };
    let line = |id: &str| format!("reflexion task edit {id} --expects fix");
    assert!(add("one", &["--type", "bug"]).contains(&line("one")));
    assert!(!add("two", &["--type", "bug", "--expects", "fix"]).contains(&line("two")));
    assert!(!add("three", &["--type", "bug", "--expects", "change"]).contains(&line("three")));
    assert!(!add("four", &["--type", "feature"]).contains(&line("four")));
}
