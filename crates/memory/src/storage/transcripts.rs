//! Transcripts as JSON Lines, one file per agent run.

use super::lines::{bare, for_each_line};
use super::old_transcripts::make_room;
use super::state;
use super::transcript_caps::capped;
use crate::domain::{RunId, SessionId, TranscriptHead, TranscriptItem, TranscriptRecord, policy};
use crate::files::{Kind, Place};
use crate::redaction::Redactor;
use crate::services::{AgentWatch, Clock, Transcript, TranscriptError, Transcripts};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Writes `.reflection/runs/<run>/transcripts/<session>.jsonl`: [`TranscriptRecord`]s, the head first.
///
/// Each record is one write and is not synced: a transcript explains a run, the journal is what a run rests on. Long
/// texts are cut in their middle, and an agent that never stops talking fills at most 64 MiB of the disk.
pub struct TranscriptFiles {
    project: policy::Project,
    clock: Arc<dyn Clock>,
    keep_bytes: u64,
    /// The run for which room was made.
    current: Mutex<Option<RunId>>,
}

/// A transcript larger than this takes no more steps, only its end: 64 MiB, some hundred times a long session.
const FILE_BYTES: u64 = 64 << 20;
/// A first line longer than this is no head: a head holds six short ids.
const HEAD_BYTES: u64 = 64 << 10;

impl TranscriptFiles {
    /// The transcripts of a project's runs. With the first one of a run, those of earlier runs are cut down to
    /// `keep_bytes`, the oldest first.
    #[must_use]
    pub fn new(project: policy::Project, clock: Arc<dyn Clock>, keep_bytes: u64) -> Self {
        Self { project, clock, keep_bytes, current: Mutex::default() }
    }

    fn make_room_for(&self, run: &RunId) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref() == Some(run) {
            return;
        }
        for dir in make_room(&state::runs(&self.project.state_dir()), run.as_str(), self.keep_bytes) {
            tracing::info!(dir = %dir.display(), "old transcripts were removed: `workspace.transcriptsMb`");
        }
        *current = Some(run.clone());
    }

    /// Every transcript file, oldest run first; runs and sessions have ids that sort by time.
    fn files(&self, run: Option<&RunId>) -> Result<Vec<Place>, TranscriptError> {
        let all = state::runs(&self.project.state_dir());
        let runs = match run {
            Some(run) => vec![all.join(run.as_str())],
            None => entries(&all, |_, kind| matches!(kind, Kind::Dir | Kind::Link))?,
        };
        let mut files = Vec::new();
        for run in runs {
            let is_transcript = |name: &Path, _| name.extension().is_some_and(|e| e == "jsonl");
            files.extend(entries(&run.join("transcripts"), is_transcript)?);
        }
        Ok(files)
    }
}

impl Transcripts for TranscriptFiles {
    fn begin(&self, head: TranscriptHead) -> Arc<dyn AgentWatch> {
        self.make_room_for(&head.run);
        let dir = state::runs(&self.project.state_dir()).join(head.run.as_str()).join("transcripts");
        let place = dir.join(transcript_name(&head.session));
        let path = place.path().to_owned();
        let file = place
            .append_to()
            .map_err(|error| tracing::warn!(path = %path.display(), %error, "no transcript can be written"))
            .ok();
        let open = file.map(|file| Open { file, room: FILE_BYTES });
        let writer = TranscriptFile { path, open: Mutex::new(open), clock: Arc::clone(&self.clock) };
        writer.step(TranscriptItem::Head(head), None);
        Arc::new(writer)
    }

    fn list(&self, run: Option<RunId>) -> Result<Vec<TranscriptHead>, TranscriptError> {
        Ok(self.files(run.as_ref())?.iter().filter_map(head_of).collect())
    }

