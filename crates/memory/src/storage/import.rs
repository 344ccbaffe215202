//! Reflections from somewhere else.

use super::import_text;
use super::lines::{bare, for_each_line, json_problem};
use super::record::{Decoded, decode};
use crate::domain::{Category, LineProblem, Origin, Reflection, ReflectionId, SessionId, Timestamp};
use crate::files::open_to_its_end;
use crate::services::StorageError;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::io;
use std::io::{Cursor, Read};
use std::path::Path;

/// A format of lessons that others write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportFormat {
    /// One reflection a line: this program's, or `OpenAgents`' Golden Loop's.
    Jsonl,
    /// A playbook of ACE: `[id] helpful=1 harmful=0 :: what to do`, one a line.
    Ace,
    /// Markdown, of which each item of a list is a lesson.
    Markdown,
    /// An agent's trajectory in the Agent Trajectory Interchange Format, one JSON document.
    Atif,
}

impl ImportFormat {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Ace => "ace",
            Self::Markdown => "markdown",
            Self::Atif => "atif",
        }
    }
}

/// What a format says nothing about.
#[derive(Debug, Clone)]
pub struct ImportHow {
    /// The format, where a person says which it is.
    pub format: Option<ImportFormat>,
    /// The task that lessons are of which name none.
    pub task: String,
    /// When lessons were written that do not say it.
    pub now: Timestamp,
}

/// What another file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The format that it was read as.
    pub format: ImportFormat,
    /// Its readable reflections by `createdAt`; those of the same moment in the file's order.
    pub reflections: Vec<Reflection>,
    /// Lines that could not be read.
    pub problems: Vec<LineProblem>,
    /// Where the format is one that is read as a whole, all of it.
    pub whole: Vec<u8>,
}

/// What a file is looked at by: enough for a heading and some lines.
const HEAD: u64 = 64 * 1024;
/// A larger playbook, page or trajectory is not read; lines have no limit.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The format of a file that begins so; none where nobody can tell.
#[must_use]
pub fn detect(head: &[u8]) -> Option<ImportFormat> {
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let has = |is: &dyn Fn(&str) -> bool| text.lines().any(is);
    if text.starts_with('{') && is_trajectory(text) {
        Some(ImportFormat::Atif)
    } else if text.starts_with('{') || text.is_empty() {
        Some(ImportFormat::Jsonl)
    } else if has(&|line| matches!(import_text::bullet(line), Some(Ok(_)))) {
        Some(ImportFormat::Ace)
    } else if has(&|line| line.starts_with('{')) {
        Some(ImportFormat::Jsonl)
    } else if has(&|line| import_text::item(line).is_some()) {
        Some(ImportFormat::Markdown)
    } else {
        None
    }
}

/// Whether a document says that it is a trajectory.
fn is_trajectory(text: &str) -> bool {
    let value =
        text.split_once("\"schema_version\"").map(|(_, rest)| rest.trim_start().trim_start_matches(':').trim_start());
    value.is_some_and(|value| value.starts_with("\"ATIF"))
}

/// Reads a file of lessons that another program or a person wrote, e.g. `OpenAgents`' Golden Loop.
///
/// Use it for `memory import`; the caller appends what it returns. Of JSON Lines more is accepted than in the own memory file: the
/// ancestor's category names, and records without id (one is made of the line's hash), session, subtask (the task's
/// id), attempt number (1), category, suggestion, action items or confidence (0.5; others are clamped to 0..=1).
/// `taskId`, `analysis` and `createdAt` must be there. Of a trajectory the bytes are given alone. Blocks while it reads; holds all it reads in memory.
///
/// # Errors
/// [`StorageError::Io`] if the file cannot be read at all, is too large to be read as a whole, or of no known format.
pub fn read_import(path: &Path, how: &ImportHow) -> Result<Imported, StorageError> {
    read_file(path, how).map_err(|e: io::Error| StorageError::Io {
        action: "read",
        path: path.to_owned(),
        message: e.to_string(),
    })
}

