//! Every exit code that the documents promise, by a command that ends with it. Signals (130), disks that are full and terminals (4) have
//! tests of their own: `bad_input`, `cli`, `watch`, `halted`.

use crate::project::{Project, RIGHT, Ran, task, task_with_check};
use serde_json::json;
use std::fs;

const WRONG: &str = "echo almost >> answer.txt";
const REFUTED: &str = r#"{"task": "Fix it", "tools": [{"tool": "bash", "command": "make test", "exitCode": 2}], "response": "All tests pass."}"#;
const DONE: &str = r#"{"task": "What does `parse` return?", "response": "A date, or an error that names the column."}"#;
const SUITE: &str = "name: small
kind: stuck
threshold: {max_false_alarm: 0, min_accuracy: 1.0}
cases:
- {id: runs, description: a tool runs, input: {time_since_activity: 60, tool_calls: 'bash: running'}, expect: {stuck: EXPECTED, reason: working}}
";

/// What a line of a table is about: where its code is promised, the code, the command, and what is given to it on stdin.
type Row<'a> = (&'a str, i32, &'a [&'a str], &'a str);

#[track_caller]
fn check(project: &Project, (promised, code, args, stdin): Row<'_>) {
    let ran = project.run_with(args, stdin);
    assert_eq!(
        ran.code,
        Some(code),
        "{promised}: `reflexion {}`\n--- stdout\n{}\n--- stderr\n{}",
        args.join(" "),
        ran.stdout,
        ran.stderr
    );
}

