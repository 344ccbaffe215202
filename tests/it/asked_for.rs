//! A night that goes on is asked for as it was: its options, its budget, its window.

use crate::project::{Project, task, with};
use reflexion::overnight::Window;
use serde_json::{Value, json};
use std::fs;

/// Works at the second of its tasks only when it may, and is wrong at first.
const WAITS: &str = r#"
echo "$REFLEXION_ATTEMPT" >> "$OUT/$REFLEXION_TASK_ID"
[ "$REFLEXION_TASK_ID" = a ] || [ -e "$OUT/go" ] || { touch "$OUT/begun"; exec sleep 300; }
if [ "$REFLEXION_ATTEMPT" = 1 ]; then echo almost > answer.txt; else echo right > answer.txt; fi
"#;

/// A night of two tasks that is killed while it works on the second.
fn killed(args: &[&str]) -> Project {
    let project = Project::new(WAITS);
    project.tasks(&[task("a"), task("b")]);
    let mut night = project.start(&[&["overnight"], args].concat());
    project.await_told("begun");
    night.kill();
    fs::write(project.out.join("go"), "").unwrap();
    project
}

/// The plan of the process that went on with the newest night last.
fn plan(project: &Project) -> Value {
    let run = project.run(&["status", "--json"]).json()["run"].as_str().unwrap().to_owned();
    let journal = project.read(&format!(".reflection/runs/{run}/journal.jsonl"));
    let lines = String::from_utf8(journal).unwrap();
    let mut entries = lines.lines().rev().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.find(|entry| entry["type"] == "run_resumed").unwrap()["plan"].clone()
}

#[test]
fn a_night_goes_on_with_the_options_that_it_had() {
    let project =
        killed(&["--jobs", "2", "--no-reflexion", "--max-attempts", "3", "--agent", "sh", "--max-tokens", "9000"]);
    let ran = project.run(&["overnight", "--resume"]);
    let first = ran.exits(0).stderr.lines().next().unwrap().to_owned();
    let said = "goes on as it was asked for: --agent sh --max-attempts 3 --jobs 2 --max-tokens 9000 --no-reflexion";
    assert!(first.contains(said), "{first}");
    ran.says("the night works at most 9000 tokens").says(", 2 at a time");
    assert!(!ran.stderr.contains("reflection ("), "nothing is learned: {}", ran.stderr);
    assert!(!project.dir.join("memory/reflections.jsonl").exists());
    let plan = plan(&project);
    assert_eq!((&plan["jobs"], &plan["options"]["noReflexion"]), (&json!(2), &json!(true)));
}

#[test]
fn an_option_that_is_given_anew_takes_the_place_of_the_one_it_had_and_stays() {
    let project = killed(&["--jobs", "2", "--max-attempts", "1"]);
    fs::remove_file(project.out.join("go")).unwrap();
    fs::remove_file(project.out.join("begun")).unwrap();
    // The same command once more goes on, too, and what it gives anew counts.
    let mut night = project.start(&["overnight", "--jobs", "3"]);
    project.await_told("begun");
    night.kill();
    fs::write(project.out.join("go"), "").unwrap();
    let ran = project.run(&["overnight", "--resume", "--max-attempts", "2"]);
    ran.says("as it was asked for: --max-attempts 2 --jobs 3");
    assert_eq!(project.told("b").lines().last(), Some("2"), "{}", ran.stderr);
    assert_eq!(plan(&project)["maxAttempts"], 2);
}

#[test]
fn the_same_command_with_tasks_goes_on_with_a_night_that_was_killed() {
    let project = killed(&["b", "a"]);
    project
        .run(&["overnight", "a"])
        .exits(2)
        .says("It was asked for `a`, `b`, and this one is asked for something else");
    project.run(&["overnight", "a", "b"]).exits(0).says("did not come to its end; it goes on");
}

/// Says what an answer has cost, as Claude Code does.
const COSTS: &str = r#"
echo run >> "$OUT/runs"
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
echo right > "$REFLEXION_TASK_ID.txt"
echo '{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s","model_usage_since_last_result":{"m":{"inputTokens":10,"outputTokens":5,"costUSD":0.07}}}'
"#;

fn with_costs() -> Project {
    let project = Project::new("");
    project.config(|config| {
        config["agents"] = json!({ "default": "cli", "cli": { "type": "claude", "argv": ["sh", "-c", COSTS] } });
    });
    let wanted = |id: &str| {
        project.write(&format!("{id}.txt"), "wrong\n");
        with(task(id), json!({ "checks": [{ "name": "answer", "run": format!("grep -qx right {id}.txt") }] }))
    };
    project.tasks(&[wanted("a"), wanted("b")]);
    project
}

#[test]
fn a_budget_that_is_used_up_and_not_raised_begins_nothing() {
    let project = with_costs();
    project.run(&["overnight", "--max-cost", "0.05"]).exits(3).says("the budget of the run is used up: $0.07 of $0.05");
    for args in [&["overnight", "--resume"][..], &["overnight", "--resume", "--max-cost", "0.07"]] {
        let ran = project.run(args);
        ran.exits(3).says("the budget of the run is used up: $0.07 of $0.0").says("nothing was begun");
        assert_eq!(project.told("runs"), "run\n", "{args:?}: {}", ran.stderr);
    }
    let told = project.run(&["overnight", "--resume", "--json"]).exits(3).json();
    assert_eq!((&told["stopped"], &told["tasks"]), (&json!("budget"), &json!([])));
    for told in ["status", "report"] {
        let ran = project.run(&[told]);
        assert!(ran.exits(0).stdout.contains("reflexion overnight --resume --max-cost "), "{told}: {}", ran.stdout);
    }
    project.run(&["overnight", "--resume", "--max-cost", "0.50"]).exits(0).says("--max-cost 0.5");
    assert_eq!(project.told("runs"), "run\nrun\n");
}

#[test]
fn a_night_goes_on_in_the_window_that_it_had() {
    let hours = |hours: i64| {
        let at = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(hours);
        at.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M").to_string()
    };
    let window = format!("{}-{}", hours(-1), hours(2));
    let project = killed(&["--between", &window]);
    project.run(&["overnight", "--resume"]).exits(0).says(&format!("as it was asked for: --between {window}\n"));
    assert_eq!(plan(&project)["options"]["between"], window);
    // What is written down is read again as it was meant.
    assert_eq!("7:00-09:30:15".parse::<Window>().unwrap().to_string(), "07:00-09:30:15");
}
