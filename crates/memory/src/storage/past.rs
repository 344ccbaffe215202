//! Reads what runs left behind. Takes no lock and creates nothing; what cannot be read is said and stops nothing.

use super::lines::{bare, for_each_line, json_problem};
use super::seal::{Chain, LineKind, Seals};
use super::state;
use crate::domain::{Capture, JournalEntry, Past, PastEntry, RunId, TaskMark, Timestamp};
use crate::files::{Kind, Place};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::io;
use std::io::Read;
use std::path::Path;

/// A record of a session is a few KiB; a larger file is none.
const LARGEST_REPORT: u64 = 4 << 20;
/// What is said of a line without its digest.
pub(super) const FOREIGN: &str = "reflexion did not write this line, so it is not believed";
/// So many problems are kept.
const KEPT_PROBLEMS: usize = 1000;

/// Reads the journals, marks and `reflection.v1` records in `.reflection/`; what is not there is empty.
///
/// # Errors
/// If a directory or a file that is there cannot be read at all.
pub fn read_past(state_dir: &Path, seals: &Seals) -> io::Result<Past> {
    let mut past = Past::default();
    for (name, kind) in state::runs(state_dir).list()? {
        if matches!(kind, Kind::File | Kind::Other) {
            continue;
        }
        let journal = state::runs(state_dir).join(&name).join(state::JOURNAL);
        let name = name.to_string_lossy().into_owned();
        let mut chain = match RunId::new(name.as_str()) {
            Ok(run) => seals.chain_to_show(&run)?,
            Err(_) => Chain::of_all(),
        };
        let Records { found: lines, problems, foreign } = read_journal(&journal, &mut chain)?;
        past.entries.extend(lines.into_iter().map(|(at, entry)| PastEntry { run: name.clone(), at, entry }));
        problems
            .into_iter()
            .chain(foreign_lines(&journal, foreign))
            .for_each(|problem| note(&mut past.problems, problem));
    }
    past.entries.sort_by_key(|entry| entry.at);
    let belief = seals.belief()?;
    let overlay = state::state(state_dir).join("tasks.jsonl");
    let marks = records(&overlay, |line| belief.holds(LineKind::Mark, line), |mark: TaskMark| mark)?;
    past.marks = marks.found;
    let problems = marks.problems.into_iter().chain(foreign_lines(&overlay, marks.foreign));
    problems.for_each(|problem| note(&mut past.problems, problem));
    past.marks.sort_by_key(|mark| mark.at);
    let records = state::state(state_dir).join("reflections");
    for (name, _) in records.list()? {
        if name.to_string_lossy().ends_with(".reflection.json") {
            let file = records.join(&name);
            match report(&file) {
                Ok(report) => past.reports.push(report),
                Err(message) => note(&mut past.problems, format!("{}: {message}", file.path().display())),
            }
        }
    }
    Ok(past)
}

/// What a file of records holds.
pub(super) struct Records<R> {
    /// In order.
    pub(super) found: Vec<R>,
    /// What could not be read.
    pub(super) problems: Vec<String>,
    /// How many lines this program did not write.
    pub(super) foreign: usize,
}

/// What is said of those lines, once for a file: an older version may have written thousands.
pub(super) fn foreign_lines(place: &Place, count: usize) -> Option<String> {
    let path = place.path().display();
    (count > 0).then(|| format!("{path}: {count} lines that reflexion did not write here are not believed"))
}

/// The entries of a journal with their times; no file is empty.
pub(super) fn read_journal(journal: &Place, chain: &mut Chain) -> io::Result<Records<(Timestamp, JournalEntry)>> {
    records(journal, |line| chain.takes(line), |line: Line| (line.at, line.entry))
}

/// An entry in its envelope.
#[derive(Deserialize)]
struct Line {
    at: Timestamp,
    #[serde(flatten)]
    entry: JournalEntry,
}

