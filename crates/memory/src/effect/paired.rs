//! The same tasks done in two ways.

use super::beta::{Beta, ln_beta};
use serde::{Deserialize, Serialize};

/// What pairs say about a difference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Paired {
    /// How much the pairs speak against "both ways are equally good": at most 1 in 20 such comparisons ever reaches 20, however often one
    /// looks. Cut at 10^300.
    pub e: f64,
    /// The two-sided p-value of the exact test of `McNemar`. It holds for one look at a number of pairs that was fixed before.
    pub p: f64,
}

/// Compares two ways by the pairs in which only one of them passed: `first_only` and `second_only` of them.
///
/// Pairs in which both passed or both failed say nothing. `e = 2^(b+c) · B(b+1, c+1)` averages the likelihood ratio over every share of
/// first-only pairs (a uniform mixture, Ville 1939); `p` doubles the smaller tail of a fair coin, at most 1 (`McNemar`, Psychometrika 12, 1947,
/// in its exact form).
///
/// ```
/// # use reflexion_memory::effect::paired;
/// let ten_to_one = paired(10, 1);
/// assert_eq!(format!("{:.3} {:.1}", ten_to_one.p, ten_to_one.e), "0.012 15.5");
/// ```
#[must_use]
pub fn paired(first_only: u64, second_only: u64) -> Paired {
    let (b, c) = (first_only as f64, second_only as f64);
    let pairs = b + c;
    let e = super::evidence::e_value(pairs * std::f64::consts::LN_2 + ln_beta(b + 1.0, c + 1.0));
    if first_only == second_only {
        return Paired { e, p: 1.0 };
    }
    // At most k of n by a fair coin is I_{1/2}(n - k, k + 1).
    let tail = Beta { passes: b.max(c), failures: b.min(c) + 1.0 }.at_most(0.5);
    Paired { e, p: (2.0 * tail).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paired runs of the logs of Reflexion (Shinn et al. 2023): `HumanEval` and MBPP in Python, MBPP in Rust.
    #[test]
    fn recorded_comparisons_have_their_known_values() {
        let rounded = |b, c| {
            let found = paired(b, c);
            format!("p {:.3} e {:.2}", found.p, found.e)
        };
        assert_eq!(rounded(10, 1), "p 0.012 e 15.52");
        assert_eq!(rounded(17, 29), "p 0.104 e 0.86");
        assert_eq!(rounded(31, 15), "p 0.026 e 2.93");
    }

    #[test]
    fn neither_way_is_better_by_its_place() {
        assert_eq!(paired(4, 9), paired(9, 4));
        assert!((paired(7, 7).p - 1.0).abs() < 1e-12);
        assert_eq!(paired(0, 0), Paired { e: 1.0, p: 1.0 });
    }

    #[test]
    fn any_number_of_pairs_has_an_answer() {
        let all = paired(u64::MAX, 0);
        assert!(all.e.is_finite() && all.e > 1e299 && all.p < 1e-9, "{all:?}");
        let none = paired(1_000_000, 1_000_000);
        assert!(none.e > 0.0 && none.e < 0.01, "{none:?}");
    }
}
