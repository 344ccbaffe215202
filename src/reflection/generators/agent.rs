//! A configured agent as generator.

use super::drafted;
use crate::domain::{Draft, FailureContext, Origin, SessionId};
use crate::prompt::{parse_reply, reflect_prompt};
use crate::services::{AgentQuestion, AnsweringAgent, Generator, GeneratorError, Subagent, SubagentError, UsageMeter};
use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;

/// Asks an agent, read-only and in a single turn, in an empty directory that is thrown away: whatever it does, it finds
/// nothing to harm.
///
/// The answer is its closing message. Every other ending than `finished` is an error.
pub struct AgentGenerator {
    agent: AnsweringAgent,
}

impl AgentGenerator {
    /// Asks the agent of this name.
    ///
    /// # Errors
    /// [`SubagentError::Unsupported`] if it has no read-only mode: who only answers must not be able to change anything.
    pub fn new(name: &str, agent: Arc<dyn Subagent>) -> Result<Self, SubagentError> {
        let instead = "write reflections; name another agent in `reflexion.generator.agent`, or use a generator of \
                       another type";
        Ok(Self { agent: AnsweringAgent::new(name, agent, instead)? })
    }

    /// As [`AnsweringAgent::asked_in`].
    #[must_use]
    pub fn asked_in(self, places: PathBuf) -> Self {
        Self { agent: self.agent.asked_in(places) }
    }
}

#[async_trait]
impl Generator for AgentGenerator {
    async fn generate(&self, failure: &FailureContext, spent: &UsageMeter) -> Result<Draft, GeneratorError> {
        let question = AgentQuestion {
            prompt: reflect_prompt(failure),
            purpose: "reflect",
            task: failure.task_id.clone(),
            subtask: failure.subtask_id.clone(),
            attempt: failure.attempt_number,
            session: SessionId::new(format!("reflect-{}", failure.id)),
            own: None,
        };
        let answer = self.agent.ask(question, spent).await.map_err(GeneratorError::GenerationFailed)?;
        parse_reply(&answer)
            .map(|reply| drafted(reply, Origin::Agent))
            .map_err(|error| GeneratorError::Parse(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::test_failure;
    use super::*;
    use crate::domain::{AgentReport, Ending, TranscriptItem, Usage};
    use crate::services::{Abilities, AgentRequest, MockSubagent, Mode, RetryFrom};
    use std::sync::Mutex;
    use std::time::Duration;

    fn report(ending: Ending, message: &str) -> AgentReport {
        AgentReport { message: message.to_owned(), detail: Some("in words".to_owned()), ..AgentReport::new(ending) }
    }

    fn generator(mut agent: MockSubagent) -> AgentGenerator {
        agent.expect_abilities().return_const(Abilities { read_only: true, ..Abilities::default() });
        AgentGenerator::new("helper", Arc::new(agent)).unwrap()
    }

    #[test]
    fn an_agent_without_a_read_only_mode_is_refused() {
        let mut agent = MockSubagent::new();
        agent.expect_abilities().return_const(Abilities { resume: true, fork: true, read_only: false });
        let error = AgentGenerator::new("helper", Arc::new(agent)).err().unwrap().to_string();
        assert!(error.starts_with("agent `helper` cannot do this: it has no read-only mode"), "{error}");
    }

    #[tokio::test]
    async fn it_asks_read_only_in_an_empty_directory_that_is_gone_afterwards() {
        let seen: Arc<Mutex<Option<PathBuf>>> = Arc::default();
        let noted = Arc::clone(&seen);
        let mut agent = MockSubagent::new();
        agent.expect_run().times(1).returning(move |request| {
            assert_eq!(request.mode, Mode::ReadOnly);
            assert_eq!(std::fs::read_dir(&request.dir).unwrap().count(), 0);
            assert_eq!(std::fs::read_to_string(&request.prompt_file).unwrap(), request.prompt);
            assert!(!request.prompt_file.starts_with(&request.dir));
            assert!(request.prompt.contains("expected 3, got 4"));
            *noted.lock().unwrap() = Some(request.dir);
            Ok(report(Ending::Finished, r#"{"analysis": "a", "suggestion": "s"}"#))
        });
        let draft = generator(agent).generate(&test_failure(), &UsageMeter::default()).await.unwrap();
        assert_eq!((draft.analysis.as_str(), draft.origin), ("a", Origin::Agent));
        let dir = seen.lock().unwrap().clone().unwrap();
        assert!(!dir.parent().unwrap().exists());
    }

    /// An agent of two turns, with its report; without one it never ends.
    struct Spends(Option<AgentReport>);

    #[async_trait]
    impl Subagent for Spends {
        fn abilities(&self) -> Abilities {
            Abilities { read_only: true, ..Abilities::default() }
        }

        async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
            for _ in 0..2 {
                request.watch.step(TranscriptItem::Turn { usage: tokens(5) }, None);
            }
            match &self.0 {
                Some(report) => Ok(report.clone()),
                None => std::future::pending().await,
            }
        }

        fn retry_from(&self) -> RetryFrom {
            RetryFrom::Change
        }
    }

    fn tokens(n: u64) -> Usage {
        Usage { input: Some(n), ..Usage::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_agent_used_counts_however_its_run_ends() {
        async fn check(report: Option<AgentReport>, expected: u64) {
            let generator = AgentGenerator::new("helper", Arc::new(Spends(report))).unwrap();
            let (failure, spent) = (test_failure(), UsageMeter::default());
            let _ = tokio::time::timeout(Duration::from_secs(30), generator.generate(&failure, &spent)).await;
            assert_eq!(spent.total(), tokens(expected));
        }
        let answer = r#"{"analysis": "a", "suggestion": "s"}"#;
        check(Some(AgentReport { usage: tokens(12), ..report(Ending::Finished, answer) }), 12).await;
        check(Some(AgentReport { usage: tokens(12), ..report(Ending::Budget, "") }), 12).await;
        check(Some(report(Ending::Hang, "")), 10).await;
        check(None, 10).await;
    }

    #[tokio::test]
    async fn every_other_ending_is_an_error() {
        async fn check(result: fn() -> Result<AgentReport, SubagentError>, expected: &str) {
            let mut agent = MockSubagent::new();
            agent.expect_run().return_once(move |_| result());
            let generator = generator(agent);
            let error = generator.generate(&test_failure(), &UsageMeter::default()).await.unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        check(
            || Ok(report(Ending::Budget, r#"{"analysis": "a", "suggestion": "s"}"#)),
            "generation_failed: the agent run ended: budget: in words",
        )
        .await;
        check(
            || Ok(report(Ending::Finished, "I cannot say.")),
            "parse_error: the answer holds no JSON object with an `analysis`; it begins: \"I cannot say.\"",
        )
        .await;
        check(
            || Err(SubagentError::Missing { agent: "helper".to_owned(), message: "install it".to_owned() }),
            "generation_failed: agent `helper` is missing: install it",
        )
        .await;
    }
}
