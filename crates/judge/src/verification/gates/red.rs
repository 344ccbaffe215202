//! Which tests a red run names, and what was said of them: by the task, which may excuse them, and by the answer.

use std::collections::BTreeSet;

/// Names of the tests that failed, in full as far as the usual runners name them: pytest, cargo, go, jest, vitest, mocha.
pub(super) fn failing_tests(output: &str) -> BTreeSet<&str> {
    output.lines().filter_map(|line| failing(line.trim())).collect()
}

fn failing(line: &str) -> Option<&str> {
    let name = if let Some(rest) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) {
        let path = rest.split_once(" - ").map_or(rest, |(path, _)| path).trim();
        path.contains("::").then_some(path)
    } else if let Some(rest) = line.strip_prefix("--- FAIL: ") {
        rest.split_whitespace().next()
    } else if let Some(rest) = line.strip_prefix("test ") {
        rest.strip_suffix(" ... FAILED")
    } else {
        let rest = line.strip_prefix("● ").or_else(|| line.strip_prefix("× ")).or_else(|| line.strip_prefix("✕ "))?;
        // Vitest says how long it took.
        let timed = |(_, time): &(&str, &str)| time.ends_with("ms") && time.starts_with(|c: char| c.is_ascii_digit());
        Some(rest.rsplit_once(' ').filter(timed).map_or(rest, |(name, _)| name).trim())
    }?;
    Some(name).filter(|name| last_part(name).len() > 3)
}

/// A test's own name, as people write it: `test_b` of `tests/test_a.py::T::test_b[1-2]`.
pub(super) fn last_part(name: &str) -> &str {
    let path = name.split('[').next().unwrap_or(name);
    path.rsplit("::").next().and_then(|path| path.rsplit(['›', '>']).next()).unwrap_or(path).trim()
}

/// As much of a test's name as tells it from the others.
fn label<'t>(name: &'t str, tests: &BTreeSet<&'t str>) -> &'t str {
    let path = |name: &'t str| name.split('[').next().unwrap_or(name);
    let short = last_part(name);
    let alone = tests.iter().all(|other| last_part(other) != short || path(other) == path(name));
    if alone { short } else { path(name) }
}

/// Whether the task names each of these tests and says not to mind it, and nowhere that it should pass.
pub(super) fn excused(task: &str, tests: &BTreeSet<&str>) -> bool {
    let sentences = sentences(task);
    let excuses = |test: &&str| {
        let name = label(test, tests);
        let named = || (0..sentences.len()).filter(|&at| place_of(&sentences[at], name).is_some());
        let next = |at: usize| sentences.get(at + 1).map(String::as_str).unwrap_or_default();
        // "It is a known bug. Fix it."
        let then =
            |at: usize| !says_ignore(&without(&sentences[at], name)) && speaks_of_it(next(at)) && wants(next(at));
        let wanted = |at: usize| is_wanted(&sentences[at], name) || then(at);
        let fine = |at: usize| {
            says_ignore(&without(&sentences[at], name))
                || says_known(&without(&sentences[at], name))
                || place_of(next(at), name).is_none() && speaks_of_it(next(at)) && says_ignore(next(at))
        };
        named().any(fine) && !named().any(wanted)
    };
    !tests.is_empty() && tests.iter().all(excuses)
}

/// Whether the answer names each of these tests and says that it failed before and still does.
pub(super) fn told(answer: &str, tests: &BTreeSet<&str>) -> bool {
    const SAYS: [&str; 6] = ["before", "already fail", "unrelated", "pre-existing", "preexisting", "on main"];
    let sentences = sentences(answer);
    let tells = |test: &&str| {
        let name = label(test, tests);
        let named = || (0..sentences.len()).filter(|&at| place_of(&sentences[at], name).is_some());
        let old = |at: usize| {
            let end = sentences.len().min(at + 2);
            let near = without(&sentences[at..end].join("\n"), name);
            let fails = |word: &str| matches!(word, "fail" | "fails" | "failing" | "failed" | "red" | "broken");
            words(&without(&sentences[at], name)).iter().any(|word| fails(word))
                && SAYS.iter().any(|says| near.contains(says))
        };
        // What the others are called says nothing of this one: a test may be called `works`.
        let others = || tests.iter().map(|test| label(test, tests)).filter(|other| *other != name);
        let alone = |at: usize| others().fold(sentences[at].clone(), |sentence, other| without(&sentence, other));
        named().any(old) && !named().any(|at| says_it_passes(&alone(at), name))
    };
    !tests.is_empty() && tests.iter().all(tells)
}

/// The sentences of a text in small letters. A full stop in `test_a.py` ends none.
fn sentences(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace('’', "'");
    let mut found = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let ends = matches!(letter, '.' | '!' | '?' | ';') && letters.peek().is_none_or(|next| next.is_whitespace());
        if ends || letter == '\n' {
            found.push(String::new());
        } else if let Some(sentence) = found.last_mut() {
            sentence.push(letter);
        }
    }
    found.retain(|sentence| !sentence.trim().is_empty());
    found
}

