//! `project.json` as it is written. The doc comments are the reference in `docs/configuration.md` and the schema in
//! `config/`; only this module knows these shapes.

mod agents;
mod budget;
mod decompose;
mod judging;
mod model;
mod notify;

pub use agents::{AgentFile, AgentKindFile, AgentsFile, OneOrMany, PermissionsFile, ProviderFile};
pub use budget::{BudgetsFile, TaskUseFile, UseFile};
pub use decompose::{DecomposeFile, DecomposeWord, DecomposerFile};
pub use judging::{
    FeedbackFile, JudgeKind, RequiredFile, ReviewWhen, RiskFile, RoutingFile, SelfAssessmentFile, VerificationFile,
};
pub use model::ModelFile;
pub use notify::{NoticeFile, NotifyFile, NotifyKind};

use crate::domain::{CheckCommand, CheckSpec, named_apart, policy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A project of `reflexion`. Every key is optional; unknown keys are an error.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(title = "project.json")]
pub struct ProjectFile {
    /// A comment: text or lines of text; read by people only.
    #[serde(rename = "//", skip_serializing)]
    pub comment: Option<OneOrMany>,
    /// Where editors find the schema; `reflexion` does not read it.
    #[serde(rename = "$schema", skip_serializing)]
    pub schema: Option<String>,
    /// Shown in reports; the directory's name if empty.
    pub name: String,
    /// The task file, relative to the project.
    pub tasks: String,
    /// Checks of every task, run before the task's own. One that is red at the base is *known red*: it counts against an
    /// attempt only if it fails differently, or more fails than there (`docs/verdicts.md`). Each has a name of
    /// its own, also among a task's checks.
    #[serde(deserialize_with = "named_apart")]
    pub checks: Vec<CheckSpec>,
    /// Attempts per task (and per subtask) since it was last opened; at least 1. A task's own `maxAttempts` wins.
    #[schemars(range(min = 1))]
    pub max_attempts: u32,
    /// Tasks worked on at the same time; at least 1.
    #[schemars(range(min = 1, max = 1024))]
    pub jobs: usize,
    /// The agents: `default` names one, or a list of them as a fallback chain; every other key is an agent. `repair` is
    /// always there.
    pub agents: AgentsFile,
    /// Language models, each under a name of yours, which stands as `model` where one is asked: by an agent of type `completion`, the generator, the
    /// judge, the reviewers and whoever is asked for parts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, ModelFile>,
    /// The reflection loop.
    pub reflexion: ReflexionFile,
    /// In which parts a task without `subtasks` is worked on: which lists in its description, item by item. `off`: none, because
    /// many a list is steps to reproduce or things to keep in mind. `checklist`: `- [ ]` items; ticked ones are done.
    /// `structure`: a checklist, or else the description's only numbered list. An object such as `{"agent": "claude"}` names who
    /// is asked for the parts of a task without a checklist, see [formats](formats.md#parts). `reflexion task show` says what
    /// comes of it.
    pub decompose: DecomposeFile,
    /// What a retry starts from.
    pub retry: RetryFile,
    /// Rate limits of agents.
    pub limits: LimitsFile,
    /// Runs once in a new workspace, and again when something that it reads has changed; a string goes to `sh -c`, a list runs without a
    /// shell. It ends with 0 if all is well, with 2 if it went on with warnings; anything else is a failure, and so is 2 for work
    /// where the base had 0.
    #[serde(deserialize_with = "program", skip_serializing_if = "Option::is_none")]
    pub setup: Option<CheckCommand>,
    /// Globs, relative to the project, of untracked things that are copied into workspaces: `node_modules`, `.env`. Directories are
    /// as open to others as yours. A link to a directory elsewhere is left out, and so is a repository's own `.git`; that is said when a
    /// run begins, and so is a glob that matches nothing.
    pub carry: Vec<String>,
    /// At most this many megabytes may be carried into a workspace.
    pub carry_limit_mb: u64,
    /// Workspaces.
    pub workspace: WorkspaceFile,
    /// Globs of environment variables that agents, generators and checks do not get.
    pub env_deny: Vec<String>,
    /// Globs, relative to the project, of files that no attempt may change; a directory protects all below it. A leading `./` says
    /// nothing; a leading `/` means the project's directory, and then `*` does not reach into directories. A glob that matches no file at
    /// the base is told by `doctor` and when a run begins. One that can match none is refused: an empty one, one with `..` or `~/`, and one
    /// with a leading `/` that names something outside of the project which is not in it.
    pub protect: Vec<String>,
    /// Globs, read like those of `protect`, of test files whose names do not say so (`qa/**`): a check that passes only with a change of these
    /// proves nothing, see [what a confirmation proves](verdicts.md#what-a-confirmation-proves).
    pub tests: Vec<String>,
    /// Whether agents, checks and setup may push. Off: a plain `git push` of theirs is refused, see
    /// [what is stopped](sandbox.md). The runtime itself never pushes.
    pub allow_push: bool,
    /// What agents, checks and setup run in, with everything they start; so do agents that are only asked, as judges and the like. `none`: nothing. `landlock`: the Linux kernel lets them
    /// write to their workspace, temporary files and caches, and nowhere else; `{"write": […]}` is the same with more places. Or
    /// a program that starts them, `{"command": ["bwrap", …]}`. See [sandbox](sandbox.md).
    pub sandbox: SandboxFile,
    /// Who decides whether a turn ended with the task done.
    pub verification: VerificationFile,
    /// How risky a change must be to need review.
    pub risk: RiskFile,
    /// What an agent hears after a turn that did not do it.
    pub feedback: FeedbackFile,
    /// Agents by kind of work.
    pub routing: RoutingFile,
    /// Who hears of a run that nobody watches: what needs a person, and how the run ended. Nobody if empty.
    pub notify: Vec<NotifyFile>,
    /// What attempts, tasks and runs may use up, see [budgets](overnight.md#budgets).
    pub budget: BudgetsFile,
    /// Nights.
    pub overnight: OvernightFile,
    /// How much is run to find out what a confirmation proves, see [what a confirmation proves](verdicts.md#what-a-confirmation-proves).
    pub proof: ProofFile,
    /// Repairs of broken workspaces, see [healer](overnight.md#when-a-workspace-breaks).
    pub healer: HealerFile,
    /// Which secrets are replaced in what is stored, shown and sent, see [secrets](secrets.md).
    pub redaction: RedactionFile,
    /// Files about tool chains that the program does not know, or knows otherwise, relative to the project, see
    /// [your own tool chains](toolchains.md#your-own).
    pub toolchains: Vec<String>,
}

