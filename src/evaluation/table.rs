//! Results as text for people.

use super::compare::Comparison;
use super::grade::ASSERTIONS;
use super::result::{CaseOutcome, Cell, Claims, EvalResult, SuiteResult, Totals};
use std::fmt::Write;

/// What came of suites, readably; `every` case with a line, or only those that do not hold.
#[must_use]
pub fn table(result: &EvalResult, every: Lines) -> String {
    let mut text = String::new();
    for suite in &result.suites {
        suite_text(suite, result, every, &mut text);
    }
    if let Some(tokens) = result.usage.tokens() {
        // Writing to a string cannot fail.
        let _ = write!(text, "the judge used {tokens} tokens");
        let _ = match result.usage.cost_usd {
            Some(cost) => writeln!(text, ", ${cost:.2}"),
            None => writeln!(text),
        };
    }
    text
}

/// Which cases have a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Every one.
    All,
    /// Those that failed or are flaky.
    Wrong,
}

fn suite_text(suite: &SuiteResult, result: &EvalResult, every: Lines, text: &mut String) {
    let totals = &suite.totals;
    let times = if result.repeat > 1 { format!(", each {} times", result.repeat) } else { String::new() };
    let kind = suite.kind.as_str();
    let name = if suite.suite == kind { kind.to_owned() } else { format!("{} ({kind})", suite.suite) };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{name}: {} cases{times}, judge: {}", totals.cases, result.judge);
    for note in &suite.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    for case in suite.cases.iter().filter(|case| every == Lines::All || wrong(case.outcome)) {
        let mark = match case.outcome {
            CaseOutcome::Passed => "ok",
            CaseOutcome::Failed => "FAILED",
            CaseOutcome::Flaky => "FLAKY",
            CaseOutcome::NotGraded => "not graded",
        };
        let mut given: Vec<&str> = case.runs.iter().map(|run| run.given.as_str()).collect();
        given.dedup();
        let _ = writeln!(text, "  {mark:<10} {}: {} → {}", case.id, case.expected, given.join(", "));
        if case.outcome != CaseOutcome::Passed {
            let _ = writeln!(text, "             {}", case.description);
            let mut why: Vec<&String> =
                case.runs.iter().flat_map(|run| run.problems.iter().chain(&run.ungraded)).collect();
            why.dedup();
            for because in why {
                let _ = writeln!(text, "             - {because}");
            }
        }
    }
    counts(suite, text);
    match (&suite.threshold, suite.missed.as_slice()) {
        (Some(_), []) => text.push_str("  threshold held\n"),
        (_, missed) => text.extend(missed.iter().map(|because| format!("  BELOW: {because}\n"))),
    }
    text.push('\n');
}

fn wrong(outcome: CaseOutcome) -> bool {
    matches!(outcome, CaseOutcome::Failed | CaseOutcome::Flaky)
}

fn counts(suite: &SuiteResult, text: &mut String) {
    let totals = &suite.totals;
    let [fine, not_fine] = suite.kind.sides();
    let all = |claims: Claims| claims.fine + claims.undecided + claims.not_fine;
    if all(totals.truly_fine) + all(totals.truly_not_fine) > 0 {
        let _ = writeln!(text, "\n  {:<22} {fine:>14} {:>14} {not_fine:>14}", "truth \\ said", "undecided");
        for (name, claims) in [(fine, totals.truly_fine), (not_fine, totals.truly_not_fine)] {
            let Claims { fine, undecided, not_fine } = claims;
            let _ = writeln!(text, "  {name:<22} {fine:>14} {undecided:>14} {not_fine:>14}");
        }
        text.push('\n');
    }
    words(totals, text);
    let _ = writeln!(text, "  false complete   {}", totals.false_complete);
    let _ = writeln!(text, "  false alarm      {}", totals.false_alarm);
    let _ = writeln!(text, "  undecided        {}", totals.undecided);
    let _ = writeln!(text, "  held in full     {}", totals.accuracy);
    let Totals { passed, failed, flaky, not_graded, .. } = totals;
    let _ = writeln!(text, "  {passed} passed, {failed} failed, {flaky} flaky, {not_graded} not graded");
    if *not_graded > 0 {
        let _ = writeln!(
            text,
            "  (not graded: the facts leave these open, or an assertion is not supported; --cases shows them)"
        );
    }
}

/// The verdicts' own words against what they had to be.
fn words(totals: &Totals, text: &mut String) {
    let given: Vec<String> = totals.given.iter().map(|(word, count)| format!("{count} {word}")).collect();
    let _ = writeln!(text, "  verdicts: {}", given.join(", "));
    // promptfoo's assertions expect no word, and a range of scores is no word either.
    let wrong = |cell: &&Cell| {
        let word = cell.expected.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | ' '));
        word && cell.expected != ASSERTIONS && !cell.expected.split(" or ").any(|word| word == cell.given)
    };
    for cell in totals.matrix.iter().filter(wrong) {
        let _ = writeln!(text, "    expected {}, got {}: {}", cell.expected, cell.given, cell.count);
    }
}

/// What two results differ in, readably.
#[must_use]
pub fn comparison(suites: &[Comparison]) -> String {
    let mut text = String::new();
    for suite in suites {
        let (old, new) = (&suite.old, &suite.new);
        let _ = writeln!(text, "{}:", suite.suite);
        let _ = writeln!(text, "  false complete   {}\n                 → {}", old.false_complete, new.false_complete);
        let _ = writeln!(text, "  false alarm      {}\n                 → {}", old.false_alarm, new.false_alarm);
        let _ = writeln!(text, "  undecided        {}\n                 → {}", old.undecided, new.undecided);
        let _ = writeln!(text, "  held in full     {}\n                 → {}", old.accuracy, new.accuracy);
        for (name, ids) in
            [("gained", &suite.gained), ("LOST", &suite.lost), ("new", &suite.added), ("gone", &suite.removed)]
        {
            if !ids.is_empty() {
                let _ = writeln!(text, "  {name}: {}", ids.join(", "));
            }
        }
        for (id, old, new) in &suite.changed {
            let _ = writeln!(text, "  changed: {id}: {old} → {new}");
        }
        text.push('\n');
    }
    text
}
