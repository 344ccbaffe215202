//! The common case of a program that embeds this library: [`Reflexion::builder`].

use super::given::{agent_limits, given_agent};
use super::live::live;
use super::run_id::new_run_id;
use super::settings::values_of;
use crate::domain::policy::{Agent, AgentKind};
use crate::domain::{CheckCommand, CheckReport, CheckScope, CheckSpec, RunReport};
use crate::layer::{App, BoxError, Handle, Layers, ShutdownError, Svc, panic_text};
use crate::services::{
    Generator, Orchestrator, ReflectionService, RunError, RunRequest, Settings, Storage, Subagent, SubagentError,
    Subagents, Verifier, VerifyRequest,
};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The loop and its memory over a project, with services of your own where you bring some.
///
/// A program that needs another service swapped, or one decorated, changes the list of [`ReflexionBuilder::layers`] and builds that.
pub struct Reflexion {
    app: App<Loop>,
}

/// What is built: the loop, what writes and recalls lessons, and where they are kept.
type Loop = (Svc<dyn Orchestrator>, Svc<dyn ReflectionService>, Svc<dyn Storage>);

impl Reflexion {
    /// Begins with the project in the current directory and everything as its settings say.
    ///
    /// ```
    /// # use reflexion::Reflexion;
    /// # use reflexion::domain::{AgentReport, Ending};
    /// # use reflexion::layer::BoxError;
    /// # use reflexion::services::{AgentRequest, RetryFrom, Subagent, SubagentError};
    /// # use reflexion::storage::InMemoryStorage;
    /// # struct Mine;
    /// # #[reflexion::async_trait]
    /// # impl Subagent for Mine {
    /// #     async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
    /// #         std::fs::write(request.dir.join("answer.txt"), "42").map_err(|error| SubagentError::Failed { agent: "mine".into(), message: error.to_string() })?;
    /// #         Ok(AgentReport::new(Ending::Finished))
    /// #     }
    /// #     fn retry_from(&self) -> RetryFrom { RetryFrom::Change }
    /// # }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), BoxError> {
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::write(dir.path().join("project.json"), "{}")?;
    /// # std::fs::write(dir.path().join("tasks.jsonl"), "{\"id\":\"answer\",\"title\":\"Write the answer\",\"expects\":\"fix\"}\n")?;
    /// # let project = dir.path();
    /// let reflexion = Reflexion::builder().project(project).storage(InMemoryStorage::default()).agent("mine", Mine)
    ///     .check("answer", |dir| if dir.join("answer.txt").exists() { Ok(()) } else { Err("there is no answer".into()) })
    ///     .build().await?;
    /// let report = reflexion.run().await?;
    /// reflexion.shutdown().await?;
    /// assert_eq!(report.totals.confirmed, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> ReflexionBuilder {
        ReflexionBuilder {
            dir: PathBuf::from("."),
            agents: Vec::new(),
            agent_timeout: None,
            checks: Vec::new(),
            hold_out: false,
            given: Vec::new(),
        }
    }

    /// Works on every open task, as the settings say.
    ///
    /// # Errors
    /// [`RunError`] if nothing could be run.
    pub async fn run(&self) -> Result<RunReport, RunError> {
        self.run_request(RunRequest::everything(new_run_id())).await
    }

    /// Works on what the request asks for; it can also stop the run.
    ///
    /// # Errors
    /// [`RunError`] if nothing could be run.
    pub async fn run_request(&self, request: RunRequest) -> Result<RunReport, RunError> {
        self.app.0.run(request).await
    }

    /// Generates, keeps, recalls and formats lessons.
    #[must_use]
    pub fn reflections(&self) -> &dyn ReflectionService {
        &*self.app.1
    }

    /// Where they are kept.
    #[must_use]
    pub fn storage(&self) -> &dyn Storage {
        &*self.app.2
    }

    /// Releases what was built.
    ///
    /// # Errors
    /// What could not be released.
    pub async fn shutdown(self) -> Result<(), ShutdownError> {
        self.app.shutdown().await
    }
}

type Change = Box<dyn FnOnce(Layers) -> Layers + Send>;
type Decide = Arc<dyn Fn(&Path) -> Result<(), String> + Send + Sync>;

/// Says what a [`Reflexion`] is made of.
#[must_use = "nothing is built before `build`"]
pub struct ReflexionBuilder {
    dir: PathBuf,
    agents: Vec<(String, Arc<dyn Subagent>)>,
    agent_timeout: Option<Duration>,
    checks: Vec<(String, Decide)>,
    hold_out: bool,
    given: Vec<Change>,
}

