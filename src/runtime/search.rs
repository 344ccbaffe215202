//! Which lessons fit an output.

use super::failure::failed_output;
use super::run_id::system_clock;
use crate::curation::State;
use crate::domain::{IdError, Reflection, Signature, SubtaskId, TaskId, policy};
use crate::recall::{Index, Lesson, Match, Project, failure_key};
use crate::reflection::{ExplainedLesson, Heuristic, ReflectionServiceLive};
use crate::services::{Lessons, RecallQuery, ReflectionError, Storage};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Less than this says nothing: every two failures of one tool have some words in common.
const LEAST_SCORE: f64 = 0.05;
/// One word in common is chance.
const LEAST_WORDS: usize = 2;

/// A lesson that fits.
#[derive(Debug, Clone, PartialEq)]
pub struct FittingLesson {
    /// The lesson.
    pub reflection: Reflection,
    /// How well it fits, 0 to 1: its share of the output's words and lines, each weighed by how rare it is among all lessons.
    pub score: f64,
    /// The words that count most among those that both have.
    pub shared: Vec<String>,
}

/// The lessons whose words are most like those of a failing program's output, the best first; at most `limit`. Of equal ones the last of
/// `lessons` comes first.
///
/// # Errors
/// None in practice: the name that stands for the output is a valid one.
pub fn fitting_lessons(lessons: Vec<Reflection>, output: &str, limit: usize) -> Result<Vec<FittingLesson>, IdError> {
    let failure = failed_output(TaskId::new("search")?, 1, output);
    let wanted = failure_key(&failure.signature, &failure.output.text());
    let lessons: Vec<Lesson> = lessons.into_iter().map(as_lesson).collect();
    let mut found = Index::of(&lessons).like(&wanted, |_| true);
    let score = |found: &Match| f64::midpoint(found.lines, found.words);
    found.retain(|found| score(found) >= LEAST_SCORE && found.shared.len() >= LEAST_WORDS);
    found.truncate(limit);
    let of = |found: Match| FittingLesson {
        reflection: lessons[found.lesson].reflection.clone(),
        score: score(&found),
        shared: found.shared,
    };
    Ok(found.into_iter().map(of).collect())
}

/// For whom recall is explained.
#[derive(Debug, Clone)]
pub struct AskedRecall {
    /// The task whose attempt has failed; one that no lesson is of where only the failure is known.
    pub task: TaskId,
    /// Its title and description; before anything has failed, a lesson is found by these.
    pub text: String,
    /// What its check printed.
    pub output: String,
}

/// What recall makes of every lesson, by the code of a run: those of the task first, then the nearest failure first. Nothing is started and no coin is drawn.
///
/// # Errors
/// If lessons cannot be read.
pub async fn explain_recall(
    stores: (Arc<dyn Storage>, Arc<dyn Lessons>),
    settings: &policy::Reflexion,
    asked: AskedRecall,
) -> Result<Vec<ExplainedLesson>, ReflectionError> {
    let failure = failed_output(asked.task.clone(), 1, asked.output);
    let query = RecallQuery {
        subtask: SubtaskId::from(&asked.task),
        task: asked.task,
        text: asked.text,
        failure: Some((failure.signature, failure.output)),
        limit: settings.max_reflections_per_retry,
        most: None,
        without: BTreeSet::new(),
    };
    with_lessons(stores, settings).explain(&query).await
}

/// The service of these lessons for what a person does by hand: nobody is asked for a lesson there.
pub(super) fn with_lessons(
    (storage, lessons): (Arc<dyn Storage>, Arc<dyn Lessons>),
    settings: &policy::Reflexion,
) -> ReflectionServiceLive {
    let generator = Arc::new(Heuristic);
    ReflectionServiceLive { storage, lessons, generator, clock: system_clock(), settings: settings.clone() }
}

/// A reflection by the failure that it is about, and by what it says.
fn as_lesson(reflection: Reflection) -> Lesson {
    let words = format!("{}\n{}", reflection.analysis, reflection.suggestion);
    let mut failure = failure_key(&Signature::default(), &words);
    if let Some(known) = &reflection.failure {
        let said = std::mem::take(&mut failure.lines);
        failure = (**known).clone();
        failure.lines.extend(said);
    }
    // What is said of a failure may look like no line of one.
    if !failure.lines.contains(&reflection.analysis) {
        failure.lines.push(reflection.analysis.clone());
    }
    Lesson { reflection, failure, state: State::Candidate, at_home: true, project: Project::Own, helps: None, seen: 1 }
}
