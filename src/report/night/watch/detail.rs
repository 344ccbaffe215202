//! One task of a run, all that is known of it.

use super::super::super::events::NOTHING_LEFT;
use super::super::block::Piece;
use super::super::needs::look;
use super::super::page;
use super::super::value::{Fate, Night, NightAttempt};
use super::super::words::{Times, duration, foreign, usage};
use super::words::mark;
use crate::domain::{Exposure, MergeOutcome};

/// So much of a cause or a lesson.
const WORDS: usize = 1000;

/// A line of a detailed text; it may be longer than a screen is wide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// What kind of line.
    pub kind: PassageKind,
    /// Without what drives a terminal.
    pub text: String,
}

/// What a line of a detailed text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassageKind {
    /// The beginning of a part.
    Heading,
    /// Words.
    Words,
    /// Words that belong to the line before.
    More,
    /// Something to type.
    Command,
}

fn passage(kind: PassageKind, text: impl Into<String>) -> Passage {
    Passage { kind, text: text.into() }
}

/// The task at this place of the night: where it stands and what it needs, then its attempts with verdicts, causes and
/// lessons, then its merges. Empty if there is none.
#[must_use]
pub fn detail(night: &Night, place: usize, times: &Times) -> Vec<Passage> {
    let Some(task) = night.tasks.get(place) else { return Vec::new() };
    let (sign, word) = mark(task.state);
    let mut said = vec![passage(PassageKind::Heading, format!("{sign} {} {word}", task.id))];
    if !task.title.is_empty() {
        said.push(passage(PassageKind::Words, foreign(&task.title, WORDS)));
    }
    let item = page::item(night, place, times);
    said.extend(item.lines.iter().map(|line| {
        let words: String = line.iter().map(|(Piece::Text(words) | Piece::Code(words))| words.as_str()).collect();
        passage(PassageKind::Words, words)
    }));
    let looked = look(night, task).map(|step| step.command);
    let mut commands: Vec<String> = item.commands.into_iter().map(|step| step.command).collect();
    commands.extend(looked.filter(|looked| !commands.contains(looked)));
    said.extend(commands.into_iter().map(|command| passage(PassageKind::Command, command)));
    for attempt in task.attempts.iter().map(|place| &night.attempts[*place]) {
        said.extend(told(night, attempt, times));
    }
    for merge in &task.merges {
        let came = match &merge.outcome {
            MergeOutcome::Merged { commit, was_there, .. } => {
                let how = if *was_there { NOTHING_LEFT } else { "merged as" };
                format!("{how} {}", foreign(commit.get(..12).unwrap_or(commit), 60))
            }
            left @ MergeOutcome::LeftToPerson { .. } => {
                format!("left to you: {}", foreign(&left.failed().unwrap_or_default(), WORDS))
            }
            other => format!("not merged: {}", foreign(&other.failed().unwrap_or_default(), WORDS)),
        };
        let when = times.clock(merge.at);
        said.push(passage(PassageKind::Heading, format!("Merge of attempt {}, {when}", merge.attempt)));
        said.push(passage(PassageKind::Words, came));
    }
    said
}

fn told(night: &Night, attempt: &NightAttempt, times: &Times) -> Vec<Passage> {
    let agent = foreign(&attempt.agent, 60);
    let until = attempt.ended_at.or(attempt.stopped_at).map(|at| format!(" to {}", times.clock(at)));
    let when = format!("{}{}", times.clock(attempt.started_at), until.unwrap_or_default());
    let mut said = vec![passage(PassageKind::Heading, format!("Attempt {} by {agent}, {when}", attempt.attempt))];
    let came = match (attempt.verdict, attempt.fate, &attempt.ending) {
        (Some(verdict), ..) => verdict.as_str(),
        (None, Fate::Working, _) => "goes on",
        (None, Fate::Cut, _) => "cut off",
        (None, _, Some(ending)) => ending.as_str(),
        (None, _, None) => "not judged",
    };
    let because = foreign(&attempt.because, WORDS);
    let because = if because.is_empty() { because } else { format!(": {because}") };
    said.push(passage(PassageKind::Words, format!("{came}{because}")));
    let spent = usage(&attempt.usage).map(|spent| format!(", {spent}")).unwrap_or_default();
    // Of one at work nothing is counted yet; its beginning stands above.
    if attempt.agent_ms > 0 && attempt.fate != Fate::Working {
        let turns = if attempt.turns > 1 { format!(" in {} turns", attempt.turns) } else { String::new() };
        said.push(passage(PassageKind::More, format!("{} of work{turns}{spent}", duration(attempt.agent_ms))));
    }
    if !attempt.injected.is_empty() {
        let lessons = super::super::words::plural(attempt.injected.len(), "lesson");
        said.push(passage(PassageKind::More, format!("{lessons} in its prompt")));
    }
    for fit in &attempt.others {
        let words = format!("lesson of {}: {}", foreign(&fit.task, 64), foreign(&fit.why, 160));
        said.push(passage(PassageKind::More, words));
    }
    if let Some(words) = Exposure::held_out(attempt.exposure.as_ref()) {
        said.push(passage(PassageKind::More, words.to_owned()));
    }
    let lesson = attempt.reflection.as_ref().and_then(|id| night.lesson(id));
    if let Some(words) = lesson.and_then(|lesson| lesson.suggestion.as_ref().or(lesson.analysis.as_ref())) {
        said.push(passage(PassageKind::Words, format!("lesson: {}", foreign(words, WORDS))));
    }
    said
}
