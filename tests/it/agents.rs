//! What can be seen of agents from outside: transcripts, and what `doctor` says of each.

use crate::project::Project;
use crate::project::RIGHT_AT_TWO;
use crate::project::task;
use serde_json::Value;
use std::fs;

fn paths(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        found.push(entry.path());
        if entry.path().is_dir() {
            found.extend(paths(&entry.path()));
        }
    }
    found.sort();
    found
}

#[test]
fn transcripts_of_a_run_are_listed_and_shown() {
    let project = Project::new(RIGHT_AT_TWO);
    let run = project.run(&["run", "--json"]).exits(0).json()["run"].as_str().unwrap().to_owned();
    let before = paths(&project.dir);

    let list = project.run(&["transcript", "list", "--json"]).exits(0).json();
    let rows = list["transcripts"].as_array().unwrap();
    let attempts: Vec<(&Value, &Value)> = rows.iter().map(|r| (&r["attempt"], &r["ending"]["kind"])).collect();
    assert_eq!(attempts, [(&Value::from(1), &Value::from("finished")), (&Value::from(2), &Value::from("finished"))]);

    let newest = project.run(&["transcript", "show", "--json"]).exits(0).json();
    assert_eq!((&newest["head"]["run"], &newest["head"]["attempt"]), (&Value::from(run.as_str()), &Value::from(2)));
    assert_eq!((&newest["records"][0]["type"], &newest["unreadable"]), (&Value::from("head"), &Value::from(0)));
    let session = rows[0]["session"].as_str().unwrap();
    for which in [session, "a#1"] {
        let shown = project.run(&["transcript", "show", which, "--json", "--run", &run[..10]]).exits(0).json();
        assert_eq!(shown["head"]["session"], session);
    }
    let text = project.run(&["transcript", "show", "a#1"]).exits(0).stdout.clone();
    assert!(text.starts_with("a#1: sh\n") && text.contains("ended: finished after"), "{text}");
    assert!(project.run(&["transcript", "list"]).exits(0).stdout.clone().contains("a#2"));
    assert_eq!(paths(&project.dir), before, "reading changed the project");
}

#[test]
fn a_transcript_that_is_not_there_is_wrong_usage_and_says_what_there_is() {
    let project = Project::new(RIGHT_AT_TWO);
    project.tasks(&[task("a")]);
    let check = |args: &[&str], code: i32, part: &str| {
        let ran = project.run(&[&["transcript"], args].concat());
        let said = &ran.exits(code).stderr;
        assert!(said.contains(part), "{args:?}: {said}");
    };
    let before = paths(&project.dir);
    check(&["list"], 0, "no agent has worked here yet");
    check(&["show"], 2, "no agent has worked here yet");
    assert_eq!(paths(&project.dir), before, "reading changed the project");
    project.run(&["run"]).exits(0);
    check(&["show", "zebra"], 2, "there is no transcript `zebra`; there are a#2 (");
    check(&["show", "a#7"], 2, "there is no transcript `a#7`");
    check(&["show", "--run", "1999"], 2, "there is no transcript of a run `1999`; there are 2");
    fs::remove_file(project.dir.join("project.json")).unwrap();
    check(&["show"], 2, "project.json");
}
