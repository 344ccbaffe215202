//! A failure of an earlier attempt, and what of it was red at the base.

use crate::domain::{Allow, CheckReport, CheckResults, CheckScope, Expects, Signature, TurnFailure};

/// The last failure of this run, for the next prompt.
pub(super) struct PastFailure {
    pub part: usize,
    pub number: u32,
    /// Why, without what a red check says itself.
    pub because: String,
    pub check: Option<CheckReport>,
    /// What it changed; of an attempt that changed nothing, the last one that did.
    pub change: PastChange,
}

/// What an attempt changed, and why it failed.
#[derive(Clone)]
pub(super) struct PastChange {
    pub number: u32,
    pub because: String,
    pub files: Vec<String>,
    /// The change beside the base, as a unified diff.
    pub diff: String,
}

/// Why an attempt failed whose check lacked something that was brought back since: no agent can do anything about it.
const IS_BACK: &str = "something that the check needs beside the files was gone, and is there again, so nothing is known of whether the change is right";

impl PastFailure {
    /// The same, where what the check said was nothing about the work.
    pub fn explained(mut self) -> Self {
        self.check = None;
        IS_BACK.clone_into(&mut self.because);
        if self.change.number == self.number {
            IS_BACK.clone_into(&mut self.change.because);
        }
        self
    }

    /// As the record of its turn holds it.
    pub fn recorded(self, checks: &[CheckReport]) -> TurnFailure {
        let check = self.check.and_then(|shown| checks.iter().position(|check| *check == shown));
        let PastChange { number, because, files, .. } = self.change;
        let of_change = (number != self.number).then_some((number, because));
        TurnFailure { because: self.because, of_change, check, files }
    }
}

/// What of red checks was red at the base, too, and so does not count.
#[derive(Debug, Clone, Default)]
pub(super) struct OldFailures {
    /// The checks in which nothing else fails, as indices.
    pub checks: Vec<usize>,
    /// Of the check that shows the failure, the ids of the tests that failed before.
    pub tests: Vec<String>,
    /// The same of each check of the project, in the order of the checks.
    pub known: Vec<Vec<String>>,
    /// What is left of its failure without them, where that is known.
    pub rest: Option<Signature>,
    /// Any of several tests that failed before may be what a fix is asked for, and nothing in them has moved.
    pub open: bool,
    /// Nothing is left of it: what counts against the attempt is that tests are not run any more.
    pub lost: bool,
}

impl OldFailures {
    /// Of an attempt whose failure this check shows.
    pub fn of(
        checks: &[CheckReport],
        baseline: &[CheckReport],
        shown: Option<usize>,
        (expects, allow): (Expects, &[Allow]),
    ) -> Self {
        let results = CheckResults::new(checks, baseline, expects, allow);
        let known = |check: &CheckReport| -> Vec<String> {
            let base = check.at_base(baseline).filter(|base| !base.passed() && check.scope == CheckScope::Project);
            let known = base.map(|base| check.signature.known_of(&base.signature)).unwrap_or_default();
            known.into_iter().map(str::to_owned).collect()
        };
        let known = checks.iter().map(known).collect();
        let mut old = Self { checks: results.known_red().collect(), known, ..Self::default() };
        let shown = shown.map(|i| &checks[i]).filter(|check| check.scope == CheckScope::Project);
        if let Some((check, base)) = shown.and_then(|check| Some((check, check.at_base(baseline)?))) {
            // Any of those that failed before may be what a fix is asked for; what the attempt itself has moved says more about it.
            if check.may_be_known_red(checks, baseline, expects) {
                old.tests = check.signature.known_of(&base.signature).into_iter().map(str::to_owned).collect();
            }
            old.rest = check.signature.beyond(&base.signature);
            let known = check.signature.known_of(&base.signature).len();
            old.open = old.tests.is_empty() && old.rest.is_none() && known > 1;
            old.lost = check.signature.beside(&base.signature).is_some_and(|beside| beside.is_only_gone());
        }
        old
    }
}
