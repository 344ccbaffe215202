//! `go test`, `go build`, `go vet`, and programs that panicked.

use super::found::{Found, Frame, in_project, last_match, names, pattern, section};
use super::listed::{Listed, Outcome};
use serde::Deserialize;
use std::collections::BTreeMap;

// What the code has printed without a line feed may stand before it.
pattern!(FAILED, r"--- FAIL: (\S+) \([\d.]+s\)$");

/// Everything the go tool says.
pub(super) fn program(lines: &[&str]) -> Option<Found> {
    pattern!(PACKAGE, r"^FAIL(?:\t\S+.*)?$");
    let test = last_match(lines, &FAILED);
    let package = lines.iter().rposition(|line| PACKAGE.is_match(line) && line.len() > 4);
    let panic = panicked(lines);
    if test.is_none() && panic.is_none() {
        let mut found = compile(lines)?;
        found.last_mark = found.last_mark.max(package.unwrap_or(0));
        return Some(found);
    }
    let Some(last_mark) = test.max(package) else {
        return panic;
    };
    // A failing subtest fails its parents: only the innermost names say something.
    let all = names(lines, &FAILED);
    let is_parent = |name: &String| {
        let children = format!("{name}/");
        all.iter().any(|other| other.starts_with(&children))
    };
    let tests: Vec<String> = all.iter().filter(|name| !is_parent(name)).cloned().collect();
    let why = panic.unwrap_or_else(|| logged(lines, tests.first()));
    let last_mark = last_mark.max(why.last_mark);
    Some(Found { tool: "go test", tests, last_mark, ..why })
}

/// What a test logged: `cart_test.go:8: Total() = 4, want 3`.
fn logged(lines: &[&str], test: Option<&String>) -> Found {
    let told = section(
        lines,
        |line| FAILED.captures(line).is_some_and(|name| Some(&name[1]) == test.map(String::as_str)),
        |line| FAILED.is_match(line) || line.starts_with("FAIL"),
    );
    let found = told.map(log).unwrap_or_default();
    // With `-v`, it stands before the test's end.
    if found.message.is_some() {
        found
    } else {
        log(told_of(lines).get(test.map_or("", String::as_str)).map_or(&[], Vec::as_slice))
    }
}

/// The first words of a log.
fn log(told: &[&str]) -> Found {
    pattern!(LOG, r"^\s+(\S+\.go):(\d+): ?(.*)$");
    let Some((at, log)) = told.iter().enumerate().find_map(|(at, line)| Some((at, LOG.captures(line)?))) else {
        return Found::default();
    };
    // A message that begins with a line feed goes on below.
    let message = Some(log[3].trim())
        .filter(|message| !message.is_empty())
        .or_else(|| Some(told.get(at + 1)?.trim()))
        .map(str::to_owned);
    Found { detail: message.clone(), message, frame: Some(Frame::new(&log[1], Some(&log[2]))), ..Found::default() }
}

/// What stands below the name of each test of a package.
fn told_of<'t>(lines: &[&'t str]) -> BTreeMap<String, Vec<&'t str>> {
    pattern!(BEGINS, r"(?:^\s*=== (?:RUN|NAME|CONT) +|--- (?:FAIL|PASS|SKIP): )(\S+)(?: \([\d.]+s\))?$");
    pattern!(ENDS, r"^(?:===|FAIL\b|PASS$|ok\s)");
    let mut told: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut test = None;
    for line in lines {
        if let Some(begins) = BEGINS.captures(line) {
            test = Some(begins[1].to_owned());
        } else if ENDS.is_match(line) {
            test = None;
        } else if let Some(test) = &test {
            told.entry(test.clone()).or_default().push(line);
        }
    }
    told
}

/// The tests of all packages, one by one; with `-v` those that pass, too. None where a package ended before its tests did.
pub(super) fn each(lines: &[&str]) -> Option<Listed> {
    pattern!(PACKAGE, r"^(?:(FAIL)|ok *)\t(\S+)\t?(.*)$");
    pattern!(CUT, r"^(?:panic: |fatal error: |FAIL\t\S+ \[|exit status [2-9])");
    if lines.iter().any(|line| CUT.is_match(line)) {
        return None;
    }
    let mut listed = Listed::default();
    let mut start = 0;
    for (at, package) in lines.iter().enumerate().filter_map(|(at, line)| Some((at, PACKAGE.captures(line)?))) {
        let failed = of_package(&mut listed, &lines[start..at], &package[2]);
        // Something else than a test has failed.
        if package.get(1).is_some() && !failed {
            return None;
        }
        start = at + 1;
    }
    Some(listed)
}

