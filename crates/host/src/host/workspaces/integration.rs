//! The run's branches: confirmed work of each task, and the integration branch with one on top of the other.
//!
//! What is on them is decided by the runtime alone: trees and tips are kept in memory and, by the journal, over a crash, and
//! no ref is believed. A ref that was moved by somebody is moved back by the next merge or at the run's end; what it was
//! moved to is kept under another name, because it may be a person's.

use super::begun::Begun;
use super::layout::Layout;
use super::merge::{Merge, tree_of};
use super::parts::Parts;
use super::placed;
use super::placed::{AllPlaced, Placed};
use super::repository::{Arrival, Kind, Repository, branch};
use crate::domain::{BranchConflict, RunId, TreeId};
use crate::services::{AHEAD, Branches, CommitRequest, RebaseOutcome, Rebased, ResumedBase, WorkspaceError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

/// The full name of the branch; no task may have this id in a run that merges.
pub(super) fn integration(run: &RunId) -> String {
    format!("refs/heads/reflexion/{run}/integration")
}

/// The tip of a run that begins or goes on: what its journal knows, or the commit that it was about to move to.
pub(super) async fn tip(
    repository: &Repository,
    run: &RunId,
    resumed: Option<&ResumedBase>,
    base: &str,
) -> Result<String, WorkspaceError> {
    let Some(resumed) = resumed else { return Ok(base.to_owned()) };
    let found = repository.resolve(&format!("{}^{{commit}}", integration(run))).await?;
    let known = resumed.integration.clone().unwrap_or_else(|| base.to_owned());
    let tip = found.filter(|found| resumed.pending.as_ref() == Some(found)).unwrap_or(known);
    // Either repository may have it: who deleted the branch has not lost what is in the runtime's.
    if repository.own().call(["cat-file", "-e", &format!("{tip}^{{commit}}")]).run().await?.status != 0 {
        return Err(WorkspaceError::Unusable(format!(
            "the commit {tip} is gone, which is all that run {run} has merged: somebody deleted its branches and what the runtime \
             kept. Start a new run, after `reflexion task reopen` of the tasks whose work you want again"
        )));
    }
    Ok(tip)
}

/// The branches of the tasks of a run that goes on, as it has left them, wherever they stand now. What somebody has deleted meanwhile is
/// not brought back.
pub(super) async fn standing(
    layout: &Layout,
    repository: &Repository,
    run: &RunId,
) -> Result<BTreeMap<String, String>, WorkspaceError> {
    let placed = AllPlaced::read(layout, run)?;
    let refs = repository.refs(&[&format!("refs/heads/reflexion/{run}/")], None).await?;
    let left = refs.into_keys().filter_map(|name| {
        let commit = placed.last(&name)?.commit.clone();
        Some((name, commit))
    });
    Ok(left.collect())
}

/// A confirmed tree on top of the tip.
pub(super) async fn rebase(parts: &Parts, tree: &TreeId) -> Result<Rebased, WorkspaceError> {
    let begun = &parts.begun;
    let onto = begun.integration.lock().await.clone();
    let (tip, theirs) = (TreeId(tree_of(begun, &onto).await?), commit_of(parts, tree).await?);
    let merge = Merge { origin: Some(parts.landing_base.clone()), ours: &onto, theirs: &theirs };
    let outcome = match merge.tree(&begun.repository.own(), "the confirmed work").await {
        Ok(tree) if tree == tip.0 => RebaseOutcome::There(TreeId(tree)),
        Ok(tree) => RebaseOutcome::Fits(TreeId(tree)),
        Err(WorkspaceError::Conflict { files, .. }) => RebaseOutcome::Conflict(files),
        Err(error) => return Err(error),
    };
    Ok(Rebased { onto, tip, outcome })
}

/// A commit of the tree that is our own: the one that the task's branch was put on, whatever the branch says now.
async fn commit_of(parts: &Parts, tree: &TreeId) -> Result<String, WorkspaceError> {
    let begun = &parts.begun;
    let full = format!("refs/heads/{}", branch(&begun.run, &parts.task));
    let known = begun.branches.lock().unwrap_or_else(PoisonError::into_inner).get(&full).cloned();
    if let Some(known) = known
        && begun.repository.resolve(&format!("{known}^{{tree}}")).await?.as_ref() == Some(&tree.0)
    {
        return Ok(known);
    }
    let request = CommitRequest { tree: tree.clone(), subject: "rebased".to_owned(), body: String::new() };
    parts.commit_tree(&request, &parts.landing_base).await
}

/// Moves the tip; the ref before the tip in memory, so that a failure leaves both.
pub(super) async fn integrate(begun: &Begun, onto: &str, commit: &str) -> Result<(), WorkspaceError> {
    let mut tip = begun.integration.lock().await;
    if *tip != onto {
        return Err(WorkspaceError::Unusable(format!("the integration branch moved on from {onto} to {}", *tip)));
    }
    let name = integration(&begun.run);
    let from = if onto == begun.commit { None } else { Some(onto) };
    move_ref(begun, &name, commit, from).await?;
    commit.clone_into(&mut tip);
    Ok(())
}

/// Moves a ref of the run to a commit, which is brought into the user's repository first. What it was moved to by somebody, and
/// refs below its name, are kept under other names, and the run says so at its end.
async fn move_ref(begun: &Begun, name: &str, commit: &str, from: Option<&str>) -> Result<(), WorkspaceError> {
    let repository = &begun.repository;
    let git = repository.git();
    let below = repository.refs(&[&format!("{name}/")], None).await?;
    for (found, at) in &below {
        put_aside(begun, name, at).await?;
        git.call(["update-ref", "--no-deref", "-d", found, at]).ok().await?;
    }
    take_apart(begun, name).await?;
    let now = repository.resolve(name).await?;
    let known: Vec<&str> = [Some(begun.commit.as_str()), from].into_iter().flatten().collect();
    if now.as_deref() == Some(commit) && repository.is_whole(commit, &known).await? {
        return Ok(());
    }
    let left = begun.behind.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned().flatten();
    let is_ours = |now: &str| Some(now) == from || Some(now) == left.as_deref();
    if let Some(now) = now.as_deref().filter(|now| *now != commit)
        && is_checked_out(repository, name).await?
    {
        let ours = Some(now).filter(|now| is_ours(now)).map(str::to_owned);
        return go_ahead(begun, name, ours, Moved { commit, expected: "", known: &known }).await;
    }
    if let Some(now) = now.as_deref().filter(|now| !is_ours(now) && *now != commit) {
        put_aside(begun, name, now).await?;
    }
    let expected = now.unwrap_or_else(|| "0".repeat(commit.len()));
    bring(begun, name, Moved { commit, expected: &expected, known: &known }).await?;
    let was_behind = begun.behind.lock().unwrap_or_else(PoisonError::into_inner).remove(name).is_some();
    if was_behind {
        let ahead = format!("{name}{AHEAD}");
        repository.git().call(["update-ref", "--no-deref", "-d", &ahead]).ok().await?;
    }
    Ok(())
}

/// Puts a commit beside a branch that the user has checked out: if that moved below them, their next commit would take back what was merged.
async fn go_ahead(begun: &Begun, name: &str, ours: Option<String>, to: Moved<'_>) -> Result<(), WorkspaceError> {
    let ahead = format!("{name}{AHEAD}");
    let now = begun.repository.resolve(&ahead).await?;
    if now.as_deref() != Some(to.commit) {
        let expected = now.unwrap_or_else(|| "0".repeat(to.commit.len()));
        bring(begun, &ahead, Moved { expected: &expected, ..to }).await?;
    }
    begun.behind.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), ours);
    Ok(())
}

