//! The completion gate as a hook: a stop that is refuted sends the agent back to work, a bounded number of times.

use super::Hook;
use super::change::change;
use super::files::CaptureFiles;
use super::session::{Gated, Session};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;

/// A stop that is being judged; the session is locked meanwhile.
pub struct Gate {
    records: CaptureFiles,
    session: String,
    kept: Session,
    gated: Gated,
    /// What the work looks like now.
    state: String,
    /// The turn that would begin if the agent is sent back; the user's own words began turn 1.
    pub next_turn: u32,
    /// What was changed since the session began, from the top, sorted.
    pub files: Vec<String>,
    _lock: File,
}

/// Whether a stop is judged at all.
pub enum Gating {
    /// It is.
    Judge(Box<Gate>),
    /// It is let go, for this reason.
    LetGo(&'static str),
}

/// Begins to judge a stop. One task, that is one thing that the user asked for, has at most `max_turns` turns.
///
/// # Errors
/// What could not be read or written; the stop is let go then.
pub fn gate(hook: &Hook<'_>, max_turns: u32) -> io::Result<Gating> {
    let Some(session) = hook.payload.session.as_deref() else {
        return Ok(Gating::LetGo("the payload names no session, so turns cannot be counted"));
    };
    let files = hook.files();
    let Some(lock) = files.lock(session)? else {
        return Ok(Gating::LetGo("another hook of this session is at work"));
    };
    let mut kept = files.session(session);
    let task = hook.payload.turn.clone().unwrap_or_default();
    let gated = match kept.gated.clone().filter(|gated| gated.task == task) {
        Some(gated) => gated,
        None if hook.payload.refired => {
            return Ok(Gating::LetGo("the agent was sent back before, and the count of how often is lost"));
        }
        None => {
            // Kept before the first answer, so that a count that is lost is told from one that did not begin.
            let gated = Gated { task, ..Gated::default() };
            kept.gated = Some(gated.clone());
            files.keep_session(session, &kept)?;
            gated
        }
    };
    let next_turn = gated.blocks + 2;
    if next_turn > max_turns {
        return Ok(Gating::LetGo("the task has had all its turns (`feedback.maxTurns`)"));
    }
    let seen = hook.tree.map(|tree| change(tree, kept.start.as_ref(), &hook.own())).unwrap_or_default();
    let (state, changed, session) = (seen.state, seen.files, session.to_owned());
    Ok(Gating::Judge(Box::new(Gate {
        records: files,
        session,
        kept,
        gated,
        state,
        next_turn,
        files: changed,
        _lock: lock,
    })))
}

impl Gate {
    /// Whether the agent may be sent back with these words: never twice with the same ones for the same work. It counts
    /// as sent back from now on.
    ///
    /// # Errors
    /// What could not be written: what cannot be counted is not done.
    pub fn send_back(mut self, why: &str) -> io::Result<bool> {
        let state = format!("{:x}", Sha256::digest(format!("{} {why}", self.state)));
        if self.gated.states.contains(&state) {
            return Ok(false);
        }
        self.gated.states.push(state);
        self.gated.blocks += 1;
        self.kept.gated = Some(self.gated);
        self.records.keep_session(&self.session, &self.kept)?;
        Ok(true)
    }
}
