//! From the file's shapes to domain policies, checked on the way.

use super::effective::{Effective, Origin};
use super::error::{ConfigError, nearest};
use super::model::{ModelSettings, NO_MODEL_NAME, fits_argument, in_parts};
use super::place::seen_from_here;
use super::wire::{
    AgentFile, AgentKindFile, GeneratorKind, HealerFile, OneOrMany, PermissionsFile, ProjectFile, RetryStartFile,
    SandboxFile, SandboxKindFile,
};
use crate::domain::{FileGlobs, GlobError, TaskSize, policy};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The embedded agent, which needs no configuration.
const REPAIR: &str = "repair";

/// An agent run without a limit of its own: long enough for a large task, short enough for a night.
const HOUR_MS: u64 = 3_600_000;
/// The embedded agent's limit: it works for seconds.
const TEN_MINUTES_MS: u64 = 600_000;
/// Longer than a slow build inside a tool call, during which agents print nothing.
const IDLE_MS: u64 = 900_000;
/// One failure may be bad luck; the same one twice is not.
const ESCALATE_AFTER: u32 = 2;

impl Effective {
    /// Checks what types cannot say, and gives the policies.
    ///
    /// # Errors
    /// [`ConfigError::Value`] with the key and who set it.
    pub fn settings(&self) -> Result<policy::Values, ConfigError> {
        let file = &self.file;
        self.require(file.max_attempts >= 1, "maxAttempts", "is at least 1")?;
        self.require((1..=1024).contains(&file.jobs), "jobs", "is 1 to 1024")?;
        self.require(file.reflexion.generation_timeout_ms > 0, "reflexion.generationTimeoutMs", "is more than 0")?;
        self.require(!file.tasks.is_empty(), "tasks", "names a file")?;
        for (key, globs) in [("carry", &file.carry), ("envDeny", &file.env_deny)] {
            for glob in globs {
                let valid = globset::Glob::new(glob);
                self.require(valid.is_ok(), key, &format!("has the glob `{glob}`, which cannot be read"))?;
                let names_something = glob.split('/').any(|name| !matches!(name, "" | "." | ".."));
                self.require(names_something, key, &format!("has the glob `{glob}`, which names nothing"))?;
            }
        }
        for (key, globs) in [("protect", &file.protect), ("tests", &file.tests)] {
            if let Err(error) = FileGlobs::new(globs) {
                self.require(false, key, &format!("has the glob `{}`, which {}", error.glob, error.because))?;
            }
            if let Some(error) = self.elsewhere(globs) {
                self.require(false, key, &format!("has the glob `{}`, which {}", error.glob, error.because))?;
            }
        }
        self.checks()?;
        let agents = self.agents()?;
        self.check_models(&agents.named)?;
        Ok(policy::Values {
            project: self.project(),
            run: policy::Run { budgets: self.budgets()?, decomposer: self.decomposer(&agents.named)?, ..run(file) },
            reflexion: self.reflexion(&agents)?,
            verification: self.verification(&agents.named)?,
            risk: policy::Risk { threshold: file.risk.threshold },
            notify: self.notify()?,
            redaction_rules: file.redaction.rules.as_ref().map(|path| self.dir.join(path)),
            toolchains: file.toolchains.iter().map(|path| self.dir.join(path)).collect(),
            named: self.named(),
            agents,
            workspace: policy::Workspace {
                setup: file.setup.clone(),
                carry: file.carry.clone(),
                carry_limit_bytes: file.carry_limit_mb.saturating_mul(1 << 20),
                env: file.workspace.env.clone(),
                min_free_bytes: file.workspace.min_free_mb.saturating_mul(1 << 20),
                max_change_bytes: file.workspace.max_change_mb.saturating_mul(1 << 20),
                transcripts_bytes: file.workspace.transcripts_mb.saturating_mul(1 << 20),
            },
            environment: policy::Environment {
                deny: file.env_deny.clone(),
                pushes: if file.allow_push { policy::Pushes::Allowed } else { policy::Pushes::Refused },
                sandbox: self.sandbox()?,
            },
        })
    }

