//! Every test of a run with its outcome, by its id, where the runner's summary vouches for the list.
//!
//! Nothing is known where the counts of the summary and the names differ, or where there are several summaries: output
//! that was cut, or several runs in one check.

use super::found::pattern;
use super::listed::failed_test;
use super::python::{pytest_each, pytest_parts, test_id, traceback};
use super::{go, javascript_tests, prove, rust_tests, tap};
use crate::domain::{CountedTests, FailedTest};
use crate::toolchain;
use std::collections::BTreeMap;

/// The tests of a failed run, as far as its tool is one that names them.
pub(super) fn counted(tool: &str, lines: &[&str], output: &str) -> Option<CountedTests> {
    match tool {
        "unittest" => return unittest(lines, output),
        "pytest" => return pytest(lines, output),
        "go test" => {
            let listed = go::each(lines)?;
            let ran = listed.names_passed.then(|| listed.ran());
            return listed.into_counted(ran, output);
        }
        "doctest" => return prove::doctest_each(lines).into_counted(None, output),
        _ => {}
    }
    let listed = match tool {
        "cargo test" => rust_tests::libtest(lines),
        "cargo nextest" => rust_tests::nextest(lines),
        "node:test" | "tap" => tap::each(lines),
        "jest" => javascript_tests::jest(lines),
        "vitest" => javascript_tests::vitest(lines)?,
        "mocha" => javascript_tests::mocha(lines),
        "prove" => prove::prove_each(lines)?,
        _ => return None,
    };
    let mut said = toolchain::summaries(output);
    // Their own lines are TAP, too, which they sum up once more.
    said.retain(|said| !["node:test", "prove"].contains(&tool) || said.runner != "TAP");
    let [said] = said.as_slice() else { return None };
    let counts = said.counts.filter(|counts| said.whole && listed.is_counted_by(*counts))?;
    listed.into_counted(usize::try_from(counts.ran()).ok(), output)
}

fn unittest(lines: &[&str], output: &str) -> Option<CountedTests> {
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
        let name = test_id(&header[1]);
        failing.insert(name.clone(), failed_test(name, &traceback(&rest[..end])?, output));
    }
    let known = count("unexpected successes") == 0 && sections == count("failures") + count("errors");
    let ran: usize = ran.get(1)?.as_str().parse().ok()?;
    let ran = ran.saturating_sub(count("skipped") + count("expected failures"));
    (known && failing.len() == sections).then_some(CountedTests { ran: Some(ran), failing, ..CountedTests::default() })
}

fn pytest(lines: &[&str], output: &str) -> Option<CountedTests> {
    pattern!(TOTAL, r"^(?:=+ )?((?:\d+ [a-z]+(?: [a-z]+)?(?:, )?)+) in [\d.]+s");
    pattern!(COUNT, r"(\d+) (failed|passed|error|errors|xpassed)(?:,|$)");
    pattern!(STOPPED, r"^!+ (?:stopping after \d+ failures|.*Interrupted: ).*!+$");
    // What else fails is not known.
    if lines.iter().any(|line| STOPPED.is_match(line)) {
        return None;
    }
    let total = only(lines, &TOTAL)?;
    let counts: Vec<(usize, &str)> = COUNT
        .captures_iter(total.get(1)?.as_str())
        .filter_map(|count| Some((count[1].parse().ok()?, count.get(2)?.as_str())))
        .collect();
    let red = |name: &str| matches!(name, "failed" | "error" | "errors");
    let red: usize = counts.iter().filter(|(_, name)| red(name)).map(|(n, _)| n).sum();
    let each = pytest_each(lines);
    let failing: BTreeMap<String, FailedTest> =
        each.iter().map(|(test, found)| (test.clone(), failed_test(test.clone(), found, output))).collect();
    let known = red > 0 && each.len() == red && failing.len() == red;
    let all: usize = counts.iter().map(|(n, _)| n).sum();
    let ran = Some(all.saturating_sub(pytest_parts(lines)));
    known.then(|| CountedTests { ran, failing, ..CountedTests::default() })
}

