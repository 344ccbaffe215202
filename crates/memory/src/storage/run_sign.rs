//! What a run's journal tells without reading all of it: which command it is of, and when it was written last.

use super::state;
use crate::domain::{JournalEntry, RunId, RunKind, Timestamp};
use serde::Deserialize;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// The last lines of a journal are in its last so many bytes; a line that is longer has no time that is found.
const END: u64 = 64 << 10;

/// When the run's journal was written last: the time of its last line that has one, else the file's own.
#[must_use]
pub fn last_sign(state_dir: &Path, run: &RunId) -> Option<Timestamp> {
    let mut file = state::journal(state_dir, run).open_file().ok()?;
    let meta = file.metadata().ok()?;
    file.seek(SeekFrom::Start(meta.len().saturating_sub(END))).ok()?;
    let mut end = Vec::new();
    file.take(END).read_to_end(&mut end).ok()?;
    let mut lines = end.split(|byte| *byte == b'\n').rev();
    let said = lines.find_map(|line| serde_json::from_slice::<Stamp>(line).ok()).map(|stamp| stamp.at);
    said.or_else(|| Timestamp::try_from(meta.modified().ok()?).ok())
}

/// When a process of the run was last known to live: whoever holds the run's lock touches a file of it every few seconds.
#[must_use]
pub fn last_alive(state_dir: &Path, run: &RunId) -> Option<Timestamp> {
    let file = state::runs(state_dir).join(run.as_str()).join(RunId::ALIVE).open_file().ok()?;
    Timestamp::try_from(file.metadata().ok()?.modified().ok()?).ok()
}

/// The command that a run is of, from the beginning of its journal; none where that cannot be read.
#[must_use]
pub fn kind_of_run(state_dir: &Path, run: &RunId) -> Option<RunKind> {
    let file = state::journal(state_dir, run).open_file().ok()?;
    let mut line = Vec::new();
    BufReader::new(file.take(1 << 20)).read_until(b'\n', &mut line).ok()?;
    if let Ok(JournalEntry::RunStarted { plan, .. }) = serde_json::from_slice(&line) { Some(plan.kind) } else { None }
}

/// The time of an entry.
#[derive(Deserialize)]
struct Stamp {
    at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_last_line_with_a_time_counts_and_the_first_says_the_kind() {
        let root = tempfile::tempdir().unwrap();
        let run = RunId::new("r1").unwrap();
        let dir = root.path().join("runs/r1");
        fs::create_dir_all(&dir).unwrap();
        assert_eq!((last_sign(root.path(), &run), kind_of_run(root.path(), &run)), (None, None));
        let started = concat!(
            r#"{"v":1,"at":"2026-05-05T00:00:00Z","type":"run_started","run":"r1","pid":1,"tasks":[],"#,
            r#""plan":{"kind":"overnight"}}"#
        );
        let later = r#"{"v":1,"at":"2026-05-05T00:00:09Z","type":"task_ended"}"#;
        let long = "x".repeat(100_000);
        fs::write(dir.join("journal.jsonl"), format!("{started}\n{long}\n{later}\n{{\"at\":\"torn")).unwrap();
        assert_eq!(last_sign(root.path(), &run), Some("2026-05-05T00:00:09Z".parse().unwrap()));
        assert_eq!(kind_of_run(root.path(), &run), Some(RunKind::Overnight));
        fs::write(dir.join("journal.jsonl"), "").unwrap();
        assert!(last_sign(root.path(), &run).is_some_and(|at| at > "2026-05-05T00:00:09Z".parse().unwrap()));
        assert_eq!(kind_of_run(root.path(), &run), None);
    }
}