fn records<T: DeserializeOwned, R>(
    place: &Place,
    mut is_ours: impl FnMut(&[u8]) -> bool,
    mut record: impl FnMut(T) -> R,
) -> io::Result<Records<R>> {
    let mut read = Records { found: Vec::new(), problems: Vec::new(), foreign: 0 };
    let file = match place.open_file() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(read),
        other => other?,
    };
    for_each_line(file, |line| {
        let content = line.content.map(bare);
        if content.is_some_and(<[u8]>::is_empty) {
            return Ok(());
        }
        if content.is_some_and(|line| !is_ours(line)) {
            read.foreign += 1;
            return Ok(());
        }
        let too_long = || "it is longer than 1 MiB".to_owned();
        let parsed = content.ok_or_else(too_long);
        match parsed.and_then(|content| serde_json::from_slice::<T>(content).map_err(|error| json_problem(&error))) {
            Ok(value) => read.found.push(record(value)),
            Err(message) => note(&mut read.problems, format!("{}:{}: {message}", place.path().display(), line.number)),
        }
        Ok(())
    })?;
    Ok(read)
}

fn report(place: &Place) -> Result<Capture, String> {
    let file = place.open_file().map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(LARGEST_REPORT + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST_REPORT {
        return Err(format!("it is larger than {} MiB", LARGEST_REPORT >> 20));
    }
    let report: Capture = serde_json::from_slice(&bytes).map_err(|error| json_problem(&error))?;
    match report.confidence {
        Some(confidence) if !(0.0..=1.0).contains(&confidence) => {
            Err(format!("`confidence` is a number from 0 to 1, not {confidence}"))
        }
        _ => Ok(report),
    }
}

fn note(problems: &mut Vec<String>, problem: String) {
    if problems.len() < KEPT_PROBLEMS {
        problems.push(problem);
    }
}

#[cfg(test)]
mod tests {
    use super::super::seal::seals_of;
    use super::*;
    use std::fs;

    #[test]
    fn what_is_there_is_read_and_what_is_broken_is_named() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(read_past(root.path(), &seals_of(root.path())).unwrap(), Past::default());
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("runs/notes.txt", "no run");
        write(
            "runs/r2/journal.jsonl",
            "{\"v\":1,\"at\":\"2026-05-05T00:00:02Z\",\"type\":\"run_ended\",\"interrupted\":false}\ntorn",
        );
        write(
            "runs/r1/journal.jsonl",
            "{\"v\":1,\"at\":\"2026-05-05T00:00:01Z\",\"type\":\"run_ended\",\"interrupted\":true}\n\n",
        );
        write("tasks.jsonl", "{\"v\":1,\"id\":\"a\",\"status\":\"closed\",\"at\":\"2026-05-05T00:00:00Z\"}\n");
        let record = concat!(
            r#"{"schema":"reflection.v1","task_ref":"a","agent":"a","session_id":"s","timestamp":"2026-05-05T00:00:00Z","#,
            r#""repo":"r","confidence":CONF,"most_likely_wrong":null,"known_not_in_diff":null,"files_changed":[],"#,
            r#""risk":{"needs_review":false,"score":0.0,"surface":"none","reason":"nothing"},"#,
            r#""provenance":{"source":"stop-hook","reflection_attempt":1,"degraded":false,"#,
            r#""reflection_mode":"orchestrated","run":"r1","attempt":2,"final":true}}"#
        );
        write("reflections/s-1.reflection.json", &record.replace("CONF", "0.7"));
        write("reflections/s-2.reflection.json", &record.replace("CONF", "7"));
        write("reflections/s-2.lock", "");
        let past = read_past(root.path(), &seals_of(root.path())).unwrap();
        assert_eq!(past.entries.iter().map(|e| e.run.as_str()).collect::<Vec<_>>(), ["r1", "r2"]);
        assert_eq!((past.marks.len(), past.reports.len()), (1, 1));
        assert_eq!((past.reports[0].confidence, past.reports[0].provenance.attempt), (Some(0.7), Some(2)));
        assert_eq!(past.problems.len(), 2, "{:?}", past.problems);
        assert!(past.problems[0].contains("r2/journal.jsonl:2: not JSON"), "{:?}", past.problems);
        assert!(past.problems[1].contains("from 0 to 1, not 7"), "{:?}", past.problems);
    }
}
