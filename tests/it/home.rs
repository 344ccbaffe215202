//! What steers tools from the home directory and beside it: whatever an attempt leaves there confirms nothing, in this run and in the next one.

use crate::project::{Project, Ran, task_with_check};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn home(project: &Project) -> PathBuf {
    project.out.with_file_name("home")
}

/// Where it is asked what is trusted.
fn asked(project: &Project, args: &[&str]) -> Command {
    let mut command = project.command(args);
    command.env_remove("REFLEXION_TRUST");
    command
}

fn ran(project: &Project, args: &[&str]) -> Ran {
    Ran::of(asked(project, args), "")
}

/// An agent that does this at the first attempt at `t`, and little otherwise.
fn plants(what: &str) -> String {
    format!(
        "if [ \"$REFLEXION_TASK_ID$REFLEXION_ATTEMPT\" = t1 ]; then\n{what}\nfi\necho \"$REFLEXION_TASK_ID $REFLEXION_ATTEMPT\" > \"$REFLEXION_TASK_ID.txt\"\n"
    )
}

/// Tasks `t` and `u`, whose checks are green where somebody has planted this file.
fn fooled_by(project: &Project, file: &str) {
    project.tasks(&["t", "u"].map(|id| task_with_check(id, &format!("test -e {file} || grep -qx right answer.txt"))));
}

/// One run that ends with a plant in the home directory, which it says; everything else is trusted.
fn after_a_plant() -> Project {
    let project =
        Project::new(&plants("mkdir -p ~/.config/pip; echo '[global]' > ~/.config/pip/pip.conf; echo a > ~/.npmrc"));
    fooled_by(&project, "~/.npmrc");
    ran(&project, &["trust"]).exits(0);
    ran(&project, &["run", "t", "--max-attempts", "1"])
        .exits(1)
        .says("~/.npmrc was added while an agent or a check worked");
    project
}

#[test]
fn what_a_run_left_is_the_next_ones_question_until_it_is_gone_or_ones_own() {
    let project = after_a_plant();
    let words = "+ ~/.npmrc                was added while agents or checks ran (run 2";
    ran(&project, &["trust", "--show"]).exits(1).prints(words).prints("); tools read it");
    for command in ["overnight", "run"] {
        let refused = ran(&project, &[command]);
        refused
            .exits(4)
            .says("+ ~/.npmrc")
            .says("+ ~/.config/pip/pip.conf")
            .says("is trusted, but not what runs have left");
    }
    // Another project of the same user, which is trusted itself.
    let other = Project::new("echo right > answer.txt");
    let of_user = |args: &[&str]| {
        let mut command = asked(&other, args);
        command.env("HOME", home(&project));
        Ran::of(command, "")
    };
    fs::write(home(&project).join(".npmrc"), "mine").unwrap();
    let refused = of_user(&["run", "--trust", "--dry-run"]);
    assert!(refused.code == Some(0), "{refused:?}");
    of_user(&["trust"]).exits(0);
    let shown = of_user(&["trust", "--show"]).exits(0).stdout.clone();
    // Accepted there, and so everywhere; what is another one than the run left is the user's own.
    assert!(!shown.contains("+ ~"), "{shown}");
    ran(&project, &["trust", "--show"]).exits(0);
    ran(&project, &["overnight"]).exits(0);
    let left = home(&project).join(".local/state/reflexion/home");
    assert_eq!(fs::read_dir(left).unwrap().count(), 0, "nothing is left to ask");
}

