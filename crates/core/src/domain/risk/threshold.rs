//! From which score on a change should be looked at.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The environment variable that overrides the threshold of the settings.
pub const RISK_THRESHOLD_VARIABLE: &str = "REFLECTION_RISK_THRESHOLD";

/// From which score on a change needs review: 0 (everything does) to 1 (only what touches logins and secrets).
///
/// ```
/// # use reflexion_core::domain::RiskThreshold;
/// let threshold: RiskThreshold = "0.85".parse()?;
/// assert_eq!(threshold.value(), 0.85);
/// assert!("often".parse::<RiskThreshold>().is_err());
/// # Ok::<(), reflexion_core::domain::RiskThresholdError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
#[schemars(extend("minimum" = 0, "maximum" = 1))]
pub struct RiskThreshold(f64);

/// A number that is one: there is no NaN in it.
impl Eq for RiskThreshold {}

impl Default for RiskThreshold {
    /// Build files and everything heavier.
    fn default() -> Self {
        Self(0.5)
    }
}

/// Something that is no threshold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no risk threshold: it is a number from 0 to 1, such as 0.5")]
pub struct RiskThresholdError {
    /// What was given.
    pub given: String,
}

impl RiskThreshold {
    /// Takes a number.
    ///
    /// # Errors
    /// [`RiskThresholdError`] if it is not from 0 to 1.
    pub fn new(value: f64) -> Result<Self, RiskThresholdError> {
        // `-0` is 0.
        if (0.0..=1.0).contains(&value) {
            Ok(Self(value.abs()))
        } else {
            Err(RiskThresholdError { given: value.to_string() })
        }
    }

    /// The number, 0 to 1.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for RiskThreshold {
    type Error = RiskThresholdError;

    fn try_from(value: f64) -> Result<Self, Self::Error> {
        Self::new(value)
    }
}

impl From<RiskThreshold> for f64 {
    fn from(threshold: RiskThreshold) -> f64 {
        threshold.0
    }
}

impl FromStr for RiskThreshold {
    type Err = RiskThresholdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || RiskThresholdError { given: text.to_owned() };
        text.trim().parse().ok().and_then(|value| Self::new(value).ok()).ok_or_else(wrong)
    }
}

impl fmt::Display for RiskThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_from_0_to_1_are_thresholds() {
        for (text, value) in [("0", 0.0), ("1", 1.0), (" 0.6\n", 0.6), ("1e-1", 0.1), (".5", 0.5)] {
            assert_eq!(text.parse::<RiskThreshold>().map(RiskThreshold::value), Ok(value), "{text}");
        }
        for text in ["", "1.1", "-0.1", "NaN", "inf", "high", "0,5", "50%"] {
            let error = text.parse::<RiskThreshold>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains("0 to 1"), "{error}");
        }
    }
}