/// The captures of the only line that matches.
fn only<'t>(lines: &[&'t str], pattern: &regex::Regex) -> Option<regex::Captures<'t>> {
    let mut found = lines.iter().filter_map(|line| pattern.captures(line));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}
#[cfg(test)]
mod tests {
    use super::*;

    fn check(tool: &str, printed: &str, expected: Option<(usize, &[&str])>) {
        let lines: Vec<&str> = printed.lines().collect();
        let found = counted(tool, &lines, printed);
        let found =
            found.as_ref().map(|found| (found.ran.unwrap_or(0), found.failing.keys().map(String::as_str).collect()));
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
        let subtests = pytest.replace("4 failed in", "4 failed, 3 passed, 15 deselected, 41 subtests passed in");
        check("pytest", &subtests, Some((7, &four)));
        let parts = pytest.replace("FAILED test_calc.py::test_ratio", "SUBFAILED(i=1) test_calc.py::test_add");
        let five = [
            "test_calc.py::TestMore::test_twice[1]",
            "test_calc.py::TestMore::test_twice[2]",
            "test_calc.py::test_add",
            "test_calc.py::test_add (i=1)",
        ];
        check("pytest", &parts.replace("4 failed in", "4 failed, 3 passed in"), Some((6, &five)));
        let stopped = pytest.replace("4 failed in", "!!! stopping after 4 failures !!!\n4 failed in");
        check("pytest", &stopped, None);
        check("cargo test", &pytest, None);
    }

    /// What is read of a fixture: how many ran, the ids of those that failed with their codes and messages, and of those that passed.
    fn check_each(fixture_name: &str, ran: Option<usize>, failing: &[&str], passed: Option<&[&str]>) {
        let printed = fixture(fixture_name);
        let found = super::super::reader::read(&printed).counted.unwrap_or_else(|| panic!("{fixture_name}"));
        let of = |(id, failed): (&String, &FailedTest)| {
            let how: Vec<&str> = failed.how.split('\u{1f}').collect();
            format!("{id} | {} | {} | {}", failed.name, failed.frame.as_deref().unwrap_or_default(), how[2])
        };
        let found_failing: Vec<String> = found.failing.iter().map(of).collect();
        assert_eq!(found_failing, failing, "{fixture_name}");
        let passed = passed.map(|passed| passed.iter().map(|id| (*id).to_owned()).collect());
        assert_eq!((found.ran, found.passed), (ran, passed), "{fixture_name}");
    }

    #[test]
    fn rust_names_each_test_with_its_program() {
        check_each(
            "each-cargo-test-no-fail-fast",
            Some(7),
            &[
                "it::one | one | tests/it.rs:2 | assertion `left == right` failed: in it",
                "wallet::src/lib.rs - one | src/lib.rs - one (line 1) | src/lib.rs:5 | assertion `left == right` failed",
                r#"wallet::tests::fails | tests::fails |  | "no""#,
                "wallet::tests::one | tests::one | src/lib.rs:9 | assertion `left == right` failed",
                "wallet::tests::two | tests::two | src/lib.rs:11 | called `Option::unwrap()` on a `None` value",
            ],
            Some(&["it::tests::three", "wallet::tests::three"]),
        );
        check_each(
            "each-cargo-test-q-no-fail-fast",
            Some(7),
            &[
                "one | one | tests/it.rs:2 | assertion `left == right` failed: in it",
                "src/lib.rs - one | src/lib.rs - one (line 1) | src/lib.rs:5 | assertion `left == right` failed",
                r#"tests::fails | tests::fails |  | "no""#,
                "tests::one | tests::one | src/lib.rs:9 | assertion `left == right` failed",
                "tests::two | tests::two | src/lib.rs:11 | called `Option::unwrap()` on a `None` value",
            ],
            None,
        );
        check_each(
            "each-cargo-nextest-run-no-fail-fast",
            Some(6),
            &[
                r#"wallet tests::fails | tests::fails |  | "no""#,
                "wallet tests::one | tests::one | src/lib.rs:9 | assertion `left == right` failed",
                "wallet tests::two | tests::two | src/lib.rs:11 | called `Option::unwrap()` on a `None` value",
                "wallet::it one | one | tests/it.rs:2 | assertion `left == right` failed: in it",
            ],
            Some(&["wallet tests::three", "wallet::it tests::three"]),
        );
        // It stopped at the first failure: what else fails is not known.
        check("cargo nextest", &fixture("nextest-assert"), None);
    }

