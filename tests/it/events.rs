//! What a run tells whoever watches it: the entries of its journal, and what nobody writes down.

use crate::project::{Project, RIGHT, RIGHT_AT_TWO, Ran, task};
use reflexion::domain::{Event, EventKind, JournalEntry, RunId};
use reflexion::layer::Svc;
use reflexion::runtime::EventSinks;
use reflexion::services::{EventSink, Orchestrator, RunRequest, Tasks};
use reflexion::testing::{CollectedEvents, MemoryTasks};
use reflexion::{runtime, testing};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

fn events(text: &str) -> Vec<Event> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// The journal of the project's only run, without envelopes.
fn journal(project: &Project) -> Vec<JournalEntry> {
    let run = fs::read_dir(project.dir.join(".reflection/runs")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_file_gets_every_entry_of_the_journal_and_each_names_its_attempt() {
    let project = Project::new(RIGHT_AT_TWO);
    let ran = project.run(&["run", "--json", "--events", "events.jsonl"]);
    assert_eq!(ran.exits(0).verdict("a"), "confirmed");
    let run = ran.json()["run"].as_str().unwrap().to_owned();
    let events = events(&String::from_utf8(project.read("events.jsonl")).unwrap());
    let entries: Vec<JournalEntry> = events.iter().filter_map(|event| event.entry().cloned()).collect();
    assert_eq!(entries, journal(&project), "the same, in the same order");
    assert!(events.iter().all(|event| event.about.run.as_str() == run));
    assert!(events.iter().any(|event| matches!(event.kind, EventKind::Doing { .. })), "what nobody writes down, too");
    let mut attempts = 0;
    for event in &events {
        let about = &event.about;
        let named =
            (about.subtask.as_ref().map(reflexion::domain::SubtaskId::as_str), about.attempt, about.session.is_some());
        if let Some(JournalEntry::AttemptStarted { session, .. }) = event.entry() {
            attempts += 1;
            assert_eq!(about.session.as_ref(), Some(session));
        }
        let of_attempt = about.task.is_some() && attempts > 0;
        let expected = if of_attempt { (Some("a"), Some(attempts), true) } else { (None, None, false) };
        assert_eq!(named, expected, "{event:?}");
    }
    assert_eq!(attempts, 2);
    // A second run is written behind the first.
    project.run(&["run", "--again", "--events", "events.jsonl"]).exits(0);
    let both = String::from_utf8(project.read("events.jsonl")).unwrap();
    assert!(both.lines().count() > events.len());
}

#[test]
fn stdout_gets_nothing_else_and_a_reader_who_leaves_ends_nothing() {
    let project = Project::new(RIGHT);
    let ran = project.run(&["run", "--events", "-"]);
    let told = events(&ran.exits(0).says("1 of 1 task confirmed").stdout);
    assert!(matches!(told.last().and_then(Event::entry), Some(JournalEntry::RunEnded { interrupted: false, .. })));
    let mut child = project.command(&["run", "--again", "--events", "-"]);
    let mut child = child.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("warning: --events -: not all of them were written"), "{said}");
    let night = project.run(&["overnight", "--again", "--no-keep-awake", "--events", "-"]);
    let merged = |event: &Event| matches!(event.entry(), Some(JournalEntry::MergeEnded { .. }));
    assert!(events(&night.exits(0).stdout).iter().any(merged), "{}", night.stdout);
}

/// What a clone has in its place is no way to the user's files, and a slip of the hand is none to a file of another kind.
#[test]
fn events_are_written_behind_events_only_and_through_no_link_of_a_clone() {
    let project = Project::new("touch $OUT/started");
    let elsewhere = project.out.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("rc"), "").unwrap();
    symlink(elsewhere.join("rc"), project.dir.join("events.jsonl")).unwrap();
    symlink("nowhere", project.dir.join("dangling")).unwrap();
    symlink(&elsewhere, project.dir.join("logs")).unwrap();
    let is_refused = |path: &str, words: &str| {
        project
            .run(&["run", "--events", path])
            .exits(4)
            .says(&format!("--events {path}: failed to open it"))
            .says(words);
    };
    is_refused("events.jsonl", "it is a symbolic link");
    is_refused("dangling", "it is a symbolic link");
    is_refused("logs/events", "a directory on its way is a symbolic link");
    assert_eq!((fs::read(elsewhere.join("rc")).unwrap(), elsewhere.join("events").exists()), (Vec::new(), false));
    project.run(&["task", "list"]).exits(0);
    project.write("notes.txt", "mine\n");
    let (settings, git) = ("its settings or tasks", "git's own directory");
    let others = [
        ("tasks.jsonl", settings),
        ("project.json", settings),
        (".git/index", git),
        (".git/HEAD", git),
        (".git/config", git),
    ];
    for (other, words) in others.into_iter().chain([("notes.txt", "its first line is no event")]) {
        let before = project.read(other);
        is_refused(other, words);
        assert_eq!(project.read(other), before, "{other}");
    }
    is_refused("events/", "");
    assert!(!project.out.join("started").exists());
    // A run's own journal is no file of events either.
    project.run(&["run", "--max-attempts", "1"]);
    let run = fs::read_dir(project.dir.join(".reflection/runs")).unwrap().next().unwrap().unwrap().file_name();
    is_refused(&format!(".reflection/runs/{}/journal.jsonl", run.to_str().unwrap()), "reflexion's own");
}

