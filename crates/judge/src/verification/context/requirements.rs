//! What must be there before a task counts as done.

use super::RepositorySignals;
use super::words::{Word, sentences};
use crate::domain::policy::{Required, Workflow};
use crate::domain::{Expects, TaskType};
use crate::verification::commands::{CommandKind, runs};

/// What must be there, each with the reason in words where it is required.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requirements {
    /// Something is changed.
    pub change: Option<String>,
    /// Tests ran after the last change, and passed.
    pub tests: Option<String>,
    /// Why tests would be required if the task's words did not read as if they need not run. A person decides, not the words.
    pub tests_excused: Option<String>,
    /// The task's words say that tests need not be run.
    pub says_no_tests: bool,
    /// The project's settings say so.
    pub declared_no_tests: bool,
    /// A build ran after the last change, and passed. Tests that had to compile first will do.
    pub build: Option<String>,
    /// A pull request.
    pub pull_request: Option<String>,
    /// Green CI on it.
    pub ci: Option<String>,
    /// The task says that the build is broken, so one that is red at the end is no old failure.
    pub broken_build: bool,
    /// The task is about what a linter, a formatter or a type checker says.
    pub style: bool,
    /// Why something that could be asked for here is not required, in words.
    pub waived: Vec<String>,
}

/// Declared requirements as they are; the others from the task's own words. `has_remote` is none where nobody looked.
///
/// Tests that the words do not ask for may still be required once code was changed: see [`Requirements::of_changed_code`].
#[must_use]
pub fn requirements(
    task: &str,
    kind: TaskType,
    expects: Option<Expects>,
    has_remote: Option<bool>,
    declared: Workflow,
) -> Requirements {
    let mut waived = Vec::new();
    let asked = Asked::of(task);
    let change = change(kind, expects);
    let tests = decided(declared.tests, "tests", &mut waived, || {
        if asked.no_tests {
            return Err("the task says that tests need not be run".to_owned());
        }
        let asks = asked.tests && expects != Some(Expects::Nothing) && change.is_some();
        Ok(asks.then(|| "the task asks for tests to be written or run".to_owned()))
    });
    let build = decided(declared.build, "build", &mut waived, || {
        let asks = asked.build && expects != Some(Expects::Nothing) && change.is_some();
        Ok(asks.then(|| "the task asks for a build".to_owned()))
    });
    let forge = |what: &str, asked: bool| match (asked, has_remote) {
        (false, _) => Ok(None),
        (true, Some(false)) => Err("the project has no remote".to_owned()),
        (true, _) => Ok(Some(format!("the task asks for {what}"))),
    };
    let pull_request =
        decided(declared.pull_request, "pull request", &mut waived, || forge("a pull request", asked.pull_request));
    let ci = decided(declared.ci, "CI", &mut waived, || forge("green CI", asked.ci));
    let Asked { broken_build, style, no_tests: says_no_tests, .. } = asked;
    let declared_no_tests = declared.tests == Required::No;
    Requirements {
        declared_no_tests,
        change,
        tests,
        tests_excused: None,
        says_no_tests,
        build,
        pull_request,
        ci,
        broken_build,
        style,
        waived,
    }
}

/// How the reason begins where nobody asked for tests.
const CODE_WAS_CHANGED: &str = "code was changed";

impl Requirements {
    /// Somebody asks for tests; they are not only required because code was changed.
    pub(in crate::verification) fn tests_are_asked(&self) -> bool {
        self.tests.as_ref().is_some_and(|why| !why.starts_with(CODE_WAS_CHANGED))
    }

    /// Code of the project was changed, and the project has tests: they have to run, unless the settings say otherwise. Where
    /// the task's words read as if they need not (it says so, is about style, or asks for no code), a person decides.
    pub fn of_changed_code(&mut self, signals: &RepositorySignals, kind: TaskType) {
        let Some(line) = signals.tests.first().filter(|_| !self.declared_no_tests && self.tests.is_none()) else {
            return;
        };
        let because = Some(format!("{CODE_WAS_CHANGED}, and the project has tests (`{line}`)"));
        if self.says_no_tests || self.style || matches!(kind, TaskType::Docs | TaskType::Ops) {
            self.tests_excused = because;
        } else {
            self.tests = because;
        }
    }
}

