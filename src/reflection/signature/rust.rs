//! rustc and cargo, libtest, nextest, and panics.

use super::found::{Found, Frame, in_project, joined, last_match, names, pattern, section};

pattern!(ERROR, r"^error(?:\[(E\d{4})\])?: (.+)$");
pattern!(ARROW, r"^\s*--> (.+?):(\d+):\d+$");
pattern!(PANIC, r"^\s*thread '.*' (?:\(\d+\) )?panicked at (?:'(.*)', )?(.+?):(\d+):\d+:?$");

/// A compile error, or cargo's own.
pub(super) fn compile(lines: &[&str]) -> Option<Found> {
    pattern!(LINT, r"#!?\[(?:deny|forbid|warn)\(([\w:]+)\)\]|`-D ([\w:-]+)` implied by");
    pattern!(LABEL, r"^\s*(?:\d+ )?\s*\|.*\^+ (.+)$");
    pattern!(END, r"^error: (?:could not compile `|aborting due to )");
    let start = lines
        .iter()
        .enumerate()
        .position(|(at, line)| ERROR.is_match(line) && lines[at + 1..].iter().take(3).any(|line| ARROW.is_match(line)));
    let Some(start) = start else {
        return cargo_itself(lines);
    };
    let error = ERROR.captures(lines[start])?;
    let block = section(&lines[start..], |_| true, str::is_empty)?;
    let arrow = block.iter().find_map(|line| ARROW.captures(line))?;
    let lint = block.iter().find_map(|line| LINT.captures(line));
    let label = block.iter().find_map(|line| Some(LABEL.captures(line)?.get(1)?.as_str()));
    let end = last_match(lines, &END);
    Some(Found {
        tool: match end {
            Some(end) if lines[end].starts_with("error: could not compile") => "cargo",
            _ => "rustc",
        },
        code: error
            .get(1)
            .map(|code| code.as_str())
            .or(lint.as_ref().and_then(|lint| Some(lint.get(1).or(lint.get(2))?.as_str())))
            .map(|code| code.replace('-', "_")),
        message: Some(error[2].to_owned()),
        detail: joined([&error[2], label.unwrap_or_default()]),
        frame: Some(Frame::new(&arrow[1], Some(&arrow[2]))),
        last_mark: end.unwrap_or(start),
        ..Found::default()
    })
}

/// What cargo says before it compiles anything.
fn cargo_itself(lines: &[&str]) -> Option<Found> {
    pattern!(
        CARGO,
        r"^error: ((?:could not find `Cargo\.toml`|no matching package|failed to (?:parse manifest|load manifest|load source|select a version|get `|download|parse lock file|run custom build command|resolve)|package `|the lock file|no such command|no (?:test|bin|example|bench) target|cannot specify features|the package|none of the selected packages|manifest path|invalid character|unable to update).*)$"
    );
    let at = last_match(lines, &CARGO)?;
    let message = CARGO.captures(lines[at])?[1].to_owned();
    Some(Found {
        tool: "cargo",
        detail: Some(message.clone()),
        message: Some(message),
        last_mark: at,
        ..Found::default()
    })
}

/// `cargo test`.
pub(super) fn libtest(lines: &[&str]) -> Option<Found> {
    pattern!(FAILED, r"^test (.+?)(?: - should panic)? \.\.\. FAILED$");
    pattern!(MARK, r"^(?:test .+ \.\.\. FAILED|test result: FAILED\..*|error: (?:doc)?test failed, .*)$");
    pattern!(DIED, r"^\s*process didn't exit successfully: .*\((signal: \d+, (SIG\w+)|exit status: \d+)");
    let last_mark = last_match(lines, &MARK)?;
    let tests = names(lines, &FAILED);
    let header = tests.first().map(|test| format!("---- {test} stdout ----"));
    let told =
        section(lines, |line| Some(line) == header.as_deref(), |line| line.starts_with("---- ") || line == "failures:");
    let why = told.and_then(|told| panicked(told).or_else(|| error(told)));
    let why = why.unwrap_or_else(|| match lines.iter().find_map(|line| DIED.captures(line)) {
        Some(died) => Found {
            code: died.get(2).map(|signal| signal.as_str().to_owned()),
            message: Some(format!("the test process died ({})", &died[1])),
            detail: Some(format!("the test process died ({})", &died[1])),
            ..Found::default()
        },
        None => panicked(lines).unwrap_or_default(),
    });
    Some(Found { tool: "cargo test", tests, last_mark, ..why })
}

