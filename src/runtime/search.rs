//! Which lessons fit an output.

use super::failure::failed_output;
use crate::curation::State;
use crate::domain::{IdError, Reflection, Signature, TaskId};
use crate::recall::{Index, Lesson, Match, Project, failure_key};

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
    let wanted = failure_key(&failure.signature, output);
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
