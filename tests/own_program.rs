//! The program on a second store of runs and a second store of lessons: the commands that look work unchanged.
//!
//! This is a test and, called by itself, that other program: its stores are in memory, filled from the project's own once,
//! and then the project's files are taken away.

#[allow(dead_code, reason = "the integration tests use the rest")]
#[path = "it/project.rs"]
mod project;

use project::{Project, RIGHT_AT_TWO, Ran};
use reflexion::domain::ChangeOf;
use reflexion::layer::{BoxError, Svc};
use reflexion::services::{RecentQuery, Runs, Storage};
use reflexion::storage::{InMemoryStorage, MemoryRuns};
use reflexion::{cli, runtime};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Says that this is the other program.
const OTHER: &str = "OWN_PROGRAM";
const FILES: [&str; 2] = [".reflection", "memory"];

fn main() -> ExitCode {
    if std::env::var_os(OTHER).is_some() {
        return other_program();
    }
    looking_commands_work_on_other_stores();
    println!("commands that look work on other stores ... ok");
    ExitCode::SUCCESS
}

fn other_program() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (runs, storage) = runtime.block_on(in_memory()).unwrap();
    take_away(Path::new("."));
    cli::main_with(move |layers| {
        layers.with(Svc::<dyn Runs>::new(runs.clone())).with(Svc::<dyn Storage>::new(storage.clone()))
    })
}

async fn in_memory() -> Result<(MemoryRuns, InMemoryStorage), BoxError> {
    let app = runtime::live().build::<(Svc<dyn Runs>, Svc<dyn Storage>)>().await?;
    let mut runs = MemoryRuns::default().with_past(app.0.past()?);
    let mut changes = Vec::new();
    for run in app.0.list()? {
        let mut reader = app.0.open(&run);
        reader.read_on()?;
        changes.push(ChangeOf(format!("reflexion/{run}/a")));
        runs = runs.with(reader.log().clone(), []);
    }
    let shown = app.0.changes(&changes);
    let runs = runs.with_changes(changes.into_iter().zip(shown).filter_map(|(of, shown)| Some((of, shown?))).collect());
    let storage = InMemoryStorage::default();
    let mut lessons = app.1.recent(&RecentQuery::default()).await?;
    lessons.reverse();
    storage.append(&lessons).await?;
    app.shutdown().await?;
    Ok((runs, storage))
}

fn take_away(project: &Path) {
    for file in FILES {
        fs::rename(project.join(file), project.join(format!("{file}.away"))).unwrap();
    }
}

fn bring_back(project: &Path) {
    for file in FILES {
        fs::rename(project.join(format!("{file}.away")), project.join(file)).unwrap();
    }
}

fn looking_commands_work_on_other_stores() {
    let project = Project::new(RIGHT_AT_TWO);
    project.run(&["run"]).exits(0);
    let list = project.run(&["memory", "list"]).stdout;
    let id = list.split(' ').next().unwrap().to_owned();
    assert!(id.starts_with("ref-"), "the failed attempt left a lesson: {list}");
    for args in [
        &["report"][..],
        &["report", "--md"],
        &["report", "--json"],
        &["status"],
        &["status", "--json"],
        &["watch", "--once"],
        &["watch", "--json"],
        &["memory", "list"],
        &["memory", "list", "--json"],
        &["memory", "list", "--task", "a"],
        &["memory", "show", &id],
        &["memory", "check"],
        &["analyze", "calibration", "--json"],
        &["analyze", "calibration", "--of", "lessons", "--json"],
        &["analyze", "board-history", "--json"],
    ] {
        let own = project.run(args);
        let other = other(&project, args);
        bring_back(&project.dir);
        assert_eq!(other.exits(0).stdout, own.exits(0).stdout, "{args:?}");
        assert_eq!(other.stderr, own.stderr, "{args:?}");
        assert!(own.stdout.len() > 20, "{args:?} says something: {}", own.stdout);
    }
    // Without the other stores there is nothing to look at.
    take_away(&project.dir);
    project.run(&["report"]).exits(2).says("there is no run yet");
    assert_eq!(project.run(&["memory", "list"]).exits(0).stdout, "");
}

fn other(project: &Project, args: &[&str]) -> Ran {
    let as_usual = project.command(args);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(args).current_dir(&project.dir).env(OTHER, "1");
    for (name, value) in as_usual.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Ran::of(command, "")
}
