//! `reflection.v1`: what an agent knew when it stopped, and what the change itself says about its risk.
//!
//! The fields that can be computed are computed by the runtime; `confidence`, `most_likely_wrong` and
//! `known_not_in_diff` are the agent's own words, `null` where it said nothing. Nothing here decides anything: a record
//! is data for whoever reviews the change, and for the question what self-reports are worth.

use super::{Risk, Timestamp};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

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
    #[serde(deserialize_with = "provenance")]
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

/// A record that is degraded says why, and only such a one.
fn provenance<'de, D: Deserializer<'de>>(from: D) -> Result<Provenance, D::Error> {
    let provenance = Provenance::deserialize(from)?;
    if provenance.degraded == provenance.degraded_reason.is_some() {
        return Ok(provenance);
    }
    Err(D::Error::custom("`degraded` is true if there is a `degraded_reason`, and only then"))
}

/// How a record came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend(
    "if" = {"properties": {"degraded": {"const": true}}},
    "then" = {"required": ["degraded_reason"]},
    "else" = {"not": {"required": ["degraded_reason"]}}
))]
pub struct Provenance {
    /// Who made the record.
    pub source: CaptureSource,
    /// How often this stop was captured, from 1: more than once if a hook sent the agent back to work.
    #[schemars(range(min = 1))]
    pub reflection_attempt: u32,
    /// Something that the record should say is missing or was guessed; `degraded_reason` says what. A report that the
    /// agent did not write is no such thing, nor one that an earlier session left behind.
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
    /// It is of another session, and says nothing about this one.
    #[error("the report is of another session")]
    OfAnotherSession,
    /// It cannot be read, or does not say whose it is.
    #[error("invalid_self_report: {0}")]
    Invalid(String),
}

impl SelfReport {
    /// Reads a report that must be of one of these sessions: a report of an earlier session says nothing about this one.
    ///
    /// # Errors
    /// [`SelfReportError`] with what is wrong; nothing of such a report counts.
    ///
    /// ```
    /// # use reflexion_core::domain::SelfReport;
    /// let report = SelfReport::read(br#"{"session_id":"s1","confidence":0.7}"#, &["s1"]).unwrap();
    /// assert_eq!(report.confidence, Some(0.7));
    /// assert!(SelfReport::read(br#"{"confidence":0.7}"#, &["s1"]).is_err());
    /// ```
    pub fn read(text: &[u8], sessions: &[&str]) -> Result<Self, SelfReportError> {
        let invalid = |because: String| Err(SelfReportError::Invalid(because));
        let map = match serde_json::from_slice(text) {
            Ok(Value::Object(map)) => map,
            Ok(_) => return invalid("it is no JSON object".to_owned()),
            Err(error) => return invalid(format!("it is not JSON: {error}")),
        };
        match words(&map, "session_id")?.as_deref() {
            Some(named) if sessions.contains(&named) => {}
            Some(_) => return Err(SelfReportError::OfAnotherSession),
            None => return invalid("it names no `session_id`".to_owned()),
        }
        let confidence = match map.get("confidence") {
            None | Some(Value::Null) => None,
            Some(given) => match given.as_f64().filter(|number| (0.0..=1.0).contains(number)) {
                None => return Err(wrong("confidence", "a number from 0 to 1", given)),
                number => number,
            },
        };
        let most_likely_wrong = match map.get("most_likely_wrong") {
            None | Some(Value::Null) => None,
            Some(Value::Object(inner)) => match (words(inner, "surface")?, words(inner, "description")?) {
                (Some(surface), Some(description)) => Some(MostLikelyWrong { surface, description }),
                _ => return invalid("`most_likely_wrong` has no `surface` or no `description`".to_owned()),
            },
            Some(given) => return Err(wrong("most_likely_wrong", "an object with `surface` and `description`", given)),
        };
        Ok(Self { confidence, most_likely_wrong, known_not_in_diff: words(&map, "known_not_in_diff")? })
    }
}

/// A text of a report; keys that mean nothing are left alone, because a language model writes it.
fn words(map: &Map<String, Value>, key: &str) -> Result<Option<String>, SelfReportError> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(given) => Err(wrong(key, "a text", given)),
    }
}

fn wrong(key: &str, expected: &str, given: &Value) -> SelfReportError {
    let shown: String = given.to_string().chars().take(40).collect();
    SelfReportError::Invalid(format!("`{key}` is {expected}, not {shown}"))
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
        check(r#"{"session_id":"s3","confidence":"high"}"#, "the report is of another session");
        check(r#"{"confidence":1}"#, "invalid_self_report: it names no `session_id`");
        let number = "invalid_self_report: `confidence` is a number from 0 to 1, not ";
        check(r#"{"session_id":"s1","confidence":"high"}"#, &format!("{number}\"high\""));
        check(r#"{"session_id":"s1","confidence":1.01}"#, &format!("{number}1.01"));
        check(r#"{"session_id":"s1","confidence":-0.1}"#, &format!("{number}-0.1"));
        let object = "invalid_self_report: `most_likely_wrong` ";
        check(r#"{"session_id":"s1","most_likely_wrong":"auth"}"#, &format!("{object}is an object with"));
        check(r#"{"session_id":"s1","most_likely_wrong":{"surface":"auth"}}"#, &format!("{object}has no"));
        let text = "invalid_self_report: `surface` is a text, not 7";
        check(r#"{"session_id":"s1","most_likely_wrong":{"surface":7,"description":""}}"#, text);
        check(
            r#"{"session_id":"s1","most_likely_wrong":{"surface":"a","description":"b","x":1}}"#,
            "SelfReport { confidence: None, most_likely_wrong: Some",
        );
        check(r#"{"session_id":"s1","known_not_in_diff":["x"]}"#, "invalid_self_report: `known_not_in_diff` is a text");
        check(r#"{"session_id":7}"#, "invalid_self_report: `session_id` is a text, not 7");
        check("[]", "invalid_self_report: it is no JSON object");
        check("", "invalid_self_report: it is not JSON: EOF");
    }

    #[test]
    fn a_record_is_degraded_for_a_reason() {
        let check = |provenance: serde_json::Value, holds: bool| {
            let mut given =
                serde_json::json!({"source": "stop-hook", "reflection_attempt": 1, "reflection_mode": "solo"});
            given.as_object_mut().unwrap().extend(provenance.as_object().unwrap().clone());
            let record = serde_json::json!({"schema": "reflection.v1", "task_ref": "a", "agent": "a", "session_id": "s",
                "repo": "r", "timestamp": "2026-05-05T00:00:00Z", "confidence": null, "most_likely_wrong": null,
                "known_not_in_diff": null, "files_changed": [], "provenance": given,
                "risk": {"needs_review": false, "score": 0.0, "surface": "none", "reason": "nothing"}});
            assert_eq!(serde_json::from_value::<Capture>(record).is_ok(), holds, "{provenance}");
        };
        check(serde_json::json!({"degraded": false}), true);
        check(serde_json::json!({"degraded": true, "degraded_reason": "no_run"}), true);
        check(serde_json::json!({"degraded": true}), false);
        check(serde_json::json!({"degraded": false, "degraded_reason": "no_run"}), false);
    }
}
