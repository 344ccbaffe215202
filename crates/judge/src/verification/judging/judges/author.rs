//! The agent itself, asked about its own work.

use super::AskedJudge;
use crate::domain::Opinion;
use crate::prompt::about_own_work;
use crate::services::{Judge, JudgeError, JudgeQuestion, OpenQuestion, Respondents, TurnEvidence, UsageMeter};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;

/// Finds whoever did the work of a turn, to ask it about that: read-only, in a copy of its conversation. What it says is a
/// claim like its closing message; nobody takes its verdict.
pub struct Authors {
    /// Opens the agents.
    pub respondents: Arc<dyn Respondents>,
    /// How long one question may take.
    pub limit: Duration,
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
        let who = self.respondents.author(name, self.limit)?;
        Ok(Author(AskedJudge { who, own: Some(own.clone()) }))
    }
}

/// An agent that is asked about its own work.
struct Author(AskedJudge);

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
    use crate::domain::Usage;
    use crate::services::{Earlier, MockRespondent, MockRespondents, OwnWork};
    use crate::verification::gates::fixture::turn;

    const LIMIT: Duration = Duration::from_secs(60);

    fn own() -> OwnWork {
        let conversation = Earlier { agent_session: "c-1".to_owned(), usage: Usage::default() };
        OwnWork { conversation, dir: "/workspace".into() }
    }

    fn authors() -> Authors {
        let mut respondents = MockRespondents::new();
        respondents.expect_author().returning(|name, limit| {
            assert_eq!((name, limit), ("worker", LIMIT));
            let mut agent = MockRespondent::new();
            agent.expect_answer().returning(|question, _, _| {
                assert_eq!(question.own, Some(own()));
                assert!(question.prompt.contains("your own work") && question.prompt.contains("Why?"));
                Ok("so".to_owned())
            });
            Ok(Arc::new(agent))
        });
        Authors { respondents: Arc::new(respondents), limit: LIMIT }
    }

    fn worked(own: Option<OwnWork>) -> TurnEvidence {
        TurnEvidence { author: Some("worker".to_owned()), own, ..turn("Fix it").turn }
    }

    #[tokio::test]
    async fn it_is_asked_about_its_conversation_and_gives_no_verdict() {
        let author = authors().of(&worked(Some(own()))).unwrap();
        let spent = UsageMeter::default();
        assert_eq!(author.ask(&open(), &spent).await, Ok("so".to_owned()));
        assert_eq!(author.judge(&question(), &spent).await, Err(JudgeError::NoJudge));
        let unknown = authors().of(&worked(None)).err().unwrap();
        assert!(unknown.contains("conversation is not known"), "{unknown}");
    }
}
