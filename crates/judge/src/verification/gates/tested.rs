//! `tests_ran_after_last_change` and `tests_passed`: from the order of the recorded calls, and from exit statuses.

use super::change_asked::asks_what_comes_out;
use super::facts::View;
use super::finding::{Finding, Todo};
use super::offence::Offence;
use super::red::{excused, failing_tests, last_part, told};
use super::timeline::{At, Changed, Ran, may_run_tests, runs_tests};
use super::went::{Went, counts_nothing};
use crate::domain::{Allow, ToolKind};
use crate::toolchain::Counts;
use crate::verification::commands::CommandKind;
use std::collections::BTreeSet;

const RAN: &str = "tests_ran_after_last_change";
const PASSED: &str = "tests_passed";

pub(super) fn tests_ran_after_last_change(view: &View<'_>) -> Finding {
    if let Some(check) = view.runtime.covers(&CommandKind::Test) {
        return Finding::passed(RAN, format!("the runtime ran check `{}` after the last change", check.spec.name));
    }
    let required = &view.facts.required;
    let Some(why) = required.tests.as_ref().or(required.tests_excused.as_ref()) else {
        return Finding::not_run(RAN, view.not_required("tests"));
    };
    if view.timeline.is_empty() {
        return Finding::not_run(RAN, "no tool call is recorded");
    }
    let change = view.timeline.last_change();
    let tests: Vec<Ran<'_>> = started(view).collect();
    let at = change.map(|c| c.at);
    let (tests, idle): (Vec<Ran<'_>>, Vec<Ran<'_>>) = tests.into_iter().partition(|test| !is_idle(test));
    if let Some(last) = tests.last().filter(|test| at.is_none_or(|at| test.at > at)) {
        return match view.timeline.doubt_after(last.at) {
            Some(doubt) => {
                Finding::not_run(RAN, format!("{} ran after {} and perhaps changed files", doubt.what, last.shown()))
            }
            None => Finding::passed(RAN, format!("{} ran after the last change{}", last.shown(), named(change))),
        };
    }
    if let Some(last) = idle.last().filter(|test| at.is_none_or(|at| test.at > at)) {
        return Finding::not_run(RAN, format!("{} ran no test", last.shown()));
    }
    if let Some(last) = all_started(view).last().filter(|test| test.elsewhere && at.is_none_or(|at| test.at > at)) {
        return Finding::not_run(RAN, format!("{} ran in another directory than the project's", last.shown()));
    }
    if let Some(because) = may_have_run(view, at) {
        return Finding::not_run(RAN, because);
    }
    let evidence = match (tests.last(), change) {
        (Some(last), Some(change)) => {
            format!(
                "{} ran before the last change (tool call {} changed {})",
                last.shown(),
                change.at.0 + 1,
                change.what
            )
        }
        _ => format!("no test command is among the {} recorded tool calls", view.timeline.steps.len()),
    };
    let action = match test_command(view) {
        Some(command) => format!("Run `{command}` now, after your last change, and fix what fails."),
        None => "Run the project's tests now, after your last change, and fix what fails.".to_owned(),
    };
    let evidence = format!("{evidence}; tests are required: {why}");
    let todo = Todo::high("Tests after the last change", action);
    let excuse = required.tests_excused.as_ref().map(|_| "the task reads as if they need not run");
    Offence { gate: RAN, evidence, todo, permitted_by: Allow::NoTests }.finding(view, excuse)
}

