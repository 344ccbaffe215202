//! Cases that their runner numbers by their place, in a project whose suite is red: a small runner prints what pytest prints of such cases.

use crate::project::{Project, Ran, is_there, task, with};
use serde_json::{Value, json};

/// Cases of `test_calc.py` by their place, and functions of `test_new.py`.
const SUITE: &str = r#"import importlib.util, sys, traceback
sys.dont_write_bytecode = True
import test_calc
failed, passed = [], 0
def line(error, test):
    frames = traceback.extract_tb(error.__traceback__)
    return [frame.lineno for frame in frames if frame.filename.endswith(test.split("::")[0])][-1]
def run(test, given, call):
    global passed
    try:
        call()
        passed += 1
    except AssertionError as error:
        failed.append((test, given, str(error), line(error, test), "AssertionError"))
    except Exception as error:
        failed.append((test, given, f"{type(error).__name__}: {error}", line(error, test), type(error).__name__))
for n, (items, result) in enumerate(test_calc.CASES):
    run(f"test_calc.py::test_mean[items{n}-result{n}]", f"items = {items}, result = {result}", lambda: test_calc.mean(items, result))
if importlib.util.find_spec("test_new"):
    import test_new
    for name in dir(test_new):
        if name.startswith("test_"):
            run(f"test_new.py::{name}", "", getattr(test_new, name))
if failed:
    print(" FAILURES ".center(80, "="))
for test, given, said, at, kind in failed:
    print(f" {test.split('::')[1]} ".center(80, "_") + f"\n\n{given}\n\n>       assert\nE       {said}\n\n{test.split('::')[0]}:{at}: {kind}")
if failed:
    print(" short test summary info ".center(80, "="))
for test, given, said, *_ in failed:
    print(f"FAILED {test} - {said}")
words = ([f"{len(failed)} failed"] if failed else []) + ([f"{passed} passed"] if passed else [])
print(f" {', '.join(words)} in 0.01s ".center(80, "="))
sys.exit(1 if failed else 0)
"#;
const CALC: &str = "def mean(items):\n    return sum(items) // len(items)\n";
const TESTS: &str = "import calc\n\nCASES = [\n    ([2, 4], 3),\n    ([1, 2], 1.5),\n    ([4], 4),\n    ([2, 3], 2.5),\n]\n\n\ndef mean(items, result):\n    \
                     found = calc.mean(items)\n    assert found == result, f\"assert {found} == {result}\"\n";
/// A case that passes, before all others.
const AT_THE_TOP: &str = "sed -i 's/^CASES = \\[/CASES = [\\n    ([8], 8),/' test_calc.py";
/// One of the red cases is put right.
const FIXES_ONE: &str = "sed -i 's/^    return/    if items == [1, 2]:\\n        return 1.5\\n    return/' calc.py";

/// The work of an agent on a bug, with the project's red suite for a check, by this command.
fn ran(agent: &str, command: &str) -> (Project, Ran) {
    let project = Project::new(agent);
    for (path, text) in [("suite.py", SUITE), ("calc.py", CALC), ("test_calc.py", TESTS)] {
        project.write(path, text);
    }
    project.config(|config| {
        config["maxAttempts"] = json!(1);
        config["checks"] = json!([{ "name": "suite", "run": "python3 -B suite.py" }]);
    });
    project
        .tasks(&[with(task("a"), json!({ "type": "bug", "title": "The mean of two numbers is cut", "checks": [] }))]);
    let ran = project.run(&[command, "--json"]);
    (project, ran)
}

fn because(project: &Project) -> String {
    let runs = project.dir.join(".reflection/runs");
    let run = std::fs::read_dir(runs).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let journal = std::fs::read_to_string(run.join("journal.jsonl")).unwrap();
    let mut entries = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.find(|entry| entry["type"] == "attempt_judged").unwrap()["because"].as_str().unwrap().to_owned()
}

#[test]
fn a_case_before_red_ones_makes_none_of_them_a_new_failure_and_a_night_merges_the_fix_of_one() {
    let (project, ran) = ran(&format!("{AT_THE_TOP}; {FIXES_ONE}"), "overnight");
    let (task, said) = (ran.task("a"), because(&project));
    assert_eq!((&task["verdict"], &task["proof"]), (&json!("confirmed"), &json!("turned_green")), "{said}");
    assert!(
        said.contains("test `test_calc.py::test_mean[items1-result1]` (as numbered at the base) was red"),
        "{said}"
    );
    assert!(said.contains("only by tests that failed before (1 of 2)"), "{said}");
    assert!(task["merged"].is_string(), "{task} {}", ran.stderr);
}

