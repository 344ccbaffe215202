//! The morning page of nights that did not go well: every sentence holds of the attempt, the agent or the work that it is about.

use super::project::{Project, Ran, task_with_check, with};
use serde_json::{Value, json};
use std::fs;

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

/// `a` changes what steers agents, so that a person merges it, and `b` stands on it.
fn one_on_another() -> (Project, Ran) {
    let project = Project::new(
        r#"echo right > "$REFLEXION_TASK_ID.txt"; if [ "$REFLEXION_TASK_ID" = a ]; then echo x > CLAUDE.md; fi"#,
    );
    let of = |id: &str| task_with_check(id, &format!("grep -qx right {id}.txt"));
    project.tasks(&[of("a"), with(of("b"), json!({ "deps": [{ "id": "a", "type": "blocks" }] }))]);
    let ran = project.run(&["overnight"]);
    ran.exits(0);
    (project, ran)
}

#[test]
fn work_that_stands_on_other_work_has_its_own_size_and_reason_everywhere() {
    let (project, ran) = one_on_another();
    let why = "it stands on `a`, which a person merges first";
    ran.prints(&format!("needs you: you merge it: {why}\n"));
    ran.prints(
        "needs you: you merge it: it changes what steers agents or the runtime (CLAUDE.md), which a person merges\n",
    );
    let told = page(&project);
    assert!(told.contains(&format!("confirmed, and yours to merge: {why} (+1 −0 lines in 1 file")), "{told}");
    let html = project.run(&["report", "--html", "--out", "-"]).exits(0).stdout.clone();
    let of_b = html.split("id=\"task-needs-b\"").nth(1).unwrap_or_else(|| panic!("{html}"));
    assert!(of_b.contains("<summary>+1 −0 lines in 1 file</summary>"), "{of_b}");
    let needs = project.run(&["report", "--json"]).json()["needs"].clone();
    let see = needs[1]["commands"][0]["command"].as_str().unwrap();
    let shown = project.program("sh").args(["-c", see]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("b.txt") && !shown.contains("a.txt") && !shown.contains("CLAUDE.md"), "{see}: {shown}");
}

#[test]
fn what_a_person_has_merged_since_needs_nobody() {
    let (project, _) = one_on_another();
    project.tasks(&[task_with_check("c", "grep -qx right c.txt")]);
    project.run(&["overnight"]).exits(0);
    let of = |run: &str, form: &[&str]| project.run(&[&["report", run], form].concat()).exits(0).stdout.clone();
    let runs: Vec<String> = fs::read_dir(project.dir.join(".reflection/runs"))
        .unwrap()
        .map(|run| run.unwrap().file_name().into_string().unwrap())
        .collect();
    let (first, second) = (runs.iter().min().unwrap(), runs.iter().max().unwrap());
    assert!(of(first, &[]).contains("2 things need you.") && of(second, &[]).contains("  $ git merge reflexion/"));
    for branch in [format!("reflexion/{first}/b"), format!("reflexion/{second}/integration")] {
        project.git(&["merge", "-q", "-m", "merged", &branch]);
    }
    // Also where another branch is looked at by now.
    project.git(&["checkout", "-q", "-b", "other", "HEAD~"]);
    let told = of(first, &[]);
    assert!(told.contains("2 of them are merged into a branch of yours since. Nothing needs you."), "{told}");
    assert!(told.contains("2 merged by you since") && !told.contains("git merge"), "{told}");
    assert!(told.contains("merged into a branch of yours since\n"), "{told}");
    let told = of(second, &[]);
    assert!(told.contains("One of them is merged into a branch of yours since. Nothing needs you."), "{told}");
    assert!(told.contains("It is merged into a branch of yours since.") && !told.contains("git merge"), "{told}");
    let status = project.run(&["status", second]).exits(0).stdout.clone();
    assert!(status.contains("One of them is merged into a branch of yours since."), "{status}");
    let json: Value = serde_json::from_str(&of(first, &["--json"])).unwrap();
    assert_eq!((&json["tasks"][0]["broughtIn"], &json["needs"]), (&json!(true), &json!([])));
}

#[test]
fn what_is_asked_to_change_nothing_is_told_alike_on_the_page_and_at_the_end() {
    let project = Project::new("echo 'It was there already.'");
    project.write("answer.txt", "right\n");
    project.tasks(&[with(task_with_check("a", "grep -qx right answer.txt"), json!({ "expects": "nothing" }))]);
    let ran = project.run(&["run"]);
    let told = page(&project);
    assert!(ran.exits(0).stdout.contains("a  confirmed") && !ran.stdout.contains("look at it"), "{}", ran.stdout);
    assert!(told.contains("DONE WITHOUT A CHANGE") && told.contains("Nothing needs you."), "{told}");
    assert!(
        told.contains("the agent of attempt 1 said last, which decides nothing: “It was there already.”"),
        "{told}"
    );
}

#[test]
fn a_check_that_is_red_as_at_the_base_is_no_failing_attempt_and_more_attempts_are_not_advised_in_vain() {
    let project = Project::new("echo almost > answer.txt");
    project.write("suite.sh", "echo 'AssertionError: an old one'; exit 1\n");
    project.config(|config| {
        config["maxAttempts"] = 3.into();
        config["checks"] = json!([{ "name": "suite", "run": "sh suite.sh" }]);
    });
    let ran = project.run(&["run"]);
    ran.exits(1).says("[a] check `suite` is red as at the base, which says nothing of the work\n");
    ran.says("[a] check `answer` failed\n");
    assert!(!ran.stderr.contains("check `suite` failed"), "{}", ran.stderr);
    ran.prints("the last attempts of a failed alike: say more of what is asked (`reflexion task edit a --description 'WORDS'`)");
    assert!(!ran.stdout.contains("more attempts may do it"), "{}", ran.stdout);
    let told = page(&project);
    assert!(
        told.contains("reflexion task edit a --description 'WORDS'  # say more") && !told.contains("--again"),
        "{told}"
    );
}

#[test]
fn changed_tests_are_named_alike_on_the_page_and_at_the_end_also_where_the_work_failed() {
    let project = Project::new("sed -i 's/pass/assert True/' test_answer.py");
    project.write("test_answer.py", "def test_answer():\n    pass\n");
    project.config(|config| config["maxAttempts"] = 1.into());
    let ran = project.run(&["run"]);
    let review = "needs review: tests that were there were changed: test_answer.py (test)";
    ran.exits(1).prints(review);
    let told = page(&project);
    assert!(told.split("FAILED").nth(1).is_some_and(|failed| failed.contains(review)), "{told}");
}
