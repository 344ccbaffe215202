//! Comparing two results of the same suites.

use super::result::CaseOutcome;
use super::result::CaseResult;
use super::result::EvalResult;
use super::result::SuiteResult;
use super::result::Totals;
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
