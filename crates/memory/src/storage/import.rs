//! Reflections from somewhere else.

use super::lines::{bare, for_each_line, json_problem};
use super::record::{Decoded, decode};
use crate::domain::{Category, LineProblem, Origin, Reflection, ReflectionId, SessionId, Timestamp};
use crate::files::open_to_its_end;
use crate::services::StorageError;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::io;
use std::path::Path;

/// What another file holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imported {
    /// Its readable reflections by `createdAt`; those of the same moment in the file's order.
    pub reflections: Vec<Reflection>,
    /// Lines that could not be read.
    pub problems: Vec<LineProblem>,
}

/// Reads a file of reflections that another program wrote, e.g. `OpenAgents`' Golden Loop.
///
/// Use it for `memory import`; the caller appends what it returns. More is accepted than in the own memory file: the
/// ancestor's category names, and records without id (one is made of the line's hash), session, subtask (the task's
/// id), attempt number (1), category, suggestion, action items or confidence (0.5; others are clamped to 0..=1).
/// `taskId`, `analysis` and `createdAt` must be there. Blocks while it reads; holds all it reads in memory.
///
/// # Errors
/// [`StorageError::Io`] if the file cannot be read at all.
pub fn read_import(path: &Path) -> Result<Imported, StorageError> {
    let mut imported = Imported::default();
    let read = open_to_its_end(path).and_then(|file| {
        for_each_line(file, |line| {
            match read_line(line.content) {
                Ok(reflection) => imported.reflections.extend(reflection),
                Err(message) => imported.problems.push(LineProblem { line: line.number, message }),
            }
            Ok(())
        })
    });
    read.map_err(|e: io::Error| StorageError::Io { action: "read", path: path.to_owned(), message: e.to_string() })?;
    imported.reflections.sort_by_key(|r| r.created_at);
    Ok(imported)
}

/// A reflection, nothing (a blank line), or what is wrong.
fn read_line(line: Option<&[u8]>) -> Result<Option<Reflection>, String> {
    match decode(line) {
        Decoded::Record(reflection) => Ok(Some(imported(*reflection))),
        Decoded::Blank => Ok(None),
        Decoded::Unreadable(problem) => {
            let line = line.map(bare).filter(|l| l.starts_with(b"{")).ok_or(problem)?;
            let foreign = serde_json::from_slice::<Foreign>(line).map_err(|e| json_problem(&e))?;
            foreign.into_reflection(line).map(imported).map(Some)
        }
    }
}

fn imported(mut reflection: Reflection) -> Reflection {
    reflection.confidence = reflection.confidence.clamp(0.0, 1.0);
    reflection.v = Reflection::VERSION;
    // Whoever it says wrote it: a file of others decides about no trust. What its failure is known by was read by nobody here.
    reflection.origin = Some(Origin::Import);
    reflection.failure = None;
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
            foreign: false,
        })
    }
}

/// The same line gets the same id every time it is imported.
fn id_of(line: &[u8]) -> ReflectionId {
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
        read_import(file.path()).unwrap()
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
                (7, "not a JSON object"),
            ]
        );
    }
}