#[test]
fn red_cases_that_move_prove_nothing_of_wrong_work() {
    let wrong = "sed -i 's/^def mean(items):/def mean(items, scale=1):\\n    if scale != 1:\\n        return \"wrong\"/' calc.py";
    let (project, ran) = ran(&format!("{AT_THE_TOP}; {wrong}"), "run");
    let (task, said) = (ran.task("a"), because(&project));
    assert_eq!((&task["verdict"], &task["proof"]), (&json!("confirmed"), &json!("stayed_green")), "{said}");
    assert!(
        said.contains("its tests end alike without the rest of the change, too") || said.contains("its tests pass"),
        "{said}"
    );
}

#[test]
fn of_two_red_cases_with_other_values_nobody_knows_which_one_a_bug_is_about() {
    let rounds = "sed -i 's/sum(items) .. len(items)/int(sum(items) \\/ len(items) + 0.9)/' calc.py";
    let (project, ran) = ran(rounds, "run");
    let (task, said) = (ran.task("a"), because(&project));
    assert_eq!(task["verdict"], json!("unverifiable"), "{said}");
}

/// Each of these cases must be refused; what failed says nothing of which one it was. `test_other.py` is about something else.
const SILENT: [(&str, &str); 2] = [
    ("user.py", "def refuse(user):\n    if user.get('age', 1) < 0:\n        raise ValueError\n"),
    ("test_calc.py", "import user\n\nCASES = [\n    {'age': -1},\n    {'name': 5},\n    {'mail': 'x'},\n]\n"),
];
const REFUSES_NAMES: &str = "echo \"    if user.get('name') == 5: raise ValueError\" >> user.py";
const REFUSES_TEL: &str = "sed -i \"s/^CASES = \\[/CASES = [\\n    {'tel': 'x'},/\" test_calc.py";

fn silent(agent: &str) -> (Value, String) {
    let project = Project::new(agent);
    let checked = "lambda: test_calc.mean(items, result)";
    let suite = SUITE
        .replace("n, (items, result)", "n, items")
        .replace(", result = {result}", "")
        .replace(checked, "refused(items)");
    let refused = "def refused(items):\n    def call():\n        import user\n        try: user.refuse(items)\n        except ValueError: return\n        \
                   raise AssertionError('DID NOT RAISE')\n    return call\n";
    project.write(
        "suite.py",
        suite
            .replace("def line(", &format!("{refused}def line("))
            .replace("return [frame.lineno", "return ([9] + [frame.lineno")
            .replace("split(\"::\")[0])][-1]", "split(\"::\")[0])])[-1]"),
    );
    for (path, text) in SILENT {
        project.write(path, text);
    }
    project.config(|config| {
        config["maxAttempts"] = json!(1);
        config["checks"] = json!([{ "name": "suite", "run": "python3 -B suite.py" }]);
    });
    project.tasks(&[with(
        task("a"),
        json!({ "type": "bug", "title": "A name that is a number is refused", "checks": [] }),
    )]);
    let ran = project.run(&["run", "--json"]);
    (ran.task("a").clone(), because(&project))
}

#[test]
fn of_cases_that_say_nothing_the_tests_of_the_base_tell_which_one_is_fixed() {
    let (task, said) =
        silent(&format!("{REFUSES_NAMES}; sed -i \"s/^CASES = \\[/CASES = [\\n    {{'age': -2}},/\" test_calc.py"));
    assert_eq!((&task["verdict"], &task["proof"]), (&json!("confirmed"), &json!("turned_green")), "{said}");
    assert!(
        said.contains(
            "test `test_calc.py::test_mean[items1-result1]` (as numbered at the base) was red and passes now"
        ),
        "{said}"
    );
    // A new case is red: as many fail as before.
    let (task, said) = silent(&format!("{REFUSES_NAMES}; {REFUSES_TEL}"));
    assert_eq!(task["verdict"], json!("false_done"), "{said}");
    assert!(
        said.contains("(or another of its cases, as they are numbered now)` fails, and did not at the base"),
        "{said}"
    );
    // A red one is gone, too.
    let (task, said) = silent(&format!("{REFUSES_NAMES}; {REFUSES_TEL}; sed -i '/mail/d' test_calc.py"));
    assert_eq!(task["verdict"], json!("unverifiable"), "{said}");
    assert!(said.contains("lines of its file are gone"), "{said}");
}

#[test]
fn where_another_file_of_tests_has_changed_an_id_is_that_of_the_same_case() {
    let breaks = "sed -i 's/< 0/< -9/' user.py; echo 'def test_new(): pass' > test_new.py";
    let (task, said) = silent(&format!("{REFUSES_NAMES}; {breaks}"));
    assert_eq!(task["verdict"], json!("false_done"), "{said}");
    assert!(said.contains("`test_calc.py::test_mean[items0-result0]` fails, and did not at the base"), "{said}");
}

/// Cases with numbers in their names, all of which fail with the same words.
const NAMED: &str = r#"import calc, sys
red = [kind for kind in ("int8", "int16", "int32") if not calc.fits(kind)]
if red:
    print(" FAILURES ".center(80, "="))
