//! The start of a session.

use super::rules::noted;
use super::session::Start;
use super::{Hook, HookMode};
use std::io;

/// Notes what is there before the agent touches anything, and the project's settings. A session that is resumed or
/// shortened keeps its first note. It is also done where no mode is set: whoever calls then wants stops to be judged.
///
/// # Errors
/// What could not be read or written; the session's records will say `no_session_start`.
pub fn session_start(hook: &Hook<'_>) -> io::Result<()> {
    let (HookMode::On(_) | HookMode::Unset) = hook.environment.mode else { return Ok(()) };
    let Some(session) = hook.payload.session.as_deref() else {
        return Err(io::Error::other(hook.payload.problem.clone().unwrap_or_default()));
    };
    let files = hook.files();
    let Some(_lock) = files.lock(session)? else {
        return Ok(());
    };
    let mut kept = files.session(session);
    if kept.rules.is_none() && kept.start.is_none() {
        kept.rules = noted(hook.top());
        files.keep_session(session, &kept)?;
    }
    if kept.start.is_some() {
        return Ok(());
    }
    let Some(tree) = hook.tree else {
        return Err(io::Error::other(format!("no_repository: {} is in no git repository", hook.dir.display())));
    };
    let status = tree.status().map_err(io::Error::other)?;
    let dirty = status.dirty.iter().map(|path| (path.to_string_lossy().into_owned(), tree.stamp(path))).collect();
    let now = hook.clock.now();
    kept.start = Some(Start { head: status.head, dirty, at: now });
    files.keep_session(session, &kept)?;
    files.tidy(session, now);
    match hook.elsewhere {
        Some(because) => Err(io::Error::other(because)),
        None => Ok(()),
    }
}