/// A test that returned an error, or should have panicked and has not.
pub(super) fn error(told: &[&str]) -> Option<Found> {
    // `note: test did not panic as expected at src/lib.rs:4:8`, of one that should.
    let note = |line: &&&str| line.starts_with("note: ") && line.contains("as expected");
    let message = told.iter().find_map(|line| line.strip_prefix("Error: ")).map(str::to_owned);
    let message = message.or_else(|| {
        let line = told.iter().find(note)?.trim_start_matches("note: ");
        Some(line.split(" at ").next().unwrap_or(line).to_owned())
    })?;
    Some(Found { detail: Some(message.clone()), message: Some(message), ..Found::default() })
}

/// `cargo nextest`.
pub(super) fn nextest(lines: &[&str]) -> Option<Found> {
    pattern!(
        FAILED,
        r"^\s*(?:TRY \d+ )?(?:FAIL|TIMEOUT|ABORT|LEAK-FAIL|SIG[A-Z]+) \[\s*[\d.]+s\]\s+(?:\(\s*\d+/\d+\)\s+)?\S+\s+(\S.*)$"
    );
    pattern!(SUMMARY, r"^\s*Summary \[\s*[\d.]+s\] ");
    let last_mark = last_match(lines, &FAILED)?;
    let summary = last_match(lines, &SUMMARY).unwrap_or(0);
    let mut tests = names(&lines[summary..], &FAILED);
    if tests.is_empty() {
        tests = names(lines, &FAILED);
    }
    let thread = tests.first().map(|test| format!("thread '{test}'"));
    let told = lines
        .iter()
        .position(|line| thread.as_ref().is_some_and(|thread| line.trim_start().starts_with(thread.as_str())));
    let why = panicked(&lines[told.unwrap_or(0)..]).unwrap_or_default();
    Some(Found { tool: "cargo nextest", tests, last_mark, ..why })
}

/// A program that panicked, under no test runner.
pub(super) fn panic(lines: &[&str]) -> Option<Found> {
    panicked(lines)
}

/// The first panic: its words, and the project's frame closest to it.
pub(super) fn panicked(lines: &[&str]) -> Option<Found> {
    pattern!(BACKTRACE, r"^\s+at (\S+?):(\d+):\d+$");
    pattern!(SIDE, r"^\s*(left|right): (.*)$");
    let at = lines.iter().position(|line| PANIC.is_match(line))?;
    let panic = PANIC.captures(lines[at])?;
    let after = &lines[at + 1..];
    let message = match panic.get(1) {
        Some(old_style) => old_style.as_str(),
        None => after.iter().find(|line| !line.trim().is_empty()).map_or("", |line| line.trim()),
    };
    let sides: Vec<&str> = after.iter().take(6).filter(|line| SIDE.is_match(line)).map(|line| line.trim()).collect();
    let frame = if in_project(&panic[2]) {
        Some(Frame::new(&panic[2], Some(&panic[3])))
    } else {
        after
            .iter()
            .take_while(|line| !PANIC.is_match(line))
            .filter_map(|line| BACKTRACE.captures(line))
            .find(|frame| in_project(&frame[1]))
            .map(|frame| Frame::new(&frame[1], Some(&frame[2])))
    };
    Some(Found {
        tool: "rust",
        code: Some("panic".to_owned()),
        message: Some(message.to_owned()),
        detail: joined(std::iter::once(message).chain(sides)),
        frame,
        last_mark: at,
        ..Found::default()
    })
}
