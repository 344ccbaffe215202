//! What a task permits its agent it declares; no word of it does.

use crate::project::{Project, Ran, task_with_check, with};
use serde_json::{Value, json};

const CALC: &str = "def add(a, b): return a + b\ndef old(a): return a\n";
const TESTS: &str = "import unittest, calc\nclass T(unittest.TestCase):\n  def test_add(self): self.assertEqual(calc.add(1, 2), 3)\n  \
                     def test_old(self): self.assertEqual(calc.old(1), 1)\n";
/// Takes the old function away with its test.
const REMOVES: &str = "sed -i '/old/d' calc.py test_calc.py";
const SKIPS: &str =
    "sed -i 's/  def test_old/  @unittest.skip(\"flaky\")\\n  def test_old/' test_calc.py; echo '# x' >> calc.py";
const SUITE: &str = "python3 -B -m unittest";

fn project(agent: &str, task: Value) -> Project {
    let project = Project::new(agent);
    project.write("calc.py", CALC);
    project.write("test_calc.py", TESTS);
    project.config(|config| config["maxAttempts"] = json!(1));
    project.tasks(&[with(task_with_check("a", SUITE), task)]);
    project
}

fn ran(agent: &str, task: Value) -> (Project, Ran) {
    let project = project(agent, task);
    let ran = project.run(&["run", "--json"]);
    (project, ran)
}

#[test]
fn words_leave_it_to_a_person_and_a_declaration_decides() {
    for (agent, title, word) in [
        (REMOVES, "Delete the old function", "remove_tests"),
        (SKIPS, "Skip the flaky test of the old function", "skip_tests"),
    ] {
        let (_, plain) = ran(agent, json!({ "title": "Tidy the module up" }));
        assert_eq!(plain.task("a")["verdict"], "false_done", "{title}");
        let (project, asked) = ran(agent, json!({ "title": title }));
        let task = asked.task("a");
        assert_eq!(task["verdict"], "unverifiable", "{title}: {task}");
        let listed = project.run(&["task", "list"]);
        assert!(listed.stdout.contains("blocked"), "{}", listed.stdout);
        assert!(listed.stdout.contains(word), "the cause says how it is permitted: {}", listed.stdout);
        project.run(&["task", "edit", "a", &format!("{{\"allow\":[\"{word}\"]}}")]).exits(0);
        project.run(&["task", "reopen", "a"]).exits(0);
        let again = project.run(&["run", "--json"]).task("a");
        assert_eq!(again["verdict"], "confirmed", "{title}: {again}");
    }
}

#[test]
fn a_permission_is_for_one_thing_only() {
    let (_, ran) = ran(REMOVES, json!({ "title": "Tidy up", "allow": ["skip_tests", "no_tests"] }));
    assert_eq!(ran.task("a")["verdict"], "false_done");
}

#[test]
fn a_night_merges_nothing_that_only_words_permit() {
    let project = project(REMOVES, json!({ "title": "Delete the old function" }));
    let night = project.run(&["overnight", "--json"]);
    let task = night.task("a");
    assert_eq!((&task["verdict"], &task["merged"]), (&json!("unverifiable"), &Value::Null), "{task}");
    let report = project.run(&["report"]).stdout;
    let needs = report.find("NEEDS YOU").expect(&report);
    assert!(report[needs..].contains("remove_tests"), "{report}");
}

#[test]
fn a_task_protects_files_of_its_own() {
    let protects = json!({ "title": "Fix it", "protect": ["test_*.py"] });
    let (_, changed) = ran("echo '# x' >> test_calc.py; echo '# x' >> calc.py", protects.clone());
    let task = changed.task("a");
    assert_eq!(task["verdict"], "false_done", "{task}");
    let (project, kept) = ran("cp \"$REFLEXION_PROMPT_FILE\" \"$OUT/prompt\"; echo '# x' >> calc.py", protects);
    assert_eq!(kept.task("a")["verdict"], "confirmed");
    // Its agent knows before it is refuted.
    assert!(
        project.told("prompt").contains("## Not to be changed\n") && project.told("prompt").contains("- `test_*.py`\n")
    );
}

#[test]
fn bad_permissions_and_globs_are_named() {
    let project = Project::new("true");
    project.run(&["task", "add", "x", "--allow", "remove_test"]).exits(2).says("remove_tests");
    project.run(&["task", "add", "x", "--protect", "a["]).exits(2).says("`a[`");
    project.run(&["task", "add", "x", "--expects", "much"]).exits(2).says("nothing");
    project.tasks(&[with(task_with_check("a", "true"), json!({ "allow": ["all"] }))]);
    project.run(&["task", "list"]).says("remove_tests");
}

#[test]
fn adding_a_task_says_what_its_words_seem_to_permit() {
    let project = Project::new("true");
    let add = |args: &[&str]| project.run(&[&["task", "add"], args, &["--no-check"]].concat()).exits(0).stderr.clone();
    assert!(add(&["Remove the tests of the old parser", "--id", "one"]).contains("remove_tests"));
    assert!(add(&["Fix the typo and commit with --no-verify", "--id", "two"]).contains("skip_hooks"));
    let declared = add(&["Remove the tests of the old parser", "--id", "three", "--allow", "remove_tests"]);
    assert!(!declared.contains("allow"), "{declared}");
    assert!(!add(&["The delete button of the cart does nothing", "--id", "four"]).contains("allow"));
    let shown = project.run(&["task", "show", "three"]).stdout;
    assert!(shown.contains("may: remove tests"), "{shown}");
}