pub(super) fn tests_passed(view: &View<'_>) -> Finding {
    if let Some(check) = view.runtime.covers(&CommandKind::Test) {
        let name = &check.spec.name;
        return if check.passed() {
            Finding::passed(PASSED, format!("the runtime's check `{name}` is green"))
        } else {
            Finding::not_run(PASSED, format!("the runtime's check `{name}` decides it: see `runtime_checks`"))
        };
    }
    if let Some(check) = view.runtime.leaves_open(&CommandKind::Test) {
        let because =
            format!("the runtime's check `{}` is red, and what it says of the change is not known", check.spec.name);
        return Finding::not_run(PASSED, because);
    }
    let required = &view.facts.required;
    let waived = required.waived.iter().any(|why| why.starts_with("tests: ")) && required.tests_excused.is_none();
    if required.tests.is_none() && (required.change.is_none() || waived) {
        return Finding::not_run(PASSED, view.not_required("tests"));
    }
    let at = view.timeline.last_change().map(|c| c.at);
    let mut after: Vec<Ran<'_>> = started(view).filter(|test| at.is_none_or(|at| test.at > at)).collect();
    if !after.iter().all(is_idle) {
        after.retain(|test| !is_idle(test));
    }
    let Some(last) = after.last() else {
        return Finding::not_run(PASSED, "no test run after the last change is recorded");
    };
    match &last.went {
        Went::Failed(how) => match red_before(view, last).or_else(|| known_before(view, last)) {
            Some(because) => Finding::not_run(PASSED, because),
            None => failed(view, last, how),
        },
        Went::Empty(how) if required.tests.is_some() => failed(view, last, how),
        Went::Empty(how) => Finding::not_run(PASSED, format!("{}: {how}", last.shown())),
        Went::Passed(how) => match wider_failure(view, &after).or_else(|| other_package(view, &after)) {
            Some((wide, how)) => match known_before(view, wide) {
                Some(because) => Finding::not_run(PASSED, because),
                None => failed(view, wide, &how),
            },
            None => match leaves_out(&last.run.words) {
                Some(option) => {
                    Finding::not_run(PASSED, format!("{} leaves tests out (`{option}`): {how}", last.shown()))
                }
                None => Finding::passed(PASSED, format!("{}: {how}", last.shown())),
            },
        },
        Went::Unknown(because) | Went::NotStarted(because) | Went::Idle(because) => {
            Finding::not_run(PASSED, format!("{}: {because}", last.shown()))
        }
    }
}

fn failed(view: &View<'_>, test: &Ran<'_>, how: &str) -> Finding {
    let command = test_command(view).unwrap_or_else(|| test.shown().trim_matches('`').to_owned());
    let todo = Todo::high(format!("Tests fail: {how}"), format!("Fix what fails, then run `{command}` again."));
    let evidence = format!("the last run of {} failed: {how}", test.shown());
    Offence { gate: PASSED, evidence, todo, permitted_by: Allow::NoTests }.finding(view, excuse(view, test))
}

/// What in the task reads as if this run might fail.
fn excuse(view: &View<'_>, test: &Ran<'_>) -> Option<&'static str> {
    let (task, required) = (view.task(), &view.facts.required);
    if required.says_no_tests {
        return Some("the task says that tests need not be run");
    }
    if matches!(test.went, Went::Empty(_)) {
        return None;
    }
    if asked_to_fail(&task) {
        return Some("the task asks for a test that fails");
    }
    if !required.tests_are_asked() && asks_what_comes_out(&task) {
        return Some("the task asks what comes out");
    }
    let red = red_of(view, test)?;
    excused(&task, &red).then_some("the task names these tests, and says not to mind them")
}

/// The tests that a run names as failed, where those are all that failed.
fn red_of<'v>(view: &'v View<'_>, test: &Ran<'_>) -> Option<BTreeSet<&'v str>> {
    let red = failing_tests(output_of(view, test));
    let counted = counts_of(test).is_none_or(|counts| counts.failed <= red.len() as u64);
    (!red.is_empty() && counted).then_some(red)
}

/// Test runs of the project that started, oldest first.
fn started<'v>(view: &'v View<'_>) -> impl Iterator<Item = Ran<'v>> {
    all_started(view).filter(|test| !test.elsewhere)
}

/// Those in other checkouts too.
fn all_started<'v>(view: &'v View<'_>) -> impl Iterator<Item = Ran<'v>> {
    view.timeline.ran(runs_tests).filter(|test| !matches!(test.went, Went::NotStarted(_)))
}

/// The project's usual test command, or the last one that the agent used.
pub(super) fn test_command(view: &View<'_>) -> Option<String> {
    view.facts.signals.tests.first().cloned().or_else(|| {
        let last = view.timeline.ran(|step, i| step.runs[i].kind == CommandKind::Test).last()?;
        Some(last.run.words.join(" "))
    })
}

fn named(change: Option<&Changed>) -> String {
    change.map(|c| format!(" ({})", c.what)).unwrap_or_default()
}

