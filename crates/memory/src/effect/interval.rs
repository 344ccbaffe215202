//! The lift with its 95 % interval.

use super::beta::t_975;
use super::report::Arm;
use super::strata::Strata;
use super::trial::{Numbers, Trial};
use serde::{Deserialize, Serialize};

/// The normal distribution's 97.5 % point.
pub(super) const Z_95: f64 = 1.959_963_984_540_054;

/// An estimate with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interval {
    /// The estimate.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// A difference of two rates, which is between -1 and 1.
    fn of_rates(estimate: f64, half: f64) -> Self {
        Self { estimate, low: (estimate - half).max(-1.0), high: (estimate + half).min(1.0) }
    }
}

/// The difference of two rates after one pass and one failure are added to each: too wide rather than too narrow for few trials. It takes
/// trials for independent and knows no strata.
///
/// Agresti and Caffo, "Simple and effective confidence intervals for proportions and differences of proportions", The American Statistician
/// 54 (2000).
pub(super) fn agresti_caffo(injected: Arm, held_out: Arm) -> Option<Interval> {
    if injected.trials == 0 || held_out.trials == 0 {
        return None;
    }
    let added = |arm: Arm| {
        let trials = arm.trials as f64 + 2.0;
        let rate = (arm.passed as f64 + 1.0) / trials;
        (rate, rate * (1.0 - rate) / trials)
    };
    let ((with, variance_with), (without, variance_without)) = (added(injected), added(held_out));
    Some(Interval::of_rates(with - without, Z_95 * (variance_with + variance_without).sqrt()))
}

/// The mean over all trials of what injection changed, each by its own probability and corrected by what its stratum led to expect; nothing
/// where all trials belong to one task.
///
/// Augmented inverse probability weighting (Robins, Rotnitzky and Zhao, JASA 89, 1994). Expectations come from earlier trials only, so that
/// the estimate is unbiased whatever the strata are worth. The interval counts tasks, with Student's t for their number less one.
pub(super) fn weighted<'a>(trials: impl Iterator<Item = &'a Trial>) -> Option<Interval> {
    let mut strata = Strata::default();
    let mut numbers = Numbers::default();
    // For each task the sum and the number of its trials.
    let mut tasks: Vec<(f64, f64)> = Vec::new();
    for trial in trials {
        let expected = strata.expect_then_count(trial);
        let number = numbers.number(&trial.task);
        if number == tasks.len() {
            tasks.push((0.0, 0.0));
        }
        tasks[number].0 += change(trial, expected);
        tasks[number].1 += 1.0;
    }
    if tasks.len() < 2 {
        return None;
    }
    let trials: f64 = tasks.iter().map(|(_, trials)| trials).sum();
    let estimate = tasks.iter().map(|(sum, _)| sum).sum::<f64>() / trials;
    let spread: f64 = tasks.iter().map(|(sum, trials)| (sum - trials * estimate).powi(2)).sum();
    let tasks = tasks.len() as f64;
    let variance = tasks / (tasks - 1.0) * spread / (trials * trials);
    Some(Interval::of_rates(estimate, t_975(tasks - 1.0) * variance.sqrt()))
}

/// What injection changed at this trial, in expectation over its coin.
fn change(trial: &Trial, [without, with]: [f64; 2]) -> f64 {
    let correction = if trial.injected {
        (trial.outcome() - with) / trial.probability
    } else {
        -(trial.outcome() - without) / (1.0 - trial.probability)
    };
    with - without + correction
}
