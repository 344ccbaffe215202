//! An agent or a language model that is asked.

use crate::domain::{ProposedPart, SessionId, SubtaskId, Task, policy};
use crate::prompt::{PartsError, decompose_again, decompose_prompt, decompose_schema, parse_parts};
use crate::services::{
    AgentQuestion, AnsweringAgent, Clock, Decomposer, DecomposerError, Model, ModelError, ModelRequest, Models,
    Subagent, SubagentError, UsageMeter, ask_model,
};
use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Asks an agent, read-only in an empty directory and in a single turn, or a language model, held to a JSON Schema where
/// the settings say so.
///
/// A model's answer that cannot be read is asked for once more, with the reason: several servers accept a schema and ignore
/// it. After its time limit whoever was asked is dropped, which ends its processes.
pub struct AskedDecomposer {
    who: Who,
    limit: Duration,
}

enum Who {
    Agent { agent: AnsweringAgent, clock: Arc<dyn Clock> },
    Model(Result<Arc<dyn Model>, ModelError>),
}

impl AskedDecomposer {
    /// Asks the agent of this name.
    ///
    /// # Errors
    /// [`SubagentError::Unsupported`] if it has no read-only mode: who only answers must not be able to change anything.
    pub fn agent(
        name: &str,
        agent: Arc<dyn Subagent>,
        clock: Arc<dyn Clock>,
        limit: Duration,
    ) -> Result<Self, SubagentError> {
        let agent = AnsweringAgent::new(name, agent, "split tasks; name another agent in `decompose.agent`")?;
        Ok(Self { who: Who::Agent { agent, clock }, limit })
    }

    /// As [`AnsweringAgent::asked_in`]; a model is asked nowhere.
    #[must_use]
    pub fn asked_in(self, places: PathBuf) -> Self {
        let who = match self.who {
            Who::Agent { agent, clock } => Who::Agent { agent: agent.asked_in(places), clock },
            Who::Model(model) => Who::Model(model),
        };
        Self { who, ..self }
    }

    /// Asks a model; one that cannot be opened is an error of every answer.
    #[must_use]
    pub fn model(models: &dyn Models, model: &policy::Model) -> Self {
        Self { who: Who::Model(models.open(model)), limit: model.limits.timeout }
    }

    async fn ask(&self, task: &Task, spent: &UsageMeter) -> Result<Vec<ProposedPart>, DecomposerError> {
        let prompt = decompose_prompt(task).map_err(|error| DecomposerError::Failed(error.to_string()))?;
        let unreadable = |error: PartsError| DecomposerError::Unreadable(error.to_string());
        match &self.who {
            Who::Agent { agent, clock } => {
                let question = AgentQuestion {
                    prompt,
                    purpose: "decompose",
                    task: task.id.clone(),
                    subtask: SubtaskId::from(&task.id),
                    attempt: 1,
                    session: SessionId::new(format!("decompose-{}", clock.new_id())),
                    own: None,
                };
                let answer = agent.ask(question, spent).await.map_err(DecomposerError::Failed)?;
                parse_parts(&answer).map_err(unreadable)
            }
            Who::Model(model) => {
                let model = model.as_ref().map_err(failed)?;
                let question = ModelRequest { system: None, prompt, schema: Some(decompose_schema()) };
                let answer = ask_model(&**model, question, parse_parts, decompose_again, spent).await;
                answer.map_err(|error| failed(&error))?.map_err(unreadable)
            }
        }
    }
}

fn failed(error: &ModelError) -> DecomposerError {
    match error {
        ModelError::Timeout(limit) => DecomposerError::Timeout(*limit),
        other => DecomposerError::Failed(other.to_string()),
    }
}

