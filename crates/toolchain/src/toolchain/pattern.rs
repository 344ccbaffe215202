//! Regular expressions of the table.

use regex::Regex;
use serde::Deserialize;
use std::sync::OnceLock;

/// A regular expression that is compiled when it is first needed: all of them take longer to compile than a transcript to
/// judge.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
pub(super) struct Pattern {
    text: String,
    regex: OnceLock<Option<Regex>>,
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self { text, regex: OnceLock::new() }
    }
}

impl Pattern {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// It is part of the program, and a test compiles every one.
    pub(super) fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| Regex::new(&self.text).ok()).as_ref()
    }

    pub(super) fn found_in<'l>(&self, line: &'l str) -> Option<&'l str> {
        Some(self.regex()?.find(line)?.as_str().trim())
    }

    pub(super) fn is_match(&self, line: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(line))
    }
}