#[test]
fn a_torn_last_line_is_ended_and_the_way_there_may_be_the_users_own_link() {
    let project = Project::new(RIGHT);
    symlink(&project.out, project.out.with_file_name("link")).unwrap();
    project.run(&["run", "--events", "../link/events"]).exits(0);
    let path = project.out.join("events");
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{whole}{{\"torn\":")).unwrap();
    project.run(&["run", "--again", "--events", "../link/events"]).exits(0);
    let text = fs::read_to_string(&path).unwrap();
    let rest = text.strip_prefix(&format!("{whole}{{\"torn\":\n")).unwrap_or_else(|| panic!("{text}"));
    assert!(matches!(events(rest).first().and_then(Event::entry), Some(JournalEntry::RunStarted { .. })));
}

/// Without the sandbox, too: whoever puts the link there, it is nobody's word.
#[test]
fn no_link_that_an_agent_made_among_temporary_files_leads_them_elsewhere() {
    let project = Project::new("rm -rf \"$TMPDIR/ev\"; ln -s \"$OUT\" \"$TMPDIR/ev\"; echo right > answer.txt");
    let temp = project.out.with_file_name("temp");
    fs::create_dir_all(temp.join("ev")).unwrap();
    let run = |more: &[&str]| {
        let mut command = project.command(&[&["run", "--events", "../temp/ev/events"], more].concat());
        command.env("TMPDIR", &temp);
        Ran::of(command, "")
    };
    run(&[]).exits(0);
    assert!(temp.join("ev").is_symlink());
    run(&["--again"]).exits(4).says("a directory on its way is a symbolic link");
    assert!(!project.out.join("events").exists());
}

#[test]
fn a_pipe_a_device_and_what_the_shell_opened_get_them() {
    let project = Project::new(RIGHT);
    let sh = |script: &str| {
        let mut command = project.program("bash");
        command.args(["-c", script, "bash", env!("CARGO_BIN_EXE_reflexion")]);
        Ran::of(command, "")
    };
    let told = |name: &str| events(&fs::read_to_string(project.out.join(name)).unwrap());
    // The reader comes later.
    sh("mkfifo $OUT/pipe; (sleep 0.3; timeout 60 cat $OUT/pipe > $OUT/got) & $1 run --events $OUT/pipe; code=$?; wait; exit $code").exits(0);
    assert!(told("got").len() > 5);
    sh("$1 run --again --events /dev/null").exits(0);
    sh("exec 3> $OUT/three; $1 run --again --events /dev/fd/3").exits(0);
    assert!(told("three").len() > 5);
    sh("$1 run --again --events /dev/stdout > $OUT/out").exits(0).says("1 of 1 task confirmed");
    assert!(told("out").len() > 5);
    sh("$1 run --again --events - > /dev/full").exits(0).says("warning: --events -: not all of them were written");
    sh("$1 run --again --events $OUT/pipe")
        .exits(4)
        .says("waiting for somebody to read")
        .says("start its reader first");
}

