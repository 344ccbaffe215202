//! A deadline around every agent, as a tower layer.

use crate::domain::AgentReport;
use crate::domain::Ending;
use crate::services::Abilities;
use crate::services::AgentRequest;
use crate::services::AgentService;
use crate::services::RetryFrom;
use crate::services::Subagent;
use crate::services::SubagentError;
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tower::ServiceBuilder;
use tower::ServiceExt;

/// How much longer than the agent's own limit the outer one is: time enough for TERM, grace, KILL and the sweep.
const GRACE: Duration = Duration::from_secs(30);

/// Ends an agent run that outlives its limit, whatever the agent's own code does: an attempt must never hang a night.
///
/// The agent's own limit comes first and knows more; this is the backstop behind it. Dropping the run ends its
/// processes.
#[must_use]
pub fn with_deadline(agent: Arc<dyn Subagent>, limit: Duration) -> Arc<dyn Subagent> {
    Arc::new(Deadline { agent, limit })
}

struct Deadline {
    agent: Arc<dyn Subagent>,
    limit: Duration,
}

#[async_trait]
impl Subagent for Deadline {
    async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
        let service = ServiceBuilder::new().timeout(self.limit + GRACE).service(AgentService(Arc::clone(&self.agent)));
        match service.oneshot(request).await {
            Ok(report) => Ok(report),
            Err(error) if error.is::<tower::timeout::error::Elapsed>() => Ok(AgentReport {
                detail: Some(format!("no end within {} s", (self.limit + GRACE).as_secs_f64())),
                ..AgentReport::new(Ending::Timeout)
            }),
            Err(error) => Err(match error.downcast::<SubagentError>() {
                Ok(error) => *error,
                Err(other) => SubagentError::Failed { agent: "agent".to_owned(), message: other.to_string() },
            }),
        }
    }

    fn retry_from(&self) -> RetryFrom {
        self.agent.retry_from()
    }

    fn abilities(&self) -> Abilities {
        self.agent.abilities()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::RunId;
    use crate::domain::SessionId;
    use crate::domain::SubtaskId;
    use crate::domain::TaskId;
    use crate::services::Mode;
    use tokio_util::sync::CancellationToken;

    struct Hangs;

    #[async_trait]
    impl Subagent for Hangs {
        async fn run(&self, _: AgentRequest) -> Result<AgentReport, SubagentError> {
            std::future::pending().await
        }
        fn retry_from(&self) -> RetryFrom {
            RetryFrom::Base
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_never_returns_ends_in_a_timeout() {
        let request = AgentRequest {
            run: RunId::new("r").unwrap(),
            task: TaskId::new("t").unwrap(),
            subtask: SubtaskId::new("t").unwrap(),
            attempt: 1,
            session: SessionId::new("s"),
            prompt: String::new(),
            prompt_file: "p".into(),
            dir: ".".into(),
            mode: Mode::Work,
            env: std::collections::BTreeMap::new(),
            conversation: crate::services::Conversation::New,
            protect: Vec::new(),
            watch: Arc::new(crate::services::Unwatched),
            cancel: CancellationToken::new(),
        };
        let report = with_deadline(Arc::new(Hangs), Duration::from_secs(5)).run(request).await.unwrap();
        assert_eq!(report.ending, Ending::Timeout);
    }
}
