//! Making a workspace.

use super::begin::Begun;
use super::ground::Ground;
use super::handover::Carried;
use super::handover::Target;
use super::handover::carry;
use super::handover::hand_over;
use super::host_workspaces::Shared;
use super::layout::blocking;
use super::layout::io_error;
use super::recorder::Recorder;
use super::removal::remove;
use super::repository::Kind;
use super::repository::base_ref;
use super::repository::branch;
use super::slots::Known;
use super::slots::Number;
use super::slots::Slot;
use super::workspace::HostWorkspace;
use super::workspace::Parts;
use crate::domain::RunId;
use crate::domain::TaskId;
use crate::host::git;
use crate::host::git::Git;
use crate::services::OpenWorkspace;
use crate::services::WorkspaceError;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;

pub(super) async fn open(
    shared: &Arc<Shared>,
    begun: Arc<Begun>,
    request: OpenWorkspace,
) -> Result<HostWorkspace, WorkspaceError> {
    let repository = &begun.repository;
    let (landing_base, base) = bases(shared, &begun, &request).await?;
    let tree = repository.resolve(&format!("{base}^{{tree}}")).await?;
    let tree = tree.ok_or_else(|| git::failed("rev-parse", "the base has no tree"))?;
    let target = Target { shared, begun: &begun, base: &base, tree: &tree };
    let (slot, known) = match reused(&target).await {
        Some(slot) => slot,
        None => made(&target).await?,
    };
    let parts = Parts { shared: Arc::clone(shared), begun, task: request.task, slot, landing_base, base, tree };
    let workspace = HostWorkspace::new(parts, known);
    workspace.settle().await?;
    Ok(workspace)
}

/// A slot that a task has left, if there is one that can be trusted.
async fn reused(target: &Target<'_>) -> Option<(Slot, Known)> {
    while let Some((mut slot, mut known)) = target.shared.slots.take() {
        match hand_over(&mut slot, &mut known, target).await {
            Ok(()) => return Some((slot, known)),
            Err(doubt) => tracing::info!(slot = %slot.recorder.top.display(), %doubt, "a worktree is made anew"),
        }
        if let Err(error) = slot.remove(&target.begun.repository).await {
            // The next run removes it; meanwhile nobody works in it.
            tracing::warn!(%error, "a worktree was not removed");
        }
    }
    None
}

/// A new slot with the files of the target.
async fn made(target: &Target<'_>) -> Result<(Slot, Known), WorkspaceError> {
    let Target { shared, begun, base, tree } = target;
    let (layout, name, run) = (&shared.layout, shared.slots.new_name(), &begun.run);
    let (top, private) = (layout.worktree(run, &name), layout.private(run, &name));
    let ground = make_place(begun, &top, base).await?.map(Arc::new);
    let (dir, old) = (private.clone(), private.clone());
    blocking(move || {
        remove(&old)?;
        std::fs::create_dir_all(&dir).map_err(io_error("make", &dir))
    })
    .await?;
    let index = private.join("index");
    let recorder = Recorder { git: Git::with(&begun.repository.git_dir, &top), top, index };
    recorder.load(tree, &begun.repository.hidden()).await?;
    recorder.checkout(tree).await?;
    let number = Arc::new(Number::take(shared));
    let kept = carry(shared, begun, Carried { top: &recorder.top, private: &private }).await?;
    let kept = Arc::new(Mutex::new(kept));
    Ok((Slot { number, recorder, private, ground, kept }, Known::new((*tree).to_owned())))
}

/// What the integration branch has of the task's base, and the whole base.
///
/// Work of this run is merged before whatever depends on it starts; that of earlier runs comes in with the first task that
/// depends on it.
async fn bases(shared: &Shared, begun: &Begun, request: &OpenWorkspace) -> Result<(String, String), WorkspaceError> {
    let (own, earlier): (Vec<_>, Vec<_>) = request.on_top_of.iter().partition(|(run, _)| *run == begun.run);
    let landing_base = match &request.onto {
        Some(onto) => onto.clone(),
        None => base(shared, begun, request, (begun.commit.clone(), own)).await?,
    };
    let base = base(shared, begun, request, (landing_base.clone(), earlier)).await?;
    Ok((landing_base, base))
}

