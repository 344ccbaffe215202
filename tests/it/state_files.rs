//! State that is a link, a pipe or a socket, as a cloned repository may hold it, is refused: nothing is done behind it,
//! and nobody waits for it.

use crate::project::{Project, RIGHT, RIGHT_AT_TWO, Ran};
use rustix::fs::{CWD, FileType, Mode};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

const LESSON: &str = r#"{"taskId":"a","analysis":"x","suggestion":"y"}"#;

/// What a clone may have in the place of a file.
#[derive(Debug, Clone, Copy)]
enum Planted {
    Link,
    LinkToNothing,
    Pipe,
    Socket,
}

impl Planted {
    const FILES: [Self; 4] = [Self::Link, Self::LinkToNothing, Self::Pipe, Self::Socket];

    fn word(self) -> &'static str {
        match self {
            Self::Link | Self::LinkToNothing => "a symbolic link",
            Self::Pipe => "a pipe",
            Self::Socket => "a socket",
        }
    }
}

/// A project with one recorded run, and something of the user's beside it.
struct Case {
    project: Project,
    /// The user's, which links lead to.
    theirs: PathBuf,
    run: String,
}

impl Case {
    fn new() -> Self {
        let project = Project::new(RIGHT_AT_TWO);
        project.run(&["run"]).exits(0);
        let run = project.run(&["status", "--json"]).json()["run"].as_str().unwrap().to_owned();
        let theirs = project.out.join("theirs");
        fs::create_dir(&theirs).unwrap();
        fs::write(theirs.join("file"), "theirs").unwrap();
        Self { project, theirs, run }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.project.dir.join(path.replace("RUN", &self.run))
    }

    /// Puts something in the place of a file or a directory, which is moved behind it if it is a link.
    fn plant(&self, path: &str, planted: Planted) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let moved = self.theirs.join("moved");
        if path.symlink_metadata().is_ok() {
            fs::rename(&path, &moved).unwrap();
        }
        match planted {
            Planted::Link => {
                let to = if moved.exists() { moved } else { self.theirs.join("file") };
                symlink(to, &path).unwrap();
            }
            Planted::LinkToNothing => symlink(self.theirs.join("nothing"), &path).unwrap(),
            Planted::Pipe => rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap(),
            Planted::Socket => drop(UnixListener::bind(&path).unwrap()),
        }
    }

    /// Runs a command that must say what stands where, and must change nothing behind it.
    #[track_caller]
    fn is_refused(&self, path: &str, planted: Planted, args: &[&str], stdin: &str) {
        let before = contents(&self.theirs);
        let args: Vec<String> = args.iter().map(|arg| arg.replace("RUN", &self.run)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = self.project.run_with(&args, stdin);
        assert_eq!(ran.code, Some(4), "{path} as {planted:?}, {args:?}:\n{}\n{}", ran.stdout, ran.stderr);
        let said = ran.stderr.replace('\n', " ");
        let shown = self.path(path).display().to_string();
        assert!(said.contains(&format!("`{shown}` is {}", planted.word())), "{path} {planted:?} {args:?}: {said}");
        assert!(said.contains("remove"), "{said}");
        assert!(contents(&self.theirs) == before, "{path} as {planted:?}, {args:?}: something changed behind it");
    }
}

/// Every path below a directory with its content.
fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(contents(&entry.path()));
        }
        found.push((entry.path(), fs::read(entry.path()).unwrap_or_default()));
    }
    found.sort();
    found
}

#[test]
fn a_memory_that_is_no_file_is_refused() {
    let case = Case::new();
    let path = "memory/reflections.jsonl";
    for planted in Planted::FILES {
        fs::remove_file(case.path(path)).unwrap();
        case.plant(path, planted);
        case.is_refused(path, planted, &["memory", "list"], "");
        case.is_refused(path, planted, &["memory", "add"], LESSON);
        case.is_refused(path, planted, &["memory", "prune", "--days", "0"], "");
        case.is_refused(path, planted, &["run", "--again"], "");
        case.is_refused(path, planted, &["overnight"], "");
        let doctor = case.project.run(&["doctor"]);
        assert!(doctor.exits(4).stdout.contains(planted.word()), "{}", doctor.stdout);
    }
}

