//! Commits, as far as their history says what followed what.

use serde::Serialize;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A commit and what it changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commit {
    /// Its full id.
    pub id: String,
    /// The full ids of its parents; none of the first commit, more than one of a merge.
    pub parents: Vec<String>,
    /// When it was committed, in seconds since 1970.
    pub time: i64,
    /// The message's first line.
    pub subject: String,
    /// The rest of the message, cut after some KiB.
    pub body: String,
    /// What it changed; nothing of a merge, whose changes are those of the commits it brings.
    pub files: Vec<FileChange>,
}

/// What a commit changed in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileChange {
    /// The file; the new name where it was renamed.
    pub path: String,
    /// Fingerprints of the lines that were added.
    pub added: Vec<u64>,
    /// Fingerprints of the lines that were taken away, or stand beside what was only added.
    pub touched: Vec<u64>,
    /// How many lines were added or taken away.
    pub lines: u32,
}

/// How much of a repository's history there was to read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct HistoryExtent {
    /// Commits, with merges.
    pub commits: u64,
    /// The repository is a shallow clone: what came before is not there.
    pub shallow: bool,
}

/// What stands for a line when changes are compared: equal but for blanks is equal.
///
/// None for a line that says nothing about whose it is: without a letter or digit (blank lines, brackets), or with the
/// word `version`, which every release changes.
#[must_use]
pub fn line_fingerprint(line: &[u8]) -> Option<u64> {
    let says_something = line.iter().any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    let version = || line.windows(7).any(|word| word.eq_ignore_ascii_case(b"version"));
    if !says_something || version() {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    line.trim_ascii().hash(&mut hasher);
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::line_fingerprint;

    #[test]
    fn lines_are_compared_without_their_indentation() {
        assert_eq!(line_fingerprint(b"  return 1;\r"), line_fingerprint(b"return 1;"));
        assert_ne!(line_fingerprint(b"return 1;"), line_fingerprint(b"return 2;"));
        assert!(line_fingerprint("\u{e9}".as_bytes()).is_some());
        for nothing in ["", "  ", "});", "---", "version = \"1.2.0\"", "VERSION: 2"] {
            assert_eq!(line_fingerprint(nothing.as_bytes()), None, "{nothing}");
        }
    }
}
