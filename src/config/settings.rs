//! From the file's shapes to domain policies, checked on the way.

use super::error::ConfigError;
use super::error::nearest;
use super::load::Effective;
use super::wire::AgentFile;
use super::wire::AgentKindFile;
use super::wire::GeneratorKind;
use super::wire::OneOrMany;
use super::wire::ProjectFile;
use super::wire::RetryStartFile;
use crate::domain::policy;
use std::collections::BTreeMap;
use std::time::Duration;

/// The embedded agent, which needs no configuration.
const REPAIR: &str = "repair";

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
        for (key, globs) in [("carry", &file.carry), ("protect", &file.protect), ("envDeny", &file.env_deny)] {
            for glob in globs {
                let valid = globset::Glob::new(glob);
                self.require(valid.is_ok(), key, &format!("has the glob `{glob}`, which cannot be read"))?;
            }
        }
        self.checks()?;
        let agents = self.agents()?;
        Ok(policy::Values {
            project: self.project(),
            run: run(file),
            reflexion: self.reflexion(&agents)?,
            agents,
            workspace: policy::Workspace {
                setup: file.setup.clone(),
                carry: file.carry.clone(),
                carry_limit_bytes: file.carry_limit_mb.saturating_mul(1 << 20),
                env: file.workspace.env.clone(),
            },
            environment: policy::Environment { deny: file.env_deny.clone() },
        })
    }

    fn require(&self, holds: bool, key: &str, message: &str) -> Result<(), ConfigError> {
        if holds { Ok(()) } else { Err(self.wrong(key, format!("`{key}` {message}"))) }
    }

    /// An error that names who set the key (or the nearest key above it).
    fn wrong(&self, key: &str, message: String) -> ConfigError {
        let inside = |k: &&String| k.starts_with(key) || key.starts_with(k.as_str());
        let set = self.values.get(key).or_else(|| self.values.get(self.values.keys().find(inside)?));
        let origin = set.map_or_else(|| "project.json".to_owned(), |(_, origin)| origin.to_string());
        ConfigError::Value { origin, message }
    }

    fn project(&self) -> policy::Project {
        let file = &self.file;
        let dir_name = || self.dir.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        policy::Project {
            name: if file.name.is_empty() { dir_name() } else { file.name.clone() },
            root: self.dir.clone(),
            tasks: self.dir.join(&file.tasks),
        }
    }

    fn checks(&self) -> Result<(), ConfigError> {
        for (i, check) in self.file.checks.iter().enumerate() {
            let twice = self.file.checks[..i].iter().any(|c| c.name == check.name);
            self.require(!twice, "checks", &format!("has two checks named `{}`", check.name))?;
        }
        Ok(())
    }

    fn agents(&self) -> Result<policy::Agents, ConfigError> {
        let file = &self.file.agents;
        let mut named: BTreeMap<String, policy::Agent> = BTreeMap::new();
        let repair =
            policy::Agent { kind: policy::AgentKind::Repair, timeout: Duration::from_secs(600), env: BTreeMap::new() };
        named.insert(REPAIR.to_owned(), repair);
        for (name, agent) in &file.named {
            named.insert(name.clone(), self.agent(name, agent)?);
        }
        let default = match &file.default {
            None => vec![REPAIR.to_owned()],
            Some(OneOrMany::One(name)) => vec![name.clone()],
            Some(OneOrMany::Many(names)) => names.clone(),
        };
        self.require(!default.is_empty(), "agents.default", "names no agent")?;
        for name in &default {
            self.known_agent(&named, name, "agents.default")?;
        }
        Ok(policy::Agents { default, named })
    }

    fn known_agent(&self, named: &BTreeMap<String, policy::Agent>, name: &str, key: &str) -> Result<(), ConfigError> {
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
        let kind = match file.kind {
            AgentKindFile::Command => {
                self.require(
                    !file.argv.is_empty(),
                    &key,
                    "is a command and needs `argv`, a list of program and arguments",
                )?;
                policy::AgentKind::Command { argv: file.argv.clone() }
            }
            AgentKindFile::Repair => {
                self.require(file.argv.is_empty(), &key, "is the embedded agent and takes no `argv`")?;
                policy::AgentKind::Repair
            }
        };
        self.require(file.timeout_ms > 0, &key, "has a `timeoutMs` of 0")?;
        Ok(policy::Agent { kind, timeout: Duration::from_millis(file.timeout_ms), env: file.env.clone() })
    }

    fn reflexion(&self, agents: &policy::Agents) -> Result<policy::Reflexion, ConfigError> {
        let file = &self.file.reflexion;
        let key = "reflexion.generator";
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
                let writes = agents.named[&name].kind != policy::AgentKind::Repair;
                self.require(
                    writes,
                    key,
                    &format!("names `{name}`, an embedded repair agent, which cannot write reflections"),
                )?;
                policy::Generator::Agent { name }
            }
        };
        Ok(policy::Reflexion {
            enabled: file.enabled,
            max_reflections_per_retry: file.max_reflections_per_retry,
            generation_timeout: Duration::from_millis(file.generation_timeout_ms),
            retention_days: file.retention_days,
            injection_bytes: file.injection_bytes,
            generator,
        })
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
        checks: file.checks.clone(),
        protect: file.protect.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::load::Inputs;
    use super::super::load::Origin;
    use super::super::load::Override;
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
            (r#"{"agents":{"default":"clade","claude":{"type":"command","argv":["x"]}}}"#, "did you mean `claude`?"),
            (
                r#"{"agents":{"a":{"type":"comand"}}}"#,
                "`agents.a.type`: unknown value `comand`; did you mean `command`?",
            ),
            (r#"{"agents":{"a":{"type":"command"}}}"#, "needs `argv`"),
            (r#"{"checks":[{"name":"a","run":"x"},{"name":"a","run":"y"}]}"#, "two checks named `a`"),
            (r#"{"protect":["a[" ]}"#, "the glob `a[`"),
        ] {
            let said = error(json);
            assert!(said.contains(expected), "{json}\n  said:     {said}\n  expected: {expected}");
        }
    }

    #[test]
    fn a_variable_that_does_not_fit_is_named() {
        let said = settings("{}", &[("REFLEXION_JOBS", "many")]).unwrap_err().to_string();
        assert!(said.starts_with("environment variable REFLEXION_JOBS: `jobs`: invalid type"), "{said}");
        let off = settings("{}", &[("REFLEXION_LIMIT_WAIT", "off")]).unwrap();
        assert_eq!(off.run.limit_wait, policy::LimitWait::Off);
    }

    #[test]
    fn no_project_file_is_an_error_that_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let said = load(&Inputs { dir: dir.path().to_owned(), ..Inputs::default() }).unwrap_err().to_string();
        assert!(said.contains("reflexion init"), "{said}");
    }
}
