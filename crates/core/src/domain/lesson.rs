//! What happened to a lesson: the lines of `memory/lessons.jsonl`.

use super::{ReflectionId, Timestamp};
use serde::{Deserialize, Serialize};

/// One line of `memory/lessons.jsonl`. Nothing is ever changed in a lesson: what becomes of it is said by further lines.
///
/// The order of the fields is the order in which events of one instant are read: rules first, so that a person has the last word.
///
/// ```
/// # use reflexion_core::domain::{LessonChange, LessonEvent, ReflectionId};
/// let line = r#"{"v":1,"at":"2026-01-02T03:04:05Z","lesson":"ref-2","event":"merged","into":"ref-1","why":"says the same","by":"rules"}"#;
/// let event: LessonEvent = serde_json::from_str(line)?;
/// assert_eq!(event.change, LessonChange::Merged { into: ReflectionId::new("ref-1") });
/// assert_eq!(serde_json::to_string(&event)?, line);
/// let line = r#"{"v":1,"at":"2026-01-02T03:04:05Z","lesson":"ref-2","event":"retired","reason":"retention","why":"it is old","by":"rules"}"#;
/// let event: LessonEvent = serde_json::from_str(line)?;
/// assert_eq!((&event.change, serde_json::to_string(&event)?.as_str()), (&LessonChange::Expired, line));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(from = "Line")]
pub struct LessonEvent {
    /// When.
    pub at: Timestamp,
    /// Who says so.
    pub by: LessonWriter,
    /// To which lesson.
    pub lesson: ReflectionId,
    /// What happened.
    pub change: LessonChange,
    /// Why, in a sentence.
    pub why: String,
    /// Format version, 1.
    pub v: u32,
}

/// What happens to a lesson.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum LessonChange {
    /// It passed the gate, and may help other tasks once it has proved itself. By a person: it is good as it is.
    Kept,
    /// It says the same as another one, which counts it from now on.
    Merged {
        /// The other one.
        into: ReflectionId,
    },
    /// One step up: candidate, probation, active. Of what was set apart, back to probation.
    Promoted,
    /// One step down.
    Demoted,
    /// It reaches no prompt.
    Quarantined,
    /// It is over.
    Retired,
    /// Rules leave it as it is.
    Pinned,
    /// Rules may move it again.
    Unpinned,
    /// Another one stands in its place.
    Edited {
        /// The one with the new words.
        reflection: ReflectionId,
    },
    /// What it is about is gone.
    Stale {
        /// The file that vanished.
        path: String,
    },
    /// What it is about is there again: it is as far as it was before.
    Returned {
        /// The file that came back.
        path: String,
    },
    /// It is over because of its age, until a person promotes it. As a line: `retired`, with the reason `retention`.
    #[serde(skip)]
    Expired,
}

impl LessonChange {
    /// Whether its own lesson is in no prompt any more for that, or in fewer.
    #[must_use]
    pub fn is_away(&self) -> bool {
        self.takes_away() || matches!(self, Self::Merged { .. } | Self::Edited { .. })
    }

    /// Whether fewer prompts hold a lesson for that, and no other lesson comes into one.
    #[must_use]
    pub fn takes_away(&self) -> bool {
        match self {
            Self::Retired | Self::Expired | Self::Quarantined | Self::Demoted | Self::Stale { .. } => true,
            Self::Kept
            | Self::Promoted
            | Self::Merged { .. }
            | Self::Edited { .. }
            | Self::Returned { .. }
            | Self::Pinned
            | Self::Unpinned => false,
        }
    }
}

/// Who says what happens to a lesson.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LessonWriter {
    /// The rules of this module.
    Rules,
    /// A person's command.
    Person,
}

/// Why a lesson is over that nobody has spoken for.
const RETENTION: &str = "retention";

/// A line as it is read; serde asks for the fields in their order to write it.
#[derive(Serialize, Deserialize)]
struct Line {
    v: u32,
    at: Timestamp,
    lesson: ReflectionId,
    #[serde(flatten)]
    change: LessonChange,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default)]
    why: String,
    by: LessonWriter,
}

impl From<Line> for LessonEvent {
    fn from(line: Line) -> Self {
        let Line { v, at, lesson, change, reason, why, by } = line;
        let change = match change {
            LessonChange::Retired if reason.as_deref() == Some(RETENTION) => LessonChange::Expired,
            change => change,
        };
        Self { at, by, lesson, change, why, v }
    }
}

impl Serialize for LessonEvent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { at, by, lesson, change, why, v } = self.clone();
        let (change, reason) = match change {
            LessonChange::Expired => (LessonChange::Retired, Some(RETENTION.to_owned())),
            change => (change, None),
        };
        Line { v, at, lesson, change, reason, why, by }.serialize(serializer)
    }
}
