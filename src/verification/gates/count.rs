//! `test_count`: as many tests are run after the change as before it.

use super::facts::View;
use super::finding::Finding;
use super::finding::Todo;
use super::summary::Counts;
use super::summary::summary;
use super::timeline::Ran;
use super::timeline::runs_tests;

const GATE: &str = "test_count";

pub(super) fn test_count(view: &View<'_>) -> Finding {
    let mut compared = Vec::new();
    for pair in checks(view).into_iter().chain(runs(view)) {
        if pair.after.ran() < pair.before.ran() {
            return dropped(view, &pair);
        }
        compared.push(format!("{}: {} tests before, {} after", pair.name, pair.before.ran(), pair.after.ran()));
    }
    if compared.is_empty() {
        return Finding::not_run(GATE, "no test run before the change can be compared with one after it");
    }
    Finding::passed(GATE, compared.join("; "))
}

/// The same tests, before and after.
struct Pair {
    name: String,
    before: Counts,
    after: Counts,
}

fn dropped(view: &View<'_>, pair: &Pair) -> Finding {
    let Pair { name, before, after } = pair;
    let evidence = format!("{name} ran {} tests before ({before}) and {} after ({after})", before.ran(), after.ran());
    if asks_to_remove(&view.task()) {
        return Finding::not_run(GATE, format!("{evidence}; the task asks to remove something"));
    }
    let fewer = before.ran() - after.ran();
    Finding::failed(
        GATE,
        evidence,
        Todo::high(
            format!("{fewer} tests that ran before"),
            "Bring back the tests that no longer run; make the code pass them instead.",
        ),
    )
}

/// The runtime's own checks, at the base and now.
fn checks(view: &View<'_>) -> Vec<Pair> {
    let Some(observed) = &view.facts.turn.observed else { return Vec::new() };
    let pair = |check: &crate::domain::CheckReport| {
        let base = observed.baseline.iter().find(|b| b.scope == check.scope && b.spec == check.spec)?;
        let before = summary(&base.output.text())?.counts?;
        // A run that stops at its first failure is shorter for that reason.
        let after = summary(&check.output.text()).filter(|s| s.green)?.counts?;
        Some(Pair { name: format!("check `{}`", check.spec.name), before, after })
    };
    observed.checks.iter().filter_map(pair).collect()
}

/// The same command in the record, before the first change and after the last one.
fn runs(view: &View<'_>) -> Vec<Pair> {
    let timeline = &view.timeline;
    let (Some(first), Some(last)) = (timeline.changes.first(), timeline.last_change()) else { return Vec::new() };
    let before: Vec<Ran<'_>> = timeline.ran(runs_tests).filter(|ran| ran.at < first.at).collect();
    let after = timeline.ran(runs_tests).filter(|ran| ran.at > last.at);
    let pair = |ran: Ran<'_>| {
        let same = before.iter().rev().find(|b| b.run.words == ran.run.words)?;
        let before = same.said?.counts?;
        let after = ran.said.filter(|s| s.green)?.counts?;
        Some(Pair { name: ran.shown(), before, after })
    };
    after.filter_map(pair).last().into_iter().collect()
}

/// Where something is to be removed, its tests go with it; so they do where tests themselves are to be replaced, moved or
/// brought together. "Do not delete any test" asks for the contrary.
pub(super) fn asks_to_remove(task: &str) -> bool {
    const STEMS: [&str; 10] =
        ["remov", "delet", "drop", "prun", "retir", "deprecat", "consolidat", "dedup", "uninstall", "discard"];
    /// With a second word: "get rid of", "it can go".
    const PAIRS: [(&str, &str); 13] = [
        ("rid", "of"),
        ("can", "go"),
        ("should", "go"),
        ("must", "go"),
        ("let", "go"),
        ("throw", "away"),
        ("throw", "out"),
        ("threw", "away"),
        ("thrown", "away"),
        ("strip", "out"),
        ("rip", "out"),
        ("take", "out"),
        ("phase", "out"),
    ];
    const NO_LONGER: [&str; 10] =
        ["exist", "exists", "ship", "need", "needed", "support", "supported", "use", "used", "wanted"];
    const OF_TESTS: [&str; 24] = [
        "duplicat",
        "replac",
        "migrat",
        "renam",
        "mov",
        "merg",
        "clean",
        "switch",
        "convert",
        "port",
        "rewrit",
        "split",
        "obsolet",
        "reorgani",
        "redundan",
        "unused",
        "superse",
        "parametri",
        "parameteri",
        "collaps",
        "condens",
        "combin",
        "unif",
        "fold",
    ];
    const TESTS: [&str; 12] = [
        "test", "tests", "spec", "specs", "jest", "vitest", "mocha", "jasmine", "pytest", "unittest", "junit", "suite",
    ];
    asks(task, |words, at| {
        let near = || {
            let around = words[at.saturating_sub(8)..].iter().take(14);
            around.into_iter().any(|word| TESTS.contains(word))
        };
        let next = words.get(at + 1).copied().unwrap_or_default();
        STEMS.iter().any(|stem| words[at].starts_with(stem))
            || PAIRS.contains(&(words[at], next))
            || (words[at], next) == ("no", "longer") && words.get(at + 2).is_some_and(|word| NO_LONGER.contains(word))
            || words[at..].starts_with(&["no", "longer", "exist"]) && near()
            || words[at..].starts_with(&["no", "longer", "exists"]) && near()
            || words[at] == "strip" && words[at + 1..].iter().take(3).any(|word| *word == "out")
            || OF_TESTS.iter().any(|stem| words[at].starts_with(stem)) && near()
    })
}