    #[test]
    fn javascript_names_each_failing_test_with_its_file() {
        let falsy = "The expression evaluated to a falsy value";
        let equal = "Expected values to be strictly equal";
        let null = "Cannot read properties of null (reading 'x')";
        let node = |second: &str| {
            vec![
                format!("group > two | two | {second} | {null}"),
                format!("one | one | nt/a.test.js:2 | {equal}"),
                format!("one (2) | one | nt/b.test.js:2 | {equal}"),
                format!("parent > child | child | nt/a.test.js:4 | {falsy}"),
            ]
        };
        for name in ["each-node-tap", "each-node-spec"] {
            let failing = node("lib.js:1");
            let failing: Vec<&str> = failing.iter().map(String::as_str).collect();
            check_each(name, Some(8), &failing, Some(&["fine", "group > three", "parent > fine"]));
        }
        check_each(
            "each-tape",
            Some(3),
            &[
                "is five | is five | a.js:3 | expected equal: <n>, actual: <n>",
                "is one | is one | a.js:2 | expected equal: <n>, actual: <n>",
            ],
            Some(&["fine"]),
        );
        check_each(
            "each-jest",
            Some(5),
            &[
                "jt/a.test.js › group › two | group › two | lib.js:1 | Cannot read properties of null (reading 'x')",
                "jt/a.test.js › one | one | jt/a.test.js:2 | expect(received).toBe(expected) // Object.is equality",
                "jt/b.test.js › one | one | jt/b.test.js:2 | expect(received).toBe(expected) // Object.is equality",
            ],
            None,
        );
        check_each(
            "each-vitest",
            Some(5),
            &[
                "vt/a.test.mjs > group > two | group > two | lib.js:1 | Cannot read properties of null (reading 'x')",
                "vt/a.test.mjs > one | one | vt/a.test.mjs:2 | expected +<n> to be <n> // Object.is equality",
                "vt/b.test.mjs > one | one | vt/b.test.mjs:2 | expected +<n> to be <n> // Object.is equality",
            ],
            None,
        );
        check_each(
            "each-mocha",
            Some(3),
            &[
                "group two | group two | lib.js:1 | Cannot read properties of null (reading 'x')",
                "one | one | mt/a.js:2 | Expected values to be strictly equal",
            ],
            Some(&["group three"]),
        );
    }

    #[test]
    fn go_names_each_test_with_its_package() {
        let failing = [
            "example.com/cart.TestOne | TestOne | a_test.go:3 | One() = <n>, want <n>",
            "example.com/cart.TestTwo/a_b | TestTwo/a_b | a_test.go:4 | Two() = <n>",
            "example.com/cart/sub.TestOne | TestOne | s_test.go:3 | sub is red",
        ];
        check_each("each-go", None, &failing, None);
        let passed = ["example.com/cart.TestThree", "example.com/cart.TestTwo/c", "example.com/cart/sub.TestFine"];
        for name in ["each-go-v", "each-go-json"] {
            check_each(name, Some(7), &failing, Some(&passed));
        }
        // A package that does not compile, or that a panic ended, says nothing of its other tests.
        check("go test", &fixture("go-test-build"), None);
        check("go test", &fixture("go-panic"), None);
    }