    fn read(&self, session: &SessionId) -> Result<Transcript, TranscriptError> {
        let name = transcript_name(session);
        let files = self.files(None)?;
        let Some(path) = files.iter().find(|file| file.path().ends_with(&name)) else {
            return Err(TranscriptError::Unknown(session.to_string()));
        };
        let file = path.open_file().map_err(|error| read_error(path.path(), &error))?;
        let mut transcript = Transcript::default();
        for_each_line(file, |line| {
            match line.content.map(bare) {
                Some([]) => {}
                Some(content) => match serde_json::from_slice(content) {
                    Ok(record) => transcript.records.push(record),
                    Err(_) => transcript.unreadable += 1,
                },
                None => transcript.unreadable += 1,
            }
            Ok(())
        })
        .map_err(|error| read_error(path.path(), &error))?;
        Ok(transcript)
    }
}

pub(super) fn transcript_name(session: &SessionId) -> String {
    format!("{}.jsonl", session.file_name())
}

fn entries(dir: &Place, wanted: impl Fn(&Path, Kind) -> bool) -> Result<Vec<Place>, TranscriptError> {
    let listed = dir.list().map_err(|error| read_error(dir.path(), &error))?;
    let wanted = listed.into_iter().filter(|(name, kind)| wanted(Path::new(name), *kind));
    Ok(wanted.map(|(name, _)| dir.join(name)).collect())
}

fn head_of(file: &Place) -> Option<TranscriptHead> {
    let mut line = String::new();
    BufReader::new(file.open_file().ok()?.take(HEAD_BYTES)).read_line(&mut line).ok()?;
    match serde_json::from_str::<TranscriptRecord>(&line).ok()?.item {
        TranscriptItem::Head(head) => Some(head),
        _ => None,
    }
}

fn read_error(path: &Path, error: &std::io::Error) -> TranscriptError {
    TranscriptError::Read { path: path.display().to_string(), message: error.to_string() }
}

/// One transcript being written; after the first failed write it is silent.
struct TranscriptFile {
    path: PathBuf,
    open: Mutex<Option<Open>>,
    clock: Arc<dyn Clock>,
}

/// The open file.
struct Open {
    file: File,
    /// So many bytes of steps still fit.
    room: u64,
}

impl AgentWatch for TranscriptFile {
    fn step(&self, item: TranscriptItem, parent: Option<String>) {
        let mut guard = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = guard.as_mut() else { return };
        let is_end = matches!(item, TranscriptItem::End { .. });
        if open.room == 0 && !is_end {
            return;
        }
        let record = TranscriptRecord { v: 1, at: self.clock.now(), parent, item: capped(item) };
        let mut line = match serde_json::to_vec(&record) {
            Ok(line) => Redactor::of_process().redact_lines(&line).into_owned(),
            Err(error) => return tracing::warn!(%error, "a step cannot be written as JSON"),
        };
        line.push(b'\n');
        open.room = open.room.saturating_sub(line.len() as u64);
        if open.room == 0 && !is_end {
            tracing::warn!(path = %self.path.display(), "the transcript is full; only its end will be added");
        }
        if let Err(error) = open.file.write_all(&line) {
            tracing::warn!(path = %self.path.display(), %error, "the transcript ends here");
            *guard = None;
        }
    }
}

/// Transcripts that are kept in memory, for tests.
#[derive(Clone)]
pub struct MemoryTranscripts {
    clock: Arc<dyn Clock>,
    kept: Arc<Mutex<Vec<(TranscriptHead, Transcript)>>>,
}

impl MemoryTranscripts {
    /// None yet.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, kept: Arc::default() }
    }
}

impl Transcripts for MemoryTranscripts {
    fn begin(&self, head: TranscriptHead) -> Arc<dyn AgentWatch> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push((head.clone(), Transcript::default()));
        let writer = MemoryTranscript { of: self.clone(), at: kept.len() - 1 };
        drop(kept);
        writer.step(TranscriptItem::Head(head), None);
        Arc::new(writer)
    }

    fn list(&self, run: Option<RunId>) -> Result<Vec<TranscriptHead>, TranscriptError> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = |head: &&TranscriptHead| run.as_ref().is_none_or(|run| head.run == *run);
        Ok(kept.iter().map(|(head, _)| head).filter(asked).cloned().collect())
    }

    fn read(&self, session: &SessionId) -> Result<Transcript, TranscriptError> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|(head, _)| head.session == *session);
        found.map(|(_, t)| t.clone()).ok_or_else(|| TranscriptError::Unknown(session.to_string()))
    }
}

