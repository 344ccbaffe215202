//! Suites: cases of one kind, and what they must come to.

use super::case::Case;
use super::threshold::Threshold;
use serde::{Deserialize, Serialize};

/// Cases of one kind.
///
/// ```
/// # use reflexion::evaluation::{Format, SuiteKind, read};
/// let text = "name: demo\nkind: stuck\ncases:\n- id: a\n  description: a tool runs\n  input: {tool_calls: 'bash: running'}\n  expect: {stuck: false}\n";
/// let suite = read("demo.yaml", text, Format::Yaml)?;
/// assert_eq!((suite.kind, suite.cases.len()), (SuiteKind::Stuck, 1));
/// # Ok::<(), reflexion::evaluation::SuiteError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// How results and messages call it.
    pub name: String,
    /// What it is about, in words.
    pub description: String,
    /// Which judgement its cases are about.
    pub kind: SuiteKind,
    /// What it must come to; without one every case must hold.
    pub threshold: Option<Threshold>,
    /// The cases.
    pub cases: Vec<Case>,
    /// What was in the file and is not used.
    pub notes: Vec<String>,
}

/// Which judgement a suite is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuiteKind {
    /// Is the task done?
    Completion,
    /// Is the agent stuck?
    Stuck,
    /// What should it do now that its context was shortened?
    Compaction,
    /// How good was its work, 0 to 5?
    Agent,
}

impl SuiteKind {
    /// The word in files and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completion => "completion",
            Self::Stuck => "stuck",
            Self::Compaction => "compaction",
            Self::Agent => "agent",
        }
    }

    /// What the two sides of the confusion matrix mean here: fine, and not fine.
    #[must_use]
    pub fn sides(self) -> [&'static str; 2] {
        match self {
            Self::Completion => ["done", "not done"],
            Self::Stuck => ["not stuck", "stuck"],
            Self::Compaction => ["nothing left", "work left"],
            Self::Agent => ["score 4-5", "score 0-3"],
        }
    }
}
