//! Policies: the user's settings as typed values, one slice per reader.
//!
//! `config` fills them; the port `services::Settings` hands each layer the slices it reads.

use super::CheckCommand;
use super::CheckSpec;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Every slice together: what a project's settings come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    /// Where the project is and what it is called.
    pub project: Project,
    /// How a run goes.
    pub run: Run,
    /// The reflection loop.
    pub reflexion: Reflexion,
    /// The configured agents.
    pub agents: Agents,
    /// How workspaces are made.
    pub workspace: Workspace,
    /// What programs may see of the caller's environment.
    pub environment: Environment,
}

/// Where the project is and what it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Shown in reports.
    pub name: String,
    /// The directory with `project.json`, absolute.
    pub root: PathBuf,
    /// The task file, absolute.
    pub tasks: PathBuf,
}

impl Project {
    /// What was learned: `memory/reflections.jsonl`.
    #[must_use]
    pub fn memory_file(&self) -> PathBuf {
        self.root.join("memory").join("reflections.jsonl")
    }

    /// Machine state: `.reflection/`.
    #[must_use]
    pub fn state_dir(&self) -> PathBuf {
        self.root.join(".reflection")
    }

    /// One directory per run, with its journal, prompts and patches.
    #[must_use]
    pub fn run_dir(&self, run: &super::RunId) -> PathBuf {
        self.state_dir().join("runs").join(run.as_str())
    }
}

/// How a run goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Attempts per task since it was last opened, unless the task says otherwise; at least 1.
    pub max_attempts: u32,
    /// Tasks worked on at the same time; at least 1.
    pub jobs: usize,
    /// What a retry starts from.
    pub retry_start: RetryStart,
    /// Sleep through rate limits, or end the attempt.
    pub limit_wait: LimitWait,
    /// Checks of every task, run before the task's own.
    pub checks: Vec<CheckSpec>,
    /// Globs, relative to the project, of files that no attempt may change.
    pub protect: Vec<String>,
}

/// What a retry starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RetryStart {
    /// Continue from the previous attempt's change; fresh after two failures with the same signature, and always
    /// fresh for agents that work from the base (`command`, `repair`).
    #[default]
    Auto,
    /// Exactly the change recorded at the end of the previous attempt.
    Continue,
    /// The base.
    Fresh,
}

/// What a rate limit means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LimitWait {
    /// Sleep until it resets, then try again.
    #[default]
    On,
    /// The task stays open.
    Off,
}

/// The reflection loop: the block `reflexion` of `project.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reflexion {
    /// Neither generates nor injects when off; everything else is equal.
    pub enabled: bool,
    /// At most so many reflections in one prompt.
    pub max_reflections_per_retry: usize,
    /// How long a generator may take before the heuristic steps in.
    pub generation_timeout: Duration,
    /// `memory prune` removes what is older, in days.
    pub retention_days: u32,
    /// At most so many bytes of reflections in one prompt.
    pub injection_bytes: usize,
    /// Who writes reflections.
    pub generator: Generator,
}

/// Who writes reflections; the heuristic steps in when it fails.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Generator {
    /// The rules alone.
    #[default]
    Heuristic,
    /// Any program: failure context as JSON on stdin, a reflection as JSON on stdout.
    Command {
        /// Program and arguments; run in the project's directory.
        argv: Vec<String>,
    },
    /// A configured agent, read-only and in a single turn.
    Agent {
        /// Its name under `agents`.
        name: String,
    },
}

/// The configured agents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agents {
    /// The fallback chain for tasks that name no agent; the first is the default.
    pub default: Vec<String>,
    /// Every agent by name.
    pub named: BTreeMap<String, Agent>,
}

/// One agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// What kind of program it is.
    pub kind: AgentKind,
    /// Wall-clock limit of one agent run.
    pub timeout: Duration,
    /// Added to its environment.
    pub env: BTreeMap<String, String>,
}

/// What kind of program an agent is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentKind {
    /// Any program: prompt on stdin, exit status 0 = it says it is done.
    Command {
        /// Program and arguments.
        argv: Vec<String>,
    },
    /// The embedded search-based repair agent.
    Repair,
}

/// How workspaces are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Runs once in a new workspace, and again when a lockfile changed.
    pub setup: Option<CheckCommand>,
    /// Globs of untracked things that are copied in.
    pub carry: Vec<String>,
    /// More than so many bytes of carried things are refused.
    pub carry_limit_bytes: u64,
    /// Added to the environment of setup, agents and checks; `{cache}` stands for this worker's cache directory.
    pub env: BTreeMap<String, String>,
}

/// What programs may see of the caller's environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// Globs of variable names that agents, generators and checks do not get.
    pub deny: Vec<String>,
}