/// A commit with the confirmed work of blocking tasks.
async fn base(
    shared: &Shared,
    begun: &Begun,
    request: &OpenWorkspace,
    (commit, on_top_of): (String, Vec<&(RunId, TaskId)>),
) -> Result<String, WorkspaceError> {
    let repository = &begun.repository;
    let mut base = commit;
    for (run, task) in on_top_of {
        let name = format!("refs/heads/{}^{{commit}}", branch(run, task));
        let Some(tip) = repository.resolve(&name).await? else {
            // The user has merged and deleted it, or does not want it.
            continue;
        };
        if is_ancestor(begun, &tip, &base).await? {
            continue;
        }
        if is_ancestor(begun, &base, &tip).await? {
            base = tip;
            continue;
        }
        let tree = merge(begun, &base, Confirmed { run, task, tip: &tip }).await?;
        let call = repository.git().call(["commit-tree", &tree]);
        let call = call.args(["-p", &base, "-p", &tip, "-m"]);
        let call = call.arg(format!("reflexion: base of {} with {task}", request.task));
        let call = begun.identity.sign(call, shared.params.clock.now());
        base = call.line().await?;
    }
    Ok(base)
}

async fn is_ancestor(begun: &Begun, old: &str, new: &str) -> Result<bool, WorkspaceError> {
    let ask = ["merge-base", "--is-ancestor", old, new];
    let out = begun.repository.git().call(ask).run().await?;
    Ok(out.status == 0)
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
    merged.tree(&repository.git(), &what).await
}

/// A merge of two commits.
pub(super) struct Merge<'a> {
    /// What both come from, if their history does not say.
    pub(super) origin: Option<String>,
    pub(super) ours: &'a str,
    pub(super) theirs: &'a str,
}

impl Merge<'_> {
    /// The merged tree; a conflict names the files and says `what` does not fit.
    pub(super) async fn tree(self, git: &Git, what: &str) -> Result<String, WorkspaceError> {
        let call = git.call(["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"]);
        let call = call.args(self.origin.map(|origin| format!("--merge-base={origin}")));
        let out = call.args([self.ours, self.theirs]).run().await?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let mut words = text.split('\0').map(|word| word.trim().to_owned());
        let tree = words.next().unwrap_or_default();
        match out.status {
            0 => Ok(tree),
            1 => Err(WorkspaceError::Conflict {
                what: what.to_owned(),
                files: words.filter(|file| !file.is_empty()).collect(),
            }),
            _ => Err(git::failed("merge-tree (git 2.40 or newer)", &out.stderr)),
        }
    }
}

/// An empty directory for the files: a worktree of the user's repository without its files, or a plain directory.
async fn make_place(begun: &Begun, top: &Path, base: &str) -> Result<Option<Ground>, WorkspaceError> {
    let dir = top.to_owned();
    if begun.repository.kind == Kind::Snapshot {
        let make = move || {
            remove(&dir)?;
            std::fs::create_dir_all(&dir).map_err(io_error("make", &dir))
        };
        return blocking(make).await.map(|()| None);
    }
    blocking(move || remove(&dir)).await?;
    let lock = git::worktree_lock(&begun.repository.git_dir);
    let one = lock.lock().await;
    // Twice forced: the place of a worktree whose directory is gone may still be registered, and even locked.
    let add = ["worktree", "add", "-q", "-f", "-f", "--detach", "--no-checkout"];
    let call = begun.repository.git().call(add).arg(top).arg(base);
    call.ok().await?;
    drop(one);
    Ground::read(top, base).map(Some)
}