/// Why it cannot be said that no tests ran: something after the change cannot be seen, or has such a name.
fn may_have_run(view: &View<'_>, at: Option<At>) -> Option<String> {
    if let Some(step) = view.timeline.dark_after(at) {
        return Some(format!("what `{}` did is not recorded", step.action.tool));
    }
    let after = |number: u64| at.is_none_or(|at| number > at.0);
    let steps = view.timeline.steps.iter().filter(|step| after(step.action.number));
    for step in steps {
        if let Some(run) = step.runs.iter().find(|run| may_run_tests(run) && !counts_nothing(run)) {
            return Some(format!("whether `{}` runs tests is not known", run.words.join(" ")));
        }
        if step.action.kind == ToolKind::Other && step.action.tool.to_ascii_lowercase().contains("test") {
            return Some(format!("whether the tool `{}` runs tests is not known", step.action.tool));
        }
    }
    None
}

/// A task that asks for a failing test (a reproduction) is done when it fails.
pub(super) fn asked_to_fail(task: &str) -> bool {
    let task = task.to_ascii_lowercase();
    let fails = ["failing test that", "test that fails", "red test", "write a failing", "add a failing", "reproduc"]
        .iter()
        .any(|words| task.contains(words));
    // "Write a test that shows the bug. Do not fix it."
    let unfixed = ["not fix", "n't fix", "without fixing", "leave the bug", "fix it later", "fix comes later"]
        .iter()
        .any(|words| task.replace('’', "'").contains(words));
    fails || unfixed && task.contains("test")
}

/// It ran no test.
fn is_idle(test: &Ran<'_>) -> bool {
    matches!(test.went, Went::Empty(_) | Went::Idle(_))
}

fn counts_of(test: &Ran<'_>) -> Option<Counts> {
    test.said?.counts
}

/// What was printed by the call that this run is part of.
fn output_of<'v>(view: &'v View<'_>, test: &Ran<'_>) -> &'v str {
    let step = view.timeline.steps.iter().find(|step| step.action.number == test.at.0);
    step.and_then(|step| step.action.outcome.as_ref()).map_or("", |outcome| outcome.output.as_str())
}

/// All that failed did so before the first change too, and the answer says so, and the task neither asks for green tests nor
/// names it.
fn known_before(view: &View<'_>, test: &Ran<'_>) -> Option<String> {
    let red = red_of(view, test)?;
    let task = view.task();
    if view.facts.required.tests_are_asked() || red.iter().any(|name| task.contains(last_part(name))) {
        return None;
    }
    let first_change = view.timeline.changes.first()?.at;
    let before = started(view).filter(|t| t.at < first_change && t.run.words == test.run.words).last()?;
    let known = failing_tests(output_of(view, &before));
    let same = red.is_subset(&known) && told(&view.facts.turn.trace.response, &red);
    same.then(|| format!("{} fails as it did before the first change, and the answer says so", test.shown()))
}

/// The same command failed as much before anything was changed: it may be an old failure.
fn red_before(view: &View<'_>, last: &Ran<'_>) -> Option<String> {
    if view.facts.required.tests.is_some() {
        return None;
    }
    let first_change = view.timeline.changes.first()?.at;
    let before = started(view).filter(|t| t.at < first_change && t.run.words == last.run.words).last()?;
    let as_much = match (counts_of(&before), counts_of(last)) {
        (Some(a), Some(b)) => b.failed <= a.failed,
        _ => false,
    };
    let red = matches!(before.went, Went::Failed(_)) && as_much;
    red.then(|| format!("{} fails as it did before the first change", last.shown()))
}

