//! A lesson from another agent's record: a trajectory in the Agent Trajectory Interchange Format (ATIF).
//!
//! A trajectory has no verdict, and what its agent says of itself is a claim. What can be learned from it is its last output in which a compiler or a
//! test runner says what failed, read as the output of a check is; the rules write the lesson.

use super::{Heuristic, Signatures};
use crate::domain::{
    CheckCommand, CheckReport, CheckScope, CheckSpec, CheckStatus, Draft, FailedCheck, FailureContext, Origin, Output,
    Reflection, ReflectionId, SessionId, Signature, TaskId, Timestamp,
};
use crate::recall::failure_key;
use crate::redaction::Redactor;
use crate::services::FailureReader;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// What every version that is read begins with: 1.4 of October 2025 is described in the RFC of Harbor, and each 1.x only adds to it.
const VERSION: &str = "ATIF-v1.";
/// What the rules call the check that nobody ran here.
const NAME: &str = "the last output that failed";

/// The keys that are read, as the RFC names them.
#[derive(Deserialize)]
struct Trajectory {
    schema_version: String,
    session_id: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    timestamp: Option<Timestamp>,
    observation: Option<Observation>,
}

#[derive(Deserialize)]
struct Observation {
    results: Vec<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    /// Text; what is none is not read.
    content: Option<Value>,
}

/// A trajectory cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TrajectoryError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and with which key.
    pub message: String,
}

/// The lesson of a trajectory; none if none of its outputs says what failed. `task` is what it is a lesson of, `now` when it was written where no step says it.
///
/// # Errors
/// [`TrajectoryError`].
pub fn lesson_of_trajectory(bytes: &[u8], task: &str, now: Timestamp) -> Result<Option<Reflection>, TrajectoryError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read: Trajectory = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let (line, key, words) = (error.inner().line(), error.path().to_string(), error.inner().to_string());
        let words = words.rsplit_once(" at line ").map_or(words.clone(), |(words, _)| words.to_owned());
        TrajectoryError { line, message: if key == "." { words } else { format!("`{key}`: {words}") } }
    })?;
    if !read.schema_version.starts_with(VERSION) {
        let message = format!("`schema_version`: {} is no version that is read ({VERSION}x)", read.schema_version);
        return Err(TrajectoryError { line: 1, message });
    }
    let outputs = read.steps.iter().flat_map(|step| step.observation.iter().map(move |seen| (step.timestamp, seen)));
    let texts = outputs
        .flat_map(|(at, seen)| seen.results.iter().filter_map(move |one| Some((at, one.content.as_ref()?.as_str()?))));
    let failed = texts.filter_map(|(at, text)| Some((at, failure(text)?))).next_back();
    let Some((at, (signature, output))) = failed else { return Ok(None) };
    // Only its name in the rules' hands; the lesson's task may be called as it likes.
    let of = TaskId::new("imported").map_err(|error| TrajectoryError { line: 1, message: error.to_string() })?;
    let known =
        FailureContext { signature, output, check: Some(check()), ..FailureContext::new(of, 1, at.unwrap_or(now)) };
    Ok(Some(lesson(&read.session_id, task, &known)))
}

/// What an output says that failed, if a tool says so in it.
fn failure(text: &str) -> Option<(Signature, Output)> {
    let output = Output::whole(Redactor::of_process().redact(text).into_owned());
    let signature = Signatures.read(&red(output.clone()));
    let says = signature.tool != "shell" && (!signature.tests.is_empty() || signature.code.is_some());
    says.then_some((signature, output))
}

/// As if a check had printed it.
fn red(output: Output) -> CheckReport {
    let run = CheckCommand::Argv(Vec::new());
    let spec = CheckSpec { name: NAME.to_owned(), run, timeout_ms: None, results: None };
    let report = CheckReport::not_run(CheckScope::Task, spec, "");
    CheckReport { status: CheckStatus::Failed, exit_status: Some(1), output, ..report }
}

fn check() -> FailedCheck {
    let run = CheckCommand::Argv(Vec::new());
    FailedCheck { name: NAME.to_owned(), run, exit_status: Some(1), signal: None, timed_out: false }
}

fn lesson(session: &str, task: &str, failed: &FailureContext) -> Reflection {
    let key = failure_key(&failed.signature, &failed.output.text());
    let fingerprint = failed.signature.fingerprint.clone();
    let Draft { category, analysis, suggestion, action_items, .. } = Heuristic.draft(failed, String::new());
    let hash = Sha256::digest(format!("{session}\n{analysis}\n{suggestion}"));
    let front = hash.iter().take(8).fold(0, |n: u64, b| n << 8 | u64::from(*b));
    Reflection {
        id: ReflectionId::new(format!("ref-import-{front:016x}")),
        session_id: SessionId::new(session),
        task_id: task.to_owned(),
        subtask_id: task.to_owned(),
        attempt_number: 1,
        category,
        analysis,
        suggestion,
        action_items,
        confidence: 0.5,
        created_at: failed.created_at,
        v: Reflection::VERSION,
        origin: Some(Origin::Import),
        already_tried: None,
        signature: (!fingerprint.is_empty()).then_some(fingerprint),
        failure: Some(key).filter(|key| !key.is_empty()).map(Box::new),
        replaces: None,
        files: Vec::new(),
        foreign: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(steps: &Value) -> Result<Option<Reflection>, TrajectoryError> {
        let whole = json!({ "schema_version": "ATIF-v1.4", "session_id": "s", "agent": { "name": "x", "version": "1" }, "steps": steps });
        lesson_of_trajectory(whole.to_string().as_bytes(), "t", "2026-05-05T00:00:00Z".parse().unwrap())
    }

    fn step(output: &str) -> Value {
        json!({ "step_id": 1, "source": "agent", "message": "I fixed it", "timestamp": "2026-01-02T00:00:00Z",
            "observation": { "results": [{ "source_call_id": "c", "content": output }, { "subagent_trajectory_ref": [] }] } })
    }

    #[test]
    fn the_last_output_that_says_what_failed_is_the_lesson() {
        let failed = "FAILED tests/test_pool.py::test_evict - KeyError: 'gone'\n1 failed, 2 passed in 0.1s\n";
        let lesson = of(&json!([step("fine"), step(failed), step("2 files changed")])).unwrap().unwrap();
        assert!(lesson.analysis.contains("KeyError: 'gone'"), "{lesson:?}");
        assert_eq!(
            (lesson.origin, lesson.created_at.to_string().as_str()),
            (Some(Origin::Import), "2026-01-02T00:00:00Z")
        );
        assert_eq!(lesson.failure.unwrap().tests, ["tests/test_pool.py::test_evict"]);
        assert_eq!(of(&json!([step("3 passed in 0.1s"), step("done")])), Ok(None));
    }

    #[test]
    fn a_mistake_is_named_with_its_key() {
        let error = of(&json!([{ "observation": { "results": 3 } }])).unwrap_err();
        assert!(error.message.starts_with("`steps[0].observation.results`: invalid type: integer"), "{error}");
        let newer =
            lesson_of_trajectory(br#"{"schema_version":"ATIF-v2.0","session_id":"s","steps":[]}"#, "t", Timestamp::MIN);
        assert!(newer.unwrap_err().message.contains("ATIF-v2.0 is no version that is read"));
    }
}