#[test]
fn what_cannot_be_or_makes_no_sense_is_said_before_anything_begins() {
    let project = Project::new("touch $OUT/started");
    project.run(&["run", "--json", "--events", "-"]).exits(2).says("--events -: stdout has the document of --json");
    project.run(&["overnight", "--json", "--events", "-"]).exits(2).says("--events -");
    project.run(&["run", "--dry-run", "--events", "-"]).exits(2).says("--dry-run");
    project.run(&["run", "--events", "no/such/dir/events"]).exits(4).says("--events no/such/dir/events");
    // What reflexion reads is no place for them, also where nothing stands there yet.
    let own = [
        "memory/attempts.jsonl",
        "memory/notes",
        ".reflection/tasks.jsonl",
        ".reflection/events",
        "project.json",
        ".git/events",
    ];
    fs::create_dir_all(project.dir.join("memory")).unwrap();
    fs::create_dir_all(project.dir.join(".reflection")).unwrap();
    for path in own {
        let before = fs::read(project.dir.join(path)).ok();
        project.run(&["run", "--events", path]).exits(4).says(&format!("--events {path}")).says("name a");
        assert_eq!(fs::read(project.dir.join(path)).ok(), before, "{path}");
    }
    project.run(&["run", "--events", "."]).exits(4).says("--events .");
    assert!(!project.out.join("started").exists() && !project.dir.join(".reflection/runs").exists());
}

#[test]
fn a_run_that_does_not_begin_leaves_no_file() {
    let project = Project::new("touch $OUT/started");
    let file = project.dir.join("events.jsonl");
    project.run(&["run", "nobody", "--events", "events.jsonl"]).exits(2).says("`nobody`");
    project.run(&["overnight", "--events", "events.jsonl", "--for", "0s"]).exits(2);
    let mut untrusted = project.command(&["run", "--events", "events.jsonl"]);
    untrusted.env_remove("REFLEXION_TRUST");
    Ran::of(untrusted, "").exits(4).says("is not trusted");
    project.run(&["task", "close", "a"]).exits(0);
    project.run(&["run", "--events", "events.jsonl"]).exits(0).says("nothing is open");
    assert!(!file.exists());
}

#[test]
fn secrets_are_no_part_of_it() {
    let project = Project::new(RIGHT);
    let mut named = task("a");
    named["title"] = json!("Answer, not hunter2-hunter2-7");
    project.tasks(&[named]);
    let mut command = project.command(&["run", "--events", "-"]);
    command.env("SHOP_API_TOKEN", "hunter2-hunter2-7");
    let ran = Ran::of(command, "");
    assert!(ran.exits(0).stdout.contains("Answer, not [redacted:"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("hunter2-hunter2-7") && !ran.stderr.contains("hunter2-hunter2-7"));
}

#[tokio::test]
async fn every_sink_gets_every_event() {
    let (first, second) = (Arc::new(CollectedEvents::default()), Arc::new(CollectedEvents::default()));
    let other = Arc::clone(&second);
    let layers = runtime::test::test()
        .with(Svc::<dyn Tasks>::new(MemoryTasks::new(vec![testing::task("a")])))
        .with(Svc::<dyn EventSink>::from(Arc::clone(&first) as Arc<dyn EventSink>))
        .wrap::<dyn EventSink>(move |sink| Svc::new(EventSinks::new([sink.into_arc(), Arc::clone(&other) as _])));
    let app = layers.build::<Svc<dyn Orchestrator>>().await.unwrap();
    let _ = app.run(RunRequest::everything(RunId::new("r").unwrap())).await;
    app.shutdown().await.unwrap();
    assert!(!first.all().is_empty());
    assert_eq!(first.all(), second.all());
    let line = serde_json::to_value(&first.all()[0]).unwrap();
    assert_eq!((&line["v"], &line["run"]), (&json!(1), &Value::from("r")));
}
