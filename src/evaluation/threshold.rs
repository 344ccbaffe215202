//! Thresholds: what a suite must come to for the command to succeed.

use super::result::Totals;
use super::statistics::Rate;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// What a suite must come to. Accuracy alone is no threshold: a judge that always says "not done" scores well on most
/// suites.
///
/// ```
/// # use reflexion::evaluation::Threshold;
/// let threshold: Threshold = "max_false_complete=0,max_false_alarm=0.02".parse()?;
/// assert_eq!(threshold.max_false_alarm, Some(0.02));
/// assert!("min_accuracy=0.9".parse::<Threshold>().is_err(), "accuracy alone says little");
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// At most this share of what is not fine may be called fine; 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_false_complete: Option<f64>,
    /// At most this share of what is fine may be called not fine; 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_false_alarm: Option<f64>,
    /// At least this share of the graded cases must hold in full; 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_accuracy: Option<f64>,
}

impl Threshold {
    /// What is wrong with it, if something is.
    ///
    /// # Errors
    /// In words.
    pub fn check(&self) -> Result<(), String> {
        for (key, value) in self.named() {
            if !(0.0..=1.0).contains(&value) {
                return Err(format!("`{key}` is {value}; it is a share, 0 to 1"));
            }
        }
        match (self.max_false_complete, self.max_false_alarm) {
            (None, None) => {
                Err("needs `max_false_complete` or `max_false_alarm`; accuracy alone says little".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn named(&self) -> impl Iterator<Item = (&'static str, f64)> {
        [
            ("max_false_complete", self.max_false_complete),
            ("max_false_alarm", self.max_false_alarm),
            ("min_accuracy", self.min_accuracy),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
    }

    /// What falls short of it, in words; empty if nothing does. A rate over no case at all shows nothing, and falls short.
    #[must_use]
    pub fn missed(&self, totals: &Totals) -> Vec<String> {
        let at_most = |name: &str, limit: Option<f64>, rate: &Rate| match (limit?, rate.rate()) {
            (limit, Some(is)) if is > limit => Some(format!("{name} is {}, above {}", percent(is), percent(limit))),
            (_, Some(_)) => None,
            (_, None) => Some(format!("{name} cannot be told: no case of the suite could show it")),
        };
        let accuracy = |limit: f64| match totals.accuracy.rate() {
            Some(is) if is < limit => Some(format!("accuracy is {}, below {}", percent(is), percent(limit))),
            Some(_) => None,
            None => Some("accuracy cannot be told: no case was graded".to_owned()),
        };
        [
            at_most("the false-complete rate", self.max_false_complete, &totals.false_complete),
            at_most("the false-alarm rate", self.max_false_alarm, &totals.false_alarm),
            self.min_accuracy.and_then(accuracy),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl FromStr for Threshold {
    type Err = String;

    /// Reads `max_false_complete=0,max_false_alarm=0.02,min_accuracy=0.9`, any of them in any order.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut threshold = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| format!("`{part}` is not KEY=SHARE"))?;
            let share: f64 = value.trim().parse().map_err(|_| format!("`{value}` of `{key}` is no number"))?;
            let place = match key.trim().replace('-', "_").as_str() {
                "max_false_complete" => &mut threshold.max_false_complete,
                "max_false_alarm" => &mut threshold.max_false_alarm,
                "min_accuracy" => &mut threshold.min_accuracy,
                _ => {
                    return Err(format!(
                        "`{key}` is unknown; there are max_false_complete, max_false_alarm and min_accuracy"
                    ));
                }
            };
            *place = Some(share);
        }
        threshold.check()?;
        Ok(threshold)
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(false_complete: (u64, u64), false_alarm: (u64, u64), accuracy: (u64, u64)) -> Totals {
        Totals {
            false_complete: Rate::new(false_complete.0, false_complete.1),
            false_alarm: Rate::new(false_alarm.0, false_alarm.1),
            accuracy: Rate::new(accuracy.0, accuracy.1),
            ..Totals::of(&[])
        }
    }

    #[test]
    fn what_falls_short_is_said() {
        let check = |limits: &str, totals: Totals, expected: &[&str]| {
            let missed = limits.parse::<Threshold>().unwrap().missed(&totals);
            assert_eq!(missed.len(), expected.len(), "{missed:?}");
            missed.iter().zip(expected).for_each(|(is, part)| assert!(is.contains(part), "{is}"));
        };
        let all = "max_false_complete=0, max-false-alarm=0.02, min_accuracy=0.9";
        check(all, totals((0, 20), (0, 20), (38, 40)), &[]);
        check(
            all,
            totals((1, 20), (1, 20), (30, 40)),
            &["false-complete rate is 5.0 %", "false-alarm", "below 90.0 %"],
        );
        check(all, totals((0, 0), (0, 20), (0, 0)), &["no case of the suite could show it", "no case was graded"]);
        check("max_false_complete=0.05", totals((1, 20), (20, 20), (0, 40)), &[]);
    }

    #[test]
    fn limits_are_read() {
        let check =
            |text: &str, expected: &str| assert!(text.parse::<Threshold>().unwrap_err().contains(expected), "{text}");
        check("", "accuracy alone");
        check("max_false_complete", "is not KEY=SHARE");
        check("max_false_complete=none", "no number");
        check("max_false_complete=3", "0 to 1");
        check("max_errors=0", "unknown");
    }
}
