//! A language model, under its own name or as whoever asks it describes it.

use super::effective::Effective;
use super::error::{ConfigError, nearest};
use super::wire::{AgentFile, DecomposeFile, DecomposerFile, GeneratorFile, ModelFile, ProjectFile, ProviderFile};
use crate::domain::policy;
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a model's passing fault is tried again.
const MODEL_RETRIES: u32 = 2;
/// What a model may write: a few files, or a reflection many times over.
const MAX_TOKENS: u32 = 4096;

/// What agents, generators, decomposers and judges say of a model.
#[derive(Clone, Copy)]
pub(super) struct ModelSettings<'a> {
    model: Option<&'a String>,
    provider: Option<ProviderFile>,
    base_url: Option<&'a String>,
    key_env: Option<&'a String>,
    max_tokens: Option<u32>,
    temperature: Option<f64>,
    structured: Option<bool>,
    retries: Option<u32>,
}

/// Reads the same fields out of each of the shapes.
macro_rules! model_settings {
    ($($shape:ty),*) => {$(
        impl<'a> From<&'a $shape> for ModelSettings<'a> {
            fn from(file: &'a $shape) -> Self {
                Self {
                    model: file.model.as_ref(),
                    provider: file.provider,
                    base_url: file.base_url.as_ref(),
                    key_env: file.key_env.as_ref(),
                    max_tokens: file.max_tokens,
                    temperature: file.temperature,
                    structured: file.structured,
                    retries: file.retries,
                }
            }
        }
    )*};
}
model_settings!(ModelFile, AgentFile, GeneratorFile, DecomposerFile);

impl ModelSettings<'_> {
    /// How often a passing fault is tried again.
    pub(super) fn retries(&self) -> u32 {
        self.retries.unwrap_or(MODEL_RETRIES)
    }

    /// The keys that only a model's settings use, beside its name, for [`Effective::all_used`].
    pub(super) fn keys(&self, used: bool) -> [(&'static str, bool, bool); 7] {
        [
            ("provider", self.provider.is_some(), used),
            ("baseUrl", self.base_url.is_some(), used),
            ("keyEnv", self.key_env.is_some(), used),
            ("maxTokens", self.max_tokens.is_some(), used),
            ("temperature", self.temperature.is_some(), used),
            ("structured", self.structured.is_some(), used),
            ("retries", self.retries.is_some(), used),
        ]
    }

    fn checked(&self, effective: &Effective, key: &str, limits: policy::Limits) -> Result<policy::Model, ConfigError> {
        let Some(name) = self.model.filter(|name| !name.is_empty()) else {
            return Err(effective.wrong(key, format!("`{key}` needs a `model`, the provider's name of it")));
        };
        effective.require(fits_argument(name), key, NO_MODEL_NAME)?;
        let Some(provider) = self.provider else {
            return Err(effective.wrong(key, effective.without_provider(name, key)));
        };
        // Others have it in the body of what is sent.
        let fits = !matches!(provider, ProviderFile::Gemini) || fits_address(name);
        effective.require(
            fits,
            key,
            "has a `model` that is no name of one of Gemini's: without blanks, `?`, `#`, `%`, `\\` and `..` between slashes",
        )?;
        if let Some(url) = self.base_url {
            let known = url.starts_with("http://") || url.starts_with("https://");
            effective.require(known, key, "has a `baseUrl` that does not begin with http:// or https://")?;
        }
        let temperature = self.temperature.unwrap_or(0.0);
        effective.require((0.0..=2.0).contains(&temperature), key, "has a `temperature` outside of 0 to 2")?;
        effective.require(self.max_tokens != Some(0), key, "has a `maxTokens` of 0")?;
        Ok(policy::Model {
            provider: provider.into(),
            name: name.clone(),
            base_url: self.base_url.cloned(),
            key_env: self.key_env.cloned(),
            max_tokens: self.max_tokens.unwrap_or(MAX_TOKENS),
            temperature_milli: self.temperature.map(|t| in_parts(t, 1000.0)),
            structured: match self.structured {
                Some(false) => policy::Structured::Off,
                Some(true) | None => policy::Structured::On,
            },
            limits,
        })
    }
}

impl Effective {
    /// What is said of a model at a place. Where only its name stands there, the rest is under `models`.
    pub(super) fn model_settings<'a>(&'a self, of: impl Into<ModelSettings<'a>>) -> ModelSettings<'a> {
        let here: ModelSettings<'_> = of.into();
        let Some((_, there)) = self.referred(&here) else { return here };
        let there = ModelSettings::from(there);
        ModelSettings {
            max_tokens: here.max_tokens.or(there.max_tokens),
            temperature: here.temperature.or(there.temperature),
            structured: here.structured.or(there.structured),
            retries: here.retries.or(there.retries),
            ..there
        }
    }

