//! Scores, 0 to 5: what the facts allow, and within that what a judge says.

use super::case::ExpectedScore;
use super::grade::{Graded, Said};
use crate::domain::{CompletionVerdict, Standing, Trace};
use serde::Serialize;
use std::ops::RangeInclusive;

/// A judge's score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Grade {
    /// 0 to 5.
    pub score: u8,
    /// Why, in its words.
    pub reason: String,
}

/// The scores that facts allow, by the rubric of `config/prompts/rubric.md`.
///
/// Nothing done and nothing said is 0; nothing done where something was to be done is 1 at most; refuted on facts is 3 at
/// most, because what was asked is not all there; proven by the runtime's own checks is 4 at least. All else is open.
pub(super) fn allowed(trace: &Trace, verdict: &CompletionVerdict) -> RangeInclusive<u8> {
    let silent = trace.calls == 0 && trace.response.trim().is_empty();
    match verdict.status {
        _ if silent => 0..=0,
        Standing::Refuted if trace.calls == 0 => 0..=1,
        Standing::Refuted => 0..=3,
        Standing::Proven => 4..=5,
        Standing::Unproven => 0..=5,
    }
}

/// Compares a score, or the range that facts allow where nobody gave one, with what it must be. A judge's score outside
/// that range is pulled into it: facts decide.
pub(super) fn score(expected: ExpectedScore, allowed: &RangeInclusive<u8>, grade: Option<&Grade>, graded: &mut Graded) {
    let (lowest, highest) = (*allowed.start(), *allowed.end());
    let judged = grade.map(|grade| grade.score.clamp(lowest, highest));
    let (low, high) = (judged.unwrap_or(lowest), judged.unwrap_or(highest));
    graded.label = if low == high { low.to_string() } else { format!("{low}-{high}") };
    graded.said = Some(match (low, high) {
        (4.., _) => Said::Fine,
        (_, ..4) => Said::NotFine,
        _ => Said::Undecided,
    });
    if high < expected.min || low > expected.max {
        graded.problems.push(format!("score is {}, and not {} to {}", graded.label, expected.min, expected.max));
    } else if low < expected.min || high > expected.max {
        graded.ungraded.push(format!("the facts allow {low} to {high}, and nobody gave a score"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_bound_a_score_and_silence_is_not_graded() {
        let check = |min, max, allowed: RangeInclusive<u8>, judged: Option<u8>, label: &str, problems, ungraded| {
            let grade = judged.map(|score| Grade { score, reason: String::new() });
            let mut graded = Graded::default();
            score(ExpectedScore { min, max }, &allowed, grade.as_ref(), &mut graded);
            let counts = (graded.problems.len(), graded.ungraded.len());
            assert_eq!(
                (graded.label.as_str(), counts),
                (label, (problems, ungraded)),
                "{min}-{max} {allowed:?} {judged:?}"
            );
        };
        check(4, 5, 4..=5, None, "4-5", 0, 0);
        check(0, 1, 0..=1, None, "0-1", 0, 0);
        check(4, 5, 0..=5, None, "0-5", 0, 1);
        check(4, 5, 0..=3, None, "0-3", 1, 0);
        check(0, 0, 0..=1, None, "0-1", 0, 1);
        check(4, 5, 0..=5, Some(5), "5", 0, 0);
        check(4, 5, 0..=5, Some(3), "3", 1, 0);
        // A judge that is talked into a 5 does not get past the facts.
        check(0, 3, 0..=3, Some(5), "3", 0, 0);
    }
}
