//! What a confirmation proves is found out by running the checks on parts of the change: real programs through the whole loop.

use crate::project::{Project, Ran, task_with_check, with};
use reflexion::domain::{AgentReport, Ending, Proof, RunId, TaskReport, Verdict};
use reflexion::layer::Svc;
use reflexion::services::{AgentRequest, Orchestrator, RunRequest, Subagents};
use reflexion::testing::ScriptedSubagent;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const TESTS: &str = "import unittest, calc\nclass T(unittest.TestCase):\n  def test_add(self): self.assertEqual(calc.add(1, 2), 3)\n  \
                     def test_sub(self): self.assertEqual(calc.sub(3, 2), 1)\n";
const WRONG: &str = "def add(a, b): return a - b\ndef sub(a, b): return a - b\n";
const RIGHT: &str = "def add(a, b): return a + b\ndef sub(a, b): return a - b\n";
const ADDS: &str = "sed -i 's/def add(a, b): return a - b/def add(a, b): return a + b/' calc.py";
const TURNS_ROUND: &str = "sed -i 's/add(1, 2), 3/add(1, 2), -1/' test_calc.py";
/// A new test of this body.
const NEW: &str =
    "printf 'import unittest, calc\\nclass N(unittest.TestCase):\\n  def test_n(self): %s\\n' \"$BODY\" > test_new.py";
const SUITE: &str = "python3 -B -m unittest";

struct Case<'a> {
    agent: &'a str,
    calc: &'a str,
    check: &'a str,
    expects: &'a str,
    /// Verdict and proof.
    ends: (&'a str, Option<&'a str>),
    /// `c` and `t`; none: no run beside those of the base and of the change.
    runs: Option<(Option<&'a str>, Option<&'a str>)>,
    says: &'a str,
}

const CASE: Case<'static> = Case {
    agent: "",
    calc: WRONG,
    check: SUITE,
    expects: "change",
    ends: ("confirmed", Some("turned_green")),
    runs: None,
    says: "",
};

fn ran(agent: &str, calc: &str, check: &str, expects: &str) -> (Project, Ran) {
    let project = Project::new(agent);
    project.write("calc.py", calc);
    project.write("test_calc.py", TESTS);
    project.write("check.sh", "grep -q '+' calc.py\n");
    project.config(|config| config["maxAttempts"] = json!(1));
    project.tasks(&[with(task_with_check("a", check), json!({ "expects": expects }))]);
    let ran = project.run(&["run", "--json"]);
    (project, ran)
}

fn check(case: &Case<'_>) {
    let (project, ran) = ran(case.agent, case.calc, case.check, case.expects);
    let task = ran.task("a");
    let said = || format!("{}: {task} {}", case.agent, ran.stderr);
    assert_eq!((&task["verdict"], task["proof"].as_str()), (&json!(case.ends.0), case.ends.1), "{}", said());
    let runs = &task["proofRuns"];
    let found = Some((runs["c"].as_str(), runs["t"].as_str())).filter(|(c, t)| c.is_some() || t.is_some());
    // Only a confirmation has a proof, and what it rests on.
    let expected = case.runs.filter(|_| case.ends.1.is_some());
    assert_eq!(found, expected, "{}", said());
    let journal = journal(&project);
    let judged = journal.iter().find(|entry| entry["type"] == "attempt_judged").unwrap();
    let because = judged["because"].as_str().unwrap();
    assert!(because.contains(case.says), "{because}: {}", said());
    let runs = &judged["proofRuns"];
    let found = Some((runs["c"].as_str(), runs["t"].as_str())).filter(|(c, t)| c.is_some() || t.is_some());
    assert_eq!(found, case.runs, "{because}");
}

