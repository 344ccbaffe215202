//! Healing: what can be wrong with a workspace, and the few things that are done about it.

use serde::{Deserialize, Serialize};

/// What is wrong with a workspace, as its detector saw it. Never anything about the work in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Symptom {
    /// `setup` ended with something else than 0 (well) or 2 (warnings).
    SetupFailed,
    /// A check says something else of the base than it did, or cannot be started there.
    DependenciesMissing,
    /// The files cannot be put back to a recorded tree.
    FilesBroken,
    /// git refuses, and a lock of its own stands where only the run writes, whose owner is gone.
    StaleLock,
}

impl Symptom {
    /// What is done about it.
    #[must_use]
    pub fn spell(self) -> Spell {
        match self {
            Self::SetupFailed | Self::DependenciesMissing => Spell::SetUpAgain,
            Self::FilesBroken => Spell::MakeAnew,
            Self::StaleLock => Spell::Unlock,
        }
    }

    /// In a few words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SetupFailed => "setup failed",
            Self::DependenciesMissing => "something is missing that the checks need",
            Self::FilesBroken => "the files could not be put back",
            Self::StaleLock => "a lock was left behind",
        }
    }
}

/// What is done to a workspace so that what failed in it can be done once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spell {
    /// Whatever `setup` left is removed, carried things are brought in anew, and `setup` runs once more.
    SetUpAgain,
    /// The whole workspace is made anew from what is recorded.
    MakeAnew,
    /// Locks that git left where only the run writes are removed, if their owner is gone.
    Unlock,
}

impl Spell {
    /// In a few words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SetUpAgain => "set up again",
            Self::MakeAnew => "made anew",
            Self::Unlock => "lock removed",
        }
    }
}

/// What came of a spell: what had failed was done once more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum HealOutcome {
    /// It went well this time.
    Healed {
        /// What was done to the workspace, in words.
        did: Vec<String>,
    },
    /// It did not.
    NotHealed {
        /// Why, in words.
        because: String,
    },
}
