//! The coin that holds lessons out: how probable lessons are, and what is drawn.

use super::record::{Whose, trials};
use super::report::{Effect, Verdict};
use crate::domain::{AttemptRecord, RunId};
use sha2::{Digest, Sha256};

/// Until so many attempts with a coin are on record, more are held out: the first numbers are the dearest.
const EARLY: usize = 200;
/// How probable lessons are until then.
const EARLY_PROBABILITY: f64 = 0.8;
/// How probable they are afterwards. It never ends: agents and lessons change.
const PROBABILITY: f64 = 0.9;
/// How probable they are where they were shown to hurt: enough to go on measuring.
const HURTS_PROBABILITY: f64 = 0.1;

/// A number in 0..1 that nobody knows before the run (or the session) has its id, and that is always the same then.
#[must_use]
pub fn drawn(run: &RunId, whose: Whose, (task, subtask): (&str, &str), attempt: u32) -> f64 {
    let attempt = attempt.to_string();
    let whose = match whose {
        Whose::Own => "own lessons 1",
        Whose::Others => "lessons of others 1",
    };
    let mut hash = Sha256::new();
    for part in [whose, run.as_str(), task, subtask, &attempt] {
        // No two lists of texts are the same bytes.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let first = hash.finalize().iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    // As many bits as a float holds: a number that is rounded up to 1 would be none below 1.
    (first >> 11) as f64 / (1_u64 << 53) as f64
}

/// How probable lessons are, by what earlier attempts showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probabilities {
    own: f64,
    others: f64,
}

impl Default for Probabilities {
    fn default() -> Self {
        Self { own: EARLY_PROBABILITY, others: EARLY_PROBABILITY }
    }
}

impl Probabilities {
    /// By what these attempts show.
    #[must_use]
    pub fn after(attempts: &[AttemptRecord]) -> Self {
        let of = |whose: Whose| {
            let coins = attempts.iter().filter_map(|attempt| whose.coin(attempt.exposure.as_ref()?)).count();
            match Effect::of(&trials(attempts, whose)).verdict {
                Verdict::Hurts => HURTS_PROBABILITY,
                _ if coins < EARLY => EARLY_PROBABILITY,
                _ => PROBABILITY,
            }
        };
        Self { own: of(Whose::Own), others: of(Whose::Others) }
    }

    /// Of lessons of these.
    #[must_use]
    pub fn of(self, whose: Whose) -> f64 {
        match whose {
            Whose::Own => self.own,
            Whose::Others => self.others,
        }
    }

    /// Whether these were shown to hurt, so that most go without them.
    #[must_use]
    pub fn hurts(self, whose: Whose) -> bool {
        self.of(whose) <= HURTS_PROBABILITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(n: u32) -> RunId {
        RunId::new(format!("20260101-000000-{n:04}")).unwrap()
    }

    #[test]
    fn the_coin_is_the_same_for_the_same_attempt_and_another_for_every_other() {
        let one = drawn(&run(1), Whose::Own, ("a", "a"), 2);
        assert_eq!(one.to_bits(), drawn(&run(1), Whose::Own, ("a", "a"), 2).to_bits());
        let others = [
            drawn(&run(2), Whose::Own, ("a", "a"), 2),
            drawn(&run(1), Whose::Own, ("b", "a"), 2),
            drawn(&run(1), Whose::Own, ("a", "b"), 2),
            drawn(&run(1), Whose::Own, ("a", "a"), 3),
        ];
        assert!(others.iter().all(|other| other.to_bits() != one.to_bits()));
        assert_ne!(
            drawn(&run(1), Whose::Own, ("ab", "c"), 2).to_bits(),
            drawn(&run(1), Whose::Own, ("a", "bc"), 2).to_bits()
        );
    }

    #[test]
    fn one_in_five_is_held_out() {
        let held_out = (0..10_000)
            .filter(|n| drawn(&run(n % 7), Whose::Own, (&format!("task-{n}"), "a"), 2 + n % 3) >= EARLY_PROBABILITY)
            .count();
        // Four standard deviations of 10,000 draws are 160.
        assert!((1840..=2160).contains(&held_out), "{held_out}");
    }

    /// Attempts at tasks of their own, every fifth without its own lessons; those with them pass as often as this says, in ten.
    fn attempts(number: u32, pass_of_ten: u32) -> Vec<AttemptRecord> {
        let one = |n: u32| {
            let injected = !n.is_multiple_of(5);
            let passes = n / 5 % 10 < if injected { pass_of_ten } else { 8 };
            let coin = serde_json::json!({ "probability": 0.8, "injected": injected, "candidates": ["ref-1"] });
            let line = serde_json::json!({
                "v": 1, "run": run(n % 9), "task": format!("t{n}"), "subtask": "a", "attempt": 2, "session": format!("s{n}"), "agent": "x",
                "at": jiff::Timestamp::from_second(i64::from(n)).unwrap(), "durationMs": 1,
                "verdict": if passes { "confirmed" } else { "failed" }, "exposure": { "start": "continue", "own": coin },
            });
            serde_json::from_value(line).unwrap()
        };
        (0..number).map(one).collect()
    }

    #[test]
    fn lessons_that_were_shown_to_hurt_stand_in_one_retry_of_ten() {
        let check = |number, pass_of_ten, own: f64| {
            let found = Probabilities::after(&attempts(number, pass_of_ten));
            assert_eq!(found, Probabilities { own, others: EARLY_PROBABILITY }, "{number} {pass_of_ten}");
            found.hurts(Whose::Own)
        };
        assert!(!check(0, 0, EARLY_PROBABILITY));
        assert!(!check(100, 8, EARLY_PROBABILITY));
        assert!(!check(400, 8, PROBABILITY));
        assert!(check(400, 1, HURTS_PROBABILITY));
    }
}