    fn sandbox(&self) -> Result<policy::Sandbox, ConfigError> {
        Ok(match &self.file.sandbox {
            SandboxFile::Kind(SandboxKindFile::None) => policy::Sandbox::None,
            SandboxFile::Kind(SandboxKindFile::Landlock) => policy::Sandbox::Landlock { write: Vec::new() },
            SandboxFile::Landlock(file) => {
                policy::Sandbox::Landlock { write: file.write.iter().map(PathBuf::from).collect() }
            }
            SandboxFile::Command(file) => {
                let named = file.command.first().is_some_and(|program| !program.is_empty());
                self.require(named, "sandbox", "names no program in `command`")?;
                policy::Sandbox::Command { argv: file.command.clone() }
            }
        })
    }

    pub(super) fn require(&self, holds: bool, key: &str, message: &str) -> Result<(), ConfigError> {
        if holds { Ok(()) } else { Err(self.wrong(key, format!("`{key}` {message}"))) }
    }

    /// A file of the project as a person finds it from where the program was started.
    fn shown(&self, file: &str) -> String {
        seen_from_here(&self.dir.join(file))
    }

    /// An error that names who set the key; else who has the last word on what is in it, or on what it is in.
    pub(super) fn wrong(&self, key: &str, message: String) -> ConfigError {
        let below = |whole: &str, part: &str| part.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.'));
        let near = self.values.iter().filter(|(k, _)| below(key, k) || below(k, key)).map(|(_, set)| set);
        let set = self.values.get(key).or_else(|| near.max_by_key(|(_, origin)| origin.precedence()));
        let origin = match set {
            None => self.shown(self.name),
            Some((_, Origin::File(file))) => self.shown(file),
            Some((_, origin)) => origin.to_string(),
        };
        ConfigError::Value { origin, message }
    }

    /// The first of these globs that begins with `/` and names what is on this machine, and is not in the project: whoever wrote it means
    /// something outside of it, where nothing can match.
    #[must_use]
    pub fn elsewhere(&self, globs: &[String]) -> Option<GlobError> {
        globs.iter().filter(|glob| glob.starts_with('/')).find_map(|glob| {
            let one = FileGlobs::new(std::slice::from_ref(glob)).ok()?;
            let below = one.below().next().filter(|below| !below.as_os_str().is_empty())?;
            let is_there = |root: &Path| root.join(below).symlink_metadata().is_ok();
            let inside = Path::new("/").join(glob.trim_start_matches('/'));
            let instead = inside.strip_prefix(&self.dir).unwrap_or(below).display().to_string();
            let because = format!(
                "names something outside of the project: a leading `/` means the project's directory, in which there is no `{}`; write \
                 `{instead}` if you mean that in the project",
                below.display()
            );
            (is_there(Path::new("/")) && !is_there(&self.dir)).then(|| GlobError { glob: glob.clone(), because })
        })
    }

    fn project(&self) -> policy::Project {
        let file = &self.file;
        let dir_name = || self.dir.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        policy::Project {
            name: if file.name.is_empty() { dir_name() } else { file.name.clone() },
            root: self.dir.clone(),
            settings: self.name,
            tasks: self.dir.join(&file.tasks),
            rooms: state_home().join("reflexion/rooms"),
        }
    }

    fn checks(&self) -> Result<(), ConfigError> {
        for (i, check) in self.file.checks.iter().enumerate() {
            let twice = self.file.checks[..i].iter().any(|c| c.name == check.name);
            self.require(
                !twice,
                "checks",
                &format!("has two checks named `{}`; give the second one another name", check.name),
            )?;
        }
        Ok(())
    }

    fn agents(&self) -> Result<policy::Agents, ConfigError> {
        let file = &self.file.agents;
        let mut named: BTreeMap<String, policy::Agent> = BTreeMap::new();
        for (name, _) in AgentKindFile::BUILT_IN {
            named.insert(name.to_owned(), self.agent(name, &AgentFile::default())?);
        }
        for (name, agent) in &file.named {
            named.insert(name.clone(), self.agent(name, agent)?);
        }
        let default = match &file.default {
            None => vec![REPAIR.to_owned()],
            Some(chain) => self.chain(&named, chain, "agents.default")?,
        };
        let by_label = file
            .labels
            .iter()
            .map(|(label, chain)| Ok((label.clone(), self.chain(&named, chain, &format!("agents.labels.{label}"))?)));
        let by_label = by_label.collect::<Result<_, _>>()?;
        let routed = self.file.routing.entries();
        let by_category = routed.map(|(category, key, chain)| Ok((category, self.chain(&named, chain, key)?)));
        let by_category = by_category.collect::<Result<_, ConfigError>>()?;
        let routing = &self.file.routing;
        let by_size = self.by_size(&named)?;
        let history = if routing.history { policy::RouteHistory::On } else { policy::RouteHistory::Off };
        let to = routing.escalate_to.as_ref().map(|chain| self.chain(&named, chain, "routing.escalateTo"));
        let after = routing.escalate_after.unwrap_or(ESCALATE_AFTER);
        self.require(after >= 1, "routing.escalateAfter", "is at least 1")?;
        let escalation = policy::Escalation { to: to.transpose()?.unwrap_or_default(), after };
        Ok(policy::Agents { default, by_label, by_size, by_category, history, escalation, named })
    }

