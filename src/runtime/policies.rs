//! What stands around everything that leaves the process: agent runs and questions to a model, as tower layers.
//!
//! Outermost first:
//!
//! | | agent run | question to a model |
//! |---|---|---|
//! | concurrency | so many at a time, over all callers | the same |
//! | retry | the loop's: each agent run is an ending of its own in the journal, and its workspace is reset before the next | passing faults, a few times, with a growing wait |
//! | rate | so many a minute, over all callers | the same; each try counts |
//! | deadline | the agent's own limit and a grace | the limit of one try |
//!
//! The deadline stands inside, so that waiting for a turn is no working time, and a turn is always given back: a caller
//! waits at most as long as those before it take. A question takes at most `(retries + 1) × timeout` and the waits
//! between; who has less time than that puts a deadline of its own outside, as the generators do
//! (`reflexion.generationTimeoutMs`).

use super::rate::SharedRateLayer;
use super::retry::PassingFaults;
use super::tower_agent::TowerAgent;
use super::tower_model::TowerModel;
use crate::domain::AgentReport;
use crate::domain::Ending;
use crate::domain::policy;
use crate::domain::policy::Limits;
use crate::services::AgentService;
use crate::services::Model;
use crate::services::ModelError;
use crate::services::ModelService;
use crate::services::Models;
use crate::services::Subagent;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use tower::BoxError;
use tower::ServiceBuilder;
use tower::limit::ConcurrencyLimitLayer;
use tower::timeout::error::Elapsed;

/// How much longer than the agent's own limit the deadline is: time enough for TERM, grace, KILL and the sweep.
const GRACE: Duration = Duration::from_secs(30);

/// An agent within its limits, which all its callers share.
///
/// The agent's own time limit comes first and knows more; the deadline here is the backstop behind it, because an
/// attempt must never hang a night. Dropping the run ends its processes.
pub(super) fn guarded_agent(name: &str, agent: Arc<dyn Subagent>, limits: &Limits) -> Arc<dyn Subagent> {
    let deadline = limits.timeout + GRACE;
    let service = ServiceBuilder::new()
        .option_layer(limits.concurrency.map(ConcurrencyLimitLayer::new))
        .option_layer(limits.per_minute.map(SharedRateLayer::per_minute))
        .map_result(move |result| late_agent(result, deadline))
        .timeout(deadline)
        .service(AgentService(Arc::clone(&agent)));
    Arc::new(TowerAgent::new(name, agent, service))
}

/// A model within its limits, which all its callers share.
pub(super) fn guarded_model(model: Arc<dyn Model>, limits: &Limits) -> Arc<dyn Model> {
    let deadline = limits.timeout;
    let service = ServiceBuilder::new()
        .option_layer(limits.concurrency.map(ConcurrencyLimitLayer::new))
        .retry(PassingFaults::at_most(limits.retries))
        .option_layer(limits.per_minute.map(SharedRateLayer::per_minute))
        .map_err(move |error| late_model(error, deadline))
        .timeout(deadline)
        .service(ModelService(model));
    Arc::new(TowerModel::new(service))
}

/// An agent that was dropped at its deadline ended in a timeout: that is a report, no error.
fn late_agent(result: Result<AgentReport, BoxError>, deadline: Duration) -> Result<AgentReport, BoxError> {
    match result {
        Err(error) if error.is::<Elapsed>() => Ok(AgentReport {
            detail: Some(format!("no end within {} s", deadline.as_secs_f64())),
            ..AgentReport::new(Ending::Timeout)
        }),
        other => other,
    }
}

fn late_model(error: BoxError, deadline: Duration) -> BoxError {
    if error.is::<Elapsed>() { ModelError::Timeout(deadline).into() } else { error }
}

/// Opens models, each within its limits; equal settings are one model, so that its limits are shared.
pub(super) struct GuardedModels {
    bare: Arc<dyn Models>,
    opened: Mutex<Vec<(policy::Model, Arc<dyn Model>)>>,
}

impl GuardedModels {
    pub fn new(bare: impl Models + 'static) -> Self {
        Self { bare: Arc::new(bare), opened: Mutex::default() }
    }
}

impl Models for GuardedModels {
    fn open(&self, settings: &policy::Model) -> Result<Arc<dyn Model>, ModelError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, model)) = opened.iter().find(|(known, _)| known == settings) {
            return Ok(Arc::clone(model));
        }
        let model = guarded_model(self.bare.open(settings)?, &settings.limits);
        opened.push((settings.clone(), Arc::clone(&model)));
        Ok(model)
    }
}

#[cfg(test)]
mod tests;
