//! Which tests a red run names, and what was said of them: by the task, which may excuse them, and by the answer.

use std::collections::BTreeSet;

/// Names of the tests that failed, as far as the usual runners name them: pytest, cargo, go, jest, vitest, mocha.
pub(super) fn failing_tests(output: &str) -> BTreeSet<&str> {
    output.lines().filter_map(|line| failing(line.trim())).collect()
}

fn failing(line: &str) -> Option<&str> {
    let name = if let Some(rest) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) {
        let path = rest.split_once(" - ").map_or(rest, |(path, _)| path).trim();
        path.contains("::").then(|| path.rsplit("::").next().unwrap_or(path))
    } else if let Some(rest) = line.strip_prefix("--- FAIL: ") {
        rest.split_whitespace().next()
    } else if let Some(rest) = line.strip_prefix("test ") {
        rest.strip_suffix(" ... FAILED").map(|path| path.rsplit("::").next().unwrap_or(path))
    } else {
        let rest = line.strip_prefix("● ").or_else(|| line.strip_prefix("× ")).or_else(|| line.strip_prefix("✕ "))?;
        rest.rsplit([' ', '›', '>']).find(|part| part.contains(|c: char| c.is_alphabetic()))
    }?;
    Some(name.split('[').next().unwrap_or(name)).filter(|name| name.len() > 3)
}

/// Whether a sentence of the task names each of these tests and says not to mind it.
pub(super) fn excused(task: &str, tests: &BTreeSet<&str>) -> bool {
    const EXCUSES: [&str; 9] = [
        "ignore",
        "known",
        "expected to fail",
        "don't worry",
        "do not worry",
        "don't mind",
        "unrelated",
        "never mind",
        "fine if",
    ];
    all_said(task, tests, &EXCUSES)
}

/// Whether a sentence of the answer names each of these tests and says that they failed before.
pub(super) fn told(answer: &str, tests: &BTreeSet<&str>) -> bool {
    const SAYS: [&str; 6] = ["before", "already fail", "unrelated", "pre-existing", "preexisting", "on main"];
    all_said(answer, tests, &SAYS)
}

fn all_said(text: &str, tests: &BTreeSet<&str>, words: &[&str]) -> bool {
    let text = text.replace('’', "'");
    let sentences: Vec<&str> = text.split_inclusive(['.', '\n', '!', ';']).collect();
    let said = |test: &&str| {
        // A full stop in `test_a.py` ends no sentence, so the neighbour counts too.
        (0..sentences.len()).any(|at| {
            let end = sentences.len().min(at + 2);
            let near = sentences[at..end].concat();
            let lower = near.to_lowercase();
            sentences[at].contains(*test) && words.iter().any(|word| lower.contains(word))
        })
    };
    !tests.is_empty() && tests.iter().all(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runners_name_what_failed() {
        let check = |output: &str, expected: &[&str]| {
            assert_eq!(failing_tests(output).into_iter().collect::<Vec<_>>(), expected, "{output}");
        };
        check("FAILED tests/test_smtp.py::test_smtp - ConnectionRefusedError", &["test_smtp"]);
        check("FAILED tests/test_a.py::T::test_b[1-2]", &["test_b"]);
        check("--- FAIL: TestStoreGet (0.00s)\n    store_test.go:31: got 2", &["TestStoreGet"]);
        check("test lexer::tests::strings ... FAILED\ntest a ... ok", &["strings"]);
        check("  ● prices › rounds", &["rounds"]);
        check("FAILED (failures=1)\n1 failed, 3 passed in 1s", &[]);
    }

    #[test]
    fn a_test_is_excused_by_its_name() {
        let smtp = BTreeSet::from(["test_smtp"]);
        assert!(excused("Add --quiet. (test_smtp fails without a mail server, ignore that.)", &smtp));
        assert!(!excused("Add --quiet and fix test_smtp.", &smtp));
        assert!(!excused("Ignore case in the search. All tests have to pass.", &smtp));
        assert!(!excused("test_smtp is known to fail.", &BTreeSet::from(["test_smtp", "test_total"])));
        assert!(!excused("Ignore failures.", &BTreeSet::new()));
        assert!(told("test_smtp was failing before I started.", &smtp));
        assert!(!told("I fixed test_smtp.", &smtp));
    }
}
