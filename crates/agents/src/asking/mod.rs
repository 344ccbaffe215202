//! Whoever answers a question in a given form: [`ConfiguredRespondents`] opens programs, agents and language models behind one port.
//!
//! Outermost first: the answers of the last minute, the time limit, and for agents and models a second try with the reason where an answer
//! cannot be read.

mod agent;
mod fast;
mod guards;
mod model;
mod place;
mod program;

use crate::services::{Clock, CommandRunner, Models, Respondent, Respondents, Subagent, SubagentError, Subagents, Who};
use agent::AgentRespondent;
use fast::{FastModel, FastModelParams};
use guards::{Again, Kept, Limited};
use model::ModelRespondent;
use program::ProgramRespondent;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What [`ConfiguredRespondents`] needs.
pub struct ConfiguredRespondentsParams {
    /// Runs programs.
    pub runner: Arc<dyn CommandRunner>,
    /// The configured agents, each behind its policies.
    pub subagents: Arc<dyn Subagents>,
    /// Language models, each behind its policies.
    pub models: Arc<dyn Models>,
    /// Says when an answer is old, and gives each agent run a name of its own.
    pub clock: Arc<dyn Clock>,
    /// Where programs run: the project's root.
    pub dir: PathBuf,
    /// Globs of inherited variables that programs do not get.
    pub env_deny: Vec<String>,
    /// The directories in which agents are asked are made below this one, which is the runtime's own: there no other agent in a sandbox
    /// writes to what is asked, and the next run knows what a killed process left. Where it cannot be made, they are asked among the
    /// system's temporary files.
    pub places: PathBuf,
}

/// Opens whoever the settings name.
pub struct ConfiguredRespondents {
    params: ConfiguredRespondentsParams,
}

impl ConfiguredRespondents {
    /// Over these agents, models and programs.
    #[must_use]
    pub fn new(params: ConfiguredRespondentsParams) -> Self {
        Self { params }
    }

    fn agent(&self, agent: Arc<dyn Subagent>) -> Arc<dyn Respondent> {
        let (places, clock) = (self.params.places.clone(), Arc::clone(&self.params.clock));
        Arc::new(Again(Arc::new(AgentRespondent { agent, places, clock })))
    }

    fn bare(&self, who: Who, limit: Duration) -> Result<Arc<dyn Respondent>, SubagentError> {
        let params = &self.params;
        Ok(match who {
            Who::Program { argv } => Arc::new(ProgramRespondent {
                runner: Arc::clone(&params.runner),
                argv,
                dir: params.dir.clone(),
                env_deny: params.env_deny.clone(),
                timeout: limit,
            }),
            Who::Agent { name, cannot } => self.agent(only_answers(&name, params.subagents.get(&name)?, &cannot)?),
            Who::Model { wanted, template } => {
                let (models, clock) = (Arc::clone(&params.models), Arc::clone(&params.clock));
                let model = FastModel::new(FastModelParams { models, clock, wanted, template });
                Arc::new(Again(Arc::new(ModelRespondent { model })))
            }
        })
    }
}

impl Respondents for ConfiguredRespondents {
    fn open(&self, who: Who, limit: Duration) -> Result<Arc<dyn Respondent>, SubagentError> {
        let limited = Limited { inner: self.bare(who, limit)?, limit };
        Ok(Arc::new(Kept::new(Arc::new(limited), Arc::clone(&self.params.clock))))
    }

    fn author(&self, name: &str, limit: Duration) -> Result<Arc<dyn Respondent>, String> {
        let agent = self.params.subagents.get(name).map_err(|error| error.to_string())?;
        let agent = only_answers(name, agent, "be asked about its work").map_err(|error| error.to_string())?;
        if !agent.abilities().fork {
            return Err(format!(
                "agent `{name}` cannot copy its conversation, so it was not asked; `verification.selfAssessment: fresh` \
                 asks the judge"
            ));
        }
        Ok(Arc::new(Limited { inner: self.agent(agent), limit }))
    }
}

/// The agent, if it can only answer.
fn only_answers(name: &str, agent: Arc<dyn Subagent>, cannot: &str) -> Result<Arc<dyn Subagent>, SubagentError> {
    if agent.abilities().read_only {
        return Ok(agent);
    }
    let message = format!("it has no read-only mode, so it cannot {cannot}");
    Err(SubagentError::Unsupported { agent: name.to_owned(), message })
}

#[cfg(test)]
mod tests;
