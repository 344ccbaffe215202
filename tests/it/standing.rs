//! What a person is told of nights whose time is over, that were killed, or that wait.

use crate::project::{Project, RIGHT, task};
use rustix::process::Signal;
use serde_json::json;
use std::fs;
use std::time::{Duration, Instant};

#[test]
fn what_is_advised_after_a_deadline_works() {
    let advised = "reflexion overnight --resume --for 8h";
    let project = Project::new(&format!("[ -e $OUT/go ] || sleep 300; {RIGHT}"));
    let ran = project.run(&["overnight", "--for", "1s"]);
    assert!(ran.exits(3).stdout.contains(&format!("`{advised}`")), "{}", ran.stdout);
    for told in ["status", "report"] {
        let ran = project.run(&[told]);
        assert!(ran.exits(0).stdout.contains(advised), "{told}: {}", ran.stdout);
    }
    project.run(&["overnight", "--resume"]).exits(2).says(advised);
    fs::write(project.out.join("go"), "").unwrap();
    project.run(&["overnight", "--resume", "--for", "8h"]).exits(0);
}

#[test]
fn a_killed_night_past_its_deadline_is_not_told_to_go_on_until_then() {
    let project = Project::new("touch $OUT/begun; sleep 300");
    let deadline = jiff::Timestamp::now() + Duration::from_secs(5);
    let mut night = project.start(&["overnight", "--until", &deadline.to_string()]);
    project.await_told("begun");
    night.kill();
    let begun = Instant::now();
    while !project.run(&["status"]).exits(0).stdout.contains("`reflexion overnight --resume --for 8h`") {
        assert!(begun.elapsed() < Duration::from_secs(60), "the deadline is long over");
    }
    // What the killed one left behind is ended by the next.
    project.run(&["overnight", "--resume", "--for", "1s"]).exits(3);
}

#[test]
fn a_night_that_goes_on_says_from_where_and_is_the_newest_again() {
    let project = Project::new(&format!("[ -e $OUT/go ] || {{ touch $OUT/begun; sleep 300; }}; {RIGHT}"));
    project.tasks(&[task("a"), task("z")]);
    let mut night = project.start(&["overnight"]);
    project.await_told("begun");
    night.kill();
    let killed = project.run(&["status", "--json"]).json()["run"].clone();
    fs::write(project.out.join("go"), "").unwrap();
    project.git(&["commit", "-q", "--allow-empty", "-m", "v2"]);
    project.run(&["run", "z"]).exits(0);
    assert_ne!(project.run(&["status", "--json"]).json()["run"], killed);
    let told = project.run(&["report", killed.as_str().unwrap(), "--json"]).json();
    assert_eq!(told["superseded"], false, "`reflexion run` takes no night's place");
    project
        .run(&["overnight"])
        .exits(0)
        .says("HEAD is at")
        .says("1 commit further")
        .says("`--new` begins another night");
    assert_eq!(project.run(&["status", "--json"]).json()["run"], killed, "its journal was written last");
    let report = project.run(&["report"]).stdout;
    assert!(report.contains("It went on from ") && report.contains("when your HEAD was at "), "{report}");
}

#[test]
fn a_night_that_waits_is_seen_and_is_alone() {
    let project = Project::new(RIGHT);
    let now = jiff::Zoned::now();
    let at =
        |hours: i64| now.checked_add(jiff::SignedDuration::from_hours(hours)).unwrap().strftime("%H:%M").to_string();
    let night = project.start(&["overnight", "--between", &format!("{}-{}", at(3), at(4))]);
    let begun = Instant::now();
    while !project.run(&["status"]).stdout.contains("A night waits for its window") {
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", project.run(&["status"]));
    }
    let kill = format!("`kill {}` ends it", night.pid());
    let status = project.run(&["status", "--json"]).json();
    assert_eq!((&status["state"], &status["waiting"]["pid"]), (&json!("waiting"), &json!(night.pid())));
    assert!(project.run(&["watch", "--once"]).exits(0).stdout.contains(&kill));
    for args in [&["overnight"][..], &["overnight", "--between", "00:00-23:59"], &["run"]] {
        project.run(args).exits(4).says("a night waits for its window until").says(&kill);
    }
    night.signal(Signal::TERM);
    night.end().exits(130);
    project.run(&["run"]).exits(0);
    // A run is told of as ever, with the night that waits before it.
    let night = project.start(&["overnight", "--again", "--between", &format!("{}-{}", at(3), at(4))]);
    let begun = Instant::now();
    let told = loop {
        let told = project.run(&["status"]).exits(0).stdout.clone();
        if told.contains("A night waits") {
            break told;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{told}");
    };
    assert!(told.contains("came to its end"), "{told}");
    assert!(project.run(&["watch", "--once"]).exits(0).stdout.contains("A night waits"));
    night.signal(Signal::TERM);
    night.end().exits(130);
}

#[test]
fn a_night_that_works_is_no_killed_one() {
    let project = Project::new(&format!("touch $OUT/begun; until [ -e $OUT/go ]; do sleep 0.05; done; {RIGHT}"));
    let night = project.start(&["overnight"]);
    project.await_told("begun");
    let second = project.run(&["overnight"]);
    second.exits(4).says("another run holds this project");
    assert!(!second.stderr.contains("did not come to its end"), "{}", second.stderr);
    fs::write(project.out.join("go"), "").unwrap();
    night.end().exits(0);
}

#[test]
fn a_task_that_is_called_as_the_nights_branch_is_a_slip() {
    let project = Project::new(RIGHT);
    project.tasks(&[task("integration")]);
    project.run(&["overnight"]).exits(2).says("give it another id in the task file");
    project.tasks(&[task("integration"), task("a")]);
    project.run(&["overnight", "integration"]).exits(2).says("give it another id");
    let ran = project.run(&["overnight", "--json"]);
    assert_eq!((ran.exits(1).verdict("a"), ran.verdict("integration")), (json!("confirmed"), json!(null)));
}