/// Whether a test of it failed.
fn of_package(listed: &mut Listed, lines: &[&str], package: &str) -> bool {
    pattern!(ENDED, r"--- (FAIL|PASS|SKIP): (\S+) \([\d.]+s\)$");
    let told = told_of(lines);
    let ended: Vec<regex::Captures<'_>> = lines.iter().filter_map(|line| ENDED.captures(line)).collect();
    for test in &ended {
        let name = &test[2];
        let within = format!("{name}/");
        let outcome = match &test[1] {
            // A subtest that fails fails those around it.
            "FAIL" if ended.iter().any(|other| &other[1] == "FAIL" && other[2].starts_with(&within)) => {
                Outcome::OfOthers { failed: true }
            }
            "FAIL" => Outcome::Failed(Box::new(log(told.get(name).map_or(&[], Vec::as_slice)))),
            "PASS" => Outcome::Passed,
            _ => Outcome::Skipped,
        };
        listed.push(format!("{package}.{name}"), name, outcome);
    }
    listed.names_passed |= lines.iter().any(|line| line.starts_with("=== RUN "));
    ended.iter().any(|test| &test[1] == "FAIL")
}

/// What `go test -json` prints, as it reads without `-json`; none where that is something else.
pub(super) fn unfolded(output: &str) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Event {
        package: String,
        #[serde(default)]
        output: String,
    }
    if !output.contains("\"Action\":") {
        return None;
    }
    // Packages run at the same time.
    let mut packages: Vec<(String, String)> = Vec::new();
    let mut others = String::new();
    for line in output.lines() {
        let Ok(event) = serde_json::from_str::<Event>(line) else {
            others.push_str(line);
            others.push('\n');
            continue;
        };
        match packages.iter_mut().find(|(package, _)| *package == event.package) {
            Some((_, printed)) => printed.push_str(&event.output),
            None => packages.push((event.package, event.output)),
        }
    }
    let printed: String = packages.into_iter().map(|(_, printed)| printed).collect();
    (!printed.is_empty()).then(|| others + &printed)
}

/// `./broken.go:3:31: cannot use 1 …`, below a line with the package.
fn compile(lines: &[&str]) -> Option<Found> {
    pattern!(ERROR, r"^(?:vet: )?(\S+\.go):(\d+):\d+: (.+)$");
    let error = lines.iter().find_map(|line| ERROR.captures(line))?;
    Some(Found {
        tool: "go build",
        message: Some(error[3].to_owned()),
        detail: Some(error[3].to_owned()),
        frame: Some(Frame::new(&error[1], Some(&error[2]))),
        last_mark: last_match(lines, &ERROR)?,
        ..Found::default()
    })
}

fn panicked(lines: &[&str]) -> Option<Found> {
    pattern!(PANIC, r"^(panic|fatal error): (.+?)(?: \[recovered.*\])?$");
    pattern!(GOROUTINE, r"^goroutine \d+ .*\[.*\]:$");
    pattern!(FRAME, r"^\t(\S+\.go):(\d+)(?: \+0x[0-9a-f]+)?$");
    let at = lines.iter().position(|line| PANIC.is_match(line))?;
    let goroutine = lines.iter().rposition(|line| GOROUTINE.is_match(line)).filter(|last| *last > at)?;
    let panic = PANIC.captures(lines[at])?;
    let own = lines[at..].iter().filter_map(|line| FRAME.captures(line)).find(|frame| in_project(&frame[1]));
    Some(Found {
        tool: "go",
        code: Some(panic[1].to_owned()),
        message: Some(panic[2].to_owned()),
        detail: Some(panic[2].to_owned()),
        frame: own.map(|frame| Frame::new(&frame[1], Some(&frame[2]))),
        last_mark: goroutine,
        ..Found::default()
    })
}
