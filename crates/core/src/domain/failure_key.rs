//! What a failure is known by in the memory.

use serde::{Deserialize, Serialize};

/// What a failure is known by, without what changes from run to run: two equal keys are the same failure. One line of JSON holds it, and
/// whatever is missing in it is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FailureKey {
    /// `cargo`, `pytest`, …; `shell` where no tool was recognised.
    pub tool: String,
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// Error code or exception type of the first failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Failing tests by their ids, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// Every kind of exception or code that the error lines name, sorted, at most 8.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exceptions: Vec<String>,
    /// Places inside the project without their lines, the innermost first, at most 3: `src/pool.rs`, `calc.py in add`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<String>,
    /// Lines that say what is wrong, without what changes from run to run; at most 40 of at most 240 bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Tests fail.
    Tests,
    /// A compiler, a linter or a program names what is wrong.
    Errors,
    /// The machine or its limits ended the check: time, memory, disk. It says nothing about the work, and is never matched.
    Machine,
    /// Nothing more is known.
    #[default]
    #[serde(other)]
    Unknown,
}

impl FailureKey {
    /// Nothing is known by which it could be found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty() && self.code.is_none() && self.frames.is_empty() && self.lines.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_another_version_is_read_as_far_as_it_is_known() {
        let read: FailureKey = serde_json::from_str(r#"{"kind":"weather","tool":"go","later":[1]}"#).unwrap();
        assert_eq!((read.kind, read.tool.as_str()), (FailureKind::Unknown, "go"));
    }
}