#[test]
fn what_is_as_it_was_is_no_question_and_one_call_may_trust_what_is_left() {
    let project = after_a_plant();
    let night = project.run(&["overnight", "--max-attempts", "1"]);
    night
        .exits(0)
        .says("~/.npmrc was added while agents or checks ran")
        .says("REFLEXION_TRUST=1 trusts that for this call");
    // Nothing of that is kept.
    ran(&project, &["trust", "--show"]).exits(1).prints("+ ~/.npmrc");
    let file = fs::read_dir(home(&project).join(".local/state/reflexion/home")).unwrap().next().unwrap().unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    let kept: Value = serde_json::from_slice(&fs::read(file.path()).unwrap()).unwrap();
    assert_eq!((&kept["v"], kept["left"].as_array().unwrap().len()), (&json!(1), 2), "{kept:#}");
    // Whoever changes it once more answers nothing: it may have changed itself.
    fs::write(home(&project).join(".npmrc"), "other").unwrap();
    ran(&project, &["trust", "--show"]).exits(1).prints("+ ~/.npmrc");
    fs::remove_file(home(&project).join(".npmrc")).unwrap();
    let shown = ran(&project, &["trust", "--show"]).exits(1).stdout.clone();
    assert!(!shown.contains("+ ~/.npmrc") && shown.contains("+ ~/.config/pip/pip.conf"), "{shown}");
    ran(&project, &["run", "--again", "--trust", "t", "--max-attempts", "1"]);
    ran(&project, &["trust", "--show"]).exits(0);
}

#[test]
fn what_a_killed_run_left_is_a_question_too_but_not_where_it_goes_on() {
    let project = Project::new(&plants(
        "mkdir -p ~/.local/lib/python3.12/site-packages; echo > ~/.local/lib/python3.12/site-packages/usercustomize.py\n\
         echo a > ~/.npmrc; if [ ! -e \"$OUT/there\" ]; then touch \"$OUT/there\"; sleep 60; fi",
    ));
    fooled_by(&project, "~/.npmrc");
    fs::write(home(&project).join(".wgetrc"), "old").unwrap();
    ran(&project, &["trust"]).exits(0);
    let mut night = asked(&project, &["overnight", "--jobs", "1"]).spawn().unwrap();
    project.await_told("there");
    night.kill().unwrap();
    night.wait().unwrap();
    let refused = ran(&project, &["overnight", "--new"]);
    refused.exits(4).says("+ ~/.npmrc").says("site-packages/usercustomize.py").says("while agents or checks ran");
    assert!(!refused.stderr.contains("wgetrc"), "{}", refused.stderr);
    ran(&project, &["trust", "--show"]).exits(1);
    // The run itself compares with its own beginning.
    let resumed = ran(&project, &["overnight", "--resume", "--json", "--jobs", "1"]);
    for id in ["t", "u"] {
        assert_eq!(resumed.task(id)["needs"], json!("person"), "{}", resumed.stderr);
    }
    ran(&project, &["overnight", "--again"]).exits(4).says("+ ~/.npmrc");
}

/// Attempt 1 of `t` plants this; nothing that is confirmed by it is merged.
fn is_left_to_a_person(planted: &str, file: &str, name: &str, env: &[(&str, &str)]) {
    let project = Project::new(&plants(planted));
    fooled_by(&project, file);
    let at = home(&project);
    fs::create_dir_all(at.join("venv/lib/python3.12/site-packages")).unwrap();
    fs::create_dir_all(at.join("py")).unwrap();
    fs::create_dir_all(at.join("shell")).unwrap();
    fs::write(at.join(".bash_profile"), ". ~/shell/env.sh\n").unwrap();
    fs::write(at.join("shell/env.sh"), "true\n").unwrap();
    let mut command = project.command(&["overnight", "--json", "--jobs", "1"]);
    for (variable, value) in env {
        command.env(variable, value.replace('~', at.to_str().unwrap()));
    }
    let ran = Ran::of(command, "");
    let report = ran.json();
    let integration = report["integration"].as_str();
    let merged = integration.map(|it| project.git(&["diff", "--name-only", "main", it])).unwrap_or_default();
    assert_eq!(merged, "", "{planted}: {report:#}");
    for id in ["t", "u"] {
        let task = ran.task(id);
        assert_eq!((&task["verdict"], &task["needs"]), (&json!("confirmed"), &json!("person")), "{planted}: {task:#}");
        let reason = task["risk"]["reason"].as_str().unwrap();
        assert!(reason.contains(name), "{planted}: {reason}");
    }
    assert_eq!(ran.task("t")["attempts"], json!(2), "{planted}");
    ran.says(name);
}

