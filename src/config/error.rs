//! What can be wrong with settings, said so that one can mend it.

use crate::domain::{COMMON_SETTINGS, OWN_SETTINGS};
use std::path::PathBuf;

/// Settings that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No `project.json` and no `reflexion.json`, or a `project.json` of another tool.
    #[error(
        "there is no {COMMON_SETTINGS} in {dir} with settings of reflexion, no {OWN_SETTINGS}, and none above it in its checkout; run \
         `reflexion init` there, or name the project with `--project DIR`",
        dir = dir.display()
    )]
    Missing {
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// The file cannot be read.
    #[error("failed to read {path}: {message}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        message: String,
    },
    /// The file is not JSON, or has a key or value that does not belong there.
    #[error("{file}:{line}:{column}: {message}")]
    File {
        /// The file, from the working directory or whole.
        file: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong, with the key, and what is meant perhaps.
        message: String,
    },
    /// A value from elsewhere (an environment variable, a flag) does not belong there, or values do not fit together.
    #[error("{origin}: {message}")]
    Value {
        /// The variable, flag or file.
        origin: String,
        /// What is wrong, with the key.
        message: String,
    },
}

/// The most similar of `known`, if one is similar enough to have been meant: two thirds of it are right.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let score = |k: &str| strsim::normalized_damerau_levenshtein(&word.to_lowercase(), &k.to_lowercase());
    let best = known.into_iter().map(|k| (score(k), k)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.6).then_some(best.1)
}