struct MemoryTranscript {
    of: MemoryTranscripts,
    at: usize,
}

impl AgentWatch for MemoryTranscript {
    fn step(&self, item: TranscriptItem, parent: Option<String>) {
        let record = TranscriptRecord { v: 1, at: self.of.clock.now(), parent, item };
        let mut kept = self.of.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept[self.at].1.records.push(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Ending, Role, SubtaskId, TaskId, Timestamp, Usage};
    use crate::services::MockClock;

    /// A clock that stands still.
    fn standing() -> Arc<dyn Clock> {
        let mut clock = MockClock::new();
        clock.expect_now().returning(|| Timestamp::constant(1_767_225_600, 0));
        Arc::new(clock)
    }

    fn project(root: &Path) -> policy::Project {
        policy::Project {
            name: "p".to_owned(),
            root: root.to_owned(),
            settings: "project.json",
            tasks: root.join("tasks.jsonl"),
            rooms: root.join("rooms"),
        }
    }

    fn head(run: &str, session: &str) -> TranscriptHead {
        TranscriptHead {
            run: RunId::new(run).unwrap(),
            session: SessionId::new(session),
            task: TaskId::new("t").unwrap(),
            subtask: SubtaskId::new("t").unwrap(),
            attempt: 1,
            agent: "claude".to_owned(),
        }
    }

    fn said(text: &str) -> TranscriptItem {
        TranscriptItem::Message { role: Role::Assistant, text: text.to_owned() }
    }

    fn end() -> TranscriptItem {
        TranscriptItem::End {
            ending: Ending::Finished,
            usage: Usage::default(),
            unknown: std::collections::BTreeMap::default(),
        }
    }

    fn items(transcript: &Transcript) -> Vec<TranscriptItem> {
        transcript.records.iter().map(|r| r.item.clone()).collect()
    }

    /// The same steps in files and in memory.
    #[test]
    fn both_kinds_give_back_what_they_were_told() {
        let dir = tempfile::tempdir().unwrap();
        let clock = standing;
        let both: [Box<dyn Transcripts>; 2] = [
            Box::new(TranscriptFiles::new(project(dir.path()), clock(), 0)),
            Box::new(MemoryTranscripts::new(clock())),
        ];
        for transcripts in both {
            let (old, new) = (head("run-1", "s-1"), head("run-2", "s-2"));
            for head in [&old, &new] {
                let watch = transcripts.begin(head.clone());
                watch.step(said("done"), Some("call-1".to_owned()));
                watch.step(end(), None);
            }
            assert_eq!(transcripts.list(None).unwrap(), [old.clone(), new.clone()]);
            assert_eq!(transcripts.list(Some(new.run.clone())).unwrap(), std::slice::from_ref(&new));
            assert_eq!(transcripts.list(Some(RunId::new("run-3").unwrap())).unwrap(), []);
            let read = transcripts.read(&old.session).unwrap();
            assert_eq!(items(&read), [TranscriptItem::Head(old), said("done"), end()]);
            assert_eq!(read.records[1].parent.as_deref(), Some("call-1"));
            let unknown = transcripts.read(&SessionId::new("s-3")).unwrap_err();
            assert_eq!(unknown.to_string(), "there is no transcript of session `s-3`");
        }
    }

    #[test]
    fn reading_creates_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let transcripts = TranscriptFiles::new(project(dir.path()), standing(), 0);
        assert_eq!(transcripts.list(None).unwrap(), []);
        assert!(transcripts.read(&SessionId::new("s")).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn lines_that_cannot_be_read_are_left_out_and_counted() {
        let check = |tail: &[u8], records: usize, unreadable: u64| {
            let dir = tempfile::tempdir().unwrap();
            let transcripts = TranscriptFiles::new(project(dir.path()), standing(), 0);
            let head = head("run-1", "s-1");
            transcripts.begin(head.clone()).step(said("one"), None);
            let path = dir.path().join(".reflection/runs/run-1/transcripts/s-1.jsonl");
            let mut file = File::options().append(true).open(path).unwrap();
            file.write_all(tail).unwrap();
            let read = transcripts.read(&head.session).unwrap();
            let shown = String::from_utf8_lossy(&tail[..tail.len().min(60)]);
            assert_eq!((read.records.len(), read.unreadable), (records, unreadable), "{shown}");
            assert_eq!(transcripts.list(None).unwrap(), [head]);
        };
        let whole = br#"{"v":1,"at":"2026-01-01T00:00:00Z","type":"message","role":"user","text":"x"}"#;
        let line = |bytes: &[u8]| [bytes, b"\n"].concat();
        check(b"", 2, 0);
        check(whole, 3, 0);
        check(&whole[..40], 2, 1);
        check(&[line(&whole[..40]), line(whole)].concat(), 3, 1);
        check(b"\n \r\n\0\n", 2, 0);
        check(b"\xff\xfe\n[1]\n{}\n", 2, 3);
        check(&line(br#"{"v":1,"at":"2026-01-01T00:00:00Z","type":"telepathy"}"#), 2, 1);
        check(&line(&vec![b'x'; 3 << 20]), 2, 1);
    }

    #[test]
    fn what_is_no_transcript_is_not_listed() {
        let dir = tempfile::tempdir().unwrap();
        let transcripts = TranscriptFiles::new(project(dir.path()), standing(), 0);
        let head = head("run-1", "s-1");
        transcripts.begin(head.clone());
        let place = dir.path().join(".reflection/runs/run-1/transcripts");
        std::fs::create_dir(place.join("directory.jsonl")).unwrap();
        std::fs::write(place.join("empty.jsonl"), "").unwrap();
        std::fs::write(place.join("garbage.jsonl"), vec![b'x'; 200_000]).unwrap();
        std::fs::write(place.join("notes.txt"), "mine").unwrap();
        std::fs::write(dir.path().join(".reflection/runs/stray"), "").unwrap();
        assert_eq!(transcripts.list(None).unwrap(), [head]);
    }

    #[test]
    fn no_id_leads_out_of_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let transcripts = TranscriptFiles::new(project(dir.path()), standing(), 0);
        let long = "x".repeat(5000);
        let ids = ["../../../out", "/etc/passwd", ".", "..", "", "a b", "ä\n", ".hidden", long.as_str()];
        for id in ids {
            transcripts.begin(head("run-1", id)).step(said(id), None);
            let read = transcripts.read(&SessionId::new(id)).unwrap();
            assert_eq!(items(&read), [TranscriptItem::Head(head("run-1", id)), said(id)], "{id:?}");
        }
        let place = dir.path().join(".reflection/runs/run-1/transcripts");
        assert_eq!(std::fs::read_dir(place).unwrap().count(), ids.len());
        assert_eq!(transcripts.list(None).unwrap().len(), ids.len());
    }

    #[test]
    fn a_transcript_that_cannot_be_written_costs_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(".reflection"), "a file in the way").unwrap();
        let transcripts = TranscriptFiles::new(project(dir.path()), standing(), 0);
        transcripts.begin(head("run-1", "s-1")).step(said("unheard"), None);
    }

    #[test]
    fn a_full_transcript_still_gets_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        let open = Some(Open { file: File::create(&path).unwrap(), room: 1000 });
        let writer = TranscriptFile { path: path.clone(), open: Mutex::new(open), clock: standing() };
        for _ in 0..100 {
            writer.step(said(&"x".repeat(300)), None);
        }
        writer.step(end(), None);
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.len() < 2000, "{} bytes", text.len());
        assert!(text.ends_with("\"type\":\"end\",\"ending\":{\"kind\":\"finished\"}}\n"), "{text}");
    }
}