fn read_file(path: &Path, how: &ImportHow) -> io::Result<Imported> {
    let mut file = open_to_its_end(path)?;
    let mut head = Vec::new();
    (&mut file).take(HEAD).read_to_end(&mut head)?;
    let unknown = "it is in none of these formats: JSON Lines of reflections, an ACE playbook, Markdown with a list, an ATIF trajectory";
    let format = how.format.or_else(|| detect(&head)).ok_or_else(|| io::Error::other(unknown))?;
    let mut imported = Imported { format, reflections: Vec::new(), problems: Vec::new(), whole: Vec::new() };
    if format == ImportFormat::Jsonl {
        read_lines(Cursor::new(head).chain(file), &mut imported)?;
        return Ok(imported);
    }
    Cursor::new(head).chain(file).take(MOST_BYTES + 1).read_to_end(&mut imported.whole)?;
    if imported.whole.len() as u64 > MOST_BYTES {
        return Err(io::Error::other(format!("it is larger than {MOST_BYTES} bytes")));
    }
    match format {
        ImportFormat::Ace => import_text::playbook(how, &mut imported),
        ImportFormat::Markdown => import_text::markdown(how, &mut imported),
        ImportFormat::Atif | ImportFormat::Jsonl => {}
    }
    Ok(imported)
}

fn read_lines(from: impl io::Read, imported: &mut Imported) -> io::Result<()> {
    for_each_line(from, |line| {
        match read_line(line.content) {
            Ok(reflection) => imported.reflections.extend(reflection),
            Err(message) => imported.problems.push(LineProblem { line: line.number, message }),
        }
        Ok(())
    })?;
    imported.reflections.sort_by_key(|r| r.created_at);
    Ok(())
}

/// A reflection, nothing (a blank line), or what is wrong.
fn read_line(line: Option<&[u8]>) -> Result<Option<Reflection>, String> {
    match decode(line) {
        Decoded::Record(reflection) => Ok(Some(imported(*reflection))),
        Decoded::Blank => Ok(None),
        Decoded::Unreadable(problem) => {
            let line = line.map(bare).filter(|l| l.starts_with(b"{")).ok_or(problem)?;
            let mut reader = serde_json::Deserializer::from_slice(line);
            let foreign: Foreign = serde_path_to_error::deserialize(&mut reader).map_err(|e| with_key(&e))?;
            foreign.into_reflection(line).map(imported).map(Some)
        }
    }
}

/// What is wrong, and with which key.
fn with_key(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let (key, problem) = (error.path().to_string(), json_problem(error.inner()));
    // Of a key that is missing the problem names it.
    if error.inner().is_data() && key != "." { format!("`{key}`: {problem}") } else { problem }
}

fn imported(mut reflection: Reflection) -> Reflection {
    reflection.confidence = reflection.confidence.clamp(0.0, 1.0);
    reflection.v = Reflection::VERSION;
    // Whoever it says wrote it: a file of others decides about no trust. What its failure is known by was read by nobody here.
    reflection.origin = Some(Origin::Import);
    reflection.failure = None;
    reflection.replaces = None;
    // They are names of another project.
    reflection.files.clear();
    reflection
}

/// A reflection with as little as makes one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Foreign {
    id: Option<ReflectionId>,
    session_id: Option<SessionId>,
    task_id: String,
    subtask_id: Option<String>,
    attempt_number: Option<u32>,
    category: Option<Category>,
    analysis: String,
    suggestion: Option<String>,
    action_items: Option<Vec<String>>,
    confidence: Option<f64>,
    created_at: Timestamp,
    v: Option<u32>,
    origin: Option<Origin>,
    already_tried: Option<String>,
    signature: Option<String>,
}

