//! What is kept between the hooks of a session.

use crate::domain::{ReflectionId, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A session, as its file says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Session {
    /// What was there when it began; none if no hook was called then.
    pub start: Option<Start>,
    /// What tells the project's settings of then from others; none if no hook was called then.
    #[serde(default)]
    pub rules: Option<String>,
    /// Its newest record.
    pub last: Option<Last>,
    /// How often it was sent back to work.
    #[serde(default)]
    pub gated: Option<Gated>,
    /// The lessons that it was given, and those that were held out.
    #[serde(default)]
    pub given: Vec<ReflectionId>,
    /// How often lessons fitted: each time is a moment of the record.
    #[serde(default)]
    pub moments: u32,
    /// The moments of which it is not known yet how they ended.
    #[serde(default)]
    pub open: Vec<OpenMoment>,
}

/// A moment in which lessons fitted, and were shown or held out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OpenMoment {
    /// From 1.
    pub number: u32,
    /// The digest of the command that had failed, if one had: how it runs the next time is how the moment ended.
    #[serde(default)]
    pub command: Option<String>,
}

impl Session {
    /// Without what no hook of ours wrote: the file lies where the agent may write, and git is called with the commit,
    /// and a record is removed by its name.
    pub fn trusted(self) -> Self {
        let is_commit = |head: &String| matches!(head.len(), 40 | 64) && head.bytes().all(|b| b.is_ascii_hexdigit());
        Self {
            start: self.start.filter(|start| start.head.as_ref().is_none_or(is_commit)),
            last: self.last.filter(|last| is_record(&last.record)),
            ..self
        }
    }
}

/// Whether this is the name of a record, and not a path to somewhere else.
pub(super) fn is_record(name: &str) -> bool {
    Path::new(name).file_name() == Some(name.as_ref()) && name.ends_with(".reflection.json")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_commit_and_a_record_are_trusted() {
        let check = |head: Option<&str>, record: &str, expected: (bool, bool)| {
            let start = Start { head: head.map(str::to_owned), dirty: BTreeMap::new(), at: Timestamp::UNIX_EPOCH };
            let last = Last { record: record.to_owned(), state: String::new(), turn: String::new(), captures: 1 };
            let kept = Session { start: Some(start), last: Some(last), ..Session::default() }.trusted();
            assert_eq!((kept.start.is_some(), kept.last.is_some()), expected, "{head:?} {record}");
        };
        check(None, "s-1.reflection.json", (true, true));
        check(Some(&"0a".repeat(20)), "s", (true, false));
        check(Some(&"0a".repeat(32)), "/x/s.reflection.json", (true, false));
        check(Some("--output=/x"), "../s.reflection.json", (false, false));
        check(Some(&format!("--output={}", "a".repeat(31))), "./s.reflection.json", (false, false));
        check(Some("HEAD"), "a/../s.reflection.json", (false, false));
        check(Some(""), "", (false, false));
        check(Some(&"0a".repeat(21)), "s.reflection.json/", (false, false));
    }
}
