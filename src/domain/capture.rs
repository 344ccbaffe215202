//! `reflection.v1`: what an agent knew when it stopped, and what the change itself says about its risk.
//!
//! The fields that can be computed are computed by the runtime; `confidence`, `most_likely_wrong` and
//! `known_not_in_diff` are the agent's own words, `null` where it said nothing. Nothing here decides anything: a record
//! is data for whoever reviews the change, and for the question what self-reports are worth.

use super::Risk;
use super::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// One stop of one session, as kept in `.reflection/reflections/<session>-<timestamp>.reflection.json`.
///
/// Who checks what: CI and tests > a person's merge > a reviewer > this record. `risk.needs_review: false` never means
/// that the change is safe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "reflection.v1")]
// What may be null is there all the same.
#[schemars(extend("required" = [
    "schema", "task_ref", "agent", "session_id", "timestamp", "repo", "confidence", "most_likely_wrong", "known_not_in_diff", "risk",
    "files_changed", "provenance"
]))]
pub struct Capture {
    /// Version of this shape.
    pub schema: CaptureSchema,
    /// What was worked on: `REFLECTION_TASK_REF`, or the repository and its branch as `repo#branch`.
    pub task_ref: String,
    /// Who worked: `REFLECTION_AGENT`, the agent that the hook is installed in, or `unknown`.
    pub agent: String,
    /// The agent's own id of the conversation, or `unknown`.
    pub session_id: String,
    /// When the record was made, UTC.
    #[schemars(with = "String", extend("format" = "date-time", "pattern" = "Z$"))]
    pub timestamp: Timestamp,
    /// The name of the repository's directory.
    pub repo: String,
    /// How sure the agent is that the work is right; `null` if it did not say.
    #[schemars(range(min = 0, max = 1))]
    pub confidence: Option<f64>,
    /// The most likely way in which the work is wrong, in the agent's words.
    pub most_likely_wrong: Option<MostLikelyWrong>,
    /// What the agent knows and the diff does not show, in its words.
    pub known_not_in_diff: Option<String>,
    /// What the changed files say, whatever the agent says.
    pub risk: Risk,
    /// Every file that differs from the base, sorted: committed, staged, unstaged and untracked alike. Paths are from
    /// the repository's top; bytes that are no UTF-8 are shown as U+FFFD.
    pub files_changed: Vec<String>,
    /// How the record came about.
    pub provenance: Provenance,
}

/// Version of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CaptureSchema {
    /// The first.
    #[serde(rename = "reflection.v1")]
    V1,
}

/// The single most likely way in which the work is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MostLikelyWrong {
    /// Which part of the system: a word such as `auth`, `data` or `build`.
    pub surface: String,
    /// What is wrong with it.
    pub description: String,
}

/// How a record came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Who made the record.
    pub source: CaptureSource,
    /// How often this stop was captured, from 1: more than once if a hook sent the agent back to work.
    #[schemars(range(min = 1))]
    pub reflection_attempt: u32,
    /// Something that the record should say is missing or was guessed; `degraded_reason` says what. A report that the
    /// agent did not write is no such thing.
    pub degraded: bool,
    /// The mode it was made in.
    pub reflection_mode: CaptureMode,
    /// Why it is degraded; several reasons are joined by `; `. Each begins with a word such as `no_session_start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded_reason: Option<String>,
    /// The run that the session belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The attempt of that run, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub attempt: Option<u32>,
    /// Whether this is the attempt's newest record. There is one per attempt; an older one loses the mark.
    #[serde(default, rename = "final", skip_serializing_if = "Option::is_none")]
    pub is_final: Option<bool>,
    /// The commit that `files_changed` counts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_commit: Option<String>,
}

/// Who made a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CaptureSource {
    /// A hook of the agent, when it stopped.
    StopHook,
    /// The runtime itself, at the end of an attempt.
    Orchestrator,
}

/// What a session's end is captured for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CaptureMode {
    /// A person's own session.
    Solo,
    /// An attempt of a run.
    Orchestrated,
}

