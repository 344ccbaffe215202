//! Nights in repositories that are not as simple as they could be, and with wrong input.

use crate::project::{Project, RIGHT, task, task_with_check};
use serde_json::json;
use std::fs;

/// What is on the branch of a night, by path.
fn merged(project: &Project, ran: &crate::project::Ran, path: &str) -> String {
    let branch = ran.json()["integration"].as_str().unwrap().to_owned();
    project.git(&["show", &format!("{branch}:{path}")])
}

#[test]
fn the_branch_that_a_night_began_from_may_move_or_go_meanwhile() {
    let check = |while_it_works: &str| {
        let agent = format!(
            "cd \"$(git worktree list | head -1 | cut -d' ' -f1)\" && {{ {while_it_works}; }}; cd - && {RIGHT}"
        );
        // The person is played by the first task's agent: what is done in the user's checkout is the user's for git's log.
        let project = Project::new(&agent);
        project.tasks(&[task("a")]);
        let ran = project.run(&["overnight", "--json"]);
        ran.exits(0);
        assert_eq!(merged(&project, &ran, "answer.txt"), "right\n");
    };
    check("git commit -q --allow-empty -m meanwhile");
    check("git checkout -q -b other && git branch -q -D main");
}

#[test]
fn the_users_settings_of_git_may_be_where_the_environment_says() {
    let project = Project::new("echo key > dev.key; echo right > answer.txt");
    let (settings, ignored) = (project.out.join("settings"), project.out.join("ignored"));
    fs::write(&ignored, "*.key\n").unwrap();
    let text =
        format!("[user]\n\tname = Ada\n\temail = ada@example.org\n[core]\n\texcludesFile = {}\n", ignored.display());
    fs::write(&settings, text).unwrap();
    let night = project.command(&["overnight", "--json"]).env("GIT_CONFIG_GLOBAL", &settings).output().unwrap();
    assert!(night.status.success(), "{}", String::from_utf8_lossy(&night.stderr));
    let branch = serde_json::from_slice::<serde_json::Value>(&night.stdout).unwrap()["integration"].clone();
    let branch = branch.as_str().unwrap();
    assert_eq!(project.git(&["diff", "--name-only", "main", branch]), "answer.txt\n", "what is ignored is no change");
    assert_eq!(project.git(&["log", "-1", "--format=%an <%ae>", branch]), "Ada <ada@example.org>\n");
}

/// What is installed for one work is not there for the next.
#[test]
fn tools_are_told_to_install_into_the_project_unless_the_user_says_otherwise() {
    let project = Project::new(
        "echo $POETRY_VIRTUALENVS_IN_PROJECT $PIPENV_VENV_IN_PROJECT > $OUT/told; echo right > answer.txt",
    );
    let run = |value: Option<&str>| {
        let mut command = project.command(&["run", "--again"]);
        command.env_remove("PIPENV_VENV_IN_PROJECT").env_remove("POETRY_VIRTUALENVS_IN_PROJECT");
        let ran = command.envs(value.map(|value| ("PIPENV_VENV_IN_PROJECT", value))).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        project.told("told")
    };
    assert_eq!(run(None), "true 1\n");
    assert_eq!(run(Some("0")), "true 0\n");
}

#[test]
fn hooks_of_the_repository_do_not_run_for_the_runtime() {
    let project = Project::new(RIGHT);
    for hook in ["pre-commit", "commit-msg", "post-checkout", "reference-transaction", "pre-rebase"] {
        let path = project.dir.join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "#!/bin/sh\necho ran >> \"$OUT/hooks\"\nexit 1\n").unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let ran = project.run(&["overnight", "--json"]);
    ran.exits(0);
    assert_eq!(merged(&project, &ran, "answer.txt"), "right\n");
    assert!(!project.out.join("hooks").exists(), "{}", project.told("hooks"));
}

