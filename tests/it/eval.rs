//! `reflexion eval`, seen from outside.

use crate::project::Project;
use assert_cmd::Command;
use reflexion::evaluation;
use reflexion::evaluation::{EvalResult, Expectation, Format, Suite, SuiteKind};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

fn evals() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("config/evals")
}

fn suite(name: &str) -> Suite {
    let file = format!("{name}.yaml");
    let text = fs::read_to_string(evals().join(&file)).unwrap();
    evaluation::read(&file, &text, Format::Yaml).unwrap()
}

fn eval(dir: &Path, args: &[&str]) -> Output {
    Command::cargo_bin("reflexion").unwrap().current_dir(dir).arg("eval").args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const STUCK: &str = "name: small
kind: stuck
cases:
- {id: runs, description: a tool runs, input: {time_since_activity: 60, tool_calls: 'bash: running'}, expect: {stuck: false, reason: working}}
- {id: silent, description: nothing came, input: {time_since_activity: 90, message_completed: false, output_tokens: 0}, expect: {stuck: true}}
";

#[test]
fn suites_that_a_sparse_checkout_leaves_out_are_named_as_such() {
    let project = Project::new("true");
    project.write("config/evals/s.yaml", "kind: completion\ncases: []\n");
    project.commit();
    project.git(&["sparse-checkout", "set", "memory"]);
    assert!(!project.dir.join("config").exists());
    let words = "this sparse checkout leaves it out: `git sparse-checkout add config/evals` brings it";
    project.run(&["eval"]).exits(2).says(words);
    project.run(&["eval", "config/evals/s.yaml"]).exits(2).says(words);
    let ran = project.run(&["eval", "nowhere/s.yaml"]);
    assert!(!ran.exits(2).stderr.contains("sparse"), "{}", ran.stderr);
}

#[test]
fn our_own_suites_are_large_enough_and_of_both_kinds() {
    let check = |name: &str, kind: SuiteKind, at_least: usize| {
        let suite = suite(name);
        assert_eq!((suite.kind, suite.name.as_str()), (kind, name));
        assert!(suite.cases.len() >= at_least, "{name} has {} cases", suite.cases.len());
        assert!(suite.threshold.is_some(), "{name} has no threshold");
        let described = suite.cases.iter().all(|case| case.description.len() > 5);
        assert!(described, "every case of {name} says what it shows");
    };
    check("completion", SuiteKind::Completion, 40);
    check("stuck", SuiteKind::Stuck, 20);
    check("compaction", SuiteKind::Compaction, 16);
    check("agent", SuiteKind::Agent, 12);
    let done = |case: &evaluation::Case| matches!(&case.expect, Expectation::Completion(expected) if expected.done);
    let completion = suite("completion");
    let count = completion.cases.iter().filter(|case| done(case)).count();
    assert!(count >= 20 && completion.cases.len() - count >= 20, "{count} of {} are done", completion.cases.len());
}

/// Every key of a document, whatever it stands in.
fn keys(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| {
            found.push(key.clone());
            keys(inner, found);
        }),
        Value::Array(many) => many.iter().for_each(|inner| keys(inner, found)),
        _ => {}
    }
}

/// The prompts are those of `config/prompts/`, or what is measured is not what runs.
#[test]
fn no_suite_has_a_prompt_of_its_own() {
    for entry in fs::read_dir(evals()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(Format::of(&name).is_some(), "{name} is no suite");
        let parsed: Value = serde_saphyr::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let mut found = Vec::new();
        keys(&parsed, &mut found);
        for word in ["prompt", "prompts", "system", "rubric", "template", "transform"] {
            assert!(!found.iter().any(|key| key == word), "{name} has a `{word}` of its own");
        }
    }
    // promptfoo must send something; it may only hand the case through.
    let promptfoo = fs::read_to_string(evals().join("promptfoo/promptfooconfig.yaml")).unwrap();
    let promptfoo: Value = serde_saphyr::from_str(&promptfoo).unwrap();
    assert_eq!(promptfoo["prompts"], serde_json::json!(["{{transcript}}"]));
    // And the module that runs them knows no prompt.
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/evaluation")).unwrap() {
        let path = entry.unwrap().path();
        let code = fs::read_to_string(&path).unwrap();
        let code = code.split("#[cfg(test)]").next().unwrap();
        assert!(!code.contains("crate::prompt") && !code.contains("prompt:"), "{} makes a prompt", path.display());
    }
}

