//! The area under the ROC curve: how often a right answer has more confidence than a wrong one.

use super::labelled::Labelled;
use crate::evaluation::Z_95;
use serde::Serialize;

/// An area under the ROC curve with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Auc {
    /// 0 to 1; 0.5 says nothing, 1 tells all right work from wrong.
    pub value: f64,
    /// Lower end of the interval.
    pub lo: f64,
    /// Upper end of the interval.
    pub hi: f64,
    /// `delong`, or `newcombe` where `DeLong`'s variance is 0.
    pub method: &'static str,
    /// Twice the pairs that are won, a tie counting one; of `2 × right × wrong`.
    #[serde(skip)]
    won: u128,
    #[serde(skip)]
    pairs: u128,
}

impl Auc {
    /// Whether the area is at most `percent` %, exactly: rounding must not decide at the limit.
    #[must_use]
    pub fn at_most(&self, percent: u32) -> bool {
        self.won * 100 <= 2 * self.pairs * u128::from(percent)
    }
}

/// The area over all pairs of a right and a wrong observation, a tie counting half (Mann-Whitney); none without both.
///
/// The interval is `DeLong`'s (`DeLong`, `DeLong`, Clarke-Pearson, "Comparing the areas under two or more correlated
/// receiver operating characteristic curves", Biometrics 44, 1988), computed from mid-ranks (Sun and Xu, "Fast
/// implementation of `DeLong`'s algorithm", IEEE Signal Processing Letters 21, 2014), cut at 0 and 1. Where its variance is
/// 0 - nothing overlaps, or one class has a single member - it would claim certainty from a handful of observations;
/// there it is Newcombe's method 5 ("Confidence intervals for an effect size measure based on the Mann-Whitney
/// statistic. Part 2", Statistics in Medicine 25, 2006).
#[must_use]
pub fn auc(observations: &[Labelled]) -> Option<Auc> {
    let of = |wanted: bool| {
        let mut scores: Vec<f64> = observations.iter().filter(|o| o.correct == wanted).map(|o| o.confidence).collect();
        scores.sort_by(f64::total_cmp);
        scores
    };
    let (right, wrong) = (of(true), of(false));
    if right.is_empty() || wrong.is_empty() {
        return None;
    }
    let (m, n) = (right.len() as f64, wrong.len() as f64);
    let above: Vec<u64> = right.iter().map(|score| doubled_wins(*score, &wrong)).collect();
    let below: Vec<u64> = wrong.iter().map(|score| 2 * right.len() as u64 - doubled_wins(*score, &right)).collect();
    let won: u128 = above.iter().map(|wins| u128::from(*wins)).sum();
    let pairs = right.len() as u128 * wrong.len() as u128;
    let value = won as f64 / (2 * pairs) as f64;
    let variance = spread(&above, 2.0 * n, value).zip(spread(&below, 2.0 * m, value)).map(|(a, b)| a / m + b / n);
    let (lo, hi, method) = match variance.filter(|variance| *variance > 0.0) {
        Some(variance) => {
            let half = Z_95 * variance.sqrt();
            ((value - half).max(0.0), (value + half).min(1.0), "delong")
        }
        None => (newcombe(value, m, n, Side::Below), newcombe(value, m, n, Side::Above), "newcombe"),
    };
    Some(Auc { value, lo, hi, method, won, pairs })
}

/// Twice the number of sorted `others` that `score` is above, a tie counting one.
fn doubled_wins(score: f64, others: &[f64]) -> u64 {
    let less = others.partition_point(|other| *other < score);
    let not_more = others.partition_point(|other| *other <= score);
    (less + not_more) as u64
}

/// The sample variance of the shares that `wins` are of `all`; none of a single one.
fn spread(wins: &[u64], all: f64, mean: f64) -> Option<f64> {
    let squares: f64 = wins.iter().map(|wins| (*wins as f64 / all - mean).powi(2)).sum();
    (wins.len() > 1).then(|| squares / (wins.len() - 1) as f64)
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Below,
    Above,
}

