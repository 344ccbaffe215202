//! Hooks of agents' sessions, on the real machine. No settings are read and no service is built: they run at every stop
//! of every agent.

use crate::hooks;
use crate::hooks::Hook;
use crate::hooks::HookEnvironment;
use crate::hooks::HookMode;
use crate::hooks::Payload;
use crate::hooks::Stopped;
use crate::host::HostWorkTree;
use crate::host::SystemClock;
use crate::services::WorkTree;
use std::io;
use std::path::PathBuf;

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
    let environment = HookEnvironment::read(|name| std::env::var_os(name));
    let payload = match &call.payload {
        Ok(text) => Payload::read(text),
        Err(because) => Payload::broken(because),
    };
    let given = payload.dir.clone().filter(|dir| dir.is_dir());
    let dir = given.unwrap_or_else(|| call.dir.clone());
    let tree = HostWorkTree::around(&dir);
    work(&Hook {
        environment: &environment,
        payload: &payload,
        agent: call.agent.as_deref(),
        dir: &dir,
        tree: tree.as_ref().map(|tree| tree as &dyn WorkTree),
        clock: &SystemClock::new(),
    })
}