    #[test]
    fn what_a_summary_does_not_count_is_not_believed() {
        for (name, from, to) in [
            ("each-node-tap", "# fail 5", "# fail 7"),
            ("each-jest", "Tests:       3 failed", "Tests:       4 failed"),
            ("each-mocha", "2 failing", "3 failing"),
            ("each-cargo-test-no-fail-fast", "1 passed; 3 failed", "2 passed; 3 failed"),
        ] {
            let printed = fixture(name).replace(from, to);
            assert_eq!(super::super::reader::read(&printed).counted, None, "{name}");
        }
    }

    #[test]
    fn a_test_that_is_mended_leaves_the_others_as_they_were() {
        let read = |printed: &str| super::super::reader::read(printed);
        let base = read(&fixture("each-node-tap"));
        let one = "not ok 1 - one\n";
        let mended = fixture("each-node-tap")
            .replacen(one, "ok 1 - one\n", 1)
            .replace("# pass 3", "# pass 4")
            .replace("# fail 5", "# fail 4");
        assert!(read(&mended).is_no_more_than(&base));
        // Another one of the name fails in its place: that is the second one, which failed before, too.
        let gone = mended.replacen("ok 1 - one\n", "ok 1 - other\n", 1);
        let beside = read(&gone).beside(&base).unwrap();
        assert_eq!((beside.gone, beside.new), (vec!["one (2)".to_owned()], Vec::new()));
        assert!(!read(&gone).is_no_more_than(&base));
        let worse = mended
            .replace("ok 6 - fine\n", "not ok 6 - fine\n")
            .replace("# pass 4", "# pass 3")
            .replace("# fail 4", "# fail 5");
        let worse = read(&worse);
        assert!(!worse.is_no_more_than(&base));
        let beyond = worse.beyond(&base).unwrap();
        assert_eq!((beyond.tests, beyond.message), (vec!["fine".to_owned()], None));
    }

    #[test]
    fn where_cargo_stopped_early_nobody_knows_what_fails_behind() {
        let program = |name: &str, test: &str, ended: &str| {
            let red = ended == "FAILED";
            let counts = if red { "FAILED. 0 passed; 1 failed" } else { "ok. 1 passed; 0 failed" };
            let why = format!("failures:\n\n---- {test} stdout ----\nError: \"no\"\n\nfailures:\n    {test}\n\n");
            format!(
                "     Running {name} (target/debug/deps/{name}-17f98fd1c3553e3d)\n\nrunning 1 test\ntest {test} ... {ended}\n\n{}\
                 test result: {counts}; 0 ignored; 0 measured; 0 filtered out\n\n{}",
                if red { why.as_str() } else { "" },
                if red { format!("error: test failed, to rerun pass `--test {name}`\n") } else { String::new() }
            )
        };
        let read = |printed: &str| super::super::reader::read(printed);
        let base = read(&program("a", "one", "FAILED"));
        let now = read(&(program("a", "one", "ok") + &program("b", "two", "FAILED")));
        let beside = now.beside(&base).unwrap();
        assert!(beside.is_only_unclear(), "{beside:?}");
        assert!(beside.words().contains("`b::two` fails in a test program that did not run at the base"), "{beside:?}");
        // A test of a program that did run there is new, and so is one where all programs ran.
        let other = read(&program("a", "two", "FAILED"));
        assert_eq!(other.beside(&base).unwrap().new, ["a::two"]);
        let whole = read(&(program("a", "one", "FAILED") + "error: 1 target failed:\n    `--test a`\n"));
        assert_eq!(now.beside(&whole).unwrap().new, ["b::two"]);
    }

    #[test]
    fn mocha_exits_with_the_number_of_failures() {
        let red = |printed: &str, status: i32| super::super::reader::read_ended(printed, status);
        let base = red(&fixture("each-mocha"), 2);
        let printed = fixture("each-mocha");
        let (head, list) = printed.split_once("  1) one:").unwrap();
        let (_, second) = list.split_once("  2) group").unwrap();
        let now =
            format!("{head}  1) group{second}").replace("1 passing", "2 passing").replace("2 failing", "1 failing");
        assert!(red(&now, 1).is_no_more_than(&base));
        assert!(!red(&now, 7).is_no_more_than(&base));
    }
}
