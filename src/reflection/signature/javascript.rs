//! TypeScript, node's own runner and TAP, jest, vitest, mocha, and programs that node ended.

use super::found::{Found, Frame, in_project, joined, last_match, names, pattern, section};

pattern!(AT, r"^\s*(?:at|❯) (?:(.+?) \(?)??\(?(?:file://)?([^\s()]+?):(\d+):\d+\)?(?: \{)?$");
pattern!(ERROR, r"^\s*(?:Uncaught )?([A-Za-z_]*(?:Error|Exception))(?: \[([\w]+)\])?: (.+)$");

/// A failing test's YAML block has no more lines; one that does not end must not cost a look at everything.
const TAP_BLOCK: usize = 200;

/// `tsc`, plain or pretty.
pub(super) fn typescript(lines: &[&str]) -> Option<Found> {
    pattern!(TSC, r"^(?:([^\s(:][^(:]*)(?:\((\d+),\d+\):|:(\d+):\d+ -) )?error (TS\d+): (.+)$");
    let first = lines.iter().find_map(|line| TSC.captures(line))?;
    let line = first.get(2).or(first.get(3)).map(|line| line.as_str());
    Some(Found {
        tool: "tsc",
        code: Some(first[4].to_owned()),
        message: Some(first[5].to_owned()),
        detail: Some(first[5].to_owned()),
        frame: first.get(1).map(|file| Frame::new(file.as_str(), line)),
        last_mark: last_match(lines, &TSC)?,
        ..Found::default()
    })
}

/// jest.
pub(super) fn jest(lines: &[&str]) -> Option<Found> {
    pattern!(MARK, r"^(?:Test Suites|Tests|Snapshots): +(?:\d+ |.*\d+ total)");
    pattern!(SUITES, r"^Test Suites: .*\d+ failed");
    pattern!(BULLET, r"^  ● (.+)$");
    pattern!(FILE, r"^FAIL (?:\S+ )?(\S+)(?: \([\d.]+ m?s\))?$");
    last_match(lines, &SUITES)?;
    let last_mark = last_match(lines, &MARK)?;
    let mut tests = names(lines, &BULLET);
    tests.retain(|test| test != "Console");
    let first = tests.first().cloned();
    let told = section(
        lines,
        |line| BULLET.captures(line).is_some_and(|bullet| Some(&bullet[1]) == first.as_deref()),
        |line| BULLET.is_match(line) || MARK.is_match(line),
    );
    let mut why = told.map(failure).unwrap_or_default();
    if tests.iter().any(|test| test == "Test suite failed to run") {
        tests = names(lines, &FILE);
    }
    why.tests = tests;
    Some(Found { tool: "jest", last_mark, ..why })
}

/// vitest.
pub(super) fn vitest(lines: &[&str]) -> Option<Found> {
    pattern!(MARK, r"^ *(?:Test Files|Tests)  +\d+ (?:failed|passed)");
    pattern!(FAILED, r"^ FAIL  (?:\|\S+\| )?\S+ > (.+)$");
    pattern!(FILE, r"^ FAIL  (?:\|\S+\| )?(\S+)(?: \[.*\])?$");
    let last_mark = last_match(lines, &MARK)?;
    let mut tests = names(lines, &FAILED);
    if tests.is_empty() {
        tests = names(lines, &FILE);
    }
    let first = tests.first()?;
    let told = section(
        lines,
        |line| {
            line.starts_with(" FAIL ")
                && line.split_once(first.as_str()).is_some_and(|(_, rest)| !rest.starts_with(" >"))
        },
        |line| line.starts_with(" FAIL ") || line.starts_with('⎯'),
    );
    let why = told.map(failure).unwrap_or_default();
    Some(Found { tool: "vitest", tests, last_mark, ..why })
}

/// mocha.
pub(super) fn mocha(lines: &[&str]) -> Option<Found> {
    pattern!(FAILING, r"^\s+\d+ failing$");
    let last_mark = last_match(lines, &FAILING)?;
    let mut entries = mocha_entries(&lines[last_mark + 1..]);
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let why = entries.first().map(|(_, told)| failure(told)).unwrap_or_default();
    let tests = entries.into_iter().map(|(title, _)| title).collect();
    Some(Found { tool: "mocha", tests, last_mark, ..why })
}

