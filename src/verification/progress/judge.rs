//! Facts first; the judge, if there is one, where they are silent.

use super::super::judging::compaction_question;
use super::super::judging::read_compaction;
use super::super::judging::read_stuck;
use super::super::judging::stuck_question;
use super::compaction;
use super::loops;
use super::stuck;
use crate::domain::CompactionVerdict;
use crate::domain::StuckVerdict;
use crate::domain::Trace;
use crate::services::Clock;
use crate::services::CompactionQuestion;
use crate::services::Judge;
use crate::services::OpenQuestion;
use crate::services::ProgressJudge;
use crate::services::StuckQuestion;
use async_trait::async_trait;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

/// A judge's answer to the same question stays good for so long; an error is never kept.
const ANSWER_KEPT: Duration = Duration::from_secs(60);
/// So many answers are kept; a run has few agents that say nothing at the same time.
const ANSWERS: usize = 32;

/// Looks at an agent that says nothing, loops, or forgot.
pub struct Progress {
    judge: Arc<dyn Judge>,
    clock: Arc<dyn Clock>,
    answers: Mutex<Vec<Kept>>,
}

/// An answer, and when it was given.
struct Kept {
    prompt: String,
    answer: String,
    at: Duration,
}

impl Progress {
    /// Over whoever is asked where facts are silent.
    #[must_use]
    pub fn new(judge: Arc<dyn Judge>, clock: Arc<dyn Clock>) -> Self {
        Self { judge, clock, answers: Mutex::default() }
    }

    /// The judge's answer in the words of a verdict; none if it gave none.
    async fn ask<T, E>(&self, question: OpenQuestion, read: impl Fn(&str) -> Result<T, E>) -> Option<T> {
        if let Some(answer) = self.kept(&question.prompt) {
            return read(&answer).ok();
        }
        let answer = self.judge.ask(&question).await.ok()?;
        let verdict = read(&answer).ok()?;
        self.keep(question.prompt, answer);
        Some(verdict)
    }

    fn kept(&self, prompt: &str) -> Option<String> {
        let now = self.clock.elapsed();
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.retain(|kept| now.saturating_sub(kept.at) < ANSWER_KEPT);
        answers.iter().find(|kept| kept.prompt == prompt).map(|kept| kept.answer.clone())
    }

    fn keep(&self, prompt: String, answer: String) {
        let at = self.clock.elapsed();
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() == ANSWERS {
            answers.remove(0);
        }
        answers.push(Kept { prompt, answer, at });
    }
}

#[async_trait]
impl ProgressJudge for Progress {
    async fn stuck(&self, question: &StuckQuestion) -> StuckVerdict {
        if let Some(verdict) = stuck::by_facts(question) {
            return verdict;
        }
        let answer = self.ask(stuck_question(question), read_stuck).await;
        answer.map_or_else(stuck::undetermined, stuck::by_judge)
    }

    async fn after_compaction(&self, question: &CompactionQuestion) -> CompactionVerdict {
        if let Some(verdict) = compaction::by_facts(question) {
            return verdict;
        }
        match self.ask(compaction_question(question), read_compaction).await {
            Some(answer) => compaction::by_judge(question, answer),
            None => compaction::without_judge(question),
        }
    }

    fn in_loop(&self, trace: &Trace) -> Option<String> {
        loops::in_loop(trace)
    }
}
