//! Which gate would have caught what a repair repairs; a documented rule, not a judgement.
//!
//! In doubt it is a gate that exists already: what is left for self-reflection is what nothing here explains. The rules
//! stand in the order of `docs/analyze.md`, the first one that holds decides.

use super::paths::{FileKind, kind};
use super::repair::{RepairKind, conventional};
use super::words::words;
use crate::domain::Commit;
use serde::Serialize;

/// A gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// A machine: compiler, linter, tests.
    Ci,
    /// A second reader of the change.
    Review,
    /// Nobody but whoever wrote it.
    SelfReflection,
}

impl Gate {
    /// All of them, in the order in which the rule asks.
    pub const ALL: [Self; 3] = [Self::Ci, Self::Review, Self::SelfReflection];

    /// The word used in files and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ci => "ci",
            Self::Review => "review",
            Self::SelfReflection => "self_reflection",
        }
    }
}

/// What a machine says no to.
const CI_WORDS: [&str; 44] = [
    "build",
    "builds",
    "ci",
    "clippy",
    "compilation",
    "compile",
    "compiler",
    "compiles",
    "dependencies",
    "dependency",
    "doctest",
    "doctests",
    "eslint",
    "flake8",
    "flaky",
    "fmt",
    "format",
    "formatting",
    "import",
    "imports",
    "lint",
    "linter",
    "linting",
    "lints",
    "lockfile",
    "msrv",
    "mypy",
    "pipeline",
    "prettier",
    "ruff",
    "rustfmt",
    "snapshot",
    "snapshots",
    "syntax",
    "test",
    "tests",
    "tsc",
    "type",
    "typecheck",
    "types",
    "typing",
    "warning",
    "warnings",
    "workflow",
];
/// What a reader of the change sees without running it.
const REVIEW_WORDS: [&str; 41] = [
    "accident",
    "accidental",
    "accidentally",
    "changelog",
    "cleanup",
    "comment",
    "comments",
    "copyright",
    "dead",
    "debug",
    "doc",
    "docs",
    "documentation",
    "docstring",
    "duplicate",
    "duplicated",
    "feedback",
    "grammar",
    "hardcoded",
    "leftover",
    "license",
    "link",
    "links",
    "mistake",
    "mistakenly",
    "name",
    "naming",
    "nit",
    "nits",
    "readme",
    "rename",
    "review",
    "reviewer",
    "secret",
    "spelling",
    "style",
    "typo",
    "typos",
    "unused",
    "unreviewed",
    "wording",
];
/// A repair of so many lines at most, all of them in files of the change, was before the reader's eyes.
const SMALL: u32 = 10;

/// The gate, and the rule that says so. `changed` says whether the change touched a file.
pub(super) fn gate(repair: &Commit, kind_of: RepairKind, changed: impl Fn(&str) -> bool) -> (Gate, &'static str) {
    // What a revert takes back says nothing about why; its reasons stand in its body, beside the quoted subject.
    let is_revert = kind_of == RepairKind::Revert;
    let said = if is_revert { words(&reasons(&repair.body)) } else { words(&repair.subject) };
    let says = |list: &[&str]| said.iter().any(|word| list.contains(&word.as_str()));
    let is = |wanted: FileKind| move |path: &str| kind(path) == wanted;
    let some = |test: &dyn Fn(&str) -> bool| repair.files.iter().any(|file| test(&file.path));
    let all =
        |test: &dyn Fn(&str) -> bool| !repair.files.is_empty() && repair.files.iter().all(|file| test(&file.path));
    let lower = repair.subject.to_lowercase();
    let (of_type, scope) = conventional(&lower).unwrap_or_default();
    let labelled = |word: &str| of_type == word || scope == Some(word);
    let machine = |path: &str| matches!(kind(path), FileKind::Test | FileKind::Build);
    let lines: u32 = repair.files.iter().map(|file| file.lines).sum();
    if !is_revert && ["ci", "build", "test", "tests", "style", "deps"].iter().any(|word| labelled(word)) {
        (Gate::Ci, "its type or scope is build, CI or tests")
    } else if says(&CI_WORDS) {
        (Gate::Ci, "its words are those of builds, linters or tests")
    } else if all(&machine) {
        (Gate::Ci, "it touches only tests and build files")
    } else if !is_revert && some(&machine) {
        (Gate::Ci, "it came with a test or a changed build: a machine can check it")
    } else if says(&REVIEW_WORDS) || (!is_revert && labelled("docs")) {
        (Gate::Review, "its words name what a reader sees")
    } else if all(&is(FileKind::Docs)) {
        (Gate::Review, "it touches only what people read")
    } else if !is_revert && lines <= SMALL && all(&changed) {
        (Gate::Review, "it is small and stays in the files of the change")
    } else {
        (Gate::SelfReflection, "nothing says that a machine or a reader would have seen it")
    }
}

