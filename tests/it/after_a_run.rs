//! What the report of a run shows a person: what needs them, what was tried beside the work, and what was really done when.

use crate::overnight::wanted;
use crate::project::{Project, RIGHT, task, with};
use jiff::Timestamp;
use rustix::process::Signal;
use serde_json::json;
use std::fs;
use std::time::{Duration, Instant};

/// The report as text, Markdown and HTML.
fn forms(project: &Project) -> [String; 3] {
    [&["report"][..], &["report", "--md"], &["report", "--html", "--out", "-"]]
        .map(|args| project.run(args).exits(0).stdout.clone())
}

#[test]
fn what_failed_and_what_waits_for_it_needs_a_person() {
    let project = Project::new("echo almost > answer.txt");
    project.config(|config| config["maxAttempts"] = 1.into());
    let waits = with(task("b"), json!({ "deps": [{ "id": "a", "type": "blocks" }] }));
    let last = with(task("c"), json!({ "deps": [{ "id": "b", "type": "blocks" }] }));
    project.tasks(&[task("a"), waits, last]);
    project.run(&["overnight"]).exits(1);
    for told in forms(&project) {
        assert!(!told.contains("Nothing needs you"), "{told}");
        assert!(told.contains("3 things need you."), "{told}");
        assert!(told.contains("nobody tries it again before you open it"), "{told}");
        assert!(told.contains("reflexion task reopen a"), "{told}");
    }
    let needs = project.run(&["report", "--json"]).json()["needs"].clone();
    let kinds: Vec<_> = needs.as_array().unwrap().iter().map(|need| (&need["kind"], &need["tasks"])).collect();
    assert_eq!(kinds, [(&json!("failed"), &json!([0])), (&json!("held"), &json!([1])), (&json!("held"), &json!([2]))]);
    assert_eq!(needs[2]["why"], "`b`, which waits for you");
    // What failed is told with its lesson, once.
    let text = &forms(&project)[0];
    assert!(text.contains("\nFAILED\n") && text.contains("lesson: "), "{text}");
    assert!(text.contains("LEFT OPEN\n2 tasks, see what needs you: b and c."), "{text}");
}

#[test]
fn what_says_look_at_it_yourself_needs_a_person() {
    let project = Project::new("echo more > more.txt");
    project.write("answer.txt", "right\n");
    project.commit();
    project.run(&["run"]).exits(0);
    for told in forms(&project) {
        assert!(told.contains("One thing needs you.") && !told.contains("Nothing needs you"), "{told}");
    }
    let need = project.run(&["report", "--json"]).json()["needs"][0].clone();
    assert_eq!(need["kind"], "review");
    assert!(need["why"].as_str().unwrap().contains("look at it yourself"), "{need}");
}

#[test]
fn what_agents_try_with_refs_and_protected_files_stands_in_a_line_of_its_own() {
    let project = Project::new(
        r"echo right > answer.txt; echo mine > theirs.txt
        git tag v9; git checkout -q -b work; git commit -qam mine; git branch -f main HEAD
        git -C ../../../.. tag v8",
    );
    project.write("theirs.txt", "theirs\n");
    project.config(|config| {
        config["protect"] = json!(["theirs.txt"]);
        config["maxAttempts"] = 1.into();
    });
    project.run(&["run"]).exits(1);
    for told in forms(&project) {
        let told = told
            .replace('\\', "")
            .replace("<code>", "`")
            .replace("</code>", "`")
            .replace("</bdi>", "")
            .replace("<bdi>", "");
        assert!(told.to_lowercase().contains("security"), "{told}");
        let there = "it moved or made `refs/heads/main`, `refs/tags/v9` in the repository of its workspace";
        assert!(told.contains(there) && !told.contains("refs/heads/work"), "{told}");
        assert!(told.contains("`refs/tags/v8` of your repository was made at"), "{told}");
        assert!(told.contains("it changed protected files: theirs.txt"), "{told}");
    }
    let security = project.run(&["report", "--json"]).json()["security"].clone();
    assert_eq!(security[0]["tasks"], json!(["a"]), "{security}");
}

#[test]
fn a_night_without_such_things_has_no_such_line() {
    let project = Project::new(RIGHT);
    project.run(&["run"]).exits(0);
    assert!(!forms(&project)[0].contains("SECURITY"));
}

