//! Trials from the record of attempts.

use super::trial::Trial;
use crate::domain::{AttemptRecord, Coin, Exposure, FailureType, Verdict};
use std::collections::HashMap;

/// Attempts from this number on are compared with one another: there are few of each.
const LATE: u32 = 4;

/// Whose lessons a coin decides about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Lessons of the task itself.
    Own,
    /// Lessons of other tasks.
    Others,
}

impl Whose {
    /// The coin about these, if one was drawn.
    #[must_use]
    pub fn coin(self, exposure: &Exposure) -> Option<&Coin> {
        match self {
            Self::Own => exposure.own.as_ref(),
            Self::Others => exposure.others.as_ref(),
        }
    }
}

/// The attempts whose lessons a coin decided about, in the order of time.
///
/// Retries that nobody judged (limits, logins, an interruption) are none: they are done again, or say nothing about the lessons. An attempt that
/// was judged `unverifiable` did not pass.
#[must_use]
pub fn trials(attempts: &[AttemptRecord], whose: Whose) -> Vec<Trial> {
    let mut in_time: Vec<&AttemptRecord> = attempts.iter().filter(|attempt| attempt.verdict.is_some()).collect();
    in_time.sort_by_key(|attempt| attempt.at);
    let mut failed = HashMap::new();
    let mut trials = Vec::new();
    for attempt in in_time {
        let before = failed.insert((&attempt.task, &attempt.subtask), class(attempt));
        trials.extend(trial(attempt, whose, before.unwrap_or("none")));
    }
    trials
}

/// What kind of failure the attempt after this one is about.
fn class(attempt: &AttemptRecord) -> &'static str {
    attempt.failure.map_or_else(|| attempt.verdict.map_or("unknown", Verdict::as_str), FailureType::as_str)
}

fn trial(attempt: &AttemptRecord, whose: Whose, class: &str) -> Option<Trial> {
    let exposure = attempt.exposure.as_ref()?;
    let coin = whose.coin(exposure)?;
    let of = match whose {
        Whose::Own => "",
        Whose::Others => "lessons of others, ",
    };
    let shown = coin.candidates.iter().filter(|lesson| attempt.shown.contains(lesson));
    let start = exposure.start.as_str();
    let (stratum, class) = match (attempt.moment, attempt.attempt) {
        // Sessions are compared with sessions: a person is there, and nobody starts anew.
        (Some(moment), _) => {
            (format!("in a session, {}", moment.as_str()), format!("in a session, {}", moment.as_str()))
        }
        (None, late) if late >= LATE => (format!("attempt {LATE} or later, {class}, {start}"), class.to_owned()),
        (None, number) => (format!("attempt {number}, {class}, {start}"), class.to_owned()),
    };
    Some(Trial {
        task: attempt.task.to_string(),
        stratum: format!("{of}{stratum}"),
        class: format!("{of}{class}"),
        probability: coin.probability,
        injected: coin.injected,
        passed: attempt.verdict == Some(Verdict::Confirmed),
        tokens: attempt.tokens.unwrap_or(0),
        lessons: shown.map(|lesson| lesson.as_str().to_owned()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn attempt(number: u32, at: u32, more: Value) -> AttemptRecord {
        let mut all = json!({ "v": 1, "run": "r", "task": "a", "subtask": "a", "attempt": number, "session": format!("s{number}"),
            "agent": "x", "at": format!("2026-05-05T00:00:{at:02}Z"), "durationMs": 1 });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn a_retry_with_a_coin_is_a_trial_among_those_of_the_same_failure() {
        let coin = |injected: bool| json!({ "start": "auto", "own": { "probability": 0.8, "injected": injected, "candidates": ["r"] } });
        let attempts = [
            attempt(
                3,
                30,
                json!({ "verdict": "confirmed", "exposure": coin(true), "shown": ["r", "of another task"], "tokens": 7 }),
            ),
            attempt(1, 10, json!({ "verdict": "failed", "failure": "empty_change" })),
            attempt(2, 20, json!({ "verdict": "unverifiable", "exposure": coin(false) })),
            // Nobody judged it.
            attempt(4, 15, json!({ "exposure": coin(true) })),
        ];
        assert!(trials(&attempts, Whose::Others).is_empty());
        let trials = trials(&attempts, Whose::Own);
        let strata: Vec<_> =
            trials.iter().map(|trial| (trial.stratum.as_str(), trial.injected, trial.passed)).collect();
        assert_eq!(
            strata,
            [("attempt 2, empty_change, auto", false, false), ("attempt 3, unverifiable, auto", true, true)]
        );
        assert_eq!((trials[1].tokens, trials[1].lessons.as_slice()), (7, ["r".to_owned()].as_slice()));
        assert!(trials[0].lessons.is_empty());
    }
}