/// A list without a program is no program; an empty line for the shell does nothing, and well.
fn program<'de, D: serde::Deserializer<'de>>(de: D) -> Result<Option<CheckCommand>, D::Error> {
    let command = Option::<CheckCommand>::deserialize(de)?;
    match &command {
        Some(CheckCommand::Argv(argv)) if argv.first().is_none_or(String::is_empty) => {
            let message = r#"the list names no program; e.g. ["npm", "ci"], and without `setup` nothing is run"#;
            Err(serde::de::Error::custom(message))
        }
        _ => Ok(command),
    }
}

impl Default for ProjectFile {
    fn default() -> Self {
        Self {
            comment: None,
            schema: None,
            name: String::new(),
            tasks: "tasks.jsonl".to_owned(),
            checks: Vec::new(),
            max_attempts: 3,
            jobs: 1,
            agents: AgentsFile::default(),
            models: BTreeMap::new(),
            reflexion: ReflexionFile::default(),
            decompose: DecomposeFile::default(),
            retry: RetryFile::default(),
            limits: LimitsFile::default(),
            setup: None,
            carry: Vec::new(),
            carry_limit_mb: 2048,
            workspace: WorkspaceFile::default(),
            env_deny: Vec::new(),
            protect: Vec::new(),
            tests: Vec::new(),
            allow_push: false,
            sandbox: SandboxFile::Kind(SandboxKindFile::None),
            verification: VerificationFile::default(),
            risk: RiskFile::default(),
            feedback: FeedbackFile::default(),
            routing: RoutingFile::default(),
            notify: Vec::new(),
            budget: BudgetsFile::default(),
            overnight: OvernightFile::default(),
            proof: ProofFile::default(),
            healer: HealerFile::default(),
            redaction: RedactionFile::default(),
            toolchains: Vec::new(),
        }
    }
}

/// What a confirmation proves.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ProofFile {
    /// How often the checks are run at most for one confirmation. The two runs that decide (the change without its tests, its tests without
    /// the rest) are made in any case.
    pub max_runs: u32,
    /// To find the lines of a change that no check notices, the checks are run without parts of it for at most this share of the time that
    /// the attempt took, and for 30 seconds in any case; 0 leaves that out. It holds up none of the other runs.
    #[schemars(range(min = 0))]
    pub max_share: f64,
    /// Where new tests fail without the new code only because it is missing, small mistakes are made in that code, one at a time, to see whether
    /// they notice; in no file that removes files or starts programs.
    pub mutants: bool,
}

