//! Policies: the user's settings as typed values, one slice per reader.
//!
//! `config` fills them; the port `services::Settings` hands each layer the slices it reads.

use super::{CheckCommand, CheckSpec, NoticeKind, RiskThreshold, TaskSize};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
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
    /// Who decides whether a turn ended with the task done, and what follows if not.
    pub verification: Verification,
    /// When a change should be looked at by somebody.
    pub risk: Risk,
    /// Who hears of a run that nobody watches.
    pub notify: Vec<NotifyTarget>,
    /// A file with the project's own rules for secrets, absolute.
    pub redaction_rules: Option<PathBuf>,
    /// Files with what the project says of tool chains, absolute.
    pub toolchains: Vec<PathBuf>,
    /// Every program that is started beside checks, as the settings name it, and other files that the runtime reads by a name that stands
    /// there: what of it lies in the project steers the runtime.
    pub named: Vec<CheckCommand>,
}

/// What the runtime itself writes in a project's `memory/`, from the project's directory.
pub const MEMORY_FILES: [&str; 3] = ["memory/reflections.jsonl", "memory/lessons.jsonl", "memory/attempts.jsonl"];

/// Where the project is and what it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Shown in reports.
    pub name: String,
    /// The directory with its settings, absolute.
    pub root: PathBuf,
    /// The file with its settings, from there; the usual name where there is none.
    pub settings: &'static str,
    /// The task file, absolute.
    pub tasks: PathBuf,
    /// Where the clean rooms of all projects are made, absolute: outside of them, so that nothing in a room finds the files of
    /// the user's checkout above itself.
    pub rooms: PathBuf,
}

impl Project {
    /// What was learned: `memory/reflections.jsonl`.
    #[must_use]
    pub fn memory_file(&self) -> PathBuf {
        self.root.join("memory").join("reflections.jsonl")
    }

    /// How attempts ended, and which of them had lessons: `memory/attempts.jsonl`.
    #[must_use]
    pub fn attempts_file(&self) -> PathBuf {
        self.root.join("memory").join("attempts.jsonl")
    }

    /// What became of lessons: `memory/lessons.jsonl`.
    #[must_use]
    pub fn lessons_file(&self) -> PathBuf {
        self.root.join("memory").join("lessons.jsonl")
    }

    /// What this program keeps of a user, for all projects: `$XDG_STATE_HOME/reflexion`.
    #[must_use]
    pub fn user_state(&self) -> &Path {
        self.rooms.parent().unwrap_or(&self.rooms)
    }

    /// Where agents are asked something, each in a directory of its own: outside of places for temporary files, in which other programs write.
    #[must_use]
    pub fn asked_dir(&self) -> PathBuf {
        self.user_state().join("asked")
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
    /// Which parts a task without written subtasks is worked on in.
    pub decompose: Decompose,
    /// Who is asked for them, where somebody is.
    pub decomposer: Decomposer,
    /// Checks of every task, run before the task's own.
    pub checks: Vec<CheckSpec>,
    /// Globs, relative to the project, of files that no attempt may change.
    pub protect: Vec<String>,
    /// Globs, relative to the project, of files that are tests or belong to them, beside those that the tool chains know.
    pub tests: Vec<String>,
    /// What may be used up.
    pub budgets: Budgets,
    /// Whether a night keeps the machine awake.
    pub keep_awake: KeepAwake,
    /// Whether a night merges work that no check tells from no work.
    pub stayed_green: StayedGreen,
    /// How much is run to find out what a confirmation proves.
    pub proving: Proving,
    /// How often a broken workspace is repaired.
    pub healer: Healer,
}

/// Whether a night keeps the machine awake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeepAwake {
    /// As far as the system lets it.
    #[default]
    On,
    /// The machine sleeps when it likes.
    Off,
}

/// How much is run to find out what a confirmation proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proving {
    /// Runs of the checks for one confirmation, beside the two that decide.
    pub max_runs: u32,
    /// The share of the attempt's time, in thousandths, that may be spent to find the lines that no check notices; 0 for none.
    pub max_share: u32,
    /// Whether mistakes are made in new code.
    pub mutants: Mutants,
}

/// Whether mistakes are made in new code, to see whether new tests notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutants {
    /// Where new tests fail without the code only because it is missing.
    Tried,
    /// Never.
    Off,
}

impl Default for Proving {
    fn default() -> Self {
        Self { max_runs: 8, max_share: 500, mutants: Mutants::Tried }
    }
}

/// What a night does with confirmed work whose checks were green before, and that no new test tells from no work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StayedGreen {
    /// It stays on its branch, and a person merges it.
    #[default]
    Kept,
    /// It is merged like other confirmed work.
    Merged,
}

/// What may be used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budgets {
    /// By one attempt.
    pub attempt: Budget,
    /// By one task in one run.
    pub task: Budget,
    /// By one run.
    pub run: Budget,
}