/// A branch of the run that somebody has made another name of a branch of theirs is taken away: what it leads to is not ours to
/// move, and not our work.
async fn take_apart(begun: &Begun, name: &str) -> Result<(), WorkspaceError> {
    if begun.repository.is_symbolic(name).await? {
        begun.repository.git().call(["symbolic-ref", "--delete", name]).ok().await?;
        begun.put_aside.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }
    Ok(())
}

/// A ref that is moved to a commit of ours.
struct Moved<'a> {
    commit: &'a str,
    expected: &'a str,
    known: &'a [&'a str],
}

/// Brings a commit into the user's repository and moves a ref to it.
async fn bring(begun: &Begun, name: &str, to: Moved<'_>) -> Result<(), WorkspaceError> {
    let (repository, git) = (&begun.repository, begun.repository.git());
    let Moved { commit, expected, mut known } = to;
    let mut refused = None;
    let mut expected = expected;
    // A `git gc --prune=now` of the user's removes what no ref names yet; what is held stays until one does.
    for arrival in [Arrival::Loose, Arrival::Held, Arrival::Held, Arrival::Held] {
        let held = match repository.publish(commit, known, arrival).await {
            Ok(held) => held,
            Err(error) => {
                refused = Some(error);
                // The user may have deleted the branch that the last one was on; the base is pinned.
                known = &known[..1];
                continue;
            }
        };
        let moved =
            git.call(["update-ref", "--no-deref", "-m", "reflexion: merged", name, commit, expected]).ok().await;
        let is_whole = moved.is_ok() && repository.is_whole(commit, known).await?;
        if let Some(held) = held {
            // A file of the user's repository with a name that git has just made for us; one that is left keeps a pack.
            let _ = std::fs::remove_file(held);
        }
        match moved {
            Ok(_) if is_whole => return Ok(()),
            Ok(_) => expected = commit,
            Err(error) => refused = Some(error),
        }
    }
    Err(refused.unwrap_or_else(|| WorkspaceError::Git {
        command: format!("update-ref {name}"),
        message: format!("objects of {commit} are removed from the repository as soon as they are there"),
    }))
}

