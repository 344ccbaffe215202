//! How attempts ended: `memory/attempts.jsonl`, one ended attempt a line, made from the journals of runs; and moments of people's own sessions, which
//! are known from nowhere else.

use super::append_log::{AppendLog, Sealing};
use super::lines::{bare, for_each_line, json_problem};
use super::locked_file::append_locked;
use super::run_log::{read_run, recorded_runs};
use super::seal::{LineKind, Seals};
use crate::domain::{AttemptRecord, LineProblem, RunId, SessionId, policy};
use crate::files::Place;
use crate::services::StorageError;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::io::{Read, Seek, SeekFrom, Write};

/// How many unreadable lines are named.
const MAX_PROBLEMS: usize = 20;

/// The file with the ended attempts of a project's runs.
///
/// The lines of a run are those that its journal gives, in the order of runs and of their entries, so
/// that the same journals give the same bytes. Lines of runs whose journal is gone, of sessions, and lines that cannot be read, are kept as they are.
#[derive(Debug, Clone)]
pub struct AttemptsFile {
    place: Place,
    project: policy::Project,
    seals: Seals,
}

/// What the file holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeptAttempts {
    /// The attempts, in the order of the file.
    pub attempts: Vec<AttemptRecord>,
    /// Lines that cannot be read; the first twenty.
    pub problems: Vec<LineProblem>,
    /// How many lines cannot be read.
    pub unreadable: usize,
    /// How many lines this program did not write here: nothing follows from them.
    pub foreign: usize,
}

/// What was written anew.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// How many attempts the journals have.
    pub attempts: usize,
    /// The numbers of lines that were too long to be read, and stand in `attempts.jsonl.damaged` now.
    pub set_aside: Vec<usize>,
}

/// A line that is too long to be read.
struct Long {
    number: usize,
    start: u64,
    length: u64,
}

/// All that is known of a line that is kept as it is.
#[derive(Deserialize)]
struct OfRun<'a> {
    #[serde(borrow)]
    run: Cow<'a, str>,
}

impl AttemptsFile {
    /// The file of a project. Neither it nor its directory may be a link.
    #[must_use]
    pub fn of(project: &policy::Project, seals: Seals) -> Self {
        Self { place: Place::with_names(&project.attempts_file(), 2), project: project.clone(), seals }
    }

    /// Reads all of it; a file that is not there is empty. An attempt counts once, however often its line stands there.
    ///
    /// # Errors
    /// If it is there and cannot be read at all.
    pub fn read(&self) -> io::Result<KeptAttempts> {
        let mut kept = KeptAttempts::default();
        let Some(file) = self.open()? else { return Ok(kept) };
        let belief = self.seals.belief()?;
        let mut seen = HashMap::new();
        for_each_line(file, |line| {
            let content = line.content.map(bare);
            if content.is_some_and(<[u8]>::is_empty) {
                return Ok(());
            }
            let is_ours = content.is_some_and(|line| belief.holds(LineKind::Attempt, line));
            let content = content.ok_or_else(|| TOO_LONG.to_owned());
            let read = content
                .and_then(|line| serde_json::from_slice::<AttemptRecord>(line).map_err(|error| json_problem(&error)));
            match read {
                Ok(attempt) if is_ours => take(&mut kept.attempts, &mut seen, attempt),
                Ok(_) => kept.foreign += 1,
                Err(message) => {
                    kept.unreadable += 1;
                    if kept.problems.len() < MAX_PROBLEMS {
                        kept.problems.push(LineProblem { line: line.number, message });
                    }
                }
            }
            Ok(())
        })?;
        Ok(kept)
    }

