//! One decision of the coin, and how the attempt after it ended.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::RangeInclusive;

/// Probabilities of injection that a trial may have been drawn with.
///
/// Each trial weighs as much as its arm was improbable: at 1 % a single outcome speaks for a hundred. What is closer to 0 or 1 is a coin
/// that is switched off (or a damaged record), and no comparison.
pub const PROBABILITIES: RangeInclusive<f64> = 0.01..=0.99;

/// More lessons in one prompt than these share its outcome too thinly to say anything about one of them.
pub const MAX_LESSONS: usize = 16;

/// One retry that could have got lessons: what the coin decided, and how the attempt ended.
///
/// ```
/// # use reflexion_memory::effect::Trial;
/// let held_out = Trial {
///     task: "fix-pool".to_owned(),
///     stratum: "attempt 2, E0502, fresh".to_owned(),
///     class: "E0502".to_owned(),
///     probability: 0.8,
///     injected: false,
///     passed: true,
///     tokens: 41_000,
///     lessons: Vec::new(),
/// };
/// assert_eq!(serde_json::to_value(&held_out).unwrap()["injected"], false);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trial {
    /// The task. Attempts at one task are not independent: intervals count tasks.
    pub task: String,
    /// What is known before the attempt and says how hard it is: its number, the failure's class and `retry.start`.
    pub stratum: String,
    /// The failure's class, which a lesson is compared within.
    pub class: String,
    /// How probable injection was, as it was written down before the attempt; 0 to 1.
    pub probability: f64,
    /// What the coin decided: lessons in the prompt, or held out. Not whether the lessons arrived: arms are compared as they were drawn.
    pub injected: bool,
    /// Whether this attempt was confirmed; a crash or a time-out is none.
    pub passed: bool,
    /// Tokens that the attempt used; 0 where the agent does not say.
    pub tokens: u64,
    /// Ids of the lessons that the prompt showed.
    pub lessons: Vec<String>,
}

impl Trial {
    /// Whether the coin could have fallen either way; NaN is outside.
    pub(super) fn is_usable(&self) -> bool {
        PROBABILITIES.contains(&self.probability)
    }

    /// The outcome as a number.
    pub(super) fn outcome(&self) -> f64 {
        f64::from(u8::from(self.passed))
    }
}

/// Numbers for names, in the order in which these are first met, so that no result depends on how a map is sorted.
#[derive(Default)]
pub(super) struct Numbers<'a>(HashMap<&'a str, usize>);

impl<'a> Numbers<'a> {
    pub(super) fn number(&mut self, name: &'a str) -> usize {
        let next = self.0.len();
        *self.0.entry(name).or_insert(next)
    }
}