    fn by_size(&self, named: &BTreeMap<String, policy::Agent>) -> Result<Vec<(TaskSize, Vec<String>)>, ConfigError> {
        let (key, routes) = ("routing.bySize", &self.file.routing.by_size);
        let mut by_size: Vec<(TaskSize, Vec<String>)> = Vec::new();
        for route in routes {
            let up_to = TaskSize::from(route.up_to);
            let reached = by_size.last().is_none_or(|(before, _)| *before < up_to);
            let message = format!("has an entry up to `{}` that the one before it leaves nothing to", up_to.as_str());
            self.require(reached, key, &message)?;
            by_size.push((up_to, self.chain(named, &route.agents, key)?));
        }
        Ok(by_size)
    }

    /// A fallback chain of known agents.
    fn chain(
        &self,
        named: &BTreeMap<String, policy::Agent>,
        chain: &OneOrMany,
        key: &str,
    ) -> Result<Vec<String>, ConfigError> {
        let names = match chain {
            OneOrMany::One(name) => vec![name.clone()],
            OneOrMany::Many(names) => names.clone(),
        };
        self.require(!names.is_empty(), key, "names no agent")?;
        for name in &names {
            self.known_agent(named, name, key)?;
        }
        Ok(names)
    }

    pub(super) fn known_agent(
        &self,
        named: &BTreeMap<String, policy::Agent>,
        name: &str,
        key: &str,
    ) -> Result<(), ConfigError> {
        if named.contains_key(name) {
            return Ok(());
        }
        let hint = match nearest(name, named.keys().map(String::as_str)) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("configured: {}", named.keys().cloned().collect::<Vec<_>>().join(", ")),
        };
        Err(self.wrong(key, format!("`{key}` names the agent `{name}`, which is not under `agents`; {hint}")))
    }

    fn agent(&self, name: &str, file: &AgentFile) -> Result<policy::Agent, ConfigError> {
        let key = format!("agents.{name}");
        let built_in = || AgentKindFile::BUILT_IN.iter().find(|(own, _)| *own == name).map(|(_, kind)| *kind);
        let Some(kind) = file.kind.or_else(built_in) else {
            let kinds = AgentKindFile::BUILT_IN.map(|(name, _)| name).join(", ");
            return Err(self.wrong(&key, format!("`{key}` needs a `type`: command, acp, completion, {kinds}")));
        };
        self.fits(&key, kind, file)?;
        self.require(file.model.as_deref().is_none_or(fits_argument), &key, NO_MODEL_NAME)?;
        let argv = file.argv.clone();
        let cli = |adapter: &str| policy::AgentKind::Cli {
            adapter: adapter.to_owned(),
            argv: argv.clone(),
            options: options(file),
        };
        let limits = self.limits(&key, kind, file)?;
        let domain = match kind {
            AgentKindFile::Command => policy::AgentKind::Command { argv },
            AgentKindFile::Acp => policy::AgentKind::Acp { argv, options: options(file) },
            AgentKindFile::Repair => policy::AgentKind::Repair,
            AgentKindFile::Completion => {
                let model = self.model(file, &key, limits.clone())?;
                policy::AgentKind::Completion { model }
            }
            other => cli(AgentKindFile::BUILT_IN.iter().find(|(_, k)| *k == other).map_or("", |(name, _)| name)),
        };
        let watched = matches!(domain, policy::AgentKind::Cli { .. } | policy::AgentKind::Acp { .. });
        let idle = file.idle_timeout_ms.unwrap_or(IDLE_MS);
        let idle = (watched && idle > 0).then(|| Duration::from_millis(idle));
        Ok(policy::Agent { kind: domain, limits, idle, env: file.env.clone() })
    }

    /// A key that a kind of agent would ignore is an error: whoever wrote it means something by it.
    fn fits(&self, key: &str, kind: AgentKindFile, file: &AgentFile) -> Result<(), ConfigError> {
        use AgentKindFile::{Acp, Command, Completion, Repair};
        let needs_argv = matches!(kind, Command | Acp);
        if needs_argv {
            let what = if kind == Command { "command" } else { "program that speaks ACP" };
            let message = format!("is a {what} and needs `argv`, a list of program and arguments");
            self.require(!file.argv.is_empty(), key, &message)?;
        }
        let program = !matches!(kind, Repair | Completion);
        let watched = program && kind != Command;
        let model = kind == Completion;
        let keys = [
            ("argv", !file.argv.is_empty(), program),
            ("idleTimeoutMs", file.idle_timeout_ms.is_some(), watched),
            ("maxTurns", file.max_turns.is_some(), watched),
            ("maxCostUsd", file.max_cost_usd.is_some(), watched),
            ("permissions", file.permissions.is_some(), watched),
            ("extraArgs", !file.extra_args.is_empty(), watched),
            ("systemPrompt", file.system_prompt.is_some(), watched),
            ("model", file.model.is_some(), watched || model),
        ];
        if kind == Repair {
            self.require(file.argv.is_empty(), key, "is the embedded agent and takes no `argv`")?;
        }
        self.all_used(key, "an agent", keys.into_iter().chain(ModelSettings::from(file).keys(model)))?;
        if let Some(usd) = file.max_cost_usd {
            self.require((0.01..1e6).contains(&usd), key, "has a `maxCostUsd` that is not at least 0.01")?;
        }
        self.require(file.max_turns != Some(0), key, "has a `maxTurns` of 0")
    }

    /// As [`Effective::fits`], for the generator.
    fn generator_fits(&self, key: &str) -> Result<(), ConfigError> {
        let file = &self.file.reflexion.generator;
        let model = file.kind == GeneratorKind::Llm;
        let keys = [
            ("argv", !file.argv.is_empty(), file.kind == GeneratorKind::Command),
            ("agent", file.agent.is_some(), file.kind == GeneratorKind::Agent),
            ("model", file.model.is_some(), model),
        ];
        self.all_used(key, "a generator", keys.into_iter().chain(ModelSettings::from(file).keys(model)))
    }

    /// Keys as (name, given, used by this type): what is given must be used.
    pub(super) fn all_used(
        &self,
        key: &str,
        of: &str,
        keys: impl Iterator<Item = (&'static str, bool, bool)>,
    ) -> Result<(), ConfigError> {
        for (name, given, used) in keys {
            self.require(!given || used, key, &format!("has `{name}`, which {of} of this `type` does not use"))?;
        }
        Ok(())
    }

    fn limits(&self, key: &str, kind: AgentKindFile, file: &AgentFile) -> Result<policy::Limits, ConfigError> {
        let timeout = file.timeout_ms.unwrap_or(if kind == AgentKindFile::Repair { TEN_MINUTES_MS } else { HOUR_MS });
        self.require(timeout > 0, key, "has a `timeoutMs` of 0")?;
        self.require(file.concurrency != Some(0), key, "has a `concurrency` of 0")?;
        self.require(file.per_minute != Some(0), key, "has a `perMinute` of 0")?;
        Ok(policy::Limits {
            timeout: Duration::from_millis(timeout),
            concurrency: file.concurrency,
            per_minute: file.per_minute,
            retries: self.model_settings(file).retries(),
        })
    }

    fn reflexion(&self, agents: &policy::Agents) -> Result<policy::Reflexion, ConfigError> {
        let file = &self.file.reflexion;
        let key = "reflexion.generator";
        self.generator_fits(key)?;
        let generator = match file.generator.kind {
            GeneratorKind::Heuristic => policy::Generator::Heuristic,
            GeneratorKind::Command => {
                let given = !file.generator.argv.is_empty();
                self.require(given, key, "is a command and needs `argv`, a list of program and arguments")?;
                policy::Generator::Command { argv: file.generator.argv.clone() }
            }
            GeneratorKind::Agent => {
                let name = file.generator.agent.clone().unwrap_or_else(|| agents.default[0].clone());
                self.known_agent(&agents.named, &name, key)?;
                let (writes, why) = match &agents.named[&name].kind {
                    policy::AgentKind::Repair => (false, "an embedded repair agent, which cannot write reflections"),
                    policy::AgentKind::Completion { .. } => (
                        false,
                        "a completion agent, which only writes files; give its model to a generator of type `llm`",
                    ),
                    _ => (true, ""),
                };
                self.require(writes, key, &format!("names `{name}`, {why}"))?;
                policy::Generator::Agent { name }
            }
            GeneratorKind::Llm => {
                let limits = policy::Limits {
                    timeout: Duration::from_millis(file.generation_timeout_ms),
                    concurrency: None,
                    per_minute: None,
                    retries: self.model_settings(&file.generator).retries(),
                };
                policy::Generator::Llm { model: self.model(&file.generator, key, limits)? }
            }
        };
        Ok(policy::Reflexion {
            enabled: file.enabled,
            hold_out: file.holdout,
            max_reflections_per_retry: file.max_reflections_per_retry,
            generation_timeout: Duration::from_millis(file.generation_timeout_ms),
            retention_days: file.retention_days,
            injection_bytes: file.injection_bytes,
            generator,
        })
    }
}

