//! Which retries go without their lessons, to measure whether lessons help.
//!
//! A retry for which there are lessons draws a coin. What it says depends on the run, the part and the attempt alone, so that a run that goes on
//! after it was killed draws the same. Held out, the prompt is the same without the lessons.

use super::context::RunContext;
use super::course::{Attempt, Shown};
use super::ports::Services;
use super::task_run::TaskPlan;
use crate::domain::{About, AttemptRecord, Coin, EventKind, Exposure, Recall, ReflectionId, RunId};
use crate::effect::{Probabilities, Whose, drawn};
use crate::services::JournalError;

/// The journals of so many runs are read at most.
const RUNS: usize = 100;

impl TaskPlan {
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
            let found = after_earlier(&self.services, &self.run).await;
            let warn = |message| self.services.publish(About::run(&self.run), EventKind::Warning { message });
            let found = found.unwrap_or_else(|error| {
                warn(format!("how many retries went without lessons before is not known: {error}"));
                Probabilities::default()
            });
            warnings(found).into_iter().for_each(warn);
            found
        });
        drawn.await.of(whose)
    }
}

/// By the journals of earlier runs: of what stands in the memory, anybody may have changed a line.
async fn after_earlier(services: &Services, this: &RunId) -> Result<Probabilities, JournalError> {
    let mut attempts = Vec::new();
    let earlier = services.journal.runs().await?.into_iter().filter(|run| run < this);
    for run in earlier.take(RUNS) {
        let entries = services.journal.read(&run).await?;
        attempts.extend(AttemptRecord::of_run(&run, entries.iter().map(|(at, entry)| (*at, entry))));
    }
    Ok(Probabilities::after(&attempts))
}

/// What a person should hear of it.
fn warnings(found: Probabilities) -> Vec<String> {
    let named = [(Whose::Own, "lessons of the same task"), (Whose::Others, "lessons of other tasks")];
    let of = |(_, what): (Whose, &str)| {
        format!(
            "{what} were shown to hurt, so that nine of ten retries go without them: `reflexion memory stats` has the numbers, and \
             `\"reflexion\": {{\"holdout\": false}}` brings them back"
        )
    };
    named.into_iter().filter(|(whose, _)| found.hurts(*whose)).map(of).collect()
}