#[test]
fn pointers_of_lfs_stay_pointers() {
    let project = Project::new(RIGHT);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
    project.write("big.bin", pointer);
    project.write(".gitattributes", "*.bin -text\n");
    project.commit();
    let ran = project.run(&["overnight", "--json"]);
    ran.exits(0);
    assert_eq!(merged(&project, &ran, "big.bin"), pointer);
    let branch = ran.json()["integration"].as_str().unwrap().to_owned();
    assert_eq!(project.git(&["diff", "--name-only", "main", &branch]), "answer.txt\n", "the pointer is no change");
}

#[test]
fn a_sparse_checkout_of_the_user_stays_sparse_and_loses_nothing() {
    let project = Project::new(RIGHT);
    project.write("here/a", "a\n");
    project.write("elsewhere/b", "b\n");
    project.commit();
    project.git(&["sparse-checkout", "set", "here"]);
    assert!(!project.dir.join("elsewhere").exists());
    let ran = project.run(&["overnight", "--json"]);
    ran.exits(0);
    assert_eq!(merged(&project, &ran, "elsewhere/b"), "b\n");
    assert_eq!(merged(&project, &ran, "answer.txt"), "right\n");
    assert!(!project.dir.join("elsewhere").exists(), "it is still sparse");
}

#[test]
fn links_of_the_project_that_lead_out_of_it_are_named_before_anybody_works() {
    use std::os::unix::fs::symlink;
    let project = Project::new(RIGHT);
    let outside = project.out.join("mine");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, project.dir.join("data")).unwrap();
    symlink("../beside", project.dir.join("up")).unwrap();
    symlink("answer.txt", project.dir.join("within")).unwrap();
    // What the user may not write to is nobody's way out; without rights of its own the test would say nothing.
    symlink("/proc/version", project.dir.join("system")).unwrap();
    project.commit();
    let said = project.run(&["run"]).exits(0).stderr.clone();
    let named = said.lines().filter(|line| line.contains("links that lead out of it")).collect::<Vec<_>>();
    let [line] = named[..] else { panic!("{said}") };
    assert!(line.contains(&format!("`data -> {}`", outside.display())) && line.contains("`up -> ../beside`"), "{line}");
    assert!(!line.contains("within"), "{line}");
}

#[test]
fn a_submodule_is_no_change_and_stays_where_it_was() {
    let inner = Project::new(RIGHT);
    let project = Project::new(RIGHT);
    let inner_dir = inner.dir.to_str().unwrap();
    project.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", inner_dir, "inner"]);
    project.commit();
    let before = project.git(&["rev-parse", "HEAD:inner"]);
    let ran = project.run(&["overnight", "--json"]);
    ran.exits(0).says("submodules are empty in workspaces");
    let branch = ran.json()["integration"].as_str().unwrap().to_owned();
    assert_eq!(project.git(&["rev-parse", &format!("{branch}:inner")]), before);
    assert!(project.dir.join("inner/answer.txt").exists(), "the user's own is as it was");
}

#[test]
fn wrong_input_of_a_night_is_said_before_anything_is_done() {
    let check = |args: &[&str], code: i32, words: &str| {
        let project = Project::new("touch $OUT/begun");
        project.run(args).exits(code).says(words);
        assert!(!project.out.join("begun").exists(), "{args:?}");
    };
    check(&["overnight", "--until", "2020-01-01T00:00:00Z"], 2, "is over");
    check(&["overnight", "--for", "0m"], 2, "longer than nothing");
    check(&["overnight", "--max-cost", "lots"], 2, "give US dollars");
    check(&["overnight", "--max-tokens", "many"], 2, "give a number of tokens");
    check(&["overnight", "--for", "999999999h"], 2, "longer than anybody counts");
    check(&["overnight", "--for", "70000000h"], 2, "longer than anybody counts");
    check(&["overnight", "--for", "-5m"], 2, "longer than nothing");
    check(&["overnight", "--between", "22:00-07:00-09:00"], 2, "give two times of the day");
    check(&["overnight", "--max-cost", "1e30"], 2, "a limit that nothing reaches");
    check(&["overnight", "--until", "9999-12-31T23:59:59Z"], 2, "later than anybody counts");
    check(&["overnight", "--resume"], 2, "no night was killed or stopped");
    let project = Project::new("touch $OUT/begun");
    fs::remove_file(project.dir.join("tasks.jsonl")).unwrap();
    fs::create_dir(project.dir.join("tasks.jsonl")).unwrap();
    project.run(&["overnight"]).exits(4).says("tasks.jsonl");
}