for kind in red:
    print(f" test_top[{kind}] ".center(80, "_") + "\n\n>       assert calc.fits(kind), \"does not fit 'top'\"\nE       AssertionError: does not fit 'top'\n\ntest_calc.py:9: AssertionError")
if red:
    print(" short test summary info ".center(80, "="))
for kind in red:
    print(f"FAILED test_calc.py::test_top[{kind}] - AssertionError: does not fit 'top'")
print(f" {len(red)} failed, {3 - len(red)} passed in 0.01s ".center(80, "=") if red else " 3 passed in 0.01s ".center(80, "="))
sys.exit(1 if red else 0)
"#;

#[test]
fn with_the_same_tests_a_case_that_fails_now_is_none_that_failed_before() {
    let project = Project::new("sed -i 's/int8/int16/' calc.py");
    project.write("suite.py", NAMED);
    project.write("calc.py", "def fits(kind):\n    return kind != 'int8'\n");
    project.config(|config| {
        config["maxAttempts"] = json!(1);
        config["checks"] = json!([{ "name": "suite", "run": "python3 -B suite.py" }]);
    });
    let own = json!([{ "name": "own", "run": "python3 -B -c \"import calc; assert calc.fits('int8')\"" }]);
    project.tasks(&[with(task("a"), json!({ "type": "bug", "title": "An int8 fits", "checks": own }))]);
    let ran = project.run(&["run", "--json"]);
    let said = because(&project);
    assert_eq!(ran.task("a")["verdict"], json!("false_done"), "{said}");
    assert!(said.contains("`test_calc.py::test_top[int16]` fails, and did not at the base"), "{said}");
}

/// Tests of one name, which `node --test` does not tell apart: three of five are red, and say nothing of which they are.
const LOOP: &str = "const { test } = require('node:test');\nconst assert = require('node:assert');\nconst { fits } = require('../lib.js');\n\n\
                    for (const kind of [\n  'a',\n  'bb',\n  'c',\n  'dd',\n  'ff',\n]) {\n  test('fits', () => assert.ok(fits(kind)));\n}\n";

fn in_a_loop(agent: &str) -> (Value, String) {
    let project = Project::new(agent);
    project.write(
        "lib.js",
        "exports.fits = (kind) => {\n  if (kind === 'z') return false;\n  return kind.length < 2;\n};\n",
    );
    project.write("test/lib.test.js", LOOP);
    project.config(|config| {
        config["maxAttempts"] = json!(1);
        config["checks"] = json!([{ "name": "suite", "run": "node --test --test-reporter=tap test/" }]);
    });
    project.tasks(&[with(task("a"), json!({ "type": "bug", "title": "A double b fits", "checks": [] }))]);
    let ran = project.run(&["run", "--json"]);
    (ran.task("a").clone(), because(&project))
}

#[test]
fn of_tests_of_one_name_the_tests_of_the_base_tell_which_one_is_fixed() {
    if !is_there("node") {
        return;
    }
    let fixes = "sed -i \"s/kind.length < 2/kind === 'bb' || kind.length < 2/\" lib.js";
    let adds = |kind: &str| format!("sed -i \"s/^for (const kind of \\[/&\\n  '{kind}',/\" test/lib.test.js");
    let (task, said) = in_a_loop(&format!("{fixes}; {}", adds("e")));
    assert_eq!((&task["verdict"], &task["proof"]), (&json!("confirmed"), &json!("turned_green")), "{said}");
    assert!(said.contains("`fits (2)`"), "{said}");
    // A new one is red: as many fail as before.
    for agent in
        [format!("{fixes}; {}", adds("ee")), format!("{fixes}; sed -i \"s/^  'dd',/&\\n  'ee',/\" test/lib.test.js")]
    {
        let (task, said) = in_a_loop(&agent);
        assert_eq!(task["verdict"], json!("false_done"), "{agent}: {said}");
    }
    // One is fixed, and one broken; they stand in other places now.
    let breaks = "sed -i \"s/=== 'z'/=== 'c'/\" lib.js";
    let (task, said) = in_a_loop(&format!("{fixes}; {breaks}; {}", adds("e")));
    assert_eq!(task["verdict"], json!("false_done"), "{said}");
    // A red one is taken out by a line that is only added.
    let slices = "sed -i \"s/^  test(/  if (kind === 'dd') continue;\\n&/\" test/lib.test.js";
    let (task, said) = in_a_loop(&format!("{fixes}; {slices}; {}", adds("e")));
    assert_eq!(task["verdict"], json!("unverifiable"), "{said}");
    assert!(
        said.contains(
            "with the tests as they were, `fits (5)`, or another of its cases, fails, and not with those of the change"
        ),
        "{said}"
    );
}
