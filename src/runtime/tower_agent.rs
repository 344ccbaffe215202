//! Agents through tower layers and back: [`layer_agents`].

use crate::domain::{AgentReport, Ending};
use crate::layer::Svc;
use crate::services::{Abilities, AgentRequest, AgentService, RetryFrom, Subagent, SubagentError, Subagents};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tower::timeout::error::Elapsed;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Layer, Service, ServiceExt};

/// Puts a tower layer of your own around every agent of a set, outside of the configured limits.
///
/// Each agent gets one layered service, which all its callers share through clones: a state that is to be shared must
/// be one that clones share (as tower's concurrency limit does). Made for
/// [`Layers::wrap`](crate::layer::Layers::wrap):
///
/// ```
/// # use reflexion::layer::BoxError;
/// # use reflexion::layer::Svc;
/// # use reflexion::runtime;
/// # use reflexion::services::{Orchestrator, RunRequest, Subagents};
/// use tower::limit::GlobalConcurrencyLimitLayer;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), BoxError> {
/// // Three agent runs at a time, whichever agents they are.
/// let three = GlobalConcurrencyLimitLayer::new(3);
/// let layers = runtime::test::test()
///     .wrap::<dyn Subagents>(move |agents| runtime::layer_agents(agents, three.clone()));
/// let app = layers.build::<Svc<dyn Orchestrator>>().await?;
/// app.run(RunRequest::everything(runtime::new_run_id())).await?;
/// app.shutdown().await?;
/// # Ok(())
/// # }
/// ```
///
/// An error of the layer's own: [`Elapsed`] is the ending `timeout`, anything else [`SubagentError::Failed`]. While a
/// layer is not ready, cancelling the run ends the wait.
pub fn layer_agents<L>(agents: Svc<dyn Subagents>, layer: L) -> Svc<dyn Subagents>
where
    L: Layer<AgentService> + Send + Sync + 'static,
    L::Service: Service<AgentRequest, Response = AgentReport, Error = BoxError> + Clone + Send + Sync + 'static,
    <L::Service as Service<AgentRequest>>::Future: Send + 'static,
{
    Svc::new(LayeredAgents { agents, layer, made: Mutex::default() })
}

struct LayeredAgents<L> {
    agents: Svc<dyn Subagents>,
    layer: L,
    made: Mutex<BTreeMap<String, Arc<dyn Subagent>>>,
}

impl<L> Subagents for LayeredAgents<L>
where
    L: Layer<AgentService> + Send + Sync,
    L::Service: Service<AgentRequest, Response = AgentReport, Error = BoxError> + Clone + Send + Sync + 'static,
    <L::Service as Service<AgentRequest>>::Future: Send + 'static,
{
    fn get(&self, name: &str) -> Result<Arc<dyn Subagent>, SubagentError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(agent) = made.get(name) {
            return Ok(Arc::clone(agent));
        }
        let agent = self.agents.get(name)?;
        let service = self.layer.layer(AgentService(Arc::clone(&agent)));
        let agent: Arc<dyn Subagent> = Arc::new(TowerAgent::new(name, agent, service));
        made.insert(name.to_owned(), Arc::clone(&agent));
        Ok(agent)
    }
}

/// A tower service as an agent; what it can do is said by the agent inside.
pub(super) struct TowerAgent {
    name: String,
    inside: Arc<dyn Subagent>,
    service: BoxCloneSyncService<AgentRequest, AgentReport, BoxError>,
}

impl TowerAgent {
    pub fn new<S>(name: &str, inside: Arc<dyn Subagent>, service: S) -> Self
    where
        S: Service<AgentRequest, Response = AgentReport, Error = BoxError> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
    {
        Self { name: name.to_owned(), inside, service: BoxCloneSyncService::new(service) }
    }
}