/// A revert's body without what git writes into it.
fn reasons(body: &str) -> String {
    let own = |line: &&str| !line.trim_start().to_lowercase().starts_with("this reverts commit");
    let trailer =
        |line: &str| line.split_once(": ").is_some_and(|(key, _)| key.ends_with("-by") || key.ends_with("-id"));
    body.lines().filter(own).filter(|line| !trailer(&line.to_lowercase())).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::FileChange;

    fn check(expected: Gate, kind_of: RepairKind, subject: &str, body: &str, files: &[(&str, u32)]) {
        let files = files.iter().map(|(path, lines)| FileChange {
            path: (*path).to_owned(),
            lines: *lines,
            ..FileChange::default()
        });
        let commit =
            Commit { subject: subject.to_owned(), body: body.to_owned(), files: files.collect(), ..Commit::default() };
        let (gate, why) = gate(&commit, kind_of, |path| path == "src/a.rs");
        assert_eq!(gate, expected, "{subject}: {why}");
    }

    #[test]
    fn the_first_rule_that_holds_decides() {
        let fix = RepairKind::Fix;
        check(Gate::Ci, fix, "fix(ci): pin node", "", &[("src/b.rs", 90)]);
        check(Gate::Ci, fix, "Fix the build on Windows", "", &[("src/b.rs", 90)]);
        check(Gate::Ci, fix, "Fix crash", "", &[("tests/a.rs", 90), ("Cargo.toml", 1)]);
        check(Gate::Ci, fix, "Fix crash", "", &[("src/b.rs", 90), ("tests/b.rs", 9)]);
        check(Gate::Review, fix, "Fix typo in the prompt", "", &[("src/b.rs", 90)]);
        check(Gate::Review, fix, "Fix crash", "", &[("docs/a.md", 90)]);
        check(Gate::Review, fix, "Fix crash", "", &[("src/a.rs", 10)]);
        check(Gate::SelfReflection, fix, "Fix crash", "", &[("src/a.rs", 11)]);
        check(Gate::SelfReflection, fix, "Fix crash", "", &[("src/a.rs", 1), ("src/b.rs", 1)]);
        // Whole words: a contest is no test.
        check(Gate::SelfReflection, fix, "Fix the contest, latest rebuild", "", &[("src/b.rs", 1)]);
    }

    #[test]
    fn a_revert_is_read_for_its_reasons_and_not_for_what_it_takes_back() {
        let revert = RepairKind::Revert;
        let files: &[(&str, u32)] = &[("src/a.rs", 3), ("tests/a.rs", 3)];
        let body = "This reverts commit abcdef0.\nReviewed-by: Ann";
        check(Gate::SelfReflection, revert, "Revert \"Fix the build\"", body, files);
        check(Gate::Ci, revert, "Revert \"Add x\"", "This reverts commit abcdef0.\n\nThe tests fail on macOS.", files);
        check(Gate::Review, revert, "Revert \"Add x\"", "Merged by accident.", files);
        check(Gate::Ci, revert, "Revert \"Add x\"", body, &[(".github/workflows/ci.yml", 1)]);
    }
}
