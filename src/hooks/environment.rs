//! What a hook is told by its environment.

use crate::domain::{CaptureMode, RISK_THRESHOLD_VARIABLE, RiskThreshold};
use std::ffi::OsString;
use std::path::PathBuf;

/// The variables that a hook reads. An empty one is none.
#[derive(Debug, Clone, Default)]
pub struct HookEnvironment {
    /// `REFLECTION_MODE`.
    pub mode: HookMode,
    /// `REFLECTION_DIR`: where records go.
    pub dir: Option<PathBuf>,
    /// `REFLECTION_INPUT`: the agent's own report.
    pub input: Option<PathBuf>,
    /// `CLAUDE_PROJECT_DIR`: where Claude Code was started, for hooks.
    pub project_dir: Option<PathBuf>,
    /// `REFLECTION_TASK_REF`: what is worked on.
    pub task_ref: Option<String>,
    /// `REFLECTION_AGENT`: who works.
    pub agent: Option<String>,
    /// `REFLECTION_RISK_THRESHOLD`, and what is wrong with it.
    pub threshold: Option<Result<RiskThreshold, String>>,
    /// `REFLEXION_RUN_ID`: the run, in orchestrated mode.
    pub run: Option<String>,
    /// `REFLEXION_ATTEMPT`: the attempt, in orchestrated mode.
    pub attempt: Option<u32>,
    /// `REFLEXION_SESSION_ID`: the runtime's own name of the session, in orchestrated mode.
    pub session: Option<String>,
}

/// `REFLECTION_MODE`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum HookMode {
    /// It is not set: nothing is recorded.
    #[default]
    Unset,
    /// `off`: nothing is recorded, and nothing else is done either.
    Off,
    /// `solo` or `orchestrated`.
    On(CaptureMode),
    /// A word that is no mode; nothing is recorded.
    Unknown(String),
}

impl HookMode {
    /// Reads the variable's value.
    #[must_use]
    pub fn read(value: Option<OsString>) -> Self {
        let value = value.unwrap_or_default();
        match value.to_string_lossy().trim() {
            "" => Self::Unset,
            "off" => Self::Off,
            "solo" => Self::On(CaptureMode::Solo),
            "orchestrated" => Self::On(CaptureMode::Orchestrated),
            other => Self::Unknown(other.to_owned()),
        }
    }
}

impl HookEnvironment {
    /// Reads it, asking for one variable at a time.
    #[must_use]
    pub fn read(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |name: &str| get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let text = |name: &str| {
            get(name).map(|value| value.to_string_lossy().trim().to_owned()).filter(|value| !value.is_empty())
        };
        let mode = HookMode::read(get("REFLECTION_MODE"));
        let orchestrated = |name: &str| text(name).filter(|_| mode == HookMode::On(CaptureMode::Orchestrated));
        let threshold = |value: String| {
            let wrong = |error: crate::domain::RiskThresholdError| format!("{RISK_THRESHOLD_VARIABLE}: {error}");
            value.parse::<RiskThreshold>().map_err(wrong)
        };
        Self {
            dir: path("REFLECTION_DIR"),
            input: path("REFLECTION_INPUT"),
            project_dir: path("CLAUDE_PROJECT_DIR"),
            task_ref: text("REFLECTION_TASK_REF"),
            agent: text("REFLECTION_AGENT"),
            threshold: text(RISK_THRESHOLD_VARIABLE).map(threshold),
            run: orchestrated("REFLEXION_RUN_ID"),
            attempt: orchestrated("REFLEXION_ATTEMPT").and_then(|value| value.parse().ok()).filter(|n| *n > 0),
            session: orchestrated("REFLEXION_SESSION_ID"),
            mode,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_words_switch_it_on() {
        let check =
            |value: &str, expected: HookMode| assert_eq!(HookMode::read(Some(value.into())), expected, "{value}");
        assert_eq!(HookMode::read(None), HookMode::Unset);
        check("", HookMode::Unset);
        check("off", HookMode::Off);
        check("solo", HookMode::On(CaptureMode::Solo));
        check(" orchestrated ", HookMode::On(CaptureMode::Orchestrated));
        for other in ["on", "1", "SOLO"] {
            check(other, HookMode::Unknown(other.to_owned()));
        }
    }

    #[test]
    fn the_run_counts_only_where_there_is_one() {
        let read = |mode: &'static str| {
            HookEnvironment::read(move |name| {
                let value = match name {
                    "REFLECTION_MODE" => mode,
                    "REFLEXION_RUN_ID" => "r1",
                    "REFLEXION_ATTEMPT" => "2",
                    "REFLECTION_RISK_THRESHOLD" => "often",
                    "REFLECTION_DIR" => "",
                    _ => return None,
                };
                Some(value.into())
            })
        };
        let (solo, orchestrated) = (read("solo"), read("orchestrated"));
        assert_eq!((solo.run, solo.attempt, solo.dir), (None, None, None));
        assert_eq!((orchestrated.run.as_deref(), orchestrated.attempt), (Some("r1"), Some(2)));
        assert!(solo.threshold.unwrap().unwrap_err().starts_with("REFLECTION_RISK_THRESHOLD: `often`"));
    }
}
