//! What is kept between the hooks of a session.

use crate::domain::Timestamp;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;

/// A session, as its file says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Session {
    /// What was there when it began; none if no hook was called then.
    pub start: Option<Start>,
    /// Its newest record.
    pub last: Option<Last>,
    /// How often it was sent back to work.
    #[serde(default)]
    pub gated: Option<Gated>,
}

/// What was there when a session began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    /// The commit that was checked out; none if there was none yet.
    pub head: Option<String>,
    /// Files that were dirty before the agent touched anything, with what tells whether they changed since.
    pub dirty: BTreeMap<String, Option<String>>,
    /// When.
    pub at: Timestamp,
}

/// The newest record of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Last {
    /// The record's file name.
    pub record: String,
    /// What the record was made of: the same again needs no second record.
    pub state: String,
    /// What told the stop's prompt from the ones before.
    pub turn: String,
    /// How often this stop was captured.
    pub captures: u32,
}

/// How often the agent was sent back to work at one task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Gated {
    /// What tells the task from the ones before: the user's prompt.
    pub task: String,
    /// How often.
    pub blocks: u32,
    /// What it was sent back for, with what the work looked like.
    pub states: Vec<String>,
}
