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
        let mut scores: Vec<f64> =
            observations.iter().filter(|o| o.correct == wanted).map(|o| o.confidence).collect();
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
            value * (1.0 - value) * (1.0 + size * (1.0 - value) / (2.0 - value) + size * value / (1.0 + value)) / (m * n);
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
