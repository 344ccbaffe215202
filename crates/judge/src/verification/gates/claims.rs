//! `claimed_commands_ran`: commands that the answer says were run are among those that were.
//!
//! Only an explicit claim is compared: a concrete test, build, lint or push command, in back quotes or as a `$ ` line of a
//! block or straight after "ran", in a sentence that speaks of the past and denies nothing. Everything else is prose.

use super::facts::View;
use super::finding::{Finding, Todo};
use super::timeline::may_run_tests;
use crate::prompt::{first_bytes, plain};
use crate::verification::commands::{CommandKind, Run, runs};

const GATE: &str = "claimed_commands_ran";

pub(super) fn claimed_commands_ran(view: &View<'_>) -> Finding {
    let claims = claims(&view.facts.turn.trace.response);
    if claims.is_empty() {
        return Finding::not_run(GATE, "the answer claims no concrete command");
    }
    if view.timeline.is_empty() {
        return Finding::not_run(GATE, "no tool call is recorded, so the claims can be compared with nothing");
    }
    if let Some(step) = view.timeline.dark_after(None) {
        return Finding::not_run(GATE, format!("what `{}` did is not recorded", step.action.tool));
    }
    let invented: Vec<&Claim> = claims.iter().filter(|claim| !claim.ran(view)).collect();
    let Some(first) = invented.first() else {
        let names: Vec<String> = claims.iter().take(5).map(|claim| format!("`{}`", claim.text)).collect();
        return Finding::passed(GATE, format!("{} ran, as claimed", names.join(", ")));
    };
    let covered = |claim: &&Claim| view.runtime.covers(&claim.run.kind).is_some_and(crate::domain::CheckReport::passed);
    let names: Vec<String> = invented.iter().take(5).map(|claim| format!("`{}`", claim.text)).collect();
    let names = names.join(", ");
    if invented.iter().all(covered) {
        return Finding::not_run(GATE, format!("{names} did not run, but the runtime's own checks did"));
    }
    let evidence = format!("the answer says that {names} ran; no such command is among the recorded tool calls");
    let todo = Todo::high(
        format!("A real run of `{}`", first.text),
        format!("Run `{}` now and report what it prints; do not claim commands that you did not run.", first.text),
    );
    Finding::failed(GATE, evidence, todo)
}

/// A command that the answer says was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    text: String,
    run: Run,
}

impl Claim {
    fn ran(&self, view: &View<'_>) -> bool {
        view.timeline.steps.iter().flat_map(|step| &step.runs).any(|run| same(&self.run, run))
    }
}

/// Whether a recorded command is the claimed one: all its words are there, or it is of the same kind and the same family,
/// or one of them is a script or target that stands for many commands.
fn same(claimed: &Run, ran: &Run) -> bool {
    let has = |word: &String| ran.words.iter().any(|w| w == word);
    if claimed.words.iter().all(has) {
        return true;
    }
    let stands_for_many = |run: &Run| family(run).is_none();
    let kind =
        claimed.kind == ran.kind || matches!((&claimed.kind, &ran.kind), (CommandKind::Push(_), CommandKind::Push(_)));
    if kind {
        return stands_for_many(claimed) || stands_for_many(ran) || family(claimed) == family(ran);
    }
    claimed.kind == CommandKind::Test && may_run_tests(ran)
}

/// Programs of one family do the same work under different names: `npm test` is `npx vitest`. None: anything.
fn family(run: &Run) -> Option<&'static str> {
    let program = run.words.first()?.rsplit('/').next()?;
    Some(match program {
        "npm" | "pnpm" | "yarn" | "bun" | "npx" | "bunx" | "jest" | "vitest" | "mocha" | "node" | "playwright"
        | "cypress" | "tsc" | "eslint" | "vite" | "webpack" | "next" | "deno" | "ava" | "tap" => "javascript",
        "pytest" | "py.test" | "tox" | "nox" | "uv" | "poetry" | "ruff" | "mypy" | "flake8" | "pyright" | "hatch" => {
            "python"
        }
        _ if program.starts_with("python") => "python",
        "cargo" | "rustc" | "cargo-nextest" => "rust",
        "go" | "gotestsum" | "golangci-lint" => "go",
        "mvn" | "mvnw" | "gradle" | "gradlew" | "sbt" => "jvm",
        "dotnet" => "dotnet",
        "git" | "gh" => "git",
        "ctest" | "cmake" => "cmake",
        _ => return None,
    })
}

