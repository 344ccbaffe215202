//! The start of a session.

use super::Hook;
use super::HookMode;
use super::session::Start;
use std::io;

/// Notes what is there before the agent touches anything. A session that is resumed or shortened keeps its first note.
///
/// # Errors
/// What could not be read or written; the session's records will say `no_session_start`.
pub fn session_start(hook: &Hook<'_>) -> io::Result<()> {
    let HookMode::On(_) = hook.environment.mode else { return Ok(()) };
    let Some(session) = hook.payload.session.as_deref() else {
        return Err(io::Error::other(hook.payload.problem.clone().unwrap_or_default()));
    };
    let Some(tree) = hook.tree else {
        return Err(io::Error::other(format!("no_repository: {} is in no git repository", hook.dir.display())));
    };
    let files = hook.files();
    let Some(_lock) = files.lock(session)? else {
        return Ok(());
    };
    let mut kept = files.session(session);
    if kept.start.is_some() {
        return Ok(());
    }
    let status = tree.status().map_err(io::Error::other)?;
    let dirty = status.dirty.iter().map(|path| (path.to_string_lossy().into_owned(), tree.stamp(path))).collect();
    kept.start = Some(Start { head: status.head, dirty, at: hook.clock.now() });
    files.keep_session(session, &kept)
}
