//! What a session changed.

use super::session::Start;
use crate::services::TreeStatus;
use crate::services::WorkTree;
use crate::services::WorkTreeError;
use sha2::Digest;
use sha2::Sha256;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;

/// What differs from the base of a session.
#[derive(Debug, Default)]
pub(super) struct Change {
    /// The commit that is counted from.
    pub base: Option<String>,
    /// The branch, or the beginning of the commit's id.
    pub branch: Option<String>,
    /// From the top of the checkout, sorted.
    pub files: Vec<String>,
    /// What the files look like: equal states are the same work.
    pub state: String,
    /// What is not known.
    pub reasons: Vec<String>,
}

/// Looks at the checkout. `start`: what it was like when the session began.
pub(super) fn change(tree: &dyn WorkTree, start: Option<&Start>) -> Change {
    let status = match tree.status() {
        Ok(status) => status,
        Err(error) => return Change { reasons: vec![format!("git_failed: {error}")], ..Change::default() },
    };
    let mut reasons = Vec::new();
    let (base, committed) = match committed(tree, start, &status, &mut reasons) {
        Ok(found) => found,
        Err(error) => {
            reasons.push(format!("git_failed: {error}"));
            (status.head.clone(), Vec::new())
        }
    };
    let touched = |path: &&PathBuf| {
        let before = start.and_then(|start| start.dirty.get(path.to_string_lossy().as_ref()));
        before.is_none_or(|stamp| *stamp != tree.stamp(path))
    };
    let dirty = status.dirty.iter().filter(touched);
    let paths: BTreeSet<&PathBuf> = committed.iter().chain(dirty).filter(|path| !is_ours(path)).collect();
    let mut state = Sha256::new();
    state.update(status.head.as_deref().unwrap_or_default());
    for path in &paths {
        state.update(path.as_os_str().as_encoded_bytes());
        state.update([0]);
        state.update(tree.stamp(path).unwrap_or_default());
        state.update([0]);
    }
    let short = |head: String| head.chars().take(12).collect();
    Change {
        base,
        branch: status.branch.clone().or(status.head.map(short)),
        files: paths.into_iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        state: format!("{:x}", state.finalize()),
        reasons,
    }
}

/// The base, and what was committed since.
fn committed(
    tree: &dyn WorkTree,
    start: Option<&Start>,
    status: &TreeStatus,
    reasons: &mut Vec<String>,
) -> Result<(Option<String>, Vec<PathBuf>), WorkTreeError> {
    let head = status.head.as_deref();
    if let Some(start) = start {
        match since(tree, start.head.as_deref(), head) {
            Ok(files) => return Ok((start.head.clone(), files)),
            // The commit may be gone: history was rewritten and collected.
            Err(error) => reasons.push(format!("no_session_start: {error}")),
        }
    } else {
        reasons.push("no_session_start".to_owned());
    }
    let base = tree.merge_base(status)?.or_else(|| status.head.clone());
    let files = since(tree, base.as_deref(), head)?;
    Ok((base, files))
}

/// Git is asked only where `HEAD` moved.
fn since(tree: &dyn WorkTree, from: Option<&str>, head: Option<&str>) -> Result<Vec<PathBuf>, WorkTreeError> {
    match head {
        Some(head) if from != Some(head) => tree.changed(from, head),
        _ => Ok(Vec::new()),
    }
}

/// The runtime's own files are nobody's work, also where they are not ignored.
fn is_ours(path: &Path) -> bool {
    path.starts_with(".reflection")
}
