//! Rates with confidence intervals.

use serde::{Deserialize, Serialize};

/// The normal distribution's 97.5 % point: two sides of 2.5 % are left out. For 95 % intervals.
pub const Z_95: f64 = 1.959_963_984_540_054;

/// So many of so many.
///
/// ```
/// # use reflexion::evaluation::Rate;
/// let rate = Rate::new(0, 40);
/// let (low, high) = rate.interval().unwrap();
/// assert_eq!(low, 0.0);
/// assert!((high - 0.0876).abs() < 0.0001, "none of 40 still allows almost 9 %");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "Counts", into = "Written")]
pub struct Rate {
    /// So many.
    pub count: u64,
    /// Of so many.
    pub of: u64,
}

impl Rate {
    /// `count` of `of`.
    #[must_use]
    pub fn new(count: u64, of: u64) -> Self {
        Self { count, of }
    }

    /// 0 to 1; none where there was nothing to count.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        (self.of > 0).then(|| self.count as f64 / self.of as f64)
    }

    /// Wilson's 95 % score interval, which holds what it promises for small numbers and for rates near 0 too, where the
    /// usual interval collapses to a point.
    ///
    /// Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927); recommended for
    /// small samples by Brown, Cai and `DasGupta`, "Interval estimation for a binomial proportion", Statistical Science
    /// 16 (2001).
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        let p = self.rate()?;
        let n = self.of as f64;
        let z2 = Z_95 * Z_95;
        let middle = p + z2 / (2.0 * n);
        let half = Z_95 * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
        let scale = 1.0 + z2 / n;
        // Rounding must not leave 1e-18 where the formula says 0.
        let low = if self.count == 0 { 0.0 } else { (middle - half) / scale };
        let high = if self.count == self.of { 1.0 } else { (middle + half) / scale };
        Some((low, high))
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.rate(), self.interval()) {
            (Some(rate), Some((low, high))) => {
                let [rate, low, high] = [rate, low, high].map(|share| share * 100.0);
                write!(f, "{rate:.1} % ({} of {}; 95 %: {low:.1} to {high:.1} %)", self.count, self.of)
            }
            _ => f.write_str("nothing to count"),
        }
    }
}

/// How a rate is read: the rest follows.
#[derive(Deserialize)]
struct Counts {
    count: u64,
    of: u64,
}

impl From<Counts> for Rate {
    fn from(counts: Counts) -> Self {
        Self::new(counts.count, counts.of)
    }
}

/// How a rate is written.
#[derive(Serialize)]
struct Written {
    count: u64,
    of: u64,
    rate: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

impl From<Rate> for Written {
    fn from(rate: Rate) -> Self {
        let interval = rate.interval();
        Self {
            count: rate.count,
            of: rate.of,
            rate: rate.rate(),
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_literature() {
        let check = |count, of, low: f64, high: f64| {
            let (is_low, is_high) = Rate::new(count, of).interval().unwrap();
            assert!(
                (is_low - low).abs() < 5e-4 && (is_high - high).abs() < 5e-4,
                "{count}/{of}: {is_low} to {is_high}"
            );
        };
        // Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17 (1998),
        // table I, method 3.
        check(81, 263, 0.2553, 0.3662);
        check(15, 148, 0.0624, 0.1605);
        check(0, 20, 0.0, 0.1611);
        check(1, 29, 0.0061, 0.1718);
        // By symmetry.
        check(20, 20, 0.8389, 1.0);
        assert_eq!(Rate::new(0, 0).interval(), None);
    }

    #[test]
    fn a_rate_is_written_with_its_interval_and_read_back() {
        let rate = Rate::new(1, 29);
        let written = serde_json::to_value(rate).unwrap();
        assert!(written["high"].as_f64().unwrap() > 0.17, "{written}");
        assert_eq!(serde_json::from_value::<Rate>(written).unwrap(), rate);
        assert_eq!(rate.to_string(), "3.4 % (1 of 29; 95 %: 0.6 to 17.2 %)");
    }
}