fn options(file: &AgentFile) -> policy::AgentOptions {
    policy::AgentOptions {
        model: file.model.clone(),
        max_turns: file.max_turns,
        max_cost_cents: file.max_cost_usd.map(|usd| in_parts(usd, 100.0)),
        permissions: match file.permissions {
            Some(PermissionsFile::Deny) => policy::Permissions::Deny,
            Some(PermissionsFile::Allow) | None => policy::Permissions::Allow,
        },
        extra_args: file.extra_args.clone(),
        system_prompt: file.system_prompt.clone(),
    }
}

fn run(file: &ProjectFile) -> policy::Run {
    policy::Run {
        max_attempts: file.max_attempts,
        jobs: file.jobs,
        retry_start: match file.retry.start {
            RetryStartFile::Auto => policy::RetryStart::Auto,
            RetryStartFile::Continue => policy::RetryStart::Continue,
            RetryStartFile::Fresh => policy::RetryStart::Fresh,
        },
        limit_wait: if file.limits.wait { policy::LimitWait::On } else { policy::LimitWait::Off },
        decompose: file.decompose.how(),
        decomposer: policy::Decomposer::Nobody,
        checks: file.checks.clone(),
        protect: file.protect.clone(),
        tests: file.tests.clone(),
        budgets: policy::Budgets::default(),
        keep_awake: if file.overnight.keep_awake { policy::KeepAwake::On } else { policy::KeepAwake::Off },
        stayed_green: if file.overnight.merge_stayed_green {
            policy::StayedGreen::Merged
        } else {
            policy::StayedGreen::Kept
        },
        proving: policy::Proving {
            max_runs: file.proof.max_runs,
            max_share: super::model::in_parts(file.proof.max_share, 1000.0),
            mutants: if file.proof.mutants { policy::Mutants::Tried } else { policy::Mutants::Off },
        },
        healer: match file.healer {
            HealerFile { enabled: false, .. } => policy::Healer { per_run: 0, per_subtask: 0 },
            HealerFile { per_run, per_subtask, .. } => policy::Healer { per_run, per_subtask },
        },
    }
}

