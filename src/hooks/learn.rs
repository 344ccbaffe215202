//! What sessions that no run began are given of what was learned in their project: at their start the lessons that proved themselves, after a
//! command that failed the lesson about such a failure. Each is given once in a session.
//!
//! Inside of a run nothing is: there a coin decides what an attempt sees.

use super::{Hook, HookMode};
use crate::domain::{CaptureMode, FailureContext, Recall, Reflection, ReflectionId, SubtaskId, TaskId};
use crate::services::{RecallQuery, ReflectionService};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io;

/// At most this many lessons at a session's start.
const AT_START: usize = 3;
/// A session sees at most this many after failures: more is no help any more.
const AFTER_FAILURES: usize = 20;

/// The lessons for a session's start, as text for the agent; none where there are none that it has not seen.
///
/// # Errors
/// What could not be read or written; the agent is given nothing then.
pub async fn lessons_at_start(hook: &Hook<'_>, service: &dyn ReflectionService) -> io::Result<Option<String>> {
    if !is_on(hook) {
        return Ok(None);
    }
    let proven = service.proven(AT_START).await.map_err(io::Error::other)?;
    give(hook, Recall { own: proven, ..Recall::default() }, service)
}

/// The lesson about such a failure as a command of the session has just ended with, as text for the agent; none where there is none that
/// it has not seen.
///
/// # Errors
/// As [`lessons_at_start`].
pub async fn lesson_after_failure(
    hook: &Hook<'_>,
    failure: FailureContext,
    service: &dyn ReflectionService,
) -> io::Result<Option<String>> {
    if !is_on(hook) {
        return Ok(None);
    }
    let query = RecallQuery {
        subtask: SubtaskId::from(&failure.task_id),
        task: failure.task_id,
        text: String::new(),
        failure: Some((failure.signature, failure.output)),
        limit: 0,
        most: None,
        without: BTreeSet::new(),
    };
    let found = service.recall(&query).await.map_err(io::Error::other)?;
    // No task of the project is at work, so none is its own.
    give(hook, Recall { own: Vec::new(), ..found }, service)
}

/// The name of a session where it stands for a task: lessons are written of it, and it is measured.
#[must_use]
pub fn session_task(session: &str) -> TaskId {
    let named = TaskId::new(format!("session-{session}"));
    let hashed = |_| TaskId::new(format!("session-{:.32}", format!("{:x}", Sha256::digest(session))));
    named.or_else(hashed).expect("hexadecimal digits are an id")
}

fn is_on(hook: &Hook<'_>) -> bool {
    match &hook.environment.mode {
        HookMode::Unset | HookMode::On(CaptureMode::Solo) => true,
        HookMode::Off | HookMode::On(CaptureMode::Orchestrated) | HookMode::Unknown(_) => false,
    }
}

/// What of these the session has not seen, once that is noted.
fn give(hook: &Hook<'_>, mut lessons: Recall, service: &dyn ReflectionService) -> io::Result<Option<String>> {
    if lessons.lessons().next().is_none() {
        return Ok(None);
    }
    let Some(session) = hook.payload.session.as_deref() else {
        return Err(io::Error::other(hook.payload.problem.clone().unwrap_or_default()));
    };
    let files = hook.files();
    let Some(_lock) = files.lock(session)? else { return Ok(None) };
    let mut kept = files.session(session);
    let is_new = |lesson: &Reflection, given: &[ReflectionId]| !given.contains(&lesson.id);
    lessons.own.retain(|lesson| is_new(lesson, &kept.given));
    lessons.others.retain(|other| is_new(&other.lesson, &kept.given));
    let section = service.format_recall(&lessons);
    if section.text.is_empty() || kept.given.len() >= AT_START + AFTER_FAILURES {
        return Ok(None);
    }
    kept.given.extend(section.ids);
    files.keep_session(session, &kept)?;
    Ok(Some(section.text))
}
