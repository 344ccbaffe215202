//! The settings together, each with who set it.

use super::wire::ProjectFile;
use crate::domain::SHARED_SETTINGS;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

/// Where the settings come from.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// The directory with `project.json` or `reflexion.json`.
    pub dir: PathBuf,
    /// Environment variables.
    pub env: Vec<(String, String)>,
    /// Values set by flags.
    pub flags: Vec<Override>,
}

/// One key set from outside the files.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    /// The key's path, e.g. `reflexion.enabled`.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Who set it.
    pub origin: Origin,
}

/// Who set a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// A file, relative to the project.
    File(String),
    /// An environment variable.
    Environment(String),
    /// A flag.
    Flag(String),
}

impl Origin {
    /// The higher wins.
    pub(super) fn precedence(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::File(file) if file == SHARED_SETTINGS => 1,
            Self::File(_) => 2,
            Self::Environment(_) => 3,
            Self::Flag(_) => 4,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(file) => f.write_str(file),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}

/// The effective settings.
#[derive(Debug, Clone)]
pub struct Effective {
    /// The project's directory, absolute.
    pub dir: PathBuf,
    /// The file with its own settings, from there; the usual name where there is none.
    pub name: &'static str,
    /// All values together.
    pub(super) file: ProjectFile,
    /// Every value by its key, with who set it.
    pub values: BTreeMap<String, (Value, Origin)>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Whether the environment trusts what the files name, for this one call.
    pub is_trusted: bool,
}

impl Effective {
    /// The environment's variables that the settings name, because a secret stands in them: the keys for that end in `Env`.
    #[must_use]
    pub fn named_variables(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        self.values.iter().for_each(|(key, (value, _))| add_named_variables(key, value, &mut found));
        found
    }
}

fn add_named_variables(key: &str, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(name) if key.ends_with("Env") => _ = found.insert(name.clone()),
        // `headersEnv` has the variables by header.
        Value::Object(map) if key.ends_with("Env") => {
            found.extend(map.values().filter_map(Value::as_str).map(str::to_owned));
        }
        Value::Object(map) => map.iter().for_each(|(key, value)| add_named_variables(key, value, found)),
        Value::Array(values) => values.iter().for_each(|value| add_named_variables(key, value, found)),
        _ => {}
    }
}
