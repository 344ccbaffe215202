//! A night keeps the machine awake as long as it lives, through a stand-in for the system's program.
#![cfg(target_os = "linux")]

use super::project::{Project, RIGHT};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// An agent that works until the test lets it go on.
const HELD: &str = "echo begun > $OUT/begun; while [ ! -e $OUT/go ]; do sleep 0.05; done; echo right > answer.txt";

/// The program with a `systemd-inhibit` in front of all others; it says in `$OUT` what it was asked for and when it is over.
fn with_inhibitor(project: &Project, args: &[&str], script: &str) -> Command {
    let bin = project.out.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = bin.join("systemd-inhibit");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = project.command(args);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", bin.display()));
    command
}

const HOLDS: &str = "echo \"$@\" > $OUT/asked; while [ \"$1\" != cat ]; do shift; done; \"$@\"; : > $OUT/over";

fn within_a_minute(holds: impl Fn() -> bool) {
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !holds() {
        assert!(std::time::Instant::now() < patience, "waited in vain");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn the_machine_is_let_go_when_the_night_is_over() {
    let project = Project::new(RIGHT);
    let command = with_inhibitor(&project, &["overnight"], HOLDS);
    super::project::Ran::of(command, "").exits(0).says("stays awake until the night is over (systemd-inhibit)");
    assert!(project.told("asked").contains("--what=sleep:idle"));
    within_a_minute(|| project.processes().is_empty());
}

#[test]
fn a_night_that_is_killed_holds_nothing() {
    let project = Project::new(HELD);
    let mut night = with_inhibitor(&project, &["overnight"], HOLDS).spawn().unwrap();
    project.await_told("begun");
    assert!(!project.out.join("over").exists());
    night.kill().unwrap();
    night.wait().unwrap();
    project.await_told("over");
    project.write("../out/go", "");
    // The agent of the dead night looks for it where the test's directory will be gone.
    within_a_minute(|| project.processes().is_empty());
}

#[test]
fn a_night_works_without_it() {
    let check = |args: &[&str], script: &str, says: &str| {
        let project = Project::new(RIGHT);
        super::project::Ran::of(with_inhibitor(&project, args, script), "").exits(0).says(says);
    };
    let refuses = "echo 'Access denied' >&2; exit 1";
    check(&["overnight"], refuses, "the machine may go to sleep in the middle: `systemd-inhibit` exited with status 1");
    check(&["overnight", "--no-keep-awake"], "echo asked; exit 1", "confirmed");
    let project = Project::new(RIGHT);
    project.config(|config| config["overnight"] = serde_json::json!({ "keepAwake": false }));
    let ran = super::project::Ran::of(with_inhibitor(&project, &["overnight"], HOLDS), "");
    assert!(!ran.exits(0).stderr.contains("awake") && !project.out.join("asked").exists(), "{}", ran.stderr);
    let doctor = super::project::Ran::of(with_inhibitor(&project, &["doctor"], HOLDS), "");
    assert!(!doctor.stdout.contains("stays awake"), "{}", doctor.stdout);
}

#[test]
fn doctor_says_whether_it_would_stay_awake() {
    let project = Project::new(RIGHT);
    let said = |script: &str| super::project::Ran::of(with_inhibitor(&project, &["doctor"], script), "").stdout;
    let holds = said(HOLDS);
    assert!(holds.contains("✓ stays awake: during a night, by systemd-inhibit"), "{holds}");
    let refuses = said("exit 1");
    assert!(refuses.contains("! stays awake: nothing keeps it awake during a night"), "{refuses}");
}
