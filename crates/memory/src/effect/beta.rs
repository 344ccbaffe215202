//! The beta distribution, and the quantile of Student's t, which is one of its.
//!
//! Crates were compared (2026-11): `statrs` stops its fraction after 140 steps, which is wrong from about 10,000 observations on, and brings
//! 13 packages of linear algebra into the lock file; `puruspe` says 0 there; the inverse of `special` searches without a bound. So the
//! fraction stands here and the gamma function comes from `libm`.

/// What a step of the fraction may still change.
const PRECISION: f64 = 1e-15;
/// Steps of the fraction. It needs about the root of the larger parameter: enough for 10^8 observations.
const STEPS: u32 = 20_000;

/// A beta distribution of a rate between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Beta {
    /// Passes, with those that the prior stands for; above 0.
    pub(super) passes: f64,
    /// Failures, with those that the prior stands for; above 0.
    pub(super) failures: f64,
}

impl Beta {
    pub(super) fn mean(self) -> f64 {
        self.passes / (self.passes + self.failures)
    }

    /// How probable it is that the rate is at most `rate`: the regularised incomplete beta function.
    ///
    /// The continued fraction 8.17.22 of the NIST Digital Library of Mathematical Functions, by the modified method of Lentz; it converges
    /// fast below `(a + 1) / (a + b + 2)`, above it `I_x(a, b) = 1 - I_{1-x}(b, a)`.
    pub(super) fn at_most(self, rate: f64) -> f64 {
        let (a, b) = (self.passes, self.failures);
        if rate <= 0.0 {
            return 0.0;
        }
        if rate >= 1.0 {
            return 1.0;
        }
        if rate > (a + 1.0) / (a + b + 2.0) {
            return 1.0 - Self { passes: b, failures: a }.at_most_by_fraction(1.0 - rate);
        }
        self.at_most_by_fraction(rate)
    }

    fn at_most_by_fraction(self, x: f64) -> f64 {
        let (a, b) = (self.passes, self.failures);
        let front = (a * x.ln() + b * libm::log1p(-x) - ln_beta(a, b)).exp() / a;
        let not_zero = |value: f64| if value.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { value };
        let mut numerator = 1.0;
        let mut denominator = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
        let mut fraction = denominator;
        for step in 1..STEPS {
            let m = f64::from(step);
            let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
            let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
            let mut change = 1.0;
            for term in [even, odd] {
                denominator = 1.0 / not_zero(1.0 + term * denominator);
                numerator = not_zero(1.0 + term / numerator);
                change = numerator * denominator;
                fraction *= change;
            }
            if (change - 1.0).abs() < PRECISION {
                break;
            }
        }
        (front * fraction).clamp(0.0, 1.0)
    }

    /// The rate that is not exceeded with this probability, by bisection, to 9 digits after the point.
    pub(super) fn quantile(self, probability: f64) -> f64 {
        bisect(0.0, 1.0, |rate| self.at_most(rate) < probability)
    }
}

/// The logarithm of the beta function.
pub(super) fn ln_beta(a: f64, b: f64) -> f64 {
    libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b)
}

/// The 97.5 % point of Student's t: `P(|T| > t) = I_{d/(d+t²)}(d/2, 1/2)`. It falls from 12.7 at one degree of freedom to 1.96.
pub(super) fn t_975(degrees: f64) -> f64 {
    let halves = Beta { passes: degrees.max(1.0) / 2.0, failures: 0.5 };
    let outside = |t: f64| halves.at_most(2.0 * halves.passes / (2.0 * halves.passes + t * t));
    bisect(1.9, 13.0, |t| outside(t) > 0.05)
}

/// Where `is_below` ends to hold between `low` and `high`.
fn bisect(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    // 2^-32 of the width.
    for _ in 0..32 {
        let middle = f64::midpoint(low, high);
        if is_below(middle) { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From scipy 1.17.1, `scipy.special.betainc`.
    #[test]
    fn the_incomplete_beta_function_is_that_of_scipy() {
        for (passes, failures, rate, expected) in [
            (1.36, 6.64, 0.17, 0.583_521_967_490_539),
            (12.3, 40.1, 0.2, 0.289_547_558_546_910),
            (0.8, 7.2, 0.4, 0.983_161_454_509_681),
            (1e-5, 8.0, 0.17, 0.999_998_837_699_636),
            (2.0, 0.5, 0.1, 0.003_882_537_046_961),
            (3_000.0, 9_000.0, 0.2525, 0.737_142_072_074_513),
            (20_000.0, 100_000.0, 0.1667, 0.513_044_466_142_887),
            (1e6, 5e6, 0.1668, 0.809_597_119_012_697),
            (2.0, 1e8, 1e-8, 0.264_241_121_335_910),
        ] {
            let found = Beta { passes, failures }.at_most(rate);
            // The logarithm of the gamma function of 10^6 has nine digits after the point.
            let tolerance = 1e-12 + 1e-15 * (passes + failures);
            assert!((found - expected).abs() < tolerance.max(1e-12), "{passes} {failures} {rate}: {found}");
        }
    }

    #[test]
    fn the_ends_of_a_rate_are_certain() {
        let rate = Beta { passes: 3.0, failures: 4.0 };
        for (end, expected) in [(0.0, 0.0), (1.0, 1.0), (-1.0, 0.0), (2.0, 1.0)] {
            assert!((rate.at_most(end) - expected).abs() < f64::EPSILON, "{end}");
        }
    }

    #[test]
    fn a_quantile_is_where_its_probability_is_reached() {
        for rate in [Beta { passes: 1.4, failures: 6.6 }, Beta { passes: 300.0, failures: 1_000.0 }] {
            for probability in [0.025, 0.5, 0.975] {
                assert!((rate.at_most(rate.quantile(probability)) - probability).abs() < 1e-7);
            }
        }
    }

    /// From a printed table of Student's t (two sides, 5 %).
    #[test]
    fn students_t_is_that_of_the_tables() {
        for (degrees, expected) in [(1.0, 12.706), (2.0, 4.303), (10.0, 2.228), (30.0, 2.042), (100_000.0, 1.960)] {
            assert!((t_975(degrees) - expected).abs() < 0.001, "{degrees}: {}", t_975(degrees));
        }
    }
}
