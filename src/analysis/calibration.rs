//! P1: does an agent's confidence tell right work from wrong?

use super::auc::Auc;
use super::auc::auc;
use super::decision::Decision;
use super::experiment::Experiment;
use super::labelled::Labelled;
use crate::evaluation::Rate;
use serde::Serialize;

/// An area of so many % or less kills.
const AUC_PERCENT: u32 = 60;
/// A lift of so many points or less kills.
const LIFT_POINTS: i128 = 5;
/// From here on an observation is one of high confidence: where a closed loop would act on it.
const HIGH: f64 = 0.8;
/// With fewer of a class, even a perfect separation comes by chance in more than 5 of 100 cases: `1 / C(6, 3)` is 5 %.
const FEWEST_OF_A_CLASS: u64 = 3;
/// With fewer observations nothing survives.
const FEWEST: u64 = 10;
/// Bins of the reliability diagram.
const BINS: usize = 10;

/// What came of comparing confidence with truth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// Written down before any data was seen.
    pub kill_condition: &'static str,
    /// Whether it was met.
    #[serde(flatten)]
    pub decision: Decision,
    /// Observations.
    pub n: u64,
    /// How well confidence ranks right over wrong; none unless both occur.
    #[serde(serialize_with = "area_or_nulls")]
    pub auc: Option<Auc>,
    /// How much more often the confident observations are right than all of them, as a share; none where nobody was
    /// confident.
    pub lift: Option<f64>,
    /// The mean squared difference of confidence and truth (Brier, "Verification of forecasts expressed in terms of
    /// probability", Monthly Weather Review 78, 1950): 0 is perfect, 0.25 is what always saying 0.5 gets.
    pub brier: Option<f64>,
    /// How many were right.
    pub base_rate: Rate,
    /// The confident observations.
    pub high: High,
    /// The reliability diagram: what was said, and what was so.
    pub bins: Vec<Bin>,
}

/// The observations of high confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct High {
    /// Confidence from here on.
    pub from: f64,
    /// How many of them were right.
    pub correct: Rate,
}

/// Observations of about the same confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bin {
    /// Confidence from here.
    pub from: f64,
    /// Up to here, without it; the last bin has 1 too.
    pub to: f64,
    /// Their mean confidence; none where there is none.
    pub confidence: Option<f64>,
    /// How many of them were right.
    pub correct: Rate,
}

/// Compares what was said with what was so; the order of the observations does not matter.
#[must_use]
pub fn calibrate(observations: &[Labelled]) -> Calibration {
    let base_rate = rate(observations.iter());
    let high = rate(observations.iter().filter(|o| o.confidence >= HIGH));
    let area = auc(observations);
    let squares = observations.iter().map(|o| (o.confidence - f64::from(u8::from(o.correct))).powi(2));
    Calibration {
        kill_condition: Experiment::Calibration.kill_condition(),
        decision: decide(area.as_ref(), base_rate, high),
        n: base_rate.of,
        auc: area,
        lift: high.rate().zip(base_rate.rate()).map(|(high, all)| high - all),
        brier: (base_rate.of > 0).then(|| sum(squares) / base_rate.of as f64),
        base_rate,
        high: High { from: HIGH, correct: high },
        bins: (0..BINS).map(|index| bin(observations, index)).collect(),
    }
}

fn decide(area: Option<&Auc>, all: Rate, high: Rate) -> Decision {
    let wrong = all.of - all.count;
    let Some(area) = area else {
        return Decision::open(match (all.count, wrong) {
            (0, 0) => "there is no observation".to_owned(),
            (0, n) => format!("all {n} observations are wrong: there is nothing to tell apart"),
            (n, _) => format!("all {n} observations are right: there is nothing to tell apart"),
        });
    };
    let limit = f64::from(AUC_PERCENT) / 100.0;
    let interval = format!("the AUC is {:.3} (95 %: {:.3} to {:.3})", area.value, area.lo, area.hi);
    if area.at_most(AUC_PERCENT) {
        return Decision { killed: Some(true), conclusive: area.hi <= limit, because: interval };
    }
    if high.of == 0 {
        return Decision::open(format!("{interval}, but no observation has a confidence of {HIGH} or more: no lift"));
    }
    // In whole numbers: rounding must not decide at the limit.
    let [all_of, all_count, high_of, high_count] = [all.of, all.count, high.of, high.count].map(i128::from);
    if 100 * (high_count * all_of - all_count * high_of) <= LIFT_POINTS * high_of * all_of {
        let lift = 100.0 * (high_count as f64 / high_of as f64 - all_count as f64 / all_of as f64);
        // The confident ones are among all, so there is no simple interval of the difference: it stays a point.
        let because = format!("{interval}, but the confident observations are right only {lift:+.1} points more often");
        return Decision { killed: Some(true), conclusive: false, because };
    }
    if all.of < FEWEST || all.count < FEWEST_OF_A_CLASS || wrong < FEWEST_OF_A_CLASS {
        return Decision::open(format!(
            "{} right and {wrong} wrong observations look good and are too few to pass: at least {FEWEST}, and \
             {FEWEST_OF_A_CLASS} of each kind, are needed",
            all.count
        ));
    }
    Decision { killed: Some(false), conclusive: area.lo > limit, because: interval }
}

fn rate<'o>(observations: impl Iterator<Item = &'o Labelled>) -> Rate {
    let (mut correct, mut all) = (0, 0);
    for observation in observations {
        all += 1;
        correct += u64::from(observation.correct);
    }
    Rate::new(correct, all)
}

/// Adds in the order of size, so that the order of the observations does not change the last digit.
fn sum(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.iter().sum()
}

fn bin(observations: &[Labelled], index: usize) -> Bin {
    let inside = |o: &&Labelled| ((o.confidence * BINS as f64) as usize).min(BINS - 1) == index;
    let correct = rate(observations.iter().filter(inside));
    let said = sum(observations.iter().filter(inside).map(|o| o.confidence));
    Bin {
        from: index as f64 / BINS as f64,
        to: (index + 1) as f64 / BINS as f64,
        confidence: (correct.of > 0).then(|| said / correct.of as f64),
        correct,
    }
}

/// A reader finds `auc.value` in any case.
fn area_or_nulls<S: serde::Serializer>(area: &Option<Auc>, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Nulls {
        value: (),
        lo: (),
        hi: (),
    }
    match area {
        Some(area) => area.serialize(to),
        None => Nulls { value: (), lo: (), hi: () }.serialize(to),
    }
}
