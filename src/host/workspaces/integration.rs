//! The run's integration branch: confirmed work, one task on top of the other.
//!
//! What is on it is decided by the runtime alone: the tip is kept in memory and, by the journal, over a crash. A ref that
//! an agent moved is moved back by the next merge.

use super::begin::Begun;
use super::open::Merge;
use super::repository::Kind;
use super::repository::Repository;
use super::repository::branch;
use super::workspace::Parts;
use crate::domain::RunId;
use crate::domain::TaskId;
use crate::domain::TreeId;
use crate::services::CommitRequest;
use crate::services::RebaseOutcome;
use crate::services::Rebased;
use crate::services::ResumedBase;
use crate::services::WorkspaceError;

/// The name of the branch; no task may have this id in a run that merges.
fn integration(run: &RunId) -> String {
    format!("refs/heads/reflexion/{run}/integration")
}

/// The tip of a run that begins or goes on.
///
/// A run that was killed after the ref was moved and before that was written down finds one commit more on the branch
/// than it knows of; it is the run's own if it stands on the one that is known.
pub(super) async fn tip(
    repository: &Repository,
    run: &RunId,
    resumed: Option<&ResumedBase>,
    base: &str,
) -> Result<String, WorkspaceError> {
    let Some(resumed) = resumed else { return Ok(base.to_owned()) };
    let known = resumed.integration.clone().unwrap_or_else(|| base.to_owned());
    let name = integration(run);
    let parent = repository.resolve(&format!("{name}^1^{{commit}}")).await?;
    match repository.resolve(&format!("{name}^{{commit}}")).await? {
        Some(found) if found == known || parent.as_ref() == Some(&known) => Ok(found),
        _ => Ok(known),
    }
}

/// The task's committed work on top of the tip.
pub(super) async fn rebase(parts: &Parts) -> Result<Rebased, WorkspaceError> {
    let begun = &parts.begun;
    let onto = begun.integration.lock().await.clone();
    let name = branch(&begun.run, &parts.task);
    let tip = begun.repository.resolve(&format!("refs/heads/{name}^{{commit}}")).await?;
    let tip = tip.ok_or_else(|| WorkspaceError::Unusable(format!("the branch {name} is gone")))?;
    let merge = Merge { origin: Some(parts.landing_base.clone()), ours: &onto, theirs: &tip };
    let outcome = match merge.tree(&parts.recorder.git, "the confirmed work").await {
        Ok(tree) => RebaseOutcome::Fits(TreeId(tree)),
        Err(WorkspaceError::Conflict { files, .. }) => RebaseOutcome::Conflict(files),
        Err(error) => return Err(error),
    };
    Ok(Rebased { onto, outcome })
}

/// Moves the tip to a commit of the tree; the ref before the tip in memory, so that a failure leaves both.
pub(super) async fn integrate(parts: &Parts, onto: &str, request: CommitRequest) -> Result<String, WorkspaceError> {
    let begun = &parts.begun;
    let mut tip = begun.integration.lock().await;
    if *tip != onto {
        return Err(WorkspaceError::Unusable(format!("the integration branch moved on from {onto} to {}", *tip)));
    }
    let same = begun.repository.resolve(&format!("{onto}^{{tree}}")).await?.as_ref() == Some(&request.tree.0);
    let commit = if same { onto.to_owned() } else { parts.commit_tree(&request, onto).await? };
    move_ref(begun, &integration(&begun.run), &commit).await?;
    tip.clone_from(&commit);
    Ok(commit)
}

async fn move_ref(begun: &Begun, name: &str, commit: &str) -> Result<(), WorkspaceError> {
    let now = begun.repository.resolve(name).await?;
    if now.as_deref() == Some(commit) {
        return Ok(());
    }
    let expected = now.unwrap_or_else(|| "0".repeat(commit.len()));
    let update = ["update-ref", "-m", "reflexion: merged", name, commit, &expected];
    begun.repository.git().call(update).ok().await.map(drop)
}

/// Renames the task's branch to `<task>@<attempt>`, which is no task's name; a patch has its own place already.
pub(super) async fn keep(begun: &Begun, task: &TaskId, attempt: u32) -> Result<String, WorkspaceError> {
    let name = branch(&begun.run, task);
    let kept = format!("{name}@{attempt}");
    let repository = &begun.repository;
    if let Some(commit) = repository.resolve(&format!("refs/heads/{name}")).await? {
        move_ref(begun, &format!("refs/heads/{kept}"), &commit).await?;
        let delete = ["update-ref", "-d", &format!("refs/heads/{name}"), &commit];
        repository.git().call(delete).ok().await?;
    }
    Ok(match repository.kind {
        Kind::Git => kept,
        Kind::Snapshot => format!("{kept} in {}", repository.git_dir.display()),
    })
}