/// A run of more tests failed after the last change, and only fewer were run again.
fn wider_failure<'r, 'v>(view: &View<'_>, after: &'r [Ran<'v>]) -> Option<(&'r Ran<'v>, String)> {
    let last = after.last()?;
    let ran_last = counts_of(last).map(Counts::ran);
    after.iter().rev().skip(1).find_map(|test| {
        let Went::Failed(how) = &test.went else { return None };
        let since = match (counts_of(test).map(Counts::ran), ran_last) {
            (Some(wide), Some(last)) if wide > last => format!("only {last} of {wide} tests were run again"),
            (_, None) if narrows(&last.run.words, &test.run.words) => format!("only {} was run", last.shown()),
            _ => return None,
        };
        let untouched = view.timeline.doubt_after(test.at).is_none();
        untouched.then(|| (test, format!("{how}; since then {since}")))
    })
}

/// The same command, with a file, a test's name or an option beside that leaves tests out.
fn narrows(last: &[String], wide: &[String]) -> bool {
    const CHOOSES: [&str; 12] =
        ["-k", "-m", "-t", "-g", "--grep", "-run", "--tests", "--filter", "--deselect", "--ignore", "--lib", "--test"];
    let more: Vec<&String> = last.iter().filter(|word| !wide.contains(word)).collect();
    wide.iter().all(|word| last.contains(word))
        && more.iter().any(|word| {
            let option = word.split('=').next().unwrap_or_default();
            CHOOSES.contains(&option) || !word.starts_with('-') && word.contains(['/', ':', '.'])
        })
}

/// The option with which a command leaves tests out: what it left out may be what fails.
fn leaves_out(words: &[String]) -> Option<&str> {
    const OPTIONS: [&str; 9] = [
        "--deselect",
        "--ignore",
        "--ignore-glob",
        "--skip",
        "-skip",
        "--exclude",
        "--exclude-regex",
        "--testPathIgnorePatterns",
        "--exclude-tag",
    ];
    let ctest = words.first().is_some_and(|program| program.rsplit('/').next() == Some("ctest"));
    words.iter().enumerate().find_map(|(i, word)| {
        let next = || words.get(i + 1).map_or("", String::as_str);
        let (option, value) = word.split_once('=').unwrap_or_else(|| (word, next()));
        let out = match option {
            "-E" | "-LE" if ctest => true,
            "-k" | "-m" => says_not(value),
            "-E" | "--filter-expr" | "--filterset" => {
                says_not(value) || ["!", " - ", ")-"].iter().any(|out| value.contains(out))
            }
            // A name may hold the word.
            "-t" => value.starts_with("not "),
            _ => OPTIONS.contains(&option),
        };
        out.then_some(option)
    })
}

/// Whether an expression that chooses tests excludes some: by the word, which a name as `notify` only begins with.
fn says_not(expression: &str) -> bool {
    expression.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "not")
}

