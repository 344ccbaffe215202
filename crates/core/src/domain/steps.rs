//! What an agent did, in order, in short.

use serde::{Deserialize, Serialize};

/// A step of an agent: a file that it read or changed, or a command that it ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// What it did.
    pub did: Did,
    /// To what: a file, from the workspace's directory; or the command line. At most 200 bytes.
    pub what: String,
    /// The exit status of a command; none where the agent's records have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// How many times in a row.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub times: u32,
}

/// What a step was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Did {
    /// Read a file.
    Read,
    /// Changed a file.
    Edit,
    /// Ran a command.
    Run,
}

impl Did {
    /// The word used in prompts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edited",
            Self::Run => "ran",
        }
    }
}

fn once() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_once(times: &u32) -> bool {
    *times == 1
}
