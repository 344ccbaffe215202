//! libtest's and nextest's tests, one by one.

use super::found::{Found, pattern, section};
use super::listed::{Listed, Outcome};
use super::rust::{error, panicked};

/// The tests of all programs that `cargo test` runs.
///
/// Test programs print to stdout, and cargo says on stderr which one it starts: each of the two is in order, and which line comes first
/// is chance.
pub(super) fn libtest(lines: &[&str]) -> Listed {
    pattern!(RUNNING, r"^running \d+ tests?$");
    pattern!(TARGET, r"^\s+(?:Running .*\((?:[^()]*/)?([^/()]+?)(?:-[0-9a-f]{16})?(?:\.exe)?\)|Doc-tests (\S+))$");
    let own = own(lines);
    let starts: Vec<usize> = (0..lines.len()).filter(|at| own[*at] && RUNNING.is_match(lines[*at])).collect();
    let target = |at: usize| {
        let target = TARGET.captures(lines[at])?;
        Some((at, target.get(1).or(target.get(2))?.as_str().to_owned()))
    };
    let named: Vec<(usize, String)> = (0..lines.len()).filter_map(target).collect();
    // Cargo's line may stand in the middle of what a test printed, and a test may print such lines itself.
    let of_own: Vec<(usize, String)> = named.iter().filter(|(at, _)| own[*at]).cloned().collect();
    let targets = [of_own, named].into_iter().find(|targets| targets.len() == starts.len() || targets.is_empty());
    // Which of several programs a test is in is not known: then the ids would not be those of another run.
    let Some(targets) = targets.or_else(|| (starts.len() == 1).then(Vec::new)) else { return Listed::default() };
    let mut listed = Listed { stopped: has_stopped(lines), ..Listed::default() };
    for (at, start) in starts.iter().enumerate() {
        let end = starts.get(at + 1).copied().unwrap_or(lines.len());
        let target = targets.get(at).map(|(_, target)| target.as_str());
        of_program(&mut listed, &lines[*start..end], &own[*start..end], target);
    }
    listed
}

/// Whether cargo stopped behind the first program with a failing test; with `--no-fail-fast` it sums up at the end.
fn has_stopped(lines: &[&str]) -> bool {
    pattern!(STOPPED, r"^error: (?:doc)?test failed, to rerun pass ");
    pattern!(WENT_ON, r"^error: \d+ targets? failed:$");
    lines.iter().any(|line| STOPPED.is_match(line)) && !lines.iter().any(|line| WENT_ON.is_match(line))
}

/// The tests of one program. With `--quiet` it names those that failed only.
fn of_program(listed: &mut Listed, lines: &[&str], own: &[bool], target: Option<&str>) {
    pattern!(
        TEST,
        r"^test (.+?)(?: - should panic)?(?: - compile(?: fail)?)? \.\.\. (ok|FAILED|ignored)(?:, .*| <[\d.]+s>)?$"
    );
    pattern!(NAME, r"^    (\S.*)$");
    // The line moves with the code above it.
    pattern!(LINE, r" \(line \d+\)$");
    let program: Vec<&str> = lines.iter().zip(own).filter(|(_, own)| **own).map(|(line, _)| *line).collect();
    let id = |name: &str| {
        let name = LINE.replace(name, "");
        target.map_or_else(|| name.to_string(), |target| format!("{target}::{name}"))
    };
    let failed = |name: &str| Outcome::Failed(Box::new(why(lines, name)));
    let found: Vec<regex::Captures<'_>> = program.iter().filter_map(|line| TEST.captures(line)).collect();
    for test in &found {
        let outcome = match &test[2] {
            "ok" => Outcome::Passed,
            "FAILED" => failed(&test[1]),
            _ => Outcome::Skipped,
        };
        listed.names_passed = true;
        listed.push(id(&test[1]), &test[1], outcome);
    }
    if found.is_empty() {
        let names = section(&program, |line| line == "failures:", |line| line.starts_with("test result: "));
        for name in names.unwrap_or_default().iter().filter_map(|line| NAME.captures(line)) {
            listed.push(id(&name[1]), &name[1], failed(&name[1]));
        }
    }
}

/// Which lines are the runner's own: what a test printed, after which its name stands, says nothing of others.
fn own(lines: &[&str]) -> Vec<bool> {
    pattern!(PRINTED, r"^---- .+ std(?:out|err) ----$");
    let mut is_printed = false;
    let mut own = Vec::with_capacity(lines.len());
    for line in lines {
        is_printed = (is_printed && *line != "failures:") || PRINTED.is_match(line);
        own.push(!is_printed);
    }
    own
}

fn why(lines: &[&str], name: &str) -> Found {
    let heading = format!("---- {name} stdout ----");
    let told = section(lines, |line| line == heading, |line| line.starts_with("---- ") || line == "failures:");
    told.and_then(|told| panicked(told).or_else(|| error(told))).unwrap_or_default()
}

/// nextest's, with the program that each is in.
pub(super) fn nextest(lines: &[&str]) -> Listed {
    pattern!(
        STATUS,
        r"^\s*(?:TRY \d+ )?(PASS|LEAK|FAIL|TIMEOUT|ABORT|LEAK-FAIL|SIG[A-Z]+) \[\s*[\d.]+s\]\s+(?:\(\s*\d+/\d+\)\s+)?(\S+)\s+(\S.*)$"
    );
    pattern!(SUMMARY, r"^\s*Summary \[\s*[\d.]+s\] ");
    let end = lines.iter().position(|line| SUMMARY.is_match(line)).unwrap_or(lines.len());
    let (during, after) = lines.split_at(end);
    let is_failed = |status: &str| !matches!(status, "PASS" | "LEAK");
    let id = |test: &regex::Captures<'_>| format!("{} {}", &test[2], &test[3]);
    let mut listed = Listed::default();
    for test in during.iter().filter_map(|line| STATUS.captures(line)).filter(|test| !is_failed(&test[1])) {
        listed.names_passed = true;
        listed.push(id(&test), &test[3], Outcome::Passed);
    }
    for test in after.iter().filter_map(|line| STATUS.captures(line)).filter(|test| is_failed(&test[1])) {
        let this =
            |line: &str| STATUS.captures(line).is_some_and(|other| id(&other) == id(&test) && is_failed(&other[1]));
        let told = section(during, this, |line| STATUS.is_match(line));
        // What it printed is indented.
        let told: Vec<&str> = told.unwrap_or_default().iter().map(|line| line.trim_start()).collect();
        let why = panicked(&told).or_else(|| error(&told)).unwrap_or_default();
        listed.push(id(&test), &test[3], Outcome::Failed(Box::new(why)));
    }
    listed
}
