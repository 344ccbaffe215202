//! `prove`, and Python's doctest: runners that name no test that passes.

use super::found::{Found, Frame, joined, last_match, pattern};
use super::listed::{Listed, Outcome};
use std::collections::BTreeMap;

pattern!(SCRIPT, r"^(\S.*?) +\(Wstat: (\d+)(?: \(.+\))? Tests: \d+ Failed: (\d+)\)$");
pattern!(RESULT, r"^Result: FAIL$");

/// What a test script says of one of its tests that failed.
struct Diagnosed {
    name: String,
    found: Found,
}

/// The report at the end of a run of `prove`.
pub(super) fn prove(lines: &[&str]) -> Option<Found> {
    let last_mark = last_match(lines, &RESULT)?;
    lines.iter().any(|line| SCRIPT.is_match(line)).then_some(())?;
    let listed = prove_each(lines).unwrap_or_default();
    let tests = listed.failed().map(|(id, _)| id.to_owned()).collect();
    let first = listed.failed().next().map(|(_, found)| found.clone()).unwrap_or_default();
    Some(Found { tool: "prove", tests, last_mark, ..first })
}

/// Each test that failed, by its script and its name, or its number where its script does not say its name. None where a script failed as
/// a whole.
pub(super) fn prove_each(lines: &[&str]) -> Option<Listed> {
    pattern!(NUMBERS, r"^  Failed tests?:  ?([\d, -]+)$");
    let mut named = diagnosed(lines);
    let mut listed = Listed::default();
    for (at, line) in lines.iter().enumerate() {
        let Some(script) = SCRIPT.captures(line) else { continue };
        let (file, status, failed) = (&script[1], &script[2], script[3].parse::<usize>().ok()?);
        if failed == 0 {
            // It ended badly without a test that failed, or a test passed that was expected to fail.
            if status == "0" {
                continue;
            }
            return None;
        }
        let end = lines[at + 1..].iter().position(|line| !line.starts_with("  ")).unwrap_or(0);
        let told = &lines[at + 1..=at + end];
        if told.iter().any(|line| line.starts_with("  Parse errors:")) {
            return None;
        }
        let numbers = told.iter().find_map(|line| NUMBERS.captures(line)).and_then(|said| numbers(&said[1]))?;
        let names = named.remove(file).unwrap_or_default();
        if numbers.len() != failed {
            return None;
        }
        let all_named = names.len() == failed && names.iter().all(|test| !test.name.is_empty());
        let tests: Vec<(String, Found)> = if all_named {
            names.into_iter().map(|test| (test.name, test.found)).collect()
        } else {
            numbers.into_iter().map(|number| (number.to_string(), Found::default())).collect()
        };
        for (name, found) in tests {
            listed.push(format!("{file}: {name}"), &name, Outcome::Failed(Box::new(found)));
        }
    }
    (!listed.tests.is_empty()).then_some(listed)
}

/// `2-3, 5`.
fn numbers(words: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in words.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        all.extend(first.parse().ok()?..=last.parse::<usize>().ok()?);
    }
    Some(all)
}

/// What Perl's test modules say of each failure, by script.
fn diagnosed(lines: &[&str]) -> BTreeMap<String, Vec<Diagnosed>> {
    pattern!(FAILED, r"^#   Failed test(?: '(.*)')?$");
    pattern!(PLACE, r"^#   (?:in|at) (\S+)(?: at)? line (\d+)\.$");
    pattern!(VALUE, r"^# {4,}\S");
    // Whether a name is there at all.
    pattern!(NAME, r"->can\(.*\) failed|^Tried to (?:use|require) |isn't defined");
    let mut all: BTreeMap<String, Vec<Diagnosed>> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(failed) = FAILED.captures(line) else { continue };
        let Some(place) = lines.get(at + 1).and_then(|line| PLACE.captures(line)) else { continue };
        let values = lines[at + 2..].iter().take_while(|line| VALUE.is_match(line));
        let values: Vec<&str> = values.map(|line| line.trim_start_matches('#').trim()).collect();
        let name = failed.get(1).map(|name| name.as_str().to_owned()).unwrap_or_default();
        // What its functions print is an assertion that did not hold.
        let says = Some(line.trim_start_matches('#')).filter(|_| !values.iter().any(|value| NAME.is_match(value)));
        let found = Found {
            message: Some(name.clone()),
            detail: joined(says.into_iter().chain(values)),
            frame: Some(Frame::new(&place[1], Some(&place[2]))),
            ..Found::default()
        };
        all.entry(place[1].to_owned()).or_default().push(Diagnosed { name, found });
    }
    all
}

/// `python -m doctest`, and programs that call `doctest.testmod()`.
pub(super) fn doctest(lines: &[&str]) -> Option<Found> {
    pattern!(END, r"^\*\*\*Test Failed\*\*\* \d+ failures?\.$");
    let last_mark = last_match(lines, &END)?;
    let listed = doctest_each(lines);
    let tests = listed.failed().map(|(id, _)| id.to_owned()).collect();
    let first = listed.failed().next().map(|(_, found)| found.clone())?;
    Some(Found { tool: "doctest", tests, last_mark, ..first })
}

