//! `runtime_checks`: the checks that the runtime ran itself after the last change. Nothing else proves anything.

use super::facts::View;
use super::finding::{Finding, Todo};
use super::timeline::is_script;
use crate::domain::{CheckReport, CheckResults, Expects};
use crate::prompt::{last_bytes, plain};
use crate::services::TurnEvidence;
use crate::verification::commands::{CommandKind, Run, runs};

/// So much of a failing check's output is shown: runners say at the end what failed.
const OUTPUT_BYTES: usize = 1_200;

/// What the runtime's own checks say.
pub(super) enum Runtime<'a> {
    /// Nothing, because none was run.
    Silent(String),
    /// These ran, and what they say of the change is not known, because. The agent's own runs of the same say no more.
    Unknown(String, Vec<&'a CheckReport>),
    /// Every one that counts is green.
    Green(Vec<&'a CheckReport>),
    /// This one is red, and why it counts although it was red before; empty if it was not.
    Red(&'a CheckReport, String),
    /// All that counts is green, and a fix was asked for although nothing of that was red. These are red as they were before.
    NothingFixed(Vec<&'a str>),
}

impl<'a> Runtime<'a> {
    /// A project's check that was red before and fails in the same way counts for nobody, as in the verdict on an
    /// attempt; and a check that ran before and cannot be started now was broken.
    pub(super) fn new(turn: &'a TurnEvidence) -> Self {
        let Some(observed) = &turn.observed else {
            return Self::Silent("this turn's checks were not run by the runtime".to_owned());
        };
        let expects = turn.expects.unwrap_or_default();
        let (checks, baseline) = (&observed.checks, &observed.baseline);
        let results = CheckResults::new(checks, baseline, expects, &turn.allow);
        let unknown = |because: String| {
            let ran: Vec<_> = checks.iter().filter(|check| !check.is_not_run()).collect();
            if ran.is_empty() { Self::Silent(because) } else { Self::Unknown(because, ran) }
        };
        if results.are_silent() {
            return unknown(results.why_silent().unwrap_or_else(|| "the runtime ran no check".to_owned()));
        }
        if let Some(red) = results.red().next().map(|i| &checks[i]) {
            let why = red.tests_beside(baseline).map(|beside| beside.words()).unwrap_or_default();
            return Self::Red(red, why);
        }
        if let Some((_, why)) = results.red_unseen() {
            return unknown(why);
        }
        let has_turned = results.turned().next().is_some();
        if expects == Expects::Fix && !has_turned && results.fail_less() {
            return unknown(
                "a check is still red with less than before; whether that is the fix is not known".to_owned(),
            );
        }
        if expects == Expects::Fix && !has_turned {
            return Self::NothingFixed(results.known_red().map(|i| checks[i].spec.name.as_str()).collect());
        }
        Self::Green(results.counted().chain(results.compared()).map(|i| &checks[i]).collect())
    }

    /// The runtime ran, after the last change, a check that may be of this kind; one that is surely of another
    /// (a linter is no test) is not meant.
    pub(super) fn covers(&self, kind: &CommandKind) -> Option<&'a CheckReport> {
        match self {
            Self::Green(checks) => checks.iter().copied().find(|check| may_be(check, kind)),
            Self::Red(check, _) => Some(*check).filter(|check| !check.is_not_run() && may_be(check, kind)),
            Self::Silent(_) | Self::Unknown(..) | Self::NothingFixed(_) => None,
        }
    }

    /// The same of a check of which nobody knows what it says of the change: the agent's own red run of it says no more.
    pub(super) fn leaves_open(&self, kind: &CommandKind) -> Option<&'a CheckReport> {
        match self {
            Self::Unknown(_, checks) => checks.iter().copied().find(|check| !check.passed() && may_be(check, kind)),
            Self::Silent(_) | Self::Green(_) | Self::Red(..) | Self::NothingFixed(_) => None,
        }
    }
}

fn may_be(check: &CheckReport, kind: &CommandKind) -> bool {
    // `npm run lint` says what it is; `./check.sh` may be anything.
    let named = |word: &String| ["lint", "format", "fmt", "types", "typecheck"].iter().any(|name| word.contains(name));
    let runs = runs(&check.spec.run.to_string());
    let is = |wanted: &CommandKind| runs.iter().any(|run| run.kind == *wanted);
    let tests_build = *kind == CommandKind::Build && is(&CommandKind::Test);
    let other = |run: &Run| run.kind != CommandKind::Other && (!is_script(run) || run.words.iter().any(named));
    is(kind) || tests_build || !runs.iter().any(other)
}

const GATE: &str = "runtime_checks";

pub(super) fn runtime_checks(view: &View<'_>) -> Finding {
    match &view.runtime {
        Runtime::Silent(because) | Runtime::Unknown(because, _) => Finding::not_run(GATE, because),
        Runtime::NothingFixed(known) => {
            let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            let evidence = if known.is_empty() {
                "every check is green and none was red before, although a fix was asked for".to_owned()
            } else {
                format!(
                    "every check that counts is green and none of them was red before, although a fix was asked for; {} as before, which \
                     does not count",
                    if known.len() == 1 {
                        format!("{} is red", known[0])
                    } else {
                        format!("{} are red", known.join(", "))
                    }
                )
            };
            Finding::failed(
                GATE,
                evidence,
                Todo::high("Nothing was fixed", "Make the check that shows the fault, and then fix it."),
            )
        }
        Runtime::Red(check, why) => {
            let (name, run, how) = (&check.spec.name, check.spec.run.to_string(), check.how());
            let text = check.output.text();
            let end = plain(last_bytes(text.trim_end(), OUTPUT_BYTES)).into_owned();
            let printed = if end.is_empty() { String::new() } else { format!("\nIt printed:\n{end}") };
            let why = if why.is_empty() { String::new() } else { format!("; {why}") };
            // Names of tests are the check's words: they stand with the evidence, and in no instruction.
            let what = if why.is_empty() { "what it reports" } else { "what is worse in it than at the base" };
            Finding::failed(
                GATE,
                format!("check `{name}` is red ({how}){why}{printed}"),
                Todo::high(format!("Check `{name}` is red ({how})"), format!("Run `{run}` and fix {what}.")),
            )
        }
        Runtime::Green(checks) => {
            let names: Vec<String> = checks.iter().map(|check| format!("`{}`", check.spec.name)).collect();
            let all = checks.iter().all(|check| check.passed());
            let how = if all { "green" } else { "no test fails that did not fail before" };
            Finding::passed(GATE, format!("the runtime ran {} after the last change: {how}", names.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{coding, report, turn};
    use super::*;
    use crate::domain::CheckScope;

    #[test]
    fn green_passes_red_fails_and_silence_is_neither() {
        let there = || coding().observed(&["a.rs"], "");
        there().check("cargo test", Some("x"), None).passes(GATE, "`cargo test`");
        let red = there().check("cargo test", None, Some("test result: FAILED")).fails(GATE, "exit status 1");
        assert!(red.report.evidence.ends_with("test result: FAILED"));
        assert!(red.todo.unwrap().action.contains("Run `cargo test` and fix"));
        there().check("pytest", Some("not run"), Some("not run")).is_silent(GATE, "no such program");
        there().check("pytest", None, Some("not run")).fails(GATE, "not run");
        there().is_silent(GATE, "the runtime ran no check");
        turn("x").is_silent(GATE, "not run by the runtime");
    }

    #[test]
    fn an_old_failure_of_the_project_counts_for_nobody() {
        let project = |before: &str, after: &str| {
            let mut turn = coding().observed(&["a.rs"], "");
            let observed = turn.turn.observed.as_mut().unwrap();
            observed.baseline.push(report(CheckScope::Project, "lint", Some(before)));
            observed.checks.push(report(CheckScope::Project, "lint", Some(after)));
            turn
        };
        project("a", "a").is_silent(GATE, "red for the same reason");
        project("a", "a").check("cargo test", None, None).passes(GATE, "`cargo test`");
        project("a", "b").fails(GATE, "`lint` is red");
        project("a", "a").expects(Expects::Fix).fails(GATE, "`lint` is red");
    }

    #[test]
    fn where_the_runtime_does_not_know_what_its_check_says_the_agents_own_run_of_it_says_no_more() {
        let there = |check: &str| {
            let mut turn = coding().edit("/repo/a.rs").ran("pytest -q", 1, "1 failed, 2 passed in 0.1s");
            turn = turn.observed(&["a.rs"], "");
            let observed = turn.turn.observed.as_mut().unwrap();
            observed.baseline.push(report(CheckScope::Project, check, Some("a")));
            observed.checks.push(report(CheckScope::Project, check, Some("a")));
            turn
        };
        there("pytest -q").is_silent(
            "tests_passed",
            "the runtime's check `pytest -q` is red, and what it says of the change is not known",
        );
        there("eslint .").fails("tests_passed", "failed");
    }

    #[test]
    fn a_fix_must_turn_something_green() {
        let there = || coding().observed(&["a.rs"], "").expects(Expects::Fix);
        there().check("cargo test", None, None).fails(GATE, "none was red before");
        // What is red all the same is not passed over.
        let mut beside = there().check("cargo test", None, None);
        let observed = beside.turn.observed.as_mut().unwrap();
        observed.baseline.push(report(CheckScope::Project, "npm test", Some("a")));
        observed.checks.push(report(CheckScope::Project, "npm test", Some("a")));
        beside.fails(GATE, "none of them was red before, although a fix was asked for; `npm test` is red as before, which does not count");
        there().check("cargo test", Some("x"), None).passes(GATE, "");
    }
}
