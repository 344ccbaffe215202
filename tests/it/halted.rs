//! Nights that cannot go on, and what does not stop one.

use crate::project::{Project, task_with_check};
use std::process::Command;

/// Writes what it is asked to; `b` writes before that, once, as much as fits on the disk, to `$FILL`.
const AGENT: &str = r#"
if [ "$REFLEXION_TASK_ID" = b ] && mkdir "$OUT/filled" 2> /dev/null; then
  cat /dev/zero > "$FILL" 2> /dev/null
  exit 0
fi
echo right > "$REFLEXION_TASK_ID.txt"
"#;

/// `.reflection` on a small disk of its own, for the script's programs only.
fn on_a_small_disk(script: &str) -> Vec<String> {
    let mounted = format!("mount -t tmpfs -o size=48m tmpfs .reflection && {script}");
    ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", &mounted].map(str::to_owned).to_vec()
}

#[test]
fn a_full_disk_stops_the_night_and_the_next_one_goes_on() {
    let works = Command::new("unshare").args(["--user", "--map-root-user", "--mount", "true"]).status();
    if !works.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: a small disk could not be mounted, because there are no user namespaces here");
        return;
    }
    let project = Project::new(AGENT);
    for file in ["a.txt", "b.txt", "c.txt"] {
        project.write(file, "wrong\n");
    }
    project.tasks(&["a", "b", "c"].map(|id| task_with_check(id, &format!("grep -qx right {id}.txt"))));
    project.config(|config| config["workspace"] = serde_json::json!({ "minFreeMb": 16 }));
    project.write(".reflection/.gitignore", "*\n");
    let script = r#"
        "$REFLEXION" overnight; echo "first: $?"
        "$REFLEXION" status
        rm "$FILL"
        "$REFLEXION" overnight --json > "$OUT/second.json"; echo "second: $?"
    "#;
    let argv = on_a_small_disk(script);
    let mut command = project.program(&argv[0]);
    command.args(&argv[1..]).env("REFLEXION", env!("CARGO_BIN_EXE_reflexion"));
    let ran = command.env("FILL", project.dir.join(".reflection/fill")).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(out.contains("first: 4\n"), "{out}\n{err}");
    let named = err.contains("`workspace.minFreeMb` asks for 16") || err.contains("No space left on device");
    assert!(named && err.contains("`reflexion overnight` goes on"), "{err}");
    assert!(out.contains("could not go on"), "{out}\n{err}");
    assert!(out.contains("second: 0\n"), "{out}\n{err}");
    let second: serde_json::Value = serde_json::from_str(&project.told("second.json")).unwrap();
    let tasks = second["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 3, "{second:#}");
    for task in tasks {
        assert_eq!((&task["verdict"], &task["solvedAt"]), (&"confirmed".into(), &1.into()), "{second:#}");
    }
}

#[test]
fn what_stands_in_the_way_of_every_task_stops_the_night() {
    // It takes away what `setup` made, which has to run again for the next task.
    let agent = r#"rm -r deps; echo right > "$REFLEXION_TASK_ID.txt"; test -e "$OUT/calm" || touch "$OUT/broken""#;
    let project = Project::new(agent);
    let ids = ["a", "b", "c", "d", "e"];
    for id in ids {
        project.write(&format!("{id}.txt"), "wrong\n");
    }
    project.tasks(&ids.map(|id| task_with_check(id, &format!("grep -qx right {id}.txt"))));
    let setup = r#"mkdir deps && touch deps/made; test ! -e "$OUT/broken" || { echo no network; exit 1; }"#;
    project.config(|config| config["setup"] = setup.into());
    let ran = project.run(&["overnight"]);
    ran.exits(4).says("3 tasks in a row could not be worked on: setup").says("no network");
    std::fs::remove_file(project.out.join("broken")).unwrap();
    std::fs::write(project.out.join("calm"), "").unwrap();
    project.run(&["overnight"]).exits(0);
}

/// `git stash -a` and `git clean -fdx` take the runtime's own files away.
#[test]
fn a_night_whose_own_files_are_put_away_stops_and_goes_on_when_they_are_back() {
    let agent = r#"
        echo "$REFLEXION_TASK_ID" >> "$OUT/worked"
        if [ "$REFLEXION_TASK_ID" = b ] && mkdir "$OUT/away" 2> /dev/null; then
          git -C "$PROJECT" stash --all --quiet
        fi
        echo right > "$REFLEXION_TASK_ID.txt"
    "#;
    let project = Project::new(agent);
    let ids = ["a", "b", "c"];
    for id in ids {
        project.write(&format!("{id}.txt"), "wrong\n");
    }
    project.tasks(&ids.map(|id| task_with_check(id, &format!("grep -qx right {id}.txt"))));
    let night = |exit| {
        let ran =
            project.program(env!("CARGO_BIN_EXE_reflexion")).arg("overnight").env("PROJECT", &project.dir).output();
        let ran = ran.unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned() + &String::from_utf8_lossy(&ran.stdout);
        assert_eq!(ran.status.code(), Some(exit), "{said}");
        said
    };
    let said = night(4);
    assert!(said.contains("is gone, which was there when the run began") && said.contains("git stash -a"), "{said}");
    assert!(!project.dir.join(".reflection/runs").exists(), "nothing is written in its place");
    project.git(&["stash", "pop", "--quiet"]);
    night(0);
    assert_eq!(project.told("worked"), "a\nb\nb\nc\n", "what was confirmed stays so");
}

#[test]
fn a_check_of_one_task_that_cannot_start_does_not_end_a_night() {
    let project = Project::new(r#"echo right > "$REFLEXION_TASK_ID.txt""#);
    project.write("b.txt", "wrong\n");
    let mut bad = task_with_check("a", "");
    bad["checks"][0]["run"] = serde_json::json!(["no-such-program"]);
    project.tasks(&[bad, task_with_check("b", "grep -qx right b.txt")]);
    project.run(&["overnight"]).exits(1).says("check `answer` cannot start").says("[b] merged");
}

#[test]
fn a_task_whose_agent_fills_its_workspace_every_time_does_not_stop_the_others() {
    let works = Command::new("unshare").args(["--user", "--map-root-user", "--mount", "true"]).status();
    if !works.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: a small disk could not be mounted, because there are no user namespaces here");
        return;
    }
    let agent = r#"[ "$REFLEXION_TASK_ID" = a ] && { cat /dev/zero > junk 2> /dev/null; exit 0; }; echo right > "$REFLEXION_TASK_ID.txt""#;
    let project = Project::new(agent);
    for file in ["a.txt", "b.txt", "c.txt"] {
        project.write(file, "wrong\n");
    }
    project.tasks(&["a", "b", "c"].map(|id| task_with_check(id, &format!("grep -qx right {id}.txt"))));
    project.config(|config| config["workspace"] = serde_json::json!({ "minFreeMb": 16 }));
    project.write(".reflection/.gitignore", "*\n");
    let argv = on_a_small_disk(r#"exec "$REFLEXION" overnight --json"#);
    let mut command = project.program(&argv[0]);
    command.args(&argv[1..]).env("REFLEXION", env!("CARGO_BIN_EXE_reflexion"));
    let ran = crate::project::Ran::of(command, "");
    ran.exits(1);
    assert_eq!((ran.verdict("b"), ran.verdict("c")), ("confirmed".into(), "confirmed".into()), "{}", ran.stderr);
    assert_eq!(ran.task("a")["stop"], "environment", "{}", ran.stderr);
}

/// Fails as often as `$OUT/fails` has lines, however the cause is mended; counts its calls outside the workspace.
const FLAKY_SETUP: &str = r#"echo x >> "$OUT/calls"; test $(wc -l < "$OUT/calls") -gt $(wc -l < "$OUT/fails") || { echo no network; exit 1; }"#;

#[test]
fn a_setup_that_fails_at_first_costs_the_night_one_task() {
    for jobs in ["1", "2"] {
        let project = Project::new(r#"echo right > "$REFLEXION_TASK_ID.txt""#);
        let ids = ["a", "b", "c"];
        ids.iter().for_each(|id| project.write(&format!("{id}.txt"), "wrong\n"));
        project.tasks(&ids.map(|id| task_with_check(id, &format!("grep -qx right {id}.txt"))));
        project.config(|config| config["setup"] = FLAKY_SETUP.into());
        // Once, and once more when the workspace is repaired.
        std::fs::write(project.out.join("fails"), "x\nx\n").unwrap();
        let ran = project.run(&["overnight", "--json", "--jobs", jobs]);
        ran.exits(1);
        assert_eq!((ran.verdict("b"), ran.verdict("c")), ("confirmed".into(), "confirmed".into()), "{}", ran.stderr);
        assert_eq!(ran.task("a")["stop"], "environment", "{}", ran.stderr);
        // It is open, and the next night does it.
        project.run(&["overnight", "--json"]).exits(0);
    }
}

#[test]
fn a_setup_that_never_works_stops_the_night_before_anybody_is_paid() {
    let project = Project::new(r#"touch "$OUT/paid""#);
    project.tasks(&["a", "b", "c", "d"].map(|id| task_with_check(id, "true")));
    project.config(|config| config["setup"] = "echo no network; exit 1".into());
    project.run(&["overnight"]).exits(4).says("3 tasks in a row could not be worked on: setup");
    assert!(!project.out.join("paid").exists());
}

#[test]
fn a_file_that_may_not_grow_is_an_error_and_no_sudden_end() {
    let project = Project::new("echo right > answer.txt");
    let mut command = project.program("sh");
    let script = r#"ulimit -f 1; "$REFLEXION" overnight; echo "ended: $?""#;
    let ran = command.args(["-c", script]).env("REFLEXION", env!("CARGO_BIN_EXE_reflexion")).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(out.ends_with("ended: 4\n"), "{out}\n{err}");
    assert!(err.contains("error: failed to write to") && err.contains("File too large"), "{err}");
    // Where it may, the night goes on.
    project.run(&["overnight"]).exits(0);
}

#[test]
fn too_few_open_files_are_an_error_before_anything_begins() {
    let project = Project::new("echo right > answer.txt");
    for files in [5, 6, 7, 31] {
        let mut command = project.program("sh");
        let script = format!(r#"ulimit -n {files}; exec "$REFLEXION" status"#);
        let ran = command.args(["-c", &script]).env("REFLEXION", env!("CARGO_BIN_EXE_reflexion")).output().unwrap();
        let err = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(4), "{files}: {err}");
        assert!(err.contains("may be open at a time") && err.contains("ulimit -n"), "{files}: {err}");
    }
}
