//! Results: what came of suites, as it is kept and compared.

use super::grade::Said;
use super::statistics::Rate;
use super::suite::SuiteKind;
use super::threshold::Threshold;
use crate::domain::{Timestamp, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What came of one call: the document of `eval --json` and of the kept files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvalResult {
    /// Version of this shape: 1.
    pub v: u32,
    /// When it began.
    pub at: Timestamp,
    /// Who judged what the facts leave open.
    pub judge: String,
    /// How many times each case ran.
    pub repeat: u32,
    /// What whoever was asked used, where it is known.
    #[serde(default, skip_serializing_if = "Usage::is_unknown")]
    pub usage: Usage,
    /// One for each suite, in the order they were named.
    pub suites: Vec<SuiteResult>,
}

/// What came of one suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SuiteResult {
    /// Its name.
    pub suite: String,
    /// The file it was read from, as it was named.
    pub file: String,
    /// Which judgement it is about.
    pub kind: SuiteKind,
    /// What was counted.
    pub totals: Totals,
    /// What it had to come to; none: every case had to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Threshold>,
    /// What falls short of it, in words; empty: it succeeded.
    pub missed: Vec<String>,
    /// What was in the file and was not used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// One for each case.
    pub cases: Vec<CaseResult>,
}

/// What came of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseResult {
    /// Unique in its suite.
    pub id: String,
    /// What it shows.
    pub description: String,
    /// What had to come of it, in a word or two.
    pub expected: String,
    /// The truth: fine or not; none where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<bool>,
    /// How it ended over all runs.
    pub outcome: CaseOutcome,
    /// One for each run.
    pub runs: Vec<RunResult>,
}

/// How a case ended over all its runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseOutcome {
    /// Everything expected held in every run.
    Passed,
    /// Something did not hold, in every run.
    Failed,
    /// The runs differ: in whether it held, or in the verdict.
    Flaky,
    /// Nothing failed, and something could not be graded.
    NotGraded,
}

/// What came of one run of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    /// The verdict in a word.
    pub given: String,
    /// What it claims; none where nobody judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
    /// What did not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// What could not be graded, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ungraded: Vec<String>,
    /// The whole verdict.
    pub verdict: Value,
}

impl CaseResult {
    /// From its runs.
    pub(super) fn outcome(runs: &[RunResult]) -> CaseOutcome {
        let held = |run: &RunResult| run.problems.is_empty();
        let differ = runs.windows(2).any(|two| held(&two[0]) != held(&two[1]) || two[0].given != two[1].given);
        match runs {
            _ if differ => CaseOutcome::Flaky,
            runs if !runs.iter().all(held) => CaseOutcome::Failed,
            runs if runs.is_empty() || runs.iter().any(|run| !run.ungraded.is_empty()) => CaseOutcome::NotGraded,
            _ => CaseOutcome::Passed,
        }
    }

    /// What it said where that was worst: of several runs the one that is furthest from the truth.
    #[must_use]
    pub fn worst(&self) -> Option<Said> {
        let said = self.runs.iter().filter_map(|run| run.said);
        if self.truth == Some(true) { said.max() } else { said.min() }
    }
}

/// How many verdicts of each standing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claims {
    /// Called fine.
    pub fine: u64,
    /// Left open.
    pub undecided: u64,
    /// Called not fine.
    pub not_fine: u64,
}

/// One cell of the matrix of words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// What had to come of it.
    pub expected: String,
    /// What came of it.
    pub given: String,
    /// So many runs.
    pub count: u64,
}

/// What was counted over a suite's cases.
///
/// Rates are over cases, not over runs: runs of one case are not independent. A case that was run several times counts
/// with the run that is furthest from the truth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Cases.
    pub cases: u64,
    /// Everything expected held.
    pub passed: u64,
    /// Something did not.
    pub failed: u64,
    /// The runs differ.
    pub flaky: u64,
    /// Could not be graded.
    pub not_graded: u64,
    /// What was claimed of the cases that are fine.
    pub truly_fine: Claims,
    /// What was claimed of the cases that are not.
    pub truly_not_fine: Claims,
    /// Called fine, of all that are not.
    pub false_complete: Rate,
    /// Called not fine, of all that are.
    pub false_alarm: Rate,
    /// Left open, of all whose truth is known.
    pub undecided: Rate,
    /// Held in full, of all that were graded.
    pub accuracy: Rate,
    /// How many runs came to which word.
    pub given: BTreeMap<String, u64>,
    /// Every run: what had to come of it, and what came.
    pub matrix: Vec<Cell>,
}