impl Default for ProofFile {
    fn default() -> Self {
        Self { max_runs: 8, max_share: 0.5, mutants: true }
    }
}

/// Nights.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct OvernightFile {
    /// The machine does not go to sleep while `reflexion overnight` works, as far as the system lets it, see
    /// [awake](overnight.md#the-machine-stays-awake).
    pub keep_awake: bool,
    /// Work that is confirmed although no check turned green and no new test fails without it is merged too. Otherwise it stays on its
    /// branch for you to look at, see [what a person merges](overnight.md#what-a-person-merges).
    pub merge_stayed_green: bool,
}

impl Default for OvernightFile {
    fn default() -> Self {
        Self { keep_awake: true, merge_stayed_green: false }
    }
}

/// The block of the Reflexion log, and our own keys.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ReflexionFile {
    /// Off: reflections are neither written nor put into prompts; everything else is equal.
    pub enabled: bool,
    /// Some retries go without their lessons, as a coin decides before they start (one in five, later one in ten), so that `reflexion memory stats`
    /// can say whether lessons help. `REFLEXION_HOLDOUT=0` switches it off too.
    pub holdout: bool,
    /// At most this many reflections in one prompt.
    pub max_reflections_per_retry: usize,
    /// How long a generator may take, in milliseconds, before the heuristic answers in its place.
    pub generation_timeout_ms: u64,
    /// Reflections that are older, in days, end with the next run: no prompt holds them any more, and `reflexion memory prune` removes them. What is pinned, what
    /// other tasks may see and what was measured to help stays. The next run removes what `.reflection/` keeps of older turns, too.
    pub retention_days: u32,
    /// At most this many bytes of reflections in one prompt.
    pub injection_bytes: usize,
    /// Who writes reflections.
    pub generator: GeneratorFile,
}

impl Default for ReflexionFile {
    fn default() -> Self {
        let policy::Reflexion {
            enabled,
            hold_out,
            max_reflections_per_retry,
            generation_timeout,
            retention_days,
            injection_bytes,
            generator: _,
        } = policy::Reflexion::default();
        Self {
            enabled,
            holdout: hold_out,
            max_reflections_per_retry,
            generation_timeout_ms: u64::try_from(generation_timeout.as_millis()).unwrap_or(u64::MAX),
            retention_days,
            injection_bytes,
            generator: GeneratorFile {
                kind: GeneratorKind::Heuristic,
                argv: Vec::new(),
                agent: None,
                model: None,
                provider: None,
                base_url: None,
                key_env: None,
                max_tokens: None,
                temperature: None,
                structured: None,
                retries: None,
            },
        }
    }
}

/// Who writes reflections.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GeneratorFile {
    /// `heuristic`: rules that read the failing output. `command`: any program. `agent`: a configured agent, asked read-only and
    /// in one turn. `llm`: a language model, asked directly. The heuristic steps in when the others fail.
    #[serde(rename = "type")]
    pub kind: GeneratorKind,
    /// For `command`: program and arguments; the failure context comes as JSON on stdin, a reflection is expected as JSON
    /// on stdout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// For `agent`: its name under `agents`; the first of `agents.default` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// For `llm`: a name under `models`, or the provider's name with a `provider` beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// For `llm`: whose protocol the model speaks; Ollama, llama.cpp, vLLM and most others speak `openai`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderFile>,
    /// For `llm`: where the model is, up to and including the version, e.g. `http://127.0.0.1:11434/v1`; the provider's own if not
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// For `llm`: the environment variable that holds the key; `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `GEMINI_API_KEY` if not given.
    /// A model at a `baseUrl` needs none, and gets one only if this names it: a provider's usual key goes to nobody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// For `llm`: at most this many tokens are written; 4096 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// For `llm`: sampling temperature, 0 to 2; the provider's default if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// For `llm`: whether a JSON Schema is sent where one is wanted; off for servers that refuse it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<bool>,
    /// For `llm`: how often a passing fault (a rate limit, HTTP 5xx, a broken connection) of the model is tried again; 2 if not
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
}

/// What kind of generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GeneratorKind {
    /// Rules that read the failing output.
    Heuristic,
    /// Any program.
    Command,
    /// A configured agent.
    Agent,
    /// A language model.
    Llm,
}

