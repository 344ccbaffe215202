//! Which retries go without their lessons, to measure whether lessons help.
//!
//! A retry for which there are lessons draws a coin. What it says depends on the run, the part and the attempt alone, so that a run that goes on
//! after it was killed draws the same. Held out, the prompt is the same without the lessons.

use super::attempt::Attempt;
use super::drive::{RunContext, Services};
use super::task::TaskRun;
use crate::domain::{About, AttemptRecord, Coin, EventKind, Exposure, Fit, Recall, ReflectionId, RunId};
use crate::effect::{Effect, Verdict, Whose, trials};
use crate::services::{JournalError, PromptSection};
use sha2::{Digest, Sha256};

/// Until so many retries with a coin are on record, more are held out: the first numbers are the dearest.
const EARLY: usize = 200;
/// How probable lessons are until then.
const EARLY_PROBABILITY: f64 = 0.8;
/// How probable they are afterwards. It never ends: agents and lessons change.
const PROBABILITY: f64 = 0.9;
/// How probable they are where they were shown to hurt: enough to go on measuring.
const HURTS_PROBABILITY: f64 = 0.1;
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
        let drawn = self.probabilities.get_or_init(|| async {
            let found = Probabilities::after_earlier(&self.services, &self.run).await;
            let warn = |message| self.services.publish(About::run(&self.run), EventKind::Warning { message });
            let found = found.unwrap_or_else(|error| {
                warn(format!("how many retries went without lessons before is not known: {error}"));
                Probabilities::default()
            });
            found.warnings().into_iter().for_each(warn);
            found
        });
        drawn.await.of(whose)
    }
}

/// How probable lessons are, by what earlier runs showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Probabilities {
    own: f64,
    others: f64,
}

impl Default for Probabilities {
    fn default() -> Self {
        Self { own: EARLY_PROBABILITY, others: EARLY_PROBABILITY }
    }
}

impl Probabilities {
    /// By the journals: of what stands in the memory, anybody may have changed a line.
    async fn after_earlier(services: &Services, this: &RunId) -> Result<Self, JournalError> {
        let mut attempts = Vec::new();
        let earlier = services.journal.runs().await?.into_iter().filter(|run| run < this);
        for run in earlier.take(RUNS) {
            let entries = services.journal.read(&run).await?;
            attempts.extend(AttemptRecord::of_run(&run, entries.iter().map(|(at, entry)| (*at, entry))));
        }
        Ok(Self::after(&attempts))
    }

    fn after(attempts: &[AttemptRecord]) -> Self {
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

    fn of(self, whose: Whose) -> f64 {
        match whose {
            Whose::Own => self.own,
            Whose::Others => self.others,
        }
    }

    /// What a person should hear of it.
    fn warnings(self) -> Vec<String> {
        let hurts = |whose: Whose| self.of(whose) <= HURTS_PROBABILITY;
        let named = [(Whose::Own, "lessons of the same task"), (Whose::Others, "lessons of other tasks")];
        let of = |(_, what): (Whose, &str)| {
            format!(
                "{what} were shown to hurt, so that nine of ten retries go without them: `reflexion memory stats` has the numbers, and \
                 `\"reflexion\": {{\"holdout\": false}}` brings them back"
            )
        };
        named.into_iter().filter(|(whose, _)| hurts(*whose)).map(of).collect()
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
            found.warnings()
        };
        check(0, 0, EARLY_PROBABILITY);
        check(100, 8, EARLY_PROBABILITY);
        check(400, 8, PROBABILITY);
        let said = check(400, 1, HURTS_PROBABILITY);
        assert!(said.len() == 1 && said[0].starts_with("lessons of the same task were shown to hurt"), "{said:?}");
    }
}
