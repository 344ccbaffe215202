//! `REFLEXION_…` variables as overrides of keys.

use super::effective::{Origin, Override};
use super::error::nearest;
use super::reference::keys;
use crate::domain::RISK_THRESHOLD_VARIABLE;
use serde_json::Value;

/// The variable by which a caller trusts what is there, for one call.
pub(super) const TRUST_VARIABLE: &str = "REFLEXION_TRUST";

/// Variables that switch a key on or off under a shorter name.
const SWITCHES: [(&str, &str); 2] =
    [("REFLEXION_LIMIT_WAIT", "limits.wait"), ("REFLEXION_HOLDOUT", "reflexion.holdout")];

/// Variables that programs started by the runtime get, or that have a meaning of their own; never keys.
const RESERVED: [&str; 12] = [
    "REFLEXION_RUN_ID",
    "REFLEXION_TASK_ID",
    "REFLEXION_SUBTASK_ID",
    "REFLEXION_ATTEMPT",
    "REFLEXION_SESSION_ID",
    "REFLEXION_PROMPT_FILE",
    "REFLEXION_LOG",
    "REFLEXION_MARK",
    TRUST_VARIABLE,
    "REFLEXION_NOTICE",
    "REFLEXION_NOTICE_TITLE",
    "REFLEXION_NOTICE_TEXT",
];

/// The variable of a key: `maxAttempts` is `REFLEXION_MAX_ATTEMPTS`, `reflexion.enabled` is
/// `REFLEXION_REFLEXION__ENABLED`.
#[must_use]
pub fn env_name(key: &str) -> String {
    let mut name = "REFLEXION_".to_owned();
    for c in key.chars() {
        match c {
            '.' => name.push_str("__"),
            c if c.is_ascii_uppercase() => name.extend(['_', c]),
            c => name.push(c.to_ascii_uppercase()),
        }
    }
    name
}

/// The overrides in `vars`, and a warning for every `REFLEXION_…` variable that is none.
pub(super) fn from_environment(vars: impl IntoIterator<Item = (String, String)>) -> (Vec<Override>, Vec<String>) {
    let known: Vec<(String, String)> = keys().into_iter().map(|k| (env_name(&k.path), k.path)).collect();
    let (mut overrides, mut warnings) = (Vec::new(), Vec::new());
    for (name, text) in vars {
        let origin = Origin::Environment(name.clone());
        if let Some((_, key)) = SWITCHES.iter().find(|(switch, _)| *switch == name) {
            let value = match text.to_ascii_lowercase().as_str() {
                "on" | "1" | "true" => Value::Bool(true),
                "off" | "0" | "false" => Value::Bool(false),
                // An error that names the variable.
                _ => Value::String(text),
            };
            overrides.push(Override { key: (*key).to_owned(), value, origin });
        } else if name == RISK_THRESHOLD_VARIABLE && text.trim().is_empty() {
            // As hooks read it: an empty variable is none.
        } else if name == RISK_THRESHOLD_VARIABLE {
            let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            let value = number.map_or(Value::String(text), Value::from);
            overrides.push(Override { key: "risk.threshold".to_owned(), value, origin });
        } else if !name.starts_with("REFLEXION_") || RESERVED.contains(&name.as_str()) {
        } else if let Some((_, key)) = known.iter().find(|(env, _)| *env == name) {
            overrides.push(Override { key: key.clone(), value: parse(&text), origin });
        } else {
            let meant = nearest(&name, known.iter().map(|(env, _)| env.as_str()));
            let meant = meant.map(|m| format!("; did you mean `{m}`?")).unwrap_or_default();
            warnings.push(format!("the environment variable `{name}` means nothing to reflexion{meant}"));
        }
    }
    (overrides, warnings)
}

/// JSON where it is JSON, otherwise text.
fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_keys() {
        for (key, name) in [
            ("jobs", "REFLEXION_JOBS"),
            ("maxAttempts", "REFLEXION_MAX_ATTEMPTS"),
            ("reflexion.generationTimeoutMs", "REFLEXION_REFLEXION__GENERATION_TIMEOUT_MS"),
        ] {
            assert_eq!(env_name(key), name);
        }
    }

    #[test]
    fn unknown_variables_are_warned_about_and_reserved_ones_are_not() {
        let vars = ["REFLEXION_JOB", "REFLEXION_TASK_ID", "HOME"].map(|n| (n.to_owned(), "4".to_owned()));
        let (overrides, warnings) = from_environment(vars);
        assert!(overrides.is_empty());
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains("did you mean `REFLEXION_JOBS`"), "{warnings:?}");
    }
}
