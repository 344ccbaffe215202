//! Transcripts as JSON Lines, one file per agent run.

use crate::domain::RunId;
use crate::domain::SessionId;
use crate::domain::TranscriptHead;
use crate::domain::TranscriptItem;
use crate::domain::TranscriptRecord;
use crate::domain::policy;
use crate::services::AgentWatch;
use crate::services::Clock;
use crate::services::Transcript;
use crate::services::TranscriptError;
use crate::services::Transcripts;
use std::fs::File;
use std::fs::OpenOptions;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

/// Writes `.reflection/runs/<run>/transcripts/<session>.jsonl`: [`TranscriptRecord`]s, the head first.
///
/// Each record is one write and is not synced: a transcript explains a run, the journal is what a run rests on.
pub struct TranscriptFiles {
    project: policy::Project,
    clock: Arc<dyn Clock>,
}

impl TranscriptFiles {
    /// The transcripts of a project's runs.
    #[must_use]
    pub fn new(project: policy::Project, clock: Arc<dyn Clock>) -> Self {
        Self { project, clock }
    }

    /// Every transcript file, oldest run first; runs and sessions have ids that sort by time.
    fn files(&self, run: Option<&RunId>) -> Result<Vec<PathBuf>, TranscriptError> {
        let runs = match run {
            Some(run) => vec![self.project.run_dir(run)],
            None => entries(&self.project.state_dir().join("runs"))?,
        };
        let mut files = Vec::new();
        for run in runs {
            files.extend(
                entries(&run.join("transcripts"))?.into_iter().filter(|f| f.extension().is_some_and(|e| e == "jsonl")),
            );
        }
        Ok(files)
    }
}

impl Transcripts for TranscriptFiles {
    fn begin(&self, head: TranscriptHead) -> Arc<dyn AgentWatch> {
        let dir = self.project.run_dir(&head.run).join("transcripts");
        let path = dir.join(format!("{}.jsonl", head.session));
        let file = std::fs::create_dir_all(&dir)
            .and_then(|()| OpenOptions::new().create(true).append(true).open(&path))
            .map_err(|error| tracing::warn!(path = %path.display(), %error, "no transcript can be written"))
            .ok();
        let writer = TranscriptFile { path, file: Mutex::new(file), clock: Arc::clone(&self.clock) };
        writer.step(TranscriptItem::Head(head), None);
        Arc::new(writer)
    }

    fn list(&self, run: Option<RunId>) -> Result<Vec<TranscriptHead>, TranscriptError> {
        Ok(self.files(run.as_ref())?.iter().filter_map(|file| head_of(file)).collect())
    }

    fn read(&self, session: &SessionId) -> Result<Transcript, TranscriptError> {
        let name = format!("{session}.jsonl");
        let files = self.files(None)?;
        let Some(path) = files.iter().find(|f| f.file_name().is_some_and(|n| n == name.as_str())) else {
            return Err(TranscriptError::Unknown(session.to_string()));
        };
        let bytes = std::fs::read(path).map_err(|error| read_error(path, &error))?;
        let mut transcript = Transcript::default();
        for line in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(record) => transcript.records.push(record),
                Err(_) => transcript.unreadable += 1,
            }
        }
        Ok(transcript)
    }
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>, TranscriptError> {
    let listed = match std::fs::read_dir(dir) {
        Ok(listed) => listed,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(read_error(dir, &error)),
    };
    let mut found: Vec<PathBuf> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    Ok(found)
}

fn head_of(file: &Path) -> Option<TranscriptHead> {
    let mut line = String::new();
    BufReader::new(File::open(file).ok()?).read_line(&mut line).ok()?;
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
    file: Mutex<Option<File>>,
    clock: Arc<dyn Clock>,
}

impl AgentWatch for TranscriptFile {
    fn step(&self, item: TranscriptItem, parent: Option<String>) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = file.as_mut() else { return };
        let record = TranscriptRecord { v: 1, at: self.clock.now(), parent, item };
        let mut line = match serde_json::to_vec(&record) {
            Ok(line) => line,
            Err(error) => return tracing::warn!(%error, "a step cannot be written as JSON"),
        };
        line.push(b'\n');
        if let Err(error) = open.write_all(&line) {
            tracing::warn!(path = %self.path.display(), %error, "the transcript ends here");
            *file = None;
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
