//! The port `Workspaces` over git.

use super::begun::Begun;
use super::layout::{EACH_RUN, Layout, blocking};
use super::shared::{HostWorkspacesParams, Shared};
use super::slots::Slots;
use super::workspace::HostWorkspace;
use super::{apply, begin, integration, open, space};
use crate::domain::{RunId, TaskId};
use crate::host::git;
use crate::host::process::git_dir_of;
use crate::services::{Applied, BeginRun, Branches, OpenWorkspace, RunBase, Workspace, WorkspaceError, Workspaces};
use async_trait::async_trait;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Workspaces of one project on this machine; see [`Workspaces`].
///
/// The caller holds the project's [`RunLock`](crate::services::RunLock): `begin` removes every workspace it finds.
pub struct HostWorkspaces {
    shared: Arc<Shared>,
    begun: Mutex<Option<Arc<Begun>>>,
    merge_room: tokio::sync::Mutex<Option<Arc<HostWorkspace>>>,
}

impl HostWorkspaces {
    /// Workspaces of the project in `params`; nothing is touched before `begin`.
    #[must_use]
    pub fn new(params: HostWorkspacesParams) -> Self {
        Self {
            shared: Arc::new(Shared { layout: Layout::new(&params.project), params, slots: Slots::default() }),
            begun: Mutex::default(),
            merge_room: tokio::sync::Mutex::default(),
        }
    }

    fn begun(&self) -> Option<Arc<Begun>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the run's directories away, with what agents made beside their workspaces (`git worktree add ../other`). What cannot be
    /// removed stays until the next run.
    fn leave(&self, run: &RunId) {
        let layout = &self.shared.layout;
        let _ = layout.worktrees().and_then(|all| all.remove(Path::new(run.as_str())));
        let _ = layout.rooms().map(|all| all.remove(Path::new(EACH_RUN)));
        layout.leave_rooms();
    }
}

#[async_trait]
impl Workspaces for HostWorkspaces {
    async fn begin(&self, request: BeginRun) -> Result<RunBase, WorkspaceError> {
        let (begun, base) = begin::begin(&self.shared, request).await?;
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(begun));
        Ok(base)
    }

    async fn open(&self, request: OpenWorkspace) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let begun = self
            .begun()
            .filter(|begun| begun.run == request.run)
            .ok_or_else(|| WorkspaceError::Unusable(format!("run {} has not begun", request.run)))?;
        Ok(Arc::new(open::open(&self.shared, begun, request).await?))
    }

    async fn file_names(&self) -> Result<BTreeSet<String>, WorkspaceError> {
        let begun = self.begun().ok_or_else(|| WorkspaceError::Unusable("no run has begun".to_owned()))?;
        let list = ["ls-tree", "-r", "-z", "--name-only", &begun.commit];
        let list = begun.repository.own().call(list).ok().await?;
        let name = |path: PathBuf| Some(path.file_name()?.to_string_lossy().into_owned());
        Ok(git::paths(&list).filter_map(name).collect())
    }

    async fn steered(&self) -> Result<Vec<String>, WorkspaceError> {
        let Some(begun) = self.begun() else { return Ok(Vec::new()) };
        begun.home.steered().await
    }

    async fn merge_room(&self, subject: &str) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let mut room = self.merge_room.lock().await;
        if let Some(room) = &*room {
            room.show_as(subject).await;
            return Ok(Arc::clone(room) as Arc<dyn Workspace>);
        }
        let begun = self.begun().ok_or_else(|| WorkspaceError::Unusable("no run has begun".to_owned()))?;
        let made = Arc::new(open::merge_room(&self.shared, begun, subject).await?);
        *room = Some(Arc::clone(&made));
        Ok(made)
    }

    async fn finish(&self) -> Result<Branches, WorkspaceError> {
        let Some(begun) = self.begun() else { return Ok(Branches::default()) };
        let merge_room = self.merge_room.lock().await.take();
        if let Some(room) = merge_room {
            room.close().await?;
        }
        while let Some(slot) = self.shared.slots.take_any() {
            if let Err(error) = slot.remove().await {
                // The next run removes it; the branches matter more.
                tracing::warn!(%error, "a workspace was not removed");
            }
        }
        self.leave(&begun.run);
        // Behind that: what lies beside the rooms of a run goes with them.
        begun.home.finish().await?;
        begin::unpin(&self.shared.layout, &begun.repository, &begun.run).await?;
        integration::finish(&begun).await
    }

    async fn room(&self) -> Result<(), WorkspaceError> {
        let layout = &self.shared.layout;
        let mut places = vec![layout.state().to_owned(), layout.project.clone(), layout.place_of_rooms().to_owned()];
        // Confirmed work is written there; of a linked worktree it may be on another disk.
        places.extend(git_dir_of(&layout.project));
        let least = self.shared.params.workspace.min_free_bytes;
        let begun = self.begun();
        let written = begun.map_or_else(Vec::new, |begun| begin::writes_to(layout, &begun));
        blocking(move || {
            places.iter().try_for_each(|place| space::at_least(place, least))?;
            written.iter().try_for_each(|place| space::is_writable(place))
        })
        .await
    }

    async fn apply(&self, run: &RunId, task: &TaskId, cancel: &CancellationToken) -> Result<Applied, WorkspaceError> {
        Box::pin(apply::apply(&self.shared.layout, run, task, cancel)).await
    }
}
