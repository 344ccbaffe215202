//! Verdicts: what the evidence says of an attempt.

use serde::Deserialize;
use serde::Serialize;

/// What the runtime's own evidence says of an attempt; never an average, never the agent's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every check passed in this attempt, on a change as expected.
    Confirmed,
    /// Evidence refutes it, and the agent did not claim to be done.
    Failed,
    /// Evidence refutes it although the agent said it was done.
    FalseDone,
    /// Nothing could be checked.
    Unverifiable,
}

impl Verdict {
    /// The word used in files and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Failed => "failed",
            Self::FalseDone => "false_done",
            Self::Unverifiable => "unverifiable",
        }
    }
}

/// What a confirmation rests on; the two are counted apart everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// A check that was red at the base is green now.
    TurnedGreen,
    /// Every check was green before and is green still.
    StayedGreen,
}

impl Proof {
    /// The word used in files and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TurnedGreen => "turned_green",
            Self::StayedGreen => "stayed_green",
        }
    }
}
