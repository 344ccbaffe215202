//! Test summaries are read beside exit statuses: real `unittest` programs through the whole loop.

use crate::project::{Project, Ran, task_with_check};
use serde_json::json;

const TESTS: &str = "import unittest, calc\nclass T(unittest.TestCase):\n  def test_add(self): self.assertEqual(calc.add(1, 2), 3)\n  \
                     def test_sub(self): self.assertEqual(calc.sub(3, 2), 1)\n";
const WRONG: &str = "def add(a, b): return a - b\ndef sub(a, b): return a - b\n";
/// What an honest agent does.
const MEND: &str = "sed -i 's/def add(a, b): return a - b/def add(a, b): return a + b/' calc.py";

/// A run on a project whose `unittest` has one red test and one green one.
fn run(agent: &str) -> (Project, Ran) {
    let project = Project::new(agent);
    project.write("calc.py", WRONG);
    project.write("test_calc.py", TESTS);
    project.config(|config| config["maxAttempts"] = json!(1));
    project.tasks(&[task_with_check("a", "python3 -B -m unittest")]);
    let ran = project.run(&["run", "--json"]);
    (project, ran)
}

/// What the agent did is refuted, in these words.
fn refuted(agent: &str, words: &str) {
    let (_project, ran) = run(agent);
    assert_eq!(ran.exits(1).verdict("a"), json!("false_done"), "{agent}: {}", ran.stderr);
    let cause = ran.task("a")["cause"].as_str().unwrap().to_owned();
    assert!(cause.contains(words), "{agent}: {cause}");
}

#[test]
fn a_program_that_ends_before_its_tests_do_is_refuted() {
    refuted(
        "echo 'import os; os._exit(0)' >> calc.py",
        "printed at the base (unittest: 1 passed, 1 failed) is missing",
    );
}

#[test]
fn an_exit_status_beside_failures_is_refuted() {
    let exits = "import atexit, os; atexit.register(os._exit, 0)";
    refuted(&format!("echo '{exits}' >> calc.py"), "does not say that the tests passed (unittest: 1 passed, 1 failed)");
}

#[test]
fn fewer_tests_than_at_the_base_are_refuted() {
    refuted("sed -i '/test_add/d' test_calc.py", "ran 2 tests at the base (1 passed, 1 failed) and 1 now");
    let skip = "sed -i 's/  def test_add/  @unittest.skip(\"later\")\\n  def test_add/' test_calc.py";
    refuted(skip, "and 1 now (1 passed, 0 failed, 1 skipped)");
}

#[test]
fn the_agent_is_told_what_is_missing_and_may_bring_it_back() {
    let agent = format!(
        "cp \"$REFLEXION_PROMPT_FILE\" \"$OUT/prompt-$REFLEXION_ATTEMPT\"; \
         if [ $REFLEXION_ATTEMPT = 1 ]; then sed -i '/test_add/d' test_calc.py; else git checkout -q . ; {MEND}; fi"
    );
    let project = Project::new(&agent);
    project.write("calc.py", WRONG);
    project.write("test_calc.py", TESTS);
    project.tasks(&[task_with_check("a", "python3 -B -m unittest")]);
    let ran = project.run(&["run", "--json"]);
    assert_eq!(ran.exits(0).verdict("a"), json!("confirmed"), "{}", ran.stderr);
    assert!(
        project.told("prompt-2").contains("bring back the tests that no longer run"),
        "{}",
        project.told("prompt-2")
    );
}

#[test]
fn honest_work_is_confirmed_and_a_changed_test_is_told_whatever_else_was_changed() {
    let risk = |agent: &str| {
        let (_project, ran) = run(agent);
        assert_eq!(ran.exits(0).verdict("a"), json!("confirmed"), "{agent}: {}", ran.stderr);
        let task = ran.task("a");
        (task["risk"]["needs_review"].as_bool().unwrap(), task["risk"]["reason"].as_str().unwrap().to_owned())
    };
    assert!(!risk(MEND).0);
    let new = format!(
        "{MEND}; printf 'import unittest\\nclass N(unittest.TestCase):\\n  def test_n(self): pass\\n' > test_new.py"
    );
    assert!(!risk(&new).0, "a new test file alone is not told");
    let told = |agent: String, words: &str| {
        let (needs, reason) = risk(&agent);
        assert!(needs && reason.contains(words), "{agent}: {needs} {reason}");
    };
    assert!(!risk(&format!("{MEND}; echo '# words' >> test_calc.py")).0, "a test file that only got lines is not told");
    told(format!("{MEND}; echo 'import unittest' >> calc.py"), "the code reaches into the test runner: calc.py");
}