/// Each example that failed, by what it is an example of.
pub(super) fn doctest_each(lines: &[&str]) -> Listed {
    pattern!(PLACE, r#"^File "(.+)", line (\d+), in (\S+)$"#);
    pattern!(RULE, r"^\*{60,}$");
    let mut listed = Listed::default();
    for (at, line) in lines.iter().enumerate() {
        let (Some(place), Some(&"Failed example:")) = (PLACE.captures(line), lines.get(at + 1)) else { continue };
        let rest = &lines[at + 2..];
        let end = rest.iter().position(|line| RULE.is_match(line)).unwrap_or(rest.len());
        let example = rest.iter().take_while(|line| line.starts_with("    ")).map(|line| line.trim());
        let example = example.collect::<Vec<_>>().join(" ");
        let found = Found {
            message: Some(example.clone()),
            detail: joined(rest[..end].iter().skip_while(|line| line.starts_with("    ")).copied()),
            frame: Some(Frame::new(&place[1], Some(&place[2]))),
            ..Found::default()
        };
        listed.push(format!("{}: {example}", &place[3]), &example, Outcome::Failed(Box::new(found)));
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::super::reader::read;

    const PROVE: &str = "t/ok.t .... ok\n\n#   Failed test 'mid is B'\n#   at t/zone.t line 3.\n#          got: '2'\n#     expected: '3'\n\n\
        #   Failed test 'far is C'\n#   at t/zone.t line 6.\n#          got: 'D'\n#     expected: 'C'\n# Looks like you failed 2 tests of 5.\n\
        t/zone.t .. \nDubious, test returned 2 (wstat 512, 0x200)\nFailed 2/5 subtests \n\nTest Summary Report\n-------------------\n\
        t/zone.t (Wstat: 512 (exited 2) Tests: 5 Failed: 2)\n  Failed tests:  2, 5\n  Non-zero exit status: 2\n\
        Files=2, Tests=6,  0 wallclock secs ( 0.01 usr  0.01 sys +  0.08 cusr  0.02 csys =  0.12 CPU)\nResult: FAIL\n";

    fn failing(printed: &str) -> Vec<String> {
        read(printed).counted.map(|counted| counted.failing.into_keys().collect()).unwrap_or_default()
    }

    #[test]
    fn prove_names_its_tests_or_numbers_them() {
        assert_eq!(failing(PROVE), ["t/zone.t: far is C", "t/zone.t: mid is B"]);
        assert_eq!(read(PROVE).counted.unwrap().ran, Some(6));
        let silent: Vec<&str> = PROVE.lines().filter(|line| !line.starts_with('#')).collect();
        let silent = silent.join("\n") + "\n";
        assert_eq!(failing(&silent), ["t/zone.t: 2", "t/zone.t: 5"]);
        assert_eq!(failing(&silent.replace("2, 5", "2-3")), ["t/zone.t: 2", "t/zone.t: 3"]);
        // A script that failed as a whole has no test to be named by.
        let whole = "t/f.t  (Wstat: 65024 (exited 254) Tests: 1 Failed: 0)\n  Non-zero exit status: 254\n  Parse errors: No plan found\n";
        assert!(failing(&PROVE.replace("Files=2", &format!("{whole}Files=3"))).is_empty());
    }

    #[test]
    fn what_test_more_says_is_an_assertion_but_for_names() {
        let says = |values: &str| {
            let printed = PROVE.replace("#          got: '2'\n#     expected: '3'\n", values);
            let counted = read(&printed).counted.unwrap();
            let mid = &counted.failing["t/zone.t: mid is B"];
            (mid.says_an_assertion_failed(), mid.detail.clone())
        };
        let detail = "Failed test 'mid is B'; got: '2'; expected: '3'".to_owned();
        assert_eq!(says("#          got: '2'\n#     expected: '3'\n"), (true, Some(detail)));
        assert!(says("#                   'a'\n#     doesn't match '(?^:b)'\n").0);
        assert!(says("").0);
        assert!(!says("#     Fare->can('bikes') failed\n").0);
        assert!(!says("#     Tried to use 'Bikes'.\n#     Error:  Can't locate Bikes.pm in @INC\n").0);
    }

    #[test]
    fn another_test_that_fails_beside_one_that_passes_now_is_no_old_failure() {
        let now = PROVE.replace("'mid is B'", "'near is A'").replace("line 3.", "line 2.").replace("2, 5", "1, 5");
        assert!(!read(&now).is_no_more_than(&read(PROVE)));
        assert_eq!(read(&now).beside(&read(PROVE)).unwrap().new, ["t/zone.t: near is A"]);
    }

    #[test]
    fn an_example_is_known_by_what_it_is_of() {
        let one = |item: &str, line: u32| {
            let rule = "*".repeat(70);
            format!(
                "{rule}\nFile \"/w/calc.py\", line {line}, in calc.{item}\nFailed example:\n    {item}(2, 3)\nExpected:\n    6\nGot:\n    5\n{rule}\n\
                     1 items had failures:\n   1 of   1 in calc.{item}\n***Test Failed*** 1 failures.\n"
            )
        };
        assert_eq!(failing(&one("mul", 9)), ["calc.mul: mul(2, 3)"]);
        assert!(read(&one("mul", 12)).is_no_more_than(&read(&one("mul", 9))));
        assert!(!read(&one("add", 9)).is_no_more_than(&read(&one("mul", 9))));
    }
}