/// The tests of one package failed after the last change, and only another package's were run since.
fn other_package<'r, 'v>(view: &View<'_>, after: &'r [Ran<'v>]) -> Option<(&'r Ran<'v>, String)> {
    after.iter().enumerate().find_map(|(i, test)| {
        let Went::Failed(how) = &test.went else { return None };
        let counted = counts_of(test).is_some_and(|counts| counts.failed > 0);
        let mine = package(test)?;
        let covered = after[i + 1..].iter().any(|later| package(later).is_none_or(|other| mine.starts_with(&other)));
        let untouched = view.timeline.doubt_after(test.at).is_none();
        (counted && !covered && untouched)
            .then(|| (test, format!("{how}; since then only other packages' tests were run")))
    })
}

/// The package whose tests a command runs, by its directory or its options; none where that is the whole project.
fn package(test: &Ran<'_>) -> Option<String> {
    const OPTIONS: [&str; 9] =
        ["-w", "--workspace", "--filter", "-F", "-p", "--package", "--prefix", "-C", "--manifest-path"];
    let words = &test.run.words;
    let named = words.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
        Some((option, value)) if OPTIONS.contains(&option) => Some(value),
        None if OPTIONS.contains(&word.as_str()) => {
            words.get(at + 1).map(String::as_str).filter(|value| !value.starts_with('-'))
        }
        _ => None,
    });
    let place = test.place.join(named.unwrap_or_default());
    (!place.as_os_str().is_empty()).then(|| format!("{}/", place.display()).replace("//", "/"))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{coding, turn};
    use super::*;
    use crate::domain::{ToolKind, ToolStatus};

    const RED: &str = "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
    const GREEN: &str = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";

    #[test]
    fn tests_after_the_last_change_count_and_tests_before_it_do_not() {
        coding().edit("src/a.rs").ran("cargo test", 0, GREEN).passes(RAN, "src/a.rs");
        coding().ran("cargo test", 0, GREEN).edit("src/a.rs").fails(RAN, "ran before the last change");
        coding().edit("src/a.rs").fails(RAN, "no test command is among the 1 recorded tool calls");
        coding().edit("src/a.rs").ran("sed -i s/a/b/ src/a.rs && cargo test", 0, GREEN).passes(RAN, "cargo test");
        coding().ran("cargo test && sed -i s/a/b/ src/a.rs", 0, GREEN).fails(RAN, "before the last change");
        coding()
            .edit("src/a.rs")
            .ran("cargo test", 0, GREEN)
            .ran("cat > src/b.rs <<'E'\nx\nE", 0, "")
            .fails(RAN, "before");
    }

    #[test]
    fn what_no_test_can_tell_is_no_change_after_them() {
        let tested = || coding().edit("src/a.rs").ran("cargo test", 0, GREEN);
        for path in [
            "README.md",
            ".gitignore",
            ".gitattributes",
            ".editorconfig",
            ".github/CODEOWNERS",
            "AUTHORS",
            "NOTES.txt",
            "newsfragments/12.bugfix",
            "docs/conf.py",
            "docs/a.svg",
            ".vscode/settings.json",
            "web/docs/a.png",
        ] {
            tested().edit(path).passes(RAN, "src/a.rs");
        }
        for path in ["requirements.txt", "CMakeLists.txt", "src/docs.rs", "package.json", "templates/a.html"] {
            tested().edit(path).fails(RAN, "before the last change");
        }
        for line in ["cat > web/templates/summary.html <<'E'\nx\nE", "echo {} > src/config/output.json"] {
            tested().ran(line, 0, "").fails(RAN, "before the last change");
        }
        tested().ran("cargo audit --json > report.json", 0, "").passes(RAN, "");
        tested().ran("git log > out.log; wc -l src/*.rs > size-report.txt", 0, "").passes(RAN, "");
        let scratch = coding().edit("src/a.rs").ran("cat > probe.py <<'E'\nx\nE", 0, "").ran("cargo test", 0, GREEN);
        scratch.clone().ran("rm probe.py", 0, "").is_silent(RAN, "perhaps");
        scratch.clone().ran("rm probe.py", 0, "").passes(PASSED, "");
        scratch.ran("rm src/b.rs", 0, "").fails(RAN, "before the last change");
        tested().ran("git commit -am x && git status", 0, "").passes(RAN, "");
        tested().ran("cargo test 2>&1 | tee /tmp/out.log | tail -3", 0, GREEN).passes(RAN, "");
        tested().ran("cargo fmt", 0, "").is_silent(RAN, "perhaps changed files");
    }

    #[test]
    fn what_cannot_be_seen_proves_nothing() {
        coding().is_silent(RAN, "no tool call is recorded");
        coding().edit("src/a.rs").call(ToolKind::Agent, "Task", &[], "{}").is_silent(RAN, "what `Task` did");
        coding().edit("src/a.rs").call(ToolKind::Execute, "shell", &[], "{}").is_silent(RAN, "what `shell` did");
        coding().edit("src/a.rs").call(ToolKind::Other, "run_tests", &[], "{}").is_silent(RAN, "run_tests");
        coding().edit("src/a.rs").ran("./scripts/verify.sh", 0, "").is_silent(RAN, "verify.sh");
        coding().edit("src/a.rs").ran("python3 report.py", 0, "").fails(RAN, "no test command");
        turn("x").edit("src/a.rs").is_silent(RAN, "not required");
    }

    #[test]
    fn a_command_that_prints_a_summary_ran_tests_and_one_that_shows_one_did_not() {
        coding().edit("src/a.rs").ran("./go.sh", 0, GREEN).passes(PASSED, "go.sh");
        coding().edit("src/a.rs").ran("cat old.log", 0, GREEN).fails(RAN, "no test command");
        coding().edit("src/a.rs").ran("cargo test --no-run", 0, "").fails(RAN, "no test command");
        coding().edit("src/a.rs").ran("cargo test", 127, "sh: cargo: not found").fails(RAN, "no test command");
    }

    #[test]
    fn a_green_run_that_leaves_tests_out_does_not_pass() {
        let edited = || coding().edit("src/a.rs");
        for command in [
            "pytest -q --deselect tests/test_a.py::test_b",
            "pytest --ignore=tests/slow",
            "pytest -k 'not date'",
            "cargo test -- --skip dates",
            "go test -skip TestDates ./...",
            "npx jest --testPathIgnorePatterns=dates",
            "pytest -k 'a and not b'",
            "pytest -m 'unit and not slow'",
            "pytest -k='not date'",
            "cargo nextest run -E '!test(date)'",
            "cargo nextest run -E 'not test(date)'",
            "cargo nextest run -E 'all() - test(date)'",
            "ctest -E dates",
        ] {
            edited().ran(command, 0, "").is_silent(PASSED, "leaves tests out");
        }
        for command in [
            "pytest -q -k date",
            "pytest -k notify",
            "cargo nextest run -E 'package(my-crate)'",
            "cargo nextest run -E 'test(date)'",
            "ctest -R dates",
        ] {
            edited().ran(command, 0, "").passes(PASSED, command);
        }
    }

    #[test]
    fn the_last_run_decides_by_its_exit_status() {
        let edited = || coding().edit("src/a.rs");
        edited().ran("cargo test", 0, "").passes(PASSED, "exit status 0");
        edited().ran("cargo test", 101, "").fails(PASSED, "exit status 101");
        edited().ran("cargo test", 101, RED).edit("src/a.rs").ran("cargo test", 0, GREEN).passes(PASSED, "3 passed");
        edited().ran("cargo test", None, "").is_silent(PASSED, "no exit status is recorded");
        edited().bash("cargo test").is_silent(PASSED, "its result is not recorded");
    }

    #[test]
    fn where_the_exit_status_is_hidden_the_summary_decides() {
        let edited = || coding().edit("src/a.rs");
        edited().ran("cargo test 2>&1 | tail -5", 0, RED).fails(PASSED, "1 failed");
        edited().ran("cargo test || true", 0, RED).fails(PASSED, "1 failed");
        edited().ran("cargo test | tail -5", 0, GREEN).passes(PASSED, "3 passed");
        edited().ran("cargo test | tail -5", 0, "warning: x").is_silent(PASSED, "whole line");
        edited().ran("cargo test; cargo clippy", 1, GREEN).passes(PASSED, "3 passed");
        edited().ran("cargo test && git push", 1, GREEN).passes(PASSED, "3 passed");
        for (line, output) in [
            ("make test | tail -5", "make: *** [Makefile:3: test] Error 1"),
            ("npm test 2>&1 | tail", " ELIFECYCLE  Test failed. See above for more details."),
            ("tox | tail -2", "  py311: FAIL code 1 (0.1 seconds)\n  evaluation failed :( (0.2 seconds)"),
            ("prove -r t | tail", "Result: FAIL"),
            ("npx tap | cat", "ok 1 - a\nnot ok 2 - b"),
            ("bazel test //... | tail", "//a:b    FAILED in 0.1s"),
            ("pytest -q; echo rc=$?", "rc=1"),
            ("pytest -q; echo \"EXIT: $?\"", "EXIT: 2"),
            ("pytest -q | tail -3; echo ${PIPESTATUS[0]}", "x\n1"),
        ] {
            edited().ran(line, 0, output).fails(PASSED, "");
        }
        edited().ran("pytest -q; echo rc=$?", 0, "rc=0").passes(PASSED, "exit status 0");
        edited().ran("pytest -q | tail -3; echo rc=$?", 0, "rc=0").is_silent(PASSED, "");
        edited().ran("npx tap | cat", 0, "ok 1 - a\nnot ok 2 - b # TODO").is_silent(PASSED, "");
        edited().ran("cargo test", None, RED).fails(PASSED, "1 failed");
    }

    #[test]
    fn a_run_of_no_test_shows_nothing() {
        let none = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out";
        coding().edit("src/a.rs").ran("cargo test nosuch", 0, none).fails(PASSED, "chose none of the tests");
        let whole = none.replace("9 filtered", "0 filtered");
        let empty = coding().edit("src/a.rs").ran("cargo test", 0, &whole);
        empty.is_silent(PASSED, "it ran no test");
        empty.is_silent(RAN, "ran no test");
        for output in ["?   \tx/cmd\t[no test files]", "No tests found, exiting with code 0", "collected 0 items"] {
            let ran = coding().edit("a.go").ran("go test ./cmd/...", 0, output);
            ran.is_silent(PASSED, "it ran no test");
            ran.is_silent(RAN, "ran no test");
        }
        let some = "ok  \tx/a\t0.1s\n?   \tx/cmd\t[no test files]";
        coding().edit("a.go").ran("go test ./...", 0, some).passes(PASSED, "exit status 0");
        let then = coding().edit("a.rs").ran("cargo test", 0, GREEN).ran("cargo test --doc", 0, &whole);
        then.passes(PASSED, "cargo test");
        then.passes(RAN, "cargo test");
        coding()
            .edit("a.py")
            .ran("pytest tests/x", 5, "no tests ran in 0.01s")
            .fails(PASSED, "it ran no test, exit status 5");
        let mut unasked = coding().edit("a.py").ran("pytest -q", 5, "");
        unasked.fails(PASSED, "it ran no test");
        unasked.required.tests = None;
        unasked.is_silent(PASSED, "it ran no test");
    }

    #[test]
    fn fewer_tests_do_not_make_up_for_a_failed_run_of_all() {
        let all = coding().edit("src/a.rs").ran("pytest", 1, "== 3 failed, 91 passed in 2.0s ==");
        all.clone().ran("pytest tests/ok.py", 0, "== 12 passed in 0.1s ==").fails(PASSED, "only 12 of 94 tests");
        all.clone().ran("pytest", 0, "== 94 passed in 2.0s ==").passes(PASSED, "94 passed");
        all.edit("src/a.rs").ran("pytest tests/ok.py", 0, "== 12 passed in 0.1s ==").passes(PASSED, "12 passed");
    }

    #[test]
    fn a_run_in_another_checkout_says_nothing_about_this_one() {
        let mut edited = coding().edit("src/a.rs");
        edited.turn.dir = Some("/home/project".into());
        for line in ["cd /tmp/copy && cargo test", "git worktree add ../base && cd ../base && cargo test"] {
            let elsewhere = edited.clone().ran(line, 0, GREEN);
            elsewhere.is_silent(RAN, "another directory");
            elsewhere.is_silent(PASSED, "no test run");
            edited.clone().ran(line, 101, RED).is_silent(PASSED, "");
        }
        for line in [
            "cd /home/project && cargo test",
            "cd web && cargo test",
            "cd web && cd .. && cargo test",
            "cd /home && cargo test",
        ] {
            edited.clone().ran(line, 0, GREEN).passes(PASSED, "3 passed");
        }
    }

    #[test]
    fn one_packages_tests_do_not_make_up_for_anothers() {
        const OTHER: &str = "test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        let red = |line: &str| coding().edit("src/a.rs").ran(line, 101, RED);
        red("cd a && cargo test").ran("cd b && cargo test", 0, OTHER).fails(PASSED, "only other packages");
        red("cargo test -p a").ran("cargo test -p b", 0, OTHER).fails(PASSED, "only other packages");
        red("cd a && cargo test").ran("cd a && cargo test", 0, OTHER).passes(PASSED, "");
        red("cd a && cargo test").ran("cargo test --workspace", 0, OTHER).passes(PASSED, "");
        red("cargo test").ran("cargo test -p b", 0, OTHER).passes(PASSED, "");
        red("cargo test -p a").edit("src/a.rs").ran("cargo test -p b", 0, OTHER).passes(PASSED, "");
    }

    #[test]
    fn a_test_that_is_to_fail_may() {
        let mut red = coding().edit("tests/a.rs").ran("cargo test", 101, RED);
        red.turn.task = "Write a failing test that reproduces the crash".to_owned();
        red.asks_owner(PASSED, "asks for a test that fails");
        red.turn.allow = vec![Allow::NoTests];
        red.is_silent(PASSED, "the task allows it");
    }

    #[test]
    fn an_old_failure_counts_only_where_tests_are_required() {
        let mut old = coding().ran("cargo test", 101, RED).edit("src/a.rs").ran("cargo test", 101, RED);
        old.fails(PASSED, "1 failed");
        old.required.tests = None;
        old.is_silent(PASSED, "as it did before the first change");
    }

    #[test]
    fn the_runtimes_own_checks_stand_above_the_record() {
        let silent = coding().edit("src/a.rs").observed(&["src/a.rs"], "");
        let green = silent.clone().check("cargo test", Some("red"), None);
        green.passes(RAN, "the runtime ran");
        green.passes(PASSED, "is green");
        silent.clone().check("./check.sh", None, None).passes(RAN, "the runtime ran");
        silent.check("cargo clippy", None, None).fails(RAN, "no test command");
    }

    #[test]
    fn the_agent_is_told_which_command_to_run() {
        let told = coding().edit("src/a.rs").fails(RAN, "").todo.unwrap();
        assert!(told.action.contains("Run `cargo test` now"), "{}", told.action);
    }

    #[test]
    fn a_refused_run_never_ran() {
        let refused = |words: &str| {
            let mut made = coding().edit("a.py").ran("pytest -q", None, words);
            made.turn.trace.actions.back_mut().unwrap().outcome.as_mut().unwrap().status = ToolStatus::Failed;
            made
        };
        refused("Permission to use Bash has been denied").fails(RAN, "no test command");
        refused("1 failed in 0.1s").passes(RAN, "");
    }

    #[test]
    fn a_part_that_is_green_does_not_make_up_for_the_whole() {
        let red = coding().edit("a.py").ran("pytest -q", 1, "1 failed, 11 passed in 0.3s");
        red.clone().ran("pytest -q tests/t.py::test_b", 0, "1 passed").fails(PASSED, "only `pytest -q tests/t.py");
        red.ran("pytest -q -x", 0, "").passes(PASSED, "exit status 0");
    }

    #[test]
    fn tests_that_the_task_waives_decide_nothing() {
        let mut waived = coding().edit("a.py").ran("pytest -q", 1, "1 failed in 0.1s");
        waived.required.tests = None;
        waived.fails(PASSED, "1 failed");
        waived.required.waived = vec!["tests: the task says that tests need not be run".to_owned()];
        waived.is_silent(PASSED, "need not be run");
        waived.required.says_no_tests = true;
        waived.required.tests_excused = Some("code was changed".to_owned());
        waived.asks_owner(PASSED, "need not be run");
    }

    #[test]
    fn what_was_red_before_and_is_told_or_excused_is_no_fault() {
        let red = "--- FAIL: TestStoreGet (0.00s)\nFAIL\nFAIL\texample.org/store\t0.1s";
        let told = "TestStoreGet was failing before I started.";
        let session = |task: &str| {
            let mut session = turn(task);
            session.required.change = Some("the task asks for code to be changed".to_owned());
            session.required.tests = Some("code was changed, and the project has tests (`go test ./...`)".to_owned());
            session
        };
        let both = |task: &str| session(task).ran("go test ./...", 1, red).edit("keys.go").ran("go test ./...", 1, red);
        both("Support ed25519 keys").answer(told).is_silent(PASSED, "the answer says so");
        both("Support ed25519 keys").answer("Done.").fails(PASSED, "");
        both("Fix TestStoreGet").answer(told).fails(PASSED, "");
        let passes = "TestStoreGet passes now; before my change it failed.";
        both("Support ed25519 keys").answer(passes).fails(PASSED, "");
        for task in [
            "Fix TestStoreGet; the cause is unknown.",
            "Fix TestStoreGet. It is a known bug.",
            "Make TestStoreGet pass, ignore the linter",
        ] {
            session(task).edit("a.go").ran("go test ./...", 1, red).fails(PASSED, "");
        }
        let failed = |name: &str| format!("test {name} ... FAILED\n{RED}");
        session("Support ed25519 keys")
            .ran("cargo test", 101, &failed("a::works"))
            .edit("keys.rs")
            .ran("cargo test", 101, &failed("b::works"))
            .answer("The test `works` failed before my change too.")
            .fails(PASSED, "");
        session("Support ed25519 keys").edit("keys.go").ran("go test ./...", 1, red).answer(told).fails(PASSED, "");
        let excused = "Add --quiet. Ignore TestStoreGet, it needs the network.";
        session(excused).edit("a.go").ran("go test ./...", 1, red).asks_owner(PASSED, "not to mind them");
        session("Can we use Go 1.25? Try it and tell me.")
            .edit("go.mod")
            .ran("go test ./...", 1, red)
            .asks_owner(PASSED, "asks what comes out");
    }
}