/// Puts a task's branch on its commit. What the run itself has put there before is kept beside it, and nobody has moved anything.
pub(super) async fn place(parts: &Parts, name: &str, commit: &str) -> Result<(), WorkspaceError> {
    let (layout, begun) = (&parts.shared.layout, &parts.begun);
    let placed = AllPlaced::read(layout, &begun.run)?;
    let earlier = begun.repository.resolve(name).await?.filter(|now| now != commit && placed.has(name, now));
    if let Some(earlier) = &earlier {
        keep_beside(begun, name, earlier).await?;
    }
    let to = Placed { commit: commit.to_owned(), base: parts.base.clone() };
    placed::note(layout, begun, (name, Some(&to)))?;
    move_ref(begun, name, commit, earlier.as_deref()).await
}

/// Keeps what a person may have moved a branch to, to say so at the end.
async fn put_aside(begun: &Begun, name: &str, commit: &str) -> Result<(), WorkspaceError> {
    keep_beside(begun, name, commit).await?;
    begun.put_aside.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    Ok(())
}

/// `<name>@<commit>`, which is no task's branch.
async fn keep_beside(begun: &Begun, name: &str, commit: &str) -> Result<(), WorkspaceError> {
    let beside = format!("{name}@{}", commit.chars().take(12).collect::<String>());
    begun.repository.git().call(["update-ref", "--no-deref", &beside, commit]).ok().await.map(drop)
}

/// Remembers which commit a branch of the run stands on.
pub(super) fn remember(begun: &Begun, name: String, commit: Option<String>) {
    let mut branches = begun.branches.lock().unwrap_or_else(PoisonError::into_inner);
    match commit {
        Some(commit) => branches.insert(name, commit),
        None => branches.remove(&name),
    };
}

