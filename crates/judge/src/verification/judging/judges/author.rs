//! The agent itself, asked about its own work.

use super::{AgentJudge, Deadline};
use crate::domain::Opinion;
use crate::prompt::about_own_work;
use crate::services::{
    AnsweringAgent, Clock, Judge, JudgeError, JudgeQuestion, OpenQuestion, Subagents, TurnEvidence, UsageMeter,
};
use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Finds whoever did the work of a turn, to ask it about that: read-only, in a copy of its conversation. What it says is a
/// claim like its closing message; nobody takes its verdict.
pub struct Authors {
    /// The configured agents, each behind its policies.
    pub subagents: Arc<dyn Subagents>,
    /// Gives each run a name of its own.
    pub clock: Arc<dyn Clock>,
    /// How long one question may take.
    pub limit: Duration,
    /// Where the directories are made in which they are asked.
    pub places: PathBuf,
}

impl Authors {
    /// The agent that did the work of this turn.
    ///
    /// # Errors
    /// Why it cannot be asked, in words.
    pub fn of(&self, turn: &TurnEvidence) -> Result<impl Judge + use<>, String> {
        let (Some(name), Some(own)) = (&turn.author, &turn.own) else {
            return Err("the agent's own conversation is not known, so it was not asked".to_owned());
        };
        let agent = self.subagents.get(name).map_err(|error| error.to_string())?;
        let agent = AnsweringAgent::new(name, agent, "be asked about its work").map_err(|error| error.to_string())?;
        let agent = agent.asked_in(self.places.clone());
        if !agent.knows_own_work() {
            return Err(format!(
                "agent `{name}` cannot copy its conversation, so it was not asked; `verification.selfAssessment: fresh` \
                 asks the judge"
            ));
        }
        let judge = AgentJudge { agent, clock: Arc::clone(&self.clock), own: Some(own.clone()) };
        Ok(Author(Deadline { inner: Arc::new(judge), limit: self.limit }))
    }
}

/// An agent that is asked about its own work.
struct Author(Deadline);

#[async_trait]
impl Judge for Author {
    async fn judge(&self, _: &JudgeQuestion, _: &UsageMeter) -> Result<Opinion, JudgeError> {
        Err(JudgeError::NoJudge)
    }

    async fn ask(&self, question: &OpenQuestion, spent: &UsageMeter) -> Result<String, JudgeError> {
        let question = OpenQuestion { prompt: about_own_work(&question.prompt), schema: question.schema.clone() };
        self.0.ask(&question, spent).await
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_question::{open, question};
    use super::*;
    use crate::domain::{AgentReport, Ending, Usage};
    use crate::services::{
        Abilities, Conversation, Earlier, MockClock, MockSubagent, MockSubagents, Mode, OwnWork, Subagent,
    };
    use crate::verification::gates::fixture::turn;

    fn own() -> OwnWork {
        let conversation = Earlier { agent_session: "c-1".to_owned(), usage: Usage::default() };
        OwnWork { conversation, dir: "/workspace".into() }
    }

    fn authors(abilities: Abilities) -> Authors {
        let (mut agent, mut agents, mut clock) = (MockSubagent::new(), MockSubagents::new(), MockClock::new());
        agent.expect_abilities().return_const(abilities);
        agent.expect_run().returning(|request| {
            assert_eq!((request.mode, request.conversation), (Mode::ReadOnly, Conversation::Fork(own().conversation)));
            assert_eq!(request.dir, own().dir);
            assert!(request.prompt.contains("your own work") && request.prompt.contains("Why?"), "{}", request.prompt);
            let usage = Usage { output: Some(7), ..Usage::default() };
            Ok(AgentReport { message: "so".to_owned(), usage, ..AgentReport::new(Ending::Finished) })
        });
        let agent: Arc<dyn Subagent> = Arc::new(agent);
        agents.expect_get().withf(|name| name == "worker").returning(move |_| Ok(Arc::clone(&agent)));
        clock.expect_new_id().return_const("0190".to_owned());
        Authors {
            subagents: Arc::new(agents),
            clock: Arc::new(clock),
            limit: Duration::from_secs(60),
            places: "/dev/null/asked".into(),
        }
    }

    fn worked(own: Option<OwnWork>) -> TurnEvidence {
        TurnEvidence { author: Some("worker".to_owned()), own, ..turn("Fix it").turn }
    }

    #[tokio::test]
    async fn it_is_asked_in_a_copy_of_its_conversation_and_gives_no_verdict() {
        let author = authors(Abilities { read_only: true, fork: true, resume: true }).of(&worked(Some(own()))).unwrap();
        let spent = UsageMeter::default();
        assert_eq!(author.ask(&open(), &spent).await, Ok("so".to_owned()));
        assert_eq!(spent.total().output, Some(7));
        assert_eq!(author.judge(&question(), &spent).await, Err(JudgeError::NoJudge));
    }

    #[test]
    fn who_cannot_be_asked_is_not() {
        let check = |abilities, own, expected: &str| {
            let because = authors(abilities).of(&worked(own)).err().unwrap();
            assert!(because.contains(expected), "{because}");
        };
        let able = Abilities { read_only: true, fork: true, resume: true };
        check(able, None, "conversation is not known");
        check(Abilities { fork: false, ..able }, Some(own()), "`worker` cannot copy its conversation");
        check(Abilities { read_only: false, ..able }, Some(own()), "no read-only mode");
    }
}