#[async_trait]
impl Decomposer for AskedDecomposer {
    async fn propose(&self, task: &Task, spent: &UsageMeter) -> Result<Vec<ProposedPart>, DecomposerError> {
        timeout(self.limit, self.ask(task, spent)).await.unwrap_or(Err(DecomposerError::Timeout(self.limit)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AgentReport, Ending, Usage};
    use crate::services::{
        Abilities, AgentRequest, Completion, MockClock, MockModel, MockModels, MockSubagent, Mode, RetryFrom,
    };

    const TWO: &str = r#"{"subtasks":[{"title":"a","description":"b"},{"title":"c","description":"d"}]}"#;
    const LIMIT: Duration = Duration::from_secs(120);

    fn task() -> Task {
        serde_json::from_str(r#"{"id":"t","title":"Dates","description":"Both forms."}"#).unwrap()
    }

    fn of_agent(agent: impl Subagent + 'static) -> Result<AskedDecomposer, SubagentError> {
        let mut clock = MockClock::new();
        clock.expect_new_id().return_const("0190".to_owned());
        AskedDecomposer::agent("helper", Arc::new(agent), Arc::new(clock), LIMIT)
    }

    fn says(message: &'static str, ending: Ending) -> MockSubagent {
        let mut agent = MockSubagent::new();
        agent.expect_abilities().return_const(Abilities { read_only: true, ..Abilities::default() });
        agent.expect_run().times(1).returning(move |request| {
            assert_eq!((request.mode, request.session.as_str()), (Mode::ReadOnly, "decompose-0190"));
            assert!(request.prompt.contains("Both forms."), "{}", request.prompt);
            let usage = Usage { input: Some(7), ..Usage::default() };
            Ok(AgentReport { message: message.to_owned(), usage, ..AgentReport::new(ending.clone()) })
        });
        agent
    }

    #[tokio::test]
    async fn an_agent_is_asked_read_only_and_what_it_used_counts() {
        async fn check(message: &'static str, ending: Ending, expected: Result<usize, &str>) {
            let spent = UsageMeter::default();
            let proposed = of_agent(says(message, ending)).unwrap().propose(&task(), &spent).await;
            let proposed = proposed.map(|parts| parts.len()).map_err(|error| error.to_string());
            assert_eq!(proposed, expected.map_err(str::to_owned));
            assert_eq!(spent.total().input, Some(7));
        }
        check(TWO, Ending::Finished, Ok(2)).await;
        check(TWO, Ending::Budget, Err("the agent run ended: budget")).await;
        let unreadable =
            "the answer cannot be read: the answer holds no JSON object with a list of `subtasks`; it begins: \"No.\"";
        check("No.", Ending::Finished, Err(unreadable)).await;
        let mut writes = MockSubagent::new();
        writes.expect_abilities().return_const(Abilities::default());
        let error = of_agent(writes).err().unwrap().to_string();
        assert!(error.contains("no read-only mode, so it cannot split tasks"), "{error}");
    }

    struct Silent;

    #[async_trait]
    impl Subagent for Silent {
        fn abilities(&self) -> Abilities {
            Abilities { read_only: true, ..Abilities::default() }
        }

        async fn run(&self, _: AgentRequest) -> Result<AgentReport, SubagentError> {
            std::future::pending().await
        }

        fn retry_from(&self) -> RetryFrom {
            RetryFrom::Base
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_one_is_dropped_at_its_limit() {
        let proposed = of_agent(Silent).unwrap().propose(&task(), &UsageMeter::default()).await;
        assert_eq!(proposed, Err(DecomposerError::Timeout(LIMIT)));
    }

    fn policy() -> policy::Model {
        policy::Model {
            provider: policy::Provider::OpenAi,
            name: "small".to_owned(),
            base_url: None,
            key_env: None,
            max_tokens: 400,
            temperature_milli: None,
            structured: policy::Structured::On,
            limits: policy::Limits { timeout: LIMIT, concurrency: None, per_minute: None, retries: 0 },
        }
    }

    #[tokio::test]
    async fn a_model_is_asked_once_more_with_the_reason_and_not_a_third_time() {
        async fn check(answers: [&'static str; 2], expected: Result<usize, &str>) {
            let mut model = MockModel::new();
            let mut order = mockall::Sequence::new();
            for (at, text) in answers.into_iter().enumerate() {
                let again = move |request: &ModelRequest| (at == 1) == request.prompt.contains("could not be read");
                let usage = Usage { input: Some(5), ..Usage::default() };
                let answer = Completion::whole(text, usage);
                model.expect_complete().times(1).in_sequence(&mut order).withf(again).return_once(|_| Ok(answer));
            }
            let mut models = MockModels::new();
            models.expect_open().return_once(move |_| Ok(Arc::new(model)));
            let spent = UsageMeter::default();
            let proposed = AskedDecomposer::model(&models, &policy()).propose(&task(), &spent).await;
            let proposed = proposed.map(|parts| parts.len()).map_err(|error| error.to_string());
            assert_eq!(proposed, expected.map_err(str::to_owned));
            assert_eq!(spent.total().input, Some(10));
        }
        check(["Well.", TWO], Ok(2)).await;
        let twice =
            "the answer cannot be read: the answer holds no JSON object with a list of `subtasks`; it begins: \"No.\"";
        check(["Well.", "No."], Err(twice)).await;
    }
}