    /// Writes the lines of a run anew, from its journal. The file begins with the first run in which a prompt held lessons or a coin held them
    /// out, and then has the lines of all runs: before that there is nothing that it could say.
    ///
    /// # Errors
    /// If the journal cannot be read or the file cannot be written; then it is as it was.
    pub fn keep(&self, run: &RunId) -> io::Result<()> {
        if self.place.look()?.is_some() {
            let mut runs = self.unbound_runs()?;
            runs.push(run.clone());
            let rebuilt = self.write(&runs)?;
            if !rebuilt.set_aside.is_empty() {
                let (path, lines) = (self.damaged(), rebuilt.set_aside);
                tracing::warn!(path = %path.path().display(), ?lines, "lines of more than 1 MiB were set aside");
            }
            return Ok(());
        }
        let says = |attempt: &AttemptRecord| attempt.exposure.is_some() || !attempt.shown.is_empty();
        let begins = self.attempts_of(run)?.iter().any(says);
        if begins { self.rebuild().map(drop) } else { Ok(()) }
    }

    /// Adds a moment of a person's own session, or how it ended. A file that begins with it has the lines of all runs, as [`keep`](Self::keep) writes them.
    pub(super) async fn add(&self, moment: &AttemptRecord) -> io::Result<()> {
        let this = self.clone();
        let begin = tokio::task::spawn_blocking(move || match this.place.look()? {
            Some(_) => Ok(()),
            None => this.rebuild().map(drop),
        });
        begin.await.unwrap_or_else(|lost| Err(io::Error::other(lost)))?;
        let mut line = serde_json::to_vec(moment)?;
        line.push(b'\n');
        let log = AppendLog::sealed(self.place.clone(), Sealing::Each(self.seals.clone(), LineKind::Attempt));
        log.append(&line).await.map_err(|error| io::Error::other(error.message))
    }

    /// Writes the lines of all runs anew. Lines that are too long to be read are set aside, in a file beside it.
    ///
    /// # Errors
    /// As [`AttemptsFile::keep`].
    pub fn rebuild(&self) -> io::Result<Rebuilt> {
        self.write(&recorded_runs(&self.project.state_dir())?)
    }