/// The failures in the list at mocha's end, with their titles and the lines about them.
pub(super) fn mocha_entries<'a, 't>(list: &'a [&'t str]) -> Vec<(String, &'a [&'t str])> {
    pattern!(ENTRY, r"^  \d+\) (.+)$");
    let mut entries: Vec<(String, &[&str])> = Vec::new();
    for (at, line) in list.iter().enumerate() {
        let Some(entry) = ENTRY.captures(line) else {
            continue;
        };
        // The titles go on, a line each, until the one that ends with a colon.
        let mut title = entry[1].to_owned();
        let mut body = at + 1;
        while !title.ends_with(':') && list.get(body).is_some_and(|line| line.starts_with("       ")) {
            title = format!("{title} {}", list[body].trim());
            body += 1;
        }
        let end = list[body..].iter().position(|line| ENTRY.is_match(line));
        let told = &list[body..end.map_or(list.len(), |end| body + end)];
        entries.push((title.trim_end_matches(':').to_owned(), told));
    }
    entries
}

/// `node --test`, and everything else that prints TAP.
pub(super) fn node_test(lines: &[&str]) -> Option<Found> {
    pattern!(NOT_OK, r"^\s*not ok \d+(?: -)? (.+)$");
    pattern!(SPEC, r"^✖ failing tests:$");
    pattern!(COUNT, r"^(?:#|ℹ) fail [1-9]\d*$");
    if let Some(at) = last_match(lines, &SPEC) {
        return Some(node_spec(&lines[at + 1..], at));
    }
    let last_mark = last_match(lines, &NOT_OK)?;
    let mut entries: Vec<(String, &[&str])> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = NOT_OK.captures(line) else {
            continue;
        };
        let told = tap_block(lines, at);
        let parent = told.iter().any(|line| line.trim() == "failureType: 'subtestsFailed'");
        let expected = ["# TODO", "# SKIP"].iter().any(|mark| name[1].to_uppercase().contains(mark));
        if !parent && !expected {
            entries.push((name[1].trim().to_owned(), told));
        }
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let why = tap_failure(entries.first()?.1);
    let mut tests: Vec<String> = entries.iter().map(|(name, _)| name.clone()).collect();
    tests.dedup();
    let node = lines.iter().any(|line| line.trim_start().starts_with("# Subtest: "));
    let last_mark = last_match(lines, &COUNT).unwrap_or(last_mark).max(last_mark);
    Some(Found { tool: if node { "node:test" } else { "tap" }, tests, last_mark, ..why })
}

/// The YAML block below a result.
pub(super) fn tap_block<'a, 't>(lines: &'a [&'t str], at: usize) -> &'a [&'t str] {
    match lines.get(at + 1) {
        Some(next) if next.trim() == "---" => {
            let block = &lines[at + 2..lines.len().min(at + 2 + TAP_BLOCK)];
            let end = block.iter().position(|line| line.trim() == "...");
            &block[..end.unwrap_or(block.len())]
        }
        _ => &[],
    }
}

/// A value of YAML without its own quotes; those inside of it are its words'.
fn unquoted(value: &str) -> &str {
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inside('\'').or_else(|| inside('"')).unwrap_or(value)
}

/// What the YAML block below a `not ok` says.
pub(super) fn tap_failure(told: &[&str]) -> Found {
    let value = |key: &str| {
        let line = told.iter().find_map(|line| line.trim_start().strip_prefix(key)?.strip_prefix(": "))?;
        Some(unquoted(line.trim()))
    };
    let block = section(
        told,
        |line| line.trim_start().starts_with("error: |"),
        |line| line.trim_start().starts_with("code: ") || line.trim_start().starts_with("name: "),
    );
    let words: Vec<&str> = match block {
        Some(block) => block.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect(),
        None => value("error").into_iter().collect(),
    };
    // Other programs than node say only what was compared.
    let compared = value("operator").filter(|_| words.is_empty());
    let compared = compared.map(|operator| {
        let shown = |key: &str| value(key).unwrap_or_default();
        format!("expected {operator}: {}, actual: {}", shown("expected"), shown("actual"))
    });
    let code = value("name").filter(|name| *name != "Error").or(value("code"));
    Found {
        code: code.map(str::to_owned),
        message: words.first().map(|line| line.trim_end_matches(':').to_owned()).or_else(|| compared.clone()),
        detail: joined(words.iter().take(3).copied()).or(compared),
        frame: frame(told).or_else(|| tap_stack(told)),
        ..Found::default()
    }
}

/// TAP's stacks have no `at` before a frame.
fn tap_stack(told: &[&str]) -> Option<Frame> {
    pattern!(FRAME, r"^\s*(?:(\S.*) \()?(?:location: ')?(/[^\s()']+|[\w.][^\s()':]*):(\d+):\d+[)']?$");
    // An error that was expected to be another one stands in front, with a stack of its own.
    let stack = told.iter().rposition(|line| line.trim_start().starts_with("stack: ")).unwrap_or(0);
    let own = told[stack..].iter().filter_map(|line| FRAME.captures(line)).find(|frame| in_project(&frame[2]))?;
    Some(Frame::new(&own[2], Some(&own[3])).within(plain_function(own.get(1).map(|name| name.as_str()))))
}

