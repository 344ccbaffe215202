//! A project with several failing tests, and a task for one of them: what failed before does not count, test by test, whatever runs them.
//!
//! Real runners, through the whole loop. Each project has three tests: `one` and `two` fail at the base, `three` passes.

use crate::project::{Project, is_there, task, task_with_check, with};
use serde_json::{Value, json};

/// A project and its runner.
struct Suite {
    /// The program that must be there.
    needs: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// Runs everything.
    all: &'static str,
    /// Where it writes its results, if it does.
    results: Option<&'static str>,
    /// Runs `one` alone.
    one: &'static str,
    /// The file with the code, in which `W1` and `W2` are wrong and `R3` is right.
    code: &'static str,
    /// The ids of `two` and `three`.
    ids: [&'static str; 2],
    /// Takes the test `one` away and puts another one in its place, so that as many are run. None: nothing in the output tells.
    replaces_one: Option<&'static str>,
}

const LIBTEST: Suite = Suite {
    needs: "rustc",
    files: &[(
        "it's.rs",
        "fn one() -> u32 { W1 }\nfn two() -> u32 { W2 }\nfn three() -> u32 { R3 }\n\
         const W1: u32 = 10;\nconst W2: u32 = 20;\nconst R3: u32 = 3;\n\
         mod tests {\n#[test] fn one() { assert_eq!(super::one(), 1); }\n#[test] fn two() { assert_eq!(super::two(), 2); }\n\
         #[test] fn three() { assert_eq!(super::three(), 3); }\n}\n",
    )],
    all: "rustc --crate-name known --test -o \"${TMPDIR:-/tmp}/known-$$\" \"it's.rs\" && \"${TMPDIR:-/tmp}/known-$$\"; s=$?; rm -f \"${TMPDIR:-/tmp}/known-$$\"; exit $s",
    results: None,
    one: "rustc --crate-name known --test -o \"${TMPDIR:-/tmp}/one-$$\" \"it's.rs\" && \"${TMPDIR:-/tmp}/one-$$\" one; s=$?; rm -f \"${TMPDIR:-/tmp}/one-$$\"; exit $s",
    code: "it's.rs",
    ids: ["tests::two", "tests::three"],
    replaces_one: Some("sed -i 's/fn one() { assert_eq.*/fn other() {}/' \"it's.rs\""),
};

const NODE: Suite = Suite {
    needs: "node",
    files: &[
        (
            "lib.js",
            "const W1 = 10, W2 = 20, R3 = 3;\nexports.one = () => W1;\nexports.two = () => W2;\nexports.three = () => R3;\n",
        ),
        (
            "test/lib.test.js",
            "const { test } = require('node:test');\nconst assert = require('node:assert');\nconst lib = require('../lib.js');\n\
             test('one', () => assert.strictEqual(lib.one(), 1));\ntest('two', () => assert.strictEqual(lib.two(), 2));\n\
             test('three', () => assert.strictEqual(lib.three(), 3));\n",
        ),
    ],
    all: "node --test test/",
    results: None,
    one: "node --test --test-name-pattern=one test/",
    code: "lib.js",
    ids: ["two", "three"],
    replaces_one: Some("sed -i \"s/^test('one'.*/test('other', () => {});/\" test/lib.test.js"),
};

const CALC: (&str, &str) =
    ("calc.py", "W1, W2, R3 = 10, 20, 3\ndef one(): return W1\ndef two(): return W2\ndef three(): return R3\n");
const CALC_TESTS: (&str, &str) = (
    "test_calc.py",
    "import unittest, calc\nclass T(unittest.TestCase):\n  def test_one(self): self.assertEqual(calc.one(), 1)\n  \
     def test_two(self): self.assertEqual(calc.two(), 2)\n  def test_three(self): self.assertEqual(calc.three(), 3)\n",
);

const UNITTEST: Suite = Suite {
    needs: "python3",
    files: &[CALC, CALC_TESTS],
    all: "python3 -B -m unittest",
    results: None,
    one: "python3 -B -m unittest test_calc.T.test_one",
    code: "calc.py",
    ids: ["test_calc.T.test_two", "test_calc.T.test_three"],
    replaces_one: None,
};

/// A runner that nobody knows, and that says nothing but that something failed.
const WRITES_XML: &str = "import unittest, sys, os\nfrom xml.sax.saxutils import quoteattr\nimport test_calc\n\
class R(unittest.TestResult):\n  def __init__(self):\n    super().__init__()\n    self.lines = []\n  \
def say(self, t, inner): self.lines.append('<testcase classname=\"test_calc.T\" name=%s>%s</testcase>' % (quoteattr(t._testMethodName), inner))\n  \
def addSuccess(self, t): self.say(t, '')\n  \
def addFailure(self, t, e): super().addFailure(t, e); self.say(t, '<failure type=\"AssertionError\" message=%s/>' % quoteattr(str(e[1])))\n\
r = R()\nunittest.defaultTestLoader.loadTestsFromModule(test_calc).run(r)\nos.makedirs('reports', exist_ok=True)\n\
open('reports/TEST-calc.xml', 'w').write('<testsuite name=\"calc\">%s</testsuite>' % ''.join(r.lines))\n\
print('done')\nsys.exit(0 if r.wasSuccessful() else 1)\n";

const JUNIT: Suite = Suite {
    needs: "python3",
    files: &[CALC, CALC_TESTS, ("runner.py", WRITES_XML)],
    all: "python3 -B runner.py",
    results: Some("reports/*.xml"),
    one: "python3 -B -m unittest test_calc.T.test_one",
    code: "calc.py",
    ids: ["test_calc.T.test_two", "test_calc.T.test_three"],
    replaces_one: Some("sed -i 's/def test_one.*/def test_other(self): pass/' test_calc.py"),
};

const GO: Suite = Suite {
    needs: "go",
    files: &[
        ("go.mod", "module example.com/calc\ngo 1.19\n"),
        (
            "calc.go",
            "package calc\n\nvar W1, W2, R3 = 10, 20, 3\n\nfunc One() int { return W1 }\nfunc Two() int { return W2 }\nfunc Three() int { return R3 }\n",
        ),
        (
            "calc_test.go",
            "package calc\n\nimport \"testing\"\n\nfunc check(t *testing.T, got, want int) {\n\tif got != want {\n\t\tt.Errorf(\"got %d, want %d\", got, want)\n\t}\n}\n\
             func TestOne(t *testing.T) { check(t, One(), 1) }\nfunc TestTwo(t *testing.T) { check(t, Two(), 2) }\nfunc TestThree(t *testing.T) { check(t, Three(), 3) }\n",
        ),
    ],
    all: "go test ./...",
    results: None,
    one: "go test -run 'TestOne$' ./...",
    code: "calc.go",
    ids: ["example.com/calc.TestTwo", "example.com/calc.TestThree"],
    replaces_one: None,
};

const PROVE: Suite = Suite {
    needs: "prove",
    files: &[
        (
            "lib/Calc.pm",
            "package Calc;\nour $W1 = 10;\nour $W2 = 20;\nour $R3 = 3;\nsub one { $W1 }\nsub two { $W2 }\nsub three { $R3 }\n1;\n",
        ),
        (
            "t/calc.t",
            "use Test::More tests => 3;\nuse Calc;\nis(Calc::one(), 1, 'one');\nis(Calc::two(), 2, 'two');\nis(Calc::three(), 3, 'three');\n",
        ),
    ],
    all: "prove -l t",
    results: None,
    one: "perl -Ilib -MCalc -e 'exit(Calc::one() == 1 ? 0 : 1)'",
    code: "lib/Calc.pm",
    ids: ["t/calc.t: two", "t/calc.t: three"],
    replaces_one: None,
};

/// The same tests, and its own words for those that pass.
const PROVE_ALL: Suite = Suite { all: "prove -v -l t", ..PROVE };

const DOCTEST: Suite = Suite {
    needs: "python3",
    files: &[(
        "calc.py",
        "W1, W2, R3 = 10, 20, 3\ndef one():\n  \"\"\"\n  >>> one()\n  1\n  \"\"\"\n  return W1\ndef two():\n  \"\"\"\n  >>> two()\n  2\n  \"\"\"\n  \
         return W2\ndef three():\n  \"\"\"\n  >>> three()\n  3\n  \"\"\"\n  return R3\n",
    )],
    all: "python3 -B -m doctest calc.py",
    results: None,
    one: "python3 -B -c 'import calc, sys; sys.exit(calc.one() != 1)'",
    code: "calc.py",
    ids: ["calc.two: two()", "calc.three: three()"],
    replaces_one: None,
};

const SUITES: [&Suite; 8] = [&LIBTEST, &NODE, &UNITTEST, &JUNIT, &GO, &PROVE, &PROVE_ALL, &DOCTEST];

/// The task's end, what is said of it, and the agent's prompt.
struct Ended {
    task: Value,
    because: String,
    project: Project,
}

fn ran(suite: &Suite, agent: &str, own: &str) -> Ended {
    let project = Project::new(&format!("cat \"$REFLEXION_PROMPT_FILE\" > \"$OUT/prompt\"; {agent}"));
    for (path, text) in suite.files {
        project.write(path, text);
    }
    project.write(".gitignore", "reports/\n.reflection/\nmemory/\n");
    project.config(|config| {
        config["maxAttempts"] = json!(1);
        let mut all = json!({ "name": "all", "run": suite.all });
        if let Some(results) = suite.results {
            all["results"] = json!(results);
        }
        config["checks"] = json!([all]);
    });
    project.tasks(&[task_with_check("a", own)]);
    let ran = project.run(&["run", "--json"]);
    let runs = project.dir.join(".reflection/runs");
    let run = std::fs::read_dir(runs).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let journal = std::fs::read_to_string(run.join("journal.jsonl")).unwrap();
    let entries = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let judged = entries.into_iter().find(|entry| entry["type"] == "attempt_judged");
    let because = judged.unwrap_or_else(|| panic!("{}", ran.stderr))["because"].as_str().unwrap().to_owned();
    Ended { task: ran.task("a"), because, project }
}

/// A shell command that changes numbers in the code.
fn sets(suite: &Suite, numbers: &[(&str, &str)]) -> String {
    let one = |(from, to): &(&str, &str)| {
        format!("sed -i 's/= {from}\\b/= {to}/; s/ {from}, / {to}, /; s/, {from}$/, {to}/' \"{}\"", suite.code)
    };
    numbers.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn all(check: fn(&Suite)) {
    for suite in SUITES.into_iter().filter(|suite| is_there(suite.needs)) {
        check(suite);
    }
}

#[test]
fn a_task_that_fixes_one_of_two_red_tests_is_confirmed() {
    all(|suite| {
        let ended = ran(suite, &sets(suite, &[("10", "1")]), suite.one);
        let said = (&ended.task["verdict"], &ended.task["proof"]);
        assert_eq!(said, (&json!("confirmed"), &json!("turned_green")), "{}: {}", suite.all, ended.because);
        assert!(
            ended.because.contains("check `all` is still red, only by tests that failed before (1 of 2"),
            "{}",
            ended.because
        );
        let report = ended.project.run(&["report", "--json"]).json();
        let tests = &report["tasks"][0]["tests"];
        assert_eq!(tests["failing"], 1, "{}: {report}", suite.all);
        let names: Vec<&str> = tests["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert!(!names.contains(&suite.ids[0]), "{names:?}");
        // This one does not say which tests passed, and the task's own check prints nothing.
        assert!(names.iter().any(|name| name.contains("one")) || suite.all == DOCTEST.all, "{names:?}");
        let prompt = ended.project.told("prompt");
        assert!(prompt.contains("These tests failed before any attempt. They do not count"), "{prompt}");
        assert!(prompt.lines().any(|line| line == suite.ids[0]), "{prompt}");
    });
}

#[test]
fn a_test_that_the_attempt_breaks_is_named() {
    all(|suite| {
        let ended = ran(suite, &sets(suite, &[("10", "1"), ("3", "4")]), suite.one);
        assert_eq!(ended.task["verdict"], json!("false_done"), "{}: {}", suite.all, ended.because);
        let named = format!("`{}` fails, and did not at the base", suite.ids[1]);
        assert!(ended.because.contains(&named), "{}: {}", suite.all, ended.because);
        assert!(!ended.because.contains(suite.ids[0]), "{}: {}", suite.all, ended.because);
        // The lesson is about that one, and not about somebody else's.
        let lesson = String::from_utf8(ended.project.read("memory/reflections.jsonl")).unwrap();
        let short = |id: &str| id.rsplit(['.', ':']).next().unwrap().trim().trim_end_matches("()").to_owned();
        let lesson: Value = serde_json::from_str(lesson.lines().next().unwrap()).unwrap();
        let analysis = lesson["analysis"].as_str().unwrap();
        assert!(analysis.contains(&short(suite.ids[1])), "{}: {analysis}", suite.all);
        assert!(!analysis.contains(&format!("{}`", short(suite.ids[0]))), "{}: {analysis}", suite.all);
    });
}

#[test]
fn a_red_test_that_fails_with_another_value_refutes_nobody_and_confirms_nothing() {
    all(|suite| {
        let ended = ran(suite, &sets(suite, &[("10", "1"), ("20", "21")]), suite.one);
        assert_eq!(ended.task["verdict"], json!("unverifiable"), "{}: {}", suite.all, ended.because);
        let named = format!("`{}` still fails, with other", suite.ids[0]);
        assert!(ended.because.contains(&named), "{}: {}", suite.all, ended.because);
    });
}

/// A bug in a project with two red tests, of which the agent changes one's values at first, and puts them right then.
fn bug(title: &str, agent: &str) -> (Vec<String>, String) {
    let project = Project::new(agent);
    project.write("shop.py", "def days(weeks): return weeks * 6\ndef total(prices): return sum(prices) + 1\n");
    let tests = "import shop, unittest\nclass T(unittest.TestCase):\n  def test_days(self): self.assertEqual(shop.days(2), 14)\n  \
                 def test_total(self): self.assertEqual(shop.total([1]), 1)\n";
    project.write("test_shop.py", tests);
    project.config(|config| {
        config["maxAttempts"] = json!(2);
        config["checks"] = json!([{ "name": "all", "run": "python3 -B -m unittest" }]);
    });
    project.tasks(&[with(task("a"), json!({ "type": "bug", "title": title, "checks": [] }))]);
    project.run(&["run", "--json"]);
    let runs = project.dir.join(".reflection/runs");
    let run = std::fs::read_dir(runs).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let journal = std::fs::read_to_string(run.join("journal.jsonl")).unwrap();
    let entries = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let judged: Vec<Value> = entries.filter(|entry| entry["type"] == "attempt_judged").collect();
    let word = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
    (judged.iter().map(|entry| word(entry, "verdict")).collect(), word(&judged[0], "because"))
}

#[test]
fn a_bug_whose_own_red_test_fails_with_other_values_is_not_done_and_that_of_another_task_refutes_nobody() {
    let wrong_at_first = "n=5; [ $REFLEXION_ATTEMPT = 1 ] || n=7; sed -i \"s/weeks \\* ./weeks * $n/\" shop.py";
    let (verdicts, because) = bug("A week has seven days", wrong_at_first);
    assert_eq!(verdicts, ["false_done", "confirmed"], "{because}");
    assert!(
        because
            .contains("; `test_shop.T.test_days` still fails, with other values (`10 != 14`; at the base `12 != 14`)"),
        "{because}"
    );
    assert!(!because.contains("too, but"), "{because}");
    let (verdicts, because) = bug("Prices are rounded", wrong_at_first);
    assert_eq!(verdicts, ["unverifiable"], "{because}");
}

/// A runner of the project's own, that names only what is wrong.
const QUIET: Suite = Suite {
    needs: "python3",
    files: &[
        CALC,
        (
            "check.py",
            "import calc, sys\nbad = [n for n, right in (('one', 1), ('two', 2), ('three', 3)) if getattr(calc, n)() != right]\n\
             for name in bad: print(name + ' is wrong')\nsys.exit(1 if bad else 0)\n",
        ),
    ],
    all: "python3 -B check.py",
    results: None,
    one: "python3 -B -c 'import calc, sys; sys.exit(calc.one() != 1)'",
    code: "calc.py",
    ids: ["two", "three"],
    replaces_one: None,
};

#[test]
fn a_runner_that_nobody_knows_may_print_less_of_what_failed_and_nothing_new() {
    // Whichever of the two is right now.
    for numbers in [[("10", "1")].as_slice(), &[("10", "1"), ("20", "21")]] {
        let ended = ran(&QUIET, &sets(&QUIET, numbers), QUIET.one);
        assert_eq!(ended.task["verdict"], json!("confirmed"), "{}", ended.because);
        assert!(
            ended.because.contains("check `all` is still red, with less of what it printed before"),
            "{}",
            ended.because
        );
    }
    let ended = ran(&QUIET, &sets(&QUIET, &[("20", "2")]), "test -f calc.py");
    assert_eq!(ended.task["verdict"], json!("confirmed"), "{}", ended.because);
    // Whether that is the fix that was asked for, nobody can tell without a check of its own.
    let project = Project::new(&sets(&QUIET, &[("20", "2")]));
    QUIET.files.iter().for_each(|(path, text)| project.write(path, text));
    project.config(|config| {
        config["maxAttempts"] = json!(1);
        config["checks"] = json!([{ "name": "all", "run": QUIET.all }]);
    });
    project.tasks(&[json!({ "id": "a", "title": "Two is wrong", "expects": "fix" })]);
    let task = project.run(&["run", "--json"]).task("a");
    assert_eq!(task["verdict"], json!("unverifiable"), "{task}");
    // One more is wrong, beside one that is right.
    let ended = ran(&QUIET, &sets(&QUIET, &[("10", "1"), ("3", "4")]), QUIET.one);
    assert_ne!(ended.task["verdict"], json!("confirmed"), "{}", ended.because);
}

#[test]
fn a_red_test_that_is_not_run_any_more_is_not_fixed() {
    all(|suite| {
        let Some(replaces) = suite.replaces_one else { return };
        let own = "test -f done.txt";
        let ended = ran(suite, &format!("touch done.txt; {replaces}"), own);
        assert_ne!(ended.task["verdict"], json!("confirmed"), "{}: {}", suite.all, ended.because);
        assert!(
            ended.because.contains("which failed at the base, is not run any more"),
            "{}: {}",
            suite.all,
            ended.because
        );
    });
}

#[test]
fn results_that_the_agent_has_committed_are_not_the_runs() {
    let forged = "mkdir -p reports; printf '<testsuite name=\"x\"><testcase classname=\"test_calc.T\" name=\"test_two\"><failure type=\"AssertionError\" \
                  message=\"20 != 2\"/></testcase></testsuite>' > reports/TEST-calc.xml; \
                  printf 'import sys\\nprint(\"done\")\\nsys.exit(1)\\n' > runner.py; sed -i '/reports/d' .gitignore; touch done.txt";
    let ended = ran(&JUNIT, forged, "test -f done.txt");
    assert_ne!(ended.task["verdict"], json!("confirmed"), "{}", ended.because);
    assert!(ended.because.contains("does not name its tests one by one"), "{}", ended.because);
}

#[test]
fn a_message_that_is_another_one_in_each_run_is_no_other_failure() {
    let project = Project::new("echo yes > x.txt");
    project.write("calc.py", CALC.1);
    project
        .write("test_calc.py", CALC_TESTS.1.replace("calc.one(), 1)", "__import__('uuid').uuid4().hex[:9] + 'x', 1)"));
    project.write("x.txt", "no\n");
    project.config(|config| {
        config["maxAttempts"] = json!(1);
        config["checks"] = json!([{ "name": "all", "run": UNITTEST.all }]);
    });
    project.tasks(&[task_with_check("a", "grep -q yes x.txt")]);
    // A night asks once more on top of what was merged before.
    let ran = project.run(&["overnight", "--json"]);
    assert_eq!(ran.task("a")["verdict"], json!("confirmed"), "{}", ran.stderr);
    assert!(ran.task("a")["merged"].is_string(), "{}", ran.stderr);
}

/// Two workers check in rooms of their own, and the base is checked in one of them alone.
#[test]
fn where_a_check_runs_is_no_other_failure() {
    const LOAD: &str = "import os, unittest, calc\nclass L(unittest.TestCase):\n  def test_load(self):\n    \
        open(os.path.join(os.path.dirname(os.path.abspath(calc.__file__)), 'data', 'sample.json')).close()\n  \
        def test_here(self): self.assertEqual(os.getcwd(), os.environ['CACHE'])\n";
    for (all, results) in
        [(UNITTEST.all, json!({})), ("pwd; python3 -B runner.py", json!({ "results": "reports/*.xml" }))]
    {
        // Each waits for the other: so two are at work.
        let agent = "touch $OUT/$REFLEXION_TASK_ID; until [ -e $OUT/a ] && [ -e $OUT/b ]; do sleep 0.05; done; \
            sed -i 's/R3 = 10, 20, 3/R3 = 10, 20, 33/' calc.py";
        let project = Project::new(agent);
        for (path, text) in [CALC, CALC_TESTS] {
            project.write(path, text);
        }
        project.write("test_load.py", LOAD);
        let loads = WRITES_XML.replace("import test_calc\n", "import test_calc, test_load\n").replace(
            "r = R()\n",
            "  def addError(self, t, e): super().addError(t, e); self.say(t, '<error type=\"x\" message=%s/>' % quoteattr(str(e[1])))\n\
             r = R()\nunittest.defaultTestLoader.loadTestsFromModule(test_load).run(r)\n",
        );
        project.write("runner.py", loads);
        project.write(".gitignore", "reports/\n");
        project.config(|config| {
            config["maxAttempts"] = json!(1);
            config["workspace"] = json!({ "env": { "CACHE": "{cache}/x" } });
            config["checks"] = json!([with(json!({ "name": "all", "run": all }), results.clone())]);
        });
        project.tasks(&[task_with_check("a", "true"), task_with_check("b", "true")]);
        let ran = project.run(&["run", "--json", "--jobs", "2"]);
        for task in ["a", "b"] {
            let task = ran.task(task).to_string();
            assert!(!task.contains("with other words"), "{task}");
            assert!(task.contains("test_three"), "{task}");
        }
        let lessons = String::from_utf8(project.read("memory/reflections.jsonl")).unwrap();
        for lesson in lessons.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let words = format!("{} {}", lesson["analysis"], lesson["suggestion"]);
            assert!(words.contains("test_three") && !words.contains("sample.json"), "{lesson}");
        }
    }
}

#[test]
fn tests_that_may_be_removed_may_be_so_beside_red_ones() {
    for (allow, verdict) in [(json!(["remove_tests"]), "confirmed"), (json!([]), "false_done")] {
        let project = Project::new("sed -i '/test_three/d' test_calc.py; touch done.txt");
        UNITTEST
            .files
            .iter()
            .for_each(|(path, text)| project.write(path, text.replace("  def test_three", "\n  def test_three")));
        project.config(|config| {
            config["maxAttempts"] = json!(1);
            config["checks"] = json!([{ "name": "all", "run": UNITTEST.all }]);
        });
        let mut task = task_with_check("a", "test -f done.txt");
        task["allow"] = allow;
        project.tasks(&[task]);
        let ran = project.run(&["run", "--json"]);
        assert_eq!(ran.task("a")["verdict"], json!(verdict), "{}", ran.stderr);
    }
}

#[test]
fn results_that_the_run_only_touches_are_not_the_runs() {
    // The output counts as many failures as the file that was there before.
    let forged = "mkdir -p reports; printf '<testsuite name=\"x\"><testcase classname=\"test_calc.T\" name=\"test_two\"><failure type=\"AssertionError\" \
                  message=\"20 != 2\"/></testcase><testcase classname=\"test_calc.T\" name=\"test_one\"/>\
                  <testcase classname=\"test_calc.T\" name=\"test_three\"/></testsuite>' > reports/TEST-calc.xml; \
                  printf 'import sys, os\\nos.utime(\"reports/TEST-calc.xml\")\\nprint(\"done\")\\nsys.exit(1)\\n' > runner.py; \
                  sed -i '/reports/d' .gitignore; touch done.txt";
    let ended = ran(&JUNIT, forged, "test -f done.txt");
    assert_ne!(ended.task["verdict"], json!("confirmed"), "{}", ended.because);
    assert!(ended.because.contains("does not name its tests one by one"), "{}", ended.because);
}

/// Writes the results that a file of the project lists: a name, whether it passed, and the line of the test.
const WRITES_LISTED: &str = "import sys\nfrom xml.sax.saxutils import quoteattr\nred, lines = 0, []\n\
for row in open('results.txt'):\n  name, went, line = row.strip().split(';')\n  bad = went == 'red'\n  red += bad\n  \
lines.append('<testcase classname=\"T\" name=%s file=\"spec/calc.spec\" line=\"%s\">%s</testcase>' % (quoteattr(name), line, '<failure type=\"E\" message=\"no\"/>' if bad else ''))\n\
open('out.xml', 'w').write('<testsuite name=\"s\">%s</testsuite>' % ''.join(lines))\nsys.exit(1 if red else 0)\n";

const LISTED: Suite = Suite {
    needs: "python3",
    files: &[
        ("runner.py", WRITES_LISTED),
        ("results.txt", "one;red;3\none;ok;5\none (2);red;7\n"),
        ("spec/calc.spec", "one, one again, and one (2)\n"),
    ],
    all: "python3 -B runner.py",
    results: Some("out.xml"),
    one: "test -f done.txt",
    code: "results.txt",
    ids: ["T.one (2) (1)", "T.one (2)"],
    replaces_one: None,
};

#[test]
fn a_second_test_of_a_name_is_no_other_test_that_is_called_so() {
    if !is_there(LISTED.needs) {
        return;
    }
    // The test that is called `one (2)` is fixed, and the second one called `one` is broken.
    let breaks = "printf 'one;red;3\\none;red;5\\none (2);ok;7\\n' > results.txt; touch done.txt";
    let ended = ran(&LISTED, breaks, LISTED.one);
    assert_eq!(ended.task["verdict"], json!("false_done"), "{}", ended.because);
    assert!(ended.because.contains("`T.one (2)` fails, and did not at the base"), "{}", ended.because);
    // The lesson knows where it stands.
    let lesson = String::from_utf8(ended.project.read("memory/reflections.jsonl")).unwrap();
    assert!(lesson.contains("spec/calc.spec:5"), "{lesson}");
    // Nothing else than the fix is confirmed.
    let fixes = "printf 'one;red;3\\none;ok;5\\none (2);ok;7\\n' > results.txt; touch done.txt";
    let ended = ran(&LISTED, fixes, LISTED.one);
    assert_eq!(ended.task["verdict"], json!("confirmed"), "{}", ended.because);
}

/// A runner that prints what a file says.
const fn prints(output: &'static [(&'static str, &'static str)], exits: &'static str) -> Suite {
    Suite {
        needs: "sh",
        files: output,
        all: exits,
        results: None,
        one: "test -f done.txt",
        code: "out.txt",
        ids: ["", ""],
        replaces_one: None,
    }
}

#[test]
fn where_a_runner_ended_before_its_tests_did_the_whole_is_compared_and_that_is_said() {
    let go = prints(&[("out.txt", include_str!("../fixtures/failures/go-panic.txt"))], "cat out.txt; exit 1");
    let nextest =
        prints(&[("out.txt", include_str!("../fixtures/failures/nextest-assert.txt"))], "cat out.txt; exit 100");
    for (suite, change) in [(go, "s/index out of range/nil map/"), (nextest, "s/empty_has_no_first/has_a_last/")] {
        let ended = ran(&suite, "touch done.txt", suite.one);
        assert_eq!(ended.task["verdict"], json!("confirmed"), "{}", ended.because);
        assert!(ended.because.contains("check `all` is red as it was before"), "{}", ended.because);
        let ended = ran(&suite, &format!("touch done.txt; sed -i '{change}' out.txt"), suite.one);
        assert_eq!(ended.task["verdict"], json!("false_done"), "{}", ended.because);
        assert!(
            ended.because.contains("does not name its tests one by one, so the whole is compared"),
            "{}",
            ended.because
        );
    }
}

#[test]
fn doctor_says_which_checks_stop_at_a_failure() {
    let project = Project::new("true");
    project.config(|config| {
        config["checks"] = json!([
            { "name": "stops", "run": "true || (cd crates && cargo nextest run)" },
            { "name": "goes on", "run": "true || cargo test --no-fail-fast" },
            { "name": "list", "run": ["true", "cargo test"] },
        ]);
    });
    project.tasks(&[task_with_check("a", "false || cargo test one")]);
    let doctor = project.run(&["doctor", "--checks", "--json"]).json();
    let advised: Vec<&str> = doctor["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["advice"].as_str().is_some_and(|advice| advice.contains("`--no-fail-fast`")))
        .map(|finding| finding["what"].as_str().unwrap())
        .collect();
    assert_eq!(advised, ["check `stops`"], "{doctor}");
}

#[test]
fn a_known_red_test_that_stops_earlier_than_it_did_is_a_new_failure() {
    if !is_there("python3") {
        return;
    }
    // The same words in both lines.
    let tests = "import unittest, calc\nclass T(unittest.TestCase):\n  def test_order(self):\n    p = (1, 2)\n    \
                 self.assertEqual(calc.order(*p), 'b')\n    p = (0.1, 0.2)\n    self.assertEqual(calc.order(*p), 'b')\n";
    let base = "def order(a, b): return 'b' if int(b) > int(a) else 'a'\n";
    let ends = |agent: &str| {
        let project = Project::new(agent);
        project.write("calc.py", base);
        project.write("test_calc.py", tests);
        project.config(|config| {
            config["maxAttempts"] = json!(1);
            config["checks"] = json!([{"name": "suite", "run": "python3 -B -m unittest"}]);
        });
        project.tasks(&[json!({"id": "a", "title": "Say what order is for"})]);
        let task = project.run(&["run", "--json"]).task("a");
        (task["verdict"].as_str().unwrap_or_default().to_owned(), task["cause"].to_string())
    };
    // `'a' != 'b'` of a line that passed at the base; also where the test's file has new lines above and below.
    let breaks = "printf \"def order(a, b): return 'a'\\n\" > calc.py";
    let moves = "sed -i '1s/.*/import unittest, calc, sys/; s/^class/# order\\nclass/' test_calc.py; \
                 printf '  def test_new(self): pass\\n' >> test_calc.py";
    for agent in [breaks.to_owned(), format!("{breaks}; {moves}")] {
        let (verdict, cause) = ends(&agent);
        assert_eq!(verdict, "false_done", "{cause}");
        let words = "`test_calc.T.test_order` fails at an earlier line of its test than at the base";
        assert!(cause.contains(words), "{cause}");
    }
    let (verdict, cause) = ends("printf '# the larger one\\n' >> calc.py");
    assert_eq!(verdict, "confirmed", "{cause}");
    // A test above it moves it.
    let (verdict, cause) =
        ends("printf '# the larger one\\n' >> calc.py; sed -i 's/^class/# order\\nclass/' test_calc.py");
    assert_eq!(verdict, "confirmed", "{cause}");
}

/// A project with these tests red, and the prompts of all attempts of one agent, in one text.
fn prompts(agent: &str, task: &Value, attempts: u32) -> (Project, String) {
    let project = Project::new(&format!("cat \"$REFLEXION_PROMPT_FILE\" >> \"$OUT/prompts\"; {agent}"));
    let (code, tests) = (CALC.1, CALC_TESTS.1);
    project.write(CALC.0, code);
    project.write(CALC_TESTS.0, tests);
    project.config(|config| {
        config["maxAttempts"] = json!(attempts);
        config["checks"] = json!([{"name": "suite", "run": UNITTEST.all}]);
    });
    project.tasks(std::slice::from_ref(task));
    project.run(&["run"]);
    let prompts = project.told("prompts");
    (project, prompts)
}

#[test]
fn a_prompt_says_of_each_failure_whether_it_counts() {
    if !is_there("python3") {
        return;
    }
    let (_, own) = prompts("true", &task_with_check("a", UNITTEST.one), 1);
    let known = own.split("They do not count").nth(1).unwrap_or_else(|| panic!("{own}"));
    let known = known.split("## ").next().unwrap();
    assert!(known.contains("test_two") && !known.contains("test_one"), "the task's own check asks for `one`: {own}");
    let (_, any) = prompts("true", &json!({"id": "a", "title": "Mend one", "expects": "fix"}), 1);
    let words = "Those that your task is about must pass, at least one, and no other may begin to fail";
    assert!(any.contains(words) && any.contains("test_two"), "{any}");
}

#[test]
fn an_attempt_that_changes_nothing_keeps_the_reason_of_the_one_before() {
    if !is_there("python3") {
        return;
    }
    // Red by what it changed, then twice nothing.
    let agent = "[ -e \"$OUT/once\" ] || { touch \"$OUT/once\"; sed -i 's/3$/4/' calc.py; }";
    let (project, prompts) = prompts(agent, &task_with_check("a", UNITTEST.one), 3);
    let last = prompts.rsplit("## Last failure").next().unwrap();
    let words = "Attempt 1, the last that changed anything, failed so: check `suite` is red";
    assert!(last.contains("Attempt 2 failed:") && last.contains(words), "{prompts}");
    let report = project.run(&["report"]).stdout;
    assert!(
        report.contains("it was not done: check `suite` is red (exit status 1); it was at the base too"),
        "{report}"
    );
}
