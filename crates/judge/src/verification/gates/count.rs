//! `test_count`: as many tests are run after the change as before it.

use super::facts::View;
use super::finding::{Finding, Todo};
use super::offence::Offence;
use super::timeline::{Ran, runs_tests};
use crate::domain::Allow;
use crate::toolchain::{Counts, TestSummary, summaries};

const GATE: &str = "test_count";

pub(super) fn test_count(view: &View<'_>) -> Finding {
    let (mut compared, mut fewer) = (Vec::new(), Vec::new());
    for pair in checks(view).into_iter().chain(runs(view)) {
        if pair.after.ran() < pair.before.surely_ran() {
            fewer.push(dropped(view, &pair));
        }
        compared.push(format!("{}: {} before, {} after", pair.name, tests(pair.before.ran()), pair.after.ran()));
    }
    // What is permitted of one hides nothing of another.
    if let Some(worst) = fewer.into_iter().min_by_key(|found| (!found.is_failed(), found.question.is_none())) {
        return worst;
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
    let evidence =
        format!("{name} ran {} before ({before}) and {} after ({after})", tests(before.surely_ran()), after.ran());
    let fewer = before.surely_ran() - after.ran();
    let todo = Todo::high(
        format!("{} that ran before", tests(fewer)),
        "Bring back the tests that no longer run; make the code pass them instead.",
    );
    let task = view.task();
    let (permitted_by, words) = if after.only_skips_more_than(*before) {
        (Allow::SkipTests, asks_to_skip(&task).then_some("the task asks to skip tests"))
    } else {
        (Allow::RemoveTests, asks_to_remove(&task).then_some("the task asks to remove something"))
    };
    Offence { gate: GATE, evidence, todo, permitted_by }.finding(view, words)
}

fn tests(n: u64) -> String {
    if n == 1 { "1 test".to_owned() } else { format!("{n} tests") }
}

/// Whether the runtime's own checks ran no fewer tests than at the base and skipped no more: every check that runs tests now says how many, on
/// both sides.
pub(super) fn none_fewer(view: &View<'_>) -> bool {
    let Some(observed) = &view.facts.turn.observed else { return false };
    let of_tests = observed.checks.iter().filter(|check| !summaries(&check.output.text()).is_empty()).count();
    let pairs = checks(view);
    let as_many =
        |pair: &Pair| pair.after.ran() >= pair.before.surely_ran() && pair.after.skipped <= pair.before.skipped;
    !pairs.is_empty() && pairs.len() == of_tests && pairs.iter().all(as_many)
}

/// The runtime's own checks, at the base and now.
fn checks(view: &View<'_>) -> Vec<Pair> {
    let Some(observed) = &view.facts.turn.observed else { return Vec::new() };
    let pair = |check: &crate::domain::CheckReport| {
        let base = check.at_base(&observed.baseline)?;
        let (runner, before) = in_all(&summaries(&base.output.text()))?;
        // A run that stops at its first failure is shorter for that reason.
        let now =
            Some(summaries(&check.output.text())).filter(|now| now.iter().all(|said| said.green && said.whole))?;
        let (_, after) = in_all(&now).filter(|(now, _)| *now == runner)?;
        Some(Pair { name: format!("check `{}`", check.spec.name), before, after })
    };
    observed.checks.iter().filter_map(pair).collect()
}

/// What one runner says of all its runs: a check may go through several packages, one after the other or all at once. Where several runners
/// have their say, their words may be about the same tests.
fn in_all(said: &[TestSummary]) -> Option<(&'static str, Counts)> {
    let first = said.first()?;
    let of_one = said.iter().all(|said| said.runner == first.runner);
    let sum = said.iter().try_fold(Counts::default(), |sum, said| Some(sum.plus(said.counts?)));
    sum.filter(|_| of_one).map(|sum| (first.runner, sum))
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

/// What is done to tests that leaves fewer of them.
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

/// What goes on after "it can go": otherwise something can go wrong, or must go green.
const AFTER_GO: [&str; 17] = [
    "now",
    "too",
    "away",
    "then",
    "entirely",
    "altogether",
    "completely",
    "because",
    "since",
    "as",
    "and",
    "but",
    "with",
    "we",
    "it",
    "they",
    "nobody",
];

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
    asks(task, |words, at| {
        let word = |i: usize| words.get(i).copied().unwrap_or_default();
        let goes = word(at + 1) != "go" || word(at + 2).is_empty() || AFTER_GO.contains(&word(at + 2));
        STEMS.iter().any(|stem| words[at].starts_with(stem))
            || PAIRS.contains(&(words[at], word(at + 1))) && goes
            || (words[at], word(at + 1)) == ("no", "longer") && NO_LONGER.contains(&word(at + 2))
            || words[at] == "strip" && words[at + 1..].iter().take(3).any(|word| *word == "out")
            || OF_TESTS.iter().any(|stem| words[at].starts_with(stem)) && is_about_tests(words, at)
    })
}

/// Whether it is tests that the verb at this place is about: they stand soon after it, or before its passive. "Move the
/// parser and keep the tests green" moves no tests.
fn is_about_tests(words: &[&str], at: usize) -> bool {
    const TESTS: [&str; 12] = [
        "test", "tests", "spec", "specs", "jest", "vitest", "mocha", "jasmine", "pytest", "unittest", "junit", "suite",
    ];
    /// What is done to tests otherwise: it takes them away from the verb.
    const VERBS: [&str; 29] = [
        "make", "makes", "making", "keep", "keeps", "keeping", "run", "runs", "running", "rerun", "add", "adding",
        "write", "fix", "fixing", "ensure", "check", "verify", "get", "let", "pass", "passes", "passing", "until",
        "while", "when", "so", "update", "extend",
    ];
    const STATES: [&str; 14] = [
        "pass", "passes", "passing", "green", "succeed", "succeeds", "work", "works", "fail", "fails", "failing",
        "broken", "red", "still",
    ];
    const ENDS: [&str; 10] = ["and", "they", "to", "into", "so", "but", "with", "from", "that", "which"];
    const ARE: [&str; 13] =
        ["are", "is", "be", "been", "being", "were", "was", "get", "should", "must", "need", "needs", "can"];
    const OTHERS: [&str; 6] = ["folder", "folders", "movie", "movies", "portal", "uniform"];
    const QUALITIES: [&str; 6] = ["duplicat", "obsolet", "redundan", "unused", "superse", "param"];
    let is_quality = QUALITIES.iter().any(|stem| words[at].starts_with(stem)) || words[at].ends_with("ed");
    // "Fix the merge tests" names a subject.
    let named = at > 0
        && matches!(words[at - 1], "the" | "a" | "an" | "our" | "its" | "their" | "fix" | "failing")
        && words.get(at + 1).is_some_and(|next| TESTS.contains(next));
    if OTHERS.contains(&words[at]) || named && !is_quality {
        return false;
    }
    let is_tests = |i: usize| {
        let verb = words[i] == "test" && i > 0 && matches!(words[i - 1], "and" | "then" | "to");
        let mut next = words[i + 1..].iter().take(3).take_while(|word| !ENDS.contains(word));
        TESTS.contains(&words[i]) && !verb && !next.any(|word| STATES.contains(word))
    };
    let after = (at + 1..words.len().min(at + 6))
        .any(|i| is_tests(i) && !words[at + 1..i].iter().any(|word| VERBS.contains(word)));
    // Parts of a file's name, as `b` and `py`, do not count.
    let mut near = (0..at).rev().filter(|&i| words[i].len() > 2 && !ARE.contains(&words[i])).take(3);
    let before = near.any(|i| {
        let between = &words[i + 1..at];
        let passive = between.iter().any(|word| ARE.contains(word)) || between.is_empty() && is_quality;
        is_tests(i) && passive && !between.iter().any(|word| VERBS.contains(word))
    });
    after || before
}

/// Whether tests are named at all.
pub(super) fn speaks_of_tests(task: &str) -> bool {
    let task = task.to_ascii_lowercase();
    let mut words = task.split(|c: char| !c.is_ascii_alphabetic());
    words.any(|word| matches!(word, "test" | "tests" | "spec" | "specs" | "suite" | "suites"))
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
    use crate::domain::GateOutcome;

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
        let mut removal = before.clone().ran("pytest", 0, &pytest(9));
        removal.turn.task = "Remove the old parser".to_owned();
        let asked = removal.says(GATE, GateOutcome::Unproven, "asks to remove");
        assert!(asked.question.unwrap().words.contains("\"allow\": [\"remove_tests\"]"));
        removal.turn.allow = vec![Allow::SkipTests];
        removal.says(GATE, GateOutcome::Unproven, "asks to remove");
        removal.turn.allow = vec![Allow::RemoveTests];
        removal.is_silent(GATE, "the task allows it");
        let mut skips = before.ran("pytest", 0, skipped);
        skips.turn.task = "Skip the flaky test of the parser".to_owned();
        skips.asks_owner(GATE, "asks to skip tests");
        skips.turn.allow = vec![Allow::SkipTests];
        skips.is_silent(GATE, "the task allows it");
    }

    #[test]
    fn the_runtimes_own_checks_are_compared_too() {
        let mut both = coding().observed(&["a.py"], "").check("pytest", None, None);
        let observed = both.turn.observed.as_mut().unwrap();
        observed.baseline[0].output = crate::domain::Output::whole(pytest(10));
        observed.checks[0].output = crate::domain::Output::whole(pytest(4));
        both.fails(GATE, "check `pytest` ran 10 tests before");
        let observed = both.turn.observed.as_mut().unwrap();
        observed.checks[0].output = crate::domain::Output::whole(pytest(9));
        let found = both.fails(GATE, "ran 10 tests before");
        assert_eq!(found.todo.unwrap().missing, "1 test that ran before");
    }

    #[test]
    fn what_is_to_go_may_go() {
        for task in [
            "Get rid of the XML export",
            "tests/test_old.py tests what we threw away; it can go",
            "We no longer ship v1. Strip it out",
            "tests/test_a.py and tests/test_b.py are duplicates; keep one.",
            "Turn the tests into one parametrised test",
            "The v1 client must go, we do not use it",
            "The old tests should go",
            "Move the parser's tests into tests/parser.rs",
            "The unit tests are to be moved to tests/",
            "Consolidate the duplicated tests",
            "Convert the mocha suite to vitest and keep it green",
            "Merge test_a.py and test_b.py",
            "Move the tests, they still have to pass",
            "Rewrite the tests that fail",
            "Finish the migration from jest to vitest",
            "The tests in tests/old/ are to be merged into one file",
            "The specs should move to spec/models",
        ] {
            assert!(asks_to_remove(task), "{task}");
        }
        for task in [
            "Fix tests/test_a.py",
            "Don't get rid of any test",
            "Make the tests pass",
            "The job can go wrong",
            "Move the parser into its own module and make all tests pass",
            "Move the parser, make all tests pass",
            "Fix the parser, the tests must go green",
            "Replace X with Y and keep the tests green",
            "Replace the lexer, keep tests passing",
            "Rename `foo` and run the tests",
            "Rename `foo`, the tests still have to pass",
            "Make the failing tests pass! Then move the parser",
            "Split the module and test it",
            "Fix the merge tests",
            "Fix the tests of the renamed module",
            "Add tests for the switch statement",
            "Fix the tests of the folder view",
        ] {
            assert!(!asks_to_remove(task), "{task}");
        }
    }
}
