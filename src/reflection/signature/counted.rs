//! Every failing test of a run with its own failure, where the runner's summary vouches for the list.
//!
//! Nothing is known where the counts of the summary and the names differ, or where there are several summaries: output
//! that was cut, or several runs in one check.

use super::found::Found;
use super::found::pattern;
use super::mask::mask;
use super::python::pytest_each;
use super::python::test_id;
use super::python::traceback;
use super::reader::place;
use crate::domain::CountedTests;
use std::collections::BTreeMap;

/// The tests of a failed run, as far as its tool is one that names and counts them.
pub(super) fn counted(tool: &str, lines: &[&str]) -> Option<CountedTests> {
    match tool {
        "unittest" => unittest(lines),
        "pytest" => pytest(lines),
        _ => None,
    }
}

fn unittest(lines: &[&str]) -> Option<CountedTests> {
    pattern!(RAN, r"^Ran (\d+) tests? in ");
    pattern!(FAILED, r"^FAILED \((.+)\)$");
    pattern!(COUNT, r"(failures|errors|skipped|expected failures|unexpected successes)=(\d+)");
    pattern!(HEADER, r"^(?:FAIL|ERROR): (\S.*)$");
    pattern!(RULE, r"^(?:=|-)+$");
    let (ran, failed) = (only(lines, &RAN)?, only(lines, &FAILED)?);
    let counts = failed.get(1)?.as_str();
    let count = |name: &str| -> usize {
        let mut counts = COUNT.captures_iter(counts).filter(|count| &count[1] == name);
        counts.find_map(|count| count[2].parse().ok()).unwrap_or(0)
    };
    let ends = |line: &str| line.starts_with("======") || RAN.is_match(line);
    let mut failing = BTreeMap::new();
    let mut sections = 0;
    for (at, line) in lines.iter().enumerate() {
        let Some(header) = HEADER.captures(line) else { continue };
        // What a test prints may look like a header; only the runner rules it off.
        if !lines.get(at + 1).is_some_and(|next| RULE.is_match(next)) {
            continue;
        }
        sections += 1;
        let rest = &lines[at + 1..];
        let end = rest.iter().position(|line| ends(line)).unwrap_or(rest.len());
        failing.insert(test_id(&header[1]), how(&traceback(&rest[..end])?));
    }
    let known = count("unexpected successes") == 0 && sections == count("failures") + count("errors");
    let ran: usize = ran.get(1)?.as_str().parse().ok()?;
    let ran = ran.saturating_sub(count("skipped") + count("expected failures"));
    (known && failing.len() == sections).then_some(CountedTests { ran, failing })
}

fn pytest(lines: &[&str]) -> Option<CountedTests> {
    pattern!(TOTAL, r"^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s");
    pattern!(COUNT, r"(\d+) (failed|passed|error|errors|xpassed)\b");
    let total = only(lines, &TOTAL)?;
    let counts: Vec<(usize, &str)> = COUNT
        .captures_iter(total.get(1)?.as_str())
        .filter_map(|count| Some((count[1].parse().ok()?, count.get(2)?.as_str())))
        .collect();
    let red = |name: &str| matches!(name, "failed" | "error" | "errors");
    let failed: usize = counts.iter().filter(|(_, name)| red(name)).map(|(n, _)| n).sum();
    let each = pytest_each(lines);
    let failing: BTreeMap<String, String> = each.iter().map(|(test, found)| (test.clone(), how(found))).collect();
    let known = failed > 0 && each.len() == failed && failing.len() == failed;
    known.then(|| CountedTests { ran: counts.iter().map(|(n, _)| n).sum(), failing })
}

/// The captures of the only line that matches.
fn only<'t>(lines: &[&'t str], pattern: &regex::Regex) -> Option<regex::Captures<'t>> {
    let mut found = lines.iter().filter_map(|line| pattern.captures(line));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// A failure without what changes from run to run, as a fingerprint sees it.
fn how(found: &Found) -> String {
    let message = found.message.as_deref().map(|message| mask(message.trim())).unwrap_or_default();
    let place = found.frame.as_ref().map(place).unwrap_or_default();
    format!("{}\u{1f}{place}\u{1f}{message}", found.code.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tool: &str, printed: &str, expected: Option<(usize, &[&str])>) {
        let lines: Vec<&str> = printed.lines().collect();
        let found = counted(tool, &lines);
        let found = found.as_ref().map(|found| (found.ran, found.failing.keys().map(String::as_str).collect()));
        assert_eq!(found, expected.map(|(ran, tests)| (ran, tests.to_vec())), "{printed}");
    }

    fn fixture(name: &str) -> String {
        std::fs::read_to_string(format!("{}/tests/fixtures/failures/{name}.txt", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn tests_are_known_where_the_summary_counts_as_many() {
        let unittest = fixture("unittest");
        check("unittest", &unittest, Some((2, &["test_unit.Calc.test_add", "test_unit.Calc.test_ratio"])));
        check(
            "unittest",
            &unittest.replace("errors=1", "errors=1, skipped=1"),
            Some((1, &["test_unit.Calc.test_add", "test_unit.Calc.test_ratio"])),
        );
        check("unittest", &unittest.replace("errors=1", "errors=2"), None);
        check("unittest", &format!("{unittest}\n{unittest}"), None);
        let four = [
            "test_calc.py::TestMore::test_twice[1]",
            "test_calc.py::TestMore::test_twice[2]",
            "test_calc.py::test_add",
            "test_calc.py::test_ratio",
        ];
        let pytest = fixture("pytest-short");
        check("pytest", &pytest, Some((4, &four)));
        check("pytest", &pytest.replace("4 failed in", "4 failed, 3 passed, 1 skipped in"), Some((7, &four)));
        check("pytest", &pytest.replace("4 failed in", "5 failed in"), None);
        check("cargo test", &pytest, None);
    }
}
