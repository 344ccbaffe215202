//! A file of the workspace as the agent reads it: tokens, and the units (functions, constants) that they stand in.

use super::outline;
use super::token::{Kind, Language, Token, tokens};
use std::ops::Range;

/// A file, relative to the directory the agent works in, with `/` between its parts.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: String,
    pub(super) text: String,
    pub(super) language: Language,
    pub(super) tokens: Vec<Token>,
    /// The first unit is the whole file; later ones lie in it and may nest.
    pub(super) units: Vec<Unit>,
    /// For each token its innermost unit.
    pub(super) unit_of: Vec<usize>,
    /// Never edited: a test, or something only tests use.
    pub(super) is_test: bool,
}

/// A part of a file that has a name others use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) name: String,
    /// The class or `impl` it stands in.
    pub(super) owner: Option<String>,
    pub(super) kind: UnitKind,
    /// Which tokens.
    pub(super) tokens: Range<usize>,
    /// Where its signature ends and its body begins.
    pub(super) body: usize,
    pub(super) is_test: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitKind {
    File,
    Function,
    Class,
    /// A module's or class's own variable or constant.
    Value,
}

impl Source {
    pub(super) fn new(path: String, text: String, language: Language) -> Self {
        let tokens = tokens(&text, language);
        let is_test = looks_like_a_test(&path);
        let mut units = outline::units(&text, &tokens, language);
        let mut unit_of = vec![0; tokens.len()];
        for (number, unit) in units.iter_mut().enumerate() {
            unit.is_test |= is_test;
            unit_of[unit.tokens.clone()].fill(number);
        }
        Self { path, text, language, tokens, units, unit_of, is_test }
    }

    /// The text of a token; nothing past the file's ends.
    pub(super) fn word(&self, index: usize) -> &str {
        self.tokens.get(index).map_or("", |t| match t.kind {
            Kind::Newline => "\n",
            _ => &self.text[t.start..t.end],
        })
    }

    pub(super) fn kind(&self, index: usize) -> Option<Kind> {
        self.tokens.get(index).map(|t| t.kind)
    }

    /// The whole line, counted from 1.
    pub(super) fn line(&self, number: u32) -> &str {
        self.text.lines().nth(number.saturating_sub(1) as usize).unwrap_or("")
    }

    /// The first token of the logical line (Python) or line that a token stands in.
    pub(super) fn line_start(&self, index: usize) -> usize {
        let line = self.tokens[index].line;
        (0..index)
            .rev()
            .take_while(|i| {
                if self.language == Language::Python {
                    self.tokens[*i].kind != Kind::Newline
                } else {
                    self.tokens[*i].line == line
                }
            })
            .last()
            .unwrap_or(index)
    }

    /// How far a token is indented, in bytes.
    pub(super) fn column(&self, index: usize) -> usize {
        let start = self.tokens[index].start;
        start - self.text[..start].rfind('\n').map_or(0, |at| at + 1)
    }
}

/// Directories that hold tests, or code that only shows how to use other code.
const TEST_DIRECTORIES: [&str; 10] =
    ["tests", "test", "testing", "__tests__", "spec", "specs", "fixtures", "examples", "benches", "e2e"];

/// Whether a path is a test's or a test helper's by its name alone.
pub(super) fn looks_like_a_test(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    directories.split('/').any(|d| TEST_DIRECTORIES.contains(&d))
        || ["conftest", "test", "tests", "setup", "noxfile", "build"].contains(&stem)
        || stem.starts_with("test_")
        || ["_test", "_tests", ".test", ".spec", "_spec"].iter().any(|end| stem.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_their_names() {
        for test in [
            "tests/a.py",
            "src/test_a.py",
            "a_test.go",
            "x/a.spec.ts",
            "conftest.py",
            "a.test.js",
            "src/tests.rs",
            "TEST/a.py",
        ] {
            assert!(looks_like_a_test(test), "{test}");
        }
        for source in ["src/a.py", "contest.py", "latest/a.rs", "testimony.go", "src/attest.ts"] {
            assert!(!looks_like_a_test(source), "{source}");
        }
    }
}
