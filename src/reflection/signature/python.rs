//! pytest, unittest, and plain tracebacks.

use super::found::{Found, Frame, in_project, joined, last_match, names, pattern, section};

pattern!(EXCEPTION, r"^((?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?:: (.*))?$");
pattern!(FILE, r#"^\s+File "(.+)", line (\d+)(?:, in (.+))?$"#);

/// An exception that nobody caught: the last one, so of a chain the one that ended the program.
pub(super) fn traceback(lines: &[&str]) -> Option<Found> {
    let mut frames: Vec<regex::Captures<'_>> = Vec::new();
    let mut found = None;
    for (at, line) in lines.iter().enumerate() {
        if let Some(frame) = FILE.captures(line) {
            frames.push(frame);
        } else if line.starts_with("Traceback (most recent call last):") {
            frames.clear();
        } else if !frames.is_empty() && !line.starts_with(' ') {
            if let Some(exception) = EXCEPTION.captures(line) {
                let message = exception.get(2).map_or("", |message| message.as_str());
                let own = frames.iter().rev().find(|frame| in_project(&frame[1]));
                found = Some(Found {
                    tool: "python",
                    code: Some(exception[1].to_owned()),
                    message: Some(message.to_owned()).filter(|message| !message.is_empty()),
                    detail: Some((*line).to_owned()),
                    frame: own.map(|frame| {
                        Frame::new(&frame[1], Some(&frame[2])).within(frame.get(3).map(|name| name.as_str()))
                    }),
                    last_mark: at,
                    ..Found::default()
                });
            }
            frames.clear();
        }
    }
    found
}

/// `python -m unittest`, and runners that print the same.
pub(super) fn unittest(lines: &[&str]) -> Option<Found> {
    pattern!(HEADER, r"^(?:FAIL|ERROR): (\S.*?\(.+?\).*)$");
    pattern!(
        MARK,
        r"^(?:FAILED \((?:failures|errors|skipped|expected failures|unexpected successes)=\d+.*\)|Ran \d+ tests? in .*)$"
    );
    pattern!(RULE, r"^=+$");
    let last_mark = last_match(lines, &MARK)?;
    let headers = names(lines, &HEADER);
    let first = headers.iter().min_by_key(|header| test_id(header));
    let told = first.and_then(|first| {
        section(
            lines,
            |line| HEADER.captures(line).is_some_and(|header| &header[1] == first),
            |line| RULE.is_match(line) || MARK.is_match(line),
        )
    });
    let mut tests: Vec<String> = headers.iter().map(|header| test_id(header)).collect();
    tests.sort();
    tests.dedup();
    let why = told.and_then(traceback).unwrap_or_default();
    if tests.is_empty() && !lines[last_mark].starts_with("FAILED") {
        return None; // only `Ran … tests`: it passed
    }
    Some(Found { tool: "unittest", tests, last_mark, ..why })
}

/// `test_add (test_unit.Calc.test_add)`, and before Python 3.11 `test_add (test_unit.Calc)`, as one dotted name; what tells a subtest from
/// others stands behind it.
pub(super) fn test_id(header: &str) -> String {
    let Some((name, (class, of_part))) =
        header.split_once(" (").and_then(|(name, rest)| Some((name, rest.split_once(')')?)))
    else {
        return header.to_owned();
    };
    let of_part = of_part.trim_end();
    if class.ends_with(&format!(".{name}")) { format!("{class}{of_part}") } else { format!("{class}.{name}{of_part}") }
}

pattern!(SUMMARY, r"^=+ short test summary info =+$");
pattern!(FAILED, r"^(?:FAILED|ERROR) ([^\s:][^\s]*(?:\[.*?\])?)(?: - .*)?$");
// Beside a long name one `_` is left on each side; `_ _ _` stands between frames.
pattern!(HEADING, r"^_+ (.*?[^\s_].*?) _+$");
pattern!(BORDER, r"^(?:_+ .*[^\s_].* _+|=+ .+ =+|-{3,} Captured .+ -{3,})$");

/// Every test that pytest's summary names, with its failure.
/// The ids in pytest's list of what failed; a part of a test (`subTest`) has its own.
fn listed(lines: &[&str]) -> Vec<String> {
    let mut ids = names(lines, &FAILED);
    ids.extend(lines.iter().filter_map(|line| subtest(line)));
    ids
}

/// `SUBFAILED[words](i=1) test_calc.py::T::test_add - …`: as its heading has it.
fn subtest(line: &str) -> Option<String> {
    pattern!(PART, r"^SUBFAIL(?:ED)?(\[.*?\])? ?(\(.*?\))? ([^\s:]\S*)(?: - .*)?$");
    let part = PART.captures(line)?;
    let words: Vec<&str> = [3, 1, 2].into_iter().filter_map(|at| Some(part.get(at)?.as_str())).collect();
    Some(words.join(" "))
}

/// How many parts of tests failed: the test itself is counted beside them.
pub(super) fn pytest_parts(lines: &[&str]) -> usize {
    lines.iter().filter(|line| subtest(line).is_some()).count()
}

pub(super) fn pytest_each(lines: &[&str]) -> Vec<(String, Found)> {
    let Some(summary) = last_match(lines, &SUMMARY) else { return Vec::new() };
    listed(&lines[summary..]).into_iter().map(|test| (test.clone(), pytest_why(lines, &test))).collect()
}

fn pytest_why(lines: &[&str], test: &str) -> Found {
    let told = section(
        lines,
        |line| HEADING.captures(line).is_some_and(|heading| heads(&heading[1], test)),
        |line| BORDER.is_match(line),
    );
    match told {
        Some(told) => pytest_failure(told),
        None => from_summary(lines, test),
    }
}

/// pytest, whatever its `-q` and `--tb`.
pub(super) fn pytest(lines: &[&str]) -> Option<Found> {
    pattern!(
        MARK,
        r"^(?:=+ (?:test session starts|FAILURES|ERRORS|short test summary info) =+|(?:=+ )?(?:\d+ (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|subtests (?:passed|failed|skipped))(?:, )?)+ in [\d.]+s.*|(?:=+ )?no tests ran in .*)$"
    );
    let last_mark = last_match(lines, &MARK)?;
    let summary = last_match(lines, &SUMMARY).unwrap_or(0);
    let mut tests = listed(&lines[summary..]);
    if tests.is_empty() {
        tests = names(lines, &HEADING);
    }
    let first = tests.first().cloned().unwrap_or_default();
    let why = pytest_why(lines, &first);
    Some(Found { tool: "pytest", tests, last_mark, ..why })
}

/// Whether a section's heading is that of a test id: `TestMore.test_twice[1]` of `test_calc.py::TestMore::test_twice[1]`.
fn heads(heading: &str, id: &str) -> bool {
    let name = id.split_once("::").map(|(_, name)| name.replace("::", "."));
    heading == id
        || name.is_some_and(|name| heading == name || heading.ends_with(&format!(" of {name}")))
        || heading.strip_prefix("ERROR collecting ") == Some(id)
}

fn pytest_failure(told: &[&str]) -> Found {
    pattern!(PLACE, r"^(\S+?):(\d+): ?(?:in (.+)|([A-Za-z_][\w.]*))?$");
    let words: Vec<&str> =
        told.iter().filter_map(|line| line.strip_prefix("E ")).map(str::trim).filter(|line| !line.is_empty()).collect();
    let places: Vec<_> = told.iter().filter_map(|line| PLACE.captures(line)).collect();
    let named = places.iter().rev().find_map(|place| Some(place.get(4)?.as_str().to_owned()));
    // Code that cannot be parsed has its place, and the line, before its words.
    pattern!(UNPARSED, r#"^File "(.+)", line (\d+)$"#);
    let unparsed = words.first().and_then(|first| UNPARSED.captures(first));
    let error = words.iter().position(|word| unparsed.is_none() || exception(word).0.is_some()).unwrap_or_default();
    let words = words.get(error..).unwrap_or_default();
    let (code, message) = exception(words.first().copied().unwrap_or_default());
    let own = places.iter().rev().find(|place| in_project(&place[1]));
    let own = own.map(|place| Frame::new(&place[1], Some(&place[2])).within(place.get(3).map(|name| name.as_str())));
    let unparsed = unparsed.filter(|place| in_project(&place[1]));
    Found {
        code: named.filter(|_| unparsed.is_none()).or(code),
        message: Some(message.to_owned()).filter(|message| !message.is_empty()),
        detail: joined(words.iter().take(3).copied()),
        frame: unparsed.map(|place| Frame::new(&place[1], Some(&place[2]))).or(own),
        ..Found::default()
    }
}

/// With `--tb=no` the summary's line is all there is: `FAILED test_calc.py::test_add - assert -1 == 5`. Behind a long name it has no words.
fn from_summary(lines: &[&str], id: &str) -> Found {
    let line = lines.iter().rev().find_map(|line| {
        line.strip_prefix("FAILED ").or(line.strip_prefix("ERROR "))?.strip_prefix(id)?.strip_prefix(" - ")
    });
    // Without any test: `ERROR: file or directory not found: tests/`.
    let of_all = || {
        let error = lines.iter().find_map(|line| line.strip_prefix("ERROR: "));
        error.or_else(|| Some(lines.last()?.trim_matches(['=', ' '])))
    };
    let line = line.or_else(|| if id.is_empty() { of_all() } else { None });
    let (code, message) = exception(line.unwrap_or_default());
    let file = id.split("::").next().filter(|file| !file.is_empty());
    Found {
        code,
        message: Some(message.to_owned()).filter(|message| !message.is_empty()),
        detail: joined(line),
        frame: file.map(|file| Frame::new(file, None)),
        ..Found::default()
    }
}

/// Exception type and message of a line such as `ZeroDivisionError: division by zero` or `assert -1 == 5`.
fn exception(line: &str) -> (Option<String>, &str) {
    if line.starts_with("assert ") {
        return (Some("AssertionError".to_owned()), line);
    }
    match EXCEPTION.captures(line) {
        Some(parts) => (Some(parts[1].to_owned()), parts.get(2).map_or(line, |message| message.as_str())),
        None => (None, line),
    }
}

#[cfg(test)]
mod tests {
    use super::super::reader::read;

    /// What pytest prints of a test with a long name, beside so many that pass.
    fn long_name(place: &str, got: &str, passed: u32) -> String {
        let name = "test_div[a half, which is what everybody expects of a division of one by two-1-2-0.5]";
        format!(
            "=== test session starts ===\n\n=== FAILURES ===\n_ {name} _\n\nwhat = 'a half'\n\n>   assert calc.div(a, b) == want\nE   \
             assert {got} == 0.5\n\n{place}:7: in test_div\n_ _ _ _ _ _ _ _ _ _\n\n{place}:9: AssertionError\n=== short test summary info ===\n\
             FAILED {place}::{name}\n=== 1 failed, {passed} passed in 0.0{passed}s ===\n"
        )
    }

    #[test]
    fn a_test_with_a_long_name_says_what_stands_below_its_heading() {
        let (base, more) = (read(&long_name("test_calc.py", "0", 1)), read(&long_name("test_calc.py", "0", 2)));
        assert_eq!(
            (base.code.as_deref(), base.message.as_deref()),
            (Some("AssertionError"), Some("assert <n> == <n>"))
        );
        assert!(more.beside(&base).unwrap().is_no_more());
        let other = read(&long_name("test_calc.py", "7", 2));
        assert_eq!(other.beside(&base).unwrap().changed.len(), 1);
    }

    #[test]
    fn the_last_line_is_no_test_s_words() {
        let summary = |passed: u32| {
            format!(
                "=== short test summary info ===\nFAILED test_a.py::test_b\n=== 1 failed, {passed} passed in 0.01s ===\n"
            )
        };
        let (base, more) = (read(&summary(1)), read(&summary(2)));
        assert!(more.beside(&base).unwrap().is_no_more());
        assert_eq!(base.message, None);
    }
}