/// Puts every branch back that somebody moved, and names them, with those that were in the way of one since the run began.
pub(super) async fn finish(begun: &Begun) -> Result<Branches, WorkspaceError> {
    let mut branches = begun.branches.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let tip = begun.integration.lock().await.clone();
    let mut conflicts = Vec::new();
    if tip != begun.commit {
        conflicts = conflicting(begun, &branches, &tip).await;
        branches.insert(integration(&begun.run), tip);
    }
    let mut moved = BTreeSet::new();
    for (name, commit) in branches {
        if begun.repository.resolve(&name).await?.is_none() {
            moved.insert(name.clone());
        }
        move_ref(begun, &name, &commit, None).await?;
    }
    moved.append(&mut begun.put_aside.lock().unwrap_or_else(PoisonError::into_inner));
    let ahead: BTreeSet<String> = begun
        .behind
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .keys()
        .map(|name| format!("{name}{AHEAD}"))
        .collect();
    let short = |names: BTreeSet<String>| {
        names.iter().map(|name| name.trim_start_matches("refs/heads/").to_owned()).collect::<Vec<_>>()
    };
    Ok(Branches { moved: short(moved), ahead: short(ahead), conflicts })
}

/// Which of these branches of tasks do not merge into what the run has merged. One of which that cannot be found out is left out: nobody waits
/// for it, and nothing follows from it.
async fn conflicting(begun: &Begun, branches: &BTreeMap<String, String>, tip: &str) -> Vec<BranchConflict> {
    let mut conflicts = Vec::new();
    if begun.repository.kind == Kind::Snapshot {
        return conflicts;
    }
    for (name, commit) in branches {
        let merge = Merge { origin: None, ours: tip, theirs: commit };
        if let Err(WorkspaceError::Conflict { files, .. }) = merge.tree(&begun.repository.own(), "it").await {
            conflicts.push(BranchConflict { branch: name.trim_start_matches("refs/heads/").to_owned(), files });
        }
    }
    conflicts
}

/// Whether a worktree of the user's is on a branch.
async fn is_checked_out(repository: &Repository, full: &str) -> Result<bool, WorkspaceError> {
    let list = repository.git().call(["worktree", "list", "--porcelain"]).ok().await?;
    let branch = format!("branch {full}");
    Ok(String::from_utf8_lossy(&list).lines().any(|line| line == branch))
}

/// Renames the task's branch to `<task>@<attempt>`, which is no task's name; a patch has its own place already.
pub(super) async fn keep(parts: &Parts, attempt: u32) -> Result<String, WorkspaceError> {
    let (layout, begun) = (&parts.shared.layout, &parts.begun);
    let name = branch(&begun.run, &parts.task);
    let (full, kept) = (format!("refs/heads/{name}"), format!("{name}@{attempt}"));
    let repository = &begun.repository;
    take_apart(begun, &full).await?;
    let known = begun.branches.lock().unwrap_or_else(PoisonError::into_inner).get(&full).cloned();
    let now = repository.resolve(&full).await?;
    if let Some(commit) = known.clone().or_else(|| now.clone()) {
        let full_kept = format!("refs/heads/{kept}");
        // A run that was killed here has kept the same files under another commit.
        let tree = async |of: &str| repository.resolve(&format!("{of}^{{tree}}")).await;
        let commit = match repository.resolve(&full_kept).await? {
            Some(there) if tree(&there).await? == tree(&commit).await? => there,
            _ => commit,
        };
        let base = AllPlaced::read(layout, &begun.run)?.last(&full).map_or(&parts.base, |placed| &placed.base).clone();
        let to = Placed { commit: commit.clone(), base };
        placed::note(layout, begun, (&full_kept, Some(&to)))?;
        move_ref(begun, &full_kept, &commit, None).await?;
        remember(begun, full_kept, Some(commit));
        match now {
            // Somebody works on it: its name is said at the end, whatever becomes of it.
            Some(now)
                if known.as_ref().is_some_and(|known| *known != now) || is_checked_out(repository, &full).await? =>
            {
                begun.put_aside.lock().unwrap_or_else(PoisonError::into_inner).insert(full.clone());
            }
            Some(now) => drop(repository.git().call(["update-ref", "--no-deref", "-d", &full, &now]).ok().await?),
            None => {}
        }
    }
    placed::note(layout, begun, (&full, None))?;
    remember(begun, full, None);
    Ok(match repository.kind {
        Kind::Git => kept,
        Kind::Snapshot => format!("{kept} in {}", repository.git_dir.display()),
    })
}