/// Where a test's name stands in a sentence, whole.
fn place_of(sentence: &str, name: &str) -> Option<usize> {
    let name = name.to_lowercase();
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let whole = |at: &usize| {
        !sentence[..*at].ends_with(part) && !sentence[*at + name.len()..].starts_with(part) && !name.is_empty()
    };
    sentence.match_indices(&name).map(|(at, _)| at).find(whole)
}

/// The sentence without the name: what a test is called excuses nothing.
fn without(sentence: &str, name: &str) -> String {
    let mut left = sentence.to_owned();
    while let Some(at) = place_of(&left, name) {
        left.replace_range(at..at + name.to_lowercase().len(), " ");
    }
    left
}

fn words(text: &str) -> Vec<String> {
    let text = text.replace('\'', "");
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

/// Whether one of these words stands there, and none before it that says the contrary.
fn affirms(text: &str, meant: &[&str]) -> bool {
    const NOT: [&str; 14] = [
        "not", "never", "no", "dont", "doesnt", "didnt", "cannot", "cant", "wont", "neednt", "isnt", "wasnt",
        "without", "nor",
    ];
    let words = words(text);
    (0..words.len()).any(|at| {
        let before = &words[at.saturating_sub(3)..at];
        let since = before.iter().rposition(|word| matches!(word.as_str(), "until" | "unless")).map_or(0, |i| i + 1);
        meant.contains(&words[at].as_str()) && !before[since..].iter().any(|word| NOT.contains(&word.as_str()))
    })
}

fn says_ignore(text: &str) -> bool {
    const SAYS: [&str; 6] = ["don't worry", "do not worry", "don't mind", "do not mind", "never mind", "fine if"];
    affirms(text, &["ignore", "ignored", "ignoring"]) || SAYS.iter().any(|says| text.contains(says))
}

fn says_known(text: &str) -> bool {
    affirms(text, &["known", "unrelated"]) || text.contains("expected to fail")
}

/// Whether something is to be mended or to pass.
fn wants(text: &str) -> bool {
    const WANTS: [&str; 13] = [
        "fix",
        "fixes",
        "fixed",
        "fixing",
        "pass",
        "passes",
        "passing",
        "green",
        "repair",
        "repairing",
        "mend",
        "mending",
        "solve",
    ];
    affirms(text, &WANTS)
}

fn speaks_of_it(text: &str) -> bool {
    words(text).iter().any(|word| matches!(word.as_str(), "it" | "that" | "this" | "them" | "these" | "those"))
}

/// Whether a sentence that names the test asks for it. "Fix the parser and ignore `test_a`" does not: what is to be mended is
/// named before, and only then what is not to be minded.
fn is_wanted(sentence: &str, name: &str) -> bool {
    let Some(at) = place_of(sentence, name) else { return false };
    let clause = sentence[..at].rfind([',', '(', ':']).max(sentence[..at].rfind(" and ")).unwrap_or(0);
    let imperative = says_ignore(&sentence[clause..at]);
    wants(&without(if imperative { &sentence[clause..] } else { sentence }, name))
}

/// Whether a sentence that names the test says that it passes. "All others pass, except `test_a`" does not.
fn says_it_passes(sentence: &str, name: &str) -> bool {
    const PASSES: [&str; 8] = ["pass", "passes", "passed", "passing", "fixed", "green", "works", "succeeds"];
    let Some(at) = place_of(sentence, name) else { return false };
    let before = &sentence[..at];
    let apart = [" except", " but ", " besides ", " apart from", " other than"];
    let clause = before.rfind([',', '(', ':']).max(before.rfind(" and ")).unwrap_or(0);
    // "10 passed, 1 failed (test_a)" speaks of others first.
    let others = |word: &String| {
        matches!(word.as_str(), "other" | "others" | "rest" | "remaining" | "else") || word.parse::<u32>().is_ok()
    };
    let of_others = words(&before[..clause]).iter().any(others);
    let apart = apart.iter().filter_map(|word| before.rfind(word)).max().unwrap_or(0);
    let start = apart.max(if of_others { clause } else { 0 });
    affirms(&without(&sentence[start..], name), &PASSES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runners_name_what_failed() {
        let check = |output: &str, expected: &[&str]| {
            assert_eq!(failing_tests(output).into_iter().collect::<Vec<_>>(), expected, "{output}");
        };
        check("FAILED tests/test_smtp.py::test_smtp - ConnectionRefusedError", &["tests/test_smtp.py::test_smtp"]);
        check("FAILED tests/test_a.py::T::test_b[1-2]", &["tests/test_a.py::T::test_b[1-2]"]);
        check("--- FAIL: TestStoreGet (0.00s)\n    store_test.go:31: got 2", &["TestStoreGet"]);
        check("test lexer::tests::strings ... FAILED\ntest a ... ok", &["lexer::tests::strings"]);
        check("  ● prices › rounds", &["prices › rounds"]);
        check(" × src/a.test.ts > prices > rounds up 5ms", &["src/a.test.ts > prices > rounds up"]);
        check("FAILED (failures=1)\n1 failed, 3 passed in 1s", &[]);
    }

    #[test]
    fn a_test_is_excused_by_its_name() {
        let smtp = BTreeSet::from(["tests/a.py::test_smtp"]);
        let check = |task: &str, expected: bool| assert_eq!(excused(task, &smtp), expected, "{task}");
        for task in [
            "Add --quiet. (test_smtp fails without a mail server, ignore that.)",
            "Add --quiet and run the tests. test_smtp is flaky. Ignore it.",
            "Fix the parser and ignore test_smtp, it needs the network.",
            "Add --quiet. test_smtp does not pass here, that is known.",
            "Add --quiet, and don't mind test_smtp.",
            "Ignore test_smtp, it needs the network. Fix that date bug so that it passes.",
            "Fix the date bug. It's fine if test_smtp fails.",
        ] {
            check(task, true);
        }
        for task in [
            "Add --quiet and fix test_smtp.",
            "Ignore case in the search. All tests have to pass.",
            "Fix test_smtp; the cause is unknown.",
            "Fix test_smtp. It is a known bug.",
            "test_smtp is a known bug. Fix it.",
            "test_smtp is known to be red. Do not stop until test_smtp passes.",
            "Make test_smtp pass, ignore the warnings.",
            "test_smtp fails, the reason is unknown.",
            "Do not ignore test_smtp.",
            "Ignore test_smtp_tls.",
        ] {
            check(task, false);
        }
        assert!(!excused("Make test_gitignore_globs pass", &BTreeSet::from(["test_gitignore_globs"])));
        assert!(!excused("See test_ignore_known", &BTreeSet::from(["test_ignore_known"])));
        assert!(!excused("test_smtp is known to fail.", &BTreeSet::from(["test_smtp", "test_total"])));
        assert!(!excused("Ignore failures.", &BTreeSet::new()));
    }

    #[test]
    fn an_old_failure_is_told_by_its_name() {
        let smtp = BTreeSet::from(["tests/a.py::test_smtp"]);
        let check = |answer: &str, expected: bool| assert_eq!(told(answer, &smtp), expected, "{answer}");
        for answer in [
            "test_smtp was failing before I started.",
            "test_smtp fails; that is unrelated to my change.",
            "All others pass, except test_smtp, which failed before my change too.",
            "10 passed, 1 failed (test_smtp, failing before my change).",
            "The other tests pass, test_smtp was failing before.",
            "test_smtp already fails on main, it did not pass before my change.",
        ] {
            check(answer, true);
        }
        for answer in [
            "I fixed test_smtp.",
            "test_smtp passes now; before my change it failed.",
            "test_smtp passes now. It failed before my change.",
            "Before my change test_smtp was failing, now it is green.",
            "All tests pass, but test_smtp passes only now; it failed before.",
            "I looked at test_smtp before I started.",
            "test_smtp_tls failed before.",
        ] {
            check(answer, false);
        }
        let works = BTreeSet::from(["a::works", "b::works"]);
        assert!(!told("works failed before.", &works));
        assert!(!told("a::works failed before.", &works));
        assert!(told("a::works and b::works failed before.", &works));
    }
}