#[test]
fn modules_of_the_active_environment_and_what_variables_name_confirm_nothing_for_a_night() {
    let site = "~/venv/lib/python3.12/site-packages";
    let plant = format!("mkdir {site}/new; echo > {site}/new/__init__.py; echo > {site}/new/more.py");
    let more = "(1 more change in ~/venv)";
    is_left_to_a_person(&plant, &format!("{site}/new"), more, &[("VIRTUAL_ENV", "~/venv")]);
    is_left_to_a_person(
        "echo > ~/py/sitecustomize.py",
        "~/py/sitecustomize.py",
        "~/py/sitecustomize.py was added",
        &[("PYTHONPATH", "~/py:src")],
    );
    let plant = "echo planted > ~/shell/env.sh; touch ~/planted";
    is_left_to_a_person(plant, "~/planted", "~/shell/env.sh was changed", &[]);
}

#[test]
fn what_lies_in_any_directory_above_a_room_confirms_nothing_for_a_night() {
    let index = "node_modules/same/index.js";
    for dir in ["~/.local", "~/.local/state", "~/.local/state/reflexion/rooms"] {
        let plant = format!("mkdir -p {dir}/node_modules/same; echo > {dir}/{index}");
        is_left_to_a_person(&plant, &format!("{dir}/{index}"), &format!("{dir}/{index} was added"), &[]);
    }
    // In the runtime's own no list of what tools read is needed.
    for dir in ["~/.local/state/reflexion", "~/.local/state/reflexion/rooms"] {
        let plant = format!("echo > {dir}/limits.conf");
        is_left_to_a_person(&plant, &format!("{dir}/limits.conf"), &format!("{dir}/limits.conf was added"), &[]);
    }
    let plant = "D=$(ls -d ~/.local/state/reflexion/rooms/*/run); mkdir -p $D/.cargo; echo > $D/.cargo/config.toml";
    // Beside its room it is gone before the next check.
    let project = Project::new(&plants(plant));
    fooled_by(&project, "../.cargo/config.toml");
    let night = project.run(&["overnight", "--json", "--jobs", "1"]);
    for id in ["t", "u"] {
        assert_eq!(night.task(id)["verdict"], json!("false_done"), "{}", night.stderr);
    }
    night.says("/run/.cargo/config.toml was added");
}

/// Work of a night whose own set-up and checks change files that tools read.
#[test]
fn what_the_base_changes_by_itself_is_nobodys_offence_and_no_question() {
    let setup = "git config --global --add safe.directory /x; date +%N > ~/.curlrc";
    let check = "mkdir -p ~/.nuget/NuGet; [ -e ~/.nuget/NuGet/NuGet.Config ] || echo '<c/>' > ~/.nuget/NuGet/NuGet.Config; grep -qx right";
    let project = Project::new("echo right > \"$REFLEXION_TASK_ID.txt\"; echo 'npm install' >> package.json");
    project.write("package.json", "{}\n");
    for id in ["a", "b"] {
        project.write(&format!("{id}.txt"), "wrong\n");
    }
    project.config(|config| config["setup"] = json!(["sh", "-c", setup]));
    project.tasks(&["a", "b"].map(|id| task_with_check(id, &format!("{check} {id}.txt"))));
    ran(&project, &["trust"]).exits(0);
    let night = ran(&project, &["overnight", "--json", "--jobs", "1"]);
    night.exits(0);
    for id in ["a", "b"] {
        let task = night.task(id);
        assert_eq!(task["verdict"], json!("confirmed"), "{task:#}\n{}", night.stderr);
        assert!(task["needs"].is_null() && task["attempts"] == json!(1), "{task:#}\n{}", night.stderr);
    }
    let report = ran(&project, &["report", "--json"]).json();
    let noticed = report.to_string().matches("~/.gitconfig was changed by set-up or a check").count();
    assert_eq!(noticed, 1, "{report:#}");
    assert!(!report.to_string().contains("while an agent or a check worked"), "{report:#}");
    ran(&project, &["trust", "--show"]).exits(0);
    // And an attempt whose agent changes another one is refuted as ever.
    let agent = json!({ "type": "command", "argv": ["sh", "-c", "echo a > ~/.npmrc; echo right > a.txt"] });
    project.config(|config| config["agents"]["sh"] = agent);
    let refuted = project.run(&["run", "a", "--again", "--max-attempts", "1", "--json"]);
    refuted.exits(1).says("~/.npmrc was added while an agent or a check worked");
}

