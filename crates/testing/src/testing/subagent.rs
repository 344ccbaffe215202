//! An agent that does what a script says.

use crate::domain::{AgentReport, Ending};
use crate::services::{Abilities, AgentRequest, RetryFrom, Subagent, SubagentError, Subagents};
use async_trait::async_trait;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// What a scripted agent does in one run: it may look at the request, and says how the run ended.
type Act = Box<dyn FnOnce(&AgentRequest) -> Result<AgentReport, SubagentError> + Send>;

/// An agent that plays a script, one act per run, and keeps the requests it was given. It is also the set of agents:
/// every name is this one.
///
/// ```
/// # use reflexion_core::domain::Ending;
/// # use reflexion_testing::testing::ScriptedSubagent;
/// let agent = ScriptedSubagent::new()
///     .ends(Ending::Finished, "I wrote it.")
///     .ends(Ending::Timeout, "");
/// assert!(agent.requests().is_empty());
/// ```
#[derive(Clone, Default)]
pub struct ScriptedSubagent {
    acts: Arc<Mutex<VecDeque<Act>>>,
    requests: Arc<Mutex<Vec<AgentRequest>>>,
    abilities: Abilities,
}

impl ScriptedSubagent {
    /// An agent without a script: every run panics.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// It keeps its conversations and can go on with one.
    #[must_use]
    pub fn resumes(mut self) -> Self {
        self.abilities.resume = true;
        self
    }

    /// It can be asked questions: read-only, and about its own work in a copy of its conversation.
    #[must_use]
    pub fn answers(mut self) -> Self {
        (self.abilities.read_only, self.abilities.fork) = (true, true);
        self
    }

    /// The next run ends like this, without a change.
    #[must_use]
    pub fn ends(self, ending: Ending, message: &str) -> Self {
        let message = message.to_owned();
        self.acts(move |_| Ok(report(ending, message)))
    }

    /// The next run writes a file in the workspace (with [`MemoryWorkspaces`](super::MemoryWorkspaces): a name in a map)
    /// and says that it is done.
    #[must_use]
    pub fn writes(self, workspaces: &super::MemoryWorkspaces, file: &str, text: &str) -> Self {
        let (workspaces, file, text) = (workspaces.clone(), file.to_owned(), text.to_owned());
        self.acts(move |request| {
            workspaces.write(&request.dir, Path::new(&file), &text);
            Ok(report(Ending::Finished, format!("I wrote {file}.")))
        })
    }

    /// The next run does this.
    #[must_use]
    pub fn acts(self, act: impl FnOnce(&AgentRequest) -> Result<AgentReport, SubagentError> + Send + 'static) -> Self {
        self.acts.lock().unwrap_or_else(PoisonError::into_inner).push_back(Box::new(act));
        self
    }

    /// The requests so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<AgentRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn report(ending: Ending, message: String) -> AgentReport {
    AgentReport { message, ..AgentReport::new(ending) }
}

#[async_trait]
impl Subagent for ScriptedSubagent {
    async fn run(&self, request: AgentRequest) -> Result<AgentReport, SubagentError> {
        let act = self.acts.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(act) = act else {
            panic!("ScriptedSubagent has no act left for task `{}`, attempt {}", request.task, request.attempt);
        };
        let result = act(&request);
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        result
    }

    fn retry_from(&self) -> RetryFrom {
        RetryFrom::Base
    }

    fn abilities(&self) -> Abilities {
        self.abilities
    }
}

impl Subagents for ScriptedSubagent {
    fn get(&self, _name: &str) -> Result<Arc<dyn Subagent>, SubagentError> {
        Ok(Arc::new(self.clone()))
    }
}
