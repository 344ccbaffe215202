//! Reads one run's journal back. Takes no lock and creates nothing.

use super::line_tail::LineTail;
use super::lines::{bare, json_problem};
use super::past::FOREIGN;
use super::run_sign::last_alive;
use super::seal::{Chain, Seals};
use super::state;
use crate::domain::{JournalEntry, LineProblem, LoggedEntry, RunId, RunLog, TaskId, Timestamp};
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};

/// So many unreadable lines are kept with what is wrong with them.
const KEPT_PROBLEMS: usize = 100;

/// The runs that have a journal, the oldest first: their ids sort by time.
///
/// # Errors
/// If the directory is there and cannot be read.
pub fn recorded_runs(state_dir: &Path) -> io::Result<Vec<RunId>> {
    state::with_journal(state_dir)
}

/// The patch files that keep what a run's unconfirmed attempts changed, by name, each with its task.
///
/// # Errors
/// If the run's directory cannot be read.
pub fn kept_patches(run_dir: &Path) -> io::Result<Vec<(TaskId, String)>> {
    let mut patches = Vec::new();
    for (name, _) in state::run(run_dir).list()? {
        let Ok(name) = name.into_string() else { continue };
        // Of a whole task, or of one of its parts behind a `+`.
        let task =
            name.strip_suffix(".unconfirmed.patch").map(|name| name.split_once('+').map_or(name, |(task, _)| task));
        if let Some(task) = task.and_then(|task| TaskId::new(task).ok()) {
            patches.push((task, name));
        }
    }
    patches.sort();
    Ok(patches)
}

/// Reads a run's journal; what cannot be read is counted and stops nothing.
///
/// # Errors
/// If the file cannot be read at all.
pub fn read_run(state_dir: &Path, run: &RunId, seals: &Seals) -> io::Result<RunLog> {
    let mut tail = RunTail::new(state_dir, run, seals.clone());
    tail.read_on()?;
    Ok(tail.log)
}

/// A run's journal that is read on while it grows; takes no lock, and nobody who writes it notices.
pub struct RunTail {
    tail: LineTail,
    seals: Seals,
    state_dir: PathBuf,
    /// Nothing before the first line was read.
    chain: Option<Chain>,
    log: RunLog,
    /// The torn line at the end stands among the problems.
    torn_kept: bool,
}

impl RunTail {
    /// The journal of a run, of which nothing is read yet.
    #[must_use]
    pub fn new(state_dir: &Path, run: &RunId, seals: Seals) -> Self {
        let tail = LineTail::new(state::journal(state_dir, run));
        Self { tail, seals, state_dir: state_dir.to_owned(), chain: None, log: nothing_of(run), torn_kept: false }
    }

    /// What is read until now.
    #[must_use]
    pub fn log(&self) -> &RunLog {
        &self.log
    }

    /// Reads what was written since, and says whether that is anything. A last line without an end that cannot be read
    /// may still be written, so it is read again the next time; a file that became shorter is read anew.
    ///
    /// # Errors
    /// If the file cannot be read at all.
    pub fn read_on(&mut self) -> io::Result<bool> {
        self.log.alive = last_alive(&self.state_dir, &self.log.run);
        let Some(mut grown) = self.tail.grown(u64::MAX)? else { return Ok(false) };
        if grown.anew {
            self.log = RunLog { alive: self.log.alive, ..nothing_of(&self.log.run) };
            self.chain = None;
        } else if self.log.torn {
            self.log.torn = false;
            self.log.unreadable -= 1;
            if std::mem::take(&mut self.torn_kept) {
                self.log.problems.pop();
            }
        }
        let chain = match self.chain.take() {
            Some(chain) => chain,
            None => self.seals.chain_to_show(&self.log.run)?,
        };
        let Self { tail, log, torn_kept, .. } = self;
        let chain = self.chain.insert(chain);
        tail.read(&mut grown, |number, line| {
            let content = line.content.map(bare);
            if content.is_some_and(<[u8]>::is_empty) {
                return line.ended;
            }
            let parsed = content.ok_or_else(|| "it is longer than 1 MiB".to_owned());
            match parsed.and_then(|content| serde_json::from_slice(content).map_err(|error| json_problem(&error))) {
                Ok(Line { .. }) if !chain.takes(content.unwrap_or_default()) => {
                    log.unreadable += 1;
                    if log.problems.len() < KEPT_PROBLEMS {
                        log.problems.push(LineProblem { line: number, message: FOREIGN.to_owned() });
                    }
                    return true;
                }
                Ok(Line { at, entry }) => {
                    log.entries.push(LoggedEntry { at, entry });
                    return true;
                }
                Err(message) => {
                    log.unreadable += 1;
                    log.torn = !line.ended;
                    if log.problems.len() < KEPT_PROBLEMS {
                        *torn_kept = log.torn;
                        log.problems.push(LineProblem { line: number, message });
                    }
                }
            }
            line.ended
        })?;
        Ok(true)
    }
}

