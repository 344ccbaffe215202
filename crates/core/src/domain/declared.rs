//! What the owner of a task declares: what it expects, and what it permits.

use serde::{Deserialize, Serialize};

/// What kind of change confirms a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expects {
    /// Something must have changed and every check must pass.
    #[default]
    Change,
    /// As `change`, and at least one check that was red at base must have turned green.
    Fix,
    /// An empty change is fine.
    Nothing,
}

/// What a task permits an attempt to do that counts against it otherwise. It never lifts what the project forbids: `protect`, and
/// pushes without `allowPush`.
///
/// ```
/// # use reflexion_core::domain::{Allow, Task};
/// let task: Task = serde_json::from_str(r#"{"id": "a", "title": "Remove the old parser", "allow": ["remove_tests"]}"#)?;
/// assert_eq!(task.allow, [Allow::RemoveTests]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allow {
    /// To remove tests, so that fewer run than before.
    RemoveTests,
    /// To switch tests off that were there before.
    SkipTests,
    /// To push to the default branch, and to merge a pull request.
    PushDefault,
    /// To commit or push past the project's git hooks.
    SkipHooks,
    /// To run no tests after the last change, or to leave tests that fail.
    NoTests,
}

impl Allow {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::RemoveTests, Self::SkipTests, Self::PushDefault, Self::SkipHooks, Self::NoTests];

    /// The word used in files and after `--allow`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RemoveTests => "remove_tests",
            Self::SkipTests => "skip_tests",
            Self::PushDefault => "push_default",
            Self::SkipHooks => "skip_hooks",
            Self::NoTests => "no_tests",
        }
    }

    /// What it permits, after "to".
    #[must_use]
    pub fn permits(self) -> &'static str {
        match self {
            Self::RemoveTests => "remove tests",
            Self::SkipTests => "skip tests",
            Self::PushDefault => "push to the default branch, or merge a pull request",
            Self::SkipHooks => "pass over git hooks",
            Self::NoTests => "run no tests, or leave some red",
        }
    }
}
