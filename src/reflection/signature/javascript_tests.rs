//! The failing tests of jest, vitest and mocha, one by one. What passes they name only where they are asked to.

use super::found::pattern;
use super::javascript::{failure, mocha_entries};
use super::listed::{Listed, Outcome};

/// jest's, below the names of their files.
pub(super) fn jest(lines: &[&str]) -> Listed {
    pattern!(FILE, r"^(?:FAIL|PASS) (?:\S+ )?(\S+)(?: \([\d.]+ m?s\))?$");
    pattern!(BULLET, r"^  ● (.+)$");
    pattern!(END, r"^(?:Summary of all failing tests|Test Suites: .*)$");
    const SUITE: &str = "Test suite failed to run";
    let mut listed = Listed::default();
    let mut file = String::new();
    // Several runs in one check have several ends; at the end of each, failures are repeated.
    let mut is_repeated = false;
    for (at, line) in lines.iter().enumerate() {
        is_repeated =
            (is_repeated || line.starts_with("Summary of all failing tests")) && !line.starts_with("Test Suites:");
        if let Some(begins) = FILE.captures(line) {
            begins[1].clone_into(&mut file);
        }
        let Some(bullet) = BULLET.captures(line).filter(|bullet| !is_repeated && &bullet[1] != "Console") else {
            continue;
        };
        let rest = &lines[at + 1..];
        let ends = |line: &&str| BULLET.is_match(line) || FILE.is_match(line) || END.is_match(line);
        let why = failure(&rest[..rest.iter().position(ends).unwrap_or(rest.len())]);
        if &bullet[1] == SUITE {
            listed.uncounted += 1;
            listed.push(file.clone(), &file, Outcome::Failed(Box::new(why)));
        } else {
            listed.push(format!("{file} › {}", &bullet[1]), &bullet[1], Outcome::Failed(Box::new(why)));
        }
    }
    listed
}

/// vitest's. None: something else failed than tests.
pub(super) fn vitest(lines: &[&str]) -> Option<Listed> {
    pattern!(FAIL, r"^ FAIL  (?:\|\S+\| )?(\S+)(?: > (.+)| \[.*\])?$");
    pattern!(OTHERS, r"^ *Errors  +\d+ error");
    if lines.iter().any(|line| OTHERS.is_match(line)) {
        return None;
    }
    let mut listed = Listed::default();
    for (at, fail) in lines.iter().enumerate().filter_map(|(at, line)| Some((at, FAIL.captures(line)?))) {
        // Tests that fail with the same words stand one below the other.
        let rest = &lines[at + 1..];
        let begins = rest.iter().position(|line| !FAIL.is_match(line)).unwrap_or(rest.len());
        let told = &rest[begins..];
        let end = told.iter().position(|line| FAIL.is_match(line) || line.starts_with('⎯')).unwrap_or(told.len());
        let why = Outcome::Failed(Box::new(failure(&told[..end])));
        let id = fail[0].trim_start_matches(" FAIL ").trim();
        if let Some(name) = fail.get(2) {
            listed.push(id.to_owned(), name.as_str(), why);
        } else {
            listed.uncounted += 1;
            listed.push(fail[1].to_owned(), &fail[1], why);
        }
    }
    Some(listed)
}

/// mocha's: from what its usual reporter shows while they run, in the order of its files, and from the list at its end alone where
/// another one runs.
pub(super) fn mocha(lines: &[&str]) -> Listed {
    pattern!(FAILING, r"^\s+\d+ failing$");
    let list = lines.iter().rposition(|line| FAILING.is_match(line)).map_or(&[][..], |at| &lines[at + 1..]);
    let entries = mocha_entries(list);
    let shown = mocha_tree(&lines[..lines.len() - list.len()]);
    let numbers: Vec<usize> = shown.iter().filter_map(|(_, went)| went.failed()).collect();
    let is_whole = shown.len() > numbers.len() && numbers.into_iter().eq(1..=entries.len());
    let mut listed = Listed { names_passed: is_whole, ..Listed::default() };
    let failed = |told: &[&str]| Outcome::Failed(Box::new(failure(told)));
    if !is_whole {
        for (title, told) in entries {
            listed.push(title.clone(), &title, failed(told));
        }
        return listed;
    }
    for (title, went) in shown {
        let outcome = match went {
            Went::Passed => Outcome::Passed,
            Went::Skipped => Outcome::Skipped,
            Went::Failed(number) => failed(entries[number - 1].1),
        };
        listed.push(title.clone(), &title, outcome);
    }
    listed
}

/// How a test went, as mocha marks it.
#[derive(Clone, Copy)]
enum Went {
    Passed,
    Skipped,
    /// With its number in the list at the end.
    Failed(usize),
}

impl Went {
    fn failed(self) -> Option<usize> {
        if let Self::Failed(number) = self { Some(number) } else { None }
    }
}

/// The tests, each with the names of the suites around it.
fn mocha_tree(lines: &[&str]) -> Vec<(String, Went)> {
    pattern!(TEST, r"^( +)(?:([✔✓√])|(-)|(\d+)\)) (.+?)(?: \(\d+ms\))?$");
    pattern!(SUITE, r"^( +)(\S.*)$");
    let mut around: Vec<(usize, &str)> = Vec::new();
    let mut tests = Vec::new();
    for line in lines {
        if let Some(test) = TEST.captures(line) {
            around.retain(|(outer, _)| *outer < test[1].len());
            let name = test.get(5).map_or("", |name| name.as_str());
            let title = around.iter().map(|(_, name)| *name).chain([name]).collect::<Vec<_>>().join(" ");
            let went = match (test.get(2), test.get(3)) {
                (Some(_), _) => Went::Passed,
                (_, Some(_)) => Went::Skipped,
                _ => Went::Failed(test[4].parse().unwrap_or_default()),
            };
            tests.push((title, went));
        } else if let Some(suite) = SUITE.captures(line) {
            let indent = suite[1].len();
            around.retain(|(outer, _)| *outer < indent);
            around.push((indent, suite.get(2).map_or("", |name| name.as_str())));
        }
    }
    tests
}
