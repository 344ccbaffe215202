//! Cases: what the judging layer is given, and what it must say.

use super::assertion::Assertion;
use crate::domain::{CompactionAction, Expects, GateOutcome, Standing, StuckReason};
use crate::services::{CompactionQuestion, StuckQuestion};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// One case of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Unique in its suite; results are compared by it.
    pub id: String,
    /// What it shows, in one line.
    pub description: String,
    /// What is judged.
    pub given: Given,
    /// What must come of it.
    pub expect: Expectation,
}

/// What is judged.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// A conversation.
    Transcript(TranscriptCase),
    /// An agent that says nothing.
    Stuck(StuckQuestion),
    /// An agent whose context was shortened.
    Compaction(CompactionQuestion),
}

/// A conversation, with what surrounds it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TranscriptCase {
    /// The conversation in the plain JSON form that `reflexion judge` reads, or the text of any transcript it reads.
    pub input: Value,
    /// Files of the project, by path: its manifests, its instructions.
    pub files: BTreeMap<String, String>,
    /// What the runtime saw itself; none for a transcript from elsewhere.
    pub observed: Option<ObservedCase>,
    /// What kind of change the task wants, where it says so.
    pub expects: Option<Expects>,
}

/// What the runtime saw itself when the agent stopped.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ObservedCase {
    /// The files that differ from the base.
    pub changed: Vec<String>,
    /// The change as a unified diff.
    pub diff: String,
    /// The checks after the agent stopped.
    pub checks: Vec<CheckCase>,
    /// Protected files that were changed.
    pub protected: Vec<String>,
}

/// A check that the runtime ran.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckCase {
    /// Its command line.
    pub run: String,
    /// Its exit status after the change; none: it could not be started.
    pub exit: Option<i32>,
    /// Its exit status at the base; none: it was not run there.
    #[serde(default)]
    pub base: Option<i32>,
    /// What it printed after the change.
    #[serde(default)]
    pub output: String,
    /// What it printed at the base.
    #[serde(default)]
    pub base_output: String,
}

/// What must come of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum Expectation {
    /// Of a completion verdict.
    Completion(ExpectedCompletion),
    /// Of a stuck verdict.
    Stuck(ExpectedStuck),
    /// Of a compaction verdict.
    Compaction(ExpectedCompaction),
    /// Of a score.
    Score(ExpectedScore),
    /// Of the verdict's text, in promptfoo's words.
    Assertions(Vec<Assertion>),
}

/// What must hold of a completion verdict. `done` is the truth; the rest is what facts allow to say.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedCompletion {
    /// Whether the task is really done; it decides between a false complete and a false alarm.
    pub done: bool,
    /// One of these.
    pub status: OneOrMany<Standing>,
    /// Whether it counts as done.
    #[serde(default)]
    pub complete: Option<bool>,
    /// Whether a person must act.
    #[serde(default)]
    pub requires_human_action: Option<bool>,
    /// What single gates say.
    #[serde(default)]
    pub gates: BTreeMap<String, OneOrMany<GateOutcome>>,
    /// The feedback holds each of these, whatever the case of its letters.
    #[serde(default)]
    pub feedback_contains: Vec<String>,
}

/// What must hold of a stuck verdict.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedStuck {
    /// Whether it is.
    pub stuck: bool,
    /// One of these.
    #[serde(default)]
    pub reason: Option<OneOrMany<StuckReason>>,
    /// Whether a nudge would help.
    #[serde(default)]
    pub should_nudge: Option<bool>,
    /// Nobody can know it from facts: without a judge it may be left undecided.
    #[serde(default)]
    pub needs_judge: bool,
}

/// What must hold of a compaction verdict. An action with confidence 0 counts as undecided.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedCompaction {
    /// One of these.
    pub action: OneOrMany<CompactionAction>,
    /// It works on a pull request or an issue.
    #[serde(default)]
    pub has_active_git_work: Option<bool>,
    /// Nobody can know it from facts: without a judge it may be left undecided.
    #[serde(default)]
    pub needs_judge: bool,
}

/// Where a score must lie, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedScore {
    /// At least.
    #[serde(default)]
    pub min: u8,
    /// At most.
    #[serde(default = "best")]
    pub max: u8,
}

fn best() -> u8 {
    5
}

/// One value or a list of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let many = match value {
            Value::Array(many) => many,
            one => vec![one],
        };
        if many.is_empty() {
            return Err(serde::de::Error::custom("the list is empty; nothing would be right"));
        }
        let read = |value| serde_json::from_value(value).map_err(serde::de::Error::custom);
        many.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }
}
