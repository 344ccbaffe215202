//! Why recall takes a lesson or leaves it, for a person who asks.

use super::recalled::wanted;
use crate::curation::{State, kept_from_prompts, stays_home};
use crate::domain::{Recall, Reflection, ReflectionId};
use crate::recall::{Index, Lesson, Match, Project, Same};
use crate::services::RecallQuery;
use std::collections::HashMap;

/// A lesson, how like its failure is, and what recall makes of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainedLesson {
    /// The lesson.
    pub reflection: Reflection,
    /// How far it has come, as far as its words may go.
    pub state: State,
    /// Why its words keep it with its own task, unless a person says otherwise; none where they do not.
    pub at_home: Option<String>,
    /// How likely it is, 0 to 1, that it helps; none where that was never measured.
    pub helps: Option<f64>,
    /// It is of the task that was asked for.
    pub own: bool,
    /// Which fingerprint is equal, if one is.
    pub same: Option<Same>,
    /// The share of error lines that both failures have, weighed by how rare each is, 0 to 1.
    pub lines: f64,
    /// The share of the words' own score, 0 to 1.
    pub words: f64,
    /// The words that count most among those that both have, at most four.
    pub shared: Vec<String>,
    /// Of an attempt whose last one failed so.
    pub retry: Decided,
    /// Of the first attempt of a run.
    pub first: Decided,
}

/// Whether a prompt would hold a lesson, and why or why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// It would, unless a coin holds it out.
    pub shown: bool,
    /// In a sentence.
    pub why: String,
}

/// What recall found, and which of that stands in the section of the prompt.
type Found = (Recall, Vec<ReflectionId>);

/// Every lesson with what recall made of it in a retry and in a first attempt.
pub(super) fn explained(query: &RecallQuery, lessons: &[Lesson], [retry, first]: [Found; 2]) -> Vec<ExplainedLesson> {
    let index = Index::of(lessons);
    let (asked, no_failure) =
        (wanted(query, lessons), wanted(&RecallQuery { failure: None, ..query.clone() }, lessons));
    let like = |failure| index.like(failure, |_| true).into_iter().map(|one| (one.lesson, one)).collect();
    let near: HashMap<usize, Match> = asked.failure.as_ref().map(like).unwrap_or_default();
    let before: HashMap<usize, Match> = no_failure.failure.as_ref().map(like).unwrap_or_default();
    let of = |(place, lesson): (usize, &Lesson)| {
        let found = near.get(&place);
        ExplainedLesson {
            state: lesson.state,
            at_home: stays_home(&lesson.reflection),
            helps: lesson.helps,
            own: lesson.project == Project::Own && lesson.reflection.task_id == query.task.as_str(),
            same: found.and_then(|found| found.same),
            lines: found.map_or(0.0, |found| found.lines),
            words: found.map_or(0.0, |found| found.words),
            shared: found.map(|found| found.shared.clone()).unwrap_or_default(),
            retry: decided(&lesson.reflection, &retry, || index.why_not(&asked, place, found)),
            first: decided(&lesson.reflection, &first, || index.why_not(&no_failure, place, before.get(&place))),
            reflection: lesson.reflection.clone(),
        }
    };
    let mut all: Vec<ExplainedLesson> = lessons.iter().enumerate().map(of).collect();
    // The newest of those that are as near.
    all.reverse();
    let nearness =
        |one: &ExplainedLesson| f64::from(u8::from(one.same.is_some())) * 2.0 + f64::midpoint(one.lines, one.words);
    all.sort_by(|a, b| b.own.cmp(&a.own).then(nearness(b).total_cmp(&nearness(a))));
    all
}

/// What became of a lesson in one recall.
fn decided(lesson: &Reflection, (recall, ids): &Found, why_not: impl FnOnce() -> String) -> Decided {
    let shown = ids.contains(&lesson.id);
    let other = recall.others.iter().find(|other| other.lesson.id == lesson.id);
    let is_own = recall.own.iter().any(|own| own.id == lesson.id);
    let left_out = recall.left_out.iter().find(|left| left.lesson == lesson.id);
    let why = match (other, left_out) {
        (Some(other), _) if shown => other.fit.why.clone(),
        _ if shown => format!("it is of this task, attempt {}", lesson.attempt_number),
        (Some(_), _) => not_in_section(lesson),
        _ if is_own => not_in_section(lesson),
        (None, Some(left)) => left.why.clone(),
        (None, None) => why_not(),
    };
    Decided { shown, why }
}

/// Why the section of a prompt leaves out what recall has chosen.
fn not_in_section(lesson: &Reflection) -> String {
    kept_from_prompts(lesson).unwrap_or_else(|| "newer ones say the same, or leave it no room".to_owned())
}
