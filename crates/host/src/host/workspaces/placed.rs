//! What the runtime has put on the branches of a run, kept beside its journal.
//!
//! A branch can be moved and rewritten by anybody, and a commit's message taken over. What of it is the runtime's, and what a task
//! started from, is known from here alone.

use super::begun::Begun;
use super::layout::{Layout, io_error};
use crate::domain::RunId;
use crate::services::WorkspaceError;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::PoisonError;

/// The runtime's own commit on a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) commit: String,
    /// What the task started from.
    pub(super) base: String,
}

/// By the full names of the branches. None: the run has given the branch up.
#[derive(Debug, Default)]
pub(super) struct AllPlaced(BTreeMap<String, Vec<Option<Placed>>>);

impl AllPlaced {
    pub(super) fn read(layout: &Layout, run: &RunId) -> Result<Self, WorkspaceError> {
        let mut all = Self::default();
        for line in text(layout, run)?.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let placed = match words[..] {
                [_, commit, base] => Some(Placed { commit: commit.to_owned(), base: base.to_owned() }),
                [_] => None,
                // A line that a crash has cut off was never acted upon.
                _ => continue,
            };
            all.0.entry(words[0].to_owned()).or_default().push(placed);
        }
        Ok(all)
    }

    /// What was put there last, if the branch was not given up since.
    pub(super) fn last(&self, name: &str) -> Option<&Placed> {
        self.0.get(name)?.last()?.as_ref()
    }

    /// Whether the runtime has ever put this commit there.
    pub(super) fn has(&self, name: &str, commit: &str) -> bool {
        self.0.get(name).is_some_and(|all| all.iter().flatten().any(|placed| placed.commit == commit))
    }
}

/// Adds what is about to be put on a branch, given by its full name, or that it is given up.
pub(super) fn note(
    layout: &Layout,
    begun: &Begun,
    (name, placed): (&str, Option<&Placed>),
) -> Result<(), WorkspaceError> {
    let _one_at_a_time = begun.noting.lock().unwrap_or_else(PoisonError::into_inner);
    let mut all = text(layout, &begun.run)?;
    let line = match placed {
        Some(Placed { commit, base }) => format!("{name} {commit} {base}\n"),
        None => format!("{name}\n"),
    };
    all.push_str(&line);
    layout.write(&path(&begun.run), all.as_bytes()).map(drop)
}

fn path(run: &RunId) -> PathBuf {
    PathBuf::from("runs").join(run.as_str()).join("branches")
}

fn text(layout: &Layout, run: &RunId) -> Result<String, WorkspaceError> {
    let (path, full) = (path(run), layout.state().join(path(run)));
    let read = || {
        let state = layout.files()?;
        Ok(if state.look(&path)?.is_some() { state.read(&path)? } else { Vec::new() })
    };
    let bytes = read().map_err(io_error("read", &full))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
