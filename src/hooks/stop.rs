//! The stop of a session.

use super::change::{Change, change};
use super::files::Binding;
use super::report::{Asked, Named, self_report};
use super::rules::{Rules, compare};
use super::session::{Last, Session};
use super::{Hook, HookMode};
use crate::domain::{Capture, CaptureMode, CaptureSchema, CaptureSource, Provenance, Risk, RiskThreshold, SelfReport};
use crate::files::Place;
use crate::services::WorkTree;
use sha2::{Digest, Sha256};
use std::io;
use std::path::{Path, PathBuf};

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
/// A stop that comes again in the same state (the hook is installed twice, or another one sent the agent back to work and
/// it did nothing) is recorded once; one that comes again with more work takes the place of its first record.
///
/// # Errors
/// What could not be written. Everything else is a word in the record.
pub fn stop(hook: &Hook<'_>) -> io::Result<Stopped> {
    let HookMode::On(mode) = hook.environment.mode else { return Ok(Stopped::Nothing) };
    let files = hook.files();
    let session = hook.session();
    let Some(_lock) = files.lock(session)? else { return Ok(Stopped::Busy) };
    let mut kept = files.session(session);
    let mut seen = look(hook, &kept);
    let threshold = threshold(hook, &kept, &mut seen.reasons);
    let report = self_report(&asked(hook));
    let state = state(&seen, &report);
    let turn = hook.payload.turn.as_deref().unwrap_or_default();
    let told = hook.payload.problem.is_none();
    // Gemini CLI says of the first stop after it was sent back that it is none.
    let sent_back = kept.gated.as_ref().is_some_and(|gated| gated.blocks > 0 && gated.task == turn);
    let refired = hook.payload.refired || sent_back;
    // A stop that says nothing of itself is never taken for one that was recorded.
    let same = |last: &Last| told && last.state == state && (refired || last.turn == turn);
    let again = match &kept.last {
        Some(last) if same(last) => return Ok(Stopped::Nothing),
        // The record of another prompt's stop stays.
        last => last.clone().filter(|last| refired && last.turn == turn),
    };
    let captures = again.as_ref().map_or(1, |last| last.captures + 1);
    let capture = capture(hook, mode, Found { seen, threshold, report, captures });
    let degraded = capture.provenance.degraded_reason.clone();
    let binding = Binding::of(&capture);
    let record = files.write(capture, binding.as_ref())?;
    if let Some(last) = again {
        files.remove(&last.record)?;
    }
    let path = files.records().join(&record);
    kept.last = Some(Last { record, state, turn: turn.to_owned(), captures });
    files.keep_session(session, &kept)?;
    Ok(Stopped::Recorded { path, degraded })
}

fn look(hook: &Hook<'_>, kept: &Session) -> Change {
    match hook.tree {
        Some(tree) => change(tree, kept.start.as_ref(), &hook.own()),
        None => Change {
            reasons: vec![format!("no_repository: {} is in no git repository", hook.dir.display())],
            ..Change::default()
        },
    }
}

/// Equal states are the same work with the same report.
fn state(seen: &Change, report: &Result<SelfReport, String>) -> String {
    format!("{:x}", Sha256::digest(format!("{} {report:?}", seen.state)))
}

/// From which score on the change needs review. What is wrong with a threshold is a reason; the built-in one is used then.
fn threshold(hook: &Hook<'_>, kept: &Session, reasons: &mut Vec<String>) -> RiskThreshold {
    let env = hook.environment;
    let said = match (&env.threshold, &env.mode) {
        (Some(said), _) => Some(said.clone()),
        // A run tells its agents.
        (None, HookMode::On(CaptureMode::Orchestrated)) => None,
        (None, _) => (hook.threshold)(hook.top()).map(|said| match compare(kept, hook.top()) {
            Rules::Changed => Err("the project's settings changed since the session began".to_owned()),
            Rules::Kept | Rules::Unseen => said,
        }),
    };
    said.unwrap_or_else(|| Ok(RiskThreshold::default())).unwrap_or_else(|because| {
        let default = RiskThreshold::default();
        reasons.push(format!("invalid_threshold: {because}; {default} is used"));
        default
    })
}

/// What there is to record.
struct Found {
    seen: Change,
    threshold: RiskThreshold,
    report: Result<SelfReport, String>,
    captures: u32,
}

fn capture(hook: &Hook<'_>, mode: CaptureMode, found: Found) -> Capture {
    let Found { seen, threshold, report, captures } = found;
    let env = hook.environment;
    let elsewhere = hook.elsewhere.map(str::to_owned);
    let mut reasons: Vec<String> =
        hook.payload.problem.iter().chain(&elsewhere).chain(&seen.reasons).cloned().collect();
    if mode == CaptureMode::Orchestrated && (env.run.is_none() || env.attempt.is_none()) {
        reasons.push("no_run: REFLEXION_RUN_ID and REFLEXION_ATTEMPT say no attempt".to_owned());
    }
    let report = report.unwrap_or_else(|because| {
        reasons.push(because);
        SelfReport::default()
    });
    let repo = hook.tree.map_or_else(|| file_name(hook), WorkTree::name);
    let default_ref = seen.branch.as_ref().map_or_else(|| repo.clone(), |branch| format!("{repo}#{branch}"));
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
        risk: risk(&seen, threshold),
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

/// What is not known has no surface; whoever reads the record must not take that for a change of nothing.
fn risk(seen: &Change, threshold: RiskThreshold) -> Risk {
    let risk = Risk::of(&seen.files, threshold);
    if seen.known { risk } else { Risk { reason: "which files were changed is not known".to_owned(), ..risk } }
}

fn asked<'a>(hook: &'a Hook<'_>) -> Asked<'a> {
    let env = hook.environment;
    let (path, named) = match &env.input {
        Some(path) if env.mode == HookMode::On(CaptureMode::Solo) => (path.as_path(), Named::ByUser),
        Some(path) => (path.as_path(), Named::ByUs),
        None => (Path::new(".reflection/reflection-input.json"), Named::ByUs),
    };
    let sessions = [hook.payload.session.as_deref(), env.session.as_deref()];
    Asked { place: Place::named(&hook.top().join(path)), named, sessions: sessions.into_iter().flatten().collect() }
}

fn file_name(hook: &Hook<'_>) -> String {
    hook.dir.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned())
}
