//! Hold-out: which retries go without their lessons, that it is written down, and what follows from it.

use crate::overnight::{When, night, request, run_id, wanted};
use crate::project::{Project, with};
use reflexion::domain::Exposure;
use reflexion::runtime;
use reflexion::services::Start;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

/// Does right only at a second attempt whose prompt holds a lesson.
const AGENT: &str = r#"
answer=almost
if [ "$REFLEXION_ATTEMPT" != 1 ] && grep -q '<reflections' "$REFLEXION_PROMPT_FILE"; then answer=right; fi
echo $answer > "$REFLEXION_TASK_ID.txt"
"#;

/// Of these, the coins of the run `run_id()` hold out three.
const TASKS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
const HELD_OUT: [&str; 3] = ["a", "c", "e"];

fn project() -> Project {
    let project = Project::new(AGENT);
    project.config(|config| config["reflexion"]["holdout"] = true.into());
    for task in TASKS {
        project.write(&format!("{task}.txt"), "wrong\n");
    }
    project.tasks(&TASKS.map(|task| with(wanted(task), json!({ "maxAttempts": 2 }))));
    project
}

/// What a run's journal says of attempts that began.
fn started(project: &Project, run: &str) -> Vec<Value> {
    let journal = String::from_utf8(project.read(&format!(".reflection/runs/{run}/journal.jsonl"))).unwrap();
    let entries = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.filter(|entry| entry["type"] == "attempt_started").collect()
}

/// What the coins said, by task; each says the same as often as it is drawn.
fn coins(project: &Project) -> BTreeMap<String, bool> {
    let mut coins = BTreeMap::new();
    for entry in started(project, run_id().as_str()) {
        let number = entry["attempt"].as_u64().unwrap();
        assert_eq!(number > 1, entry["exposure"].is_object(), "{entry}");
        if number > 1 {
            let exposure: Exposure = serde_json::from_value(entry["exposure"].clone()).unwrap();
            let coin = exposure.own.unwrap();
            let before = coins.insert(entry["task"].as_str().unwrap().to_owned(), coin.injected);
            assert!(before.is_none_or(|before| before == coin.injected), "{entry}");
            assert_eq!(coin.candidates.len(), 1, "{entry}");
            let shown: &[_] = if coin.injected { &coin.candidates } else { &[] };
            assert_eq!(entry["injected"], json!(shown));
        }
    }
    coins
}

fn expected() -> BTreeMap<String, bool> {
    TASKS.map(|task| (task.to_owned(), !HELD_OUT.contains(&task))).into()
}

#[test]
fn retries_whose_lessons_are_held_out_show_what_lessons_are_worth() {
    let project = project();
    let report = night(&project, request(&run_id(), Start::New), None).unwrap();
    assert_eq!(report.totals.confirmed, 5, "{report:?}");
    assert_eq!(coins(&project), expected());

    let stats = project.run(&["memory", "stats", "--json"]).exits(0).json();
    let effect = &stats["effect"];
    assert_eq!(effect["injected"], json!({ "passed": 5, "trials": 5 }), "{stats}");
    assert_eq!(effect["heldOut"], json!({ "passed": 0, "trials": 3 }), "{stats}");
    assert_eq!((effect["lift"]["estimate"].as_f64(), stats["lessons"].as_array().map(Vec::len)), (Some(1.0), Some(5)));
    project.run(&["memory", "stats"]).exits(0).prints("Not known yet whether lessons help: 8 retries; about ").prints(
        "Of 5 retries with lessons 5 were confirmed (100 %), of 3 retries whose lessons were held out 0 were (0 %).",
    );
    project
        .run(&["report"])
        .exits(0)
        .prints("3 attempts went without lessons")
        .prints("Over all runs: Not known yet whether lessons help");

    // One line for each attempt, and the same bytes from the journal.
    let file = project.dir.join("memory/attempts.jsonl");
    let written = fs::read_to_string(&file).unwrap();
    assert_eq!(written.lines().count(), 16);
    fs::remove_file(&file).unwrap();
    let settings = runtime::project(&project.dir).unwrap();
    assert_eq!(runtime::rebuild_attempts(settings.project()).unwrap().attempts, 16);
    assert_eq!(fs::read_to_string(&file).unwrap(), written);
}

#[test]
fn a_night_that_goes_on_draws_the_same_coins() {
    let project = project();
    // Somewhere in the second attempts: each of the eight tasks has begun, and its first one has been judged.
    assert!(night(&project, request(&run_id(), Start::New), Some((60, When::After))).is_none());
    let before = started(&project, run_id().as_str()).len();
    night(&project, request(&run_id(), Start::Resume), None).unwrap();
    assert!(before < started(&project, run_id().as_str()).len());
    assert_eq!(coins(&project), expected());
}

#[test]
fn without_hold_out_every_retry_has_its_lessons() {
    let project = project();
    project.run(&["run"]).exits(0);
    let run = fs::read_dir(project.dir.join(".reflection/runs")).unwrap().next().unwrap().unwrap().file_name();
    let started = started(&project, &run.to_string_lossy());
    assert!(started.iter().all(|entry| entry.get("exposure").is_none()), "{started:?}");
    assert_eq!(started.iter().filter(|entry| entry["injected"] != json!([])).count(), TASKS.len());
    project
        .run(&["memory", "stats"])
        .exits(0)
        .prints("Not known: no retry had its lessons held out yet")
        .prints("`reflexion.holdout` (or REFLEXION_HOLDOUT) is off");
    // Which lessons other tasks may see follows from the record, whether coins are drawn or not.
    assert!(project.dir.join("memory/attempts.jsonl").exists());
    project.run(&["memory", "rebuild"]).exits(0).prints("16 ended attempts from the journals of the runs");
    assert!(!project.read("memory/attempts.jsonl").is_empty());
}