#[test]
fn directories_of_state_that_are_links_are_refused() {
    let looking = [&["status"][..], &["report"], &["report", "--html"], &["watch", "--once"], &["transcript", "list"]];
    let working = [&["run", "--again"][..], &["overnight", "--again"]];
    let memory = [&["memory", "list"][..], &["memory", "prune", "--days", "0"]];
    let cases = [
        ("memory", [&memory[..], &working].concat()),
        (".reflection", [&looking[..], &working].concat()),
        (".reflection/runs", [&looking[..], &working].concat()),
        (".reflection/repository.git/objects", working.to_vec()),
        (".reflection/runs/RUN", [&looking[..], &working].concat()),
        (".reflection/runs/RUN/transcripts", vec![&["transcript", "list"][..], &["transcript", "show"]]),
    ];
    for (path, commands) in cases {
        let case = Case::new();
        case.plant(path, Planted::Link);
        for args in commands {
            case.is_refused(path, Planted::Link, args, "");
        }
    }
}

/// Nothing is recorded behind it, and it is no offence of the work that was to be.
#[test]
fn objects_that_become_a_link_while_an_agent_works_end_the_run_and_count_against_nothing() {
    let project = Project::new(
        "if [ ! -e $OUT/did ]; then touch $OUT/did; S=$OUT/../project/.reflection/repository.git; mv $S/objects $OUT/moved; \
         ln -s $OUT/theirs $S/objects; fi; echo right > answer.txt",
    );
    let theirs = project.out.join("theirs");
    fs::create_dir_all(theirs.join("pack")).unwrap();
    let ran = project.run(&["run", "--json"]);
    ran.exits(4)
        .says("repository.git/objects` is a symbolic link where a directory of the runtime's own repository belongs");
    assert!(!ran.stderr.contains("false_done"), "{}", ran.stderr);
    assert_eq!((contents(&theirs).len(), fs::read_dir(theirs.join("pack")).unwrap().count()), (1, 0));
    let objects = project.dir.join(".reflection/repository.git/objects");
    fs::remove_file(&objects).unwrap();
    fs::rename(project.out.join("moved"), &objects).unwrap();
    let again = project.run(&["run", "--json"]);
    assert_eq!(again.exits(0).verdict("a"), "confirmed");
    assert_eq!(again.task("a")["attempts"], json!(1), "{}", again.stdout);
}

#[test]
fn a_journal_that_is_no_file_is_refused_and_not_waited_for() {
    let path = ".reflection/runs/RUN/journal.jsonl";
    for planted in Planted::FILES {
        let case = Case::new();
        case.plant(path, planted);
        for args in [&["status"][..], &["report"], &["watch", "--once"], &["run", "--again"], &["overnight", "--again"]]
        {
            case.is_refused(path, planted, args, "");
        }
    }
}

#[test]
fn marks_that_are_no_file_are_refused_and_not_waited_for() {
    let path = ".reflection/tasks.jsonl";
    for planted in Planted::FILES {
        let case = Case::new();
        case.plant(path, planted);
        for args in [&["task", "list"][..], &["task", "reopen", "a"], &["run", "--again"]] {
            case.is_refused(path, planted, args, "");
        }
    }
}

#[test]
fn records_of_lessons_that_are_no_files_are_refused_and_not_waited_for() {
    for path in ["memory/lessons.jsonl", "memory/attempts.jsonl"] {
        for planted in [Planted::Link, Planted::Pipe] {
            let case = Case::new();
            case.plant(path, planted);
            case.is_refused(path, planted, &["run", "--again"], "");
        }
    }
}

#[test]
fn a_report_is_not_written_behind_a_link() {
    let case = Case::new();
    let before = contents(&case.theirs);
    symlink(case.theirs.join("file"), case.path(".reflection/runs/RUN/report.html")).unwrap();
    case.project.run(&["report", "--html"]).exits(0);
    assert!(case.path(".reflection/runs/RUN/report.html").symlink_metadata().unwrap().is_file());
    assert_eq!(contents(&case.theirs), before);
}