#[test]
fn a_task_file_that_becomes_a_directory_changes_nothing_for_the_night() {
    let agent = r#"
        project=$(cd ../../../.. && pwd)
        [ -d "$project/tasks.jsonl" ] || { rm "$project/tasks.jsonl" && mkdir "$project/tasks.jsonl"; }
        echo right > "$REFLEXION_TASK_ID.txt"
    "#;
    let project = Project::new(agent);
    project.write("a.txt", "wrong\n");
    project.write("b.txt", "wrong\n");
    project.tasks(&["a", "b"].map(|id| task_with_check(id, &format!("grep -qx right {id}.txt"))));
    let ran = project.run(&["overnight", "--json"]);
    assert_eq!((ran.verdict("a"), ran.verdict("b")), (json!("confirmed"), json!("confirmed")), "{}", ran.stderr);
    ran.says("the tasks as they were are gone on with");
}

/// Git gives a filter's program its settings, also those that mean nothing to git itself.
#[test]
fn a_filter_that_asks_git_for_its_password_has_it() {
    let project = Project::new("cat secret.txt > $OUT/seen; echo right > answer.txt; echo two > secret.txt");
    let password = "$(git config --get transcrypt.password)";
    project.git(&["config", "filter.crypt.clean", &format!("sed \"s/^/{password}:/\"")]);
    project.git(&["config", "filter.crypt.smudge", &format!("sed \"s/^{password}://\"")]);
    project.git(&["config", "transcrypt.password", "verysecret"]);
    project.write(".gitattributes", "secret.txt filter=crypt\n");
    project.write("secret.txt", "one\n");
    project.tasks(&[task("a")]);
    assert_eq!(project.git(&["show", "HEAD:secret.txt"]), "verysecret:one\n");
    let ran = project.run(&["overnight", "--json"]);
    ran.exits(0);
    assert_eq!(project.told("seen"), "one\n");
    assert_eq!(merged(&project, &ran, "secret.txt"), "verysecret:two\n");
}

/// How many processes of git a night takes does not depend on how many files an agent adds, links among them.
#[test]
fn many_new_files_are_looked_at_together() {
    let calls = |files: usize| {
        let agent = format!(
            "mkdir new; for i in $(seq {files}); do echo $i > new/$i; ln -s ../answer.txt new/link-$i; done; {RIGHT}"
        );
        let project = Project::new(&agent);
        project.tasks(&[task("a")]);
        // What is taken back file by file has its own bound, the time that a proof may take.
        project.config(|config| config["proof"] = json!({ "maxShare": 0 }));
        let (bin, path) = (project.out.join("bin"), std::env::var_os("PATH").unwrap());
        let git = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|git| git.is_file()).unwrap();
        fs::create_dir(&bin).unwrap();
        let script = format!("#!/bin/sh\necho >> '{}/calls'\nexec '{}' \"$@\"\n", project.out.display(), git.display());
        fs::write(bin.join("git"), script).unwrap();
        fs::set_permissions(bin.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path))).unwrap();
        let night = project.command(&["overnight"]).env("PATH", path).output().unwrap();
        assert!(night.status.success(), "{}", String::from_utf8_lossy(&night.stderr));
        project.told("calls").lines().count()
    };
    let (few, many) = (calls(1), calls(100));
    assert!(few > 20 && many < few + 10, "{few} for one file, {many} for a hundred");
}