impl Foreign {
    fn into_reflection(self, line: &[u8]) -> Result<Reflection, String> {
        if let Some(v) = self.v.filter(|v| *v > Reflection::VERSION) {
            return Err(super::record::newer(v));
        }
        Ok(Reflection {
            id: self.id.unwrap_or_else(|| id_of(line)),
            session_id: self.session_id.unwrap_or_default(),
            subtask_id: self.subtask_id.unwrap_or_else(|| self.task_id.clone()),
            task_id: self.task_id,
            attempt_number: self.attempt_number.unwrap_or(1),
            category: self.category.unwrap_or(Category::RootCause),
            analysis: self.analysis,
            suggestion: self.suggestion.unwrap_or_default(),
            action_items: self.action_items.unwrap_or_default(),
            confidence: self.confidence.unwrap_or(0.5),
            created_at: self.created_at,
            v: Reflection::VERSION,
            origin: self.origin,
            already_tried: self.already_tried,
            signature: self.signature,
            failure: None,
            replaces: None,
            files: Vec::new(),
            foreign: false,
        })
    }
}

/// The same line gets the same id every time it is imported.
pub(super) fn id_of(line: &[u8]) -> ReflectionId {
    let hash = Sha256::digest(line);
    let front = hash.iter().take(8).fold(0, |n: u64, b| n << 8 | u64::from(*b));
    ReflectionId::new(format!("ref-import-{front:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn import(text: &str) -> Imported {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let how = ImportHow { format: None, task: "imported".to_owned(), now: "2026-05-05T00:00:00Z".parse().unwrap() };
        read_import(file.path(), &how).unwrap()
    }

    #[test]
    fn a_golden_loop_record_is_read() {
        let line = r#"{"id":"ref-heuristic-m1","sessionId":"s","taskId":"oa-1","subtaskId":"oa-1-sub-001","attemptNumber":2,"category":"approach_error","analysis":"a","suggestion":"s","actionItems":["x"],"confidence":7.5,"createdAt":"2025-12-06T01:02:03.004Z"}"#;
        let got = import(line);
        assert_eq!(got.problems, []);
        let r = &got.reflections[0];
        assert_eq!(r.category, Category::ApproachFlaw);
        assert_eq!(r.confidence.to_string(), "1");
        assert_eq!((r.v, &r.origin), (1, &Some(Origin::Import)));
    }

    #[test]
    fn little_is_enough_and_times_order() {
        let got = import(concat!(
            "\u{feff}{\"taskId\":\"t\",\"analysis\":\"late\",\"createdAt\":\"2026-01-02T00:00:00Z\"}\r\n",
            "{\"taskId\":\"t\",\"analysis\":\"early\",\"createdAt\":\"2026-01-01T00:00:00Z\",\"actionItems\":null}\n",
            "\n",
            "{\"taskId\":\"t\",\"analysis\":\"late too\",\"createdAt\":\"2026-01-02T00:00:00Z\"}\n",
            "{\"taskId\":\"t\",\"analysis\":\"no time\"}\n",
            "{\"taskId\":\"t\",\"analysis\":\"new\",\"createdAt\":\"2026-01-02T00:00:00Z\",\"v\":2}\n",
            "{\"taskId\":\"t\",\"analysis\":\"a\",\"createdAt\":\"2026-01-02T00:00:00Z\",\"attemptNumber\":\"two\"}\n",
            "nonsense\n",
        ));
        let texts: Vec<_> = got.reflections.iter().map(|r| r.analysis.as_str()).collect();
        assert_eq!(texts, ["early", "late", "late too"]);
        assert_eq!(got.reflections[0].subtask_id, "t");
        assert_ne!(got.reflections[0].id, got.reflections[1].id);
        let problems: Vec<_> = got.problems.iter().map(|p| (p.line, p.message.as_str())).collect();
        assert_eq!(
            problems,
            [
                (5, "missing field `createdAt`"),
                (6, "format version 2 is newer than this program's 1"),
                (7, "`attemptNumber`: invalid type: string \"two\", expected u32"),
                (8, "not a JSON object"),
            ]
        );
    }
}