/// One after the other in one project: the first row begins with an open task.
#[test]
fn of_a_project_whose_work_is_confirmed() {
    let project = Project::new(RIGHT);
    project.config(|c| c["verification"] = json!({ "judge": { "type": "command", "argv": ["sh", "judge.sh"] } }));
    project.write("judge.sh", r#"cat > /dev/null; echo '{"complete": true, "confidence": 1, "severity": "NONE", "missing": [], "feedback": ""}'"#);
    project.write("good.yaml", SUITE.replace("EXPECTED", "false"));
    project.write("bad.yaml", SUITE.replace("EXPECTED", "true"));
    project.write("labels.jsonl", "{\"confidence\":0.9,\"correct\":true}\n");
    project.commit();
    let rows: [Row<'_>; 34] = [
        ("formats, 0: all that was asked for is confirmed", 0, &["run"], ""),
        ("formats, 0: nothing was open", 0, &["run"], ""),
        ("formats, 0: nothing was open", 0, &["overnight", "--no-keep-awake"], ""),
        ("formats, 2: wrong usage", 2, &["run", "--jsn"], ""),
        ("formats, 2: wrong usage", 2, &["overnight", "--until", "yesterday"], ""),
        ("report, 0: reported", 0, &["report"], ""),
        ("report, 2: no such run", 2, &["report", "1999"], ""),
        ("report, 4: the report cannot be written", 4, &["report", "--out", "no/such/dir/file"], ""),
        ("status, 0: told", 0, &["status"], ""),
        ("status, 2: no such run", 2, &["status", "1999"], ""),
        ("watch, 0: shown", 0, &["watch", "--once"], ""),
        ("watch, 2: no such run", 2, &["watch", "1999", "--once"], ""),
        ("trust, 0", 0, &["trust"], ""),
        ("trust --show, 0: all of it is trusted", 0, &["trust", "--show"], ""),
        ("apply, 0", 0, &["apply", "a"], ""),
        ("judge, 0: complete", 0, &["judge"], DONE),
        ("judge, 1: not complete", 1, &["judge"], REFUTED),
        ("judge, 2: what is given cannot be read", 2, &["judge"], "hello"),
        ("judge --kind stuck, 0 with any answer", 0, &["judge", "--kind", "stuck"], r#"{"time_since_activity": 90}"#),
        ("judge --kind compaction, 0 with any answer", 0, &["judge", "--kind", "compaction"], "{}"),
        ("risk, 0 whatever the risk", 0, &["risk", "--files", "src/auth/mod.rs"], ""),
        ("risk, 2: no such commit", 2, &["risk", "--base", "no-such-commit"], ""),
        ("memory check, 0", 0, &["memory", "check"], ""),
        ("eval, 0: every suite held its threshold", 0, &["eval", "good.yaml", "--judge", "none"], ""),
        ("eval, 1: one fell short", 1, &["eval", "bad.yaml", "--judge", "none"], ""),
        ("eval, 2: a suite cannot be read", 2, &["eval", "nowhere.yaml"], ""),
        ("analyze, 0 whatever came of it", 0, &["analyze", "calibration", "labels.jsonl"], ""),
        ("analyze, 0 whatever came of it", 0, &["analyze", "git-history"], ""),
        ("analyze, 2: wrong usage", 2, &["analyze", "git-history", "--days", "0"], ""),
        ("analyze, 2: nothing that can be read", 2, &["analyze", "calibration", "nowhere.jsonl"], ""),
        ("doctor, 0: nothing is broken", 0, &["doctor"], ""),
        ("hook, 0 whatever happens", 0, &["hook", "stop"], "no JSON"),
        ("overnight, 2: nothing to resume", 2, &["overnight", "--resume"], ""),
        ("config, 0", 0, &["config", "show"], ""),
    ];
    for row in rows {
        check(&project, row);
    }
}

#[test]
fn of_work_that_is_not_confirmed_or_is_left_open() {
    let project = Project::new(WRONG);
    project.tasks(&[task("a"), task("b")]);
    project.config(|c| c["budget"] = json!({ "run": { "attempts": 1 } }));
    let once: &[&str] = &["--max-attempts", "1"];
    let with = |args: &[&'static str]| [args, once].concat();
    check(&project, ("formats, 3: a budget left work open", 3, &with(&["run"]), ""));
    check(&project, ("overnight, 3: a budget of the run", 3, &with(&["overnight", "--again", "--no-keep-awake"]), ""));
    check(&project, ("overnight, 3: begins nothing with a used up budget", 3, &["overnight", "--resume"], ""));
    project.config(|c| c["budget"] = json!({}));
    check(&project, ("formats, 1: ran, but not all is confirmed", 1, &with(&["run", "--again"]), ""));
    check(&project, ("overnight: the list is empty, else 1", 1, &with(&["overnight", "--again", "--new"]), ""));
    // A lesson that somebody else wrote.
    project.write(
        "memory/reflections.jsonl",
        "{\"id\":\"r1\",\"taskId\":\"a\",\"analysis\":\"x\",\"suggestion\":\"y\"}\n",
    );
    check(&project, ("memory check, 1 if there are any", 1, &["memory", "check"], ""));
}

#[test]
fn of_what_is_in_the_way() {
    let project = Project::new(RIGHT);
    let asked = |args: &[&str], code: i32| {
        let mut command = project.command(args);
        command.env_remove("REFLEXION_TRUST");
        Ran::of(command, "").exits(code);
    };
    // What nobody trusts, and whoever asks what that is.
    asked(&["run"], 4);
    asked(&["trust", "--show"], 1);
    let run = ".reflection/runs/20260101-000000-aaaa";
    project.write(&format!("{run}/journal.jsonl"), "garbage\n");
    for _ in ["no line can be read", "it is no file"] {
        for args in [&["report"][..], &["status"], &["watch"], &["watch", "--once"], &["watch", "--json"]] {
            check(&project, ("report, status and watch, 4: its journal cannot be read", 4, args, ""));
        }
        fs::remove_file(project.dir.join(run).join("journal.jsonl")).unwrap_or_default();
        fs::create_dir_all(project.dir.join(run).join("journal.jsonl")).unwrap();
    }
    fs::remove_dir_all(project.dir.join(".reflection")).unwrap();
    project.tasks(&[task_with_check("a", "pytset")]);
    check(&project, ("formats, 4: the environment failed", 4, &["run"], ""));
    check(&project, ("doctor --checks, 4: no run can begin", 4, &["doctor", "--checks"], ""));
    project.write("project.json", "{");
    check(&project, ("formats, 2: wrong configuration", 2, &["run"], ""));
    fs::remove_file(project.dir.join("project.json")).unwrap();
    check(&project, ("doctor, 1: something is broken, but not what a run needs to begin", 1, &["doctor"], ""));
    fs::rename(project.dir.join(".git"), project.out.join("git")).unwrap();
    check(&project, ("risk, 2: no git work tree", 2, &["risk"], ""));
}
