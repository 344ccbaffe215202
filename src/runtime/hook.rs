//! Hooks of agents' sessions, on the real machine. No settings are read and no service is built: they run at every stop
//! of every agent.

use super::judge::TranscriptTurn;
use super::judge::judge_transcript;
use super::judge::read_transcript;
use crate::domain::Standing;
use crate::hooks;
use crate::hooks::Gating;
use crate::hooks::Hook;
use crate::hooks::HookEnvironment;
use crate::hooks::HookMode;
use crate::hooks::Payload;
use crate::hooks::Stopped;
use crate::host::HostWorkTree;
use crate::host::SystemClock;
use crate::prompt::Feedback;
use crate::services::CompletionVerifier;
use crate::services::UsageMeter;
use crate::services::WorkTree;
use std::io;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// What an agent calls a hook with.
#[derive(Debug, Clone)]
pub struct HookCall {
    /// What came on stdin, or why it could not be read.
    pub payload: Result<Vec<u8>, String>,
    /// The agent that the hook was installed in.
    pub agent: Option<String>,
    /// Where the hook was called, if the payload does not say where the session is.
    pub dir: PathBuf,
}

/// `REFLECTION_MODE`.
#[must_use]
pub fn hook_mode() -> HookMode {
    HookMode::read(std::env::var_os("REFLECTION_MODE"))
}

/// Notes what is there at a session's start.
///
/// # Errors
/// What could not be read or written.
pub fn hook_session_start(call: &HookCall) -> io::Result<()> {
    with(call, hooks::session_start)
}

/// Writes the record of a session that stops.
///
/// # Errors
/// What could not be written.
pub fn hook_stop(call: &HookCall) -> io::Result<Stopped> {
    with(call, hooks::stop)
}

fn with<T>(call: &HookCall, work: impl FnOnce(&Hook<'_>) -> io::Result<T>) -> io::Result<T> {
    let around = Around::of(call);
    let clock = SystemClock::new();
    work(&around.hook(call, &clock))
}

/// What is around a call.
struct Around {
    environment: HookEnvironment,
    payload: Payload,
    dir: PathBuf,
    tree: Option<HostWorkTree>,
}

impl Around {
    fn of(call: &HookCall) -> Self {
        let payload = match &call.payload {
            Ok(text) => Payload::read(text),
            Err(because) => Payload::broken(because),
        };
        let given = payload.dir.clone().filter(|dir| dir.is_dir());
        let dir = given.unwrap_or_else(|| call.dir.clone());
        let tree = HostWorkTree::around(&dir);
        Self { environment: HookEnvironment::read(|name| std::env::var_os(name)), payload, dir, tree }
    }

    fn hook<'a>(&'a self, call: &'a HookCall, clock: &'a SystemClock) -> Hook<'a> {
        Hook {
            environment: &self.environment,
            payload: &self.payload,
            agent: call.agent.as_deref(),
            dir: &self.dir,
            tree: self.tree.as_ref().map(|tree| tree as &dyn WorkTree),
            clock,
        }
    }

    fn top(&self) -> PathBuf {
        self.tree.as_ref().map_or_else(|| self.dir.clone(), |tree| tree.top().to_owned())
    }
}

/// Where a session's project is: the checkout around it, or its directory.
#[must_use]
pub fn hook_project(call: &HookCall) -> PathBuf {
    Around::of(call).top()
}

/// Judges a session that stops by its transcript, and gives what the agent is told if it is sent back to work; none if it
/// may stop. Facts against it send it back, and whoever the settings ask; that nothing is known never does.
///
/// # Errors
/// Why it was not judged; it may stop then.
pub async fn hook_verify(
    call: &HookCall,
    app: &dyn CompletionVerifier,
    max_turns: u32,
) -> Result<Option<String>, String> {
    let around = Around::of(call);
    let clock = SystemClock::new();
    let gate = match hooks::gate(&around.hook(call, &clock), max_turns).map_err(|error| error.to_string())? {
        Gating::Judge(gate) => gate,
        Gating::LetGo(because) => return Err(because.to_owned()),
    };
    let transcript = around.payload.transcript.as_ref().ok_or("the payload names no transcript")?;
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", transcript.display());
    let input = std::fs::File::open(transcript).map_err(|error| wrong(&error))?;
    let reading = read_transcript(Box::new(input), None).map_err(|error| wrong(&error))?;
    let turn = TranscriptTurn {
        reading,
        task: None,
        dir: Some(around.top()),
        // A hook has nobody to tell what it cost.
        spent: UsageMeter::default(),
        cancel: CancellationToken::new(),
    };
    let verdict = judge_transcript(app, turn).await;
    let to_do = !verdict.missing.is_empty() || !verdict.next_actions.is_empty();
    if verdict.complete || !(verdict.status == Standing::Refuted || to_do) {
        return Ok(None);
    }
    let said = Feedback { verdict: &verdict, turn: gate.next_turn, max_turns, previous: None, in_loop: None };
    let Some(why) = said.render() else { return Ok(None) };
    // The turn's number is no news about the work.
    let about = format!("{:?} {:?} {}", verdict.missing, verdict.next_actions, verdict.feedback);
    let sent_back = gate.send_back(&about).map_err(|error| error.to_string())?;
    Ok(sent_back.then_some(why))
}
