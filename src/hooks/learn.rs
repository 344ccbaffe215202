//! What sessions that no run began are given of what was learned in their project: at their start the lessons that proved themselves, after a
//! command that failed the lesson about such a failure. Each is given once in a session.
//!
//! A coin holds some out, as in runs, and each time that lessons fitted is a [moment](crate::domain::Moment) of the record: written before they are shown, and once more
//! when it is known how it ended. Inside of a run nothing is given: there the run's own coin decides what an attempt sees.

use super::session::{OpenMoment, Session};
use super::{Hook, HookMode};
use crate::domain::policy::RetryStart;
use crate::domain::{
    AttemptRecord, CaptureMode, Coin, Exposure, FailureContext, FailureType, Moment, Recall, Reflection, ReflectionId,
    RunId, SessionId, SubtaskId, TaskId, Timestamp, Verdict,
};
use crate::effect::{Probabilities, Whose, drawn};
use crate::services::{Lessons, RecallQuery, ReflectionService};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

/// At most this many lessons at a session's start.
const AT_START: usize = 3;
/// A session sees at most this many after failures: more is no help any more.
const AFTER_FAILURES: usize = 20;

/// Where lessons for a session come from, and where it is written down.
pub struct Teaching<'a> {
    /// Finds them.
    pub service: &'a dyn ReflectionService,
    /// What is known of them, and the record of moments.
    pub lessons: &'a dyn Lessons,
    /// Whether a coin holds some out.
    pub hold_out: bool,
    /// The project's `retry.start`, which the record of runs has as well.
    pub start: RetryStart,
}

/// The lessons for a session's start, as text for the agent; none where there are none that it has not seen, or where they are held out.
///
/// # Errors
/// What could not be read or written; the agent is given nothing then.
pub async fn lessons_at_start(hook: &Hook<'_>, teaching: &Teaching<'_>) -> io::Result<Option<String>> {
    if !is_on(hook) {
        return Ok(None);
    }
    let proven = teaching.service.proven(AT_START).await.map_err(io::Error::other)?;
    let found = Recall { own: proven, ..Recall::default() };
    give(hook, found, OpenMoment { number: 0, command: None }, teaching).await
}

/// The lesson about such a failure as a command of the session has just ended with, as text for the agent; none where there is none that
/// it has not seen, or where it is held out.
///
/// # Errors
/// As [`lessons_at_start`].
pub async fn lesson_after_failure(
    hook: &Hook<'_>,
    failure: FailureContext,
    teaching: &Teaching<'_>,
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
    let found = teaching.service.recall(&query).await.map_err(io::Error::other)?;
    // What the session itself has left says what it was told at its stop.
    let found = Recall { own: Vec::new(), ..found };
    // A failure that was not a command's is one that somebody has pasted.
    let command = hook.payload.command.as_deref().map(digest);
    give(hook, found, OpenMoment { number: 0, command: Some(command.unwrap_or_default()) }, teaching).await
}

/// Whether it is not known yet how a moment ended after which this command of the session would tell.
#[must_use]
pub fn awaits_command(hook: &Hook<'_>) -> bool {
    let (Some(session), Some(command)) = (hook.payload.session.as_deref(), hook.payload.command.as_deref()) else {
        return false;
    };
    let command = Some(digest(command));
    is_on(hook) && hook.files().session(session).open.iter().any(|moment| moment.command == command)
}

/// Writes down how moments ended after which this command was to be run again.
///
/// # Errors
/// What could not be read or written; it stays open then.
pub async fn command_ended(hook: &Hook<'_>, passed: bool, lessons: &dyn Lessons) -> io::Result<usize> {
    let Some(command) = hook.payload.command.as_deref().map(digest) else { return Ok(0) };
    settle(hook, |moment| moment.command.as_ref() == Some(&command), passed, lessons).await
}

/// Writes down how all moments ended of which it is not known yet, by what the session's stop showed; says how many these are.
///
/// # Errors
/// As [`command_ended`].
pub async fn stop_ended(hook: &Hook<'_>, passed: bool, lessons: &dyn Lessons) -> io::Result<usize> {
    settle(hook, |_| true, passed, lessons).await
}

/// The name of a session where it stands for a task: lessons are written of it, and it is measured.
#[must_use]
pub fn session_task(session: &str) -> TaskId {
    let named = TaskId::new(format!("session-{session}"));
    let hashed = |_| TaskId::new(format!("session-{:.32}", digest(session)));
    named.or_else(hashed).expect("hexadecimal digits are an id")
}

fn is_on(hook: &Hook<'_>) -> bool {
    match &hook.environment.mode {
        HookMode::Unset | HookMode::On(CaptureMode::Solo) => true,
        HookMode::Off | HookMode::On(CaptureMode::Orchestrated) | HookMode::Unknown(_) => false,
    }
}

fn digest(text: &str) -> String {
    format!("{:x}", Sha256::digest(text.trim()))
}