    fn open(&self) -> io::Result<Option<File>> {
        match self.place.open_file() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        }
    }

    fn write(&self, runs: &[RunId]) -> io::Result<Rebuilt> {
        let mut new = BTreeMap::new();
        for run in runs {
            // What lies there of others is no experience of this project: its lines stay what they are.
            if self.seals.counts(run)? {
                new.insert(run.as_str(), self.attempts_of(run)?);
            }
        }
        let count = new.values().map(Vec::len).sum();
        if count == 0 && self.place.look()?.is_none() {
            return Ok(Rebuilt::default());
        }
        // Held until the new file stands in its place.
        let _lock = append_locked(&self.place, None)?;
        let (mut lines, long) = self.others(&new)?;
        self.set_aside(&long)?;
        for (run, attempts) in &new {
            for attempt in attempts {
                let mut line = Vec::new();
                self.seals.seal(LineKind::Attempt, &serde_json::to_vec(attempt)?, &mut line)?;
                lines.push((Some((*run).to_owned()), line));
            }
        }
        // Lines that nobody can read come last.
        lines.sort_by(|(a, _), (b, _)| (a.is_none(), a).cmp(&(b.is_none(), b)));
        let bytes: Vec<u8> = lines.into_iter().flat_map(|(_, line)| line.into_iter().chain([b'\n'])).collect();
        self.place.replace(&bytes)?;
        Ok(Rebuilt { attempts: count, set_aside: long.iter().map(|line| line.number).collect() })
    }

    /// The runs of which a line stands there that nobody believes, and which began here: an older version wrote it, or somebody has changed it, and
    /// their journals say how it was.
    fn unbound_runs(&self) -> io::Result<Vec<RunId>> {
        let Some(file) = self.open()? else { return Ok(Vec::new()) };
        let (belief, mut runs) = (self.seals.belief()?, BTreeSet::new());
        for_each_line(file, |line| {
            let content = line.content.map(bare).filter(|line| !belief.holds(LineKind::Attempt, line));
            let run = content.and_then(|line| serde_json::from_slice::<OfRun<'_>>(line).ok());
            runs.extend(run.map(|line| line.run.into_owned()));
            Ok(())
        })?;
        let recorded = if runs.is_empty() { Vec::new() } else { recorded_runs(&self.project.state_dir())? };
        Ok(recorded.into_iter().filter(|run| runs.contains(run.as_str())).collect())
    }

    /// Where lines lie that are too long to be read.
    fn damaged(&self) -> Place {
        Place::with_names(&self.project.attempts_file().with_extension("jsonl.damaged"), 2)
    }

    /// Copies lines behind those that were set aside before.
    fn set_aside(&self, long: &[Long]) -> io::Result<()> {
        if long.is_empty() {
            return Ok(());
        }
        let (mut from, mut to) = (self.place.open_file()?, append_locked(&self.damaged(), None)?);
        for line in long {
            from.seek(SeekFrom::Start(line.start))?;
            io::copy(&mut (&from).take(line.length), &mut to)?;
            to.write_all(b"\n")?;
        }
        to.sync_all()
    }

    pub(super) fn error(&self, action: &'static str, error: &io::Error) -> StorageError {
        StorageError::Io { action, path: self.place.path().to_owned(), message: error.to_string() }
    }

    fn attempts_of(&self, run: &RunId) -> io::Result<Vec<AttemptRecord>> {
        let log = read_run(&self.project.state_dir(), run, &self.seals)?;
        Ok(AttemptRecord::of_run(run, log.entries.iter().map(|logged| (logged.at, &logged.entry))))
    }

    /// The lines that are not of these runs, each with its run, as they are; and those that are too long.
    fn others(&self, new: &BTreeMap<&str, Vec<AttemptRecord>>) -> io::Result<(OfRuns, Vec<Long>)> {
        let (mut lines, mut long) = (Vec::new(), Vec::new());
        let Some(file) = self.open()? else { return Ok((lines, long)) };
        for_each_line(file, |line| {
            let Some(content) = line.content else {
                long.push(Long { number: line.number, start: line.start, length: line.length as u64 });
                return Ok(());
            };
            let content = bare(content);
            let run = serde_json::from_slice::<OfRun<'_>>(content).ok().map(|line| line.run.into_owned());
            let is_new = run.as_deref().is_some_and(|run| new.contains_key(run));
            if !is_new && !content.is_empty() {
                lines.push((run, content.to_owned()));
            }
            Ok(())
        })?;
        Ok((lines, long))
    }
}

/// An attempt, or a moment of a session.
pub(super) type AttemptKey = (RunId, SessionId, u32);

/// Takes what a line says: an attempt counts once, and of a moment of a session the first line that says how it ended.
pub(super) fn take(attempts: &mut Vec<AttemptRecord>, seen: &mut HashMap<AttemptKey, usize>, attempt: AttemptRecord) {
    match seen.entry((attempt.run.clone(), attempt.session.clone(), attempt.attempt)) {
        Entry::Vacant(new) => {
            new.insert(attempts.len());
            attempts.push(attempt);
        }
        Entry::Occupied(known) => {
            let known = &mut attempts[*known.get()];
            if known.moment.is_some() && known.verdict.is_none() {
                *known = attempt;
            }
        }
    }
}

/// Lines as they are, each with the run that it is of.
type OfRuns = Vec<(Option<String>, Vec<u8>)>;

const TOO_LONG: &str = "is longer than 1 MiB";

#[cfg(test)]
mod tests {
    use super::super::state;
    use super::*;
    use std::fs;
    use std::path::Path;

    fn file(root: &Path) -> AttemptsFile {
        let project = policy::Project {
            name: "p".to_owned(),
            root: root.to_owned(),
            settings: "project.json",
            tasks: root.join("tasks.jsonl"),
            rooms: root.join("state/rooms"),
        };
        AttemptsFile::of(&project, Seals::of(&project))
    }

    fn journal(root: &Path, run: &str, attempts: u32) {
        write_journal(
            root,
            run,
            attempts,
            r#","exposure":{"start":"auto","own":{"probability":0.8,"injected":false,"candidates":["l"]}}"#,
        );
    }

