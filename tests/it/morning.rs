//! The morning page of nights that did not go well: every sentence holds of the attempt, the agent or the work that it is about.

use super::project::{Project, task_with_check};
use serde_json::json;

/// The page as text.
fn page(project: &Project) -> String {
    project.run(&["report"]).exits(0).stdout.clone()
}

#[test]
fn an_attempt_that_changed_nothing_says_so_and_a_patch_names_its_attempt() {
    let project = Project::new("[ $REFLEXION_ATTEMPT != 2 ] || echo almost > answer.txt");
    project.config(|config| {
        config["maxAttempts"] = 3.into();
        // The third attempt goes on from what the second one has left.
        config["retry"] = json!({ "start": "continue" });
    });
    let ran = project.run(&["overnight"]);
    ran.exits(1).says("warning: what attempt 2 changed, which is not merged, is kept in ");
    ran.says("attempt 1: false_done, check `answer` is red (exit status 1); nothing was changed\n");
    let told = page(&project);
    assert!(told.contains("what attempt 2 has left, and nothing confirmed, is kept in `.reflection/runs/"), "{told}");
    let of = |attempt: u32| {
        let begin = format!("attempt {attempt} (");
        told.lines().find(|line| line.contains(&begin)).unwrap_or_else(|| panic!("{begin} is not in:\n{told}"))
    };
    assert!(of(1).ends_with("check `answer` is red (exit status 1); nothing was changed"), "{told}");
    assert!(of(2).ends_with("check `answer` is red (exit status 1)"), "{told}");
    let of_earlier = "nothing was changed in this attempt; what differs from the base is of an earlier one: answer.txt";
    assert!(of(3).ends_with(of_earlier), "{told}");
    let patches = &project.run(&["report", "--json"]).json()["tasks"][0]["patches"].clone();
    assert_eq!(*patches, json!([{ "file": "a.unconfirmed.patch", "attempt": 2 }]));
}

#[test]
fn what_an_agent_says_that_failed_is_read_and_decides_nothing() {
    let key = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let words = format!("I changed nothing, key {key}: the check cannot pass. Please decide: <i>fractions</i> or not?");
    let project = Project::new(&format!("head -c 3000 /dev/zero | tr '\\0' 'x'; echo; echo '{words}'"));
    let run = "echo building; echo 'AssertionError: (8, 0.94)'; echo; exit 1";
    project.tasks(&[task_with_check("a", run)]);
    project.config(|config| config["maxAttempts"] = 2.into());
    project.run(&["overnight"]).exits(1);
    let told = page(&project);
    let last =
        told.lines().find(|line| line.contains("the agent of attempt 2 said last, which decides nothing: “…xxx"));
    let last = last.unwrap_or_else(|| panic!("{told}"));
    assert!(last.ends_with("Please decide: <i>fractions</i> or not?”") && last.len() < 800, "{last}");
    assert!(!told.contains(key), "{told}");
    for untrue in ["as if it were done", "It is not done already"] {
        assert!(!told.contains(untrue), "`{untrue}` is in:\n{told}");
    }
    assert!(told.contains("the agent stopped by itself, and it is not done: not solved in 2 attempts"), "{told}");
    // What failed is no test runner: its command, and what it printed.
    assert!(told.contains(&format!("check `answer` runs `{run}`; it printed `AssertionError: (8, 0.94)`")), "{told}");
    let html = project.run(&["report", "--html", "--out", "-"]).exits(0).stdout.clone();
    assert!(html.contains("&lt;i&gt;fractions&lt;/i&gt;") && !html.contains("<i>fractions"), "{html}");
}
