//! Reads one run's journal back, and the lessons that it names. Takes no lock and creates nothing.

use super::lines::bare;
use super::lines::for_each_line;
use super::lines::json_problem;
use crate::domain::JournalEntry;
use crate::domain::LineProblem;
use crate::domain::LoggedEntry;
use crate::domain::Reflection;
use crate::domain::ReflectionId;
use crate::domain::RunId;
use crate::domain::RunLog;
use crate::domain::Timestamp;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::HashSet;
use std::fs;
use std::fs::File;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::path::Path;

/// So many unreadable lines are kept with what is wrong with them.
const KEPT_PROBLEMS: usize = 100;

/// The runs that have a journal, the oldest first: their ids sort by time.
///
/// # Errors
/// If the directory is there and cannot be read.
pub fn recorded_runs(state_dir: &Path) -> io::Result<Vec<RunId>> {
    let entries = match fs::read_dir(state_dir.join("runs")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut runs = Vec::new();
    for entry in entries {
        let entry = entry?;
        let id = entry.file_name().into_string().ok().and_then(|name| RunId::new(name).ok());
        runs.extend(id.filter(|_| entry.path().join("journal.jsonl").exists()));
    }
    runs.sort();
    Ok(runs)
}

/// Reads a run's journal; what cannot be read is counted and stops nothing.
///
/// # Errors
/// If the file cannot be read at all.
pub fn read_run(state_dir: &Path, run: &RunId) -> io::Result<RunLog> {
    let mut file = File::open(state_dir.join("runs").join(run.as_str()).join("journal.jsonl"))?;
    let mut log = RunLog { run: run.clone(), entries: Vec::new(), problems: Vec::new(), unreadable: 0, torn: false };
    let mut last_unreadable = None;
    let mut last = 0;
    for_each_line(&mut file, |line| {
        last = line.number;
        let content = line.content.map(bare);
        if content.is_some_and(<[u8]>::is_empty) {
            return Ok(());
        }
        let parsed = content.ok_or_else(|| "it is longer than 1 MiB".to_owned());
        match parsed.and_then(|content| serde_json::from_slice(content).map_err(|error| json_problem(&error))) {
            Ok(Line { at, entry }) => log.entries.push(LoggedEntry { at, entry }),
            Err(message) => {
                log.unreadable += 1;
                last_unreadable = Some(line.number);
                if log.problems.len() < KEPT_PROBLEMS {
                    log.problems.push(LineProblem { line: line.number, message });
                }
            }
        }
        Ok(())
    })?;
    log.torn = last_unreadable == Some(last) && last > 0 && !ends_a_line(&mut file)?;
    Ok(log)
}

fn ends_a_line(file: &mut File) -> io::Result<bool> {
    let mut end = [0];
    file.seek(SeekFrom::End(-1))?;
    Ok(file.read(&mut end)? == 1 && end == *b"\n")
}

/// The reflections with these ids, as far as they are in the memory file.
///
/// # Errors
/// If the file is there and cannot be read.
pub fn read_lessons(memory: &Path, wanted: &[&ReflectionId]) -> io::Result<HashMap<ReflectionId, Reflection>> {
    let mut found = HashMap::new();
    let file = match File::open(memory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        other => other?,
    };
    let wanted: HashSet<&str> = wanted.iter().map(|id| id.as_str()).collect();
    for_each_line(file, |line| {
        let Some(content) = line.content.map(bare) else { return Ok(()) };
        // Most lines of a large memory are none of these; they are not read further than their id.
        let named = serde_json::from_slice::<Named<'_>>(content).is_ok_and(|named| wanted.contains(&*named.id));
        if named && let Ok(reflection) = serde_json::from_slice::<Reflection>(content) {
            found.insert(reflection.id.clone(), reflection);
        }
        Ok(())
    })?;
    Ok(found)
}

/// An entry in its envelope.
#[derive(Deserialize)]
struct Line {
    at: Timestamp,
    #[serde(flatten)]
    entry: JournalEntry,
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDED: &str = "{\"v\":1,\"at\":\"2026-05-05T00:00:02Z\",\"type\":\"run_ended\",\"interrupted\":false}";

    fn read(text: &str) -> RunLog {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("runs/r1");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("journal.jsonl"), text).unwrap();
        read_run(root.path(), &RunId::new("r1").unwrap()).unwrap()
    }

    #[test]
    fn what_cannot_be_read_is_counted_and_a_torn_end_is_told_apart() {
        let log = read(&format!("{ENDED}\nnot json\n\n{ENDED}\n"));
        assert_eq!((log.entries.len(), log.unreadable, log.torn), (2, 1, false));
        assert_eq!(log.problems[0].line, 2);
        let log = read(&format!("{ENDED}\n{}", &ENDED[..40]));
        assert_eq!((log.entries.len(), log.unreadable, log.torn), (1, 1, true));
        // A whole entry whose line has no end is one; a broken line with an end was not torn.
        assert!(!read(ENDED).torn);
        assert!(!read("{\"v\":1\n").torn);
        assert!(!read("").torn);
        let unknown = read(&ENDED.replace("run_ended", "run_danced"));
        assert!(unknown.problems[0].message.contains("unknown variant `run_danced`"), "{:?}", unknown.problems);
    }

    #[test]
    fn runs_are_directories_with_a_journal_in_the_order_of_their_ids() {
        let root = tempfile::tempdir().unwrap();
        assert!(recorded_runs(root.path()).unwrap().is_empty());
        for name in ["20260102-000000-ab12", "20260101-000000-ab12", "empty", "not an id"] {
            fs::create_dir_all(root.path().join("runs").join(name)).unwrap();
            if name != "empty" {
                fs::write(root.path().join("runs").join(name).join("journal.jsonl"), ENDED).unwrap();
            }
        }
        let runs = recorded_runs(root.path()).unwrap();
        assert_eq!(
            runs.iter().map(RunId::as_str).collect::<Vec<_>>(),
            ["20260101-000000-ab12", "20260102-000000-ab12"]
        );
    }

    #[test]
    fn only_the_lessons_that_are_named_are_read() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("reflections.jsonl");
        let line = |id: &str| {
            format!(
                concat!(
                    r#"{{"id":"{}","sessionId":"s","taskId":"t","subtaskId":"t","attemptNumber":1,"#,
                    r#""category":"root_cause","analysis":"a","suggestion":"s","createdAt":"2026-05-05T00:00:00Z"}}"#
                ),
                id
            )
        };
        fs::write(&path, format!("{}\ntorn\n{}\n", line("ref-1"), line("ref-2"))).unwrap();
        let (one, gone) = (ReflectionId::new("ref-2"), ReflectionId::new("ref-3"));
        let found = read_lessons(&path, &[&one, &gone]).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), [&one]);
        assert!(read_lessons(&root.path().join("none"), &[]).unwrap().is_empty());
    }
}