/// Where programs keep what outlives a run and is nobody's work (XDG Base Directory Specification).
fn state_home() -> PathBuf {
    let set = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
    set.unwrap_or_else(|| std::env::home_dir().unwrap_or_else(|| "/".into()).join(".local/state"))
}

#[cfg(test)]
mod tests {
    use super::super::effective::{Inputs, Origin, Override};
    use super::super::load::load;
    use super::*;

    fn settings(json: &str, env: &[(&str, &str)]) -> Result<policy::Values, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("project.json"), json).unwrap();
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        load(&Inputs { dir: dir.path().to_owned(), env, flags: Vec::new() })?.settings()
    }

    fn error(json: &str) -> String {
        settings(json, &[]).unwrap_err().to_string()
    }

    #[test]
    fn comments_and_a_schema_are_allowed() {
        settings(r#"{"//": ["for", "people"], "$schema": "x.json", "jobs": 2}"#, &[]).unwrap();
    }

    #[test]
    fn an_empty_project_has_the_defaults_of_the_reflexion_log() {
        let settings = settings("{}", &[]).unwrap();
        assert_eq!(settings.agents.default, ["repair"]);
        assert_eq!((settings.run.max_attempts, settings.reflexion.max_reflections_per_retry), (3, 3));
        assert_eq!((settings.reflexion.generation_timeout.as_secs(), settings.reflexion.retention_days), (30, 30));
    }

    #[test]
    fn precedence_is_default_shared_project_environment_flag() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("config")).unwrap();
        std::fs::write(
            dir.path().join("config/reflexion.json"),
            r#"{"jobs":2,"maxAttempts":2,"tasks":"a","carryLimitMb":7}"#,
        )
        .unwrap();
        std::fs::write(dir.path().join("project.json"), r#"{"jobs":3,"maxAttempts":3,"tasks":"b"}"#).unwrap();
        let flags =
            vec![Override { key: "jobs".to_owned(), value: 5.into(), origin: Origin::Flag("--jobs".to_owned()) }];
        let env = ["REFLEXION_JOBS", "REFLEXION_MAX_ATTEMPTS"].map(|n| (n.to_owned(), "4".to_owned())).to_vec();
        let effective = load(&Inputs { dir: dir.path().to_owned(), env, flags }).unwrap();
        let said = |key: &str| format!("{} from {}", effective.values[key].0, effective.values[key].1);
        assert_eq!(said("jobs"), "5 from flag --jobs");
        assert_eq!(said("maxAttempts"), "4 from environment variable REFLEXION_MAX_ATTEMPTS");
        assert_eq!(said("tasks"), "\"b\" from project.json");
        assert_eq!(said("carryLimitMb"), "7 from config/reflexion.json");
        assert_eq!(said("reflexion.enabled"), "true from default");
        assert_eq!(effective.settings().unwrap().run.jobs, 5);
    }

    #[test]
    fn errors_say_where_and_what_was_meant() {
        for (json, expected) in [
            ("{\n  \"jobs\": 2,\n}", "project.json:3:1: trailing comma"),
            (
                "{\n  \"maxAttempt\": 2\n}",
                "project.json:2:14: `maxAttempt`: unknown key `maxAttempt`; did you mean `maxAttempts`?",
            ),
            (r#"{"reflexion":{"enabeld":true}}"#, "did you mean `enabled`?"),
            (r#"{"jobs":"two"}"#, "`jobs`: invalid type: string \"two\""),
            (r#"{"jobs":0}"#, "project.json: `jobs` is 1 to 1024"),
            (r#"{"setup":[]}"#, "project.json:1:12: `setup`: the list names no program"),
            // What is an object in the file, and a word by default.
            (r#"{"sandbox":{"command":[]}}"#, "project.json: `sandbox` names no program"),
            (r#"{"decompose":{}}"#, "project.json: `decompose` needs either"),
            (
                r#"{"decompose":{"model":"m"}}"#,
                "project.json: `decompose` names the model `m`, which is not under `models` and has no `provider`",
            ),
            (r#"{"decompose":{"agent":"claude","timeoutMs":0}}"#, "project.json: `decompose` has a `timeoutMs` of 0"),
            (r#"{"verification":{"judge":{"type":"agent"}}}"#, "project.json: `verification.judge`"),
            (r#"{"budget":{"attempt":{"costUsd":"2"}}}"#, "expected a number"),
            (r#"{"checks":[4]}"#, r#"expected an object such as {"name": "test", "run": "cargo test"}"#),
            (r#"{"agents":{"default":"clade","claude":{"type":"command","argv":["x"]}}}"#, "did you mean `claude`?"),
            (
                r#"{"agents":{"a":{"type":"comand"}}}"#,
                "`agents.a.type`: unknown value `comand`; did you mean `command`?",
            ),
            (r#"{"agents":{"a":{"type":"command"}}}"#, "needs `argv`"),
            (r#"{"checks":[{"name":"a","run":"x"},{"name":"a","run":"y"}]}"#, "two checks named `a`"),
            (r#"{"protect":["a[" ]}"#, "the glob `a[`"),
            (r#"{"tests":["a[" ]}"#, "`tests` has the glob `a[`"),
            (r#"{"carry":["./"]}"#, "the glob `./`, which names nothing"),
            (r#"{"routing":{"bySize":[{"upTo":"small","agents":"claud"}]}}"#, "did you mean `claude`?"),
            (
                r#"{"routing":{"bySize":[{"upTo":"large","agents":"pi"},{"upTo":"small","agents":"pi"}]}}"#,
                "an entry up to `small` that the one before it leaves nothing to",
            ),
        ] {
            let said = error(json);
            assert!(said.contains(expected), "{json}\n  said:     {said}\n  expected: {expected}");
        }
    }

    #[test]
    fn agents_are_there_by_name_and_their_keys_must_fit_their_type() {
        let agents = settings(r#"{"agents":{"default":["claude","codex"],"labels":{"docs":"gemini"}}}"#, &[]);
        let agents = agents.unwrap().agents;
        assert_eq!(agents.by_label, [("docs".to_owned(), vec!["gemini".to_owned()])]);
        let cli =
            |kind: &policy::AgentKind| matches!(kind, policy::AgentKind::Cli { adapter, .. } if adapter == "claude");
        assert!(cli(&agents.named["claude"].kind));
        assert_eq!(agents.named["claude"].idle, Some(Duration::from_millis(IDLE_MS)));
        assert_eq!(agents.named["repair"].limits.timeout, Duration::from_secs(600));

        let agents =
            settings(r#"{"agents":{"mine":{"type":"claude","model":"m","maxCostUsd":0.5}}}"#, &[]).unwrap().agents;
        assert!(cli(&agents.named["mine"].kind));
        let policy::AgentKind::Cli { options, .. } = &agents.named["mine"].kind else { panic!() };
        assert_eq!((options.model.as_deref(), options.max_cost_cents), (Some("m"), Some(50)));

        for (json, message) in [
            (r#"{"agents":{"mine":{}}}"#, "`agents.mine` needs a `type`"),
            (r#"{"agents":{"claude":[]}}"#, "`agents.claude`: invalid type: sequence, expected an object such as"),
            (r#"{"agents":{"claude":{"maxTurns":-1}}}"#, "`agents.claude.maxTurns`: invalid value: integer `-1`"),
            (r#"{"agents":{"labels":[]}}"#, "`agents.labels`: invalid type: sequence, expected an object such as"),
            (r#"{"agents":{"labels":{"docs":4}}}"#, "`agents.labels.docs`: expected an agent's name"),
            (r#"{"agents":{"labels":{"docs":"claud"}}}"#, "did you mean `claude`?"),
            (r#"{"agents":{"mine":{"type":"acp"}}}"#, "needs `argv`"),
            (
                r#"{"agents":{"claude":{"baseUrl":"http://x"}}}"#,
                "has `baseUrl`, which an agent of this `type` does not use",
            ),
            (r#"{"agents":{"small":{"type":"completion","model":"m"}}}"#, "not under `models` and has no `provider`"),
            (r#"{"agents":{"small":{"type":"completion","provider":"openai"}}}"#, "needs a `model`"),
            (r#"{"agents":{"claude":{"maxTurns":0}}}"#, "has a `maxTurns` of 0"),
            (r#"{"reflexion":{"generator":{"type":"llm","model":"m","provider":"openai","baseUrl":"x"}}}"#, "http://"),
            (r#"{"reflexion":{"generator":{"type":"llm","model":"m","provider":"openai","argv":["x"]}}}"#, "`argv`"),
            (r#"{"reflexion":{"generator":{"type":"heuristic","model":"m"}}}"#, "`model`"),
        ] {
            let error = error(json);
            assert!(error.contains(message), "{json}: {error}");
        }
    }

    #[test]
    fn a_variable_that_does_not_fit_is_named() {
        let said = settings("{}", &[("REFLEXION_JOBS", "many")]).unwrap_err().to_string();
        assert!(said.starts_with("environment variable REFLEXION_JOBS: `jobs`: invalid type"), "{said}");
        let wait = |text| settings("{}", &[("REFLEXION_LIMIT_WAIT", text)]).map(|values| values.run.limit_wait);
        assert_eq!(wait("off").unwrap(), policy::LimitWait::Off);
        assert_eq!(wait("On").unwrap(), policy::LimitWait::On);
        let said = wait("banana").unwrap_err().to_string();
        assert!(said.starts_with("environment variable REFLEXION_LIMIT_WAIT: `limits.wait`: invalid type"), "{said}");
        assert!(said.ends_with("expected true or false"), "{said}");
    }

    #[test]
    fn no_project_file_is_an_error_that_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let said = load(&Inputs { dir: dir.path().to_owned(), ..Inputs::default() }).unwrap_err().to_string();
        assert!(said.contains("reflexion init"), "{said}");
    }
}
