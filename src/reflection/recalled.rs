//! Which lessons an attempt sees, and as what.

use crate::domain::{Recall, Recalled, Source, policy};
use crate::prompt::OthersLesson;
use crate::recall::{Index, Lesson, Limits, Project, Query, failure_key};
use crate::services::RecallQuery;

/// How many more reflections of the task are found than are shown: the same lesson written twice must not push out another one.
const READ_AHEAD: usize = 4;

/// What is looked for among the lessons.
pub(super) fn wanted(query: &RecallQuery, lessons: &[Lesson]) -> Query {
    let own = |lesson: &&Lesson| lesson.project == Project::Own && lesson.reflection.task_id == query.task.as_str();
    let failure = match &query.failure {
        Some((signature, output)) => Some(failure_key(signature, &output.text())),
        // Of an earlier run its lesson alone is left.
        None => lessons.iter().rev().find(own).map(|lesson| lesson.failure.clone()),
    };
    Query { task: query.task.to_string(), subtask: query.subtask.to_string(), failure, task_text: query.text.clone() }
}

/// The lessons among all that an attempt may see.
pub(super) fn recalled(query: &RecallQuery, lessons: &[Lesson], settings: &policy::Reflexion) -> Recall {
    let wanted = wanted(query, lessons);
    let limits = Limits { own: settings.max_reflections_per_retry.saturating_mul(READ_AHEAD), ..Limits::default() };
    let shown: Vec<Lesson> =
        lessons.iter().filter(|lesson| !query.without.contains(&lesson.reflection.session_id)).cloned().collect();
    let chosen = Index::of(&shown).recall(&wanted, &limits);
    let mut recall = Recall { left_out: chosen.left_out, ..Recall::default() };
    for fit in chosen.fits {
        let Some(lesson) = shown.iter().find(|lesson| lesson.reflection.id == fit.lesson) else { continue };
        let lesson = lesson.reflection.clone();
        match fit.source {
            Source::Own => recall.own.push(lesson),
            _ => recall.others.push(Recalled { lesson, fit }),
        }
    }
    let most = query.most.unwrap_or(usize::MAX);
    recall.own.truncate(most);
    recall.others.truncate(most - recall.own.len());
    recall
}

/// A lesson of another task as a prompt names it.
pub(super) fn in_prompt(other: &Recalled) -> OthersLesson<'_> {
    let fits = match other.fit.source {
        Source::Own | Source::Same | Source::Promoted => "the same failure",
        Source::Similar => "a similar failure",
        Source::Named => "what this task names",
    };
    OthersLesson { lesson: &other.lesson, project: other.fit.project.as_deref(), fits }
}
