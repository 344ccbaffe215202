//! Where a lesson comes from, and what was measured of it.

use crate::domain::{AttemptRecord, Coin, FailureKey, Origin, Reflection, ReflectionId, Verdict};
use crate::report::{LessonEffect, plural};
use serde::Serialize;
use std::fmt;

/// How attempts ended that had a lesson in their prompt, and those that would have had it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Seen {
    /// Attempts whose prompt held it,
    shown: usize,
    /// and how many of them were confirmed.
    confirmed: usize,
    /// Attempts that a coin left without it,
    held_out: usize,
    /// and how many of them were confirmed.
    held_out_confirmed: usize,
    /// How probable it is that it helps; none before something was held out.
    helps: Option<f64>,
}

impl Seen {
    pub(super) fn of(lesson: &ReflectionId, attempts: &[AttemptRecord], effects: &[LessonEffect]) -> Self {
        let (with, without): (Vec<_>, Vec<_>) = attempts
            .iter()
            .filter(|attempt| attempt.shown.contains(lesson) || is_held_out(attempt, lesson))
            .partition(|attempt| attempt.shown.contains(lesson));
        let confirmed = |of: &[&AttemptRecord]| of.iter().filter(|one| one.verdict == Some(Verdict::Confirmed)).count();
        Self {
            shown: with.len(),
            confirmed: confirmed(&with),
            held_out: without.len(),
            held_out_confirmed: confirmed(&without),
            helps: effects.iter().find(|one| one.lesson == lesson.as_str()).map(|one| one.log_odds_helps),
        }
    }
}

fn is_held_out(attempt: &AttemptRecord, lesson: &ReflectionId) -> bool {
    let Some(exposure) = &attempt.exposure else { return false };
    let without = |coin: &Coin| !coin.injected && coin.candidates.contains(lesson);
    exposure.own.iter().chain(&exposure.others).any(without)
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.shown + self.held_out == 0 {
            return f.write_str("no attempt has seen it yet");
        }
        let (with, without) = (plural(self.shown, "attempt"), plural(self.held_out, "attempt"));
        write!(
            f,
            "with it {} of {with} confirmed, without it {} of {without}",
            self.confirmed, self.held_out_confirmed
        )?;
        match self.helps {
            Some(helps) => write!(f, "; it helps with a probability of {:.0} %", helps * 100.0),
            None => Ok(()),
        }
    }
}

/// What failed, in a line.
pub(super) fn failure(lesson: &Reflection, attempt: Option<&AttemptRecord>) -> String {
    if let Some(key) = &lesson.failure {
        return of_key(key);
    }
    let kind = attempt.and_then(|attempt| attempt.failure).and_then(|kind| serde_json::to_value(kind).ok());
    let kind = kind.as_ref().and_then(serde_json::Value::as_str).map(|kind| kind.replace('_', " "));
    kind.unwrap_or_else(|| "not on record".to_owned())
}

fn of_key(key: &FailureKey) -> String {
    let test = key.tests.first().map(|test| match key.tests.len() {
        1 => test.clone(),
        many => format!("{test} and {} more", many - 1),
    });
    let parts = [Some(key.tool.clone()), test, key.code.clone(), key.lines.first().cloned()];
    let mut said: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    said.dedup();
    said.join(" | ")
}

/// Who wrote it, about what. A lesson of what made the difference is about two attempts: `guess` is of the one that failed.
pub(super) fn whence(lesson: &Reflection, attempt: Option<&AttemptRecord>, guess: Option<&AttemptRecord>) -> String {
    let Reflection { task_id, attempt_number, .. } = lesson;
    let passed = attempt.filter(|attempt| attempt.attempt != *attempt_number);
    let failed = if passed.is_some() { guess } else { attempt };
    let ended = |attempt: &AttemptRecord| {
        let verdict = attempt.verdict.map_or("not judged", Verdict::as_str);
        format!("run {}: {verdict}", attempt.run)
    };
    let of = failed.map_or_else(|| "its run is not on record".to_owned(), ended);
    let and = passed.map(|passed| format!("; then attempt {}, {}", passed.attempt, ended(passed))).unwrap_or_default();
    let by = lesson.origin.as_ref().map_or("nobody knows whom".to_owned(), by);
    let at = lesson.created_at.strftime("%Y-%m-%d %H:%M");
    format!("task {task_id}, attempt {attempt_number}, {of}{and}; written by {by}, {at}")
}

fn by(origin: &Origin) -> String {
    match origin {
        Origin::Command => "the configured command".to_owned(),
        Origin::Agent => "the configured agent".to_owned(),
        Origin::Llm { model } => format!("the model {model}"),
        Origin::Heuristic { .. } => "rules".to_owned(),
        Origin::Person => "a person".to_owned(),
        Origin::Import => "somebody else (imported)".to_owned(),
    }
}
