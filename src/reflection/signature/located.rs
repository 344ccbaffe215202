//! Errors that are named with their places: on one line, or on several.
//!
//! Place and words may stand on different lines: a place below the words (` --> a.py:1:8`), a place above them, or the name of a
//! file above rows of `line:column words`.

use super::compilers::UNDEFINED;
use super::found::pattern;
use super::mask::mask;
use std::collections::BTreeSet;

// `src/a.ts(1,2): `, `a.c:1:2: `, `[ERROR] /x/A.java:[1,2] `, `e: file:///x/A.kt:1:2 `, and what is said of that place.
pattern!(
    PLACE,
    r"^\s*((?:\[?[A-Za-z]+\]?:? )?(?:in )?)(?:file://)?[^\s:(]*\w\.[A-Za-z]\w*(?::\[?\d+|\(\d+)(?:[:,]\d+)?[\])]?(?::| -|\s)(.*)$"
);
pattern!(MILD, r"(?i)^\W*(?:warning|warn|note|info|hint|help|debug|trace)\b|^\s*(?:⚠|!|ℹ|i\s)");
pattern!(GRAVE, r"(?i)^\W*(?:\w+ )?error\b");
// `E0602: `, `F401 `, `[F401] `: linters say so of whatever makes them fail.
pattern!(CODE, r"^\s*\[?[A-Z]{1,5}\d{2,5}\b");
// `ld.lld: error: undefined symbol: x`.
pattern!(LINKER, r"^(?:\S*/)?(?:[\w-]*-)?(?:ld(?:[.-]\w+)?|lld|ld64\.lld|mold): (?:fatal )?error: ");
// ` --> a.rs:1:2`, `╭─[a.js:1:2]`, `,-[a.js:1:2]`, `┌─ a.x:1:2`.
pattern!(ARROW, r"^\s*(?:-->|[╭┌,][─▸-]+)\s*\[?\S.*?:\d+:\d+\]?$");
pattern!(HEADLINE, r"^(?:\w|\s*[×✖✗✘x] )");
// What follows a line that is only a place and a rule's name.
pattern!(MARKED, r"^\s*[×✖✗✘]\s+\S");
// `a.css`, `a.py:`, `FILE: a.php`, `Line   a.php`.
pattern!(FILE, r"^(?:\s*(?:FILE:|Line) +)?(\S*\w\.[A-Za-z]\w*):?$");
pattern!(ROW, r"^\s+:?\d+:\d+:?\s+(\S.*)$");
pattern!(ROW_OF_TABLE, r"^\s+:?\d+(?:\s*\|\s*|\s{2,})(\S.*)$");
// `a.py:1:2: words`.
pattern!(EXACT, r"^(?:file://)?[^\s:(]*\w\.[A-Za-z]\w*(?::\d+:\d+|\(\d+,\d+\)): \S");

/// An error with its place.
pub(super) struct Located {
    /// The line that says what is wrong.
    pub at: usize,
    /// Its words and its place, without what changes from run to run.
    pub error: String,
}

/// The errors that compilers and linters name with their places. One that is printed twice is one.
pub(super) fn errors(lines: &[&str]) -> Vec<Located> {
    let mut seen = BTreeSet::new();
    let mut file = None;
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(named) = FILE.captures(line) {
            file =
                Some(named).map(|named| (mask(&named[1]), line.starts_with(char::is_whitespace) || line.contains(' ')));
        } else if line.trim().is_empty() {
            file = None;
        } else if let Some((at, exact, error)) = words_and_place(lines, at) {
            // Two targets of a package print the same error.
            if seen.insert(exact) {
                found.push(Located { at, error });
            }
        } else if let Some(error) = row(line, file.as_ref()) {
            found.push(Located { at, error });
        }
    }
    found
}

/// The line that says what is wrong, the error with its exact place, and without it.
fn words_and_place(lines: &[&str], at: usize) -> Option<(usize, String, String)> {
    let line = lines[at];
    let next = lines.get(at + 1).copied().unwrap_or_default();
    if ARROW.is_match(next) && HEADLINE.is_match(line) && !MILD.is_match(line) {
        return Some((at, format!("{line}{next}"), mask(&format!("{line}{next}"))));
    }
    if is_error(line) {
        return Some((at, line.to_owned(), mask(line.trim())));
    }
    let below = (at + 1..lines.len()).find(|below| !lines[*below].trim().is_empty())?;
    if is_place(line) && below <= at + 2 && MARKED.is_match(lines[below]) {
        // A rule is drawn up to the end of the line.
        let error = format!("{} {}", line.trim().trim_end_matches(['━', '─', ' ']), lines[below].trim());
        return Some((below, error.clone(), mask(&error)));
    }
    None
}

/// An error in a row below the name of its file; a table may have rows without columns. Where no name of a file is known, only what calls
/// itself an error is one.
fn row(line: &str, file: Option<&(String, bool)>) -> Option<String> {
    let row = ROW.captures(line).or_else(|| file.filter(|file| file.1).and_then(|_| ROW_OF_TABLE.captures(line)))?;
    if MILD.is_match(&row[1]) || (file.is_none() && !GRAVE.is_match(&row[1])) {
        return None;
    }
    Some(format!("{} {}", file.map_or("", |file| file.0.as_str()), mask(line.trim())))
}

/// Whether one line names an error and its place.
pub(super) fn is_error(line: &str) -> bool {
    let is_error = |place: regex::Captures<'_>| {
        GRAVE.is_match(&place[2]) || GRAVE.is_match(&place[1]) || &place[1] == "e: " || CODE.is_match(&place[2])
    };
    PLACE.captures(line).is_some_and(is_error) || UNDEFINED.is_match(line) || LINKER.is_match(line)
}

/// Whether a line says something of a place in a file, and does not call it a note or a warning.
pub(super) fn is_place(line: &str) -> bool {
    PLACE.captures(line).is_some_and(|place| !MILD.is_match(&place[1]) && !MILD.is_match(&place[2]))
}

/// Whether a line begins with a place down to its column, and says something of it.
pub(super) fn is_exact_place(line: &str) -> bool {
    EXACT.is_match(line) && is_place(line)
}