#[async_trait]
impl Subagent for TowerAgent {
    async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
        let mut service = self.service.clone();
        let cancel = request.cancel.clone();
        // Whoever waits for a turn has started nothing yet; a running agent ends by its own means.
        let ready = tokio::select! {
            biased;
            ready = service.ready() => ready.map(|_| ()),
            () = cancel.cancelled() => return Ok(AgentReport::new(Ending::Cancelled)),
        };
        let result = match ready {
            Ok(()) => service.call(request).await,
            Err(error) => Err(error),
        };
        result.or_else(|error| match error.downcast::<SubagentError>() {
            Ok(error) => Err(*error),
            Err(error) if error.is::<Elapsed>() => {
                let detail = Some("no end within the time limit around it".to_owned());
                Ok(AgentReport { detail, ..AgentReport::new(Ending::Timeout) })
            }
            Err(other) => Err(SubagentError::Failed { agent: self.name.clone(), message: other.to_string() }),
        })
    }

    fn retry_from(&self) -> RetryFrom {
        self.inside.retry_from()
    }

    fn abilities(&self) -> Abilities {
        self.inside.abilities()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{RunId, SessionId, SubtaskId, TaskId};
    use crate::services::{Conversation, MockSubagents, Mode, Unwatched};
    use std::time::Duration;
    use tokio_util::sync::CancellationToken;
    use tower::limit::ConcurrencyLimitLayer;
    use tower::timeout::TimeoutLayer;
    use tower::util::MapErrLayer;

    /// Works for a minute.
    struct Slow;

    #[async_trait]
    impl Subagent for Slow {
        async fn run(&self, _: AgentRequest) -> Result<AgentReport, SubagentError> {
            tokio::time::sleep(Duration::from_secs(60)).await;
            Err(SubagentError::Missing { agent: "slow".to_owned(), message: "install it".to_owned() })
        }

        fn retry_from(&self) -> RetryFrom {
            RetryFrom::Change
        }

        fn abilities(&self) -> Abilities {
            Abilities { fork: true, ..Abilities::default() }
        }
    }

    fn slow() -> Svc<dyn Subagents> {
        let mut agents = MockSubagents::new();
        agents.expect_get().returning(|_| Ok(Arc::new(Slow)));
        Svc::new(agents)
    }

    fn request() -> AgentRequest {
        AgentRequest {
            run: RunId::new("r").unwrap(),
            task: TaskId::new("t").unwrap(),
            subtask: SubtaskId::new("t").unwrap(),
            attempt: 1,
            session: SessionId::new("s"),
            prompt: String::new(),
            prompt_file: "p".into(),
            dir: ".".into(),
            mode: Mode::Work,
            env: BTreeMap::new(),
            conversation: Conversation::New,
            protect: Vec::new(),
            watch: Arc::new(Unwatched),
            cancel: CancellationToken::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_layers_own_errors_become_endings_and_the_agents_stay_what_they_are() {
        let agent = layer_agents(slow(), TimeoutLayer::new(Duration::from_secs(5))).get("slow").unwrap();
        assert_eq!(agent.run(request()).await.unwrap().ending, Ending::Timeout);

        let agent = layer_agents(slow(), TimeoutLayer::new(Duration::from_secs(90))).get("slow").unwrap();
        let error = agent.run(request()).await.unwrap_err();
        assert!(matches!(error, SubagentError::Missing { .. }), "{error}");

        let broken = MapErrLayer::new(|_: BoxError| BoxError::from("overloaded"));
        let error = layer_agents(slow(), broken).get("slow").unwrap().run(request()).await.unwrap_err();
        assert_eq!(error.to_string(), "failed to run agent `slow`: overloaded");
        assert!(agent.abilities().fork && agent.retry_from() == RetryFrom::Change);
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_has_one_layered_service_however_often_it_is_asked_for() {
        let agents = layer_agents(slow(), ConcurrencyLimitLayer::new(1));
        let start = tokio::time::Instant::now();
        let (first, second) = (agents.get("slow").unwrap(), agents.get("slow").unwrap());
        let _ = tokio::join!(first.run(request()), second.run(request()));
        assert_eq!(start.elapsed().as_secs(), 120);
    }
}
