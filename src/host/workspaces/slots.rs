//! The worktrees of a run: one per worker, for one task after another.

use super::ground::Ground;
use super::host_workspaces::Shared;
use super::kept::Kept;
use super::layout::blocking;
use super::recorder::Recorder;
use super::removal::remove;
use super::repository::Repository;
use super::seen::Seen;
use crate::host::git;
use crate::services::WorkspaceError;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

/// A place among the workspaces that are open at the same time; decides the cache directory.
pub(super) struct Number {
    shared: Arc<Shared>,
    pub(super) number: usize,
}

impl Number {
    /// The lowest free one, so that a later workspace finds a warm cache.
    pub(super) fn take(shared: &Arc<Shared>) -> Self {
        let mut taken = shared.slots.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let number = (0..).find(|n| !taken.contains(n)).unwrap_or_default();
        taken.insert(number);
        Self { shared: Arc::clone(shared), number }
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        let slots = &self.shared.slots;
        let mut taken = slots.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.remove(&self.number);
    }
}

/// The files that a workspace works on, and what belongs to them.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) number: Arc<Number>,
    pub(super) recorder: Recorder,
    /// What we keep about it, outside of it.
    pub(super) private: PathBuf,
    /// None where the workspace is a plain copy.
    pub(super) ground: Option<Arc<Ground>>,
    pub(super) kept: Arc<Mutex<Kept>>,
}

impl Slot {
    /// Works on the kept paths on a thread for that.
    pub(super) async fn with_kept<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Kept) -> Result<T, WorkspaceError> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        let kept = Arc::clone(&self.kept);
        blocking(move || work(&mut kept.lock().unwrap_or_else(PoisonError::into_inner))).await
    }

    /// Looks at the files as they are; nothing if they cannot be remembered.
    pub(super) async fn look(&self) -> Result<Option<Arc<Seen>>, WorkspaceError> {
        let top = self.recorder.top.clone();
        blocking(move || Ok(Seen::look(&top).map(Arc::new))).await
    }

    /// Whether nobody has touched any file since then.
    pub(super) async fn is_as(&self, seen: Option<&Arc<Seen>>) -> Result<bool, WorkspaceError> {
        let Some(seen) = seen.cloned() else { return Ok(false) };
        let top = self.recorder.top.clone();
        blocking(move || Ok(seen.is_same(&top))).await
    }

    /// Removes the files, and what git and we know of them.
    pub(super) async fn remove(&self, repository: &Repository) -> Result<(), WorkspaceError> {
        let (top, private) = (self.recorder.top.clone(), self.private.clone());
        blocking(move || {
            remove(&top)?;
            remove(&private)
        })
        .await?;
        let Some(ground) = &self.ground else {
            return Ok(());
        };
        let lock = git::worktree_lock(&repository.git_dir);
        let _one = lock.lock().await;
        // The files are gone already - git would stop at a read-only directory - so it only forgets the worktree.
        let forget = ["worktree", "remove", "--force", "--force"];
        let call = repository.git().call(forget).arg(&self.recorder.top);
        if call.run().await?.status != 0 {
            remove(&ground.admin)?;
        }
        Ok(())
    }
}

/// What is known of a slot's files.
#[derive(Debug)]
pub(super) struct Known {
    /// The tree that our index holds.
    pub(super) loaded: String,
    /// The lockfiles when `setup` last ran, and how often it ran.
    pub(super) set_up: Option<Vec<u8>>,
    pub(super) set_ups: u32,
    /// The tree on which it ran.
    pub(super) set_up_on: Option<String>,
    /// Repositories that agents made inside.
    pub(super) nested: BTreeSet<PathBuf>,
    /// Files whose state our index has from what an agent or a check wrote, and not from a checkout.
    pub(super) written: BTreeSet<PathBuf>,
    /// Our index as we left it.
    index: Option<IndexStamp>,
    /// Somebody else has written to our index.
    spoilt: bool,
    /// What was there when the slot was proven to be as new.
    pub(super) proven: Option<Arc<Seen>>,
}

impl Known {
    pub(super) fn new(loaded: String) -> Self {
        Self {
            loaded,
            set_up: None,
            set_ups: 0,
            set_up_on: None,
            nested: BTreeSet::new(),
            written: BTreeSet::new(),
            index: None,
            spoilt: false,
            proven: None,
        }
    }

    /// Looks whether our index is as we left it, before we write to it.
    pub(super) fn look_at(&mut self, index: &Path) {
        self.spoilt |= self.index.is_some() && self.index != stamp(index);
    }

    /// We are through with our index for now.
    pub(super) fn leave(&mut self, index: &Path) {
        self.index = stamp(index);
    }

    pub(super) fn is_spoilt(&self) -> bool {
        self.spoilt
    }
}

/// Length, inode and change time.
pub(super) type IndexStamp = (u64, u64, i64, i64);

pub(super) fn stamp(path: &Path) -> Option<IndexStamp> {
    let meta = path.symlink_metadata().ok()?;
    Some((meta.len(), meta.ino(), meta.ctime(), meta.ctime_nsec()))
}

/// The slots of a run. There are never more than workspaces were open at the same time.
#[derive(Default)]
pub(super) struct Slots {
    taken: Mutex<BTreeSet<usize>>,
    free: Mutex<Vec<(Slot, Known)>>,
    made: Mutex<usize>,
}

impl Slots {
    /// The name of another one; a name is not used twice, because somebody may still know the old path.
    pub(super) fn new_name(&self) -> String {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        *made += 1;
        format!("slot-{made}")
    }

    /// The one that was given back last: what is in it is warmest.
    pub(super) fn take(&self) -> Option<(Slot, Known)> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    pub(super) fn give_back(&self, slot: Slot, known: Known) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push((slot, known));
    }
}
