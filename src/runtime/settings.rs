//! The user's settings as a service.

use super::env_files;
use super::trust::{Trust, without_anybody};
use crate::config;
use crate::config::{ConfigError, Effective, Inputs};
use crate::domain::policy;
use crate::files::read_named;
use crate::layer::Svc;
use crate::redaction::Redactor;
use crate::services::Settings;
use crate::toolchain;
use std::path::{Path, PathBuf};

/// The settings of the project at `dir`, under this process's environment.
///
/// # Errors
/// [`ConfigError`] if `project.json` is missing or wrong.
pub fn project(dir: impl AsRef<Path>) -> Result<Svc<dyn Settings>, ConfigError> {
    Ok(Svc::new(values_of(dir.as_ref())?))
}

/// The same, before they are a service.
pub(super) fn values_of(dir: &Path) -> Result<policy::Values, ConfigError> {
    // A variable that is not UTF-8 cannot be one of ours.
    let env = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?))).collect();
    let inputs = Inputs { dir: dir.to_owned(), env, flags: Vec::new() };
    trusted_values(&config::load(&inputs)?)
}

/// Loaded settings as a service.
///
/// # Errors
/// [`ConfigError`] if values do not fit together, or the project's own rules for secrets or files about tool chains cannot be used.
pub fn settings_from(effective: &Effective) -> Result<Svc<dyn Settings>, ConfigError> {
    Ok(Svc::new(trusted_values(effective)?))
}

/// Loaded settings that somebody has changed before they are a service.
///
/// # Errors
/// As [`settings_from`].
pub(super) fn settings_from_values(
    effective: &Effective,
    change: impl FnOnce(&mut policy::Values),
) -> Result<Svc<dyn Settings>, ConfigError> {
    let mut values = trusted_values(effective)?;
    change(&mut values);
    Ok(Svc::new(values))
}

fn trusted_values(effective: &Effective) -> Result<policy::Values, ConfigError> {
    let values = effective.settings()?;
    Redactor::keep_secret(effective.named_variables());
    look_for_secrets(&values, values.redaction_rules.as_deref())?;
    learn_toolchains(&values.toolchains)?;
    Ok(values)
}

/// Loaded settings before it is decided whether they are trusted: the project's own rules for secrets, which may also say what is none, and its
/// files about tool chains, which may say what passing tests print, count only if they are.
///
/// # Errors
/// As [`settings_from`].
pub fn settings_before_trust(effective: &Effective) -> Result<Svc<dyn Settings>, ConfigError> {
    if Trust::of(effective)?.is_given() {
        return settings_from(effective);
    }
    let values = effective.settings()?;
    look_for_secrets(&values, None)?;
    Ok(Svc::new(values))
}

/// Adds the project's own files about tool chains.
fn learn_toolchains(files: &[PathBuf]) -> Result<(), ConfigError> {
    for path in files {
        let wrong = |message: String| ConfigError::Value {
            origin: path.display().to_string(),
            message: format!("{message} (`toolchains` names this file)"),
        };
        let text = read_named(path).map_err(|error| wrong(error.to_string()))?;
        toolchain::add(&text).map_err(|error| wrong(error.to_string()))?;
    }
    Ok(())
}

fn look_for_secrets(values: &policy::Values, rules: Option<&Path>) -> Result<(), ConfigError> {
    let carried = env_files::variables(values);
    let variables = values.agents.named.values().flat_map(|agent| &agent.env).chain(&values.workspace.env);
    let variables = variables.chain(carried.iter().map(|(name, value)| (name, value)));
    Redactor::add_to_process(variables, rules).map_err(|error| ConfigError::Value {
        origin: error.path.display().to_string(),
        message: format!("{} (`redaction.rules` names this file)", error.message),
    })?;
    let (project, agents) = (&values.project, values.agents.named.keys().map(String::as_str));
    let checks = values.run.checks.iter().map(|check| check.name.as_str());
    let place = [project.name.as_str(), &project.root.to_string_lossy()];
    Redactor::let_stand(agents.chain(checks).chain(place));
    Ok(())
}

/// Loaded settings for a command that only looks: in a project that nobody trusts, whomever they name is asked nothing. That is
/// said where somebody would be asked otherwise.
///
/// # Errors
/// As [`settings_from`].
pub fn settings_to_look(effective: &Effective) -> Result<(Svc<dyn Settings>, Option<String>), ConfigError> {
    settings_before_trust(effective)?;
    let mut values = effective.settings()?;
    let passed_over = without_strangers(effective, &mut values)?;
    Ok((Svc::new(values), passed_over))
}

/// Takes everybody out who would be asked, if the project is not trusted; the words for it, if somebody was.
pub(super) fn without_strangers(
    effective: &Effective,
    values: &mut policy::Values,
) -> Result<Option<String>, ConfigError> {
    if Trust::of(effective)?.is_given() {
        return Ok(None);
    }
    let was_asked = values.verification.asks_somebody();
    without_anybody(&mut values.verification);
    Ok(was_asked.then(|| {
        let dir = effective.dir.display();
        format!("{dir} is not trusted, so nobody whom its settings name is asked, and facts alone decide (`reflexion trust`)")
    }))
}

/// The settings of the project in the current directory: what a list has until it is given others.
pub(super) async fn settings_of_current_dir() -> Result<Svc<dyn Settings>, ConfigError> {
    project(".")
}
