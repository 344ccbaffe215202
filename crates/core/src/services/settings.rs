//! The user's settings, typed.

use crate::domain::{CheckCommand, policy};

/// Hands each layer the slices of the settings it reads; fixed for the life of a run.
#[cfg_attr(feature = "testing", mockall::automock)]
pub trait Settings: Send + Sync {
    /// Where the project is and what it is called.
    fn project(&self) -> &policy::Project;
    /// How a run goes.
    fn run(&self) -> &policy::Run;
    /// The reflection loop.
    fn reflexion(&self) -> &policy::Reflexion;
    /// The configured agents.
    fn agents(&self) -> &policy::Agents;
    /// How workspaces are made.
    fn workspace(&self) -> &policy::Workspace;
    /// What programs may see of the caller's environment.
    fn environment(&self) -> &policy::Environment;
    /// Who decides whether a turn ended with the task done, and what follows if not.
    fn verification(&self) -> &policy::Verification;
    /// When a change should be looked at by somebody.
    fn risk(&self) -> &policy::Risk;
    /// Who hears of a run that nobody watches.
    fn notify(&self) -> &[policy::NotifyTarget];
    /// The programs beside checks, and the files, that they name.
    fn named(&self) -> &[CheckCommand] {
        &[]
    }
}

impl Settings for policy::Values {
    fn project(&self) -> &policy::Project {
        &self.project
    }
    fn run(&self) -> &policy::Run {
        &self.run
    }
    fn reflexion(&self) -> &policy::Reflexion {
        &self.reflexion
    }
    fn agents(&self) -> &policy::Agents {
        &self.agents
    }
    fn workspace(&self) -> &policy::Workspace {
        &self.workspace
    }
    fn environment(&self) -> &policy::Environment {
        &self.environment
    }
    fn verification(&self) -> &policy::Verification {
        &self.verification
    }
    fn risk(&self) -> &policy::Risk {
        &self.risk
    }
    fn notify(&self) -> &[policy::NotifyTarget] {
        &self.notify
    }
    fn named(&self) -> &[CheckCommand] {
        &self.named
    }
}
