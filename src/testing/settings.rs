//! Settings as plain values.

use crate::domain::policy;
use crate::services::Settings;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Settings whose every slice can be set by hand; the defaults are those of an empty `project.json`, with one agent
/// named `scripted`, in a project directory that does not exist.
#[derive(Debug, Clone)]
pub struct FixedSettings {
    /// Where the project is.
    pub project: policy::Project,
    /// How a run goes.
    pub run: policy::Run,
    /// The reflection loop.
    pub reflexion: policy::Reflexion,
    /// The agents.
    pub agents: policy::Agents,
    /// How workspaces are made.
    pub workspace: policy::Workspace,
    /// What programs may see of the environment.
    pub environment: policy::Environment,
}

impl Default for FixedSettings {
    fn default() -> Self {
        let root = PathBuf::from("/nonexistent/project");
        Self {
            project: policy::Project { name: "test".to_owned(), tasks: root.join("tasks.jsonl"), root },
            run: policy::Run {
                max_attempts: 3,
                jobs: 1,
                retry_start: policy::RetryStart::Auto,
                limit_wait: policy::LimitWait::On,
                checks: Vec::new(),
                protect: Vec::new(),
            },
            reflexion: policy::Reflexion {
                enabled: true,
                max_reflections_per_retry: 3,
                generation_timeout: Duration::from_secs(30),
                retention_days: 30,
                injection_bytes: 8192,
                generator: policy::Generator::Heuristic,
            },
            agents: policy::Agents { default: vec!["scripted".to_owned()], named: BTreeMap::new() },
            workspace: policy::Workspace {
                setup: None,
                carry: Vec::new(),
                carry_limit_bytes: 2048 << 20,
                env: BTreeMap::new(),
            },
            environment: policy::Environment::default(),
        }
    }
}

impl Settings for FixedSettings {
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
}