#[test]
fn without_a_judge_our_suites_hold_their_thresholds() {
    let dir = tempfile::tempdir().unwrap();
    let files: Vec<String> = ["completion", "stuck", "compaction", "agent"]
        .map(|name| evals().join(format!("{name}.yaml")).to_str().unwrap().to_owned())
        .to_vec();
    let mut args: Vec<&str> = files.iter().map(String::as_str).collect();
    args.extend(["--judge", "none", "--json"]);
    let output = eval(dir.path(), &args);
    let result: EvalResult = serde_json::from_slice(&output.stdout).unwrap();
    for suite in &result.suites {
        assert!(suite.missed.is_empty(), "{}: {:?}", suite.suite, suite.missed);
        assert_eq!(suite.totals.false_complete.count, 0, "{}", suite.suite);
    }
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn results_are_kept_in_the_project_and_compared() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("project.json"), "{}").unwrap();
    fs::create_dir_all(dir.path().join("config/evals")).unwrap();
    let file = dir.path().join("config/evals/small.yaml");
    fs::write(&file, STUCK.replace("reason: working", "reason: complete")).unwrap();
    let first = eval(dir.path(), &[]);
    assert_eq!(first.status.code(), Some(1), "{}", text(&first.stdout));
    assert!(text(&first.stdout).contains("FAILED     runs: complete → working"), "{}", text(&first.stdout));
    assert!(text(&first.stdout).contains("BELOW: 1 of 2 cases do not hold"), "{}", text(&first.stdout));
    fs::write(&file, STUCK).unwrap();
    let second = eval(dir.path(), &["--repeat", "3", "--cases"]);
    assert_eq!(second.status.code(), Some(0), "{}", text(&second.stdout));
    assert!(
        text(&second.stdout).contains("small (stuck): 2 cases, each 3 times, judge: none"),
        "{}",
        text(&second.stdout)
    );
    let kept = fs::read_dir(dir.path().join(".reflection/evals")).unwrap().count();
    assert_eq!(kept, 3, "two results and the latest");
    let latest = fs::read(dir.path().join(".reflection/evals/latest.json")).unwrap();
    let latest: EvalResult = serde_json::from_slice(&latest).unwrap();
    assert_eq!((latest.repeat, latest.suites[0].cases[0].runs.len()), (3, 3));

    let compared = eval(dir.path(), &["--compare"]);
    assert_eq!(compared.status.code(), Some(0));
    assert!(text(&compared.stdout).contains("gained: runs"), "{}", text(&compared.stdout));
    let mut kept: Vec<PathBuf> = fs::read_dir(dir.path().join(".reflection/evals"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("latest.json"))
        .collect();
    kept.sort();
    let (new, old) = (kept[1].to_str().unwrap(), kept[0].to_str().unwrap());
    let backwards = eval(dir.path(), &["--compare", new, old, "--json"]);
    assert_eq!(backwards.status.code(), Some(1), "a case was lost");
    let backwards: Value = serde_json::from_slice(&backwards.stdout).unwrap();
    assert_eq!(backwards["suites"][0]["lost"], serde_json::json!(["runs"]));
}

