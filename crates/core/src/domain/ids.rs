//! Identifiers: strings that say what they identify.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// An id that the task file may not contain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("id {id:?} is not allowed: {rule}")]
pub struct IdError {
    /// The refused text.
    pub id: String,
    rule: &'static str,
}

/// Ids become file and branch names, so only `[A-Za-z0-9][A-Za-z0-9._-]{0,63}` is let in; what git refuses in a
/// branch name (`..`, a trailing `.` or `.lock`) is refused here too, before an agent was paid.
fn check_id(id: &str) -> Result<(), IdError> {
    let fits = (1..=64).contains(&id.len())
        && id.as_bytes()[0].is_ascii_alphanumeric()
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    let rule = if !fits {
        "ids are 1 to 64 of `A-Z a-z 0-9 . _ -` and start with a letter or digit"
    } else if id.contains("..") || id.ends_with('.') || id.ends_with(".lock") {
        "a branch is named after it, and git allows no `..` in a branch's name, and no `.` or `.lock` at its end"
    } else {
        return Ok(());
    };
    Err(IdError { id: id.to_owned(), rule })
}

macro_rules! checked_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Takes an id that fits `[A-Za-z0-9][A-Za-z0-9._-]{0,63}` and can stand in a branch name.
            ///
            /// # Errors
            /// [`IdError`] with the text that does not fit.
            pub fn new(id: impl Into<String>) -> Result<Self, IdError> {
                let id = id.into();
                check_id(&id)?;
                Ok(Self(id))
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(id: String) -> Result<Self, IdError> {
                Self::new(id)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

impl RunId {
    /// The file in a run's directory that its process touches as long as it lives.
    pub const ALIVE: &'static str = "alive";
}

macro_rules! plain_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes the id as it is.
            pub fn new(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

checked_id! {
    /// A task's id, unique in its task file.
    ///
    /// ```
    /// # use reflexion_core::domain::TaskId;
    /// assert!(TaskId::new("fix-login.2").is_ok());
    /// assert!(TaskId::new("../../x").is_err());
    /// ```
    TaskId
}
checked_id! {
    /// A subtask's id; a task that is not decomposed has one subtask with the task's own id.
    SubtaskId
}
checked_id! {
    /// One call of the orchestrator, e.g. `20261121-223344-5f2a`; part of branch and directory names.
    RunId
}
plain_id! {
    /// One agent run's own conversation.
    SessionId
}
plain_id! {
    /// A stored reflection, e.g. `ref-0199…`; any text, because imported files bring their own.
    ReflectionId
}

impl From<&TaskId> for SubtaskId {
    fn from(task: &TaskId) -> Self {
        Self(task.0.clone())
    }
}

impl SessionId {
    /// The whole id as a part of a file's name. Sessions of the runtime are UUIDs; an id from elsewhere that is no plain
    /// file name is hashed.
    ///
    /// ```
    /// # use reflexion_core::domain::SessionId;
    /// assert_eq!(SessionId::new("0199-ab").file_name(), "0199-ab");
    /// assert!(SessionId::new("../../x").file_name().starts_with("h-"));
    /// ```
    #[must_use]
    pub fn file_name(&self) -> String {
        let id = self.as_str();
        let plain = (1..=128).contains(&id.len())
            && !id.starts_with('.')
            && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        if plain { id.to_owned() } else { format!("h-{:x}", Sha256::digest(id.as_bytes())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_are_safe_in_paths_and_branches_are_ids() {
        for good in ["a", "7", "Fix_the-thing.2", &"x".repeat(64)] {
            assert!(TaskId::new(good).is_ok(), "{good}");
        }
        for bad in
            ["", ".", "..", "../../x", "a/b", "-a", ".a", "a b", "ä", "a..b", "a.", "a.lock", "a\n", &"x".repeat(65)]
        {
            assert_eq!(TaskId::new(bad).map_err(|error| error.id), Err(bad.to_owned()));
        }
        for of_git in ["a..b", "a.", "a.lock"] {
            assert!(
                TaskId::new(of_git).is_err_and(|error| error.to_string().contains("git allows no `..`")),
                "{of_git}"
            );
        }
    }

    #[test]
    fn a_bad_id_in_json_is_refused_with_its_text() {
        let error = serde_json::from_str::<TaskId>(r#""../x""#).unwrap_err();
        assert!(error.to_string().contains(r#""../x""#), "{error}");
    }
}