#[test]
fn a_transcript_that_is_a_pipe_is_not_waited_for() {
    let case = Case::new();
    let transcripts = case.path(".reflection/runs/RUN/transcripts");
    fs::create_dir_all(&transcripts).unwrap();
    for entry in fs::read_dir(&transcripts).unwrap().flatten() {
        fs::remove_file(entry.path()).unwrap();
    }
    case.plant(".reflection/runs/RUN/transcripts/s-1.jsonl", Planted::Pipe);
    for args in [&["transcript", "list"][..], &["transcript", "show"], &["report"], &["watch", "--once"]] {
        let ran = case.project.run(args);
        assert!(ran.code.is_some_and(|code| code != 101), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn init_writes_behind_no_link() {
    for path in [".reflection", "memory"] {
        let case = Case::new();
        fs::remove_dir_all(case.path(path)).unwrap();
        fs::remove_file(case.path("project.json")).unwrap();
        case.plant(path, Planted::Link);
        fs::remove_file(case.path(path)).unwrap();
        symlink(&case.theirs, case.path(path)).unwrap();
        case.is_refused(path, Planted::Link, &["init"], "");
        assert!(!case.path("project.json").exists());
    }
}

#[test]
fn pipes_in_the_place_of_settings_and_instructions_are_not_waited_for() {
    for name in ["project.json", "config/reflexion.json", "tasks.jsonl"] {
        let case = Case::new();
        let _ = fs::remove_file(case.path(name));
        case.plant(name, Planted::Pipe);
        let called: &[&[&str]] = match name {
            "tasks.jsonl" => &[&["task", "list"], &["run"], &["doctor"], &["status"], &["report"]],
            _ => &[&["run"], &["status"], &["report"], &["watch", "--once"], &["memory", "list"], &["task", "list"]],
        };
        for args in called {
            let ran = case.project.run(args);
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(said.contains("a pipe where a file belongs"), "{name} {args:?}: {said}");
        }
        let payload = json!({ "session_id": "s", "cwd": case.project.dir, "hook_event_name": "Stop" }).to_string();
        for args in [&["hook", "session-start"][..], &["hook", "stop"], &["hook", "stop", "--verify"]] {
            case.project.run_with(args, &payload).exits(0);
        }
    }
}

/// What git reads by itself: its own files, and those of the user's in the project and at home.
#[test]
fn pipes_where_git_reads_are_named_and_not_waited_for() {
    for name in [".git/HEAD", ".git/config", ".git/index", ".gitignore", "../home/.gitconfig"] {
        let case = Case::new();
        let _ = fs::remove_file(case.path(name));
        case.plant(name, Planted::Pipe);
        let pipe = case.path(name).file_name().unwrap().to_string_lossy().into_owned();
        for args in
            [&["doctor"][..], &["risk"], &["trust", "--show"], &["apply", "a"], &["status"], &["memory", "list"]]
        {
            let ran = case.project.run(args);
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!said.contains("waited a minute") && !said.contains("took too long"), "{name} {args:?}: {said}");
            if args == ["risk"] {
                assert!(said.contains("a pipe where a file belongs") && said.contains(&pipe), "{name}: {said}");
            }
        }
    }
}

#[test]
fn a_hook_waits_for_no_pipe_among_the_sessions_or_as_a_transcript() {
    let case = Case::new();
    let transcript = case.project.out.join("transcript.jsonl");
    rustix::fs::mknodat(CWD, &transcript, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let more = json!({ "session_id": "s", "cwd": case.project.dir, "transcript_path": transcript });
    for (event, name) in [("SessionStart", "session-start"), ("Stop", "stop")] {
        let mut payload = more.clone();
        payload["hook_event_name"] = event.into();
        case.project.run_with(&["hook", name], &payload.to_string()).exits(0);
    }
    let mut payload = more;
    payload["hook_event_name"] = "Stop".into();
    case.project.run_with(&["hook", "stop", "--verify"], &payload.to_string()).exits(0);
    for path in [".reflection/sessions/t.lock", ".reflection/sessions/t.json"] {
        case.plant(path, Planted::Pipe);
        payload["session_id"] = "t".into();
        let ran: Ran = case.project.run_with(&["hook", "stop"], &payload.to_string());
        ran.exits(0);
        fs::remove_file(case.path(path)).unwrap();
    }
}

#[test]
fn a_project_may_itself_be_reached_through_a_link() {
    let project = Project::new(RIGHT);
    let door = project.out.join("door");
    symlink(&project.dir, &door).unwrap();
    let door = door.to_str().unwrap();
    project.run(&["-C", door, "run"]).exits(0);
    project.run_with(&["-C", door, "memory", "add"], LESSON).exits(0);
    project.run(&["-C", door, "status"]).exits(0);
    project.run(&["-C", door, "report", "--html"]).exits(0);
    assert!(project.dir.join("memory/reflections.jsonl").is_file());
}

#[test]
fn a_task_file_that_is_a_link_stays_one() {
    let project = Project::new(RIGHT);
    let real = project.out.join("tasks.jsonl");
    fs::rename(project.dir.join("tasks.jsonl"), &real).unwrap();
    symlink(&real, project.dir.join("tasks.jsonl")).unwrap();
    project.run(&["task", "add", "More"]).exits(0);
    project.run(&["task", "close", "a"]).exits(0);
    assert!(project.dir.join("tasks.jsonl").is_symlink());
    let text = fs::read_to_string(&real).unwrap();
    assert!(text.contains("More") && text.contains("closed"), "{text}");
}

/// What is appended to a file that has another name as well would stand in that other file: a copy takes its place.
#[test]
fn what_has_another_name_keeps_it_and_the_state_goes_on_in_a_copy() {
    let case = Case::new();
    case.project.run(&["run", "--again"]).exits(0);
    // A backup by hard links, of the lock and of the journals too.
    let backup = case.project.dir.with_file_name("backup");
    let made = Command::new("cp").arg("-al").args([&case.project.dir, &backup]).status().unwrap();
    assert!(made.success());
    let files = ["memory/reflections.jsonl", "memory/attempts.jsonl", ".reflection/run.lock"];
    let before = files.map(|file| fs::read(backup.join(file)).unwrap());
    case.project.run(&["doctor"]).exits(0);
    case.project.run_with(&["memory", "add"], LESSON).exits(0);
    case.project.run(&["task", "close", "a"]).exits(0);
    case.project.run(&["overnight", "--again"]).exits(0);
    for (file, before) in files.iter().zip(before) {
        assert_eq!(fs::read(backup.join(file)).unwrap(), before, "{file}");
        assert_ne!(fs::read(case.path(file)).unwrap(), before, "{file}");
    }
    // Somebody's file, put where the state is to be.
    let theirs = case.theirs.join("file");
    for path in [files[0], files[1], "memory/lessons.jsonl", ".reflection/tasks.jsonl", files[2]] {
        fs::remove_file(case.path(path)).ok();
        fs::hard_link(&theirs, case.path(path)).unwrap();
        case.project.run_with(&["memory", "add"], LESSON).exits(0);
        case.project.run(&["run", "--again"]).exits(0);
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs", "{path}");
    }
}

/// Nor does an agent that makes such a name lead anything there, or cost the run a lesson.
#[test]
fn a_second_name_that_an_agent_gives_the_memory_costs_no_lesson() {
    let agent = "M=$OUT/../project/memory/reflections.jsonl; mkdir -p $(dirname $M); if [ -e $M ]; then ln -f $M $OUT/second; else ln $OUT/theirs \
                 $M; fi; echo almost > answer.txt";
    let project = Project::new(agent);
    fs::write(project.out.join("theirs"), "theirs").unwrap();
    let ran = project.run(&["run", "--max-attempts", "2"]);
    assert!(!ran.stderr.contains("no reflection was stored"), "{}", ran.stderr);
    assert_eq!(project.told("theirs"), "theirs");
    let memory = fs::read_to_string(project.dir.join("memory/reflections.jsonl")).unwrap();
    let second = fs::read_to_string(project.out.join("second")).unwrap();
    let lessons = |text: &str| text.matches("\"suggestion\"").count();
    assert_eq!((lessons(&memory), lessons(&second)), (2, 1), "{memory}\n{second}");
}

#[test]
fn a_local_clone_shares_no_state() {
    let case = Case::new();
    let cloned = case.project.dir.with_file_name("cloned");
    case.project.git(&["add", "-f", "memory"]);
    case.project.git(&["commit", "-q", "-m", "memory"]);
    case.project.git(&["clone", "-q", "-l", ".", cloned.to_str().unwrap()]);
    let mut command = case.project.command(&["run", "--again"]);
    command.current_dir(&cloned);
    Ran::of(command, "").exits(0);
}

#[test]
fn records_of_turns_go_when_lessons_of_their_age_do() {
    let project = Project::new(RIGHT);
    let old = [".reflection/01a2-old_1600000000000.json", ".reflection/verdict_01a2-old.json"];
    let stays = [
        // Of a session that went on.
        ".reflection/verdict_01a2-on.json",
        ".reflection/01a2-on_9000000000000.json",
        // None of its records.
        ".reflection/verdict_1600000000000.json",
        ".reflection/notes_16.json",
    ];
    for file in old.iter().chain(&stays).chain([&".reflection/01a2-on_1600000000000.json"]) {
        project.write(file, "{}");
    }
    project.run(&["run"]).exits(0);
    let is_there = |file: &&&str| project.dir.join(file).exists();
    assert_eq!(old.iter().find(is_there), None);
    assert!(!project.dir.join(".reflection/01a2-on_1600000000000.json").exists());
    assert_eq!(stays.iter().filter(is_there).count(), stays.len());
}