    fn write_journal(root: &Path, run: &str, attempts: u32, exposure: &str) {
        let lines = (1..=attempts).map(|n| {
            format!(
                "{{\"v\":1,\"at\":\"2026-05-05T00:00:0{n}Z\",\"type\":\"attempt_started\",\"task\":\"a\",\"subtask\":\"a\",\"attempt\":{n},\
                 \"session\":\"{run}-{n}\",\"agent\":\"x\",\"start\":\"t\",\"injected\":[]{exposure}}}\n\
                 {{\"v\":1,\"at\":\"2026-05-05T00:00:0{n}Z\",\"type\":\"attempt_dropped\",\"task\":\"a\",\"session\":\"{run}-{n}\"}}\n"
            )
        });
        let (run, seals) = (RunId::new(run).unwrap(), file(root).seals);
        let journal = state::journal(&root.join(".reflection"), &run);
        let chain = seals.chain_on(&run, &journal).unwrap();
        let (mut sealed, mut last) = (Vec::new(), chain.last());
        for line in lines.collect::<String>().lines() {
            last = chain.seal(last, line.as_bytes(), &mut sealed).unwrap();
            sealed.push(b'\n');
        }
        fs::create_dir_all(journal.path().parent().unwrap()).unwrap();
        fs::write(journal.path(), sealed).unwrap();
    }

    #[test]
    fn the_same_journals_give_the_same_bytes_and_what_is_known_from_nowhere_else_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let (file, path) = (file(root.path()), root.path().join("memory/attempts.jsonl"));
        assert_eq!((file.rebuild().unwrap(), file.read().unwrap()), (Rebuilt::default(), KeptAttempts::default()));
        assert!(!path.exists());
        let run = |name: &str| RunId::new(name).unwrap();
        // Nothing is written before lessons were shown or held out, and everything then.
        write_journal(root.path(), "r0", 1, "");
        file.keep(&run("r0")).unwrap();
        assert!(!path.exists());
        journal(root.path(), "r2", 2);
        file.keep(&run("r2")).unwrap();
        journal(root.path(), "r1", 1);
        journal(root.path(), "r3", 1);
        file.keep(&run("r1")).unwrap();
        file.keep(&run("r3")).unwrap();
        file.keep(&run("r2")).unwrap();
        let as_written = fs::read(&path).unwrap();
        let sessions: Vec<_> = file.read().unwrap().attempts.into_iter().map(|one| one.session.to_string()).collect();
        assert_eq!(sessions, ["r0-1", "r1-1", "r2-1", "r2-2", "r3-1"]);
        fs::remove_file(&path).unwrap();
        assert_eq!((file.rebuild().unwrap().attempts, fs::read(&path).unwrap()), (5, as_written));

