//! What only a person can do.

/// Who must do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Only a person: consent, a second factor, credentials, an approval, an upload.
    Person,
    /// The agent itself.
    Agent,
}

/// Who must do an item of a list of open work.
#[must_use]
pub fn who_acts(_item: &str) -> Who {
    Who::Agent
}