/// The value on this side that would just be compatible with what was seen, by bisection: Hanley and `McNeil`'s variance
/// at the value itself, with `(m + n) / 2 - 1` for both class sizes less one.
fn newcombe(seen: f64, m: f64, n: f64, side: Side) -> f64 {
    let size = f64::midpoint(m, n) - 1.0;
    let compatible = |value: f64| {
        let variance =
            value * (1.0 - value) * (1.0 + size * (1.0 - value) / (2.0 - value) + size * value / (1.0 + value))
                / (m * n);
        (value - seen).abs() <= Z_95 * variance.sqrt()
    };
    let (mut inside, mut outside) = (seen, if side == Side::Below { 0.0 } else { 1.0 });
    if (inside - outside).abs() < f64::EPSILON {
        return outside;
    }
    for _ in 0..64 {
        let middle = f64::midpoint(inside, outside);
        if compatible(middle) { inside = middle } else { outside = middle }
    }
    inside
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The values come from scikit-learn 1.x (`roc_auc_score`) and numpy on the same numbers: `DeLong`'s variance as
    /// `psi.mean(1).var(ddof=1)/m + psi.mean(0).var(ddof=1)/n` of the matrix `psi` of all pairs, Newcombe's limit by
    /// `scipy.optimize.brentq`.
    #[test]
    fn areas_and_intervals_are_those_of_other_programs() {
        let check = |observations: &[Labelled], value: f64, lo: f64, hi: f64| {
            let area = auc(observations).unwrap();
            for (is, wanted) in [(area.value, value), (area.lo, lo), (area.hi, hi)] {
                assert!((is - wanted).abs() < 1e-9, "{is} is not {wanted}");
            }
        };
        check(&sixty(), 0.733_036_707_452_725_2, 0.600_762_648_975_619_2, 0.865_310_765_929_831_2);
        let ties = [0.9, 0.9, 0.8, 0.8, 0.7, 0.7, 0.6, 0.5, 0.5, 0.1];
        let right = [true, true, true, false, true, false, false, true, false, false];
        check(&zipped(&ties, &right), 0.78, 0.471_344_563_059_041_04, 1.0);
        let apart = [0.9, 0.8, 0.7, 0.6, 0.55, 0.5, 0.4, 0.3, 0.2, 0.1];
        check(&zipped(&apart, &apart.map(|c| c > 0.5)), 1.0, 0.642_702_823_931_046_6, 1.0);
        check(&zipped(&apart, &apart.map(|c| c > 0.85)), 1.0, 0.391_679_854_901_666_24, 1.0);
    }

    #[test]
    fn without_both_classes_there_is_no_area() {
        assert_eq!(auc(&[]), None);
        assert_eq!(auc(&zipped(&[0.1, 0.9], &[true, true])), None);
        assert_eq!(auc(&zipped(&[0.1, 0.9], &[false, false])), None);
    }

    #[test]
    fn the_limit_is_exact() {
        // 3 of 5 pairs are won: 0.6, whatever rounding says.
        let five = zipped(&[0.5, 0.1, 0.2, 0.3, 0.7, 0.8], &[true, false, false, false, false, false]);
        let area = auc(&five).unwrap();
        assert!(area.at_most(60) && !area.at_most(59), "{}", area.value);
    }

    pub(in super::super) fn zipped(confidences: &[f64], right: &[bool]) -> Vec<Labelled> {
        confidences
            .iter()
            .zip(right)
            .map(|(confidence, correct)| Labelled { confidence: *confidence, correct: *correct })
            .collect()
    }

    /// `s=[((i*37)%101)/100 for i in range(60)]; y=[(i*53)%100 < 100*s[i]*0.8+10 for i in range(60)]`
    pub(in super::super) fn sixty() -> Vec<Labelled> {
        let one = |i: u32| {
            let confidence = f64::from((i * 37) % 101) / 100.0;
            Labelled { confidence, correct: f64::from((i * 53) % 100) < 100.0 * confidence * 0.8 + 10.0 }
        };
        (0..60).map(one).collect()
    }

    fn observations() -> impl Strategy<Value = Vec<Labelled>> {
        let one = (0u32..=20, any::<bool>());
        proptest::collection::vec(one, 0..60).prop_map(|list| {
            list.into_iter().map(|(step, correct)| Labelled { confidence: f64::from(step) / 20.0, correct }).collect()
        })
    }

    proptest! {
        #[test]
        fn it_is_the_share_of_pairs_in_order_and_lies_in_its_interval(list in observations()) {
            let Some(area) = auc(&list) else { return Ok(()) };
            let (mut won, mut pairs) = (0.0, 0.0);
            for right in list.iter().filter(|o| o.correct) {
                for wrong in list.iter().filter(|o| !o.correct) {
                    pairs += 1.0;
                    won += match right.confidence.total_cmp(&wrong.confidence) {
                        std::cmp::Ordering::Greater => 1.0,
                        std::cmp::Ordering::Equal => 0.5,
                        std::cmp::Ordering::Less => 0.0,
                    };
                }
            }
            prop_assert!((area.value - won / pairs).abs() < 1e-12);
            prop_assert!(0.0 <= area.lo && area.lo <= area.value && area.value <= area.hi && area.hi <= 1.0);
        }

        #[test]
        fn turned_round_it_is_one_less_it(list in observations()) {
            let turned: Vec<Labelled> = list.iter().map(|o| Labelled { confidence: 1.0 - o.confidence, ..*o }).collect();
            if let (Some(area), Some(other)) = (auc(&list), auc(&turned)) {
                prop_assert!((area.value + other.value - 1.0).abs() < 1e-12);
            }
        }

        #[test]
        fn order_means_nothing_and_ties_are_a_half(list in observations(), by in 0usize..60) {
            let mut other = list.clone();
            other.rotate_left(by % list.len().max(1));
            other.reverse();
            prop_assert_eq!(auc(&list), auc(&other));
            let tied: Vec<Labelled> = list.iter().map(|o| Labelled { confidence: 0.5, ..*o }).collect();
            prop_assert!(auc(&tied).is_none_or(|area| (area.value - 0.5).abs() < 1e-12));
        }
    }
}
