//! `go test`, `go build`, `go vet`, and programs that panicked.

use super::found::Found;
use super::found::Frame;
use super::found::in_project;
use super::found::last_match;
use super::found::names;
use super::found::pattern;
use super::found::section;

pattern!(FAILED, r"^\s*--- FAIL: (\S+) \([\d.]+s\)$");

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

/// What the first failing test logged: `cart_test.go:8: Total() = 4, want 3`.
fn logged(lines: &[&str], test: Option<&String>) -> Found {
    pattern!(LOG, r"^\s+(\S+\.go):(\d+): ?(.*)$");
    let told = section(
        lines,
        |line| FAILED.captures(line).is_some_and(|name| Some(&name[1]) == test.map(String::as_str)),
        |line| FAILED.is_match(line) || line.starts_with("FAIL"),
    );
    let Some((at, log)) =
        told.and_then(|told| told.iter().enumerate().find_map(|(at, line)| Some((at, LOG.captures(line)?))))
    else {
        return Found::default();
    };
    // A message that begins with a line feed goes on below.
    let message = Some(log[3].trim())
        .filter(|message| !message.is_empty())
        .or_else(|| Some(told?.get(at + 1)?.trim()))
        .map(str::to_owned);
    Found { detail: message.clone(), message, frame: Some(Frame::new(&log[1], Some(&log[2]))), ..Found::default() }
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