/// What of these the session has not seen, once that and the coin are noted.
async fn give(
    hook: &Hook<'_>,
    mut found: Recall,
    moment: OpenMoment,
    teaching: &Teaching<'_>,
) -> io::Result<Option<String>> {
    if found.lessons().next().is_none() {
        return Ok(None);
    }
    let Some(session) = hook.payload.session.as_deref() else {
        return Err(io::Error::other(hook.payload.problem.clone().unwrap_or_default()));
    };
    let files = hook.files();
    let Some(_lock) = files.lock(session)? else { return Ok(None) };
    let mut kept = files.session(session);
    let is_new = |lesson: &Reflection, given: &[ReflectionId]| !given.contains(&lesson.id);
    found.own.retain(|lesson| is_new(lesson, &kept.given));
    found.others.retain(|other| is_new(&other.lesson, &kept.given));
    let section = teaching.service.format_recall(&found);
    if section.text.is_empty() || kept.given.len() >= AT_START + AFTER_FAILURES {
        return Ok(None);
    }
    kept.given.extend(section.ids.iter().cloned());
    kept.moments = kept.moments.saturating_add(1);
    let moment = OpenMoment { number: kept.moments, ..moment };
    let record = begun(hook, session, &moment, section.ids, teaching).await?;
    kept.open.push(moment);
    files.keep_session(session, &kept)?;
    teaching.lessons.add_moment(&record).await.map_err(io::Error::other)?;
    Ok((!record.shown.is_empty()).then_some(section.text))
}

/// The record of a moment before its lessons are shown. The coin is that of lessons of other tasks: a session is no task of the project, so none is its own.
async fn begun(
    hook: &Hook<'_>,
    session: &str,
    moment: &OpenMoment,
    candidates: Vec<ReflectionId>,
    teaching: &Teaching<'_>,
) -> io::Result<AttemptRecord> {
    let (task, run) = names(session)?;
    let mut coin = None;
    if teaching.hold_out {
        let known = teaching.lessons.read().await.map_err(io::Error::other)?;
        let probability = Probabilities::after(&known.attempts).of(Whose::Others);
        let drawn = drawn(&run, Whose::Others, (task.as_str(), task.as_str()), moment.number);
        coin = Some(Coin { probability, injected: drawn < probability, candidates: candidates.clone() });
    }
    let shown = if coin.as_ref().is_none_or(|coin| coin.injected) { candidates } else { Vec::new() };
    Ok(AttemptRecord {
        v: AttemptRecord::VERSION,
        run,
        subtask: SubtaskId::from(&task),
        task,
        attempt: moment.number,
        session: SessionId::new(session),
        agent: hook.environment.agent.as_deref().or(hook.agent).unwrap_or("unknown").to_owned(),
        at: hook.clock.now(),
        verdict: None,
        failure: None,
        ending: None,
        signature: None,
        duration_ms: 0,
        tokens: None,
        shown,
        exposure: coin.map(|coin| Exposure { start: teaching.start, own: None, others: Some(coin) }),
        moment: Some(if moment.command.is_some() { Moment::Failure } else { Moment::SessionStart }),
    })
}

/// The task and the run that a session stands for.
fn names(session: &str) -> io::Result<(TaskId, RunId)> {
    let task = session_task(session);
    let run = RunId::new(task.as_str()).map_err(io::Error::other)?;
    Ok((task, run))
}

async fn settle(
    hook: &Hook<'_>,
    ended: impl Fn(&OpenMoment) -> bool,
    passed: bool,
    lessons: &dyn Lessons,
) -> io::Result<usize> {
    let Some(session) = hook.payload.session.as_deref().filter(|_| is_on(hook)) else { return Ok(0) };
    let files = hook.files();
    if !files.session(session).open.iter().any(&ended) {
        return Ok(0);
    }
    let Some(_lock) = files.lock(session)? else { return Ok(0) };
    let mut kept = files.session(session);
    let (over, open): (Vec<OpenMoment>, Vec<OpenMoment>) =
        std::mem::take(&mut kept.open).into_iter().partition(|moment| ended(moment));
    let known = lessons.read().await.map_err(io::Error::other)?;
    let mut written = 0;
    for moment in &over {
        // The session's file lies where the agent may write: what was shown is what the record says.
        let Some(begun) = known.attempts.iter().find(|one| is_of(one, session, moment)) else { continue };
        lessons.add_moment(&judged(begun, passed, hook.clock.now())).await.map_err(io::Error::other)?;
        written += 1;
    }
    files.keep_session(session, &Session { open, ..kept })?;
    Ok(written)
}

/// The moment as it was written down, of which nobody has said yet how it ended.
fn is_of(record: &AttemptRecord, session: &str, moment: &OpenMoment) -> bool {
    let is_open = record.moment.is_some() && record.verdict.is_none();
    is_open && record.session.as_str() == session && record.attempt == moment.number
}

fn judged(begun: &AttemptRecord, passed: bool, now: Timestamp) -> AttemptRecord {
    let took = Duration::try_from(now.duration_since(begun.at)).unwrap_or_default();
    AttemptRecord {
        at: now,
        verdict: Some(if passed { Verdict::Confirmed } else { Verdict::Failed }),
        failure: (!passed).then_some(FailureType::CheckFailed),
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        ..begun.clone()
    }
}
