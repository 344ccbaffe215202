//! Which agent gets which task: by its size, and by what earlier runs found out.

use crate::project::{Project, task_with_check, with};
use serde_json::{Value, json};

/// `wrong` never does it right, `right` always does; both say who they are.
fn two_agents(routing: Value) -> Project {
    let project = Project::new("exit 1");
    project.config(|c| {
        let agent = |what: &str| {
            let script = format!("echo {what} >> \"$OUT/who\"; echo {what} > \"$REFLEXION_TASK_ID.txt\"");
            json!({ "type": "command", "argv": ["sh", "-c", script] })
        };
        c["agents"] = json!({ "default": ["wrong", "right"], "wrong": agent("wrong"), "right": agent("right") });
        c["routing"] = routing;
    });
    project
}

fn wanted(id: &str, more: Value) -> Value {
    with(task_with_check(id, &format!("grep -qx right {id}.txt")), more)
}

#[test]
fn a_small_task_goes_to_the_agent_for_small_ones_and_the_run_says_why() {
    let project = two_agents(json!({ "bySize": [{ "upTo": "small", "agents": "right" }] }));
    project.config(|c| c["maxAttempts"] = json!(1));
    project.tasks(&[wanted("little", json!({})), wanted("much", json!({ "labels": ["size:L"] }))]);
    let because = "because its size is small (1 part, 3 words, 0 files)";
    let shown = project.run(&["task", "show", "little"]);
    assert!(shown.exits(0).stdout.contains(&format!("goes to right, {because}\n")), "{shown:?}");
    let ran = project.run(&["run", "--json"]);
    ran.exits(1).says(&format!("[little] goes to right, {because}"));
    assert_eq!((ran.verdict("little"), ran.verdict("much")), (json!("confirmed"), json!("false_done")));
    assert_eq!(project.told("who"), "right\nwrong\n");
}

#[test]
fn who_mostly_failed_at_such_tasks_comes_later_in_the_next_run_if_that_is_asked_for() {
    let project = two_agents(json!({ "history": true }));
    project.config(|c| c["maxAttempts"] = json!(5));
    let docs = json!({ "labels": ["docs"] });
    project.tasks(&[wanted("first", docs.clone())]);
    project.run(&["run"]).exits(1);
    project.tasks(&[wanted("first", docs.clone()), wanted("second", docs), wanted("other", json!({}))]);
    std::fs::remove_file(project.out.join("who")).unwrap();

    let words = "`wrong` comes later, because 5 of its 5 attempts at tasks with the label `docs` were refuted";
    let planned = project.run(&["run", "--dry-run", "--json", "second"]).exits(0).json();
    assert_eq!(planned["tasks"][0]["agents"], json!(["right", "wrong"]));
    assert_eq!(planned["tasks"][0]["because"], words);
    let ran = project.run(&["run", "second"]);
    ran.exits(0).says(&format!("[second] goes to right, then wrong, because {words}"));
    assert_eq!(project.told("who"), "right\n");
    // Of other tasks nothing is known, and without the setting a chain stands as it is written.
    let agents =
        |id: &str| project.run(&["run", "--dry-run", "--json", id]).exits(0).json()["tasks"][0]["agents"].clone();
    assert_eq!(agents("other"), json!(["wrong", "right"]));
    project.config(|c| c["routing"]["history"] = json!(false));
    project.tasks(&[wanted("third", json!({ "labels": ["docs"] }))]);
    assert_eq!(agents("third"), json!(["wrong", "right"]));
}
