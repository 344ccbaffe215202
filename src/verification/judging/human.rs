//! What only a person can do.

/// Who must do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Only a person: consent, a second factor, credentials, an approval, an upload.
    Person,
    /// The agent itself.
    Agent,
}

/// A list of open work, by who must do it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Split {
    /// What the agent can do itself.
    pub agent: Vec<String>,
    /// What only a person can do.
    pub person: Vec<String>,
}

/// Who must do an item of a list of open work.
#[must_use]
pub fn who_acts(_item: &str) -> Who {
    Who::Agent
}

/// A list of open work, by who must do it; the order stays.
#[must_use]
pub fn split<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Split {
    let mut split = Split::default();
    for item in items {
        let item = item.as_ref();
        match who_acts(item) {
            Who::Person => split.person.push(item.to_owned()),
            Who::Agent => split.agent.push(item.to_owned()),
        }
    }
    split
}