#[test]
fn adding_a_task_tries_its_check_at_the_base() {
    let project = Project::new("true");
    project.write("answer.txt", "wrong\n");
    project.tasks(&[]);
    let add = |args: &[&str]| project.run(&[&["task", "add"], args].concat()).exits(0).stderr.clone();
    let red = add(&["One", "--id", "one", "--check", "grep -q right answer.txt"]);
    assert!(red.contains("red at the base") && !red.contains("warning"), "{red}");
    let green = add(&["Two", "--id", "two", "--check", "grep -q wrong answer.txt"]);
    assert!(green.contains("green at the base already") && green.contains("shows only that nothing broke"), "{green}");
    let bug = add(&["Three", "--id", "three", "--type", "bug", "--check", "true"]);
    assert!(bug.contains("is a bug, and none of its checks is red"), "{bug}");
    let fix = add(&["Four", "--id", "four", "--expects", "fix", "--check", "true"]);
    assert!(fix.contains("no attempt can be confirmed"), "{fix}");
    let missing = add(&["Five", "--id", "five", "--check", "no-such-program-here"]);
    assert!(missing.contains("cannot start"), "{missing}");
    let not_tried = add(&["Six", "--id", "six", "--check", "false", "--no-check"]);
    assert!(!not_tried.contains("base"), "{not_tried}");
    assert!(add(&["Seven", "--id", "seven", "--type", "bug"]).contains("has no check of its own"));
    assert!(project.worktrees().is_empty());
    // What was tried leaves nothing behind.
    assert_eq!(project.git(&["for-each-ref", "refs/reflexion"]), "");
}

#[test]
fn a_check_is_tried_only_where_the_project_is_trusted() {
    let project = Project::new("true");
    let mut command = project.command(&["task", "add", "One", "--check", "touch \"$OUT/ran\"; false"]);
    command.env_remove("REFLEXION_TRUST");
    Ran::of(command, "").exits(0).says("not trusted");
    assert!(!project.out.join("ran").exists());
}

#[test]
fn doctor_names_checks_that_can_show_nothing() {
    let project = Project::new("true");
    project.tasks(&[task_with_check("a", "true"), task_with_check("b", "false")]);
    let doctor = project.run(&["doctor", "--checks"]).exits(0).stdout.clone();
    assert_eq!(doctor.matches("green already shows only").count(), 1, "{doctor}");
    let (a, b) = (project_check(&doctor, "of task a"), project_check(&doctor, "of task b"));
    assert!(a.contains("green at the base") && b.contains("red at the base (exit status 1)"), "{doctor}");
    assert!(!b.starts_with('✓'), "{doctor}");
    assert_eq!(project.git(&["for-each-ref", "refs/reflexion"]), "");
}

#[test]
fn doctor_says_what_a_red_check_does_not_find() {
    let project = Project::new("true");
    project.config(|config| config["checks"] = json!([{ "name": "test", "run": "python3 -B test_it.py" }]));
    project.write("test_it.py", "import reflexion_of_nobody\n");
    project.commit();
    let doctor = project.run(&["doctor", "--checks"]).exits(0).stdout.clone();
    let said = "it does not find what it needs (No module named 'reflexion_of_nobody'): checks run in a clean room";
    assert!(doctor.contains(said), "{doctor}");
}

/// The line of `doctor` about one check.
fn project_check(doctor: &str, of: &str) -> String {
    doctor.lines().find(|line| line.contains(of)).unwrap_or_default().to_owned()
}

#[test]
fn doctor_names_the_tests_that_are_red_before_anybody_works() {
    let project = Project::new("true");
    project
        .write("test_calc.py", "import unittest\n\nclass T(unittest.TestCase):\n  def test_red(self): self.fail()\n");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "a red test"]);
    project.config(|config| config["checks"] = json!([{ "name": "unit", "run": "python3 -m unittest" }]));
    let doctor = project.run(&["doctor", "--checks"]).exits(0).stdout.clone();
    let unit = project_check(&doctor, "check `unit`");
    assert!(unit.contains("1 test fails: `") && unit.contains("test_red"), "{doctor}");
    assert!(unit.contains("what fails in it now is held against no attempt"), "{doctor}");
    let findings = project.run(&["doctor", "--checks", "--json"]).json()["findings"].clone();
    let found = findings.as_array().unwrap().iter().find(|f| f["what"] == "check `unit`").unwrap().clone();
    assert!(found["failing"][0].as_str().unwrap().contains("test_red"), "{found}");
}

#[test]
fn a_fix_that_nothing_could_show_costs_no_agent() {
    let (project, ran) = ran("touch \"$OUT/paid\"; echo '# x' >> calc.py", json!({ "expects": "fix" }));
    assert_eq!(ran.task("a")["verdict"], Value::Null, "{}", ran.stdout);
    ran.says("no check that counts for it is red at the base");
    assert!(!project.out.join("paid").exists() && project.worktrees().is_empty());
    // To run it again would set it aside again.
    let report = project.run(&["report"]);
    report.exits(0).prints("blocked: it expects a fix").prints("reflexion task edit a --check 'COMMAND'");
    assert!(!report.stdout.contains("go on with what is open"), "{}", report.stdout);
}

#[test]
fn a_run_says_before_the_agent_what_green_checks_cannot_show() {
    let (_, ran) = ran("echo '# x' >> calc.py", json!({ "type": "bug" }));
    ran.says("is a bug, and none of its checks is red at the base");
}

#[test]
fn init_says_what_tasks_that_are_there_seem_to_ask_for() {
    let project = Project::new("true");
    project.tasks(&[with(task_with_check("a", "false"), json!({ "title": "Skip the flaky tests of the parser" }))]);
    std::fs::remove_file(project.dir.join("project.json")).unwrap();
    let ran = project.run(&["init"]);
    ran.exits(0).says("reads as if its agent may skip tests").says("Next:\n  reflexion doctor --checks\n");
}