#[test]
fn it_works_without_a_project() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("s.yaml"), STUCK).unwrap();
    let output = eval(dir.path(), &["s.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("the result is not kept; `--out FILE` keeps it"));
    assert!(!dir.path().join(".reflection").exists());
    let output = eval(dir.path(), &["s.yaml", "--out", "r.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice::<EvalResult>(&fs::read(dir.path().join("r.json")).unwrap()).unwrap();
    let listed = eval(dir.path(), &["s.yaml", "--list"]);
    assert!(text(&listed.stdout).contains("small (stuck, 2 cases): s.yaml"), "{}", text(&listed.stdout));
}

#[test]
fn what_cannot_be_read_ends_with_exit_two() {
    let dir = tempfile::tempdir().unwrap();
    let check = |name: &str, content: &str, expected: &str| {
        fs::write(dir.path().join(name), content).unwrap();
        let output = eval(dir.path(), &[name]);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    };
    check(
        "a.yaml",
        &STUCK.replace("reason: working", "reason: wrking"),
        "a.yaml:4: `cases[0].expect.reason`: unknown variant `wrking`",
    );
    check("b.yaml", "cases: [", "b.yaml:1");
    check("c.json", "{\"cases\": 1", "c.json:1");
    check("d.jsonl", "{\"kind\":\"stuck\"}\nno json\n", "d.jsonl:2");
    check("e.txt", "", "e.txt is no suite");
    let output = eval(dir.path(), &["missing.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("failed to read missing.yaml"));
    let output = eval(dir.path(), &[]);
    assert!(text(&output.stderr).contains("name a suite, or put suites into config/evals"), "{}", text(&output.stderr));
    fs::write(dir.path().join("s.yaml"), STUCK).unwrap();
    let output = eval(dir.path(), &["s.yaml", "s.yaml"]);
    assert!(text(&output.stderr).contains("have the same name `small`"), "{}", text(&output.stderr));
    for judge in ["nobody", "command:", "agent:"] {
        let output = eval(dir.path(), &["s.yaml", "--judge", judge]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("is no judge"), "{}", text(&output.stderr));
    }
    let output = eval(dir.path(), &["s.yaml", "--judge", "agent:nobody"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("there is no agent `nobody`"), "{}", text(&output.stderr));
    let broken = "kind: agent\ncases:\n- {id: x, description: x, input: {tools: 7}, expect: {max: 1}}\n";
    check("f.yaml", broken, "f.yaml: case `x`: `input`: ");
    let output = eval(dir.path(), &["s.yaml", "--compare", "a", "b"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn promptfoos_suites_run_and_what_is_not_supported_never_passes() {
    let dir = tempfile::tempdir().unwrap();
    let promptfoo = "prompts: [x]
tests:
- {vars: {tool_calls: 'bash: running', time_since_activity: 60}, assert: [{type: contains, value: working}]}
- {vars: {tool_calls: 'bash: running', time_since_activity: 60}, assert: [{type: javascript, value: 'true'}]}
";
    fs::write(dir.path().join("p.yaml"), promptfoo).unwrap();
    let output = eval(dir.path(), &["p.yaml", "--json"]);
    let result: EvalResult = serde_json::from_slice(&output.stdout).unwrap();
    let totals = &result.suites[0].totals;
    assert_eq!((totals.passed, totals.failed, totals.not_graded), (1, 0, 1), "{}", text(&output.stdout));
    assert!(result.suites[0].cases[1].runs[0].ungraded[0].contains("`javascript` is not supported"));
}

/// A judge that is a program: the rubric's question goes to it, and its score counts within what facts allow.
#[test]
fn a_judge_that_is_a_program_grades_what_facts_leave_open() {
    let dir = tempfile::tempdir().unwrap();
    let judge = dir.path().join("judge.sh");
    let answer = r#"{"score": 5, "reason": "well", "missing": []}"#;
    fs::write(&judge, format!("cat > \"$(dirname \"$0\")/asked.json\"\necho '{answer}'\n")).unwrap();
    let suite = "kind: agent
cases:
- id: answer
  description: a question was answered
  input: {task: Where is the port set?, tools: [{tool: Grep, input: {pattern: port}, output: 'a.toml:3'}], response: In a.toml.}
  expect: {min: 4}
- {id: nothing, description: nothing was done, input: {task: Fix it, response: ''}, expect: {max: 0}}
";
    fs::write(dir.path().join("agent.yaml"), suite).unwrap();
    let judge = format!("command:sh {}", judge.display());
    let output = eval(dir.path(), &["agent.yaml", "--judge", &judge, "--json", "--jobs", "1"]);
    let result: EvalResult =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output.stderr)));
    let given: Vec<&str> = result.suites[0].cases.iter().map(|case| case.runs[0].given.as_str()).collect();
    assert_eq!(given, ["5", "0"], "{}", text(&output.stdout));
    let asked = fs::read_to_string(dir.path().join("asked.json")).unwrap();
    let rubric = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("config/prompts/rubric.md")).unwrap();
    let line = rubric.lines().find(|line| line.starts_with("- 3:")).unwrap();
    assert!(asked.contains(line), "the rubric's own words are asked: {asked}");
}

#[test]
fn the_suites_that_the_document_shows_are_read() {
    let document = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/eval.md")).unwrap();
    let blocks: Vec<&str> = document.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.len(), 4);
    for block in blocks {
        evaluation::read("shown.yaml", block, Format::Yaml).unwrap_or_else(|e| panic!("{e}\n{block}"));
    }
}
