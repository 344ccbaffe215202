//! What the user's own checkouts have checked out.
//!
//! A log of git says that a checkout was switched, and not by whom: an agent that does `cd` there leaves the trace that the
//! user leaves. So nothing is put back and nobody is blamed; a person is told.

use super::guard::Judge;
use super::guard::changed_at;
use super::saved::BEAT;
use super::trace::git_dirs;
use crate::services::Tampering;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// `HEAD` by git directory, of worktrees that are not ours.
pub(super) type Heads = BTreeMap<PathBuf, String>;

pub(super) fn heads(git_dir: &Path) -> Heads {
    let users = git_dirs(git_dir).into_iter().filter(|dir| !is_ours(dir));
    users.filter_map(|dir| Some((dir.clone(), fs::read_to_string(dir.join("HEAD")).ok()?.trim().to_owned()))).collect()
}

/// A worktree of a run.
fn is_ours(dir: &Path) -> bool {
    fs::read_to_string(dir.join("gitdir")).is_ok_and(|place| place.contains("/.reflection/worktrees/"))
}

/// Says which of them were switched.
pub(super) fn switched(before: &Heads, judge: &Judge, said: &mut Tampering) {
    for (dir, old) in before {
        let Ok(new) = fs::read_to_string(dir.join("HEAD")) else { continue };
        let new = new.trim();
        // Whoever works in the morning after a crash is not asked about it. Between two signs of life it may have been an agent.
        let changed = changed_at(&dir.join("HEAD")).map(|at| at - 2 * BEAT);
        if new == old || !judge.watched(changed) {
            continue;
        }
        let place = checkout(dir);
        let branch = |head: &str| head.strip_prefix("ref: refs/heads/").map(str::to_owned);
        let words = |head: &str| branch(head).map_or(format!("commit {head}"), |branch| format!("branch `{branch}`"));
        let back = branch(old).unwrap_or_else(|| format!("--detach {old}"));
        said.left.push(format!(
            "your checkout {} was switched from {} to {} while an agent worked; if that was not you: `git switch {back}` there",
            place.display(),
            words(old),
            words(new),
        ));
    }
}

/// Where the files of a git directory's worktree are.
fn checkout(dir: &Path) -> PathBuf {
    let linked = fs::read_to_string(dir.join("gitdir")).map(PathBuf::from);
    let file = linked.unwrap_or_else(|_| dir.to_owned());
    file.parent().unwrap_or(dir).to_owned()
}