fn change(kind: TaskType, expects: Option<Expects>) -> Option<String> {
    match (expects, kind) {
        (Some(Expects::Nothing), _) => None,
        (Some(Expects::Change), _) => Some("the task expects a change".to_owned()),
        (Some(Expects::Fix), _) => Some("the task expects a fix".to_owned()),
        (None, TaskType::Coding) => Some("the task asks for code to be changed".to_owned()),
        (None, TaskType::Docs) => Some("the task asks for documents to be written".to_owned()),
        (None, TaskType::Research | TaskType::Ops | TaskType::Other) => None,
    }
}

/// What the settings say, else what is derived; an error is the reason why not.
fn decided(
    declared: Required,
    name: &str,
    waived: &mut Vec<String>,
    derive: impl FnOnce() -> Result<Option<String>, String>,
) -> Option<String> {
    match declared {
        Required::Yes => Some("the project's settings require it".to_owned()),
        Required::No => {
            waived.push(format!("{name}: the project's settings do not require it"));
            None
        }
        Required::Auto => derive().unwrap_or_else(|because| {
            waived.push(format!("{name}: {because}"));
            None
        }),
    }
}

/// Whether a task's words say that tests need not be run.
#[must_use]
pub(in crate::verification) fn asks_for_no_tests(task: &str) -> bool {
    Asked::of(task).no_tests
}

/// What a task's words ask for beside the change.
#[derive(Default)]
struct Asked {
    tests: bool,
    no_tests: bool,
    build: bool,
    broken_build: bool,
    style: bool,
    pull_request: bool,
    ci: bool,
}

impl Asked {
    fn of(task: &str) -> Self {
        let mut asked = Self::default();
        for sentence in sentences(task) {
            asked.sentence(&sentence);
        }
        asked
    }