fn nothing_of(run: &RunId) -> RunLog {
    RunLog { run: run.clone(), entries: Vec::new(), problems: Vec::new(), unreadable: 0, alive: None, torn: false }
}

/// An entry in its envelope.
#[derive(Deserialize)]
struct Line {
    at: Timestamp,
    #[serde(flatten)]
    entry: JournalEntry,
}

#[cfg(test)]
mod tests {
    use super::super::seal::seals_of;
    use super::*;
    use std::fs;

    const ENDED: &str = "{\"v\":1,\"at\":\"2026-05-05T00:00:02Z\",\"type\":\"run_ended\",\"interrupted\":false}";

    fn read(text: &str) -> RunLog {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("runs/r1");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("journal.jsonl"), text).unwrap();
        read_run(root.path(), &RunId::new("r1").unwrap(), &seals_of(root.path())).unwrap()
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
    fn a_journal_is_read_on_while_it_grows() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("runs/r1/journal.jsonl");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut tail = RunTail::new(root.path(), &RunId::new("r1").unwrap(), seals_of(root.path()));
        assert!(tail.read_on().is_err(), "there is no file yet");
        let mut check = |text: &str, changed: bool, expected: (usize, usize, bool)| {
            fs::write(&path, text).unwrap();
            assert_eq!(tail.read_on().unwrap(), changed, "{text}");
            let log = tail.log();
            assert_eq!((log.entries.len(), log.unreadable, log.torn), expected, "{text}");
            assert_eq!(log.problems.len(), log.unreadable);
            // As if it were read at once.
            assert_eq!(*log, read_run(root.path(), &log.run, &seals_of(root.path())).unwrap(), "{text}");
        };
        let (one, two) = (format!("{ENDED}\n"), format!("{ENDED}\nbroken\n{ENDED}\n"));
        check("", false, (0, 0, false));
        check(&one, true, (1, 0, false));
        check(&one, false, (1, 0, false));
        check(&format!("{one}brok"), true, (1, 1, true));
        check(&format!("{one}broke"), true, (1, 1, true));
        check(&two, true, (2, 1, false));
        check(&format!("{two}{}", &ENDED[..30]), true, (2, 2, true));
        // A whole entry is one before its line has an end, and is not taken twice.
        check(&format!("{two}{ENDED}"), true, (3, 1, false));
        check(&format!("{two}{ENDED}\n"), true, (3, 1, false));
        check(&format!("{two}{ENDED}\nx\n"), true, (3, 2, false));
        assert_eq!(tail.log().problems[1].line, 5);
        // Somebody replaced it.
        fs::write(&path, &one).unwrap();
        assert!(tail.read_on().unwrap());
        assert_eq!((tail.log().entries.len(), tail.log().unreadable), (1, 0));
    }

    #[test]
    fn kept_patches_are_known_by_their_names() {
        let dir = tempfile::tempdir().unwrap();
        for name in
            ["b+one.unconfirmed.patch", "a.unconfirmed.patch", "c.patch", "journal.jsonl", "?.unconfirmed.patch"]
        {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let kept = kept_patches(dir.path()).unwrap();
        let kept: Vec<_> = kept.iter().map(|(task, name)| (task.as_str(), name.as_str())).collect();
        assert_eq!(kept, [("a", "a.unconfirmed.patch"), ("b", "b+one.unconfirmed.patch")]);
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
}