/// Whether tests are to be skipped.
pub(super) fn asks_to_skip(task: &str) -> bool {
    asks(task, |words, at| {
        let near = || {
            words[at + 1..]
                .iter()
                .take(6)
                .any(|word| word.starts_with("test") || word.starts_with("spec") || word.starts_with("flak"))
        };
        let marks = ["ignor", "disabl", "quarantin", "mut"].iter().any(|stem| words[at].starts_with(stem))
            || matches!(words[at], "skip" | "skipping" | "mark");
        marks && near() || matches!(words[at], "xfail")
    })
}

/// Whether a word asks, and nothing before it says not to.
fn asks(task: &str, is: impl Fn(&[&str], usize) -> bool) -> bool {
    let task = task.to_ascii_lowercase().replace(['\'', '’'], "");
    // A full stop in a file's name ends no sentence.
    let task = task.replace(". ", "\n");
    task.split([';', '!', '?', '\n']).any(|sentence| {
        let words: Vec<&str> =
            sentence.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty()).collect();
        (0..words.len()).any(|at| {
            let negated = words[at.saturating_sub(5)..at]
                .iter()
                .any(|word| matches!(*word, "not" | "dont" | "never" | "without" | "no" | "cannot" | "avoid"));
            !negated && is(&words, at)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::coding;
    use super::*;

    fn pytest(passed: u32) -> String {
        format!("== {passed} passed in 0.10s ==")
    }

    #[test]
    fn fewer_tests_than_before_are_named() {
        let before = coding().ran("pytest", 0, &pytest(10)).edit("src/a.py");
        before.clone().ran("pytest", 0, &pytest(10)).passes(GATE, "10 tests before, 10 after");
        before.clone().ran("pytest", 0, &pytest(12)).passes(GATE, "12 after");
        before.clone().ran("pytest", 0, &pytest(9)).fails(GATE, "9 after");
        let skipped = "== 9 passed, 1 skipped in 0.10s ==";
        before.clone().ran("pytest", 0, skipped).fails(GATE, "1 skipped");
        before.clone().ran("pytest tests/a.py", 0, &pytest(2)).is_silent(GATE, "can be compared");
        before.clone().ran("pytest", 1, "== 1 failed, 2 passed in 0.10s ==").is_silent(GATE, "can be compared");
        let mut removal = before.ran("pytest", 0, &pytest(9));
        removal.turn.task = "Remove the old parser".to_owned();
        removal.is_silent(GATE, "asks to remove");
    }

    #[test]
    fn the_runtimes_own_checks_are_compared_too() {
        let mut both = coding().observed(&["a.py"], "").check("pytest", None, None);
        let observed = both.turn.observed.as_mut().unwrap();
        observed.baseline[0].output = crate::domain::Output::whole(pytest(10));
        observed.checks[0].output = crate::domain::Output::whole(pytest(4));
        both.fails(GATE, "check `pytest` ran 10 tests before");
    }

    #[test]
    fn what_is_to_go_may_go() {
        for task in [
            "Get rid of the XML export",
            "tests/test_old.py tests what we threw away; it can go",
            "We no longer ship v1. Strip it out",
            "tests/test_a.py and tests/test_b.py are duplicates; keep one.",
            "Turn the tests into one parametrised test",
        ] {
            assert!(asks_to_remove(task), "{task}");
        }
        for task in ["Fix tests/test_a.py", "Don't get rid of any test", "Make the tests pass", "The job can go wrong"]
        {
            assert_eq!(asks_to_remove(task), task.contains("can go"), "{task}");
        }
    }
}
