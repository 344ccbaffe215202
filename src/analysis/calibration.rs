//! P1: does an agent's confidence tell right work from wrong?

use super::auc::{Auc, auc};
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
#[allow(clippy::ref_option)] // as serde calls it
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

#[cfg(test)]
mod tests {
    use super::super::auc::tests::{sixty, zipped};
    use super::*;

    fn close(is: Option<f64>, wanted: f64) {
        assert!(is.is_some_and(|is| (is - wanted).abs() < 1e-9), "{is:?} is not {wanted}");
    }

    #[test]
    fn scores_are_those_of_other_programs() {
        // scikit-learn's `brier_score_loss`, and numpy's means, on the numbers of `auc::tests`.
        let result = calibrate(&sixty());
        assert_eq!((result.n, result.base_rate.count, result.high.correct.of), (60, 31, 12));
        close(result.brier, 0.218_155);
        close(result.lift, 0.316_666_666_666_666_65);
        assert_eq!((result.decision.killed, result.decision.conclusive), (Some(false), true));
        assert_eq!(result.bins.iter().map(|bin| bin.correct.of).sum::<u64>(), 60);
    }

    /// So many observations with this confidence are right, of so many.
    fn groups(groups: &[(f64, usize, usize)]) -> Vec<Labelled> {
        let group = |(confidence, right, of): &(f64, usize, usize)| {
            zipped(&vec![*confidence; *of], &(0..*of).map(|at| at < *right).collect::<Vec<_>>())
        };
        groups.iter().flat_map(group).collect()
    }

    fn check(given: &[(f64, usize, usize)], killed: Option<bool>, because: &str) {
        let result = calibrate(&groups(given));
        assert_eq!(result.decision.killed, killed, "{}", result.decision.because);
        assert!(result.decision.because.contains(because), "{}", result.decision.because);
    }

    #[test]
    fn the_condition_is_met_at_its_limits() {
        check(&[(0.9, 45, 50), (0.2, 5, 50)], Some(false), "the AUC is 0.9");
        // Confident and unsure are right equally often.
        check(&[(0.9, 25, 50), (0.2, 25, 50)], Some(true), "the AUC is 0.500");
        // 0.6 is not enough: 12 of 20 pairs.
        check(&[(0.9, 3, 5), (0.2, 2, 5)], Some(true), "the AUC is 0.600");
        // A lift of exactly 5 points is not enough: 85 of 100 are right, and 90 of the 100 confident ones would be.
        check(&[(0.95, 45, 50), (0.6, 40, 40), (0.1, 0, 10)], Some(true), "only +5.0 points");
        check(&[(0.95, 46, 50), (0.6, 39, 40), (0.1, 0, 10)], Some(false), "the AUC is");
    }

    #[test]
    fn too_little_never_passes() {
        check(&[], None, "no observation");
        check(&[(0.9, 9, 9)], None, "all 9 observations are right");
        check(&[(0.9, 0, 9)], None, "all 9 observations are wrong");
        check(&[(0.9, 2, 2), (0.1, 0, 20)], None, "2 right and 20 wrong observations look good and are too few");
        check(&[(0.9, 4, 4), (0.1, 0, 5)], None, "too few");
        check(&[(0.9, 5, 5), (0.1, 0, 5)], Some(false), "1.000");
        check(&[(0.7, 20, 20), (0.1, 0, 20)], None, "no observation has a confidence of 0.8");
    }

    #[test]
    fn every_confidence_is_in_one_bin() {
        let result =
            calibrate(&groups(&[(0.0, 0, 1), (0.1, 1, 1), (0.3, 0, 1), (0.7, 1, 1), (0.999, 1, 1), (1.0, 1, 1)]));
        let counts: Vec<u64> = result.bins.iter().map(|bin| bin.correct.of).collect();
        assert_eq!(counts, [1, 1, 0, 1, 0, 0, 0, 1, 0, 2]);
    }

    #[test]
    fn a_reader_finds_the_promised_keys_in_any_case() {
        for given in [Vec::new(), sixty()] {
            let json = serde_json::to_value(calibrate(&given)).unwrap();
            let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(keys[..8], ["kill_condition", "killed", "conclusive", "because", "n", "auc", "lift", "brier"]);
            assert!(["value", "lo", "hi"].iter().all(|key| json["auc"].get(key).is_some()), "{json}");
        }
    }
}
