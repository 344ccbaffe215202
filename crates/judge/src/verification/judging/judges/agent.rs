//! A configured agent as judge, reviewer or auditor.

use super::super::questions::prompt;
use super::super::read_answer;
use crate::domain::{Opinion, SessionId, SubtaskId, TaskId};
use crate::services::{
    AgentQuestion, AnsweringAgent, Clock, Judge, JudgeError, JudgeQuestion, OpenQuestion, OwnWork, UsageMeter,
};
use async_trait::async_trait;
use std::sync::Arc;

/// Asks an agent, read-only and in a single turn, in an empty directory that is thrown away. Its closing message is the
/// answer; every other ending than `finished` is an error.
pub struct AgentJudge {
    /// The agent.
    pub agent: AnsweringAgent,
    /// Gives each of its runs a name of its own.
    pub clock: Arc<dyn Clock>,
    /// It judges what it did itself.
    pub own: Option<OwnWork>,
}

#[async_trait]
impl Judge for AgentJudge {
    async fn judge(&self, question: &JudgeQuestion, spent: &UsageMeter) -> Result<Opinion, JudgeError> {
        read_answer(&self.answer(prompt(question), spent).await?, question)
    }

    async fn ask(&self, question: &OpenQuestion, spent: &UsageMeter) -> Result<String, JudgeError> {
        self.answer(question.prompt.clone(), spent).await
    }
}

impl AgentJudge {
    async fn answer(&self, prompt: String, spent: &UsageMeter) -> Result<String, JudgeError> {
        let failed = |error: &dyn std::fmt::Display| JudgeError::Failed(error.to_string());
        let question = AgentQuestion {
            prompt,
            purpose: "judge",
            task: TaskId::new("judge").map_err(|error| failed(&error))?,
            subtask: SubtaskId::new("judge").map_err(|error| failed(&error))?,
            attempt: 1,
            session: SessionId::new(format!("judge-{}", self.clock.new_id())),
            own: self.own.clone(),
        };
        self.agent.ask(question, spent).await.map_err(JudgeError::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_question::{YES, open, question};
    use super::*;
    use crate::domain::{AgentReport, Ending, is_internal};
    use crate::services::{Abilities, JudgeRole, MockClock, MockSubagent, Mode};

    fn judge(mut agent: MockSubagent) -> AgentJudge {
        agent.expect_abilities().return_const(Abilities { read_only: true, ..Abilities::default() });
        let mut clock = MockClock::new();
        clock.expect_new_id().return_const("0190".to_owned());
        let agent = AnsweringAgent::new("helper", Arc::new(agent), "judge").unwrap();
        AgentJudge { agent, clock: Arc::new(clock), own: None }
    }

    fn says(message: &'static str, ending: Ending) -> MockSubagent {
        let mut agent = MockSubagent::new();
        agent
            .expect_run()
            .times(1)
            .withf(|request| request.mode == Mode::ReadOnly && request.session.as_str() == "judge-0190")
            .returning(move |_| Ok(AgentReport { message: message.to_owned(), ..AgentReport::new(ending.clone()) }));
        agent
    }

    #[tokio::test]
    async fn its_closing_message_is_the_verdict() {
        assert!(
            judge(says(YES, Ending::Finished)).judge(&question(), &UsageMeter::default()).await.unwrap().completes()
        );
        assert_eq!(judge(says("so", Ending::Finished)).ask(&open(), &UsageMeter::default()).await, Ok("so".to_owned()));
    }

    #[tokio::test]
    async fn it_is_asked_in_its_role() {
        let mut agent = MockSubagent::new();
        agent.expect_run().returning(|request| {
            assert!(is_internal(&request.prompt), "{}", request.prompt);
            assert!(request.prompt.contains("\nYou review a change"), "{}", request.prompt);
            assert!(!request.prompt.contains("All green."), "a reviewer sees what the author says");
            assert!(request.prompt.contains("+ fixed"));
            Ok(AgentReport { message: YES.to_owned(), ..AgentReport::new(Ending::Finished) })
        });
        let question = JudgeQuestion { role: JudgeRole::Reviewer, ..question() };
        assert!(judge(agent).judge(&question, &UsageMeter::default()).await.is_ok());
    }

    #[tokio::test]
    async fn another_ending_is_an_error_whatever_it_said() {
        let error = judge(says(YES, Ending::Timeout)).judge(&question(), &UsageMeter::default()).await.unwrap_err();
        assert_eq!(error.to_string(), "the judge could not be asked: the agent run ended: timeout");
        let error = judge(says("fine", Ending::Finished)).judge(&question(), &UsageMeter::default()).await.unwrap_err();
        assert!(matches!(error, JudgeError::Unreadable(_)), "{error}");
    }
}