#[test]
fn an_agents_silence_before_a_kill_is_no_idle_time() {
    let project = Project::new(&format!("[ -e $OUT/go ] || {{ touch $OUT/begun; exec sleep 300; }}; {RIGHT}"));
    let mut night = project.start(&["overnight"]);
    project.await_told("begun");
    let run = project.run(&["status", "--json"]).json()["run"].as_str().unwrap().to_owned();
    let alive = project.dir.join(".reflection/runs").join(&run).join("alive");
    let began = Instant::now();
    // The last sign of life is one from after the last line of the journal.
    let begun = fs::metadata(project.out.join("begun")).unwrap().modified().unwrap();
    let lives = || fs::metadata(&alive).and_then(|alive| alive.modified()).is_ok_and(|at| at > begun);
    while !lives() {
        assert!(began.elapsed() < Duration::from_secs(60), "nobody says that it lives");
        std::thread::sleep(Duration::from_millis(20));
    }
    night.kill();
    let lived = Timestamp::try_from(fs::metadata(&alive).unwrap().modified().unwrap()).unwrap();
    let told = project.run(&["report", "--json"]).json();
    assert_eq!(told["lastSignAt"].as_str().unwrap().parse::<Timestamp>().unwrap(), lived);
    let attempt = &told["attempts"][0];
    let started: Timestamp = attempt["startedAt"].as_str().unwrap().parse().unwrap();
    let worked = u64::try_from(lived.duration_since(started).as_millis()).unwrap();
    assert_eq!(attempt["agentMs"], worked, "{attempt}");
    fs::write(project.out.join("go"), "").unwrap();
    let ran = project.run(&["overnight", "--resume", "--json"]);
    assert!(ran.exits(0).json()["totals"]["durationMs"].as_u64().unwrap() >= worked, "{}", ran.stdout);
    let told = project.run(&["report", "--json"]).json();
    assert_eq!(told["gaps"][0]["start"].as_str().unwrap().parse::<Timestamp>().unwrap(), lived);
    assert_eq!(told["attempts"][0]["agentMs"], worked);
}

#[test]
fn a_task_with_parts_says_which_part_took_how_many_attempts() {
    let project = Project::new(
        r#"echo "$REFLEXION_ATTEMPT" >> tries.txt
        [ "$REFLEXION_SUBTASK_ID$REFLEXION_ATTEMPT" = two1 ] || echo right > "$REFLEXION_SUBTASK_ID.txt""#,
    );
    let part = |id: &str| json!({ "id": id, "title": id, "checks": [{ "name": "answer", "run": format!("grep -qx right {id}.txt") }] });
    let parts = json!({ "subtasks": [part("one"), part("two")], "checks": [] });
    project.tasks(&[with(task("a"), parts)]);
    let ran = project.run(&["run"]);
    ran.exits(0).says("[a] attempt 1 of part `one`: sh works").says("[a] attempt 2 of part `two`: confirmed");
    ran.prints("by part: `one` 1 attempt, `two` 2 attempts").prints("confirmed    3 attempts");
    assert!(!ran.stdout.contains("at attempt"), "{}", ran.stdout);
    for told in forms(&project) {
        let told = told.replace("<code>", "`").replace("</code>", "`").replace("</bdi>", "").replace("<bdi>", "");
        assert!(told.contains("by part: `one` 1 attempt, `two` 2 attempts"), "{told}");
        assert!(told.contains("confirmed after 3 attempts"), "{told}");
    }
}

#[test]
fn what_a_program_says_at_its_end_stands_in_its_transcript() {
    let project = Project::new(&format!("{RIGHT}; echo 'I have written the answer.'"));
    project.run(&["run"]).exits(0);
    let shown = project.run(&["transcript", "show", "a#1"]);
    assert!(shown.exits(0).stdout.contains("agent: I have written the answer."), "{}", shown.stdout);
}

#[test]
fn kept_branches_are_told_also_where_a_later_attempt_was_merged() {
    let project = Project::new(
        r#"echo right > "$REFLEXION_TASK_ID.txt"; [ "$REFLEXION_TASK_ID" = a ] || grep -q right a.txt || echo mine > a.txt"#,
    );
    for file in ["a.txt", "c.txt"] {
        project.write(file, "wrong\n");
    }
    project.tasks(&[wanted("a"), wanted("c")]);
    let run = project.run(&["overnight", "--json"]).exits(0).json()["run"].as_str().unwrap().to_owned();
    for told in forms(&project) {
        assert!(told.contains(&format!("reflexion/{run}/c@1")), "{told}");
    }
}

#[test]
fn only_what_was_begun_has_a_cross() {
    let project = Project::new("touch $OUT/begun; exec sleep 300");
    project.tasks(&[task("a"), task("b")]);
    let run = project.start(&["run"]);
    project.await_told("begun");
    run.signal(Signal::INT);
    let ran = run.end();
    let line = |id: &str| ran.stdout.lines().find(|line| line.contains(&format!(" {id}  "))).unwrap().to_owned();
    assert!(line("a").contains("✗ a  not judged"), "{}", ran.stdout);
    assert!(line("b").contains("· b  not begun"), "{}", ran.stdout);
}