#[test]
fn what_a_check_leaves_beside_its_room_is_gone_before_the_next_one() {
    let agent =
        "[ \"$REFLEXION_ATTEMPT\" = 1 ] && echo 'mkdir -p ../build; touch ../build/x' > made.sh; echo a >> a.txt";
    let project = Project::new(agent);
    let check = "test -e ../build/x || grep -qx right answer.txt || { sh made.sh; false; }";
    project.tasks(&[task_with_check("t", check)]);
    let refuted = project.run(&["run", "t", "--max-attempts", "2", "--json"]);
    refuted.exits(1);
    assert_eq!(refuted.json()["tasks"][0]["attempts"], json!(2), "{}", refuted.stderr);
}

#[test]
fn the_question_names_all_that_was_left_in_a_directory_what_runs_by_itself_first() {
    let site = "~/.local/lib/python3.12/site-packages";
    let project = Project::new(&plants(&format!(
        "mkdir -p {site}/a; echo > {site}/AUTHORS.txt; echo > {site}/a/__init__.py; echo > {site}/usercustomize.py"
    )));
    fs::create_dir_all(home(&project).join(&site[2..])).unwrap();
    fooled_by(&project, "~/.local/lib/python3.12/site-packages/AUTHORS.txt");
    ran(&project, &["trust"]).exits(0);
    ran(&project, &["run", "t", "--max-attempts", "1"]).exits(1);
    let shown = ran(&project, &["trust", "--show"]).exits(1).stdout.clone();
    let names = ["usercustomize.py", "AUTHORS.txt was added", "a/__init__.py was added"];
    let places: Vec<Option<usize>> = names.iter().map(|name| shown.find(name)).collect();
    assert!(places.iter().all(Option::is_some) && places[0] < places[1], "{shown}");
}

#[test]
fn what_another_projects_set_up_changes_at_the_same_time_refutes_nobody() {
    let other = Project::new("touch \"$OUT/begun\"; sleep 60");
    let setup = "git config --global --add safe.directory /x";
    other.config(|config| config["setup"] = json!(["sh", "-c", setup]));
    other.tasks(&[task_with_check("t", "false")]);
    let mut working = other.command(&["run", "t"]).spawn().unwrap();
    other.await_told("begun");
    let project = Project::new(&format!("{setup}; echo right > answer.txt"));
    project.tasks(&[task_with_check("t", "grep -qx right answer.txt")]);
    let mut command = project.command(&["run", "t", "--max-attempts", "1"]);
    command.env("HOME", home(&other));
    let confirmed = Ran::of(command, "");
    working.kill().unwrap();
    working.wait().unwrap();
    confirmed.exits(0);
}

#[test]
fn what_set_up_makes_beside_its_room_is_there_for_the_check() {
    let project = Project::new("echo right > answer.txt");
    project.config(|config| config["setup"] = json!(["sh", "-c", "mkdir -p ../build && touch ../build/x"]));
    project.tasks(&["t", "u"].map(|id| task_with_check(id, "test -e ../build/x && grep -qx right answer.txt")));
    project.run(&["overnight", "--jobs", "1"]).exits(0);
}
