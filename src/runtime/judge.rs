//! Judging what is in a file: transcripts and questions from elsewhere.

pub use crate::reading::{
    FORMATS as TRANSCRIPT_FORMATS, Format as TranscriptFormat, ReadError as TranscriptReadError,
    Reading as TranscriptReading, read as read_transcript,
};

use crate::domain::{CompletionVerdict, GateOutcome, GateReport, SessionId, Trace};
use crate::services::{CompletionVerifier, TurnEvidence, UsageMeter};
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// The session of a transcript that names none.
const NO_SESSION: &str = "transcript";

/// A transcript that is to be judged.
#[derive(Debug)]
pub struct TranscriptTurn {
    /// What was read.
    pub reading: TranscriptReading,
    /// The task, instead of what the transcript says.
    pub task: Option<String>,
    /// Where the work is, for the project's signals and instructions; none: unknown.
    pub dir: Option<PathBuf>,
    /// Counts what whoever is asked uses.
    pub spent: UsageMeter,
    /// Ends it early.
    pub cancel: CancellationToken,
}

/// The verdict on a transcript. Nothing was observed by the runtime, so it is never proven; what could not be read of it
/// stands among the reasons.
pub async fn judge_transcript(verifier: &dyn CompletionVerifier, turn: TranscriptTurn) -> CompletionVerdict {
    let TranscriptTurn { reading, task, dir, spent, cancel } = turn;
    let notes = notes(&reading, task.is_some());
    let evidence = TurnEvidence {
        session: SessionId::new(reading.session.unwrap_or_else(|| NO_SESSION.to_owned())),
        task: task.unwrap_or_else(|| asked_of(reading.task, &reading.trace)),
        proposed_part: None,
        expects: None,
        allow: Vec::new(),
        trace: reading.trace,
        observed: None,
        dir,
        author: None,
        ending: reading.ending,
        own: None,
        spent,
        cancel,
    };
    let mut verdict = verifier.verify_turn(evidence).await;
    verdict.reasons.extend(notes);
    verdict
}

/// The task that stands apart, and what people said after it; or all that was asked.
fn asked_of(task: Option<String>, trace: &Trace) -> String {
    let Some(task) = task else { return trace.task() };
    // The first message is the task itself, perhaps in other words.
    if trace.asked.len() < 2 { task } else { format!("{task}\n\n{}", trace.task()) }
}

/// What the transcript itself leaves open.
fn notes(reading: &TranscriptReading, has_task: bool) -> Vec<GateReport> {
    let note = |evidence: String| GateReport { gate: "transcript".to_owned(), outcome: GateOutcome::NotRun, evidence };
    let mut notes = Vec::new();
    if !has_task && reading.task.is_none() && reading.trace.asked.is_empty() {
        notes.push(note("no task is known; give --task".to_owned()));
    }
    if reading.trace.broken_off {
        notes
            .push(note("it ends in the middle; what came after is not known, so nothing is refuted for it".to_owned()));
    }
    let unread = &reading.unread;
    if unread.total() > 0 {
        let names: Vec<String> =
            unread.by_name.iter().take(8).map(|(name, count)| format!("{count} × {name}")).collect();
        let lines: Vec<String> = unread.lines.iter().map(u64::to_string).collect();
        let place = if lines.is_empty() { String::new() } else { format!("; first at line {}", lines.join(", ")) };
        notes.push(note(format!("{} of its records were not read: {}{place}", unread.total(), names.join(", "))));
    }
    notes
}
