//! Which tasks are worked on, in which order, and in which parts.

use crate::project::{Project, RIGHT, task, task_with_check, with};
use serde_json::{Value, json};

fn ids(tasks: &Value) -> Vec<&str> {
    tasks.as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect()
}

#[test]
fn what_is_ready_comes_first_and_the_others_say_what_they_wait_for() {
    let project = Project::new(RIGHT);
    let on = |id: &str, kind: &str| json!([{ "id": id, "type": kind }]);
    project.tasks(&[
        with(task("late"), json!({ "priority": 4 })),
        with(task("waits"), json!({ "priority": 0, "deps": on("late", "blocks") })),
        with(task("old"), json!({ "createdAt": "2026-01-01T00:00:00Z" })),
        with(task("new"), json!({ "createdAt": "2026-02-01T00:00:00Z" })),
        with(task("part"), json!({ "priority": 3, "deps": on("whole", "parent-child") })),
        with(task("whole"), json!({ "priority": 1 })),
        with(task("done"), json!({ "status": "closed" })),
    ]);
    let ready = project.run(&["task", "ready", "--json"]).exits(0).json();
    assert_eq!(ids(&ready["tasks"]), ["old", "new", "part", "late"]);
    let waiting = json!([
        { "id": "waits", "because": ["depends on `late`, which is open"] },
        { "id": "whole", "because": ["waits for its child `part`, which is open"] },
    ]);
    assert_eq!(ready["waiting"], waiting);
    let listed = project.run(&["task", "list", "--json"]).json();
    assert_eq!(ids(&listed["tasks"]), ["waits", "whole", "done", "old", "new", "part", "late"]);
    let said = project.run(&["task", "ready"]);
    assert_eq!(said.exits(0).stdout.lines().count(), 4);
    said.says("whole waits: it waits for its child `part`");
}

#[test]
fn a_parent_starts_from_the_work_of_its_children() {
    // Each writes a file of its own; the parent's check wants its children's.
    let project = Project::new("echo done > \"$REFLEXION_TASK_ID.txt\"");
    let child = |id: &str| {
        let of = json!([{ "id": "whole", "type": "parent-child" }]);
        with(task_with_check(id, &format!("test -f {id}.txt")), json!({ "deps": of }))
    };
    let whole = with(task_with_check("whole", "test -f one.txt && test -f two.txt"), json!({ "priority": 0 }));
    project.tasks(&[whole, child("one"), child("two")]);
    let ran = project.run(&["run", "--json"]);
    assert_eq!(ran.exits(0).verdict("whole"), "confirmed");
    let branch = ran.task("whole")["branch"].as_str().unwrap().to_owned();
    assert_eq!(project.git(&["ls-tree", "--name-only", &branch, "one.txt", "two.txt", "whole.txt"]).lines().count(), 3);
}

#[test]
fn a_description_is_split_only_if_asked_and_every_part_knows_when_it_is_done() {
    let agent = r#"echo "$REFLEXION_SUBTASK_ID" >> "$OUT/parts"; cp "$REFLEXION_PROMPT_FILE" "$OUT/$REFLEXION_SUBTASK_ID"
                   echo more >> answer.txt; echo right >> answer.txt"#;
    let project = Project::new(agent);
    let text = "Both of these:\n\n- [x] read it\n- [ ] write it\n- [ ] test it\n";
    let more = json!({ "description": text, "acceptanceCriteria": "nobody notices" });
    project.tasks(&[with(task("a"), more)]);
    let shown = project.run(&["task", "show", "a"]);
    assert!(
        shown.exits(0).stdout.contains("with `decompose: structure` it would be split into\n  write-it-"),
        "{shown:?}"
    );
    project.run(&["run"]).exits(0);
    assert_eq!(project.told("parts"), "a\n");

    std::fs::remove_file(project.out.join("parts")).unwrap();
    project.config(|c| c["decompose"] = json!("checklist"));
    let shown = project.run(&["task", "show", "a"]);
    assert!(shown.exits(0).stdout.contains("one part after the other:\n  write-it-"), "{shown:?}");
    assert_eq!(project.run(&["run", "--again", "--json"]).exits(0).task("a")["attempts"], 2);
    let parts = project.told("parts");
    let parts: Vec<&str> = parts.lines().collect();
    assert!(parts[0].starts_with("write-it-") && parts[1].starts_with("test-it-"), "{parts:?}");
    for part in parts {
        let prompt = project.told(part);
        assert!(prompt.contains("## Acceptance criteria\n\nnobody notices"), "{prompt}");
    }
}

#[test]
fn a_list_that_is_too_long_leaves_the_task_open_and_says_why() {
    let project = Project::new(RIGHT);
    let list = (0..33).map(|n| format!("- [ ] item {n}\n")).collect::<Vec<_>>().concat();
    project.tasks(&[with(task("a"), json!({ "description": list })), task("b")]);
    project.config(|c| c["decompose"] = json!("checklist"));
    let ran = project.run(&["run", "--json"]);
    assert_eq!(ran.exits(1).verdict("b"), "confirmed");
    let cause = ran.task("a")["cause"].as_str().unwrap().to_owned();
    assert!(cause.contains("has 33 items, and a task is split into at most 32 parts"), "{cause}");
    let shown = project.run(&["task", "show", "a"]);
    assert!(shown.stdout.contains("not split: the list in its description has 33 items"), "{shown:?}");
}

/// A night in which `a` is set to `status` by hand while its only attempt is at work.
fn set_while_at_work(agent: &str, command: &[&str]) -> (Project, crate::project::Ran) {
    let project = Project::new(&format!("touch $OUT/started; until [ -e $OUT/go ]; do sleep 0.05; done; {agent}"));
    let night = project.start(&["overnight", "--json", "--max-attempts", "1"]);
    project.await_told("started");
    project.run(command).exits(0);
    std::fs::write(project.out.join("go"), "").unwrap();
    (project, night.end())
}

fn status(project: &Project) -> Value {
    project.run(&["task", "show", "a", "--json"]).json()["status"].clone()
}

#[test]
fn what_a_person_said_of_a_task_at_work_stands() {
    let (project, night) = set_while_at_work("echo wrong > answer.txt", &["task", "close", "a"]);
    night.says("closed by you meanwhile");
    assert_eq!((night.verdict("a"), &night.task("a")["byHand"]), ("false_done".into(), &"closed".into()));
    assert_eq!(status(&project), "closed");
    let report = project.run(&["report", "--json"]).json();
    assert_eq!((&report["counts"]["closed"], &report["counts"]["failed"]), (&1.into(), &0.into()), "{report:#}");
    assert_eq!(report["needs"], serde_json::json!([]));
    let page = project.run(&["report", "--md"]).stdout;
    assert!(page.contains("## Closed since") && page.contains("closed by you; the run had found"), "{page}");

    let (project, night) = set_while_at_work(crate::project::RIGHT, &["task", "edit", "a", r#"{"status":"blocked"}"#]);
    night.exits(0);
    assert_eq!((night.verdict("a"), night.task("a")["merged"].is_string()), ("confirmed".into(), true));
    assert_eq!(status(&project), "blocked");
}

#[test]
fn words_that_are_changed_while_a_task_is_at_work_open_nothing() {
    let (project, night) =
        set_while_at_work(crate::project::RIGHT, &["task", "edit", "a", r#"{"title":"Other words"}"#]);
    night.exits(0);
    assert_eq!(status(&project), "closed");
}