/// What a retry starts from.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RetryFile {
    /// `auto`: continue from the previous attempt's change, and fresh from the base after two failures with the same
    /// signature; `command` and `repair` agents always start fresh. `continue`, `fresh`: always.
    pub start: RetryStartFile,
}

/// What a retry starts from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryStartFile {
    /// As the agent and the failures suggest.
    #[default]
    Auto,
    /// The previous attempt's change.
    Continue,
    /// The base.
    Fresh,
}

/// Rate limits of agents.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LimitsFile {
    /// Sleep until a rate limit resets; otherwise the task stays open. `REFLEXION_LIMIT_WAIT=off` switches it off too.
    pub wait: bool,
}

impl Default for LimitsFile {
    fn default() -> Self {
        Self { wait: true }
    }
}

/// Secrets in what is stored, shown and sent.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RedactionFile {
    /// A file with rules of your own, beside those that come with the program: TOML in the format of gitleaks, relative to the project,
    /// see [your own rules](secrets.md#your-own-rules).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
}

/// Repairs of broken workspaces.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HealerFile {
    /// Off: what a broken workspace stands in the way of is blocked at once.
    pub enabled: bool,
    /// So often in one run.
    pub per_run: u32,
    /// So often for one subtask, in one run.
    pub per_subtask: u32,
}

impl Default for HealerFile {
    fn default() -> Self {
        let policy = crate::domain::policy::Healer::default();
        Self { enabled: true, per_run: policy.per_run, per_subtask: policy.per_subtask }
    }
}

/// Workspaces.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WorkspaceFile {
    /// Added to the environment of setup, agents and checks; `{cache}` stands for a directory under `.reflection/cache/`
    /// that belongs to one worker, e.g. `"CARGO_TARGET_DIR": "{cache}/target"`. What checks find there, see
    /// [verdicts](verdicts.md#the-clean-room).
    pub env: BTreeMap<String, String>,
    /// With less than this many megabytes free on a disk that holds the project, your repository, workspaces or clean rooms, no attempt begins or is
    /// judged: the run stops, says which place it is, and goes on when there is room again. 0: it is not looked at.
    pub min_free_mb: u64,
    /// An attempt whose change has files of more than this many megabytes in all is refuted, and its change is not recorded.
    /// What was deleted does not count.
    pub max_change_mb: u64,
    /// When a run begins, the transcripts of earlier ones may fill this many megabytes under `.reflection/runs`; what is more is
    /// removed, the oldest first. Those of the newest run stay, and journals and patches always do.
    pub transcripts_mb: u64,
}

impl Default for WorkspaceFile {
    fn default() -> Self {
        Self { env: BTreeMap::new(), min_free_mb: 200, max_change_mb: 256, transcripts_mb: 1024 }
    }
}

/// What agents, checks and setup run in.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected \"none\", \"landlock\", {\"write\": […]} or {\"command\": […]}")]
pub enum SandboxFile {
    /// By name.
    Kind(SandboxKindFile),
    /// `landlock`, with more places to write to.
    Landlock(LandlockFile),
    /// A program.
    Command(SandboxCommandFile),
}

/// A sandbox without settings.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxKindFile {
    /// None.
    None,
    /// The Linux kernel.
    Landlock,
}

/// `landlock`, with more places to write to.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LandlockFile {
    /// Directories and files beside those of the list in [sandbox](sandbox.md): absolute, `~/…`, or from the project.
    pub write: Vec<String>,
}

/// A program that starts others in a sandbox.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxCommandFile {
    /// Put in front of the words of every agent, check and setup. `{workspace}`, `{git}`, `{cache}`, `{project}`
    /// and `{home}` stand for directories.
    pub command: Vec<String>,
}

/// serde also takes a list for an object, by position; in settings nobody means that, and it would be ignored silently.
pub(super) struct Objects;

impl<'de> Deserialize<'de> for Objects {
    fn deserialize<D: serde::Deserializer<'de>>(de: D) -> Result<Self, D::Error> {
        const BLOCKS: [&str; 6] = ["reflexion", "generator", "retry", "limits", "workspace", "healer"];
        struct Block;
        impl<'de> serde::de::Visitor<'de> for Block {
            type Value = Objects;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Objects, A::Error> {
                while let Some(key) = map.next_key::<String>()? {
                    if BLOCKS.contains(&key.as_str()) {
                        map.next_value::<Objects>()?;
                    } else {
                        map.next_value::<serde::de::IgnoredAny>()?;
                    }
                }
                Ok(Objects)
            }
        }
        de.deserialize_map(Block)
    }
}