impl Totals {
    /// Counts.
    #[must_use]
    pub fn of(cases: &[CaseResult]) -> Self {
        let count = |outcome| cases.iter().filter(|case| case.outcome == outcome).count() as u64;
        let claims = |truth: bool| {
            let mut claims = Claims::default();
            for case in cases.iter().filter(|case| case.truth == Some(truth)) {
                match case.worst() {
                    Some(Said::Fine) => claims.fine += 1,
                    Some(Said::NotFine) => claims.not_fine += 1,
                    Some(Said::Undecided) | None => claims.undecided += 1,
                }
            }
            claims
        };
        let (fine, not_fine) = (claims(true), claims(false));
        let all = |claims: Claims| claims.fine + claims.undecided + claims.not_fine;
        let [passed, failed, flaky, not_graded] =
            [CaseOutcome::Passed, CaseOutcome::Failed, CaseOutcome::Flaky, CaseOutcome::NotGraded].map(count);
        let mut given = BTreeMap::new();
        let mut matrix = BTreeMap::new();
        for (case, run) in cases.iter().flat_map(|case| case.runs.iter().map(move |run| (case, run))) {
            *given.entry(run.given.clone()).or_default() += 1;
            *matrix.entry((case.expected.clone(), run.given.clone())).or_default() += 1;
        }
        Self {
            cases: cases.len() as u64,
            passed,
            failed,
            flaky,
            not_graded,
            truly_fine: fine,
            truly_not_fine: not_fine,
            false_complete: Rate::new(not_fine.fine, all(not_fine)),
            false_alarm: Rate::new(fine.not_fine, all(fine)),
            undecided: Rate::new(fine.undecided + not_fine.undecided, all(fine) + all(not_fine)),
            accuracy: Rate::new(passed, passed + failed + flaky),
            given,
            matrix: matrix.into_iter().map(|((expected, given), count)| Cell { expected, given, count }).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(given: &str, said: Said, problem: &str) -> RunResult {
        let problems = if problem.is_empty() { Vec::new() } else { vec![problem.to_owned()] };
        RunResult { given: given.into(), said: Some(said), problems, ungraded: Vec::new(), verdict: Value::Null }
    }

    fn case(truth: bool, runs: Vec<RunResult>) -> CaseResult {
        CaseResult {
            id: "c".into(),
            description: String::new(),
            expected: "refuted".into(),
            truth: Some(truth),
            outcome: CaseResult::outcome(&runs),
            runs,
        }
    }

    #[test]
    fn a_case_counts_with_its_worst_run() {
        let fine = || run("proven", Said::Fine, "false complete");
        let open = || run("unproven", Said::Undecided, "");
        let not_fine = || run("refuted", Said::NotFine, "");
        let cases = [
            case(false, vec![not_fine(), fine(), not_fine()]),
            case(true, vec![fine(), not_fine()]),
            case(true, vec![open()]),
        ];
        let totals = Totals::of(&cases);
        assert_eq!(totals.false_complete, Rate::new(1, 1));
        assert_eq!(totals.false_alarm, Rate::new(1, 2));
        assert_eq!(totals.undecided, Rate::new(1, 3));
        assert_eq!((totals.flaky, totals.passed, totals.accuracy), (2, 1, Rate::new(1, 3)));
        assert_eq!(totals.given["refuted"], 3);
    }

    #[test]
    fn what_could_not_be_graded_is_never_a_pass() {
        let mut ungraded = run("0-5", Said::Undecided, "");
        ungraded.ungraded.push("nobody gave a score".into());
        let totals = Totals::of(&[case(true, vec![ungraded])]);
        assert_eq!((totals.passed, totals.not_graded, totals.accuracy), (0, 1, Rate::new(0, 0)));
    }
}
