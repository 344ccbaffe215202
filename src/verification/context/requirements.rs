//! What must be there before a task counts as done.

use super::RepositorySignals;
use super::words::Word;
use super::words::sentences;
use crate::domain::Expects;
use crate::domain::TaskType;
use crate::domain::policy::Required;
use crate::domain::policy::Workflow;

/// What must be there, each with the reason in words where it is required.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requirements {
    /// Something is changed.
    pub change: Option<String>,
    /// Tests ran after the last change, and passed.
    pub tests: Option<String>,
    /// A build ran after the last change, and passed. Tests that had to compile first will do.
    pub build: Option<String>,
    /// A pull request.
    pub pull_request: Option<String>,
    /// Green CI on it.
    pub ci: Option<String>,
    /// Why something that could be asked for here is not required, in words.
    pub waived: Vec<String>,
}

/// Declared requirements as they are; the others from the task and the project. `has_remote` is none where nobody looked.
#[must_use]
pub fn requirements(
    task: &str,
    kind: TaskType,
    expects: Option<Expects>,
    signals: &RepositorySignals,
    has_remote: Option<bool>,
    declared: Workflow,
) -> Requirements {
    let mut waived = Vec::new();
    let asked = Asked::of(task);
    let change = change(kind, expects);
    let changes_code = change.is_some() && kind == TaskType::Coding;
    let tests = decided(declared.tests, "tests", &mut waived, || {
        if asked.no_tests {
            return Err("the task says that tests need not be run".to_owned());
        }
        match signals.tests.first() {
            Some(line) if changes_code => {
                Ok(Some(format!("code is to be changed, and the project has tests (`{line}`)")))
            }
            _ if asked.tests && expects != Some(Expects::Nothing) && change.is_some() => {
                Ok(Some("the task asks for tests to be written or run".to_owned()))
            }
            None if changes_code => Err("the project has no tests that could be found".to_owned()),
            _ => Ok(None),
        }
    });
    let build = decided(declared.build, "build", &mut waived, || {
        Ok(signals
            .builds
            .first()
            .filter(|_| changes_code)
            .map(|line| format!("code is to be changed, and the project is built (`{line}`)")))
    });
    let forge = |what: &str, asked: bool| match (asked, has_remote) {
        (false, _) => Ok(None),
        (true, Some(false)) => Err("the project has no remote".to_owned()),
        (true, _) => Ok(Some(format!("the task asks for {what}"))),
    };
    let pull_request =
        decided(declared.pull_request, "pull request", &mut waived, || forge("a pull request", asked.pull_request));
    let ci = decided(declared.ci, "CI", &mut waived, || forge("green CI", asked.ci));
    Requirements { change, tests, build, pull_request, ci, waived }
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

/// What `project.json` says, else what is derived; an error is the reason why not.
fn decided(
    declared: Required,
    name: &str,
    waived: &mut Vec<String>,
    derive: impl FnOnce() -> Result<Option<String>, String>,
) -> Option<String> {
    match declared {
        Required::Yes => Some("project.json requires it".to_owned()),
        Required::No => {
            waived.push(format!("{name}: project.json does not require it"));
            None
        }
        Required::Auto => derive().unwrap_or_else(|because| {
            waived.push(format!("{name}: {because}"));
            None
        }),
    }
}

/// What a task's words ask for beside the change.
#[derive(Default)]
struct Asked {
    tests: bool,
    no_tests: bool,
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
        for (at, word) in words.iter().enumerate() {
            let before = &words[at.saturating_sub(5)..at];
            let after = words.get(at + 1).copied().unwrap_or_default();
            let negated = before
                .iter()
                .any(|word| matches!(*word, "not" | "no" | "without" | "don't" | "dont" | "never" | "skip"));
            let with = |verbs: &[&str]| before.iter().any(|word| verbs.contains(word));
            match *word {
                "test" | "tests" if negated && with(&["run", "running", "skip", "without", "no"]) => {
                    self.no_tests = true;
                }
                "test" | "tests" | "spec" | "specs" | "coverage" if !negated => {
                    self.tests |= with(&[
                        "add", "write", "run", "update", "with", "include", "extend", "the", "all", "make", "unit",
                    ]) && (with(&["add", "write", "run", "update", "include", "extend", "make", "with"])
                        || after.starts_with("pass"));
                }
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

/// Verbs that ask for a pull request.
const OPENS: [&str; 12] =
    ["open", "create", "make", "submit", "raise", "send", "file", "put", "draft", "as", "via", "through"];
