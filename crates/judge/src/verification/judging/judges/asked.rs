//! Whoever answers questions, as judge, reviewer or auditor.

use super::super::questions::prompt;
use super::super::read_answer;
use crate::domain::Opinion;
use crate::prompt::verdict_schema;
use crate::services::{Judge, JudgeError, JudgeQuestion, OpenQuestion, OwnWork, Question, Respondent, UsageMeter, ask};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Puts the questions of a judge to somebody, and reads the verdicts.
///
/// A program gets a [`JudgeQuestion`], which has the key `role`, and `REFLEXION_SESSION_ID` with the session that it judges, and answers with
/// a verdict; or it gets an [`OpenQuestion`] with the keys `prompt` and `schema`, and answers with whatever the schema says.
pub struct AskedJudge {
    /// Who is asked.
    pub who: Arc<dyn Respondent>,
    /// It judges what it did itself.
    pub own: Option<OwnWork>,
}

#[async_trait]
impl Judge for AskedJudge {
    async fn judge(&self, question: &JudgeQuestion, spent: &UsageMeter) -> Result<Opinion, JudgeError> {
        let session = ("REFLEXION_SESSION_ID".to_owned(), question.session.as_str().to_owned());
        let asked = Question {
            prompt: prompt(question),
            schema: verdict_schema(),
            data: serde_json::to_value(question).map_err(failed)?,
            env: BTreeMap::from([session]),
            ..self.about_work()
        };
        let read = |text: &str| read_answer(text, question).map_err(reason);
        Ok(ask(&*self.who, &asked, read, spent).await?)
    }

    async fn ask(&self, question: &OpenQuestion, spent: &UsageMeter) -> Result<String, JudgeError> {
        let asked = Question {
            prompt: question.prompt.clone(),
            schema: question.schema.clone(),
            data: serde_json::to_value(question).map_err(failed)?,
            ..self.about_work()
        };
        Ok(self.who.answer(&asked, &|_| Ok(()), spent).await?)
    }
}

impl AskedJudge {
    fn about_work(&self) -> Question {
        Question {
            purpose: "judge",
            prompt: String::new(),
            schema: serde_json::Value::Null,
            data: serde_json::Value::Null,
            env: BTreeMap::new(),
            about: None,
            own: self.own.clone(),
        }
    }
}

fn failed(error: impl std::fmt::Display) -> JudgeError {
    JudgeError::Failed(error.to_string())
}

/// Why a verdict cannot be read, without who says so.
fn reason(error: JudgeError) -> String {
    match error {
        JudgeError::Unreadable(why) | JudgeError::Failed(why) => why,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_question::{YES, open, question};
    use super::*;
    use crate::services::{AskError, JudgeRole, MockRespondent};
    use serde_json::json;

    fn judge(answer: Result<&'static str, AskError>) -> AskedJudge {
        let mut who = MockRespondent::new();
        who.expect_answer().times(1).returning(move |question, accepts, _| {
            assert_eq!((question.purpose, &question.own), ("judge", &None));
            match question.data.get("role") {
                Some(role) => {
                    assert_eq!(role, &json!("judge"));
                    assert_eq!(question.env["REFLEXION_SESSION_ID"], "ses-1");
                    assert!(question.prompt.contains("Fix the cart"));
                }
                None => assert_eq!(question.data["prompt"], json!("Why?")),
            }
            let text = answer.clone()?;
            accepts(text).map_err(AskError::Unreadable)?;
            Ok(text.to_owned())
        });
        AskedJudge { who: Arc::new(who), own: None }
    }

    #[tokio::test]
    async fn what_is_answered_is_the_verdict() {
        let spent = UsageMeter::default();
        assert!(judge(Ok(YES)).judge(&question(), &spent).await.unwrap().completes());
        assert_eq!(judge(Ok("so")).ask(&open(), &spent).await, Ok("so".to_owned()));
    }

    #[tokio::test]
    async fn a_reviewer_does_not_see_what_the_author_says() {
        let mut who = MockRespondent::new();
        who.expect_answer().returning(|question, _, _| {
            assert!(question.prompt.starts_with("You review a change"), "{}", question.prompt);
            assert!(!question.prompt.contains("All green.") && question.prompt.contains("+ fixed"));
            Ok(YES.to_owned())
        });
        let judge = AskedJudge { who: Arc::new(who), own: None };
        let question = JudgeQuestion { role: JudgeRole::Reviewer, ..question() };
        assert!(judge.judge(&question, &UsageMeter::default()).await.is_ok());
    }

    #[tokio::test]
    async fn every_error_is_the_judges() {
        let check = async |answer, expected: &str| {
            let error = judge(answer).judge(&question(), &UsageMeter::default()).await.unwrap_err();
            assert_eq!(error.to_string(), expected);
        };
        let limit = std::time::Duration::from_secs(30);
        check(Err(AskError::Timeout(limit)), "the judge gave no answer within 30 s").await;
        check(Err(AskError::Failed("no key".to_owned())), "the judge could not be asked: no key").await;
        let none =
            "the judge's answer is no verdict: there is no JSON object with `complete` in it; it begins: \"fine\"";
        check(Ok("fine"), none).await;
    }
}
