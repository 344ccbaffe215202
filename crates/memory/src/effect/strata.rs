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

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, for the arm with lessons: what is expected of each trial before it is counted.
    #[test]
    fn a_mean_is_pulled_to_its_arm_and_this_to_all() {
        let trial = |stratum: &str, injected, passed| Trial {
            stratum: stratum.to_owned(),
            injected,
            passed,
            ..Trial::default()
        };
        let trials = [trial("a", true, true), trial("b", false, false), trial("a", true, true), trial("b", true, true)];
        let mut strata = Strata::default();
        let expected: Vec<[f64; 2]> = trials.iter().map(|trial| strata.expect_then_count(trial)).collect();
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
        expected[0].into_iter().for_each(|found| near(found, 0.5));
        // All (1 + .5) / 2 = .75; the arm (1 + 20 · .75) / 21; the stratum has no trial yet.
        near(expected[1][1], 16.0 / 21.0);
        // All 1.5 / 3 = .5; the arm 11 / 21; the stratum's only trial passed.
        near(expected[2][1], (1.0 + 20.0 * 11.0 / 21.0) / 21.0);
        // Without lessons: the arm 10 / 21, and the failure counts for stratum b.
        near(expected[2][0], 10.0 / 21.0);
        // All 2.5 / 4 = .625; without lessons 12.5 / 21, then one failure in 21.
        near(expected[3][0], 20.0 * (12.5 / 21.0) / 21.0);
    }
}
