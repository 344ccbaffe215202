//! Scripts and settings that run the tests, made to succeed always or to leave tests out.

use super::diff::{FileDiff, Line};
use super::kept_tests::tests_in;
use crate::prompt::quote_name;
use crate::verification::commands::{CommandKind, runs};
use std::collections::BTreeSet;

/// Lines added to what runs the tests that let it succeed whatever they say, or that leave tests out.
#[derive(Default)]
pub(super) struct Neutralised {
    /// They do.
    pub(super) surely: Vec<String>,
    /// They stand in a branch of a script, which may be one that runs no tests anyway: `--help`.
    pub(super) perhaps: Vec<String>,
}

pub(super) fn neutralised(file: &FileDiff<'_>, all: &[FileDiff<'_>]) -> Neutralised {
    let name = file.path.rsplit('/').next().unwrap_or(file.path);
    let kind = match name {
        "package.json" | "composer.json" | "deno.json" => Kind::Manifest,
        "Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Justfile" | "Taskfile.yml" | "tox.ini"
        | "noxfile.py" => Kind::Recipe,
        "Cargo.toml" if file.added && !takes_tests_along(file, all) => return Neutralised::default(),
        "Cargo.toml" => Kind::Cargo,
        "pytest.ini" | "setup.cfg" | "pyproject.toml" | "conftest.py" => Kind::Pytest,
        _ if is_ci(file.path) => Kind::Recipe,
        _ if is_test_script(name) => Kind::Script,
        _ => return Neutralised::default(),
    };
    let before: Vec<&str> = file.removed_lines().map(str::trim).collect();
    let mut found = Neutralised::default();
    for hunk in &file.hunks {
        let (mut section, mut open) = ("", 0_i32);
        for line in hunk {
            let (Line::Same(whole) | Line::Added(whole)) = line else { continue };
            let text = whole.trim();
            let in_branch = matches!(kind, Kind::Script) && (open > 0 || whole.starts_with([' ', '\t']));
            open += opens(text);
            if text.starts_with('[') {
                section = text;
            }
            let is_new = matches!(line, Line::Added(_)) && !before.contains(&text);
            if is_new && harm(kind, text) && !(matches!(kind, Kind::Cargo) && holds_no_tests(section)) {
                let (path, shown) = (quote_name(file.path), quote_name(text));
                if in_branch && !is_test(text) {
                    found.perhaps.push(format!(
                        "{path}: {shown} was added in a branch of it, where it may hide that tests fail"
                    ));
                } else {
                    found.surely.push(format!("{path}: cannot fail any more: {shown}"));
                }
            }
        }
    }
    found
}

/// How many blocks of a shell script a line begins, less those that it ends; those that the hunk does not show are told by the indentation.
fn opens(line: &str) -> i32 {
    let words = line.split(|c: char| c.is_whitespace() || c == ';').filter(|word| !word.is_empty());
    words
        .take_while(|word| !word.starts_with('#'))
        .map(|word| match word {
            "if" | "case" | "do" | "{" => 1,
            "fi" | "esac" | "done" | "}" => -1,
            _ => 0,
        })
        .sum()
}

/// Whether a section of a `Cargo.toml` is about something in which cargo looks for no tests. Without its first line that is not known.
fn holds_no_tests(section: &str) -> bool {
    let name: String = section.split('#').next().unwrap_or_default().split_whitespace().collect();
    matches!(name.as_str(), "[[bench]]" | "[[example]]")
}

/// Whether tests that were elsewhere before came along with a new `Cargo.toml`: else there were none that it could switch off.
fn takes_tests_along(manifest: &FileDiff<'_>, all: &[FileDiff<'_>]) -> bool {
    let dir = manifest.path.rsplit_once('/').map_or("", |(dir, _)| dir);
    let below =
        |file: &&FileDiff<'_>| file.path.strip_prefix(dir).is_some_and(|rest| dir.is_empty() || rest.starts_with('/'));
    let before: BTreeSet<&str> = all.iter().flat_map(|file| tests_in(file.removed_lines())).collect();
    all.iter().filter(below).flat_map(|file| tests_in(file.added_lines())).any(|name| before.contains(name))
}

#[derive(Clone, Copy)]
enum Kind {
    Manifest,
    Recipe,
    Script,
    Cargo,
    Pytest,
}

fn is_ci(path: &str) -> bool {
    path.contains(".github/workflows/") || path.ends_with(".gitlab-ci.yml") || path.contains(".circleci/")
}

/// A script whose name says that it checks something.
fn is_test_script(name: &str) -> bool {
    let Some((stem, "sh" | "bash")) = name.rsplit_once('.') else { return false };
    stem.split(['-', '_', '.']).any(|part| matches!(part, "test" | "tests" | "check" | "checks" | "verify" | "ci"))
}

fn harm(kind: Kind, line: &str) -> bool {
    match kind {
        Kind::Manifest => {
            let Some((key, value)) = line.split_once(':') else { return false };
            let key = key.trim().trim_matches('"');
            let value = value.trim().trim_end_matches(',').trim_matches('"').trim();
            (key == "test" || key.starts_with("test:")) && succeeds_always(value)
        }
        Kind::Recipe => {
            let recipe = line.trim_start_matches(['-', '@']).trim();
            let recipe = recipe.strip_prefix("run:").unwrap_or(recipe).trim();
            is_test(recipe) && (swallows(recipe) || (line.starts_with('-') && !line.starts_with("- ")))
        }
        Kind::Script => matches!(line, "exit 0" | "set +e" | "true") || (is_test(line) && swallows(line)),
        Kind::Cargo => matches!(line.replace(' ', "").as_str(), "test=false" | "doctest=false" | "harness=false"),
        Kind::Pytest => {
            line.starts_with("collect_ignore")
                || line.contains("--deselect")
                || line.contains("--ignore=")
                || line.contains("-k \"not ")
                || line.contains("-k 'not ")
        }
    }
}

fn is_test(line: &str) -> bool {
    runs(line).iter().any(|run| run.kind == CommandKind::Test)
}

/// The end of a line that throws the exit status away.
fn swallows(line: &str) -> bool {
    let line: String = line.split_whitespace().collect::<Vec<_>>().join(" ");
    ["|| true", "|| :", "|| exit 0", "; exit 0", "; true", "|| echo"]
        .iter()
        .any(|end| line.find(end).is_some_and(|at| !line[at + end.len()..].contains("&&")))
}

/// A test command that runs no test, or whose failure nobody sees.
fn succeeds_always(command: &str) -> bool {
    let first = command.split_whitespace().next().unwrap_or_default();
    let idle = matches!(first, "true" | ":" | "echo" | "exit") && !command.contains("&&") && !is_test(command);
    // npm's own stub fails, and says so.
    (idle && !command.contains("exit 1")) || swallows(command) || command.is_empty()
}
