//! Making a workspace.

use super::begun::Begun;
use super::merge::{Merge, tree_of};
use super::parts::{Parts, Shown};
use super::placed::AllPlaced;
use super::repository::{Kind, base_ref, branch};
use super::shared::Shared;
use super::slot::Slot;
use super::slots::Role;
use super::workspace::HostWorkspace;
use crate::domain::{RunId, TaskId};
use crate::services::{OpenWorkspace, WorkspaceError, lines_of_work};
use std::sync::{Arc, PoisonError};

pub(super) async fn open(
    shared: &Arc<Shared>,
    begun: Arc<Begun>,
    request: OpenWorkspace,
) -> Result<HostWorkspace, WorkspaceError> {
    let mut to_say = Vec::new();
    let (landing_base, base) = bases(shared, &begun, &request, &mut to_say).await?;
    let tree = tree_of(&begun, &base).await?;
    let of = Of { shared, begun, task: request.task, subject: request.subject, role: Role::Work, to_say };
    of.workspace(landing_base, base, tree).await
}

/// The clean room of a task: another place that starts from the same base, in which nobody works.
pub(super) async fn room(parts: &Parts) -> Result<Arc<HostWorkspace>, WorkspaceError> {
    let (shared, begun, task) = (&parts.shared, Arc::clone(&parts.begun), parts.task.clone());
    let subject = parts.shown().subject.clone();
    let of = Of { shared, begun, task, subject, role: Role::Room, to_say: Vec::new() };
    let (landing_base, base, tree) = (parts.landing_base.clone(), parts.base.clone(), parts.tree.clone());
    Ok(Arc::new(of.workspace(landing_base, base, tree).await?))
}

/// The clean room in which work is checked on top of other work: one for the whole run, which follows its integration branch.
pub(super) async fn merge_room(
    shared: &Arc<Shared>,
    begun: Arc<Begun>,
    subject: &str,
) -> Result<HostWorkspace, WorkspaceError> {
    let base = begun.commit.clone();
    let tree = tree_of(&begun, &base).await?;
    let task = TaskId::new("integration").map_err(|error| WorkspaceError::Unusable(error.to_string()))?;
    let of = Of { shared, begun, task, subject: subject.to_owned(), role: Role::Room, to_say: Vec::new() };
    of.workspace(base.clone(), base, tree).await
}

/// Whose workspace it is to be.
struct Of<'a> {
    shared: &'a Arc<Shared>,
    begun: Arc<Begun>,
    task: TaskId,
    subject: String,
    role: Role,
    to_say: Vec<String>,
}

impl Of<'_> {
    async fn workspace(
        self,
        landing_base: String,
        base: String,
        tree: String,
    ) -> Result<HostWorkspace, WorkspaceError> {
        let Self { shared, begun, task, subject, role, to_say } = self;
        let (layout, nowhere) = (&shared.layout, std::path::PathBuf::new());
        let shared_by_all = Arc::clone(shared);
        let mut parts = Parts {
            shared: shared_by_all,
            begun,
            task,
            role,
            top: nowhere.clone(),
            cache: nowhere,
            landing_base,
            base,
            tree,
            shown: Shown::with(subject).into(),
        };
        let tree = parts.tree.clone();
        let target = parts.target(&tree);
        let slot = match shared.slots.take(role) {
            Some(slot) => slot.hand_over(&target).await?,
            None => Slot::make(shared, role, &target).await?,
        };
        slot.recorder.files.path().clone_into(&mut parts.top);
        parts.cache = layout.cache(&slot.name);
        Ok(HostWorkspace::new(parts, slot, to_say))
    }
}

/// What the integration branch has of the task's base, and the whole base.
///
/// Work of this run is merged before whatever depends on it starts; that of earlier runs comes in with the first task that
/// depends on it.
async fn bases(
    shared: &Shared,
    begun: &Begun,
    request: &OpenWorkspace,
    to_say: &mut Vec<String>,
) -> Result<(String, String), WorkspaceError> {
    let (own, earlier): (Vec<_>, Vec<_>) = request.on_top_of.iter().partition(|(run, _)| *run == begun.run);
    let landing_base = match &request.onto {
        Some(onto) => onto.clone(),
        None => base(shared, begun, request, (begun.commit.clone(), own), to_say).await?,
    };
    let base = base(shared, begun, request, (landing_base.clone(), earlier), to_say).await?;
    Ok((landing_base, base))
}

