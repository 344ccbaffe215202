//! Facts first; the judge, if there is one, where they are silent.

use super::super::judging::{compaction_question, read_compaction, read_stuck, stuck_question};
use super::{compaction, loops, stuck};
use crate::domain::{CompactionVerdict, StuckVerdict, Trace};
use crate::services::{Clock, CompactionQuestion, Judge, OpenQuestion, ProgressJudge, StuckQuestion, UsageMeter};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A judge's answer to the same question stays good for so long, while the agent goes on saying nothing; an error or an
/// answer that nobody can read is never kept.
const ANSWER_KEPT: Duration = Duration::from_mins(1);
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
    key: String,
    answer: String,
    at: Duration,
}

/// A question to the judge.
struct Asked<'a> {
    /// Two questions with one key are the same.
    key: String,
    question: OpenQuestion,
    spent: &'a UsageMeter,
}

impl Progress {
    /// Over whoever is asked where facts are silent.
    #[must_use]
    pub fn new(judge: Arc<dyn Judge>, clock: Arc<dyn Clock>) -> Self {
        Self { judge, clock, answers: Mutex::default() }
    }

    /// The judge's answer in the words of a verdict; none if it gave none.
    async fn ask<T, E>(&self, asked: Asked<'_>, read: impl Fn(&str) -> Result<T, E>) -> Option<T> {
        let Asked { key, question, spent } = asked;
        if let Some(answer) = self.kept(&key) {
            return read(&answer).ok();
        }
        let answer = self.judge.ask(&question, spent).await.ok()?;
        let verdict = read(&answer).ok()?;
        self.keep(key, answer);
        Some(verdict)
    }

    fn kept(&self, key: &str) -> Option<String> {
        let now = self.clock.elapsed();
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.retain(|kept| now.saturating_sub(kept.at) < ANSWER_KEPT);
        answers.iter().find(|kept| kept.key == key).map(|kept| kept.answer.clone())
    }

    fn keep(&self, key: String, answer: String) {
        let at = self.clock.elapsed();
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() == ANSWERS {
            answers.remove(0);
        }
        answers.push(Kept { key, answer, at });
    }
}

#[async_trait]
impl ProgressJudge for Progress {
    async fn stuck(&self, question: &StuckQuestion, spent: &UsageMeter) -> StuckVerdict {
        if let Some(verdict) = stuck::by_facts(question) {
            return verdict;
        }
        // Seconds later the same silence is the same question.
        let key = format!("{:?}", StuckQuestion { time_since_activity: 0.0, ..question.clone() });
        let answer = self.ask(Asked { key, question: stuck_question(question), spent }, read_stuck).await;
        // Who is not sure at all has decided nothing: small models answer so when they fill in the form.
        let sure = answer.filter(|answer| answer.confidence > 0.0);
        sure.map_or_else(|| stuck::without_judge(question), stuck::by_judge)
    }

    async fn after_compaction(&self, question: &CompactionQuestion, spent: &UsageMeter) -> CompactionVerdict {
        if let Some(verdict) = compaction::by_facts(question) {
            return verdict;
        }
        let asked = Asked { key: format!("{question:?}"), question: compaction_question(question), spent };
        match self.ask(asked, read_compaction).await {
            Some(answer) if answer.confidence > 0.0 => compaction::by_judge(question, answer),
            _ => compaction::without_judge(question),
        }
    }

