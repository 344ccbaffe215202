//! The key `decompose` of `project.json`: in which parts a task is worked on.

use super::effective::Effective;
use super::error::ConfigError;
use super::model::ModelSettings;
use super::wire::{DecomposeFile, DecomposeWord};
use crate::domain::policy;
use std::collections::BTreeMap;
use std::time::Duration;

impl DecomposeFile {
    pub(super) fn how(&self) -> policy::Decompose {
        match self {
            Self::By(DecomposeWord::Off) => policy::Decompose::Off,
            Self::By(DecomposeWord::Checklist) => policy::Decompose::Checklist,
            Self::By(DecomposeWord::Structure) => policy::Decompose::Structure,
            Self::Asked(_) => policy::Decompose::Asked,
        }
    }
}

impl Effective {
    pub(super) fn decomposer(
        &self,
        named: &BTreeMap<String, policy::Agent>,
    ) -> Result<policy::Decomposer, ConfigError> {
        let DecomposeFile::Asked(file) = &self.file.decompose else { return Ok(policy::Decomposer::Nobody) };
        let key = "decompose";
        self.require(file.timeout_ms > 0, key, "has a `timeoutMs` of 0")?;
        self.require(file.agent.is_some() != file.model.is_some(), key, "needs either an `agent` or a `model`")?;
        let model = file.model.is_some();
        for (name, given, used) in ModelSettings::from(&**file).keys(model) {
            self.require(!given || used, key, &format!("has `{name}`, which only a `model` uses"))?;
        }
        let timeout = Duration::from_millis(file.timeout_ms);
        if let Some(name) = &file.agent {
            self.answering_agent(named, name, "decompose.agent")?;
            return Ok(policy::Decomposer::Agent { name: name.clone(), timeout });
        }
        let retries = self.model_settings(&**file).retries();
        let limits = policy::Limits { timeout, concurrency: None, per_minute: None, retries };
        Ok(policy::Decomposer::Llm { model: self.model(&**file, key, limits)? })
    }
}
#[cfg(test)]
mod tests {
    use super::super::effective::Inputs;
    use super::super::load::load;
    use super::*;

    fn settings(decompose: &str, env: &[(&str, &str)]) -> Result<policy::Values, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("project.json"), format!(r#"{{"decompose":{decompose}}}"#)).unwrap();
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        load(&Inputs { dir: dir.path().to_owned(), env, flags: Vec::new() })?.settings()
    }

    #[test]
    fn a_word_or_whoever_is_asked() {
        let run = settings(r#""structure""#, &[]).unwrap().run;
        assert_eq!((run.decompose, run.decomposer), (policy::Decompose::Structure, policy::Decomposer::Nobody));
        let run = settings(r#"{"agent":"claude","timeoutMs":5000}"#, &[]).unwrap().run;
        let agent = policy::Decomposer::Agent { name: "claude".to_owned(), timeout: Duration::from_secs(5) };
        assert_eq!((run.decompose, run.decomposer), (policy::Decompose::Asked, agent));
        let run = settings(r#""off""#, &[("REFLEXION_DECOMPOSE", r#"{"model":"m","provider":"openai"}"#)]).unwrap().run;
        let policy::Decomposer::Llm { model } = run.decomposer else { panic!("{:?}", run.decomposer) };
        assert_eq!((model.name.as_str(), model.limits.timeout.as_secs(), model.limits.retries), ("m", 120, 2));
        let run = settings(r#""off""#, &[("REFLEXION_DECOMPOSE", "checklist")]).unwrap().run;
        assert_eq!(run.decompose, policy::Decompose::Checklist);
    }

    #[test]
    fn errors_say_what_was_meant() {
        for (decompose, expected) in [
            (r#""checklst""#, "did you mean `checklist`?"),
            ("true", "expected `off`, `checklist`, `structure`, or an object such as"),
            (r#"{"agnet":"claude"}"#, "did you mean `agent`?"),
            ("{}", "`decompose` needs either an `agent` or a `model`"),
            (r#"{"agent":"claude","model":"m","provider":"openai"}"#, "needs either an `agent` or a `model`"),
            (r#"{"agent":"clade"}"#, "did you mean `claude`?"),
            (r#"{"agent":"repair"}"#, "which only works and answers no questions"),
            (r#"{"agent":"claude","retries":3}"#, "`decompose` has `retries`, which only a `model` uses"),
            (r#"{"model":"m"}"#, "`decompose` names the model `m`, which is not under `models` and has no `provider`"),
            (r#"{"agent":"claude","timeoutMs":0}"#, "has a `timeoutMs` of 0"),
        ] {
            let said = settings(decompose, &[]).unwrap_err().to_string();
            assert!(said.contains(expected), "{decompose}\n  said:     {said}\n  expected: {expected}");
        }
    }
}
