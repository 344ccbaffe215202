//! What an experiment came to.

use serde::Serialize;

/// Whether the kill condition was met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The idea is dropped; none if there is nothing to decide on, which is never a pass.
    pub killed: Option<bool>,
    /// The 95 % interval leaves no doubt: all of it lies on the side that was decided for.
    pub conclusive: bool,
    /// Why, in words.
    pub because: String,
}

impl Decision {
    /// There is too little to decide on.
    pub(super) fn open(because: impl Into<String>) -> Self {
        Self { killed: None, conclusive: false, because: because.into() }
    }

    /// Some words, for people.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match (self.killed, self.conclusive) {
            (Some(true), true) => "KILLED",
            (Some(true), false) => "KILLED, though not beyond doubt",
            (Some(false), true) => "not killed",
            (Some(false), false) => "not killed, though not beyond doubt",
            (None, _) => "not decided",
        }
    }
}