    fn in_loop(&self, trace: &Trace) -> Option<String> {
        loops::in_loop(trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CompactionAction, StuckReason};
    use crate::services::{JudgeError, MockClock, MockJudge};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Over answers that a judge gives one after the other, and seconds that pass.
    fn progress(answers: Vec<Result<&'static str, JudgeError>>) -> (Progress, Arc<AtomicU64>) {
        let (mut judge, mut clock, seconds) = (MockJudge::new(), MockClock::new(), Arc::new(AtomicU64::new(0)));
        let times = answers.len();
        let answers = Mutex::new(answers.into_iter());
        judge.expect_ask().times(times).returning(move |_, _| {
            answers.lock().expect("one test").next().expect("as many answers as questions").map(str::to_owned)
        });
        let now = Arc::clone(&seconds);
        clock.expect_elapsed().returning(move || Duration::from_secs(now.load(Ordering::Relaxed)));
        (Progress::new(Arc::new(judge), Arc::new(clock)), seconds)
    }

    fn silent(age: f64) -> StuckQuestion {
        StuckQuestion {
            time_since_activity: age,
            message_completed: Some(true),
            output_tokens: Some(200),
            last_user_message: "Implement the cache".to_owned(),
            last_assistant_response: "Let me start implementing...".to_owned(),
            tool_calls: "(none)".to_owned(),
        }
    }

    const STUCK: &str = r#"{"stuck": true, "reason": "genuinely_stuck", "confidence": 0.9,
        "shouldNudge": true, "nudgeMessage": "Go on."}"#;

    #[tokio::test]
    async fn facts_are_never_put_to_the_judge() {
        let (progress, _) = progress(Vec::new());
        let running = StuckQuestion { tool_calls: "bash: running".to_owned(), ..silent(9_999.0) };
        assert_eq!(progress.stuck(&running, &UsageMeter::default()).await.reason, StuckReason::Working);
        assert!(!progress.stuck(&silent(29.0), &UsageMeter::default()).await.should_nudge);
        let nothing = progress.after_compaction(&CompactionQuestion::default(), &UsageMeter::default()).await;
        assert_eq!(nothing.action, CompactionAction::ContinueTask);
    }

    #[tokio::test]
    async fn an_answer_is_kept_for_a_minute_while_nothing_else_changes() {
        let (progress, seconds) = progress(vec![Ok(STUCK), Ok(STUCK)]);
        assert_eq!(progress.stuck(&silent(45.0), &UsageMeter::default()).await.nudge_message, "Go on.");
        seconds.store(59, Ordering::Relaxed);
        assert!(progress.stuck(&silent(104.0), &UsageMeter::default()).await.stuck);
        seconds.store(60, Ordering::Relaxed);
        assert!(progress.stuck(&silent(105.0), &UsageMeter::default()).await.stuck, "asked again");
    }

    #[tokio::test]
    async fn errors_and_garbage_are_undetermined_and_not_kept() {
        let (progress, _) = progress(vec![Err(JudgeError::NoJudge), Ok("I think it is fine."), Ok(STUCK)]);
        assert_eq!(progress.stuck(&silent(45.0), &UsageMeter::default()).await, stuck::undetermined());
        assert_eq!(progress.stuck(&silent(45.0), &UsageMeter::default()).await, stuck::undetermined());
        assert!(progress.stuck(&silent(45.0), &UsageMeter::default()).await.stuck);
    }

    #[tokio::test]
    async fn who_is_not_sure_at_all_has_decided_nothing() {
        const FORM: &str = r#"{"stuck": true, "reason": "genuinely_stuck", "confidence": 0.0, "shouldNudge": false}"#;
        let (judges, _) = progress(vec![Ok(FORM), Ok(r#"{"action": "task_complete", "confidence": 0}"#)]);
        assert_eq!(judges.stuck(&silent(45.0), &UsageMeter::default()).await, stuck::undetermined());
        let question = CompactionQuestion { task_summary: "Add a toggle".to_owned(), ..CompactionQuestion::default() };
        let verdict = judges.after_compaction(&question, &UsageMeter::default()).await;
        assert_eq!(verdict, compaction::without_judge(&question));
    }

    #[tokio::test]
    async fn without_a_judge_a_shortened_context_goes_on() {
        let (progress, _) = progress(vec![Err(JudgeError::NoJudge)]);
        let question = CompactionQuestion { task_summary: "Add a toggle".to_owned(), ..CompactionQuestion::default() };
        let verdict = progress.after_compaction(&question, &UsageMeter::default()).await;
        assert_eq!((verdict.action, verdict.nudge_message.as_str()), (CompactionAction::ContinueTask, ""));
        assert!(verdict.confidence.abs() < f64::EPSILON && !verdict.has_active_git_work);
    }
}
