//! Checks that say now this, now that.

use serde::{Deserialize, Serialize};

/// A check that failed, and of which that says nothing about the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Flaky {
    /// The check's name.
    pub check: String,
    /// How that was found out.
    pub how: FlakyHow,
    /// The tests in it that failed once, where it is red still by others, which failed at the base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
}

/// How a check was found out not to say the same of the same files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlakyHow {
    /// It failed once and passed when it ran once more on the same files; it counts as green.
    PassedAgain,
    /// It passed at the base when the task began, and failed there when it ran there once more.
    FailsAtBase,
}

impl Flaky {
    /// One sentence without its end.
    #[must_use]
    pub fn words(&self) -> String {
        let how = match self.how {
            FlakyHow::PassedAgain => "failed once, and passed when it ran once more on the same files",
            FlakyHow::FailsAtBase => {
                "fails at the base too by now, where it passed before: it is flaky, or something around the files is gone"
            }
        };
        let check = &self.check;
        match self.tests.as_slice() {
            [] => format!("check `{check}` {how}"),
            [test] => format!("test `{test}` in check `{check}` {how}"),
            [test, more @ ..] => format!("tests `{test}` and {} more in check `{check}` {how}", more.len()),
        }
    }
}
