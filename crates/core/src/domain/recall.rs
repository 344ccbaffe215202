//! What recall found for an attempt.

use super::{Reflection, ReflectionId};
use serde::{Deserialize, Serialize};

/// Lessons for an attempt: those of its own task, and those of other tasks that fit. Both may be empty; that is a normal answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recall {
    /// Of the task itself, the newest first; of a task in parts, those of the same part first.
    pub own: Vec<Reflection>,
    /// Of other tasks, the best first.
    pub others: Vec<Recalled>,
    /// Lessons of the task, and similar ones, that were not chosen; never all the others.
    pub left_out: Vec<LeftOut>,
}

impl Recall {
    /// Every lesson, in the order of the prompt.
    pub fn lessons(&self) -> impl Iterator<Item = &Reflection> {
        self.own.iter().chain(self.others.iter().map(|other| &other.lesson))
    }
}

/// A lesson of another task.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// The lesson.
    pub lesson: Reflection,
    /// Why it is here.
    pub fit: Fit,
}

/// Why a lesson of another task is in a prompt, as it stands in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fit {
    /// The lesson.
    pub lesson: ReflectionId,
    /// The task that it is of.
    pub task: String,
    /// The project that it is of, if that is another one; empty where its name may be more than a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Why it may be here at all.
    pub source: Source,
    /// How near its failure is, 0 to 1; 1 is the same failure.
    pub score: f64,
    /// Why it was chosen, in a sentence.
    pub why: String,
}

/// Why a lesson may be in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// It is of the same task.
    Own,
    /// It is about the same failure in another task of the project.
    Same,
    /// It is about a similar failure in another task of the project.
    Similar,
    /// No attempt has failed yet, and the task names what it is about.
    Named,
    /// It is about the same failure in another project, and a person lets it be seen there.
    Promoted,
}

/// A lesson that was near.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    /// The lesson.
    pub lesson: ReflectionId,
    /// Why it was left out, in a sentence.
    pub why: String,
}
