//! The stop of a session.

use super::Hook;
use super::HookMode;
use super::change::Change;
use super::change::change;
use super::session::Last;
use super::session::Session;
use crate::domain::Capture;
use crate::domain::CaptureMode;
use crate::domain::CaptureSchema;
use crate::domain::CaptureSource;
use crate::domain::Provenance;
use crate::domain::Risk;
use crate::domain::SelfReport;
use crate::services::WorkTree;
use std::io;
use std::io::Read;
use std::path::PathBuf;

/// A report of an agent's own is some sentences.
const REPORT_BYTES: u64 = 1 << 20;

/// What became of a stop.
#[derive(Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The mode is off, or nothing changed since the record before.
    Nothing,
    /// A record was written.
    Recorded {
        /// Its file.
        path: PathBuf,
        /// Why it is degraded.
        degraded: Option<String>,
    },
    /// Another hook of this session is at it.
    Busy,
}

/// Records what the agent knew when it stopped.
///
/// # Errors
/// What could not be written. Everything else is a word in the record.
pub fn stop(hook: &Hook<'_>) -> io::Result<Stopped> {
    let HookMode::On(mode) = hook.environment.mode else { return Ok(Stopped::Nothing) };
    let files = hook.files();
    let session = hook.session();
    let Some(_lock) = files.lock(session)? else { return Ok(Stopped::Busy) };
    let mut kept = files.session(session);
    let seen = look(hook, &kept);
    let state = format!("{} {}", seen.state, hook.payload.turn.as_deref().unwrap_or_default());
    let captures = match (&kept.last, hook.payload.refired) {
        (Some(last), _) if last.state == state => return Ok(Stopped::Nothing),
        (None, true) => return Ok(Stopped::Nothing),
        (Some(last), true) => last.captures + 1,
        (_, false) => 1,
    };
    let capture = capture(hook, mode, seen, captures);
    let path = files.write(&capture)?;
    let record = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    kept.last = Some(Last { record, state, captures });
    files.keep_session(session, &kept)?;
    Ok(Stopped::Recorded { path, degraded: capture.provenance.degraded_reason })
}

fn look(hook: &Hook<'_>, kept: &Session) -> Change {
    match hook.tree {
        Some(tree) => change(tree, kept.start.as_ref()),
        None => Change {
            reasons: vec![format!("no_repository: {} is in no git repository", hook.dir.display())],
            ..Change::default()
        },
    }
}

fn capture(hook: &Hook<'_>, mode: CaptureMode, seen: Change, captures: u32) -> Capture {
    let env = hook.environment;
    let mut reasons: Vec<String> = hook.payload.problem.iter().cloned().chain(seen.reasons).collect();
    let threshold = match env.threshold.clone() {
        Some(Ok(threshold)) => threshold,
        Some(Err(because)) => {
            reasons.push(format!("invalid_threshold: {because}"));
            Default::default()
        }
        None => Default::default(),
    };
    let report = self_report(hook).unwrap_or_else(|because| {
        reasons.push(because);
        SelfReport::default()
    });
    let repo = hook.tree.map_or_else(|| file_name(hook), WorkTree::name);
    let branch = seen.branch.unwrap_or_default();
    let default_ref = if branch.is_empty() { repo.clone() } else { format!("{repo}#{branch}") };
    Capture {
        schema: CaptureSchema::V1,
        task_ref: env.task_ref.clone().unwrap_or(default_ref),
        agent: env.agent.as_deref().or(hook.agent).unwrap_or("unknown").to_owned(),
        session_id: hook.session().to_owned(),
        timestamp: hook.clock.now(),
        repo,
        confidence: report.confidence,
        most_likely_wrong: report.most_likely_wrong,
        known_not_in_diff: report.known_not_in_diff,
        risk: Risk::of(&seen.files, threshold),
        files_changed: seen.files,
        provenance: Provenance {
            source: CaptureSource::StopHook,
            reflection_attempt: captures,
            degraded: !reasons.is_empty(),
            reflection_mode: mode,
            degraded_reason: (!reasons.is_empty()).then(|| reasons.join("; ")),
            run: env.run.clone(),
            attempt: env.attempt,
            is_final: None,
            base_commit: seen.base,
        },
    }
}

fn file_name(hook: &Hook<'_>) -> String {
    hook.dir.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The agent's own report; none is no error.
fn self_report(hook: &Hook<'_>) -> Result<SelfReport, String> {
    let path = match &hook.environment.input {
        Some(path) => hook.dir.join(path),
        None => hook.top().join(".reflection/reflection-input.json"),
    };
    let mut text = Vec::new();
    let file = match std::fs::File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SelfReport::default()),
        Err(error) => return Err(format!("invalid_self_report: {}: {error}", path.display())),
    };
    let read = file.take(REPORT_BYTES + 1).read_to_end(&mut text);
    read.map_err(|error| format!("invalid_self_report: {}: {error}", path.display()))?;
    if text.len() as u64 > REPORT_BYTES {
        return Err(format!("invalid_self_report: {} has more than {} MiB", path.display(), REPORT_BYTES >> 20));
    }
    let sessions = [Some(hook.session()), hook.environment.session.as_deref()];
    let sessions: Vec<&str> = sessions.into_iter().flatten().collect();
    SelfReport::read(&text, &sessions).map_err(|error| error.to_string())
}
