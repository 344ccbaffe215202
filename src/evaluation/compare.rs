//! Comparing two results of the same suites.

use super::result::{CaseOutcome, CaseResult, EvalResult, SuiteResult, Totals};
use serde::Serialize;
use std::collections::BTreeMap;

/// What one suite's two results differ in.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// Its name.
    pub suite: String,
    /// What was counted before.
    pub old: Totals,
    /// What was counted now.
    pub new: Totals,
    /// Cases that hold now and did not.
    pub gained: Vec<String>,
    /// Cases that held and do not now.
    pub lost: Vec<String>,
    /// Cases whose verdict is another one: id, before, now.
    pub changed: Vec<(String, String, String)>,
    /// New cases.
    pub added: Vec<String>,
    /// Cases that are gone.
    pub removed: Vec<String>,
}

/// Compares every suite of the new result with the one of that name in the old one; suites that only one of them has are
/// left out.
#[must_use]
pub fn compare(old: &EvalResult, new: &EvalResult) -> Vec<Comparison> {
    let before = |suite: &SuiteResult| old.suites.iter().find(|other| other.suite == suite.suite);
    new.suites.iter().filter_map(|suite| Some(differences(before(suite)?, suite))).collect()
}

fn differences(old: &SuiteResult, new: &SuiteResult) -> Comparison {
    let by_id = |suite: &SuiteResult| -> BTreeMap<String, CaseResult> {
        suite.cases.iter().map(|case| (case.id.clone(), case.clone())).collect()
    };
    let (before, now) = (by_id(old), by_id(new));
    let both = || new.cases.iter().filter_map(|case| Some((before.get(&case.id)?, case)));
    let passes = |case: &CaseResult| case.outcome == CaseOutcome::Passed;
    let ids = |wanted: &dyn Fn(&CaseResult, &CaseResult) -> bool| {
        both().filter(|(old, new)| wanted(old, new)).map(|(_, new)| new.id.clone()).collect()
    };
    let given = |case: &CaseResult| {
        let mut words: Vec<&str> = case.runs.iter().map(|run| run.given.as_str()).collect();
        words.sort_unstable();
        words.dedup();
        words.join("/")
    };
    Comparison {
        suite: new.suite.clone(),
        old: old.totals.clone(),
        new: new.totals.clone(),
        gained: ids(&|old, new| !passes(old) && passes(new)),
        lost: ids(&|old, new| passes(old) && !passes(new)),
        changed: both()
            .map(|(old, new)| (new.id.clone(), given(old), given(new)))
            .filter(|(_, old, new)| old != new)
            .collect(),
        added: now.keys().filter(|id| !before.contains_key(*id)).cloned().collect(),
        removed: before.keys().filter(|id| !now.contains_key(*id)).cloned().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::result::RunResult;
    use super::super::suite::SuiteKind;
    use super::*;
    use crate::domain::Usage;
    use serde_json::Value;

    fn case(id: &str, outcome: CaseOutcome, given: &str) -> CaseResult {
        let run = RunResult {
            given: given.to_owned(),
            said: None,
            problems: Vec::new(),
            ungraded: Vec::new(),
            verdict: Value::Null,
        };
        let (description, expected) = (String::new(), "refuted".to_owned());
        CaseResult { id: id.to_owned(), description, expected, truth: None, outcome, runs: vec![run] }
    }

    fn result(cases: Vec<CaseResult>) -> EvalResult {
        let suite = SuiteResult {
            suite: "s".to_owned(),
            file: "s.yaml".to_owned(),
            kind: SuiteKind::Completion,
            totals: Totals::of(&cases),
            threshold: None,
            missed: Vec::new(),
            notes: Vec::new(),
            cases,
        };
        EvalResult {
            v: 1,
            at: "2026-01-01T00:00:00Z".parse().unwrap(),
            judge: "none".into(),
            repeat: 1,
            usage: Usage::default(),
            suites: vec![suite],
        }
    }

    #[test]
    fn gained_lost_changed_new_and_gone() {
        use CaseOutcome::{Failed, NotGraded, Passed};
        let old =
            [("a", Failed, "proven"), ("b", Passed, "refuted"), ("c", Passed, "refuted"), ("d", Passed, "refuted")];
        let new = [
            ("a", Passed, "refuted"),
            ("b", Failed, "unproven"),
            ("c", NotGraded, "refuted"),
            ("e", Passed, "refuted"),
        ];
        let cases =
            |cases: [(&str, CaseOutcome, &str); 4]| result(cases.map(|(id, o, given)| case(id, o, given)).to_vec());
        let compared = compare(&cases(old), &cases(new));
        let suite = &compared[0];
        assert_eq!(suite.gained, ["a"]);
        assert_eq!(suite.lost, ["b", "c"], "what cannot be graded any more is lost too");
        let changed: Vec<&str> = suite.changed.iter().map(|(id, ..)| id.as_str()).collect();
        assert_eq!(changed, ["a", "b"]);
        assert_eq!((suite.added.as_slice(), suite.removed.as_slice()), (&["e".to_owned()][..], &["d".to_owned()][..]));
    }
}