impl ReflexionBuilder {
    /// The directory with `project.json`; `{}` in it is enough.
    pub fn project(self, dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), ..self }
    }

    /// Where lessons are kept, in place of `memory/reflections.jsonl`.
    pub fn storage(self, storage: impl Storage + 'static) -> Self {
        self.with(Svc::<dyn Storage>::new(storage))
    }

    /// Who writes lessons. It has the time of `reflexion.generationTimeoutMs`, and the heuristic behind it.
    pub fn generator(self, generator: impl Generator + 'static) -> Self {
        self.with(Svc::<dyn Generator>::new(generator))
    }

    /// An agent of your own, under a name that tasks, labels and reports use like any other.
    ///
    /// The agents given here are the default, in their order: the next one works where the one before is not available. Those that
    /// the project configures are still there by name. A given agent stays behind [guards](super::guarded).
    pub fn agent(mut self, name: impl Into<String>, agent: impl Subagent + 'static) -> Self {
        self.agents.push((name.into(), Arc::new(agent)));
        self
    }

    /// How long one run of an agent given here may take; an hour if nothing is said.
    pub fn agent_timeout(self, limit: Duration) -> Self {
        Self { agent_timeout: Some(limit), ..self }
    }

    /// A check of every task that your code decides, beside those that the project names: it looks at the clean room, which holds what was
    /// changed, and may block. `Err` is red, with what an agent should know of it; so is a panic. It has ten minutes.
    pub fn check(
        mut self,
        name: impl Into<String>,
        decide: impl Fn(&Path) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.checks.push((name.into(), Arc::new(decide)));
        self
    }

    /// Lets some retries go without their lessons, to measure whether lessons help; without this call none does, whatever `reflexion.holdout` says.
    pub fn hold_out(self, hold_out: bool) -> Self {
        Self { hold_out, ..self }
    }

    /// Any other service of your own: `.with(Svc::<dyn EventSink>::new(MySink))`.
    pub fn with(mut self, service: impl Handle) -> Self {
        let service = service.into_svc();
        self.given.push(Box::new(move |layers| layers.with(service)));
        self
    }

    /// The list of layers, for further changes.
    ///
    /// # Errors
    /// [`ConfigError`](crate::config::ConfigError) if `project.json` is missing or wrong; an agent that panics when it is asked what it can do.
    pub fn layers(self) -> Result<Layers, BoxError> {
        let mut values = values_of(&self.dir)?;
        values.reflexion.hold_out = self.hold_out;
        let mut limits = agent_limits();
        limits.timeout = self.agent_timeout.unwrap_or(limits.timeout);
        if !self.agents.is_empty() {
            values.agents.default = self.agents.iter().map(|(name, _)| name.clone()).collect();
        }
        let mut agents = BTreeMap::new();
        for (name, agent) in self.agents {
            agents.insert(name.clone(), given_agent(&name, agent, &limits)?);
            let (limits, env) = (limits.clone(), BTreeMap::new());
            values.agents.named.insert(name, Agent { kind: AgentKind::Given, limits, idle: None, env });
        }
        let checks: Vec<(CheckSpec, Decide)> =
            self.checks.into_iter().map(|(name, decide)| (in_code(name), decide)).collect();
        values.run.checks.extend(checks.iter().map(|(spec, _)| spec.clone()));
        let layers = live().with(Svc::<dyn Settings>::new(values));
        let layers = self.given.into_iter().fold(layers, |layers, change| change(layers));
        let (agents, checks) = (Arc::new(agents), Arc::new(checks));
        Ok(layers
            .wrap::<dyn Subagents>(move |others| Svc::new(OwnAgents { own: Arc::clone(&agents), others }))
            .wrap::<dyn Verifier>(move |others| Svc::new(OwnChecks { own: Arc::clone(&checks), others })))
    }

    /// Builds it.
    ///
    /// # Errors
    /// As [`ReflexionBuilder::layers`], and [`BuildError`](crate::layer::BuildError).
    pub async fn build(self) -> Result<Reflexion, BoxError> {
        let layers = self.layers()?;
        let app = layers.build::<(Svc<dyn Orchestrator>, Svc<dyn ReflectionService>, Svc<dyn Storage>)>().await?;
        Ok(Reflexion { app })
    }
}

/// How a check that code decides stands among those that are programs.
fn in_code(name: String) -> CheckSpec {
    let run = CheckCommand::Argv(vec!["decided-in-code".to_owned(), name.clone()]);
    CheckSpec { name, run, timeout_ms: None, results: None }
}

/// Agents of a program's own in front of the configured ones.
struct OwnAgents {
    own: Arc<BTreeMap<String, Arc<dyn Subagent>>>,
    others: Svc<dyn Subagents>,
}

impl Subagents for OwnAgents {
    fn get(&self, name: &str) -> Result<Arc<dyn Subagent>, SubagentError> {
        self.own.get(name).map_or_else(|| self.others.get(name), |agent| Ok(Arc::clone(agent)))
    }
}

/// Checks of a program's own among the others.
struct OwnChecks {
    own: Arc<Vec<(CheckSpec, Decide)>>,
    others: Svc<dyn Verifier>,
}

#[async_trait]
impl Verifier for OwnChecks {
    async fn verify(&self, request: VerifyRequest) -> Vec<CheckReport> {
        let mut reports = Vec::with_capacity(request.checks.len());
        for (scope, spec) in &request.checks {
            let own = self.own.iter().find(|(own, _)| own == spec);
            match own {
                Some(_) if request.cancel.is_cancelled() => {
                    reports.push(CheckReport::not_run(*scope, spec.clone(), "the run was interrupted"));
                }
                Some((_, decide)) => reports.push(decided(*scope, spec, decide, &request.dir).await),
                None => {
                    let checks = vec![(*scope, spec.clone())];
                    reports.extend(self.others.verify(VerifyRequest { checks, ..request.clone() }).await);
                }
            }
        }
        reports
    }
}

async fn decided(scope: CheckScope, spec: &CheckSpec, decide: &Decide, dir: &Path) -> CheckReport {
    let (decide, dir) = (Arc::clone(decide), dir.to_owned());
    let work = tokio::task::spawn_blocking(move || decide(&dir));
    let report = |result| CheckReport::decided(scope, spec.clone(), result);
    match tokio::time::timeout(spec.timeout(), work).await {
        Ok(Ok(result)) => report(result),
        Ok(Err(error)) => report(Err(match error.try_into_panic() {
            Ok(payload) => format!("it panicked: {}", panic_text(&*payload)),
            Err(error) => error.to_string(),
        })),
        Err(_) => CheckReport { timed_out: true, exit_status: None, ..report(Err(String::new())) },
    }
}