    fn referred<'a>(&'a self, here: &ModelSettings<'a>) -> Option<(&'a String, &'a ModelFile)> {
        here.model.filter(|_| here.provider.is_none()).and_then(|name| self.file.models.get_key_value(name))
    }

    /// The model at a place, checked.
    pub(super) fn model<'a>(
        &'a self,
        of: impl Into<ModelSettings<'a>>,
        key: &str,
        limits: policy::Limits,
    ) -> Result<policy::Model, ConfigError> {
        let here: ModelSettings<'_> = of.into();
        // A host and the key that it gets are trusted together, so they stand together.
        let apart = here.base_url.is_some() || here.key_env.is_some();
        let message = "names a model that stands under `models`: its `baseUrl` and `keyEnv` stand there, too";
        self.require(self.referred(&here).is_none() || !apart, key, message)?;
        self.model_settings(here).checked(self, key, limits)
    }

    fn without_provider(&self, name: &str, key: &str) -> String {
        const PROVIDERS: &str = "anthropic, openai or gemini";
        if key.starts_with("models.") {
            return format!("`{key}` needs a `provider`: {PROVIDERS}");
        }
        let hint = nearest(name, self.file.models.keys().map(String::as_str));
        let hint = hint.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
        format!(
            "`{key}` names the model `{name}`, which is not under `models` and has no `provider`: {PROVIDERS}{hint}"
        )
    }

    /// Every model, whether anybody names it or not, and none with the name of an agent.
    pub(super) fn check_models(&self, agents: &BTreeMap<String, policy::Agent>) -> Result<(), ConfigError> {
        self.file.models.keys().try_for_each(|name| self.named_model(name, agents, Duration::ZERO).map(drop))
    }

    /// The model under a name, if there is one: nobody else has its name.
    pub(super) fn named_model(
        &self,
        name: &str,
        agents: &BTreeMap<String, policy::Agent>,
        timeout: Duration,
    ) -> Result<Option<policy::Model>, ConfigError> {
        let Some(file) = self.file.models.get(name) else { return Ok(None) };
        let key = format!("models.{name}");
        self.require(!agents.contains_key(name), &key, "has the name of an agent: name it otherwise")?;
        let model = ModelSettings::from(file);
        let limits = policy::Limits { timeout, concurrency: None, per_minute: None, retries: model.retries() };
        model.checked(self, &key, limits).map(Some)
    }
}

/// Models that are described where they are asked: they are read still, and are to be written once, with a name.
pub(super) fn models_in_place(file: &ProjectFile) -> Vec<String> {
    let agents = file.agents.named.iter().map(|(name, agent)| (format!("agents.{name}"), agent.provider, &agent.model));
    let (generator, judge) = (&file.reflexion.generator, &file.verification.judge);
    let asked = match &file.decompose {
        DecomposeFile::Asked(asked) => Some(("decompose".to_owned(), asked.provider, &asked.model)),
        DecomposeFile::By(_) => None,
    };
    let first = judge.models.first().cloned();
    let others = [
        ("reflexion.generator".to_owned(), generator.provider, &generator.model),
        // Of several it is the first one that is offered, and of none a fast one: no name says that.
        ("verification.judge".to_owned(), judge.provider.filter(|_| judge.models.len() == 1), &first),
    ];
    let in_place = agents.chain(others).chain(asked).filter(|(_, provider, _)| provider.is_some());
    in_place
        .map(|(key, _, model)| {
            let model = model.as_deref().unwrap_or("…");
            format!(
                "`{key}` describes a model itself, which is going out of use: write \"models\": {{\"NAME\": {{\"model\": \"{model}\", \
                 \"provider\": …}}}} with its host and key, and \"model\": \"NAME\" there"
            )
        })
        .collect()
}

/// A checked setting in whole parts, so that settings can be compared: dollars in cents, temperatures in thousandths.
pub(super) fn in_parts(value: f64, parts: f64) -> u32 {
    (value * parts).round() as u32
}

/// The error of a `model` that [`fits_argument`] refuses.
pub(super) const NO_MODEL_NAME: &str =
    "has a `model` that is no name of one: without control characters, and without a `-` at its beginning";

/// Whether a program may get it as the argument of an option, where it must be no option itself.
pub(super) fn fits_argument(name: &str) -> bool {
    !name.starts_with('-') && !name.contains(char::is_control)
}

/// Whether it may stand in the path of an address, and leads nowhere else there.
fn fits_address(name: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#' | '%' | '\\');
    let leads_out = |part: &str| matches!(part, "" | "." | "..");
    !name.contains(is_odd) && !name.split('/').any(leads_out)
}

#[cfg(test)]
mod tests {
    use super::super::effective::Inputs;
    use super::super::load::load;
    use super::*;