/// What the agent says about its own work.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SelfReport {
    /// How sure it is, 0 to 1.
    pub confidence: Option<f64>,
    /// Where it is most likely wrong.
    pub most_likely_wrong: Option<MostLikelyWrong>,
    /// What it knows beside the diff.
    pub known_not_in_diff: Option<String>,
}

/// Why a [`SelfReport`] does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelfReportError {
    /// It is of another session, or names none.
    #[error("stale_self_report: {0}")]
    Stale(String),
    /// It cannot be read.
    #[error("invalid_self_report: {0}")]
    Invalid(String),
}

/// The file as an agent writes it. Keys that mean nothing are left alone: it is written by a language model.
#[derive(Deserialize)]
struct SelfReportFile {
    session_id: Option<String>,
    confidence: Option<f64>,
    most_likely_wrong: Option<MostLikelyWrong>,
    known_not_in_diff: Option<String>,
}

impl SelfReport {
    /// Reads a report that must be of one of these sessions: a report of an earlier session says nothing about this one.
    ///
    /// # Errors
    /// [`SelfReportError`] with what is wrong; nothing of such a report counts.
    ///
    /// ```
    /// # use reflexion::domain::SelfReport;
    /// let report = SelfReport::read(br#"{"session_id":"s1","confidence":0.7}"#, &["s1"]).unwrap();
    /// assert_eq!(report.confidence, Some(0.7));
    /// assert!(SelfReport::read(br#"{"confidence":0.7}"#, &["s1"]).is_err());
    /// ```
    pub fn read(text: &[u8], sessions: &[&str]) -> Result<Self, SelfReportError> {
        let file: SelfReportFile =
            serde_json::from_slice(text).map_err(|error| SelfReportError::Invalid(error.to_string()))?;
        match file.session_id.as_deref() {
            Some(named) if sessions.contains(&named) => {}
            Some(_) => return Err(SelfReportError::Stale("it is of another session".to_owned())),
            None => return Err(SelfReportError::Stale("it names no `session_id`".to_owned())),
        }
        if let Some(confidence) = file.confidence.filter(|value| !(0.0..=1.0).contains(value)) {
            return Err(SelfReportError::Invalid(format!("`confidence` is {confidence}, not 0 to 1")));
        }
        Ok(Self {
            confidence: file.confidence,
            most_likely_wrong: file.most_likely_wrong,
            known_not_in_diff: file.known_not_in_diff,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_counts_as_a_whole_or_not_at_all() {
        let check = |text: &str, expected: &str| {
            let read = SelfReport::read(text.as_bytes(), &["s1", "s2"]);
            let said = read.map_or_else(|error| error.to_string(), |report| format!("{report:?}"));
            assert!(said.starts_with(expected), "{text}: {said}");
        };
        check(r#"{"session_id":"s2","confidence":1,"notes":"x"}"#, "SelfReport { confidence: Some(1.0)");
        check(r#"{"session_id":"s1","confidence":null}"#, "SelfReport { confidence: None");
        check(r#"{"session_id":"s3","confidence":1}"#, "stale_self_report: it is of another session");
        check(r#"{"confidence":1}"#, "stale_self_report: it names no `session_id`");
        check(r#"{"session_id":"s1","confidence":"high"}"#, "invalid_self_report: invalid type: string");
        check(r#"{"session_id":"s1","confidence":1.01}"#, "invalid_self_report: `confidence` is 1.01");
        check(r#"{"session_id":"s1","confidence":-0.1}"#, "invalid_self_report: `confidence` is -0.1");
        check(r#"{"session_id":"s1","most_likely_wrong":"auth"}"#, "invalid_self_report: invalid type");
        check(r#"{"session_id":"s1","most_likely_wrong":{"surface":"auth"}}"#, "invalid_self_report: missing field");
        check(r#"{"session_id":"s1","known_not_in_diff":["x"]}"#, "invalid_self_report: invalid type");
        check(r#"{"session_id":7}"#, "invalid_self_report: invalid type");
        check("[]", "invalid_self_report: ");
        check("", "invalid_self_report: EOF");
    }
}