fn journal(project: &Project) -> Vec<Value> {
    let runs = project.dir.join(".reflection/runs");
    let run = std::fs::read_dir(runs).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let text = std::fs::read_to_string(run.join("journal.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A new test of this body, behind what else the agent does.
fn with_test(agent: &str, body: &str) -> String {
    format!("BODY='{body}'; {NEW}; {agent}")
}

#[test]
fn a_fix_is_proven_by_the_tests_as_they_were() {
    check(&Case { agent: ADDS, ..CASE });
    let new = with_test(ADDS, "pass");
    check(&Case { agent: &new, runs: Some((Some("green"), None)), says: "green with the tests as they were", ..CASE });
    let words = format!("{ADDS}; echo '# words' >> test_calc.py");
    check(&Case { agent: &words, expects: "fix", runs: Some((Some("green"), None)), ..CASE });
}

#[test]
fn a_test_that_is_turned_round_proves_nothing() {
    let runs = Some((Some("red"), Some("green")));
    let says = "the tests alone turned it green";
    check(&Case { agent: TURNS_ROUND, ends: ("unverifiable", None), runs, says, ..CASE });
    let words = format!("{TURNS_ROUND}; echo '# words' >> calc.py");
    check(&Case { agent: &words, ends: ("unverifiable", None), runs, says, ..CASE });
    check(&Case { agent: &words, expects: "fix", ends: ("false_done", None), runs, says, ..CASE });
    let leaves_early = "sed -i 's/def test_add(self): /def test_add(self):\\n    return\\n    /' test_calc.py";
    check(&Case { agent: leaves_early, ends: ("unverifiable", None), runs, says, ..CASE });
    let takes_its_place = "printf '\\n  def test_add(self): self.assertEqual(calc.add(1, 2), -1)\\n' >> test_calc.py";
    check(&Case { agent: takes_its_place, ends: ("unverifiable", None), runs, says, ..CASE });
    let grows = "sed -i 's/def add(a, b): return a - b/def add(a, b, more=0): return a - b + more/' calc.py; \
                 sed -i 's/add(1, 2), 3/add(1, 2, 4), 3/' test_calc.py";
    let (ends, both) = (("unverifiable", None), Some((Some("red"), Some("red"))));
    let changed = "only with the tests that the attempt has changed: with the tests as they were";
    check(&Case { agent: grows, ends, runs: both, says: changed, ..CASE });
    // A file that has only grown may have a new test, too.
    let grown = format!("{ADDS}; printf '  def test_n(self): self.assertEqual(calc.add(2, 2), 4)\\n' >> test_calc.py");
    let runs = Some((Some("red"), Some("red")));
    let named = "python3 -B -m unittest test_calc.T.test_n";
    check(&Case { agent: &grown, check: named, ends: ("confirmed", Some("new_test")), runs, ..CASE });
}

#[test]
fn a_fix_whose_tests_had_to_follow_is_for_a_person() {
    let agent = "echo 'def add(a, b): return str(a + b)\ndef sub(a, b): return a - b' > calc.py; sed -i 's/add(1, 2), 3/add(1, 2), \"3\"/' \
                 test_calc.py";
    let runs = Some((Some("red"), Some("red")));
    check(&Case { agent, expects: "fix", ends: ("unverifiable", None), runs, says: "a person must see", ..CASE });
}

#[test]
fn a_check_that_was_red_for_want_of_its_test_is_proven_by_a_test_that_fails_without_the_change() {
    let case = Case { check: "python3 -B -m unittest test_new", runs: Some((Some("red"), Some("red"))), ..CASE };
    let good = with_test(ADDS, "self.assertEqual(calc.add(2, 2), 4)");
    check(&Case { agent: &good, ends: ("confirmed", Some("new_test")), ..case });
    let named = with_test("echo 'def mul(a, b): return a * b' >> calc.py", "calc.mul");
    let says = "no new test fails by what it asserts";
    check(&Case { agent: &named, ends: ("confirmed", Some("stayed_green")), says, ..case });
    let vacuous = with_test(ADDS, "pass");
    let runs = Some((Some("red"), Some("green")));
    let says = "its own new tests alone";
    check(&Case { agent: &vacuous, ends: ("confirmed", Some("tests_adapted")), runs, says, ..case });
    check(&Case { agent: &vacuous, expects: "fix", ends: ("false_done", None), runs, ..case });
}

#[test]
fn of_what_was_green_a_new_test_tells_the_change_from_no_change() {
    let case = Case { calc: RIGHT, ends: ("confirmed", Some("stayed_green")), ..CASE };
    let doubles = "echo 'def sub(a, b): return a - b if a > b else 0\ndef add(a, b): return a + b' > calc.py";
    check(&Case { agent: doubles, ..case });
    let good = with_test(doubles, "self.assertEqual(calc.sub(1, 2), 0)");
    let runs = Some((Some("green"), Some("red")));
    check(&Case { agent: &good, ends: ("confirmed", Some("new_test")), runs, ..case });
    let blind = with_test(doubles, "self.assertEqual(calc.sub(2, 2), 0)");
    check(&Case {
        agent: &blind,
        runs: Some((Some("green"), Some("green"))),
        says: "pass without the rest of the change",
        ..case
    });
    check(&Case {
        agent: &with_test("", "pass"),
        runs: Some((Some("green"), None)),
        says: "nothing but tests was changed",
        ..case
    });
    for agent in
        ["echo words > README.md", "sed -i '1i # The sum.' calc.py", "sed -i '1i # Sums.' calc.py; echo a > README.md"]
    {
        check(&Case { agent, says: "nothing but documentation was changed", ..case });
    }
    let missing = with_test("echo 'def mul(a, b): return a * b' >> calc.py", "calc.mul");
    check(&Case { agent: &missing, runs, says: "no new test fails by what it asserts", ..case });
    let extended =
        format!("{doubles}; sed -i 's/sub(3, 2), 1)/sub(3, 2), 1); self.assertEqual(calc.sub(1, 2), 0)/' test_calc.py");
    let runs = Some((Some("green"), Some("red")));
    check(&Case { agent: &extended, ends: ("confirmed", Some("new_test")), runs, ..case });
}

#[test]
fn what_is_green_only_with_other_tests_is_told_apart() {
    let agent = "echo 'def add(a, b): return a - b\ndef sub(a, b): return a - b' > calc.py; sed -i 's/add(1, 2), 3/add(1, 2), -1/' test_calc.py";
    let runs = Some((Some("red"), None));
    let ends = ("confirmed", Some("tests_adapted"));
    check(&Case { agent, calc: RIGHT, ends, runs, says: "as it was, test `test_calc.T.test_add` fails", ..CASE });
}

#[test]
fn a_setting_that_the_code_needs_is_no_test() {
    // The suite finds the code by what `pyproject.toml` says.
    let check_ = "python3 -B -c \"import tomllib; print(tomllib.load(open('pyproject.toml', 'rb'))['name'])\" && python3 -B -m unittest";
    let agent = format!("{ADDS}; echo 'name = \"calc\"' > pyproject.toml");
    let case = Case { check: check_, runs: Some((Some("green"), None)), ..CASE };
    check(&Case {
        agent: &agent,
        ends: ("confirmed", Some("tests_adapted")),
        says: "only with pyproject.toml as changed",
        runs: Some((Some("red"), None)),
        ..case
    });
    let hides = "echo 'name = \"x\"' > pyproject.toml";
    let ends = ("confirmed", Some("tests_adapted"));
    check(&Case {
        agent: hides,
        calc: RIGHT,
        ends,
        says: "only with pyproject.toml as changed",
        runs: Some((Some("red"), None)),
        ..case
    });
}

#[test]
fn a_run_that_decides_and_is_red_once_and_green_once_proves_nothing() {
    // On the change without its new test the check is red the first time. It may write to no place of its own.
    let once = format!("/dev/shm/reflexion-test-{}", std::process::id());
    let suite =
        format!("if [ ! -e test_new.py ] && grep -q '+' calc.py && mkdir {once} 2>/dev/null; then exit 1; fi; {SUITE}");
    let agent = with_test(ADDS, "pass");
    let (_project, ran) = ran(&agent, WRONG, &suite, "change");
    std::fs::remove_dir(&once).unwrap();
    let task = ran.task("a");
    assert_eq!(task["proofRuns"]["flaky"], json!(true), "{task} {}", ran.stderr);
    assert_eq!(task["proof"], json!("stayed_green"), "{task}");
}

#[test]
fn tests_among_the_code_are_taken_back_without_it() {
    let lib = |body: &str, expected: &str| {
        format!(
            "pub fn add(a: i32, b: i32) -> i32 {{\n    {body}\n}}\n\n#[cfg(test)]\nmod tests {{\n    #[test]\n    fn adds() {{\n        \
             assert_eq!(super::add(1, 2), {expected});\n    }}\n}}\n"
        )
    };
    // The home directory of the project knows no tool chain.
    let root = std::process::Command::new("rustc").args(["--print", "sysroot"]).output().unwrap().stdout;
    let rustc = std::path::Path::new(String::from_utf8(root).unwrap().trim()).join("bin/rustc");
    let run = |body: &str, expected: &str| {
        let project = Project::new("cp \"$OUT/lib.rs\" lib.rs");
        project.write("lib.rs", lib("a - b", "3"));
        project.write(".gitignore", "t\n");
        project.config(|config| config["maxAttempts"] = json!(1));
        project.tasks(&[task_with_check("a", &format!("{rustc:?} --edition 2021 --test -o t lib.rs && ./t"))]);
        std::fs::write(project.out.join("lib.rs"), lib(body, expected)).unwrap();
        let ran = project.run(&["run", "--json"]);
        let task = ran.task("a");
        (task["verdict"].clone(), task["proof"].clone())
    };
    assert_eq!(run("a + b", "3"), (json!("confirmed"), json!("turned_green")));
    assert_eq!(run("a + b", "1 + 2"), (json!("confirmed"), json!("turned_green")));
    assert_eq!(run("a - b", "-1"), (json!("unverifiable"), json!(null)), "only the test was turned round");
    assert_eq!(run("0 + a - b", "-1"), (json!("unverifiable"), json!(null)));
}

/// A night on tasks of which `fixed` turns a check green, `tested` brings a test that fails without it, and the others show nothing.
fn night(config: Value) -> (Project, Ran) {
    let agent = "case $REFLEXION_TASK_ID in fixed) echo right > fixed.txt;; \
                 tested) sed -i 's/a - b/b - a/' calc.py; sed -i 's/sub(3, 2), 1/sub(3, 2), -1/' test_calc.py;; \
                 *) echo words > $REFLEXION_TASK_ID.txt;; esac";
    let project = Project::new(agent);
    project.write("fixed.txt", "wrong\n");
    project.write("calc.py", RIGHT);
    project.write("test_calc.py", TESTS);
    project.config(|all| all["overnight"] = config);
    let tasks = ["fixed", "one", "two", "tested"];
    let check = |id: &str| if id == "fixed" { "grep -qx right fixed.txt".to_owned() } else { SUITE.to_owned() };
    project.tasks(&tasks.map(|id| task_with_check(id, &check(id))));
    let ran = project.run(&["overnight", "--json"]);
    ran.exits(0);
    (project, ran)
}

#[test]
fn a_night_merges_what_a_check_tells_from_no_work_and_leaves_the_rest_with_one_command() {
    let (project, ran) = night(json!({}));
    let ends = |ran: &Ran, id: &str| {
        let task = ran.task(id);
        let word = |key: &str| task[key].as_str().unwrap_or_default().to_owned();
        (word("verdict"), word("proof"), task["merged"].is_string(), word("needs"))
    };
    let expected = |proof: &str, merged: bool| {
        let needs = if merged { "" } else { "person" };
        ("confirmed".to_owned(), proof.to_owned(), merged, needs.to_owned())
    };
    assert_eq!(ends(&ran, "fixed"), expected("turned_green", true));
    assert_eq!(ends(&ran, "one"), expected("stayed_green", false));
    assert_eq!(ends(&ran, "two"), expected("stayed_green", false));
    assert_eq!(ends(&ran, "tested"), expected("tests_adapted", false));
    let report = project.run(&["report", "--json"]).json();
    let needs = report["needs"].as_array().unwrap();
    assert!(needs.iter().all(|need| need["kind"] == "yours_to_merge") && needs.len() == 3, "{needs:#?}");
    let commands = needs.iter().flat_map(|need| need["commands"].as_array().unwrap());
    let all = commands.filter(|step| step["command"].as_str().unwrap().matches("reflexion/").count() == 2);
    let all: Vec<&str> =
        all.filter_map(|step| step["command"].as_str()).filter(|c| c.starts_with("git merge")).collect();
    assert_eq!(all.len(), 1, "{needs:#?}");
    let page = project.run(&["report"]).stdout;
    // A person may do as the report says.
    project.git(&all[0].split(' ').skip(1).collect::<Vec<_>>());
    assert_eq!((project.read("one.txt"), project.read("two.txt")), (b"words\n".to_vec(), b"words\n".to_vec()));
    assert!(page.contains("whether it does what was asked is not proven, so a person merges it"), "{page}");
    assert!(page.contains("+1 −0 lines in 1 file"), "how much there is to look at: {page}");
    assert!(page.contains("as it changed them, so a person merges it"), "{page}");
}

#[test]
fn who_wants_it_gets_what_stayed_green_merged_and_never_adapted_tests() {
    let (_project, ran) = night(json!({ "mergeStayedGreen": true }));
    let merged = ["fixed", "one", "two", "tested"].map(|id| ran.task(id)["merged"].is_string());
    assert_eq!(merged, [true, true, true, false], "{}", ran.stderr);
}

#[test]
fn a_commit_and_a_run_that_goes_on_know_what_it_proves() {
    let agent = with_test(ADDS, "pass");
    let (project, ran) = ran(&agent, WRONG, SUITE, "change");
    let branch = ran.task("a")["branch"].as_str().unwrap().to_owned();
    let body = project.git(&["log", "-1", "--format=%b", &branch]);
    assert!(body.contains("proof: turned_green (with the old tests: no new failure)\n"), "{body}");
}

#[test]
fn a_script_that_a_check_runs_proves_nothing_of_itself() {
    let case = Case { check: "sh check.sh", runs: Some((Some("green"), None)), ..CASE };
    let ends = ("confirmed", Some("tests_adapted"));
    check(&Case {
        agent: "echo grep -q a calc.py > check.sh",
        ends,
        runs: Some((Some("red"), None)),
        says: "only with check.sh as changed",
        ..case
    });
    let words = format!("{ADDS}; echo '# words' >> check.sh");
    check(&Case { agent: &words, ..case });
    for check_by_pattern in ["sh ./*.sh", "for f in *.sh; do sh $f || exit 1; done"] {
        let agent = "echo grep -q a calc.py > check.sh";
        check(&Case { check: check_by_pattern, agent, ends, runs: Some((Some("red"), None)), ..case });
    }
    check(&Case { agent: ADDS, runs: None, ..case });
}

#[test]
fn a_helper_of_tests_that_the_project_names_is_a_test() {
    let run = |tests: Value| {
        let project = Project::new("echo 'three = -1' > expected.py");
        project.write("calc.py", WRONG);
        project.write("expected.py", "three = 3\n");
        project.write(
            "test_calc.py",
            TESTS
                .replace("import unittest, calc", "import unittest, calc, expected")
                .replace(", 3)", ", expected.three)"),
        );
        project.config(|config| (config["maxAttempts"], config["tests"]) = (json!(1), tests));
        project.tasks(&[task_with_check("a", SUITE)]);
        let ran = project.run(&["run", "--json"]);
        (ran.task("a")["verdict"].clone(), ran.task("a")["proof"].clone())
    };
    assert_eq!(run(json!([])), (json!("confirmed"), json!("turned_green")));
    assert_eq!(run(json!(["expected*"])), (json!("unverifiable"), json!(null)));
}

#[test]
fn settings_that_bring_a_file_of_their_own_prove_nothing() {
    let check_ = "sh -c \"$(cat Makefile)\"; python3 -B $(cat pyproject.toml)";
    let agent = "echo 'import unittest; unittest.TestCase.assertEqual = lambda *a: None; unittest.main(\"test_calc\")' > lenient.py; echo lenient.py > pyproject.toml";
    let project = Project::new(agent);
    project.write("calc.py", WRONG);
    project.write("test_calc.py", TESTS);
    project.write("Makefile", "true");
    project.write("pyproject.toml", "-m unittest\n");
    project.config(|config| config["maxAttempts"] = json!(1));
    project.tasks(&[with(task_with_check("a", check_), json!({ "expects": "fix" }))]);
    let ran = project.run(&["run", "--json"]);
    assert_eq!(ran.task("a")["proof"], json!("tests_adapted"), "{}", ran.stderr);
}

#[test]
fn an_old_test_that_fails_is_no_new_one() {
    let lenient = "echo 'import unittest; unittest.TestCase.assertEqual = lambda *a: None' > lenient.py";
    let imports = "printf 'try: import lenient\\nexcept ImportError: pass\\n' > test_aaa.py";
    let agent = format!("{lenient}; {imports}");
    // A file of that name without a test in it may be anything that decides how tests run.
    let (ends, runs) = (("confirmed", Some("tests_adapted")), Some((Some("red"), None)));
    check(&Case { agent: &agent, expects: "fix", ends, runs, says: "only with test_aaa.py as changed", ..CASE });
    let breaks = format!(
        "{lenient}; printf 'import lenient, unittest, calc\\nclass N(unittest.TestCase):\\n  def test_n(self): \
                          self.assertTrue(calc.add(1, 2) == -1)\\n' > test_aaa.py; sed -i 's/a + b/a - b/' calc.py"
    );
    let runs = Some((Some("red"), None));
    check(&Case { agent: &breaks, calc: RIGHT, ends: ("confirmed", Some("tests_adapted")), runs, ..CASE });
}

#[test]
fn honest_work_is_not_accused_by_what_a_command_names() {
    let both = format!("{SUITE} && python3 -B calc.py");
    // The check runs the file as a program, too: which of the two it is, a person sees.
    let (ends, runs) = (("confirmed", Some("tests_adapted")), Some((Some("red"), None)));
    check(&Case { agent: ADDS, check: &both, expects: "fix", ends, runs, ..CASE });
    let compiled = format!("{SUITE} && python3 -B -m py_compile calc.py");
    check(&Case { agent: ADDS, check: &compiled, expects: "fix", ..CASE });
    let says = "only with the tests as changed";
    let (ends, runs) = (("confirmed", Some("tests_adapted")), Some((Some("red"), Some("green"))));
    // A search that looks at tests is no test.
    let agent = "sed -i 's/calc$/calc  # words/' test_calc.py";
    check(&Case { agent, check: "grep -q words test_calc.py", expects: "fix", ends, runs, says, ..CASE });
}

#[test]
fn a_new_test_that_only_calls_is_no_proof_and_one_that_looks_at_a_value_is() {
    let case = Case { calc: RIGHT, runs: Some((Some("green"), Some("red"))), ..CASE };
    let three = with_test(
        "echo 'def sub(a, b, c=0): return a - b - c\ndef add(a, b): return a + b' > calc.py",
        "calc.sub(1, 2, 3)",
    );
    check(&Case { agent: &three, ends: ("confirmed", Some("stayed_green")), ..case });
    let none = format!("{RIGHT}def name(a): return a and a.strip()\n");
    let fixes = "sed -i 's/return a and a.strip()/return a and a.strip() or \"\"/' calc.py";
    let meets = with_test(fixes, "self.assertEqual(calc.name(None).upper(), \"\")");
    // It meets nothing at all without the change, and asks for a value with it.
    check(&Case { agent: &meets, calc: &none, ends: ("confirmed", Some("new_test")), ..case });
    let asserts = with_test(fixes, "self.assertEqual(calc.name(None), \"\")");
    check(&Case { agent: &asserts, calc: &none, ends: ("confirmed", Some("new_test")), ..case });
    // What breaks is code that the base has; but the test looks at nothing that comes of it, and of a task that does not say what it is, a
    // mistake that nobody notices says more.
    let crashes = format!("{RIGHT}def name(a):\n  return a.strip()\n");
    let fixes = "sed -i 's/  return a.strip()/  a = str(a)\\n  return a.strip()/' calc.py";
    let calls = with_test(fixes, "calc.name(None)");
    check(&Case { agent: &calls, calc: &crashes, ends: ("confirmed", Some("stayed_green")), ..case });
    let looks = with_test(fixes, "self.assertEqual(calc.name(None), \"None\")");
    check(&Case { agent: &looks, calc: &crashes, ends: ("confirmed", Some("new_test")), ..case });
}

/// Proof and mistakes of a change that adds `code` to calc.py, and a new test of this body.
fn new_code(code: &str, body: &str, config: Value) -> (Value, Value, String) {
    let agent = with_test(&format!("printf '%b' '{code}' >> calc.py"), body);
    let project = Project::new(&agent);
    project.write("calc.py", RIGHT);
    project.write("test_calc.py", TESTS);
    project.config(|all| {
        all["maxAttempts"] = json!(1);
        all["proof"] = config;
    });
    project.tasks(&[task_with_check("a", SUITE)]);
    let ran = project.run(&["run", "--json"]);
    let because = journal(&project).into_iter().find(|entry| entry["type"] == "attempt_judged").unwrap();
    let task = ran.task("a");
    (task["proof"].clone(), task["proofRuns"]["mutants"].clone(), because["because"].as_str().unwrap().to_owned())
}

#[test]
fn a_test_of_new_code_proves_it_if_it_notices_a_mistake_there() {
    let least = r"def least(a, b):\n  return a if a < b else b\n";
    let (proof, mutants, because) = new_code(least, "self.assertEqual(calc.least(1, 2), 1)", json!({}));
    assert_eq!((&proof, &mutants), (&json!("new_test"), &json!({ "killed": 1, "survived": 0 })), "{because}");
    assert!(because.contains("calc.py:4: `return a if a >= b else b` for `return a if a < b else b`"), "{because}");
    // It is called, and nothing is asked of what it gives; it is there; it breaks, which no test asks about.
    for body in ["calc.least(1, 2)", "self.assertTrue(callable(calc.least))"] {
        let (proof, mutants, because) = new_code(least, body, json!({}));
        assert_eq!((&proof, &mutants["killed"]), (&json!("stayed_green"), &json!(0)), "{body}: {because}");
        assert!(
            mutants["survived"].as_u64().unwrap() >= 1
                && because.contains("none notices a mistake in the new code (calc.py:4: `"),
            "{because}"
        );
    }
    let crashes = r"def at(x):\n  return [1, 2][0 if x < 5 else 7]\n";
    let (proof, _, because) = new_code(crashes, "calc.at(1)", json!({}));
    assert_eq!(proof, json!("stayed_green"), "{because}");
}

#[test]
fn no_mistake_is_made_in_code_that_could_do_harm_with_it_nor_where_that_is_off() {
    let test = "self.assertEqual(calc.least(1, 2), 1)";
    let removes = r"import subprocess\ndef least(a, b):\n  if a < 0: subprocess.run(b)\n  return a if a < b else b\n";
    let (proof, mutants, because) = new_code(removes, test, json!({}));
    assert_eq!((&proof, &mutants), (&json!("stayed_green"), &Value::Null), "{because}");
    let least = r"def least(a, b):\n  return a if a < b else b\n";
    for config in [json!({ "mutants": false }), json!({ "maxRuns": 3 })] {
        let (proof, mutants, because) = new_code(least, test, config.clone());
        assert_eq!((&proof, &mutants), (&json!("stayed_green"), &Value::Null), "{config}: {because}");
    }
}

#[test]
fn a_mistake_that_old_tests_notice_says_nothing_of_the_new_ones() {
    // The old test calls the new code by what it replaces.
    let code = r"def least(a, b):\n  return a if a < b else b\ndef sub(a, b): return a - least(b, 100)\n";
    // It takes no run from the one that these do not notice.
    let (proof, mutants, because) = new_code(code, "calc.least", json!({}));
    assert_eq!((&proof, &mutants), (&json!("stayed_green"), &json!({ "killed": 0, "survived": 1 })), "{because}");
    assert!(because.contains("none notices a mistake in the new code (calc.py:5: `"), "{because}");
    // With none that is not tried, no test could do better.
    let code = r"def least(a, b):\n  return a if a < b else b\ndef sub(a, b): return a - least(b, b + b)\n";
    let (proof, mutants, because) = new_code(code, "calc.least", json!({ "maxRuns": 30 }));
    assert_eq!((&proof, &mutants), (&json!("stayed_green"), &Value::Null), "{because}");
    assert!(
        because.contains("of the mistakes that were made in the new code, its new tests alone notice none ("),
        "{because}"
    );
}

#[test]
fn a_new_argument_is_proven_by_what_stood_in_the_line_that_uses_it() {
    let uses = "sed -i 's/^def add(a, b):/def add(a, b, more=0):/; s/total = a + b/total = a + b + more/' calc.py";
    let project = Project::new(&with_test(uses, "self.assertEqual(calc.add(1, 2, more=3), 6)"));
    project.write(
        "calc.py",
        "def add(a, b):\n    total = a + b\n    return total\n\n\ndef sub(a, b):\n    return a - b\n",
    );
    project.write("test_calc.py", TESTS);
    project.tasks(&[task_with_check("a", SUITE)]);
    let ran = project.run(&["run", "--json"]);
    let task = ran.task("a");
    assert_eq!(task["proof"], json!("new_test"), "{task} {}", ran.stderr);
    assert!(ran.stderr.contains("calc.py:2: `total = a + b` for `total = a + b + more`"), "{}", ran.stderr);
}

/// A run with an agent that can go on with its conversation: what it does in its first turn, and when it is asked for a test. Gives the
/// task's proof and verdict, how often it was asked, and the files on its branch.
fn asked(kind: &str, first: &'static str, then: &'static str) -> (Option<Proof>, Option<Verdict>, usize, String) {
    let (task, times, files) = asked_for_a_test(kind, first, then);
    (task.proof, task.verdict, times, files)
}

fn asked_for_a_test(kind: &str, first: &'static str, then: &'static str) -> (TaskReport, usize, String) {
    let project = Project::new("true");
    project.write("calc.py", RIGHT);
    project.write("test_calc.py", TESTS);
    project.config(|config| config["maxAttempts"] = json!(1));
    project.tasks(&[with(task_with_check("a", SUITE), json!({ "type": kind }))]);
    let turns = Arc::new(Mutex::new(Vec::new()));
    let script = move |request: &AgentRequest, what: &str, turns: &Mutex<Vec<String>>| {
        turns.lock().unwrap().push(request.prompt.clone());
        let ran = std::process::Command::new("sh").args(["-c", what]).current_dir(&request.dir).status().unwrap();
        assert!(ran.success());
        Ok(AgentReport { agent_session: Some("c".to_owned()), ..AgentReport::new(Ending::Finished) })
    };
    let (one, two) = (Arc::clone(&turns), Arc::clone(&turns));
    let agent = ScriptedSubagent::new()
        .resumes()
        .acts(move |request| script(request, first, &one))
        .acts(move |request| script(request, then, &two));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let report = runtime.block_on(async {
        let settings = reflexion::runtime::project(&project.dir).unwrap();
        let layers = reflexion::runtime::live().with(settings).with(Svc::<dyn Subagents>::new(agent));
        let app = layers.build::<Svc<dyn Orchestrator>>().await.unwrap();
        let report = app.run(RunRequest::everything(RunId::new("asks").unwrap())).await.unwrap();
        app.shutdown().await.unwrap();
        report
    });
    let turns = turns.lock().unwrap();
    let asked = turns.iter().filter(|prompt| prompt.contains("A test is missing")).count();
    let task = &report.tasks[0];
    let files = task.branch.as_ref().map_or(String::new(), |b| project.git(&["ls-tree", "-r", "--name-only", b]));
    (task.clone(), asked, files)
}

#[test]
fn an_agent_that_can_go_on_is_asked_for_a_test_that_shows_its_work() {
    const TURNS: &str = "sed -i 's/return a - b/return b - a if a < 0 else a - b/' calc.py";
    const SHOWS: &str = "printf 'import unittest, calc\\nclass N(unittest.TestCase):\\n  def test_n(self): \
                         self.assertEqual(calc.sub(-1, 1), 2)\\n' > test_new.py";
    const BREAKS: &str = "echo 'broken(' > calc.py";
    let (task, times, files) = asked_for_a_test("bug", TURNS, SHOWS);
    assert_eq!((task.proof, task.verdict, times), (Some(Proof::NewTest), Some(Verdict::Confirmed), 1));
    // The work without the test, and the test alone, twice; and the whole change where these ran.
    assert_eq!(task.proof_runs.map(|runs| runs.runs), Some(4));
    assert!(files.contains("test_new.py"), "{files}");
    // What was confirmed is not lost by what comes then.
    for then in ["true", BREAKS, "echo words > test_new.py.txt"] {
        let (proof, verdict, times, files) = asked("bug", TURNS, then);
        assert_eq!((proof, verdict, times), (Some(Proof::StayedGreen), Some(Verdict::Confirmed), 1), "{then}");
        assert!(files.contains("calc.py") && !files.contains("test_new"), "{then}: {files}");
    }
    let (proof, _, times, _) = asked("chore", TURNS, "exit 1");
    assert_eq!((proof, times), (Some(Proof::StayedGreen), 0));
}

#[test]
fn what_an_agent_does_beside_the_work_when_it_is_asked_for_a_test_counts() {
    let pushes = "git init -q --bare ../there && git remote add there ../there && git push -q there HEAD:refs/heads/x; rm -rf ../there";
    let (_, verdict, times, _) = asked("bug", "echo '# words' >> calc.py", pushes);
    assert_eq!(times, 1);
    assert_ne!(verdict, Some(Verdict::Confirmed));
}

const TWO: &str = "def add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n";

/// What the report says of a change's lines: carried, not noticed, entangled, not tried.
fn hunks(task: &Value) -> [Vec<&str>; 4] {
    ["carried", "notNoticed", "entangled", "notTried"].map(|kind| {
        let places = task["proofHunks"][kind].as_array();
        places.into_iter().flatten().map(|place| place.as_str().unwrap()).collect()
    })
}

#[test]
fn lines_that_no_check_notices_are_named() {
    let agent = "sed -i '2s/a - b/a + b/; 6s/a - b/a - b + 0/; 4s/^$/# words/' calc.py; echo 'x = 1' > extra.py; sed -i '$a # words' test_calc.py";
    let (project, all) = ran(agent, TWO, SUITE, "change");
    let task = all.task("a");
    assert_eq!(
        hunks(&task),
        [vec!["calc.py:2"], vec!["calc.py:6", "extra.py"], vec![], vec![]],
        "{task} {}",
        all.stderr
    );
    assert_eq!(task["proof"], json!("turned_green"), "{task}");
    assert_eq!(task["proofHunks"]["replaced"], json!(["calc.py:6"]), "{task}");
    // C, the base once more, all of the code away, each file, the function of one that is missed, and that run again; and the whole change where it may
    // write to nothing but the room.
    assert_eq!(task["proofRuns"]["runs"], json!(8), "{task}");
    let branch = task["branch"].as_str().unwrap();
    let body = project.git(&["log", "-1", "--format=%b", branch]);
    assert!(
        body.contains("no check tells calc.py:6 from what was there; not noticed by any check: extra.py\n"),
        "{body}"
    );
    let page = project.run(&["report"]).stdout;
    assert!(
        page.contains("no check tells calc.py:6 from what was there; not noticed by any check: extra.py"),
        "{page}"
    );
    assert_eq!(page.matches("not noticed by any check: extra.py").count(), 1, "said once of a task: {page}");
    // Nothing is run for what may have no run.
    let none = |proof: Value| {
        let project = Project::new("sed -i '2s/a - b/a + b/; 6s/a - b/a - b + 0/' calc.py");
        project.write("calc.py", TWO);
        project.write("test_calc.py", TESTS);
        project.config(|config| config["proof"] = proof);
        project.tasks(&[task_with_check("a", SUITE)]);
        project.run(&["run", "--json"]).task("a")
    };
    let task = none(json!({ "maxRuns": 1 }));
    assert_eq!(hunks(&task), [vec![], vec![], vec![], vec!["calc.py:2", "calc.py:6"]], "{task}");
    assert_eq!(none(json!({ "maxShare": 0 }))["proofHunks"], json!(null));
}

#[test]
fn what_is_not_tested_of_new_code_is_named_also_beside_what_is() {
    let proving = |project: &Project| {
        project.config(|config| {
            config["maxAttempts"] = json!(1);
            config["proof"] = json!({ "maxRuns": 30 });
        });
    };
    let added = |code: &str, body: &str| {
        let project = Project::new(&with_test(&format!("printf '%b' '{code}' >> calc.py"), body));
        project.write("calc.py", RIGHT);
        project.write("test_calc.py", TESTS);
        proving(&project);
        project.tasks(&[task_with_check("a", SUITE)]);
        let task = project.run(&["run", "--json"]).task("a");
        assert_eq!(task["proof"], json!("new_test"), "{task}");
        let body = project.git(&["log", "-1", "--format=%b", task["branch"].as_str().unwrap()]);
        (task, body, project.run(&["report"]).stdout)
    };
    // Two functions in one place.
    let both = r"\n\ndef most(a, b):\n  return a if a > b else b\n\n\ndef least(a, b):\n  return a if a < b else b\n";
    let (task, body, page) = added(both, "self.assertEqual(calc.least(1, 2), 1)");
    assert_eq!(hunks(&task), [vec![], vec!["calc.py:3-8"], vec!["calc.py:9-10"], vec![]], "{task}");
    let words = "not noticed by any check: calc.py:3-8\n";
    assert!(body.contains(words) && page.contains(words.trim_end()), "{body}\n{page}");
    // Two lines of one.
    let pair = r"def pair(a):\n  low = a - 1\n  high = a + 1\n  return (low, high)\n";
    let (task, body, page) = added(pair, "self.assertEqual(calc.pair(3)[1], 4)");
    assert_eq!(task["proofHunks"]["mistakes"], json!(["calc.py:4"]), "{task}");
    let words = "no test notices a mistake in calc.py:4\n";
    assert!(body.contains(words) && page.contains(words.trim_end()), "{body}\n{page}");
}

#[test]
fn of_what_goes_only_as_a_whole_no_line_is_called_superfluous() {
    let calc = format!("{TWO}\n\ndef half(a):\n    return a / 2\n").replacen("a - b", "a + b", 1);
    let moves = "python3 - <<'E'\ntext = open('calc.py').read()\nat = text.index('def half')\n\
                 open('calc.py', 'w').write(text[at:] + '\\n\\n' + text[:at].rstrip() + '\\n')\nE";
    let (project, all) = ran(moves, &calc, SUITE, "change");
    let task = all.task("a");
    assert_eq!((&task["proof"], &task["proofHunks"]["whole"]), (&json!("stayed_green"), &json!(true)), "{task}");
    assert!(hunks(&task)[1].len() > 1, "{task}");
    let body = project.git(&["log", "-1", "--format=%b", task["branch"].as_str().unwrap()]);
    let page = project.run(&["report"]).stdout;
    for text in [body, page] {
        assert!(text.contains("without the whole change every check is as green"), "{text}");
        assert!(!text.contains("not noticed by any check") && !text.contains("no check tells"), "{text}");
    }
}

#[test]
fn half_of_what_belongs_together_is_no_proof() {
    let renames = "sed -i 's/^def sub/def minus/; 2s/a - b/minus(a, -b)/; $a sub = minus' calc.py";
    let task = ran(renames, TWO, SUITE, "change").1.task("a");
    let [carried, not_noticed, entangled, _] = hunks(&task);
    assert_eq!((carried, not_noticed.len()), (vec!["calc.py:2"], 0), "{task}");
    assert_eq!(entangled, ["calc.py:5", "calc.py:7"], "{task}");
    // Lines of a function of which none can go alone carry together.
    let apart = "def add(a, b):\n    x = a\n    y = b\n    return x - y\n\n\ndef sub(a, b):\n    return a - b\n";
    let task = ran("sed -i '2s/x = a/p = a/; 4s/x - y/p + y/' calc.py", apart, SUITE, "change").1.task("a");
    assert_eq!(hunks(&task), [vec!["calc.py:2-4"], vec![], vec![], vec![]], "{task}");
    // Doc strings are remarks.
    let words = "sed -i '2s/a - b/a + b/; 6i \\    \"\"\"The\\n    difference.\"\"\"' calc.py";
    let task = ran(words, TWO, SUITE, "change").1.task("a");
    assert_eq!(hunks(&task), [vec!["calc.py:2"], vec![], vec![], vec![]], "{task}");
    // Of a change that no test tells from none, no part does.
    let refactors = "sed -i '2s/a + b/b + a/; 6s/a - b/-b + a/' calc.py";
    let task = ran(refactors, &TWO.replacen("a - b", "a + b", 1), SUITE, "change").1.task("a");
    assert_eq!(hunks(&task), [vec![], vec!["calc.py:2", "calc.py:6"], vec![], vec![]], "{task}");
    assert_eq!((&task["proof"], &task["proofRuns"]), (&json!("stayed_green"), &json!(null)), "{task}");
}

#[test]
fn a_check_that_is_known_to_be_red_says_what_was_done_to_tests_in_it() {
    let suite = "python3 -B -m unittest";
    let tests = format!("{TESTS}  def test_other(self): self.assertEqual(calc.other(), 1)\n");
    let project = |agent: &str| {
        let project = Project::new(agent);
        project.write("calc.py", format!("{WRONG}def other(): return 2\n"));
        project.write("test_calc.py", &tests);
        project.config(|config| {
            config["maxAttempts"] = json!(1);
            config["checks"] = json!([{ "name": "all", "run": suite }]);
        });
        project
    };
    // Without a check of its own: one of the two red tests is fixed, and the other is nobody's fault.
    let with_fix = |agent: &str, expects: &str| {
        let project = project(agent);
        project.tasks(&[json!({ "id": "a", "title": "Fix add", "expects": expects })]);
        project.run(&["run", "--json"])
    };
    for (expects, proof) in [("fix", "turned_green"), ("change", "stayed_green")] {
        let ran = with_fix(ADDS, expects);
        let task = ran.task("a");
        let ends = (&task["verdict"], &task["proof"]);
        assert_eq!(ends, (&json!("confirmed"), &json!(proof)), "{task} {}", ran.stderr);
        assert_eq!(hunks(&task), [vec!["calc.py:1"], vec![], vec![], vec![]], "{task}");
    }
    let turned = with_fix(TURNS_ROUND, "fix").task("a");
    assert_eq!(turned["verdict"], json!("false_done"), "{turned}");
    // The task has a check of its own, and a green test in the red check is turned round.
    let agent = "touch done.txt; sed -i 's/def sub(a, b): return a - b/def sub(a, b): return a + b/' calc.py; sed -i 's/sub(3, 2), 1/sub(3, 2), 5/' \
                 test_calc.py";
    let project = project(agent);
    project.tasks(&[task_with_check("a", "test -f done.txt")]);
    let task = project.run(&["run", "--json"]).task("a");
    assert_eq!((&task["verdict"], &task["proof"]), (&json!("confirmed"), &json!("tests_adapted")), "{task}");
}

#[test]
fn a_check_that_is_red_only_now_and_then_has_not_turned() {
    let check = "mkdir \"$OUT/once\" 2>/dev/null && exit 1; exit 0";
    let ran = ran("sed -i '$a # words' calc.py", WRONG, check, "fix").1;
    let task = ran.task("a");
    assert_eq!(
        (&task["proof"], &task["proofRuns"]["flaky"]),
        (&json!("stayed_green"), &json!(true)),
        "{task} {}",
        ran.stderr
    );
}

#[test]
fn what_a_command_names_is_no_code() {
    let (says, runs) = ("as changed", Some((Some("red"), None)));
    let case = Case { expects: "fix", ends: ("confirmed", Some("tests_adapted")), runs, says, ..CASE };
    let check_in = |files: &[(&str, &str)], agent: &str, check: &str| {
        let project = Project::new(agent);
        files.iter().for_each(|(name, text)| project.write(name, text));
        project.config(|config| config["maxAttempts"] = json!(1));
        project.tasks(&[with(task_with_check("a", check), json!({ "expects": case.expects }))]);
        let ran = project.run(&["run", "--json"]);
        let task = ran.task("a");
        assert_eq!(
            (&task["verdict"], task["proof"].as_str()),
            (&json!(case.ends.0), case.ends.1),
            "{task} {}",
            ran.stderr
        );
        assert!(ran.stderr.contains(case.says), "{}", ran.stderr);
    };
    let turned = "sed -i 's/add(1, 2), 3/add(1, 2), -1/' pruebas/suma.py";
    let tests = [("calc.py", WRONG), ("pruebas/__init__.py", ""), ("pruebas/suma.py", TESTS)];
    check_in(&tests, turned, "python3 -B -m unittest discover -s pruebas -t . -p '*.py'");
    // Only a failing assertion says that it is a test.
    check_in(&[("all.sh", "python3 -B -m unittest pruebas.suma\n"), tests[0], tests[1], tests[2]], turned, "sh all.sh");
    let golden = [("calc.py", WRONG), ("out.txt", "3\n")];
    check_in(
        &golden,
        "echo -- -1 > out.txt; sed -i 's/-- //' out.txt",
        "python3 -B -c 'import calc; print(calc.add(1, 2))' | diff - out.txt",
    );
    let script = ("all.sh", "python3 -B -c 'import calc; print(calc.add(1, 2))' | diff - out.txt\n");
    check_in(&[golden[0], golden[1], script], "echo -- -1 > out.txt; sed -i 's/-- //' out.txt", "sh all.sh");
    check_in(&[("calc.py", WRONG), (".lint", "all\n")], "echo none > .lint", "test \"$(cat .lint)\" = none");
}

/// A project whose own check has a red test of somebody else, and a task without a check.
fn beside_a_red_test(agent: &str) -> (Project, Value) {
    let project = Project::new(agent);
    project.write("calc.py", format!("{RIGHT}def other(): return 2\n"));
    let tests = TESTS
        .replace("import unittest, calc", "import unittest\nfrom calc import add, sub, other")
        .replace("calc.", "");
    project.write("test_calc.py", format!("{tests}  def test_other(self): self.assertEqual(other(), 1)\n"));
    project.config(|config| {
        config["maxAttempts"] = json!(1);
        config["checks"] = json!([{ "name": "all", "run": SUITE }]);
    });
    project.tasks(&[json!({ "id": "a", "title": "Let half() be there" })]);
    let task = project.run(&["run", "--json"]).task("a");
    (project, task)
}

#[test]
fn a_feature_beside_red_tests_is_proven_by_its_test_and_a_test_that_is_gone_is_what_the_lesson_is_about() {
    let half = "echo 'def half(a): return a // 2 if a > 0 else 0' >> calc.py";
    let test = "sed -i 's/import add, sub, other/import add, half, sub, other/; $a \\  def test_half(self): self.assertEqual(half(4), 2)' test_calc.py";
    let (_, task) = beside_a_red_test(&format!("{half}; {test}"));
    assert_eq!((&task["verdict"], &task["proof"]), (&json!("confirmed"), &json!("new_test")), "{task}");
    let (_, task) = beside_a_red_test(half);
    assert_eq!((&task["verdict"], &task["proof"]), (&json!("confirmed"), &json!("stayed_green")), "{task}");
    let (project, task) = beside_a_red_test(&format!("{half}; sed -i 's/def test_sub/def sub_test/' test_calc.py"));
    assert_eq!(task["verdict"], json!("false_done"), "{task}");
    let lesson = String::from_utf8(project.read("memory/reflections.jsonl")).unwrap();
    assert!(
        lesson.contains("A test was taken out or switched off, at test_calc.py:5") && !lesson.contains("test_other"),
        "{lesson}"
    );
}

#[test]
fn what_its_own_checks_can_show_is_asked_of_each_task() {
    let project = Project::new("touch done");
    project.config(|config| config["checks"] = json!([{ "name": "all", "run": "exit 1" }]));
    let task = |id: &str, more: Value| with(task_with_check(id, "true"), more);
    project.tasks(&[task("fix", json!({ "expects": "fix" })), task("bug", json!({ "type": "bug" }))]);
    let ran = project.run(&["run", "--json"]);
    assert!(
        ran.stderr.contains("it expects a fix, and no check that counts for it is red at the base"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("the task is a bug, and none of its checks is red at the base"), "{}", ran.stderr);
}

/// A fix that is none: `add` stays wrong, and what the agent adds is to look like its proof.
const NO_FIX: Case<'_> =
    Case { expects: "fix", ends: ("unverifiable", None), says: "with the tests as they were it fails", ..CASE };

#[test]
fn a_red_test_that_fails_still_with_the_new_code_is_not_made_up_for_by_a_new_one() {
    // It is replaced by another one of its name.
    let doubled =
        "echo 'FIXED = 1' >> calc.py; sed -i '$a \\  def test_add(self): self.assertEqual(calc.FIXED, 1)' test_calc.py";
    check(&Case { agent: doubled, runs: Some((Some("red"), Some("red"))), ..NO_FIX });
    // The code itself is put right by a new test, while the tests run.
    let patched = "echo 'FIXED = 1' >> calc.py; printf 'import unittest, calc\\nif hasattr(calc, \"FIXED\"): calc.add = lambda a, b: a + b\\n\
                   class N(unittest.TestCase):\\n  def test_n(self): self.assertEqual(getattr(calc, \"FIXED\", 0), 1)\\n' > test_a.py";
    check(&Case { agent: patched, runs: Some((Some("red"), Some("red"))), ..NO_FIX });
}

#[test]
fn product_code_under_the_name_of_a_test_accuses_nobody() {
    let project = |file: &str, agent: &str| {
        let project = Project::new(agent);
        project.write("calc.py", "from spec.loader import add\n\ndef sub(a, b): return a - b\n");
        project.write("spec/__init__.py", "");
        project.write("spec/loader.py", "def add(a, b): return a - b\n");
        project.write(file, TESTS);
        project.config(|config| config["maxAttempts"] = json!(1));
        project.tasks(&[with(task_with_check("a", SUITE), json!({ "expects": "fix" }))]);
        project.run(&["run", "--json"]).task("a")
    };
    let task = project("test_calc.py", "sed -i 's/a - b/a + b/' spec/loader.py");
    assert_eq!((&task["verdict"], &task["proof"]), (&json!("confirmed"), &json!("tests_adapted")), "{task}");
    // Code of the name of the test that failed is code.
    let same = Project::new("sed -i 's/add(a, b): return a - b/add(a, b): return a + b/' lib/calc.py");
    same.write("lib/__init__.py", "");
    same.write("lib/calc.py", WRONG);
    same.write("tests/__init__.py", "");
    same.write("tests/calc.py", TESTS.replace("import unittest, calc", "import unittest\nfrom lib import calc"));
    same.config(|config| config["maxAttempts"] = json!(1));
    same.tasks(&[with(task_with_check("a", "python3 -B -m unittest tests.calc"), json!({ "expects": "fix" }))]);
    let task = same.run(&["run", "--json"]).task("a");
    assert_eq!((&task["verdict"], &task["proof"]), (&json!("confirmed"), &json!("turned_green")), "{task}");
}

#[test]
fn what_tests_compare_with_is_no_prose_whatever_its_ending() {
    let project = Project::new("echo -n -1 > tests/golden/page.md; echo '# words' >> calc.py");
    project.write("calc.py", WRONG);
    project.write("tests/golden/page.md", "3");
    let test = "import unittest, calc\nclass T(unittest.TestCase):\n  def test_page(self):\n    \
                self.assertEqual(str(calc.add(1, 2)), open('tests/golden/page.md').read())\n";
    project.write("test_page.py", test);
    project.config(|config| config["maxAttempts"] = json!(1));
    project.tasks(&[with(task_with_check("a", SUITE), json!({ "expects": "fix" }))]);
    let ran = project.run(&["run", "--json"]);
    let task = ran.task("a");
    assert_eq!(task["proof"], json!("tests_adapted"), "{task} {}", ran.stderr);
    assert!(ran.stderr.contains("tests/golden/page.md"), "{}", ran.stderr);
}

#[test]
fn what_tests_alone_name_they_compare_with_wherever_it_lies() {
    let proof = |page: &str, reads: &str, agent: &str| {
        let project = Project::new(&format!("printf '%s' -1 > {page}; {agent}"));
        project.write("calc.py", format!("{WRONG}{reads}"));
        project.write(page, "3");
        let test = format!(
            "import unittest, calc\nclass T(unittest.TestCase):\n  def test_page(self):\n    self.assertEqual(str(calc.add(1, 2)), open('{page}').read())\n"
        );
        project.write("test_page.py", test);
        project.config(|config| config["maxAttempts"] = json!(1));
        project.tasks(&[with(task_with_check("a", SUITE), json!({ "expects": "fix" }))]);
        let ran = project.run(&["run", "--json"]);
        ran.task("a")["proof"].clone()
    };
    for (page, agent) in [("page.dat", "true"), ("page.txt", "echo '# words' >> calc.py"), ("page.txt", "true")] {
        assert_eq!(proof(page, "", agent), json!("tests_adapted"), "{page} {agent}");
    }
    // What the code reads, too, may be the work.
    assert_eq!(proof("page.dat", "PAGE = 'page.dat'\n", "true"), json!("turned_green"));
    assert_eq!(proof("page.dat", "PAGE = 'frontpage.dat'\n", "true"), json!("tests_adapted"), "that is another file");
}

#[test]
fn data_that_nothing_names_is_what_tests_compare_with() {
    let proof = |reads: &str, also: &str| {
        let project = Project::new(&format!("printf '%s' -1 > data/page.out; {also}"));
        project.write("calc.py", format!("{WRONG}{reads}"));
        project.write("data/page.out", "3");
        let test = "import unittest, calc\nclass T(unittest.TestCase):\n  def test_page(self):\n    name = 'page'\n    \
                    self.assertEqual(str(calc.add(1, 2)), open(f'data/{name}.out').read())\n";
        project.write("test_page.py", test);
        project.config(|config| config["maxAttempts"] = json!(1));
        project.tasks(&[with(task_with_check("a", SUITE), json!({ "expects": "fix" }))]);
        let ran = project.run(&["run", "--json"]);
        (ran.task("a")["proof"].clone(), ran.stderr)
    };
    // Remarks and rights are no code, and letters of a longer word no name.
    for also in ["true", "echo '# words' >> calc.py", "echo >> calc.py", "chmod +x calc.py", ": > more.py"] {
        let (found, said) = proof("PAGES = 'metadata/'\n", also);
        assert_eq!(found, json!("tests_adapted"), "{also} {said}");
    }
    let (found, said) = proof("PAGES = 'data/'\n", "true");
    assert_eq!(found, json!("turned_green"), "{said}");
}

#[test]
fn a_fix_of_nothing_but_what_tests_compare_with_is_refuted() {
    let project = Project::new("printf '%s' -1 > tests/golden/page.out");
    project.write("calc.py", WRONG);
    project.write("tests/golden/page.out", "3");
    let test = "import unittest, calc\nclass T(unittest.TestCase):\n  def test_page(self):\n    \
                self.assertEqual(str(calc.add(1, 2)), open('tests/golden/page.out').read())\n";
    project.write("test_page.py", test);
    project.config(|config| config["maxAttempts"] = json!(1));
    project.tasks(&[with(task_with_check("a", SUITE), json!({ "expects": "fix" }))]);
    let ran = project.run(&["run", "--json"]);
    assert_eq!(ran.task("a")["verdict"], json!("false_done"), "{}", ran.stderr);
    assert!(ran.stderr.contains("the tests alone turned it green"), "{}", ran.stderr);
}

#[test]
fn a_mistake_is_of_the_kind_that_a_weak_test_does_not_see() {
    let check = |code: &str, test: &str, expected: &str| {
        let (proof, mutants, because) = new_code(code, test, json!({}));
        assert_eq!(proof, json!(expected), "{mutants} {because}");
    };
    check(
        "def query(s):\\n  d = {}\\n  return d\\n",
        "self.assertIsInstance(calc.query(\"a=1\"), dict)",
        "stayed_green",
    );
    check("def letters(s):\\n  return set()\\n", "self.assertIsInstance(calc.letters(\"ab\"), set)", "stayed_green");
    check("def push(s, x):\\n  s.append(x)\\n", "s = []; calc.push(s, 1); self.assertEqual(s, [1])", "new_test");
    // An object has no other value of its kind that any program could make, and a derived kind is not the one that it is derived from.
    for (value, test) in [
        ("datetime.date.today()", "isinstance(calc.v(), calc.datetime.date)"),
        ("collections.Counter()", "isinstance(calc.v(), collections.Counter)"),
        ("None", "calc.v() is None"),
    ] {
        let code = format!("import datetime, collections\\ndef v():\\n  return {value}\\n");
        check(&code, &format!("import collections; self.assertTrue({test})"), "stayed_green");
    }
    check(
        "def both(a, b):\\n  return b, a  # turned; round\\n",
        "self.assertEqual(calc.both(1, 2), (2, 1))",
        "new_test",
    );
    // The first mistake in the line breaks it, which says nothing.
    check("def first(xs):\\n  return xs[0]\\n", "self.assertEqual(calc.first([5]), 5)", "new_test");
}

#[test]
fn what_a_check_compares_its_program_with_is_for_a_person() {
    let project = Project::new("printf -- -1 > golden.dat; echo 'VERSION = 2' >> main.py");
    project.write("calc.py", WRONG);
    project.write("main.py", "import calc\nprint(calc.add(1, 2))\n");
    project.write("golden.dat", "3");
    project.config(|config| config["maxAttempts"] = json!(1));
    let check = "read -r wanted < golden.dat || true; [ \"$(python3 -B main.py)\" = \"$wanted\" ]";
    project.tasks(&[with(task_with_check("a", check), json!({ "expects": "fix" }))]);
    let ran = project.run(&["run", "--json"]);
    assert_eq!(ran.task("a")["proof"], json!("tests_adapted"), "{}", ran.stderr);
    assert!(ran.stderr.contains("no check notices anything, only of golden.dat"), "{}", ran.stderr);
}

#[test]
fn only_what_a_test_asserts_proves_new_code() {
    let check = |code: &str, test: &str, expected: &str| {
        let agent = format!(
            "printf '{code}' >> calc.py; printf 'import unittest, calc\\nclass N(unittest.TestCase):\\n  def test_n(self):\\n    {test}\\n' \
             > test_n.py"
        );
        let task = ran(Box::leak(agent.into_boxed_str()), RIGHT, SUITE, "change").1.task("a");
        assert_eq!(task["proof"], json!(expected), "{code} {test}: {task}");
    };
    // It is empty, and breaks without the code in words that name nothing.
    check("LIMITS = []\\n", "len(getattr(calc, \"LIMITS\", None))", "stayed_green");
    // The code's own guard says that something was expected.
    let guard = "def half(a):\\n  if a < 0: raise ValueError(\"expected a number\")\\n  return a + 3\\n";
    check(guard, "calc.half(4)", "stayed_green");
    check("def half(a):\\n  assert a >= 0\\n  return a + 3\\n", "calc.half(4)", "stayed_green");
    check("def half(a):\\n  return a // 2\\n", "self.assertEqual(calc.half(4), 2)", "new_test");
}

#[test]
fn what_nobody_wrote_cannot_write_outside_of_its_room() {
    // Without the line that looks for `.keep`, the function empties the directory.
    let cleans = "sed -i -e '/names = /a \\  if \".keep\" in names: return 7' -e '/count = /a \\  for name in names: os.remove(d + \"/\" + name)' calc.py";
    let test = "printf 'import os, unittest, calc\\nclass N(unittest.TestCase):\\n  def test_n(self): \
                self.assertEqual(calc.clean(os.environ[\"OUT\"] + \"/precious\"), 7)\\n' > test_n.py";
    let project = Project::new(&format!("{cleans}; {test}"));
    let clean = "import os\ndef clean(d):\n  names = os.listdir(d)\n  count = len(names)\n  return count\n";
    project.write("calc.py", format!("{clean}{RIGHT}"));
    project.write("test_calc.py", TESTS);
    let precious = project.out.join("precious");
    std::fs::create_dir(&precious).unwrap();
    for name in [".keep", "f"] {
        std::fs::write(precious.join(name), "mine").unwrap();
    }
    project.config(|config| config["maxAttempts"] = json!(1));
    project.tasks(&[task_with_check("a", SUITE)]);
    let ran = project.run(&["run", "--json"]);
    let task = ran.task("a");
    assert_eq!((&task["verdict"], &task["proof"]), (&json!("confirmed"), &json!("new_test")), "{task} {}", ran.stderr);
    assert_eq!(hunks(&task)[0], ["calc.py:4"], "{task}");
    assert!(precious.join("f").exists(), "{task}");
}

#[test]
fn a_test_that_cannot_pass_within_the_walls_notices_no_mistake_there() {
    let logs = r#"import os\ndef large(n):\n  open(os.environ["OUT"] + "/log", "a").close()\n  if n > 3:\n    return 1234\n  return 5678\n"#;
    let test = r#"import unittest, calc\nclass N(unittest.TestCase):\n  def test_n(self):\n    try: n = getattr(calc, "large", int)(0)\n    except OSError: n = 0\n    self.assertTrue(n)\n"#;
    let agent = format!("printf '{logs}' >> calc.py; printf '{test}' > test_n.py");
    let (_, ran) = ran(&agent, RIGHT, SUITE, "change");
    assert_eq!(ran.task("a")["proof"], json!("stayed_green"), "it asks for anything: {}", ran.stderr);
}

#[test]
fn a_feature_is_not_proven_by_somebody_elses_red_test() {
    let kind = |kind: &str, agent: &str| {
        let project = Project::new(agent);
        project.write("calc.py", WRONG);
        project.write("test_calc.py", TESTS);
        project.config(|config| {
            config["maxAttempts"] = json!(1);
            config["checks"] = json!([{ "name": "all", "run": SUITE }]);
        });
        project.tasks(&[json!({ "id": "a", "title": "Let third() be there", "type": kind })]);
        let ran = project.run(&["run", "--json"]);
        let task = ran.task("a");
        (task["verdict"].clone(), task["proof"].clone(), ran.stderr.clone())
    };
    let (verdict, proof, said) = kind("feature", ADDS);
    assert_eq!((verdict, proof), (json!("confirmed"), json!("stayed_green")), "{said}");
    assert!(
        said.contains(
            "check `all` was red and is green now (test `test_calc.T.test_add` failed before); whether that was asked for"
        ),
        "{said}"
    );
    // One more test of what was somebody else's shows nothing of it either.
    let (_, proof, said) = kind("feature", &with_test(ADDS, "self.assertEqual(calc.add(2, 2), 4)"));
    assert_eq!(proof, json!("stayed_green"), "{said}");
    let third = "echo 'def third(a): return a // 3' >> calc.py; printf 'import unittest, calc\\nclass N(unittest.TestCase):\\n  def test_n(self): \
                 self.assertEqual(calc.third(9), 3)\\n' > test_n.py";
    let (_, proof, said) = kind("feature", &format!("{ADDS}; {third}"));
    assert_eq!(proof, json!("new_test"), "{said}");
    for (word, expected) in
        [("bug", "turned_green"), ("Defect", "turned_green"), ("chore", "stayed_green"), ("", "stayed_green")]
    {
        let (_, proof, said) = kind(word, ADDS);
        assert_eq!(proof, json!(expected), "{word}: {said}");
    }
}

#[test]
fn what_the_code_as_it_was_does_not_guard_is_kept_from_it() {
    // Before there is a place that can be chosen, `reset` empties the one that all use.
    let home = "sed -i 's|^def home.*|def home(): return os.environ.get(\"APP_HOME\") or os.environ[\"OUT\"] + \"/app\"|' calc.py";
    let test = concat!(
        "printf 'import os, tempfile, unittest, calc\\nclass N(unittest.TestCase):\\n  def test_n(self):\\n",
        "    os.environ[\"APP_HOME\"] = d = tempfile.mkdtemp()\\n    open(d + \"/x\", \"w\").close()\\n",
        "    self.assertEqual((calc.reset(), os.listdir(d)), (1, []))\\n' > test_n.py"
    );
    let project = Project::new(&format!("{home}; {test}"));
    let reset = concat!(
        "import os\ndef home(): return os.environ['OUT'] + '/app'\ndef reset():\n  names = os.listdir(home())\n",
        "  for name in names: os.remove(home() + '/' + name)\n  return len(names)\n"
    );
    project.write("calc.py", format!("{reset}{RIGHT}"));
    project.write("test_calc.py", TESTS);
    let own = project.out.join("app");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("diary"), "mine").unwrap();
    project.config(|config| config["maxAttempts"] = json!(1));
    project.tasks(&[with(task_with_check("a", SUITE), json!({ "type": "feature" }))]);
    let ran = project.run(&["run", "--json"]);
    assert_eq!(ran.task("a")["verdict"], json!("confirmed"), "{}", ran.stderr);
    assert_eq!(ran.task("a")["proofRuns"]["t"], json!("red"), "{}", ran.stderr);
    assert!(own.join("diary").exists(), "{}", ran.stderr);
}

#[test]
fn of_what_is_new_a_break_in_the_code_as_it_was_shows_as_much_as_an_empty_test() {
    let proof = |kind: &str, body: &str| {
        let half = "sed -i \"s/^OPS = .*/OPS = {'add': add, 'half': lambda a: a + 3}/\" calc.py";
        let project = Project::new(&with_test(half, body));
        project
            .write("calc.py", format!("{RIGHT}OPS = {{'add': add}}\ndef run(op, *args):\n  return OPS[op](*args)\n"));
        project.write("test_calc.py", TESTS);
        project.config(|config| config["maxAttempts"] = json!(1));
        project.tasks(&[with(task_with_check("a", SUITE), json!({ "type": kind }))]);
        let ran = project.run(&["run", "--json"]);
        (ran.task("a")["proof"].clone(), ran.stderr.clone())
    };
    let (found, said) = proof("feature", "calc.run(\"half\", 4)");
    assert_eq!(found, json!("stayed_green"), "{said}");
    let (found, said) = proof("feature", "self.assertEqual(calc.run(\"half\", 4), 7)");
    assert_eq!(found, json!("new_test"), "{said}");
    let (found, said) = proof("bug", "calc.run(\"half\", 4)");
    assert_eq!(found, json!("new_test"), "{said}");
}

#[test]
fn a_red_test_that_waited_for_a_name_and_is_refused_by_what_came_is_not_made_up_for() {
    let tests = format!("{TESTS}  def test_half(self): self.assertEqual(calc.half(4), 2)\n");
    let agent = "printf 'VERSION = 2\ndef half(a): return 7\n' >> calc.py; printf '  def test_half(self): self.assertEqual(calc.half(4), 7)\n'                  >> test_calc.py; printf 'import unittest, calc\nclass N(unittest.TestCase):\n  def test_n(self):                  self.assertEqual(getattr(calc, \"VERSION\", 0), 2)\n' > test_new.py";
    let project = Project::new(agent);
    project.write("calc.py", RIGHT);
    project.write("test_calc.py", tests);
    project.config(|config| config["maxAttempts"] = json!(1));
    project.tasks(&[with(task_with_check("a", SUITE), json!({ "expects": "fix" }))]);
    let ran = project.run(&["run", "--json"]);
    assert_eq!(ran.task("a")["verdict"], json!("unverifiable"), "{}", ran.stderr);
}

#[test]
fn a_script_of_a_check_that_nobody_can_read_from_its_command_turned_round_is_for_a_person() {
    let turns = "sed -i 's/= 3/= -1/' qa/all.sh; printf 'VERSION = 2\n' >> main.py";
    let project = Project::new(turns);
    project.write("calc.py", WRONG);
    project.write("main.py", "import calc\nprint(calc.add(1, 2))\n");
    project.write("qa/all.sh", "[ \"$(python3 -B main.py)\" = 3 ]\n");
    project.write("Makefile", "check:\n\tsh qa/all.sh\n");
    project.config(|config| config["maxAttempts"] = json!(1));
    project.tasks(&[with(task_with_check("a", "make -s check"), json!({ "expects": "fix" }))]);
    let ran = project.run(&["run", "--json"]);
    assert_eq!(ran.task("a")["proof"], json!("tests_adapted"), "{}", ran.stderr);
    assert!(ran.stderr.contains("no check notices anything, only of qa/all.sh"), "{}", ran.stderr);
}

#[test]
fn the_check_of_an_earlier_part_proves_nothing_of_the_last_one() {
    let project = Project::new("touch first.txt; echo '# words' >> calc.py");
    project.write("calc.py", RIGHT);
    project.config(|config| config["maxAttempts"] = json!(2));
    let first = json!({ "id": "one", "title": "First", "checks": [{ "name": "first", "run": "test -f first.txt" }] });
    project.tasks(&[json!({ "id": "a", "title": "Both", "subtasks": [first, { "id": "two", "title": "Second" }] })]);
    let ran = project.run(&["run", "--json"]);
    let task = ran.task("a");
    assert_eq!(
        (&task["verdict"], &task["proof"]),
        (&json!("confirmed"), &json!("stayed_green")),
        "{task} {}",
        ran.stderr
    );
    assert!(ran.stderr.contains("which is the check of an earlier part"), "{}", ran.stderr);
}

#[test]
fn a_mistake_in_a_guard_or_in_an_example_says_nothing_of_the_tests() {
    let code = r"def wrap(x, low, up):\n  \'\'\'Into the range.\n\n  >>> wrap(370, 0, 360)\n  10\n  \'\'\'\n  if up <= low:\n    raise ValueError(low)\n  if x > up: x = x - (up - low)\n  return x\n";
    let code = code.replace("\\'", "\"");
    let (proof, mutants, because) = new_code(&code, "self.assertEqual(calc.wrap(370, 0, 360), 10)", json!({}));
    assert_eq!((&proof, &mutants["killed"]), (&json!("new_test"), &json!(1)), "{because}");
    assert!(because.contains("`if x <= up: x = x - (up - low)`"), "{because}");
}