    fn loaded(text: &str) -> Result<(policy::Values, Vec<String>), ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("project.json"), text).unwrap();
        let effective = load(&Inputs { dir: dir.path().to_owned(), ..Inputs::default() })?;
        Ok((effective.settings()?, effective.warnings))
    }

    const MODELS: &str = r#""models": {"small": {"provider": "openai", "model": "m", "baseUrl": "http://127.0.0.1:9/v1", "retries": 5}}"#;

    #[test]
    fn a_model_is_described_once_and_named_wherever_it_is_asked() {
        let text = format!(
            r#"{{{MODELS}, "agents": {{"default": "own", "own": {{"type": "completion", "model": "small"}}, "claude": {{"model": "small"}}}},
                "reflexion": {{"generator": {{"type": "llm", "model": "small", "temperature": 0.5}}}},
                "decompose": {{"model": "small", "retries": 1}},
                "verification": {{"judge": {{"type": "model", "model": "small"}}, "review": {{"reviewer": "small", "auditor": "claude"}}}}}}"#
        );
        let (values, warnings) = loaded(&text).unwrap();
        assert_eq!(warnings, Vec::<String>::new());
        let policy::AgentKind::Completion { model: own } = &values.agents.named["own"].kind else { panic!() };
        let policy::Generator::Llm { model: generator } = &values.reflexion.generator else { panic!() };
        let policy::Decomposer::Llm { model: decomposer } = &values.run.decomposer else { panic!() };
        let policy::Judge::Model { models, template: judge } = &values.verification.judge else { panic!() };
        let Some(policy::Reviewer::Model { model: reviewer }) = &values.verification.reviewer else { panic!() };
        for (model, retries) in [(own, 5), (generator, 5), (decomposer, 1), (judge, 5), (reviewer, 5)] {
            assert_eq!((model.name.as_str(), model.limits.retries), ("m", retries));
            assert_eq!(model.base_url.as_deref(), Some("http://127.0.0.1:9/v1"));
        }
        assert_eq!(
            (own.temperature_milli, generator.temperature_milli, models),
            (None, Some(500), &vec!["m".to_owned()])
        );
        let auditor = policy::Reviewer::Agent { name: "claude".to_owned() };
        assert_eq!(values.verification.auditor, Some(auditor));
        // Of an agent's own program it is that one's name of a model.
        let policy::AgentKind::Cli { options, .. } = &values.agents.named["claude"].kind else { panic!() };
        assert_eq!(options.model.as_deref(), Some("small"));
    }

    #[test]
    fn a_model_that_is_described_where_it_is_asked_is_read_with_a_warning() {
        let (values, warnings) =
            loaded(r#"{"decompose": {"model": "m", "provider": "openai"}, "verification": {"judge": {"type": "model", "provider": "openai"}}}"#)
                .unwrap();
        assert!(matches!(values.run.decomposer, policy::Decomposer::Llm { .. }));
        let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
        assert!(
            warning.starts_with("`decompose` describes a model itself") && warning.contains(r#""model": "m""#),
            "{warning}"
        );
    }

    #[test]
    fn what_names_no_model_or_two_things_is_an_error() {
        for (rest, expected) in [
            (
                r#""decompose": {"model": "smal"}"#,
                "names the model `smal`, which is not under `models` and has no `provider`: anthropic, openai or gemini; did you mean `small`?",
            ),
            (
                r#""verification": {"judge": {"type": "model", "model": "smal"}}"#,
                "not under `models`; did you mean `small`?",
            ),
            (
                r#""verification": {"judge": {"type": "model", "model": "small", "keyEnv": "K"}}"#,
                "has a `model`: its provider, host and key stand under `models`",
            ),
            (r#""verification": {"judge": {"type": "model"}}"#, "needs a `model`, a name under `models`"),
            (
                r#""decompose": {"model": "small", "baseUrl": "https://b"}"#,
                "its `baseUrl` and `keyEnv` stand there, too",
            ),
            (
                r#""reflexion": {"generator": {"type": "llm", "model": "small", "keyEnv": "K"}}"#,
                "its `baseUrl` and `keyEnv` stand there, too",
            ),
            (r#""verification": {"review": {"reviewer": "smal"}}"#, "names the agent `smal`"),
            (
                r#""agents": {"small": {"type": "command", "argv": ["x"]}}, "verification": {"review": {"reviewer": "small"}}"#,
                "`models.small` has the name of an agent",
            ),
            (
                r#""reflexion": {"generator": {"type": "llm", "model": "small", "temperature": 3}}"#,
                "a `temperature` outside of 0 to 2",
            ),
            (
                r#""decompose": {"provider": "gemini", "model": "../../v1/tuned"}"#,
                "has a `model` that is no name of one",
            ),
            (r#""agents": {"claude": {"model": "--attach=http://b"}}"#, "has a `model` that is no name of one"),
        ] {
            let said = loaded(&format!("{{{MODELS}, {rest}}}")).unwrap_err().to_string();
            assert!(said.contains(expected), "{rest}\n  said:     {said}\n  expected: {expected}");
        }
        let said = loaded(r#"{"models": {"small": {"model": "m"}}}"#).unwrap_err().to_string();
        assert!(said.contains("`models.small` needs a `provider`"), "{said}");
    }
}
