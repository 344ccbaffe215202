//! Which retries go without their lessons, to measure whether lessons help.
//!
//! A retry for which there are lessons draws a coin. What it says depends on the run, the part and the attempt alone, so that a run that goes on
//! after it was killed draws the same. Held out, the prompt is the same without the lessons.

use super::attempt::Attempt;
use super::drive::{RunContext, Services};
use super::task::TaskRun;
use crate::domain::{About, EventKind, Exposure, JournalEntry, RunId};
use crate::services::{JournalError, PromptSection};
use sha2::{Digest, Sha256};

/// Until so many retries with a coin are on record, more are held out: the first numbers are the dearest.
const EARLY: usize = 200;
/// How probable lessons are until then.
const EARLY_PROBABILITY: f64 = 0.8;
/// How probable they are afterwards. It never ends: agents and lessons change.
const PROBABILITY: f64 = 0.9;
/// The journals of so many runs are read at most.
const RUNS: usize = 100;

/// A number in 0..1 that nobody knows before the run has its id, and that is always the same then.
fn drawn(run: &RunId, task: &str, subtask: &str, attempt: u32) -> f64 {
    let attempt = attempt.to_string();
    let mut hash = Sha256::new();
    for part in ["own lessons 1", run.as_str(), task, subtask, &attempt] {
        // No two lists of texts are the same bytes.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let first = hash.finalize().iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    // As many bits as a float holds: a number that is rounded up to 1 would be none below 1.
    (first >> 11) as f64 / (1_u64 << 53) as f64
}

impl TaskRun {
    /// What the attempt's prompt holds of the lessons that were found, and what a coin said of them; no coin is drawn for a first attempt,
    /// where there are none, and where hold-out is off.
    pub(super) async fn expose(
        &self,
        attempt: &Attempt,
        found: PromptSection,
    ) -> (PromptSection, Option<Box<Exposure>>) {
        let settings = &self.context.services.settings;
        if !settings.reflexion().hold_out || attempt.number < 2 || found.ids.is_empty() {
            return (found, None);
        }
        let probability = self.context.probability().await;
        let subtask = self.parts[attempt.part].id.as_str();
        let injected = drawn(&self.context.run, self.task.id.as_str(), subtask, attempt.number) < probability;
        let candidates = found.ids.clone();
        let shown = if injected { found } else { PromptSection::default() };
        let start = settings.run().retry_start;
        let exposure = Exposure { start, probability, injected, candidates, shown: shown.ids.clone() };
        (shown, Some(Box::new(exposure)))
    }
}

impl RunContext {
    /// How probable lessons are in this run. Only earlier runs count, so that it is the same to its end.
    async fn probability(&self) -> f64 {
        let on_record = self.coins.get_or_init(|| async {
            coins(&self.services, &self.run).await.unwrap_or_else(|error| {
                let message = format!("how many retries went without lessons before is not known: {error}");
                self.services.publish(About::run(&self.run), EventKind::Warning { message });
                0
            })
        });
        if *on_record.await < EARLY { EARLY_PROBABILITY } else { PROBABILITY }
    }
}

/// How many coins earlier runs have drawn, as far as that matters.
async fn coins(services: &Services, this: &RunId) -> Result<usize, JournalError> {
    let mut coins = 0;
    let earlier = services.journal.runs().await?.into_iter().filter(|run| run < this);
    for run in earlier.take(RUNS) {
        let is_coin = |entry: &JournalEntry| matches!(entry, JournalEntry::AttemptStarted { exposure: Some(_), .. });
        coins += services.journal.read(&run).await?.iter().filter(|(_, entry)| is_coin(entry)).count();
        if coins >= EARLY {
            break;
        }
    }
    Ok(coins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(n: u32) -> RunId {
        RunId::new(format!("20260101-000000-{n:04}")).unwrap()
    }

    #[test]
    fn the_coin_is_the_same_for_the_same_attempt_and_another_for_every_other() {
        let one = drawn(&run(1), "a", "a", 2);
        assert_eq!(one.to_bits(), drawn(&run(1), "a", "a", 2).to_bits());
        let others = [
            drawn(&run(2), "a", "a", 2),
            drawn(&run(1), "b", "a", 2),
            drawn(&run(1), "a", "b", 2),
            drawn(&run(1), "a", "a", 3),
        ];
        assert!(others.iter().all(|other| other.to_bits() != one.to_bits()));
        assert_ne!(drawn(&run(1), "ab", "c", 2).to_bits(), drawn(&run(1), "a", "bc", 2).to_bits());
    }

    #[test]
    fn one_in_five_is_held_out() {
        let held_out = (0..10_000)
            .filter(|n| drawn(&run(n % 7), &format!("task-{n}"), "a", 2 + n % 3) >= EARLY_PROBABILITY)
            .count();
        // Four standard deviations of 10,000 draws are 160.
        assert!((1840..=2160).contains(&held_out), "{held_out}");
    }
}
