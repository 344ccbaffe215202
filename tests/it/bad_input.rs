//! What strangers, broken programs and full disks do to the real program: a clear message, the documented exit code,
//! and nothing lost.

use crate::project::{Project, RIGHT, RIGHT_AT_TWO, Ran, bytes, task, task_with_check, with};
use serde_json::{Value, json};
use std::fs;

// project.json

#[test]
fn a_missing_project_names_the_command_that_makes_one() {
    let project = Project::new(RIGHT);
    fs::remove_file(project.dir.join("project.json")).unwrap();
    for args in [&["run"][..], &["task", "list"], &["memory", "list"], &["config", "show"], &["apply", "a"]] {
        project.run(args).exits(2).says("there is no project.json in ").says("`reflexion init`");
    }
    assert!(!project.dir.join(".reflection").exists());
    project.run(&["run", "-C", "/nowhere/at/all"]).exits(2).says("/nowhere/at/all");
}

#[test]
fn a_mistake_in_project_json_is_shown_where_it_is() {
    let check = |text: &str, words: &[&str]| {
        let project = Project::new("touch $OUT/started");
        project.write("project.json", text);
        let ran = project.run(&["run", "--json"]);
        ran.exits(2);
        for words in words {
            ran.says(words);
        }
        assert_eq!(ran.stdout, "");
        assert!(!project.out.join("started").exists());
    };
    check("{\n  \"jobs\": 2,\n}", &["project.json:3:1"]);
    check("", &["project.json:1:"]);
    check("[]", &["project.json:1:", "expected a JSON object"]);
    check("{\n\"reflexion\": []}", &["project.json:2:", "`reflexion`", "expected a JSON object"]);
    check("{} {}", &["project.json:1:"]);
    check("{\n  \"maxAttempt\": 2}", &["project.json:2:", "`maxAttempt`", "did you mean `maxAttempts`"]);
    check(r#"{"reflexion":{"enabeld":true}}"#, &["enabeld", "`enabled`"]);
    check(r#"{"jobs":"two"}"#, &["project.json:1:", "jobs"]);
    check(r#"{"agents":{"default":"nobody"}}"#, &["nobody"]);
    check(r#"{"agents":{"x":{"type":"comand","argv":["x"]}}}"#, &["comand", "`command`"]);
    check(r#"{"agents":{"x":{"type":"command"}}}"#, &["argv"]);
    check(r#"{"maxAttempts":0}"#, &["maxAttempts"]);
    check(
        "{\"agents\":{\"x\":{\"type\":\"repair\"},\n\"x\":{\"type\":\"command\",\"argv\":[\"x\"]}}}",
        &["project.json:2:", "`agents`", "the key `x` stands twice"],
    );
    check(r#"{"workspace":{"env":{"A":"1","A":"2"}}}"#, &["`workspace.env`", "the key `A` stands twice"]);
    check(r#"{"checks":[{"name":"x","run":""}]}"#, &["project.json:1:", "`run` of a check is empty"]);
}

// The task file.

#[test]
fn an_unreadable_line_is_named_and_kept_and_stops_no_other() {
    let project = Project::new(RIGHT);
    let mut file = b"{\"id\":\"broken\"\n\xff\xfe not text\n".to_vec();
    file.extend(format!("{}\r\n\n{{\"id\":\"../../x\",\"title\":\"out\"}}\n", task("a")).bytes());
    file.extend(b"{\"id\":\"last\",\"title\":\"no end");
    project.write("tasks.jsonl", &file);
    let ran = project.run(&["run", "--json"]);
    ran.exits(1).says("tasks.jsonl:1:").says("tasks.jsonl:2:").says("tasks.jsonl:5:").says("tasks.jsonl:6:");
    assert_eq!(ran.verdict("a"), "confirmed");
    assert_eq!(project.read("tasks.jsonl"), file);
    let list = project.run(&["task", "list", "--json"]);
    list.exits(0).says("line 2");
    assert_eq!(list.json()["tasks"].as_array().unwrap().len(), 1);
    project.run(&["task", "close", "a"]).exits(0);
    let kept = project.read("tasks.jsonl");
    assert!(kept.starts_with(b"{\"id\":\"broken\"\n\xff\xfe not text\n"));
    assert!(kept.ends_with(b"{\"id\":\"../../x\",\"title\":\"out\"}\n{\"id\":\"last\",\"title\":\"no end"));
}

#[test]
fn a_line_that_is_json_and_no_task_says_why() {
    let check = |more: Value, words: &str| {
        let project = Project::new("touch $OUT/started");
        project.tasks(&[with(task("a"), more)]);
        project.run(&["run", "--json"]).exits(1).says("tasks.jsonl:1:").says(words);
        assert!(!project.out.join("started").exists(), "{words}");
    };
    check(json!({"title": " "}), "the title is empty");
    check(json!({"title": "two\nlines"}), "more than one line");
    check(json!({"priority": 5}), "priority 5");
    check(json!({"status": "done"}), "`closed`");
    // An empty command passes always: it would confirm anything.
    check(json!({"checks": [{"name": "x", "run": " "}]}), "`run` of a check is empty");
    check(json!({"checks": [{"name": "x", "run": []}]}), "`run` of a check is empty");
    check(json!({"checks": [{"name": "x", "run": "a\0b"}]}), "NUL");
    check(json!({"checks": [{"nam": "x", "run": "true"}]}), "nam");
    check(json!({"subtasks": [{"id": "s", "title": "1"}, {"id": "s", "title": "2"}]}), "two subtasks have the id `s`");
}

#[test]
fn nobody_waits_for_a_pipe_in_the_place_of_a_file_and_a_shells_own_is_read() {
    let project = Project::new(RIGHT);
    let sh = |script: &str| {
        let mut command = project.program("bash");
        command.args(["-c", script, "bash", env!("CARGO_BIN_EXE_reflexion")]);
        Ran::of(command, "")
    };
    sh("mkfifo suite.yaml && timeout 30 $1 eval suite.yaml").exits(2).says("is a pipe where a file belongs");
    project.config(|c| c["redaction"] = json!({ "rules": "suite.yaml" }));
    sh("timeout 30 $1 task list").exits(2).says("it is no file");
    project.config(|c| c["redaction"] = json!({}));
    project.write("stuck.json", r#"{"tool_calls":"bash: running"}"#);
    for file in ["<(cat stuck.json)", "/dev/stdin < stuck.json", "- < stuck.json"] {
        sh(&format!("$1 judge --kind stuck {file}")).exits(0).says("");
    }
    sh("cat stuck.json | $1 judge --kind stuck /dev/stdin").exits(0).says("");
}

#[test]
fn a_key_named_twice_is_refused_wherever_a_person_writes_json() {
    let project = Project::new("touch $OUT/started");
    let line = task("a").to_string().replacen('{', r#"{"protect":["a"],"mine":1,"mine":2,"#, 1);
    project.write("tasks.jsonl", &line);
    project.run(&["run", "--json"]).exits(1).says("tasks.jsonl:1: the key `mine` stands twice");
    assert!(!project.out.join("started").exists());
    project.tasks(&[task("a")]);
    project.run(&["task", "edit", "a", r#"{"mine":1,"mine":2}"#]).exits(2).says("the key `mine` stands twice");
    project.write("stuck.json", r#"{"tool_calls":null,"tool_calls":"bash: running"}"#);
    project.run(&["judge", "--kind", "stuck", "stuck.json"]).exits(2).says("stands twice");
    project.write("suite.json", "{\"suite\":\"s\",\"cases\":[\n{\"id\":\"a\",\"id\":\"b\"}]}");
    project.run(&["eval", "suite.json"]).exits(2).says("suite.json:2: `cases[0]`: the key `id` stands twice");
}

#[test]
fn an_id_given_twice_is_reported_and_the_first_one_counts() {
    let project = Project::new(RIGHT);
    project.tasks(&[task("a"), with(task("a"), json!({"title": "another"})), task("b")]);
    let ran = project.run(&["run", "--json"]);
    ran.exits(1).says("tasks.jsonl:2:").says("`a`");
    assert_eq!(ran.task("a")["verdict"], "confirmed");
    assert_eq!(ran.json()["tasks"].as_array().unwrap().len(), 2);
    assert!(project.git(&["log", "--all", "--format=%s"]).contains("Answer for a\n"));
}

#[test]
fn a_missing_dependency_and_a_circle_are_named_and_stop_no_other() {
    let project = Project::new(RIGHT);
    let after = |id: &str, on: &str| with(task(id), json!({"deps": [{"id": on, "type": "blocks"}]}));
    project.tasks(&[after("lost", "gone"), after("x", "y"), after("y", "x"), after("me", "me"), task("a")]);
    let ran = project.run(&["run", "--json"]);
    ran.exits(1);
    assert_eq!(ran.verdict("a"), "confirmed");
    let cause = |id: &str| ran.task(id)["cause"].as_str().unwrap().to_owned();
    assert!(cause("lost").contains("`gone`, which is not in the task file"), "{}", cause("lost"));
    assert!(cause("x").contains("circle") || cause("y").contains("circle"), "{}", ran.stdout);
    assert!(cause("me").contains("circle"), "{}", cause("me"));
    let shown = project.run(&["task", "show", "lost"]);
    assert!(shown.stdout.contains("waits: it") && shown.stdout.contains("`gone`"), "{}", shown.stdout);
    let report = project.run(&["report", "--json"]).json();
    let whys = report["needs"].as_array().unwrap().iter().map(|need| need["why"].as_str().unwrap().to_owned());
    let whys: Vec<String> = whys.collect();
    assert!(whys.iter().any(|why| why.contains("`gone`, which is not in the task file")), "{whys:?}");
    assert_eq!(whys.iter().filter(|why| why.contains("circle")).count(), 2, "{whys:?}");
    assert_eq!(report["next"], json!([]), "nothing goes on without a person");
    let list = project.run(&["task", "list", "--json"]).json();
    assert!(list["tasks"].as_array().unwrap().iter().filter(|t| t["id"] != "a").all(|t| t["status"] == "open"));
    // A mistake in the task file is not the environment's fault.
    project.tasks(&[after("x", "y"), after("y", "x")]);
    project.run(&["run", "--json"]).exits(1).says("`x` -> `y` -> `x`");
}

#[test]
fn a_task_file_that_is_not_there_or_not_a_file_is_named() {
    let project = Project::new(RIGHT);
    project.config(|c| c["tasks"] = json!("todo.jsonl"));
    project.run(&["run"]).says("todo.jsonl").says("reflexion task add");
    fs::create_dir(project.dir.join("todo.jsonl")).unwrap();
    project.run(&["run"]).exits(4).says("todo.jsonl");
}

#[test]
fn ids_never_become_paths_elsewhere() {
    let project = Project::new(RIGHT);
    for args in [
        &["run", "../../x"][..],
        &["apply", "../../x"],
        &["task", "add", "t", "--id", "../../x"],
        &["run", "-C", ".", "a/b"],
    ] {
        project.run(args).exits(2).says("ids are 1 to 64");
    }
    project.run(&["task", "show", "../../x"]).exits(2);
    project.run(&["run", "b"]).exits(2).says("`b`");
}

#[test]
fn a_title_is_a_commit_subject_and_never_a_command() {
    let project = Project::new(RIGHT);
    let title = "Fix `touch pwned` and $(touch pwned) \"now\"; touch pwned # -m";
    project.tasks(&[with(task("a"), json!({"title": title, "description": "$(touch pwned)"}))]);
    let ran = project.run(&["run", "--json"]);
    ran.exits(0);
    let branch = ran.task("a")["branch"].as_str().unwrap().to_owned();
    assert_eq!(project.git(&["log", "-1", "--format=%s%n%an", &branch]), format!("{title}\nAda\n"));
    let found =
        std::process::Command::new("find").arg(project.dir.parent().unwrap()).args(["-name", "pwned*"]).output();
    assert_eq!(String::from_utf8(found.unwrap().stdout).unwrap(), "");
}

// Agents.

#[test]
fn a_missing_agent_program_is_the_environments_fault_and_blocks_nothing() {
    let project = Project::new(RIGHT);
    project.config(|c| c["agents"]["sh"]["argv"] = json!(["no-such-agent-program", "--x"]));
    let ran = project.run(&["run", "--json"]);
    ran.exits(4).says("no-such-agent-program");
    assert_eq!(ran.verdict("a"), Value::Null);
    assert_eq!(ran.task("a")["attempts"], 0);
    assert!(ran.task("a")["cause"].as_str().unwrap().contains("no-such-agent-program"));
    assert_eq!(project.run(&["task", "list", "--json"]).json()["tasks"][0]["status"], "open");
    project.run(&["doctor"]).exits(1);
    // The next of the chain does it.
    project.config(|c| {
        c["agents"]["other"] = json!({"type": "command", "argv": ["sh", "-c", RIGHT]});
        c["agents"]["default"] = json!(["sh", "other"]);
    });
    assert_eq!(project.run(&["run", "--json"]).exits(0).verdict("a"), "confirmed");
}

#[test]
fn any_output_of_an_agent_is_read_and_bounded() {
    let check = |agent: &str| {
        let project = Project::new(&format!("{agent}; grep VmHWM /proc/$PPID/status > $OUT/peak; {RIGHT}"));
        let ran = project.run(&["run", "--json"]);
        assert_eq!(ran.exits(0).verdict("a"), "confirmed", "{agent}");
        let kilobytes = project.told("peak").split_whitespace().nth(1).unwrap().parse::<u64>().unwrap();
        assert!(kilobytes < 80_000, "{agent}: {kilobytes} kB at peak");
    };
    check("head -c 100000000 /dev/zero | tr '\\0' x");
    check("head -c 3000000 /dev/urandom; head -c 3000000 /dev/urandom >&2");
    check(r"printf '\377\376\303\050 \000 \033[2J'");
    check("exec <&-");
}

#[test]
fn binary_output_of_a_failing_agent_and_check_becomes_a_reflection() {
    let project = Project::new(r"echo x >> answer.txt; printf '\377\000\033[2J gone'; exit 3");
    project.tasks(&[task_with_check("a", r"printf '\377\376\000 %s' boom; exit 1")]);
    let ran = project.run(&["run", "--json", "--max-attempts", "1"]);
    assert_eq!(ran.exits(1).verdict("a"), "failed");
    assert_eq!(ran.task("a")["endings"], json!([{"kind": "agent_error"}]));
    assert_eq!(ran.task("a")["reflectionsWritten"], 1);
    assert!(!ran.stderr.contains('\u{1b}'), "nothing of an agent drives the terminal");
}

#[test]
fn an_agent_that_never_ends_is_ended_with_all_it_started() {
    let project = Project::new(
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; touch $OUT/grandchild; while :; do sleep 1; done' & \
         (setsid sleep 300 &); while :; do sleep 1; done",
    );
    project.config(|c| c["agents"]["sh"]["timeoutMs"] = json!(700));
    let ran = project.run(&["run", "--json", "--max-attempts", "1"]);
    assert_eq!(ran.exits(1).task("a")["endings"], json!([{"kind": "timeout"}]));
    assert_eq!(ran.verdict("a"), "failed");
    assert!(project.out.join("grandchild").exists());
    assert_eq!(project.processes(), Vec::<String>::new());
}

#[test]
fn an_agent_that_ends_leaves_no_grandchild_behind() {
    let project = Project::new(&format!("(setsid sleep 300 >/dev/null 2>&1 &); sleep 300 & {RIGHT}"));
    assert_eq!(project.run(&["run", "--json"]).exits(0).verdict("a"), "confirmed");
    assert_eq!(project.processes(), Vec::<String>::new());
}

// Checks.

#[test]
fn a_check_that_hangs_is_ended_and_is_red() {
    let project = Project::new(RIGHT);
    let mut hanging = task_with_check("a", "grep -q wrong answer.txt || { setsid sleep 300 & sleep 300; }");
    hanging["checks"][0]["timeoutMs"] = json!(300);
    project.tasks(&[hanging]);
    let ran = project.run(&["run", "--json", "--max-attempts", "1"]);
    assert_eq!(ran.exits(1).verdict("a"), "false_done");
    assert!(ran.task("a")["cause"].as_str().unwrap().contains("0.3 s"), "{}", ran.task("a"));
    assert_eq!(project.processes(), Vec::<String>::new());
}

#[test]
fn a_check_that_cannot_start_stops_the_run_before_an_agent_is_paid() {
    let check = |run: Value, words: &str| {
        let project = Project::new("touch $OUT/started");
        let mut task = task("a");
        task["checks"][0]["run"] = run;
        project.tasks(&[task]);
        project.run(&["run", "--json"]).exits(4).says("check `answer` cannot start").says(words);
        assert!(!project.out.join("started").exists(), "{words}");
        assert_eq!(project.run(&["task", "list", "--json"]).json()["tasks"][0]["status"], "open");
        assert_eq!(project.worktrees().len(), 0);
    };
    check(json!("pytset -q"), "`pytset` was not found");
    check(json!(["pytset", "-q"]), "pytset");
    check(json!("python3 -m no_such_module_at_all"), "no_such_module_at_all");
}

#[test]
fn a_missing_script_is_what_is_to_be_written() {
    for run in [json!("./script.sh"), json!(["./script.sh"]), json!("sh tools/script.sh")] {
        let project = Project::new(
            "mkdir -p tools; printf '#!/bin/sh\\nexit 0\\n' | tee script.sh > tools/script.sh; chmod +x script.sh",
        );
        let mut task = task("a");
        task["checks"][0]["run"] = run.clone();
        project.tasks(&[task]);
        let ran = project.run(&["run", "--json"]);
        assert_eq!(ran.exits(0).task("a")["proof"], "turned_green", "{run}");
    }
}

// Disks.

#[test]
fn where_no_clean_room_can_be_made_nothing_begins_and_it_says_what_to_do() {
    let project = Project::new("touch $OUT/started");
    project.write("state", "in the way");
    for args in ["run", "overnight", "doctor"] {
        let mut command = project.command(&[args]);
        command.env("XDG_STATE_HOME", project.dir.join("state"));
        let ran = Ran::of(command, "");
        let said = format!("{}{}", ran.exits(4).stdout, ran.stderr);
        assert!(said.contains("clean rooms") && said.contains("set XDG_STATE_HOME"), "{args}: {said}");
    }
    assert!(!project.out.join("started").exists());
}

#[test]
fn where_clean_rooms_would_be_in_the_checkout_nothing_begins() {
    let project = Project::new("touch $OUT/started");
    std::os::unix::fs::symlink(&project.dir, project.out.join("link")).unwrap();
    for place in [project.dir.join(".state"), project.out.join("link/.state/deep")] {
        for args in ["run", "overnight", "doctor"] {
            let mut command = project.command(&[args]);
            command.env("XDG_STATE_HOME", &place);
            let ran = Ran::of(command, "");
            let said = format!("{}{}", ran.exits(4).stdout, ran.stderr);
            assert!(said.contains("inside your checkout") && said.contains("set XDG_STATE_HOME"), "{args}: {said}");
        }
        assert!(!place.exists(), "nothing is made there");
    }
    assert!(!project.out.join("started").exists());
}

#[test]
fn a_memory_that_cannot_be_written_costs_the_lesson_and_not_the_run() {
    let project = Project::new(RIGHT_AT_TWO);
    // A file where the directory should be stops even root.
    project.write("memory", "in the way");
    project.commit();
    let ran = project.run(&["run", "--json"]);
    ran.exits(0).says("warning").says("memory");
    assert_eq!(ran.task("a")["solvedAt"], 2);
    assert_eq!(ran.task("a")["reflectionsWritten"], 0);
    assert_eq!(project.read("memory"), b"in the way");
    project.run(&["memory", "list"]).exits(4).says("memory");
    project.run_with(&["memory", "add"], r#"{"taskId":"a","analysis":"x","suggestion":"y"}"#).exits(4).says("memory");
}

#[test]
fn a_full_disk_under_memory_costs_the_lesson_and_not_the_run() {
    let project = Project::new(RIGHT_AT_TWO);
    let memory = project.dir.join("memory");
    fs::create_dir(&memory).unwrap();
    let mount =
        std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=4k", "tmpfs"]).arg(&memory).output();
    if !mount.is_ok_and(|o| o.status.success()) {
        eprintln!("SKIPPED: no tmpfs can be mounted here, so a full disk cannot be made");
        return;
    }
    let _ = fs::write(memory.join("filler"), vec![b'x'; 64 * 1024]);
    let ran = project.run(&["run", "--json"]);
    let kept = fs::read(memory.join("reflections.jsonl")).unwrap_or_default();
    assert!(std::process::Command::new("umount").arg(&memory).status().unwrap().success());
    ran.exits(0).says("no reflection was stored");
    assert_eq!(ran.task("a")["solvedAt"], 2);
    assert_eq!(kept, b"", "no torn line");
}

#[test]
fn machine_state_that_cannot_be_written_stops_the_run() {
    let project = Project::new("touch $OUT/started");
    // A file where the directory should be stops even root.
    project.write(".reflection", "in the way");
    let ran = project.run(&["run", "--json"]);
    ran.exits(4).says(".reflection");
    assert!(!project.out.join("started").exists());
    assert_eq!(project.read(".reflection"), b"in the way");
}

#[test]
fn a_damaged_memory_file_is_kept_byte_for_byte_and_grows() {
    let project = Project::new(RIGHT_AT_TWO);
    let good = json!({"v": 1, "id": "old", "sessionId": "s", "taskId": "a", "subtaskId": "a", "attemptNumber": 1,
        "category": "root_cause", "analysis": "An old lesson.", "suggestion": "Heed it.", "actionItems": [],
        "confidence": 0.5, "createdAt": "2026-01-01T00:00:00Z"});
    let mut damaged = format!("{good}\r\n").into_bytes();
    damaged.extend(b"nul \0\0 bytes\n\n");
    damaged.extend(std::iter::repeat_n(b'x', 3_000_000));
    damaged.extend(
        format!("\n{}\n", with(good.clone(), json!({"v": 99, "id": "future", "analysis": {"shape": 1}}))).bytes(),
    );
    damaged.extend(b"{\"id\":\"torn\",\"analysis\":\"half a li");
    project.write("memory/reflections.jsonl", &damaged);
    let ran = project.run(&["run", "--json"]);
    assert_eq!(ran.exits(0).task("a")["reflectionsWritten"], 2, "the guess, and what made the difference");
    let file = project.read("memory/reflections.jsonl");
    assert!(file.starts_with(&damaged), "every byte is still there");
    let list = project.run(&["memory", "list", "--json"]);
    let list = list.exits(0).says("cannot be read").json();
    let ids: Vec<&str> = list["reflections"].as_array().unwrap().iter().map(|r| r["id"].as_str().unwrap()).collect();
    assert_eq!((ids.len(), ids[2]), (3, "old"), "newest first: {ids:?}");
    assert!(file.len() > damaged.len() && file.ends_with(b"\n"));
}

// Two at once, and interruptions.

#[test]
fn a_second_run_refuses_and_names_the_first() {
    let project = Project::new(&format!("touch $OUT/started; until [ -e $OUT/go ]; do sleep 0.05; done; {RIGHT}"));
    let first = project.start(&["run", "--json"]);
    project.await_told("started");
    let second = project.run(&["run", "--json"]);
    second.exits(4).says(&format!("process {}", first.pid()));
    assert_eq!(second.stdout, "");
    fs::write(project.out.join("go"), "").unwrap();
    assert_eq!(first.end().exits(0).verdict("a"), "confirmed");
}

/// An agent that hangs with a child and a child in its own session, until `$OUT/mended` is there.
const HANGS_UNTIL_MENDED: &str = "if [ -e $OUT/mended ]; then echo right > answer.txt; exit; fi; echo half > answer.txt; \
     setsid sleep 300 & sleep 300 & touch $OUT/started; wait";

#[test]
fn an_interrupted_run_ends_cleanly_and_the_next_one_goes_on() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let project = Project::new(HANGS_UNTIL_MENDED);
        let run = project.start(&["run", "--json"]);
        project.await_told("started");
        run.signal(signal);
        let ran = run.end();
        ran.exits(130).says("interrupted");
        assert_eq!((ran.verdict("a"), &ran.json()["interrupted"]), (Value::Null, &json!(true)));
        assert_eq!(ran.task("a")["endings"], json!([{"kind": "cancelled"}]));
        assert_eq!(project.processes(), Vec::<String>::new());
        assert_eq!(project.run(&["task", "list", "--json"]).json()["tasks"][0]["status"], "open");
        assert_eq!(project.worktrees().len(), 0);
        fs::write(project.out.join("mended"), "").unwrap();
        let next = project.run(&["run", "--json"]);
        assert_eq!(next.exits(0).task("a")["solvedAt"], 1, "the interrupted attempt was not used up");
    }
}

#[test]
fn an_interruption_while_checks_run_at_the_base_is_one_too() {
    let project = Project::new(RIGHT);
    project.tasks(&[task_with_check(
        "a",
        "touch $OUT/started; [ -e $OUT/mended ] || sleep 300; grep -qx right answer.txt",
    )]);
    let run = project.start(&["run", "--json"]);
    project.await_told("started");
    run.signal(rustix::process::Signal::INT);
    let ran = run.end();
    ran.exits(130);
    assert_eq!(ran.json()["interrupted"], true);
    assert_eq!(project.processes(), Vec::<String>::new());
    assert_eq!(project.worktrees().len(), 0);
    fs::write(project.out.join("mended"), "").unwrap();
    project.run(&["run"]).exits(0);
}

#[test]
fn an_interruption_does_not_wait_for_a_generator() {
    let project = Project::new("echo almost > answer.txt");
    let script = "touch $OUT/started; setsid sleep 300 & sleep 300";
    project.config(|c| c["reflexion"]["generator"] = json!({"type": "command", "argv": ["sh", "-c", script]}));
    let run = project.start(&["run", "--json"]);
    project.await_told("started");
    run.signal(rustix::process::Signal::INT);
    let ran = run.end();
    // Had it been waited for, the heuristic would have answered in its place.
    ran.exits(130).says("no reflection was stored: the run was interrupted");
    assert_eq!((&ran.task("a")["attempts"], &ran.task("a")["reflectionsWritten"]), (&json!(1), &json!(0)));
    assert_eq!(project.processes(), Vec::<String>::new());
}

#[test]
fn after_a_killed_run_the_next_one_cleans_up_and_says_so() {
    let project = Project::new(HANGS_UNTIL_MENDED);
    let run = project.start(&["run", "--json"]);
    project.await_told("started");
    run.signal(rustix::process::Signal::KILL);
    assert_eq!(run.end().code, None);
    let left = project.worktrees();
    assert!(!left.is_empty());
    fs::write(project.out.join("mended"), "").unwrap();
    let next = project.run(&["run", "--json"]);
    next.exits(0).says("left behind by an earlier run: a workspace of run").says(", now removed");
    assert_eq!(next.task("a")["solvedAt"], 1, "an attempt that was never judged was not used up");
    assert!(!left[0].exists());
    assert_eq!(project.worktrees().len(), 0);
    next.says("processes that still ran");
    assert_eq!(project.processes(), Vec::<String>::new(), "agents of the killed run do not live on");
}

#[test]
fn a_generator_of_a_killed_run_is_ended_wherever_it_works() {
    let project = Project::new("echo wrong >> answer.txt");
    let script = "cd /; setsid sleep 300 & sleep 300 & touch $OUT/reflecting; wait";
    project.config(|c| c["reflexion"]["generator"] = json!({"type": "command", "argv": ["sh", "-c", script]}));
    let run = project.start(&["run", "--json"]);
    project.await_told("reflecting");
    run.signal(rustix::process::Signal::KILL);
    assert_eq!(run.end().code, None);
    assert!(!project.processes().is_empty(), "what a killed run started goes on: nobody is there to end it");
    project.config(|c| {
        c["agents"]["sh"]["argv"] = json!(["sh", "-c", RIGHT]);
    });
    project.run(&["run", "--json"]).exits(0).says("processes that still ran");
    assert_eq!(project.processes(), Vec::<String>::new());
}

// Repositories.

#[test]
fn without_git_the_work_is_a_patch_that_apply_brings_in() {
    let project = Project::without_git(RIGHT);
    let ran = project.run(&["run", "--json"]);
    ran.exits(0);
    let patch = ran.task("a")["branch"].as_str().unwrap().to_owned();
    assert!(patch.ends_with("a.patch") && project.dir.join(&patch).is_file(), "{patch}");
    assert_eq!(project.read("answer.txt"), b"wrong\n");
    let applied = project.run(&["apply", "a", "--json"]);
    assert_eq!(applied.exits(0).json()["files"], json!(["answer.txt"]));
    assert_eq!(project.read("answer.txt"), b"right\n");
    assert!(!project.dir.join(".git").exists());
}

#[test]
fn a_dirty_work_tree_stays_as_it_is_and_agents_do_not_see_it() {
    let project = Project::new(&format!("cat staged edited untracked > $OUT/seen 2>/dev/null; {RIGHT}"));
    project.write("staged", "old\n");
    project.write("edited", "old\n");
    project.commit();
    project.write("staged", "staged\n");
    project.git(&["add", "staged"]);
    project.write("edited", "edited\n");
    project.write("untracked", "untracked\n");
    let status =
        || (project.git(&["status", "--porcelain"]), project.git(&["diff", "--cached"]), project.git(&["diff"]));
    let (before, index) = (status(), bytes(&project.dir.join(".git/index")));
    let ran = project.run(&["run", "--json"]);
    ran.exits(0).says("staged").says("edited").says("untracked").says("not included");
    assert_eq!(bytes(&project.dir.join(".git/index")), index);
    assert_eq!(status(), before);
    assert_eq!(project.read("untracked"), b"untracked\n");
    assert_eq!(project.told("seen"), "old\nold\n");
    assert_eq!(ran.task("a")["files"], json!(["answer.txt"]));
}

#[test]
fn a_repository_without_a_commit_says_what_to_do() {
    let project = Project::without_git("touch $OUT/started");
    project.git(&["init", "-q", "-b", "main"]);
    project.run(&["run", "--json"]).exits(4).says("no commit yet").says("git commit");
    assert!(!project.out.join("started").exists());
    for args in [&["doctor"][..], &["doctor", "--checks"]] {
        let said = project.run(args).exits(4).stdout.clone();
        assert!(said.contains("✗ base: the repository has no commit yet"), "{said}");
    }
    project.commit();
    assert!(project.run(&["doctor"]).stdout.contains("✓ base: a run would start from commit "));
    assert!(project.run(&["run", "--json", "--max-attempts", "1"]).verdict("a") != Value::Null);
}

#[test]
fn a_project_that_nothing_can_be_written_to_is_said_before_a_run() {
    let project = Project::new(RIGHT);
    project.write(".reflection", "in the way");
    let said = project.run(&["doctor"]).exits(4).stdout.clone();
    assert!(said.contains("✗ base: failed to make"), "{said}");
    project.run(&["run"]).exits(4);
}

#[test]
fn nothing_of_a_run_without_git_is_left_between_runs() {
    let project = Project::without_git(RIGHT);
    project.run(&["run"]).exits(0);
    let left: Vec<_> =
        fs::read_dir(project.dir.join(".reflection/worktrees")).into_iter().flatten().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

// Generators.

#[test]
fn a_generator_that_fails_is_replaced_and_counted() {
    let check = |script: &str, because: &str| {
        let project = Project::new(RIGHT_AT_TWO);
        project.config(|c| {
            c["reflexion"] =
                json!({"generator": {"type": "command", "argv": ["sh", "-c", script]}, "generationTimeoutMs": 1500});
        });
        let ran: Ran = project.run(&["run", "--json"]);
        assert_eq!(ran.exits(0).json()["totals"]["fallbacks"], 2, "the guess, and what made the difference: {script}");
        let stored = project.run(&["memory", "list", "--json"]).json()["reflections"][0].clone();
        let origin = stored["origin"].to_string();
        assert!(origin.contains("heuristic") && origin.contains(because), "{origin}");
        assert_eq!(project.processes(), Vec::<String>::new());
    };
    check("echo no key >&2; exit 7", "no key");
    check("echo garbage", "cannot be read");
    check("printf '\\377\\376{'", "cannot be read");
    check("echo '{\"category\":\"root_cause\"}'", "cannot be read");
    check("setsid sleep 300 & sleep 300", "timed out after 1.5 s");
    check("exec no-such-generator", "no-such-generator");
}

#[test]
fn config_show_prints_nothing_that_a_terminal_would_act_on() {
    let project = Project::new("true");
    project.config(|c| c["agents"]["sh"]["argv"][2] = "echo shop\u{9b}31m\u{1b}]52;c;eA==\u{7}".into());
    let said = project.run(&["config", "show"]);
    said.exits(0);
    assert!(said.stdout.contains("echo shop"), "{}", said.stdout);
    assert!(!said.stdout.chars().any(|c| c.is_control() && c != '\n'), "{:?}", said.stdout);
}

/// A repository may have such a link where it says "import this".
#[test]
fn a_device_in_the_place_of_a_file_is_not_read_without_end() {
    let project = Project::new(RIGHT);
    std::os::unix::fs::symlink("/dev/zero", project.dir.join("lessons.jsonl")).unwrap();
    for args in [
        &["memory", "import", "lessons.jsonl"][..],
        &["analyze", "calibration", "lessons.jsonl"],
        &["judge", "lessons.jsonl"],
    ] {
        project.run(args).exits(2).says("it is a device");
    }
}

/// A line that cannot be read is quoted, names and commands are shown: none of it may move the cursor, hide what comes after it or set a title.
#[test]
fn nothing_of_a_clone_drives_the_terminal_of_whoever_looks_at_it() {
    const HOSTILE: &str = "\u{1b}[2J\u{1b}[8m\u{1b}]0;T\u{7}\u{9b}31m\u{7f}\u{202e}";
    let project = Project::new("echo \"$(printf '\\033[2J\\302\\233')\" > answer.txt");
    project.config(|c| c["checks"] = json!([{ "name": format!("n{HOSTILE}"), "run": format!("true # {HOSTILE}") }]));
    let with_field = |id: &str, field: &str| with(task(id), json!({ field: HOSTILE }));
    let unread = ["type", "status", "expects"].map(|field| with_field(&format!("no-{field}"), field));
    let mut tasks = vec![with_field("a", "title"), with_field("b", "description"), with_field("c", "agent")];
    tasks.extend(unread);
    project.tasks(&tasks);
    let lesson = json!({
        "id": "odd", "sessionId": "s", "taskId": "a", "subtaskId": "a", "attemptNumber": 1, "category": "root_cause", "analysis": HOSTILE,
        "suggestion": HOSTILE, "createdAt": "2026-01-02T03:04:05Z",
    });
    project.write("memory/reflections.jsonl", format!("{lesson}\n"));
    let is_shown = |c: char| !c.is_control() && c != '\u{202e}' || c == '\n' || c == '\t';
    let calls: [&[&str]; 17] = [
        &["memory", "list"],
        &["memory", "list", "--json"],
        &["memory", "show", "odd"],
        &["memory", "show", "odd", "--json"],
        &["task", "list"],
        &["task", "list", "--json"],
        &["task", "show", "a", "--json"],
        &["task", "show", "no-type"],
        &["task", "ready"],
        &["trust", "--show"],
        &["trust", "--show", "--json"],
        &["run", "--dry-run"],
        &["run", "--dry-run", "--json"],
        &["config", "show", "--json"],
        &["run", "a", "--max-attempts", "1", "--events", "-"],
        &["run", "a", "--again", "--max-attempts", "1", "--json"],
        &["report", "--json"],
    ];
    for args in calls {
        let ran = project.run(args);
        for text in [&ran.stdout, &ran.stderr] {
            assert!(text.chars().all(is_shown), "{args:?}: {text:?}");
        }
        if args.contains(&"--json") {
            assert!(ran.json().is_object() || ran.json().is_array(), "{args:?}");
        }
    }
    let list = project.run(&["task", "list", "--json"]);
    assert!(list.stdout.contains("\\u009b31m\\u007f\\u202e"), "{}", list.stdout);
    assert!(list.json().to_string().contains(json!(HOSTILE).to_string().trim_matches('"')), "the same value");
}
