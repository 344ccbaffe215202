//! What each lesson changes beside its stratum and the other lessons of the same prompt.
//!
//! A logistic regression: the log-odds of a pass are those of the stratum and what each shown lesson adds. Both are believed before they are
//! seen, strata around the rate of held-out trials, lessons around 0 (a ridge; Hoerl and Kennard, Technometrics 12, 1970, for the logistic case
//! le Cessie and van Houwelingen, Applied Statistics 41, 1992). It is solved one unknown after another by Newton's steps, which only go up,
//! because the posterior has one maximum.

use super::interval::{Interval, Z_95};
use super::lessons::{Exposure, Exposures};

/// How much strata differ, as a standard deviation of log-odds: about 7 % to 36 % around 17 %.
const STRATUM: f64 = 1.0;
/// How much lessons change: half of them less than a third (17 % to 22 %), few more than 1.
const LESSON: f64 = 0.5;
/// No unknown moves further at once: from far away Newton's step goes too far.
const STEP: f64 = 1.0;
/// Rounds over all unknowns, and the change that ends them early.
const ROUNDS: usize = 100;
const CHANGE: f64 = 1e-4;

/// What a lesson adds to the log-odds, as a normal distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Adjusted {
    mean: f64,
    deviation: f64,
}

impl Adjusted {
    pub(super) fn interval(self) -> Interval {
        let half = Z_95 * self.deviation;
        Interval { estimate: self.mean, low: self.mean - half, high: self.mean + half }
    }

    /// How probable it is that the lesson adds more than 0.
    pub(super) fn helps(self) -> f64 {
        0.5 * libm::erfc(-self.mean / self.deviation / std::f64::consts::SQRT_2)
    }
}

/// What each lesson adds, in the order of [`Exposures::lessons`].
pub(super) fn log_odds(exposures: &Exposures) -> Vec<Adjusted> {
    let mut fit = Fit::new(exposures);
    for _ in 0..ROUNDS {
        if fit.round() < CHANGE {
            break;
        }
    }
    fit.lessons()
}

/// An unknown: what a stratum or a lesson adds to the log-odds of the trials that have it.
struct Unknown<'a> {
    value: f64,
    center: f64,
    /// One by the square of what it is believed to differ by.
    precision: f64,
    trials: &'a [u32],
}

struct Fit<'a> {
    exposures: &'a Exposures<'a>,
    /// First the strata, then the lessons.
    unknowns: Vec<Unknown<'a>>,
    /// The log-odds of each trial at the values of the unknowns.
    odds: Vec<f64>,
}

impl<'a> Fit<'a> {
    fn new(exposures: &'a Exposures<'a>) -> Self {
        let usual = (exposures.rate / (1.0 - exposures.rate)).ln();
        let strata = exposures.strata.iter().map(|trials| (usual, STRATUM, trials));
        let lessons = exposures.lessons.iter().map(|(_, trials)| (0.0, LESSON, trials));
        let unknowns = strata.chain(lessons).map(|(center, deviation, trials)| Unknown {
            value: center,
            center,
            precision: 1.0 / (deviation * deviation),
            trials,
        });
        Self { exposures, unknowns: unknowns.collect(), odds: vec![usual; exposures.trials.len()] }
    }

    /// Moves each unknown once; the largest step.
    fn round(&mut self) -> f64 {
        let mut largest: f64 = 0.0;
        for unknown in &mut self.unknowns {
            let mut slope = unknown.precision * (unknown.center - unknown.value);
            let mut curve = unknown.precision;
            for trial in unknown.trials {
                let chance = chance(self.odds[*trial as usize]);
                slope += self.exposures.trials[*trial as usize].outcome() - chance;
                curve += chance * (1.0 - chance);
            }
            let step = (slope / curve).clamp(-STEP, STEP);
            unknown.value += step;
            for trial in unknown.trials {
                self.odds[*trial as usize] += step;
            }
            largest = largest.max(step.abs());
        }
        largest
    }

    fn lessons(&self) -> Vec<Adjusted> {
        let information: Vec<f64> = self.odds.iter().map(|odds| chance(*odds) * (1.0 - chance(*odds))).collect();
        let of = |unknown: &Unknown| unknown.trials.iter().map(|trial| information[*trial as usize]).sum::<f64>();
        let precisions: Vec<f64> = self.unknowns.iter().map(|unknown| unknown.precision + of(unknown)).collect();
        let mut shared = vec![0.0; self.unknowns.len()];
        let strata = self.exposures.strata.len();
        let lessons = self.unknowns.iter().enumerate().skip(strata).map(|(place, lesson)| {
            let precision = precisions[place] - self.lost(place, &information, &precisions, &mut shared);
            Adjusted { mean: lesson.value, deviation: 1.0 / precision.max(lesson.precision).sqrt() }
        });
        lessons.collect()
    }

    /// The information about a lesson that is lost because its strata and the other lessons of its prompts are unknown, too: each of them
    /// taken by itself, which is never too little where they share trials among each other. `shared` is all 0, before and after.
    fn lost(&self, place: usize, information: &[f64], precisions: &[f64], shared: &mut [f64]) -> f64 {
        let others = |trial: &'a Exposure| {
            let lessons = trial.lessons.iter().map(|lesson| self.exposures.strata.len() + *lesson as usize);
            lessons.chain([trial.stratum]).filter(move |other| *other != place)
        };
        let trials = || self.unknowns[place].trials.iter().map(|trial| *trial as usize);
        for trial in trials() {
            for other in others(&self.exposures.trials[trial]) {
                shared[other] += information[trial];
            }
        }
        let mut lost = 0.0;
        for trial in trials() {
            for other in others(&self.exposures.trials[trial]) {
                let both = std::mem::take(&mut shared[other]);
                lost += both * both / precisions[other];
            }
        }
        lost
    }
}

/// The probability at these log-odds.
fn chance(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds).exp())
}
