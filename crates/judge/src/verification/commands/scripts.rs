//! What the names of scripts, targets and files say: `test:unit`, `lint-fix`, `run_tests.sh`.

use super::run::CommandKind;

/// What a script or target is for, by the first word of its name that says so.
pub(super) fn kind_of_name(name: &str) -> CommandKind {
    let words = words_of(name);
    let mut rest = words.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        let later = || rest.clone();
        match word {
            "test" | "tests" | "spec" | "specs" | "e2e" | "unit" | "unittest" | "unittests" | "integration"
            | "jest" | "vitest" | "pytest" | "mocha" | "cypress" | "playwright" | "coverage" | "rspec" | "phpunit"
            | "selftest" | "smoke" | "testall" | "runtests" | "alltests" => {
                return if later().any(is_equipment) { CommandKind::Other } else { CommandKind::Test };
            }
            "build" | "compile" | "bundle" | "dist" | "rebuild" | "assemble" => return CommandKind::Build,
            "lint" | "eslint" | "clippy" | "stylelint" | "vet" | "shellcheck" | "linter" => return CommandKind::Lint,
            "typecheck" | "types" | "tsc" | "mypy" | "pyright" | "typing" => return CommandKind::Typecheck,
            "type" if later().any(|word| word == "check") => return CommandKind::Typecheck,
            "format" | "fmt" | "prettier" | "formatting" => {
                let looks = later().any(|word| matches!(word, "check" | "verify" | "diff" | "ci"));
                return if looks { CommandKind::Lint } else { CommandKind::Format };
            }
            "check" if later().next().is_none() => return CommandKind::Lint,
            "check" if later().any(|word| matches!(word, "format" | "fmt" | "formatting" | "prettier")) => {
                return CommandKind::Lint;
            }
            _ => {}
        }
    }
    CommandKind::Other
}

/// What tests need, not tests: `test-data`, `test:server`.
fn is_equipment(word: &str) -> bool {
    matches!(
        word,
        "data"
            | "fixture"
            | "fixtures"
            | "setup"
            | "teardown"
            | "deps"
            | "dependencies"
            | "env"
            | "server"
            | "db"
            | "database"
            | "image"
            | "images"
            | "install"
            | "clean"
            | "build"
            | "compile"
            | "up"
            | "down"
            | "prepare"
            | "init"
            | "list"
            | "report"
            | "results"
            | "lint"
            | "format"
            | "fmt"
            | "bundle"
    )
}

/// A file that is run as a program: tests by its name, or anything.
pub(super) fn kind_of_file(path: &str) -> CommandKind {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
    kind_of_name(stem)
}

/// The words of a name, in small letters: at `:`, `-`, `_`, `/`, `.` and humps.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars().take(200) {
        let splits = !letter.is_alphanumeric();
        if splits || (letter.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if !splits && let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase() || letter.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}