/// A commit with the confirmed work of blocking tasks.
async fn base(
    shared: &Shared,
    begun: &Begun,
    request: &OpenWorkspace,
    (commit, on_top_of): (String, Vec<&(RunId, TaskId)>),
    to_say: &mut Vec<String>,
) -> Result<String, WorkspaceError> {
    let repository = &begun.repository;
    let mut base = commit;
    for (run, task) in on_top_of {
        let Some(tip) = confirmed((shared, begun), (run, task), &base).await? else {
            to_say.push(format!(
                "{} starts without the confirmed work of {task}, on which it depends: the branch {} is gone, and no commit of it was found \
                 in what the run started from and has merged. If your `HEAD` has that work in another form, all is well; else bring the branch back (`git \
                 reflog`), or `reflexion task reopen {task}`",
                request.task,
                branch(run, task)
            ));
            continue;
        };
        if repository.is_ancestor(&tip, &base).await? {
            continue;
        }
        if repository.is_ancestor(&base, &tip).await? {
            base = tip;
            continue;
        }
        let tree = merge(begun, &base, Confirmed { run, task, tip: &tip }).await?;
        let call = repository.own().call(["commit-tree", &tree]);
        let call = call.args(["-p", &base, "-p", &tip, "-m"]);
        let call = call.arg(format!("reflexion: base of {} with {task}", request.task));
        let call = begun.identity.sign(call, shared.params.clock.now());
        base = call.line().await?;
    }
    Ok(base)
}

/// The commit that has a task's confirmed work: what this run has put on the task's branch, now or before it was stopped, whatever that
/// says now; the branch of an earlier run; or, where somebody has deleted it, a commit that was merged, into the `base`, by the run or
/// by the user.
async fn confirmed(
    (shared, begun): (&Shared, &Begun),
    (run, task): (&RunId, &TaskId),
    base: &str,
) -> Result<Option<String>, WorkspaceError> {
    let full = format!("refs/heads/{}", branch(run, task));
    if let Some(known) = begun.branches.lock().unwrap_or_else(PoisonError::into_inner).get(&full).cloned() {
        return Ok(Some(known));
    }
    let repository = &begun.repository;
    let branch = repository.resolve(&format!("{full}^{{commit}}")).await?;
    if *run != begun.run && branch.is_some() {
        return Ok(branch);
    }
    // Somebody may have moved or deleted the branch while the run was stopped.
    if *run == begun.run
        && let Some(placed) = AllPlaced::read(&shared.layout, run)?.last(&full)
        && let Some(known) = repository.resolve(&format!("{}^{{commit}}", placed.commit)).await?
    {
        return Ok(Some(known));
    }
    let lines = lines_of_work(run, task).map(|line| format!("--grep=^{}$", line.replace('.', "[.]")));
    let find = ["rev-list", "--max-count=1", "--basic-regexp", "--all-match"];
    let merged = begun.integration.lock().await.clone();
    let users = repository.resolve("HEAD^{commit}").await?.filter(|_| *run == begun.run);
    for tip in [Some(base), Some(&merged), users.as_deref()].into_iter().flatten() {
        let found = repository.own().call(find).args(&lines).arg(tip).line().await?;
        if !found.is_empty() {
            return Ok(Some(found));
        }
    }
    Ok(branch)
}

struct Confirmed<'a> {
    run: &'a RunId,
    task: &'a TaskId,
    tip: &'a str,
}

/// Merges without touching any file; a tree.
async fn merge(begun: &Begun, base: &str, confirmed: Confirmed<'_>) -> Result<String, WorkspaceError> {
    let repository = &begun.repository;
    // Snapshots of different runs have no history in common; what a run did is its difference from its own snapshot.
    let origin = match repository.kind {
        Kind::Git => None,
        Kind::Snapshot => repository.resolve(&base_ref(confirmed.run)).await?,
    };
    let merged = Merge { origin, ours: base, theirs: confirmed.tip };
    let what = format!("the confirmed work of task {}", confirmed.task);
    merged.tree(&repository.own(), &what).await
}