/// What may be used up; no value, no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    /// Time.
    pub wall: Option<Duration>,
    /// Tokens, in and out.
    pub tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub micro_usd: Option<u64>,
    /// Agent runs, whatever became of them.
    pub attempts: Option<u32>,
}

/// What a retry starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryStart {
    /// Continue from the previous attempt's change; fresh after two failures with the same signature, and always
    /// fresh for agents that work from the base (`command`, `repair`, `completion`).
    #[default]
    Auto,
    /// Exactly the change recorded at the end of the previous attempt.
    Continue,
    /// The base.
    Fresh,
}

impl RetryStart {
    /// The word used in files and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Continue => "continue",
            Self::Fresh => "fresh",
        }
    }
}

/// Which parts a task is worked on in, where it has no written subtasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Decompose {
    /// None: a list is often steps to reproduce, or what to keep in mind.
    #[default]
    Off,
    /// A checklist.
    Checklist,
    /// A checklist, or else the only numbered list.
    Structure,
    /// A checklist, or else what somebody proposes, see [`Decomposer`].
    Asked,
}

/// Who proposes the parts of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Decomposer {
    /// Nobody.
    #[default]
    Nobody,
    /// A configured agent, read-only and in a single turn.
    Agent {
        /// Its name under `agents`.
        name: String,
        /// How long it may take.
        timeout: Duration,
    },
    /// A language model, asked directly.
    Llm {
        /// Which, and how.
        model: Model,
    },
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
    /// Some retries go without their lessons, as a coin decides, to measure whether lessons help.
    pub hold_out: bool,
    /// At most this many reflections in one prompt.
    pub max_reflections_per_retry: usize,
    /// How long a generator may take before the heuristic steps in.
    pub generation_timeout: Duration,
    /// `memory prune` removes what is older, in days.
    pub retention_days: u32,
    /// At most this many bytes of reflections in one prompt.
    pub injection_bytes: usize,
    /// Who writes reflections.
    pub generator: Generator,
}

/// As where the settings say nothing of it.
///
/// ```
/// # use reflexion_core::domain::policy;
/// let settings = policy::Reflexion { max_reflections_per_retry: 5, ..policy::Reflexion::default() };
/// assert!(settings.enabled && settings.generator == policy::Generator::Heuristic);
/// ```
impl Default for Reflexion {
    fn default() -> Self {
        Self {
            enabled: true,
            hold_out: true,
            max_reflections_per_retry: 3,
            generation_timeout: Duration::from_secs(30),
            retention_days: 30,
            injection_bytes: 8192,
            generator: Generator::default(),
        }
    }
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
    /// A language model, asked directly.
    Llm {
        /// Which, and how.
        model: Model,
    },
}

/// A language model, and how it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Whose protocol it speaks.
    pub provider: Provider,
    /// The provider's name of it.
    pub name: String,
    /// Where it is, up to and including the version (`http://127.0.0.1:11434/v1`); the provider's own if not given.
    pub base_url: Option<String>,
    /// The environment variable with the key; if not given, the provider's usual one, and none at a `base_url`.
    pub key_env: Option<String>,
    /// At most this many tokens are written.
    pub max_tokens: u32,
    /// Sampling temperature in thousandths; the provider's default if not given.
    pub temperature_milli: Option<u32>,
    /// Whether a JSON Schema is sent where one is wanted.
    pub structured: Structured,
    /// Limits around it.
    pub limits: Limits,
}

/// Whether a JSON Schema is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Structured {
    /// Sent.
    #[default]
    On,
    /// Asked for in words only, for servers that refuse it.
    Off,
}

/// Whose protocol a model speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's chat completions, which Ollama, llama.cpp and vLLM speak too.
    OpenAi,
    /// Google's `generateContent`.
    Gemini,
}

/// Limits around what leaves the process, each a tower layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// One call may take so long.
    pub timeout: Duration,
    /// So many calls at the same time.
    pub concurrency: Option<usize>,
    /// So many calls a minute.
    pub per_minute: Option<u32>,
    /// A passing fault is tried again so often. For agent runs the loop itself does it, because each is an attempt's
    /// ending and is written to the journal.
    pub retries: u32,
}

/// The configured agents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agents {
    /// The fallback chain for tasks that name no agent; the first is the default.
    pub default: Vec<String>,
    /// The fallback chain of tasks with a label, in the order of preference.
    pub by_label: Vec<(String, Vec<String>)>,
    /// The fallback chain of tasks up to a size, for those that no label decides; the smallest first.
    pub by_size: Vec<(TaskSize, Vec<String>)>,
    /// The fallback chain of a kind of work, for tasks that neither a label nor their size decides.
    pub by_category: BTreeMap<WorkCategory, Vec<String>>,
    /// Whether earlier runs change the order of a chain.
    pub history: RouteHistory,
    /// Who steps in where a task fails in the same way again and again.
    pub escalation: Escalation,
    /// Every agent by name.
    pub named: BTreeMap<String, Agent>,
}