        fs::remove_dir_all(root.path().join(".reflection/runs/r1")).unwrap();
        let mut with_more = fs::read_to_string(&path).unwrap();
        with_more.insert_str(0, "<<<<<<< ours\n");
        fs::write(&path, &with_more).unwrap();
        assert_eq!(file.rebuild().unwrap().attempts, 4);
        let kept = file.read().unwrap();
        assert_eq!((kept.attempts.len(), kept.unreadable), (5, 1));
        assert!(fs::read_to_string(&path).unwrap().ends_with("\n<<<<<<< ours\n"));
    }

    #[test]
    fn a_line_that_is_too_long_is_set_aside_whole_and_ends_nothing() {
        let root = tempfile::tempdir().unwrap();
        let (file, path) = (file(root.path()), root.path().join("memory/attempts.jsonl"));
        journal(root.path(), "r1", 1);
        file.rebuild().unwrap();
        let written = fs::read_to_string(&path).unwrap();
        let (one, two) = ("a".repeat(1_500_000), "b".repeat(2_000_000));
        fs::write(&path, format!("{one}\n{written}<<<<<<< ours\n{two}")).unwrap();
        assert_eq!(file.read().unwrap().unreadable, 3);
        assert_eq!(file.rebuild().unwrap(), Rebuilt { attempts: 1, set_aside: vec![1, 4] });
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{written}<<<<<<< ours\n"));
        let damaged = root.path().join("memory/attempts.jsonl.damaged");
        assert_eq!(fs::read_to_string(&damaged).unwrap(), format!("{one}\n{two}\n"));
        fs::write(&path, format!("{one}\n{written}")).unwrap();
        file.keep(&RunId::new("r1").unwrap()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), written);
        assert_eq!(fs::read_to_string(&damaged).unwrap(), format!("{one}\n{two}\n{one}\n"));
    }

    #[test]
    fn a_line_that_somebody_else_wrote_is_not_believed() {
        let root = tempfile::tempdir().unwrap();
        let (file, path) = (file(root.path()), root.path().join("memory/attempts.jsonl"));
        file.seals.begin().unwrap();
        journal(root.path(), "r1", 1);
        assert_eq!(file.rebuild().unwrap().attempts, 1);
        let written = fs::read_to_string(&path).unwrap();
        let forged = written.replace("\"task\":\"a\"", "\"task\":\"b\"");
        assert_ne!(forged, written);
        fs::write(&path, format!("{written}{forged}")).unwrap();
        let kept = file.read().unwrap();
        assert_eq!((kept.attempts.len(), kept.foreign, kept.attempts[0].task.as_str()), (1, 1, "a"));
        // One's own line once more is no second attempt.
        fs::write(&path, written.repeat(3)).unwrap();
        assert_eq!(file.read().unwrap().attempts.len(), 1);
    }

    #[test]
    fn attempts_of_another_project_or_of_a_copied_run_are_not_those_of_this_one() {
        let root = tempfile::tempdir().unwrap();
        let at = |project: &str| root.path().join(project);
        // Two projects of one user, each with a run of its own; the key is that of both.
        for (project, run) in [("one", "r1"), ("two", "r2")] {
            if project == "two" {
                fs::create_dir_all(at("two").join("state")).unwrap();
                fs::copy(at("one").join("state/key"), at("two").join("state/key")).unwrap();
            }
            journal(&at(project), run, 1);
            file(&at(project)).rebuild().unwrap();
        }
        let path = at("one").join("memory/attempts.jsonl");
        let own = fs::read_to_string(&path).unwrap();
        let other = fs::read_to_string(at("two").join("memory/attempts.jsonl")).unwrap();
        fs::write(&path, own.clone() + &other).unwrap();
        let count = |kept: KeptAttempts| (kept.attempts.len(), kept.foreign);
        assert_eq!(count(file(&at("one")).read().unwrap()), (1, 1));
        // The same journal under another name, and that of the other project.
        let runs = |project: &str| at(project).join(".reflection/runs");
        for (from, to) in [(runs("one").join("r1"), "r9"), (runs("two").join("r2"), "r2")] {
            fs::create_dir_all(runs("one").join(to)).unwrap();
            fs::copy(from.join("journal.jsonl"), runs("one").join(to).join("journal.jsonl")).unwrap();
        }
        assert_eq!(file(&at("one")).rebuild().unwrap().attempts, 1);
        assert_eq!(fs::read_to_string(&path).unwrap(), own + &other, "what is of others stays in the file");
        assert_eq!(count(file(&at("one")).read().unwrap()), (1, 1));
        // A line of one's own that somebody has changed is made anew from its journal.
        let changed = fs::read_to_string(&path).unwrap().replace("\"agent\":\"x\"", "\"agent\":\"y\"");
        fs::write(&path, changed).unwrap();
        journal(&at("one"), "r3", 1);
        file(&at("one")).keep(&RunId::new("r3").unwrap()).unwrap();
        let agents = file(&at("one")).read().unwrap().attempts.into_iter().map(|one| one.agent);
        assert_eq!(agents.collect::<Vec<_>>(), ["x", "x"]);
        // A person may take them over.
        let adopted = file(&at("one")).seals.adopt_memory().unwrap();
        assert_eq!((adopted.reflections, adopted.attempts), (0, 1));
        assert_eq!(count(file(&at("one")).read().unwrap()), (3, 0));
    }
}
