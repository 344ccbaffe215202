//! Reflections: the lesson of a failed attempt.

use super::{FailureKey, ReflectionId, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

/// One line of `memory/reflections.jsonl`: what went wrong, what to do differently, action items.
///
/// The first eleven fields are the Reflexion log's own; the rest are ours and optional, so files written by other
/// implementations can be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reflection {
    /// Unique.
    pub id: ReflectionId,
    /// The agent run that failed.
    pub session_id: SessionId,
    /// The task; any text, because imported files bring their own.
    pub task_id: String,
    /// The subtask; any text as well.
    pub subtask_id: String,
    /// From 1, over all runs.
    pub attempt_number: u32,
    /// What kind of lesson it is.
    pub category: Category,
    /// What went wrong.
    pub analysis: String,
    /// What to do differently.
    pub suggestion: String,
    /// Concrete steps.
    #[serde(default)]
    pub action_items: Vec<String>,
    /// 0 to 1, as the generator says.
    #[serde(default = "half")]
    pub confidence: f64,
    /// RFC 3339.
    pub created_at: Timestamp,
    /// Format version; a record without one is version 1.
    #[serde(default = "one")]
    pub v: u32,
    /// Who wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// What the agent's closing message said it had tried; added by the runtime, never by a generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub already_tried: Option<String>,
    /// Fingerprint of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// What the failure is known by, so that a like one in another task finds it; none where no check was red.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<FailureKey>>,
    /// The lesson of the same attempt in whose place it stands: this one was written when the next attempt had passed, from what the two
    /// changes have not in common; or a person has written it, who found better words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<ReflectionId>,
    /// The names of the files that it is about, without directories, as far as the run in which it was written began with them. Where none of these is left, it is about
    /// nothing any more; of a lesson without any nobody knows that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Neither this program nor a person's command wrote it here, and nobody has adopted it: it reaches no prompt. Found out by the
    /// store when it is read, and never believed from a file.
    #[serde(default, skip_deserializing, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
}

impl Reflection {
    /// The format version this crate writes; a record with a higher one is kept and not interpreted.
    pub const VERSION: u32 = 1;

    /// Whether it can be kept so that it is read back as it was: of this version, and with a confidence that is a number.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn storable(&self) -> Result<(), String> {
        let Self { id, v, confidence, .. } = self;
        if *v != Self::VERSION {
            return Err(format!(
                "reflection `{id}` has format version {v}; this program writes version {}",
                Self::VERSION
            ));
        }
        if !confidence.is_finite() {
            return Err(format!("the confidence of reflection `{id}` is not a number"));
        }
        Ok(())
    }
}

/// What kind of lesson it is.
///
/// Reading accepts the ancestor's spellings too, and maps what it does not know to `root_cause`.
///
/// ```
/// # use reflexion_core::domain::Category;
/// assert_eq!(Category::from_word("approach_error"), Category::ApproachFlaw);
/// assert_eq!(Category::from_word("bad mood"), Category::RootCause);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", from = "String")]
pub enum Category {
    /// The cause of the failure.
    RootCause,
    /// The approach itself was wrong.
    ApproachFlaw,
    /// Something had to be known and was not.
    MissingContext,
    /// A tool or the environment was used wrongly.
    ToolMisuse,
    /// A case that was not tested.
    TestGap,
    /// The work was not verified.
    Verification,
}

impl Category {
    /// Every category, in the order of the documentation.
    pub const ALL: [Self; 6] = [
        Self::RootCause,
        Self::ApproachFlaw,
        Self::MissingContext,
        Self::ToolMisuse,
        Self::TestGap,
        Self::Verification,
    ];

    /// Reads a category's name; unknown ones are `root_cause`.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        match word.trim().to_ascii_lowercase().replace([' ', '-'], "_").as_str() {
            "approach_flaw" | "approach_error" => Self::ApproachFlaw,
            "missing_context" | "misconception" => Self::MissingContext,
            "tool_misuse" | "environment" => Self::ToolMisuse,
            "test_gap" | "edge_case" => Self::TestGap,
            "verification" => Self::Verification,
            _ => Self::RootCause,
        }
    }

    /// The word used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RootCause => "root_cause",
            Self::ApproachFlaw => "approach_flaw",
            Self::MissingContext => "missing_context",
            Self::ToolMisuse => "tool_misuse",
            Self::TestGap => "test_gap",
            Self::Verification => "verification",
        }
    }
}

impl From<String> for Category {
    fn from(word: String) -> Self {
        Self::from_word(&word)
    }
}

/// Who wrote a reflection; a fallback is data, never a silent branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum Origin {
    /// The configured command.
    Command,
    /// The configured agent.
    Agent,
    /// The configured language model.
    Llm {
        /// The provider's name of it.
        model: String,
    },
    /// The rules, because nothing else was configured or what was configured failed.
    Heuristic {
        /// In words: `no generator is configured`, `the generator timed out after 30 s`.
        because: String,
    },
    /// A person, with `memory add`.
    Person,
    /// Brought in from another file.
    Import,
}

impl Origin {
    /// Why the heuristic writes a lesson where it stands in for nobody.
    pub const NO_OTHER: &'static str = "no other generator is configured";

    /// Whether the heuristic wrote it in place of a generator that failed.
    #[must_use]
    pub fn is_of_fallback(&self) -> bool {
        matches!(self, Self::Heuristic { because } if because != Self::NO_OTHER)
    }
}

/// What a generator answers, already capped and clamped; the service makes a [`Reflection`] of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// What kind of lesson it is.
    pub category: Category,
    /// What went wrong.
    pub analysis: String,
    /// What to do differently.
    pub suggestion: String,
    /// Concrete steps.
    pub action_items: Vec<String>,
    /// 0 to 1.
    pub confidence: f64,
    /// Who wrote it.
    pub origin: Origin,
}

fn half() -> f64 {
    0.5
}

fn one() -> u32 {
    1
}