    fn sentence(&mut self, sentence: &[Word<'_>]) {
        let words: Vec<&str> = sentence.iter().map(Word::text).collect();
        self.no_tests |= stops(sentence);
        self.commands(sentence, &words);
        for (at, word) in words.iter().enumerate() {
            let before = &words[at.saturating_sub(5)..at];
            let negated = before
                .iter()
                .any(|word| matches!(*word, "not" | "no" | "without" | "don't" | "dont" | "never" | "skip"));
            let with = |verbs: &[&str]| before.iter().any(|word| verbs.contains(word));
            match *word {
                "test" | "tests" if negated && with(&["run", "running", "skip", "without", "no"]) => {
                    self.no_tests = true;
                }
                "test" | "tests" | "spec" | "specs" | "coverage" if !negated => {
                    self.tests |= asks_for_tests(&words, at);
                }
                "build" | "builds" | "compile" | "compiles" | "compilation" => {
                    self.build |= !negated && asks_for_build(&words, at);
                    self.broken_build |= says_it_is_broken(&words, at);
                }
                _ if STYLE.contains(word) => self.style = true,
                "errors" | "error" | "checks" | "checker" if before.last() == Some(&"type") => self.style = true,
                "warning" | "warnings" if before.contains(&"compiler") => self.style = true,
                "pr" | "pull-request" | "mr" | "prs" if !negated => self.pull_request |= with(&OPENS),
                "request" | "requests" if !negated && matches!(before.last(), Some(&"pull" | &"merge")) => {
                    self.pull_request |= with(&OPENS);
                }
                "ci" | "checks" | "pipeline" | "actions" if !negated => {
                    let green = words[at..]
                        .iter()
                        .take(5)
                        .chain(before)
                        .any(|word| matches!(*word, "green" | "passes" | "pass" | "passing" | "succeeds"));
                    self.ci |= green
                        && (*word == "ci"
                            || before.contains(&"ci")
                            || words.contains(&"pr")
                            || words.contains(&"github"));
                }
                _ => {}
            }
        }
    }
}

/// "Stop, just tell me what you have": what was begun is left as it is. Not "Stop using moment".
fn stops(sentence: &[Word<'_>]) -> bool {
    let mut words = sentence.iter().skip_while(|word| matches!(word.text(), "please" | "ok" | "no" | "wait"));
    let Some(first) = words.next().filter(|word| matches!(word.text(), "stop" | "halt")) else { return false };
    first.ends_clause() || words.next().is_none_or(|next| matches!(next.text(), "here" | "now" | "please"))
}

impl Asked {
    /// Command lines among the words: "run pytest -q", "`make -C . -j4 build test` must pass".
    fn commands(&mut self, sentence: &[Word<'_>], words: &[&str]) {
        let wanted =
            words.iter().any(|word| ASKS.contains(word) || GREEN.contains(word) || matches!(*word, "run" | "with"));
        let negated = words.iter().any(|word| NOT.contains(word));
        for (at, word) in words.iter().enumerate() {
            if !PROGRAMS.contains(word) || !wanted && at > 0 {
                continue;
            }
            // "make the build faster" is English.
            let is_english = |next: &&str| {
                matches!(*next, "the" | "a" | "an" | "it" | "sure" | "all" | "our" | "this" | "to" | "that")
            };
            if *word == "make" && words.get(at + 1).is_some_and(is_english) {
                continue;
            }
            let line: Vec<&str> = sentence[at..].iter().map(Word::as_typed).take(12).collect();
            for run in runs(&line.join(" ")) {
                let (test, build) = (run.kind == CommandKind::Test, run.kind == CommandKind::Build);
                let both = *word == "make" && (test || build);
                let names = |name: &str| both && run.words.iter().any(|word| word == name);
                self.no_tests |= test && negated;
                self.tests |= (test || names("test")) && !negated;
                self.build |= (build || names("build")) && !negated;
            }
        }
    }
}

/// Linters, formatters and type checkers, and their business.
const STYLE: [&str; 24] = [
    "lint",
    "lints",
    "linter",
    "linting",
    "eslint",
    "stylelint",
    "flake8",
    "ruff",
    "pylint",
    "clippy",
    "shellcheck",
    "mypy",
    "pyright",
    "golangci-lint",
    "rubocop",
    "prettier",
    "isort",
    "gofmt",
    "rustfmt",
    "reformat",
    "checkstyle",
    "ktlint",
    "swiftlint",
    "sonar",
];

/// Programs that test or build.
const PROGRAMS: [&str; 22] = [
    "make", "npm", "pnpm", "yarn", "bun", "cargo", "go", "pytest", "jest", "vitest", "mocha", "tox", "nox", "mvn",
    "gradle", "gradlew", "dotnet", "rspec", "ctest", "phpunit", "bazel", "just",
];
const NOT: [&str; 8] = ["not", "no", "without", "don't", "dont", "never", "skip", "needn't"];
/// Words that make a demand of what follows.
const ASKS: [&str; 18] = [
    "make", "ensure", "must", "should", "sure", "until", "so", "keep", "get", "verify", "check", "need", "needs",
    "confirm", "have", "has", "leave", "validate",
];
const GREEN: [&str; 10] =
    ["pass", "passes", "passing", "green", "succeed", "succeeds", "succeeding", "work", "works", "clean"];
/// What stands between a verb and the tests.
const KINDS_OF_TESTS: [&str; 40] = [
    "the",
    "a",
    "an",
    "all",
    "any",
    "some",
    "new",
    "more",
    "its",
    "their",
    "our",
    "your",
    "my",
    "existing",
    "missing",
    "corresponding",
    "relevant",
    "unit",
    "integration",
    "regression",
    "e2e",
    "end-to-end",
    "full",
    "whole",
    "entire",
    "appropriate",
    "additional",
    "necessary",
    "basic",
    "simple",
    "good",
    "complete",
    "comprehensive",
    "those",
    "these",
    "failing",
    "also",
    "of",
    "few",
    "property",
];
/// What makes another thing of a test: "the test environment".
const NOT_TESTS: [&str; 30] = [
    "environment",
    "env",
    "url",
    "server",
    "data",
    "user",
    "users",
    "account",
    "plan",
    "page",
    "fixture",
    "fixtures",
    "file",
    "files",
    "directory",
    "folder",
    "dir",
    "dependency",
    "dependencies",
    "framework",
    "runner",
    "script",
    "config",
    "configuration",
    "database",
    "db",
    "report",
    "reports",
    "helper",
    "helpers",
];

/// Whether the word at this place is about tests that are to be written or run.
fn asks_for_tests(words: &[&str], at: usize) -> bool {
    let after = |n: usize| words.get(at + n).copied().unwrap_or_default();
    if NOT_TESTS.contains(&after(1)) || after(1) == "suite" && NOT_TESTS.contains(&after(2)) {
        return false;
    }
    let green =
        words[at + 1..].iter().take(5).any(|word| GREEN.contains(word) && !matches!(*word, "work" | "works" | "clean"));
    if green && words.iter().any(|word| ASKS.contains(word)) {
        return true;
    }
    let mut before = words[..at].iter().rposition(|word| !KINDS_OF_TESTS.contains(word));
    let joined = before.is_some_and(|i| matches!(words[i], "and" | "with" | "including" | "include" | "plus"));
    let makes = |i: usize| matches!(words[i], "add" | "write" | "implement" | "create" | "extend" | "build");
    if joined && words[..at].first().is_some_and(|_| makes(0)) {
        return true;
    }
    // "and" or "or" before: what stands before that is the verb.
    if before.is_some_and(|i| matches!(words[i], "then" | "again" | "just")) {
        before = before.and_then(|i| i.checked_sub(1));
    }
    let Some(verb) = before else { return false };
    // "I will write the tests later", "how we run the tests".
    let told = words[verb.saturating_sub(2)..verb].iter().any(|word| {
        matches!(
            *word,
            "i" | "i'll" | "we'll" | "they" | "he" | "she" | "who" | "how" | "which" | "somebody" | "someone"
        )
    });
    matches!(
        words[verb],
        "add"
            | "write"
            | "run"
            | "rerun"
            | "re-run"
            | "execute"
            | "update"
            | "extend"
            | "include"
            | "adding"
            | "running"
            | "writing"
            | "with"
    ) && !told
}

/// Whether the word at this place asks for a build: "make sure it compiles", "run the build", "the build must pass".
fn asks_for_build(words: &[&str], at: usize) -> bool {
    let before = &words[at.saturating_sub(6)..at];
    let last =
        before.iter().rev().find(|word| !matches!(**word, "the" | "a" | "full" | "whole" | "production" | "release"));
    if matches!(last, Some(&"run" | &"rerun" | &"re-run")) {
        return !matches!(
            words.get(at + 1),
            Some(&("script" | "server" | "container" | "image" | "pipeline" | "step"))
        );
    }
    let demands = before.iter().any(|word| {
        matches!(*word, "sure" | "ensure" | "must" | "should" | "verify" | "check" | "confirm" | "still" | "keep")
    });
    // "make the project compile with GCC 14", not "make the release build faster".
    let caused = before.iter().any(|word| matches!(*word, "make" | "get" | "have" | "let"));
    let ends = words.get(at + 1).is_none_or(|next| AFTER_A_VERB.contains(next));
    let thing = before.last().is_none_or(|word| BEFORE_A_BUILD.contains(word));
    if caused && ends && !thing && matches!(words[at], "compile" | "build") {
        return true;
    }
    match words[at] {
        "builds" | "compiles" | "compile" => demands,
        _ => {
            let after: Vec<&str> = words[at + 1..].iter().take(4).copied().collect();
            let green = after.iter().any(|word| GREEN.contains(word));
            green && (demands || after.iter().any(|word| ASKS.contains(word)))
        }
    }
}

/// What may follow a verb that has no object.
const AFTER_A_VERB: [&str; 14] =
    ["with", "on", "under", "for", "without", "again", "in", "against", "using", "cleanly", "from", "and", "as", "to"];
/// What stands before a build that is a thing.
const BEFORE_A_BUILD: [&str; 16] = [
    "the",
    "a",
    "an",
    "our",
    "my",
    "this",
    "make",
    "get",
    "docker",
    "ci",
    "production",
    "release",
    "nightly",
    "debug",
    "docs",
    "image",
];

/// Whether it is said of the build at this place that it fails, or that it is to be mended.
fn says_it_is_broken(words: &[&str], at: usize) -> bool {
    const FAILS: [&str; 12] = [
        "fails", "failing", "failed", "fail", "broken", "breaks", "broke", "red", "error", "errors", "failure",
        "failures",
    ];
    const MENDS: [&str; 6] = ["fix", "repair", "unbreak", "mend", "restore", "working"];
    const NEGATED: [&str; 8] = ["not", "doesn't", "doesnt", "won't", "wont", "can't", "cannot", "fails"];
    let near = |list: &[&str], words: &[&str]| words.iter().any(|word| list.contains(word));
    let before = &words[at.saturating_sub(4)..at];
    let after = &words[at + 1..words.len().min(at + 4)];
    near(&NEGATED, &before[before.len().saturating_sub(2)..]) || near(&FAILS, after) || near(&MENDS, before)
}

/// Verbs that ask for a pull request.
const OPENS: [&str; 12] =
    ["open", "create", "make", "submit", "raise", "send", "file", "put", "draft", "as", "via", "through"];
