//! What checks say of a change beside what they said at its base: the one reading that every verdict rests on.

use super::{Allow, CheckReport, Expects};

/// Checks after a change, read once beside the same checks at the base.
///
/// The verdict on an attempt, the gates of a turn and the merge ask this, so that a red check counts for all of them or for none.
/// Indexes are those of [`CheckResults::checks`].
///
/// ```
/// # use reflexion_core::domain::{CheckCommand, CheckReport, CheckResults, CheckScope, CheckSpec, Expects};
/// let spec = CheckSpec { name: "test".into(), run: CheckCommand::Shell("make test".into()), timeout_ms: None, results: None };
/// let base = [CheckReport::decided(CheckScope::Task, spec.clone(), Err("1 failed".into()))];
/// let now = [CheckReport::decided(CheckScope::Task, spec, Ok(()))];
/// let results = CheckResults::new(&now, &base, Expects::Fix, &[]);
/// assert_eq!((results.red().next(), results.turned().next()), (None, Some(0)));
/// ```
#[derive(Debug, Clone)]
pub struct CheckResults<'a> {
    checks: &'a [CheckReport],
    baseline: &'a [CheckReport],
    expects: Expects,
    is_known_red: Vec<bool>,
}

impl<'a> CheckResults<'a> {
    /// Reads `checks` beside the `baseline`, for a task that expects and permits this.
    #[must_use]
    pub fn new(checks: &'a [CheckReport], baseline: &'a [CheckReport], expects: Expects, allow: &[Allow]) -> Self {
        let is_known_red = checks.iter().map(|check| check.is_known_red(checks, baseline, expects, allow)).collect();
        Self { checks, baseline, expects, is_known_red }
    }

    /// The checks after the change.
    #[must_use]
    pub fn checks(&self) -> &'a [CheckReport] {
        self.checks
    }

    /// The same checks at the base.
    #[must_use]
    pub fn baseline(&self) -> &'a [CheckReport] {
        self.baseline
    }

    /// Those that say something of the change: all but those that are red as they were at the base.
    pub fn counted(&self) -> impl Iterator<Item = usize> {
        (0..self.checks.len()).filter(|&i| !self.is_known_red[i])
    }

    /// Those that are red as they were at the base, which is nobody's fault.
    pub fn known_red(&self) -> impl Iterator<Item = usize> {
        (0..self.checks.len()).filter(|&i| self.is_known_red[i])
    }

    /// Those that are red as they were at the base, test by test: where each test is compared, they say as much as green ones.
    pub fn compared(&self) -> impl Iterator<Item = usize> {
        self.known_red().filter(|&i| self.checks[i].tests_beside(self.baseline).is_some())
    }

    /// Whether no check says anything: there is none, none was run, or all are red as they were and name no tests.
    #[must_use]
    pub fn are_silent(&self) -> bool {
        // A check that ran at the base and cannot be started any more was broken by the change.
        let ran_at_base = |check: &CheckReport| check.at_base(self.baseline).is_some_and(|base| !base.is_not_run());
        let has_run = |i: usize| !self.checks[i].is_not_run() || ran_at_base(&self.checks[i]);
        !self.counted().any(has_run) && self.compared().next().is_none()
    }

    /// Why they say nothing, where they do not; none where there is no check.
    #[must_use]
    pub fn why_silent(&self) -> Option<String> {
        match self.checks.iter().find(|check| check.is_not_run()) {
            Some(check) => Some(format!("check `{}` was {}", check.spec.name, check.how())),
            None if self.checks.is_empty() => None,
            None => Some("the only checks were red before and are red for the same reason".to_owned()),
        }
    }

    /// Those that count and are red, by more than tests that nobody could see at the base.
    pub fn red(&self) -> impl Iterator<Item = usize> {
        self.counted().filter(|&i| !self.checks[i].passed() && self.unseen(i).is_none())
    }

    /// The first that is red by nothing but tests of which the base does not say how they end there, and why that says nothing.
    #[must_use]
    pub fn red_unseen(&self) -> Option<(usize, String)> {
        self.counted().find_map(|i| Some((i, self.unseen(i)?)))
    }

    /// Those that were red at the base and are green now, then those that are red still, with fewer tests of the base's red ones.
    pub fn turned(&self) -> impl Iterator<Item = usize> {
        let has_turned = |i: &usize| self.checks[*i].turned_green(self.baseline);
        let by_test = |i: &usize| !self.checks[*i].tests_turned(self.baseline).is_empty();
        self.counted().filter(has_turned).chain(self.known_red().filter(by_test))
    }

    /// Whether one that is red as at the base fails in less than there, without naming what passes: it may be what was asked for that is gone.
    #[must_use]
    pub fn fail_less(&self) -> bool {
        self.known_red().any(|i| self.checks[i].prints_less(self.baseline))
    }

    fn unseen(&self, i: usize) -> Option<String> {
        self.checks[i].fails_unseen(self.checks, self.baseline, self.expects)
    }
}