/// Whether earlier runs change the order of a fallback chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RouteHistory {
    /// A chain stands as it is written.
    #[default]
    Off,
    /// Agents that mostly failed at such tasks come after the others of the chain.
    On,
}

/// Who steps in where a task fails in the same way again and again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Escalation {
    /// Stronger agents, one after the other; none: nobody steps in.
    pub to: Vec<String>,
    /// After this many failures in a row with the same signature.
    pub after: u32,
}

impl WorkCategory {
    /// The word used in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Backend => "backend",
            Self::Architecture => "architecture",
            Self::Frontend => "frontend",
            Self::Default => "default",
        }
    }
}

/// One agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// What kind of program it is.
    pub kind: AgentKind,
    /// Limits around one agent run.
    pub limits: Limits,
    /// An agent that says nothing for so long hangs.
    pub idle: Option<Duration>,
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
    /// A coding agent's command-line program, described in `config/agents/`.
    Cli {
        /// The description's name: `claude`, `codex`, …
        adapter: String,
        /// Program and arguments in place of the description's own program; empty: its own, from PATH.
        argv: Vec<String>,
        /// How it is run.
        options: AgentOptions,
    },
    /// Any program that speaks the Agent Client Protocol on stdin and stdout.
    Acp {
        /// Program and arguments.
        argv: Vec<String>,
        /// How it is run.
        options: AgentOptions,
    },
    /// A language model without tools: it answers with whole files.
    Completion {
        /// Which, and how it is asked.
        model: Model,
    },
    /// One that the program which embeds this library brings; no settings file can name one.
    Given,
}

/// How a coding agent is run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentOptions {
    /// The agent's name of a model; its own default if not given.
    pub model: Option<String>,
    /// At most this many answers of the model in one agent run.
    pub max_turns: Option<u32>,
    /// At most this many US cents in one agent run, as far as the agent reports its cost.
    pub max_cost_cents: Option<u32>,
    /// What happens where the agent would ask for a permission; it is never asked for.
    pub permissions: Permissions,
    /// Added to the agent's arguments.
    pub extra_args: Vec<String>,
    /// Added to the agent's own system prompt.
    pub system_prompt: Option<String>,
}

/// What happens where an agent would ask for a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Permissions {
    /// It may: it works in a workspace of its own, and what it changed is looked at before it counts.
    #[default]
    Allow,
    /// It may not: what its own settings do not allow is refused.
    Deny,
}

/// How often a broken workspace is repaired; 0: never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Healer {
    /// In one run.
    pub per_run: u32,
    /// For one subtask, in one run.
    pub per_subtask: u32,
}

impl Default for Healer {
    /// What is broken a third time is not broken by chance.
    fn default() -> Self {
        Self { per_run: 2, per_subtask: 1 }
    }
}

/// How workspaces are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Runs once in a new workspace, and again when something that it reads has changed.
    pub setup: Option<CheckCommand>,
    /// Globs of untracked things that are copied in.
    pub carry: Vec<String>,
    /// More than so many bytes of carried things are refused.
    pub carry_limit_bytes: u64,
    /// Added to the environment of setup, agents and checks; `{cache}` stands for this worker's cache directory.
    pub env: BTreeMap<String, String>,
    /// With less room than so many bytes nothing is begun or judged.
    pub min_free_bytes: u64,
    /// A change with files of more than so many bytes is not recorded.
    pub max_change_bytes: u64,
    /// So many bytes of earlier runs' transcripts are kept.
    pub transcripts_bytes: u64,
}

/// What programs may see of the caller's environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// Globs of variable names that agents, generators and checks do not get.
    pub deny: Vec<String>,
    /// Whether git lets agents, checks and setup push.
    pub pushes: Pushes,
    /// What agents, checks and setup run in; agents also where they are only asked.
    pub sandbox: Sandbox,
}

/// What keeps agents, checks and setup, and all that they start, from writing outside their workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Sandbox {
    /// Nothing.
    #[default]
    None,
    /// The Linux kernel.
    Landlock {
        /// Places beside the workspace that they may write to, as they are in the settings.
        write: Vec<PathBuf>,
    },
    /// Another program that starts them.
    Command {
        /// What is put in front of their own words; placeholders are not filled in yet.
        argv: Vec<String>,
    },
}

impl std::fmt::Display for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Landlock { .. } => f.write_str("landlock"),
            Self::Command { argv } => write!(f, "`{}`", argv.first().map_or("", String::as_str)),
        }
    }
}

