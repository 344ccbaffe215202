//! Scores, 0 to 5: what the facts allow, and within that what a judge says.

use super::case::ExpectedScore;
use super::grade::Graded;
use super::grade::Said;
use crate::domain::CompletionVerdict;
use crate::domain::Standing;
use crate::domain::Trace;
use std::ops::RangeInclusive;

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
pub(super) fn score(expected: &ExpectedScore, allowed: &RangeInclusive<u8>, judged: Option<u8>, graded: &mut Graded) {
    let (low, high) = match judged {
        Some(score) => (score.clamp(*allowed.start(), *allowed.end()), score.clamp(*allowed.start(), *allowed.end())),
        None => (*allowed.start(), *allowed.end()),
    };
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

/// A judge's score.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(super) struct Grade {
    /// 0 to 5.
    pub score: u8,
    /// Why, in its words.
    pub reason: String,
}

/// Asks for a score with the rubric's own prompt.
pub(super) async fn ask(_judge: &dyn crate::services::Judge, _trace: &Trace, _verdict: &CompletionVerdict) -> Result<Grade, String> {
    Err("no judge".to_owned())
}
