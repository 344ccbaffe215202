//! `reflexion hook`.
//!
//! `stop` and `session-start` run inside somebody else's session, at every stop: they are answered before anything else
//! of the program starts, end with 0 whatever happens, and write nothing on stdout.

use super::Exit;
use super::args::Args;
use super::args::Command;
use super::args::HookArgs;
use super::args::HookCallArgs;
use super::args::HookCommand;
use super::output::errln;
use crate::runtime;
use crate::runtime::HookCall;
use crate::runtime::HookMode;
use crate::runtime::Stopped;
use std::ffi::OsString;
use std::io;
use std::io::IsTerminal;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

/// An agent's last words are its longest text; more than this is no payload.
const PAYLOAD_BYTES: u64 = 16 << 20;

/// Whether these arguments are a call by an agent's hook, right or wrong.
pub(super) fn is_call(args: &[OsString]) -> bool {
    let mut words = args.iter().skip(1);
    words.any(|word| word == "hook") && words.next().is_some_and(|word| word == "stop" || word == "session-start")
}

/// Whether a hook's call has nothing to do.
pub(super) fn is_off(args: &[OsString]) -> bool {
    let asks = args.iter().any(|word| word == "--help" || word == "-h");
    !asks && matches!(runtime::hook_mode(), HookMode::Unset | HookMode::Off)
}

/// A hook that is called wrongly says so and fails nobody: an exit code of 2 would send Claude Code back to work.
pub(super) fn misused(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    Exit::Confirmed.into()
}

/// Does what a hook of an agent asks, if these arguments are such a call.
pub(super) fn at_once(args: &Args) -> Option<Exit> {
    let Command::Hook(HookArgs { command }) = &args.command else { return None };
    let (call, work): (_, fn(&HookCall)) = match command {
        HookCommand::SessionStart(call) => (call, session_start),
        HookCommand::Stop(call) => (call, stop),
    };
    if let HookMode::Unknown(word) = runtime::hook_mode() {
        say(&format!("REFLECTION_MODE is `{word}`, not off, solo or orchestrated; nothing is recorded"));
    } else {
        let call = received(call, &args.project);
        // A bug of ours must not look like an answer of the hook's.
        if std::panic::catch_unwind(|| work(&call)).is_err() {
            say("it broke off, which is a bug");
        }
    }
    Some(Exit::Confirmed)
}

/// What else there is to do with hooks.
pub(super) fn hook(args: HookArgs) -> anyhow::Result<Exit> {
    match args.command {
        HookCommand::SessionStart(_) | HookCommand::Stop(_) => Ok(Exit::Confirmed),
    }
}

fn received(args: &HookCallArgs, dir: &Path) -> HookCall {
    let dir = std::path::absolute(dir).unwrap_or_else(|_| PathBuf::from("."));
    HookCall { payload: read_payload(io::stdin().lock()), agent: args.agent.clone(), dir }
}

fn read_payload(stdin: io::StdinLock<'_>) -> Result<Vec<u8>, String> {
    if stdin.is_terminal() {
        return Ok(Vec::new());
    }
    let mut text = Vec::new();
    stdin.take(PAYLOAD_BYTES + 1).read_to_end(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > PAYLOAD_BYTES {
        return Err(format!("it is larger than {} MiB", PAYLOAD_BYTES >> 20));
    }
    Ok(text)
}

fn session_start(call: &HookCall) {
    if let Err(error) = runtime::hook_session_start(call) {
        say(&error.to_string());
    }
}

fn stop(call: &HookCall) {
    match runtime::hook_stop(call) {
        Ok(Stopped::Nothing | Stopped::Recorded { degraded: None, .. }) => {}
        Ok(Stopped::Recorded { degraded: Some(because), .. }) => say(&because),
        Ok(Stopped::Busy) => say("another hook of this session is at work; this one records nothing"),
        Err(error) => say(&format!("the record could not be written: {error}")),
    }
}

fn say(because: &str) {
    errln!("reflexion hook: {}", because.replace('\n', " "));
}