/// The list at the end of node's `spec` reporter.
fn node_spec(list: &[&str], at: usize) -> Found {
    pattern!(PLACE, r"^test at (\S+):(\d+):\d+$");
    pattern!(NAME, r"^\s*✖ (.+?)(?: \([\d.]+ms\))?$");
    let mut entries: Vec<(String, Frame, &[&str])> = Vec::new();
    for (start, line) in list.iter().enumerate() {
        let Some(place) = PLACE.captures(line) else {
            continue;
        };
        let Some(name) = list.get(start + 1).and_then(|line| NAME.captures(line)) else {
            continue;
        };
        let rest = &list[start + 2..];
        let end = rest.iter().position(|line| PLACE.is_match(line)).unwrap_or(rest.len());
        entries.push((name[1].to_owned(), Frame::new(&place[1], Some(&place[2])), &rest[..end]));
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let mut why = Found::default();
    if let Some((_, place, told)) = entries.first() {
        why = failure(told);
        why.frame = why.frame.or(Some(place.clone()));
    }
    why.tests = entries.into_iter().map(|(name, ..)| name).collect();
    Found { tool: "node:test", last_mark: at, ..why }
}

/// A program that node ended because of an error nobody caught.
pub(super) fn crash(lines: &[&str]) -> Option<Found> {
    pattern!(VERSION, r"^Node\.js v\d+\.");
    pattern!(HEAP, r"^FATAL ERROR: (.+)$");
    pattern!(SOURCE, r"^(\S+):(\d+)$");
    pattern!(CODE, r"^  code: '(\w+)',?$");
    if let Some(at) = last_match(lines, &HEAP) {
        let message = HEAP.captures(lines[at])?[1].to_owned();
        let detail = Some(message.clone());
        return Some(Found {
            tool: "node",
            code: Some("fatal".to_owned()),
            message: Some(message),
            detail,
            last_mark: at,
            ..Found::default()
        });
    }
    let last_mark = last_match(lines, &VERSION)?;
    let lines = &lines[..last_mark];
    let at = lines.iter().rposition(|line| !line.starts_with(' ') && ERROR.is_match(line))?;
    let mut why = failure(&lines[at..]);
    if let Some(code) = lines[at..].iter().find_map(|line| CODE.captures(line)) {
        why.code = Some(code[1].to_owned());
    }
    if why.frame.is_none() || why.code.as_deref() == Some("SyntaxError") {
        let source = lines[..at].iter().rev().find_map(|line| SOURCE.captures(line));
        why.frame =
            source.filter(|source| in_project(&source[1])).map(|source| Frame::new(&source[1], Some(&source[2])));
    }
    Some(Found { tool: "node", last_mark, ..why })
}

/// The words and the frames that follow a failing test's title.
pub(super) fn failure(told: &[&str]) -> Found {
    pattern!(COMPARED, r"^\s*(?:Expected\b.*|Received\b.*|\S+ !==? \S+|[+-] ?[^\s|/].*)$");
    let words = told.iter().position(|line| !line.trim().is_empty());
    let first = words.map_or("", |at| told[at].trim());
    let error = ERROR.captures(first);
    let message = error.as_ref().map_or(first, |error| error.get(3).map_or("", |message| message.as_str()));
    let compared =
        told.iter().skip(words.map_or(0, |at| at + 1)).take(14).filter(|line| COMPARED.is_match(line)).take(4);
    Found {
        code: error.as_ref().map(|error| error[1].to_owned()).filter(|code| code != "Error"),
        message: Some(message.trim_end_matches(':').to_owned()).filter(|message| !message.is_empty()),
        detail: joined(std::iter::once(first.trim_end_matches(':')).chain(compared.copied())),
        frame: frame(told),
        ..Found::default()
    }
}

/// The project's frame closest to the failure.
fn frame(told: &[&str]) -> Option<Frame> {
    let own = told.iter().filter_map(|line| AT.captures(line)).find(|frame| in_project(&frame[2]))?;
    Some(Frame::new(&own[2], Some(&own[3])).within(plain_function(own.get(1).map(|name| name.as_str()))))
}

/// Names such as `Object.<anonymous>` or `Context.toBe` are the runner's, not the project's.
fn plain_function(name: Option<&str>) -> Option<&str> {
    name.filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_inside_of_what_tap_says_stay() {
        let said = |error: &str| tap_failure(&["---", error, "..."]).detail;
        let missing = "ENOENT: no such file or directory, open 'test/data/sample.json'";
        assert_eq!(said(&format!("  error: \"{missing}\"")).as_deref(), Some(missing));
        assert_eq!(said("  error: 'it fails'").as_deref(), Some("it fails"));
    }
}
