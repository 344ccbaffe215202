//! What an attempt did to the tests that failed before it.

use super::CheckReport;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How many tests are named at most.
const NAMED: usize = 20;
/// Characters of a name.
const NAME: usize = 200;

/// The tests that failed at the base, and what became of them, of checks whose runner names them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TestsTurned {
    /// Those that failed and do not any more, by id; the first twenty.
    pub names: Vec<String>,
    /// How many those are.
    pub turned: usize,
    /// How many failed at the base.
    pub failed_before: usize,
    /// How many fail now, new ones included.
    pub failing: usize,
}

impl TestsTurned {
    /// What became of the tests of these checks that failed at the base.
    ///
    /// None where no check was red there and names its tests, and where one that is red now does not.
    #[must_use]
    pub fn of(checks: &[CheckReport], baseline: &[CheckReport]) -> Option<Self> {
        let (mut before, mut failing) = (BTreeSet::new(), BTreeSet::new());
        let mut names = BTreeSet::new();
        for check in checks {
            let Some(counted) = check.at_base(baseline).and_then(|base| base.signature.counted.as_ref()) else {
                continue;
            };
            // One that did not run says nothing of its tests.
            let now = if check.passed() { None } else { Some(check.signature.counted.as_ref()?) };
            before.extend(counted.failing.keys().map(String::as_str));
            failing.extend(now.iter().flat_map(|now| now.failing.keys()));
            match now {
                None => names.extend(counted.failing.keys().map(String::as_str)),
                Some(_) => names.extend(check.tests_turned(baseline)),
            }
        }
        let short = |name: &&str| name.chars().take(NAME).collect();
        (!before.is_empty()).then(|| Self {
            names: names.iter().take(NAMED).map(short).collect(),
            turned: names.len(),
            failed_before: before.len(),
            failing: failing.len(),
        })
    }
}