/// So much of an answer is read.
const ANSWER_BYTES: usize = 16 * 1024;

/// The explicit claims in an answer.
pub(super) fn claims(answer: &str) -> Vec<Claim> {
    let answer = plain(first_bytes(answer, ANSWER_BYTES)).into_owned();
    let mut claims: Vec<Claim> = Vec::new();
    let mut fenced = false;
    for line in answer.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        for sentence in sentences(line) {
            if speaks_of_the_past(sentence) {
                commands_in(sentence).for_each(|claim| {
                    if !claims.iter().any(|known| known.run.words == claim.run.words) {
                        claims.push(claim);
                    }
                });
            }
        }
    }
    claims
}

/// Sentences and clauses; a full stop inside a file name or back quotes ends none.
fn sentences(line: &str) -> Vec<&str> {
    let (mut parts, mut start, mut quoted) = (Vec::new(), 0, false);
    let bytes = line.as_bytes();
    for (i, byte) in bytes.iter().enumerate() {
        match byte {
            b'`' => quoted = !quoted,
            b'.' | b'!' | b'?' | b';' if !quoted && bytes.get(i + 1).is_none_or(u8::is_ascii_whitespace) => {
                parts.push(&line[start..=i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&line[start..]);
    parts
}

/// The sentence says that something was run, and neither denies it nor asks for it nor leaves it to others.
fn speaks_of_the_past(sentence: &str) -> bool {
    const PAST: [&str; 8] = ["ran", "re-ran", "reran", "executed", "rerun", "verified", "invoked", "re-executed"];
    const NOT: [&str; 48] = [
        "not",
        "n't",
        "didn't",
        "don't",
        "doesn't",
        "couldn't",
        "can't",
        "cannot",
        "wasn't",
        "haven't",
        "hasn't",
        "never",
        "without",
        "unable",
        "failed to",
        "please",
        "you can",
        "you could",
        "you should",
        "you may",
        "you'll",
        "your",
        "should",
        "would",
        "could",
        "will",
        "need",
        "needs",
        "to run",
        "let me",
        "let's",
        "if you",
        "next",
        "todo",
        "once",
        "before",
        "previously",
        "earlier",
        "instead",
        "ci",
        "pipeline",
        "user",
        "if",
        "unless",
        "when",
        "ask",
        "ran out",
        "ran into",
    ];
    let lower = sentence.to_ascii_lowercase().replace('’', "'");
    // What stands in back quotes is no word of the sentence.
    let spoken: String = lower.split('`').step_by(2).collect::<Vec<_>>().join(" ` ");
    let words: Vec<&str> =
        spoken.split(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | '(' | ')' | '*' | '"')).collect();
    let has = |word: &&str| {
        if word.contains(' ') {
            spoken.contains(*word)
        } else {
            words.iter().any(|w| w.trim_end_matches(['.', '!', ';']) == *word)
        }
    };
    let denied = NOT.iter().any(&has) || words.iter().any(|w| w.ends_with("n't"));
    PAST.iter().any(has) && !denied
}

/// Commands of a kind that is judged: in back quotes, or straight after the verb.
fn commands_in(sentence: &str) -> impl Iterator<Item = Claim> {
    let quoted = sentence.split('`').skip(1).step_by(2).map(str::to_owned);
    let bare = ["ran ", "executed ", "Ran ", "Executed "].iter().filter_map(|verb| {
        let rest = sentence.split_once(verb)?.1;
        let end = rest.find([',', ';', '(', '`', ':']).unwrap_or(rest.len());
        let words = rest[..end].split(" and ").next()?.trim_end_matches(['.', '!', ' ']);
        (words.split_whitespace().count() <= 4).then(|| words.to_owned())
    });
    let all: Vec<String> = quoted.chain(bare).collect();
    all.into_iter().filter_map(|text| {
        let text = text.trim().trim_start_matches("$ ").to_owned();
        let run = runs(&text).into_iter().find(|run| judged(&run.kind) && !run.words.is_empty())?;
        // `test` alone is a word, and so is `pytest` in "the `pytest` suite".
        (run.words.len() > 1 || matches!(run.words[0].as_str(), "pytest" | "tox" | "jest" | "vitest" | "ctest"))
            .then_some(Claim { text, run })
    })
}

fn judged(kind: &CommandKind) -> bool {
    !matches!(kind, CommandKind::Other | CommandKind::Ci | CommandKind::PullRequest)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::coding;
    use super::*;
    use crate::domain::ToolKind;

    fn check(answer: &str, expected: &[&str]) {
        let found: Vec<String> = claims(answer).into_iter().map(|claim| claim.text).collect();
        assert_eq!(found, expected, "{answer}");
    }

    #[test]
    fn explicit_claims_of_concrete_commands() {
        check("I ran `cargo test` and everything passes.", &["cargo test"]);
        check("Ran npm test, all green.", &["npm test"]);
        check("Verified with `pytest -q` and `ruff check .`.", &["pytest -q", "ruff check ."]);
        check("I re-ran `cd app && npm test -- --ci`: 94 passed.", &["cd app && npm test -- --ci"]);
        check("All tests (`go test ./...`) were executed.", &["go test ./..."]);
    }

    #[test]
    fn everything_else_is_prose() {
        for prose in [
            "All tests pass.",
            "I didn't run `cargo test`.",
            "Please run `cargo test`.",
            "You can run `npm test` to verify.",
            "I will run `npm test` next.",
            "I could not run `npm test` because node is missing.",
            "`cargo test` runs the suite.",
            "The CI ran `cargo test`.",
            "I ran the tests.",
            "I ran into `npm test` failures you reported earlier.",
            "Before this change `npm test` failed when it was executed.",
            "I ran `foo()` through the profiler.",
            "Next step: run `python -m pytest test_factorial.py -v` to verify.",
            "```\nran `cargo test`\n```",
            "If you ran `cargo test`, it would pass.",
            "I ran out of time for `cargo test`, so it is unverified.",
        ] {
            check(prose, &[]);
        }
    }

    #[test]
    fn a_claimed_command_is_among_the_recorded_ones() {
        let said = |line: &str, answer: &str| coding().edit("a.rs").ran(line, 0, "").answer(answer);
        said("cargo test", "I ran `cargo test`.").passes(GATE, "as claimed");
        said("cd app && CI=1 npm test -- --ci", "I ran `npm test`.").passes(GATE, "as claimed");
        said("npx vitest run", "I ran `npm test`.").passes(GATE, "as claimed");
        said("make test", "I ran `pytest`.").passes(GATE, "as claimed");
        said("npm run build", "I ran `npm test`.").fails(GATE, "`npm test` ran; no such command");
        said("npm test", "I ran `pytest` and `npm test`.").fails(GATE, "`pytest` ran");
        said("ls", "Ran cargo test, all green.").fails(GATE, "`cargo test` ran");
        let todo = said("ls", "I ran `cargo test`.").fails(GATE, "").todo.unwrap();
        assert!(todo.action.starts_with("Run `cargo test` now"), "{}", todo.action);
    }

    #[test]
    fn claims_are_compared_with_facts_only() {
        coding().answer("I ran `cargo test`.").is_silent(GATE, "no tool call is recorded");
        coding().edit("a.rs").answer("Done.").is_silent(GATE, "claims no concrete command");
        let sub = coding().call(ToolKind::Agent, "Task", &[], "{}").answer("I ran `cargo test`.");
        sub.is_silent(GATE, "what `Task` did");
        let green = coding().edit("a.rs").observed(&["a.rs"], "").check("cargo test", None, None);
        green.answer("I ran `cargo test`.").is_silent(GATE, "the runtime's own checks did");
        let lint = coding().edit("a.rs").observed(&["a.rs"], "").check("cargo clippy", None, None);
        lint.answer("I ran `cargo test`.").fails(GATE, "`cargo test`");
    }
}
