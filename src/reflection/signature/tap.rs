//! The tests of `node --test` and of everything else that prints TAP, one by one.

use super::found::{Found, Frame, pattern};
use super::javascript::{failure, tap_block, tap_failure};
use super::listed::{Listed, Outcome};
use super::mask::mask;

/// In either of node's two ways.
pub(super) fn each(lines: &[&str]) -> Listed {
    pattern!(COUNT, r"^ℹ tests \d+$");
    match lines.iter().position(|line| COUNT.is_match(line)) {
        Some(end) => spec(&lines[..end], &lines[end..]),
        None => tap(lines),
    }
}

fn tap(lines: &[&str]) -> Listed {
    pattern!(SUBTEST, r"^( *)# Subtest: (.+)$");
    pattern!(RESULT, r"^( *)(not )?ok \d+(?: -)? (.*?)(?: # ((?i:skip|todo))\b.*)?$");
    const INDENT: usize = 4;
    let mut listed = Listed { names_passed: true, ..Listed::default() };
    let mut above: Vec<String> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(begins) = SUBTEST.captures(line) {
            above.truncate(begins[1].len() / INDENT);
            above.push(begins[2].trim().to_owned());
            continue;
        }
        let Some(result) = RESULT.captures(line) else { continue };
        above.truncate(result[1].len() / INDENT);
        let told = tap_block(lines, at);
        let says = |words: &str| told.iter().any(|line| line.trim() == words);
        let name = result[3].trim();
        let is_suite = says("type: 'suite'");
        let failed = result.get(2).is_some();
        let outcome = if result.get(4).is_some() {
            Outcome::Skipped
        } else if is_suite || says("failureType: 'subtestsFailed'") {
            Outcome::OfOthers { failed }
        } else if failed {
            Outcome::Failed(Box::new(tap_failure(told)))
        } else {
            Outcome::Passed
        };
        listed.push(id(&above, name), name, outcome);
    }
    listed
}

/// Files stand there with their whole paths.
fn id(above: &[String], name: &str) -> String {
    let names = above.iter().map(String::as_str).chain([name]);
    names.map(|name| if name.starts_with('/') { mask(name) } else { name.to_owned() }).collect::<Vec<_>>().join(" > ")
}

/// A line for each test, and at the end a list of those that failed.
fn spec(lines: &[&str], end: &[&str]) -> Listed {
    pattern!(ITEM, r"^( *)(✔|✖|▶|﹣) (.+?)(?: (\(\d[\d.]*ms\)))?(?: # ((?i:skip|todo))\b.*)?$");
    const INDENT: usize = 2;
    let mut listed = Listed { names_passed: true, ..Listed::default() };
    let mut failures = spec_failures(end).into_iter();
    let mut open: Vec<String> = Vec::new();
    for item in lines.iter().filter_map(|line| ITEM.captures(line)) {
        let (level, mark, name) = (item[1].len() / INDENT, &item[2], item[3].trim());
        if mark == "▶" && item.get(4).is_none() {
            open.truncate(level);
            open.push(name.to_owned());
            continue;
        }
        let closes = open.len() > level && open[level] == name;
        open.truncate(level);
        let outcome = match mark {
            _ if item.get(5).is_some() => Outcome::Skipped,
            "﹣" => Outcome::Skipped,
            _ if closes => Outcome::OfOthers { failed: mark == "✖" },
            "✖" => {
                // In the same order; there are others in that list, too.
                let why = failures.find(|(failed, _)| failed == name).map(|(_, why)| why);
                Outcome::Failed(Box::new(why.unwrap_or_default()))
            }
            _ => Outcome::Passed,
        };
        listed.push(id(&open, name), name, outcome);
    }
    listed
}

/// The list at the end.
fn spec_failures(lines: &[&str]) -> Vec<(String, Found)> {
    pattern!(PLACE, r"^test at (\S+):(\d+):\d+$");
    pattern!(NAME, r"^\s*✖ (.+?)(?: \([\d.]+ms\))?(?: # (?:SKIP|TODO)\b.*)?$");
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(place) = PLACE.captures(line) else { continue };
        let Some(name) = lines.get(start + 1).and_then(|line| NAME.captures(line)) else { continue };
        let rest = &lines[start + 2..];
        let end = rest.iter().position(|line| PLACE.is_match(line)).unwrap_or(rest.len());
        let mut why = failure(&rest[..end]);
        why.frame = why.frame.or_else(|| Some(Frame::new(&place[1], Some(&place[2]))));
        found.push((name[1].to_owned(), why));
    }
    found
}
