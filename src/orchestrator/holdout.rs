//! Which retries go without their lessons, to measure whether lessons help.
//!
//! A retry for which there are lessons draws a coin. What it says depends on the run, the part and the attempt alone, so that a run that goes on
//! after it was killed draws the same. Held out, the prompt is the same without the lessons.

use super::attempt::Attempt;
use super::drive::{RunContext, Services};
use super::task::TaskRun;
use crate::domain::{About, Coin, EventKind, Exposure, Fit, JournalEntry, Recall, ReflectionId, RunId};
use crate::effect::Whose;
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
fn drawn(run: &RunId, whose: Whose, (task, subtask): (&str, &str), attempt: u32) -> f64 {
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

/// What stands in an attempt's prompt of the lessons that were found.
pub(super) struct Shown {
    /// The section of the prompt.
    pub section: PromptSection,
    /// Why those of other tasks are in it.
    pub others: Vec<Fit>,
    /// What coins decided.
    pub exposure: Option<Box<Exposure>>,
}

impl TaskRun {
    /// What the attempt's prompt holds of the lessons that were found, and what coins said of them: one of the task's own, from the second
    /// attempt on, and one of those of other tasks. No coin is drawn where there are none, and where hold-out is off.
    pub(super) async fn expose(&self, attempt: &Attempt, mut found: Recall) -> Shown {
        let services = &self.context.services;
        let section = services.reflections.format_recall(&found);
        // What found no place in the prompt is no candidate.
        let fits = |lesson: &ReflectionId| section.ids.contains(lesson);
        let own: Vec<_> = found.own.iter().map(|lesson| lesson.id.clone()).filter(fits).collect();
        found.others.retain(|other| fits(&other.lesson.id));
        let others: Vec<_> = found.others.iter().map(|other| other.lesson.id.clone()).collect();
        let own = if attempt.number > 1 { self.draw(attempt, Whose::Own, own).await } else { None };
        let others = self.draw(attempt, Whose::Others, others).await;
        let keeps = |coin: &Option<Coin>| coin.as_ref().is_none_or(|coin| coin.injected);
        if !keeps(&own) {
            found.own.clear();
        }
        if !keeps(&others) {
            found.others.clear();
        }
        let all_there = keeps(&own) && keeps(&others);
        let start = services.settings.run().retry_start;
        let exposure = (own.is_some() || others.is_some()).then(|| Box::new(Exposure { start, own, others }));
        let section = if all_there { section } else { services.reflections.format_recall(&found) };
        Shown { section, others: found.others.into_iter().map(|other| other.fit).collect(), exposure }
    }

    async fn draw(&self, attempt: &Attempt, whose: Whose, candidates: Vec<ReflectionId>) -> Option<Coin> {
        if !self.context.services.settings.reflexion().hold_out || candidates.is_empty() {
            return None;
        }
        let probability = self.context.probability(whose).await;
        let (task, subtask) = (self.task.id.as_str(), self.parts[attempt.part].id.as_str());
        let injected = drawn(&self.context.run, whose, (task, subtask), attempt.number) < probability;
        Some(Coin { probability, injected, candidates })
    }
}

impl RunContext {
    /// How probable lessons are in this run. Only earlier runs count, so that it is the same to its end.
    async fn probability(&self, whose: Whose) -> f64 {
        let on_record = self.coins.get_or_init(|| async {
            Coins::of_earlier(&self.services, &self.run).await.unwrap_or_else(|error| {
                let message = format!("how many retries went without lessons before is not known: {error}");
                self.services.publish(About::run(&self.run), EventKind::Warning { message });
                Coins::default()
            })
        });
        if on_record.await.of(whose) < EARLY { EARLY_PROBABILITY } else { PROBABILITY }
    }
}

/// How many coins earlier runs have drawn, as far as that matters.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Coins {
    own: usize,
    others: usize,
}

impl Coins {
    async fn of_earlier(services: &Services, this: &RunId) -> Result<Self, JournalError> {
        let mut coins = Self::default();
        let earlier = services.journal.runs().await?.into_iter().filter(|run| run < this);
        for run in earlier.take(RUNS) {
            for (_, entry) in services.journal.read(&run).await? {
                let JournalEntry::AttemptStarted { exposure: Some(exposure), .. } = entry else { continue };
                coins.own += usize::from(exposure.own.is_some());
                coins.others += usize::from(exposure.others.is_some());
            }
            if coins.own.min(coins.others) >= EARLY {
                break;
            }
        }
        Ok(coins)
    }

    fn of(self, whose: Whose) -> usize {
        match whose {
            Whose::Own => self.own,
            Whose::Others => self.others,
        }
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
}