/// Whether agents, checks and setup may push. The runtime itself never does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pushes {
    /// A plain `git push` of theirs is refused.
    #[default]
    Refused,
    /// Nothing is done about it.
    Allowed,
}

/// Who decides whether a turn ended with the task done, and what follows if not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// Who is asked where the facts leave it open.
    pub judge: Judge,
    /// How long one question to a judge or reviewer may take.
    pub judge_timeout: Duration,
    /// Structured questions before the judge's verdict.
    pub self_assessment: SelfAssessment,
    /// Who reviews a change before it is confirmed.
    pub reviewer: Option<Reviewer>,
    /// Who audits it.
    pub auditor: Option<Reviewer>,
    /// Which changes the two look at.
    pub review: Review,
    /// What a task must have beside its checks.
    pub workflow: Workflow,
    /// Turns of one attempt, at least 1.
    pub max_turns: u32,
    /// Whether an agent is nudged while it works.
    pub nudge: Nudge,
}

impl Verification {
    /// Whether anybody is asked where facts leave it open, beside the agents at work.
    #[must_use]
    pub fn asks_somebody(&self) -> bool {
        self.judge != Judge::None || self.reviewer.is_some() || self.auditor.is_some()
    }
}

impl Default for Verification {
    fn default() -> Self {
        Self {
            judge: Judge::None,
            judge_timeout: Duration::from_mins(2),
            self_assessment: SelfAssessment::Off,
            reviewer: None,
            auditor: None,
            review: Review::default(),
            workflow: Workflow::default(),
            max_turns: 3,
            nudge: Nudge::On,
        }
    }
}

/// Who looks at a change before it is confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reviewer {
    /// A configured agent, read-only.
    Agent {
        /// Its name under `agents`.
        name: String,
    },
    /// A language model, asked directly.
    Model {
        /// Which, and how it is asked.
        model: Model,
    },
}

/// Who is asked where the facts leave it open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Judge {
    /// Nobody: it stays unproven.
    #[default]
    None,
    /// Any program: the question as JSON on stdin, a verdict as JSON on stdout.
    Command {
        /// Program and arguments; run in the project's directory.
        argv: Vec<String>,
    },
    /// A configured agent, read-only.
    Agent {
        /// Its name under `agents`.
        name: String,
    },
    /// A language model, asked directly.
    Model {
        /// Names in order of preference; the first one that the provider offers is asked. Empty: its fast ones.
        models: Vec<String>,
        /// How it is asked; the name is filled in.
        template: Model,
    },
}

/// Whether structured questions are asked before the judge's verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SelfAssessment {
    /// No.
    #[default]
    Off,
    /// The judge answers them in a conversation of its own.
    Fresh,
    /// The agent itself, in a copy of its conversation that it may not work in.
    Agent,
}

/// Which changes the reviewer and the auditor look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Review {
    /// All of them.
    #[default]
    Always,
    /// Those whose risk needs review.
    Risky,
}

/// When a change should be looked at by somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Risk {
    /// From which score on.
    pub threshold: RiskThreshold,
}

/// What a task must have beside its checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Workflow {
    /// Tests run after the last change.
    pub tests: Required,
    /// A build after the last change.
    pub build: Required,
    /// A pull request.
    pub pull_request: Required,
    /// Green CI on the pull request.
    pub ci: Required,
}

/// Whether something is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Required {
    /// Where the project and the task suggest it.
    #[default]
    Auto,
    /// Always.
    Yes,
    /// Never.
    No,
}

/// Whether an agent is nudged while it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nudge {
    /// When it is stuck, loops, or lost its thread.
    #[default]
    On,
    /// Never.
    Off,
}

/// A kind of work, for choosing who does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkCategory {
    /// Servers, data, interfaces between programs.
    Backend,
    /// Design and structure across the whole.
    Architecture,
    /// What people see.
    Frontend,
    /// Everything else.
    Default,
}

/// Somebody who hears of a run that nobody watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyTarget {
    /// How they are reached.
    pub way: NotifyWay,
    /// What they want to hear of.
    pub on: Vec<NoticeKind>,
}

/// How somebody is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotifyWay {
    /// Any program, run in the project's directory: the notice as JSON on stdin.
    Command {
        /// Program and arguments.
        argv: Vec<String>,
    },
    /// The notice as JSON, posted to an address.
    Webhook {
        /// The address.
        url: Kept,
        /// Environment variables by the header that they are the value of.
        headers: BTreeMap<String, String>,
    },
    /// A topic of an ntfy server.
    Ntfy {
        /// The server's address.
        server: String,
        /// The topic: who knows it can read along.
        topic: Kept,
        /// The environment variable with an access token.
        token: Option<String>,
    },
    /// The desktop's own notifications.
    Desktop,
}

/// A value that may be a secret, and then is kept out of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// It stands in the settings.
    Here(String),
    /// The environment variable that holds it.
    Variable(String),
}
