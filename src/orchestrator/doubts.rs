//! What was found out about an attempt's red checks.

use crate::domain::{CheckReport, CheckScope, CheckSpec, Flaky, FlakyHow};

/// What was found out about an attempt's red checks.
#[derive(Debug, Clone, Default)]
pub(super) struct Doubts {
    /// Red because of the work.
    pub blamed: Vec<(CheckScope, CheckSpec)>,
    /// Red, and at the base too by now.
    pub at_base: Vec<(CheckScope, CheckSpec)>,
    /// What is to be said.
    pub flaky: Vec<Flaky>,
}

impl Doubts {
    pub fn say(&mut self, check: &CheckSpec, how: FlakyHow, tests: Vec<String>) -> Option<&Flaky> {
        let flaky = Flaky { check: check.name.clone(), how, tests };
        if self.flaky.contains(&flaky) {
            return None;
        }
        self.flaky.push(flaky);
        self.flaky.last()
    }

    /// The checks to run once more.
    pub fn ask(&self, checks: &[CheckReport], baseline: &[CheckReport]) -> Vec<(CheckScope, CheckSpec)> {
        let only_new = |check: &CheckReport| check.tests_beside(baseline).is_some_and(|it| it.is_only_new());
        let turned_red = |check: &&CheckReport| {
            !check.passed() && (check.at_base(baseline).is_some_and(CheckReport::passed) || only_new(check))
        };
        let red = checks.iter().filter(turned_red).map(|check| (check.scope, check.spec.clone()));
        red.filter(|check| !self.blamed.contains(check) && !self.at_base.contains(check)).collect()
    }
}
