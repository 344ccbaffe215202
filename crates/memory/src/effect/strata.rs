//! What an attempt of a stratum comes to in each arm, from earlier trials only.

use super::trial::{Numbers, Trial};

/// Trials of the level above that a mean is pulled by: a stratum of 20 trials believes itself half.
const WEIGHT: f64 = 20.0;

/// Passes of trials.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) passed: f64,
    pub(super) trials: f64,
}

impl Tally {
    pub(super) fn count(&mut self, outcome: f64) {
        self.passed += outcome;
        self.trials += 1.0;
    }

    /// The rate, pulled towards `center`.
    pub(super) fn towards(self, center: f64) -> f64 {
        (self.passed + WEIGHT * center) / (self.trials + WEIGHT)
    }

    /// The rate of passes, never 0 or 1: half a pass and half a failure are added (Krichevsky and Trofimov 1981).
    pub(super) fn rate(self) -> f64 {
        (self.passed + 0.5) / (self.trials + 1.0)
    }
}

/// Means of strata in both arms. A mean is asked for before its trial is counted, so that nothing an estimate uses knows the outcome.
#[derive(Default)]
pub(super) struct Strata<'a> {
    numbers: Numbers<'a>,
    all: Tally,
    arms: [Tally; 2],
    each: Vec<[Tally; 2]>,
}

impl<'a> Strata<'a> {
    /// The rates of passes to expect without and with lessons, then the trial is counted: the stratum's mean, pulled towards that of the arm,
    /// and this towards that of all trials.
    pub(super) fn expect_then_count(&mut self, trial: &'a Trial) -> [f64; 2] {
        let number = self.numbers.number(&trial.stratum);
        if number == self.each.len() {
            self.each.push([Tally::default(); 2]);
        }
        let stratum = &mut self.each[number];
        let expected = [0, 1].map(|arm: usize| stratum[arm].towards(self.arms[arm].towards(self.all.rate())));
        let (arm, outcome) = (usize::from(trial.injected), trial.outcome());
        stratum[arm].count(outcome);
        self.arms[arm].count(outcome);
        self.all.count(outcome);
        expected
    }
}
