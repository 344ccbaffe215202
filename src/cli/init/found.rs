//! What one toolchain needs at one place.

use crate::domain::{CheckCommand, CheckSpec};
use std::collections::BTreeMap;

/// A toolchain that was found, with what it needs. Commands and paths are relative to its place until
/// [`Found::moved_to`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Its name: `cargo`, `npm`, `python`.
    pub toolchain: &'static str,
    /// The package's directory, relative to the project; `.` for the project itself.
    pub place: String,
    /// What the runtime should run after an attempt.
    pub checks: Vec<CheckSpec>,
    /// Commands that make a new workspace ready, in order.
    pub setup: Vec<String>,
    /// Globs of untracked things that checks need.
    pub carry: Vec<String>,
    /// Environment of setup, agents and checks.
    pub env: BTreeMap<String, String>,
    /// Why all this, in sentences.
    pub why: Vec<String>,
}

impl Found {
    /// A toolchain that needs nothing yet.
    pub(super) fn new(toolchain: &'static str) -> Self {
        Self {
            toolchain,
            place: ".".to_owned(),
            checks: Vec::new(),
            setup: Vec::new(),
            carry: Vec::new(),
            env: BTreeMap::new(),
            why: Vec::new(),
        }
    }

    /// Adds a check with the usual time limit.
    pub(super) fn check(&mut self, name: &str, run: impl Into<String>) {
        let run = CheckCommand::Shell(run.into());
        self.checks.push(CheckSpec { name: name.to_owned(), run, timeout_ms: None, results: None });
    }

    /// Adds a sentence that says why.
    pub(super) fn because(&mut self, sentence: impl Into<String>) {
        self.why.push(sentence.into());
    }

    /// The same, seen from the project above: commands enter the package, paths and names are prefixed.
    #[must_use]
    pub(super) fn moved_to(mut self, place: &str) -> Self {
        for check in &mut self.checks {
            check.name = format!("{place}: {}", check.name);
            if let CheckCommand::Shell(line) = &check.run {
                check.run = CheckCommand::Shell(format!("cd {} && {line}", quoted(place)));
            }
        }
        for line in &mut self.setup {
            *line = format!("(cd {} && {line})", quoted(place));
        }
        for glob in &mut self.carry {
            *glob = format!("{}/{glob}", globset::escape(place));
        }
        place.clone_into(&mut self.place);
        self
    }
}

/// A word for `sh`, quoted only if it has to be.
pub(in crate::cli) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+@%:,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell_when_needed() {
        let check = |word: &str, expected: &str| assert_eq!(quoted(word), expected, "{word}");
        check("packages/a", "packages/a");
        check("my app", "'my app'");
        check("pytest>=8", "'pytest>=8'");
        check("it's", r"'it'\''s'");
        check("", "''");
    }
}
