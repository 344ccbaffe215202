//! The plain shell, and programs nobody here knows.

use super::found::{Found, Frame, joined, last_match, pattern};
use crate::domain::CheckCommand;

pattern!(
    ERROR,
    r"^(?:\S+: )*(?:(?i:fatal|error|failed|failure|abort(?:ed)?|panic|exception)\b(?:\[[^\]]*\])?:? |E: |not ok |FAIL\b)"
);

/// What can be said of any output: the shell's own complaint, or the line that most likely says what is wrong.
pub(super) fn read(run: &CheckCommand, lines: &[&str]) -> Found {
    let found = words(lines).unwrap_or_default();
    Found { tool: tool_of(run).filter(|_| found.code.is_none()).unwrap_or("shell"), ..found }
}

/// The tool that a command names, by its program and first arguments only: a file's or a test's name is no evidence.
pub(super) fn tool_of(run: &CheckCommand) -> Option<&'static str> {
    let words: Vec<&str> = match run {
        // Of `cd x && a; b` the last program decides the exit status.
        CheckCommand::Shell(line) => line
            .rsplit(['&', '|', ';', '\n'])
            .map(str::split_whitespace)
            .map(Iterator::collect)
            .find(|words: &Vec<&str>| !words.is_empty())?,
        CheckCommand::Argv(argv) => argv.iter().map(String::as_str).collect(),
    };
    let start = words.iter().position(|word| !word.contains('='))?;
    let mut words = words[start..]
        .iter()
        .filter(|word| !["npx", "exec", "uv", "poetry", "pnpm", "yarn", "bunx", "run"].contains(word));
    let program = words.next()?.rsplit('/').next()?;
    let rest: Vec<&str> = words.copied().take(3).collect();
    Some(match (program, rest.as_slice()) {
        ("cargo", ["nextest", ..]) => "cargo nextest",
        ("cargo", ["test" | "t", ..]) => "cargo test",
        ("cargo", _) => "cargo",
        ("rustc", _) => "rustc",
        ("pytest" | "py.test", _) => "pytest",
        (python, ["-m", "pytest", ..]) if python.starts_with("python") => "pytest",
        (python, ["-m", "unittest", ..]) if python.starts_with("python") => "unittest",
        (python, _) if python.starts_with("python") => "python",
        ("mypy", _) => "mypy",
        ("go", ["test", ..]) => "go test",
        ("go", ["build" | "vet", ..]) => "go build",
        ("tsc", _) => "tsc",
        ("jest", _) => "jest",
        ("vitest", _) => "vitest",
        ("mocha", _) => "mocha",
        ("node", ["--test", ..]) => "node:test",
        ("node", _) => "node",
        ("make" | "gmake", _) => "make",
        ("gcc" | "g++" | "cc" | "c++", _) => "gcc",
        ("clang" | "clang++", _) => "clang",
        _ => return None,
    })
}

/// Whether a line calls itself an error.
pub(super) fn is_error(line: &str) -> bool {
    ERROR.is_match(line)
}

/// The line that says what is wrong; none if nothing but white space was printed.
pub(super) fn words(lines: &[&str]) -> Option<Found> {
    if let Some(found) = complaint(lines).or_else(|| assertion(lines)) {
        return Some(found);
    }
    // A line that calls itself an error is worth more than the last one, which may be a summary or a hint.
    let at = last_match(lines, &ERROR).or_else(|| lines.iter().rposition(|line| !line.trim().is_empty()))?;
    // A comparison often takes a line for what was expected and one for what came.
    Some(Found {
        detail: joined(lines[at.saturating_sub(2)..=at].iter().copied()),
        message: Some(lines[at].trim().to_owned()),
        last_mark: at,
        ..Found::default()
    })
}

/// `sh: 1: frobnicate: not found`, `bash: line 1: ./q: Permission denied`, `cat: x: No such file or directory`.
fn complaint(lines: &[&str]) -> Option<Found> {
    pattern!(
        SHELL,
        r"^(?:\S*sh|env|sudo|\S+\.sh)(?:: -c)?: (?:(?:line )?\d+: )?(.+?)(?:: )?(command not found|not found|Permission denied|No such file or directory|[Ss]yntax error.*|unbound variable|parameter not set)$"
    );
    pattern!(
        ANY,
        r"^[\w./+-]+: (?:.+: )?(No such file or directory|Permission denied|No space left on device|Connection refused|Too many open files)$"
    );
    pattern!(
        DIED,
        r"^(?:.*: )?(Segmentation fault|Bus error|Illegal instruction|Floating point exception|Aborted|Killed)(?: +\(core dumped\))?(?: .*)?$"
    );
    let (at, code) = if let Some(at) = last_match(lines, &SHELL) {
        (at, SHELL.captures(lines[at])?[2].to_owned())
    } else if let Some(at) = last_match(lines, &ANY) {
        (at, ANY.captures(lines[at])?[1].to_owned())
    } else {
        let at = last_match(lines, &DIED)?;
        (at, DIED.captures(lines[at])?[1].to_owned())
    };
    let code = match code.as_str() {
        "not found" => "command not found".to_owned(),
        syntax if syntax.starts_with("Syntax error") || syntax.starts_with("syntax error") => "syntax error".to_owned(),
        _ => code.to_lowercase(),
    };
    let message = lines[at].trim().to_owned();
    Some(Found {
        code: Some(code),
        detail: Some(message.clone()),
        message: Some(message),
        last_mark: at,
        ..Found::default()
    })
}

/// C's `assert`: ``a: a.c:2: main: Assertion `1+1==3' failed.``
fn assertion(lines: &[&str]) -> Option<Found> {
    pattern!(ASSERT, r"^(?:\S+: )?(\S+?):(\d+): (?:.+: )?(Assertion [`'].+' failed)\.$");
    let at = last_match(lines, &ASSERT)?;
    let parts = ASSERT.captures(lines[at])?;
    Some(Found {
        code: Some("assert".to_owned()),
        message: Some(parts[3].to_owned()),
        detail: Some(parts[3].to_owned()),
        frame: Some(Frame::new(&parts[1], Some(&parts[2]))),
        last_mark: at,
        ..Found::default()
    })
}
