//! The lines of an output that say what is wrong.

use super::mask::mask;
use crate::prompt::{first_bytes, has_no_width, plain};
use crate::redaction::Redactor;
use std::collections::BTreeSet;

/// So many lines of an output are kept: a run in which more is wrong is wrong for few reasons, and the first and the last lines name them.
const LINES: usize = 40;
/// Of more lines so many are the last ones.
const LAST_LINES: usize = 12;
/// A longer line is data, not words.
const LINE_BYTES: usize = 240;
/// Where no line says what is wrong, so many of the last ones stand for the failure.
const ENDING_LINES: usize = 8;

/// Words of a line that says what is wrong, whatever the tool and the case.
const WORDS: [&str; 22] = [
    "error",
    "fail",
    "panic",
    "assert",
    "exception",
    "expected",
    "actual",
    "received",
    "undefined",
    "undeclared",
    "cannot",
    "mismatch",
    "not ok",
    "not found",
    "unresolved",
    "unexpected",
    "unreachable",
    "left:",
    "right:",
    "got ",
    "invalid",
    "missing",
];

/// The masked lines of an output that say what is wrong, each once, in their order: at most 40 of at most 240 bytes, the first 28 and the
/// last 12 of more. Where no line does, the last eight stand for them. Terminal sequences and secrets are taken out before.
///
/// ```
/// # use reflexion_memory::recall::error_lines;
/// let output = "collected 3 items\nE       assert 4 == 5\ncalc.py:12: AssertionError\n";
/// assert_eq!(error_lines(output), ["E assert <n> == <n>", "calc.py:<n>: AssertionError"]);
/// assert_eq!(error_lines("all is lost\n"), ["all is lost"]);
/// ```
#[must_use]
pub fn error_lines(output: &str) -> Vec<String> {
    // Two lines that look the same are the same.
    let output = plain(output).replace(has_no_width, "");
    let before = std::iter::once("").chain(output.lines());
    let telling = output.lines().zip(before).filter(|(line, before)| says_what_is_wrong(line) || announces(before));
    let mut lines: Vec<&str> = telling.map(|(line, _)| line).collect();
    if lines.is_empty() {
        lines = output.lines().rev().filter(|line| !line.trim().is_empty()).take(ENDING_LINES).collect();
        lines.reverse();
    }
    let mut seen = BTreeSet::new();
    let mut kept: Vec<String> = Vec::new();
    for line in lines {
        let line = mask(&Redactor::of_process().redact(first_bytes(line, LINE_BYTES)));
        if line.bytes().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii()) && seen.insert(line.clone()) {
            kept.push(line);
        }
    }
    if kept.len() > LINES {
        kept.drain(LINES - LAST_LINES..kept.len() - LAST_LINES);
    }
    kept
}

/// Whether a line holds one of the [`WORDS`] or shows the source that is wrong, and is not the count of an ending or the name of what passed.
fn says_what_is_wrong(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let passed = lower.trim_end().ends_with("... ok") || lower.starts_with("ok ") || lower.contains("0 failed");
    let says = lower.starts_with("e  ") || WORDS.iter().any(|word| lower.contains(word));
    (says || shows_source(line)) && !passed
}

/// `expected: |-` of TAP: what was expected stands in the next line.
fn announces(line: &str) -> bool {
    let line = line.trim();
    line.ends_with("|-") || ((line.starts_with("expected") || line.starts_with("actual")) && line.ends_with(':'))
}

/// `12 |     let x = y;` of compilers and test runners, with or without a mark before it, and pytest's `>       assert x`. Two errors in the same words
/// are told apart by it.
fn shows_source(line: &str) -> bool {
    let line = line.trim_start();
    let numbered = line.trim_start_matches(['>', ' ']).split_once('|').is_some_and(|(number, source)| {
        let number = number.trim_end();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && !source.trim().is_empty()
    });
    numbered || line.starts_with(">   ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_many_tools_say_what_is_wrong() {
        let printed = "\u{1b}[31merror[E0308]\u{1b}[0m: mismatched types
   Compiling calc v0.1.0 (/w/1/calc)
test tests::adds ... ok
thread 'tests::takes' panicked at src/lib.rs:9:5:
assertion `left == right` failed
  left: 3
 right: 4
src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.
not ok 2 - takes
ok 1 - adds";
        assert_eq!(
            error_lines(printed),
            [
                "error[E0308]: mismatched types",
                "thread 'tests::takes' panicked at src/lib.rs:<n>:<n>:",
                "assertion `left == right` failed",
                "left: <n>",
                "right: <n>",
                "src/a.ts(<n>,<n>): error TS2322: Type 'string' is not assignable to type 'number'.",
                "not ok <n> - takes",
            ]
        );
    }

    #[test]
    fn the_source_that_is_wrong_is_shown_with_it() {
        let rustc =
            "error[E0308]: mismatched types\n  --> src/a.rs:7:5\n   |\n7  |     let a: u8 = b;\n   |            ^^\n";
        assert_eq!(error_lines(rustc), ["error[E0308]: mismatched types", "<n> | let a: u8 = b;"]);
        assert_eq!(
            error_lines("> 12 |   expect(a)\n  13 | b\n>       assert f(1)\nx | y"),
            ["> <n> | expect(a)", "<n> | b", "> assert f(<n>)"]
        );
    }

    #[test]
    fn the_same_failure_elsewhere_and_later_has_the_same_lines() {
        let one = "FAILED /w/1/test_a.py:3 in 0.12s\nerror: boom\nerror: boom\n";
        let two = "started\nFAILED /home/u/w/2/test_a.py:30 in 4.5s\nerror: boom\n";
        assert_eq!(error_lines(one), error_lines(two));
        assert_eq!(error_lines(one).len(), 2);
        assert_eq!(error_lines("error: bo\u{200b}om\u{feff}"), ["error: boom"]);
    }

    #[test]
    fn of_many_lines_the_first_and_the_last_are_kept() {
        let printed: String =
            (0..26u8).flat_map(|a| (0..4u8).map(move |b| (a, b))).fold(String::new(), |all, (a, b)| {
                format!("{all}error: {}{}\n", char::from(b'a' + a), char::from(b'a' + b))
            });
        let kept = error_lines(&printed);
        assert_eq!((kept.len(), kept[0].as_str(), kept[39].as_str()), (LINES, "error: aa", "error: zd"));
        assert!(error_lines(&format!("error {}", "é".repeat(400)))[0].len() <= LINE_BYTES);
        assert!(error_lines("").is_empty() && error_lines("\n \n---\n").is_empty());
    }
}
