//! eslint and ruff: what linters find, with their rules.

use super::found::{Found, Frame, last_match, pattern};

/// eslint's own format: a file, and rows of line, column, severity, words and rule below it.
pub(super) fn eslint(lines: &[&str]) -> Option<Found> {
    pattern!(MARK, r"^✖ \d+ problems? \(\d+ errors?, \d+ warnings?\)$");
    pattern!(FILE, r"^\S.*\.\w+$");
    pattern!(ROW, r"^\s+(\d+):\d+\s+error\s+(.+?)(?:\s{2,}(\S+))?$");
    let last_mark = last_match(lines, &MARK)?;
    let at = lines.iter().position(|line| ROW.is_match(line))?;
    let row = ROW.captures(lines[at])?;
    let file = lines[..at].iter().rev().find(|line| FILE.is_match(line));
    Some(Found {
        tool: "eslint",
        code: row.get(3).map(|rule| rule.as_str().to_owned()),
        message: Some(row[2].to_owned()),
        detail: Some(row[2].to_owned()),
        frame: file.map(|file| Frame::new(file, Some(&row[1]))),
        last_mark,
        ..Found::default()
    })
}

/// ruff, with the code around what it found or without it.
pub(super) fn ruff(lines: &[&str]) -> Option<Found> {
    pattern!(MARK, r"^Found \d+ errors?(?:\.$| \()");
    pattern!(CONCISE, r"^(\S+?):(\d+):\d+: ([A-Z]+\d+|invalid-syntax):? (?:\[\*\] )?(.+)$");
    pattern!(FULL, r"^([A-Z]+\d+|invalid-syntax):? (?:\[\*\] )?(.+)$");
    pattern!(ARROW, r"^\s*--> (\S+?):(\d+):\d+$");
    let last_mark = last_match(lines, &MARK)?;
    let full = |two: &[&str]| {
        let (words, arrow) = (FULL.captures(two[0])?, ARROW.captures(two[1])?);
        Some([&arrow[1], &arrow[2], &words[1], &words[2]].map(str::to_owned))
    };
    let concise = |line: &&str| {
        let row = CONCISE.captures(line)?;
        Some([1, 2, 3, 4].map(|at| row[at].to_owned()))
    };
    let found = lines.windows(2).find_map(full).or_else(|| lines.iter().find_map(concise));
    let [file, line, code, message] = found?;
    Some(Found {
        tool: "ruff",
        code: Some(code),
        detail: Some(message.clone()),
        message: Some(message),
        frame: Some(Frame::new(&file, Some(&line))),
        last_mark,
        ..Found::default()
    })
}
