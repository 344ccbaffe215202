//! One task's workspace.

use super::agents_index::Named;
use super::apply::{diff, patch};
use super::built::CACHE;
use super::layout::Layout;
use super::merge::tree_of;
use super::names::DIR;
use super::parts::{Parts, Shown};
use super::pushes::{around_ssh, hand_over};
use super::readable::readable;
use super::recorder::{Difference, Recording, Submodule};
use super::repository::{Kind, branch};
use super::slot::Slot;
use super::slots::Role;
use super::{Doubt, integration, open, pushes};
use crate::domain::{Change, Spell, SubtaskId, TreeId, policy};
use crate::services::{
    CommitRequest, Committed, Diff, OutsideChanges, Rebased, Restored, Taken, Workspace, WorkspaceError,
};
use crate::toolchain;
use async_trait::async_trait;
use globset::{GlobSet, GlobSetBuilder};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;
use tokio::sync::{Mutex, MutexGuard, OnceCell};
use tokio_util::sync::CancellationToken;

/// A workspace of this machine; see [`Workspace`].
pub(super) struct HostWorkspace {
    pub(super) parts: Parts,
    state: Mutex<State>,
    /// The clean room of the task, once a check was to be run.
    room: OnceCell<Arc<HostWorkspace>>,
    /// When the task's work in it began.
    pub(super) opened: SystemTime,
    /// What `setup` has changed in the home directory since somebody worked here.
    pub(super) by_set_up: std::sync::Mutex<OutsideChanges>,
}

pub(super) struct State {
    /// None: it was given up.
    slot: Option<Slot>,
    /// The tree that the files are, if nobody has worked in them since.
    pristine: Option<String>,
    /// The last difference that was asked for: between the base and this tree.
    differs: Option<(String, Difference)>,
    /// What is watched while somebody works.
    watched: Option<pushes::Watched>,
    /// What was done to the files while nobody was to be at them.
    changed_meanwhile: Vec<String>,
    /// Of the task whose files these are: nobody waits for an answer any more when it is stopped.
    until: CancellationToken,
    /// What is to be said when work begins.
    to_say: Vec<String>,
}

impl State {
    /// The files, in their place.
    pub(super) fn slot(&mut self) -> Result<&mut Slot, WorkspaceError> {
        let given_up = || WorkspaceError::Unusable("the workspace was given up".to_owned());
        let slot = self.slot.as_mut().ok_or_else(given_up)?;
        slot.come_back()?;
        Ok(slot)
    }

    /// Somebody has been at the files beside an agent or a check: nothing that was seen of them counts.
    pub(super) fn touched(&mut self) {
        self.pristine = None;
        if let Some(slot) = &mut self.slot {
            slot.forget_seen();
        }
    }
}

impl HostWorkspace {
    pub(super) fn new(parts: Parts, slot: Slot, to_say: Vec<String>) -> Self {
        let state = State {
            slot: Some(slot),
            pristine: None,
            differs: None,
            watched: None,
            changed_meanwhile: Vec::new(),
            until: CancellationToken::new(),
            to_say,
        };
        Self {
            state: Mutex::new(state),
            room: OnceCell::new(),
            opened: SystemTime::now(),
            by_set_up: std::sync::Mutex::default(),
            parts,
        }
    }

    /// From now on, work is shown with this subject.
    pub(super) async fn show_as(&self, subject: &str) {
        let mut state = self.state.lock().await;
        let mut shown = self.parts.shown();
        if shown.subject != subject {
            *shown = Shown::with(subject.to_owned());
            // The files are right, what git says of them is not.
            state.pristine = None;
        }
    }

    pub(super) async fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().await
    }

    /// What differs between the base and a tree.
    async fn difference(&self, state: &mut State, tree: &str) -> Result<Difference, WorkspaceError> {
        if let Some((of, difference)) = &state.differs
            && of == tree
        {
            return Ok(difference.clone());
        }
        let until = state.until.clone();
        let recorder = &state.slot()?.recorder;
        let mut difference = recorder.difference(&self.parts.tree, tree).await?;
        if self.parts.role == Role::Work {
            self.parts.look_for_commits(recorder, tree, &mut difference, &until).await?;
        }
        // What nobody else has now may be pushed in a moment.
        if difference.leads_out.is_empty() && !until.is_cancelled() {
            state.differs = Some((tree.to_owned(), difference.clone()));
        }
        Ok(difference)
    }

    /// Puts the files back to a tree, in a directory that is made anew where what is there cannot be trusted.
    async fn put_back(&self, slot: &mut Slot, tree: &str) -> Result<Vec<String>, WorkspaceError> {
        let head = self.parts.head_of(tree).await?;
        let target = self.parts.target_at(tree, &head);
        match slot.put_back(&target).await {
            Ok(half) => {
                let undone = |what| format!("{what} was left half done in the workspace, and is undone");
                Ok(half.into_iter().map(undone).collect())
            }
            Err(Doubt::Failed(error)) => Err(error),
            Err(Doubt::Of(doubt)) => {
                tracing::info!(slot = %slot.name, %doubt, "a workspace is made anew");
                slot.make_anew(&target).await.map(|()| Vec::new())
            }
        }
    }

    /// What git is told in this workspace, above all configuration.
    fn settings_of_git(&self, policy: &policy::Environment) -> Vec<(String, String)> {
        let begun = &self.parts.begun;
        // A commit may begin to pack the repository in the background, and is ended with its agent in the middle of it.
        let off = [("gc.auto", "0"), ("maintenance.auto", "false")];
        let mut settings: Vec<(String, String)> = off.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        if policy.pushes == policy::Pushes::Refused {
            settings.extend(begun.remotes.refused(&begun.repository.top));
        }
        settings
    }

    async fn change(&self, state: &mut State, tree: String, start: &TreeId) -> Result<Change, WorkspaceError> {
        let difference = self.difference(state, &tree).await?;
        let no_op = tree == start.0;
        let behind_links = state.slot()?.recorder.links_to(&self.parts.tree, &difference.existed).await?;
        Ok(Change {
            behind_links,
            no_op,
            tree: TreeId(tree),
            files: difference.files,
            existed: difference.existed,
            leads_out: difference.leads_out,
            left_out: Vec::new(),
            carried: Vec::new(),
            remarks: difference.remarks,
            diff_hash: difference.hash,
        })
    }

    /// The files of a tree that hold what is carried.
    async fn carried_in(&self, slot: &Slot, tree: &str) -> Result<Vec<String>, WorkspaceError> {
        let carried = slot.with_kept(|kept| Ok(kept.carried_files())).await?;
        carried.found_in(&slot.recorder, (&self.parts.tree, tree)).await
    }

    /// The change as a patch file.
    async fn write_patch(&self, tree: &str, path: &Path) -> Result<PathBuf, WorkspaceError> {
        let bytes = patch(&self.parts.begun.repository.own(), &self.parts.tree, tree).await?;
        self.parts.shared.layout.write(path, &bytes)
    }

    /// Gives the directory back, for the next task.
    async fn give_back(&self) {
        if let Some(slot) = self.state.lock().await.slot.take() {
            self.parts.shared.slots.give_back(self.parts.role, slot);
        }
    }
}

#[async_trait]
impl Workspace for HostWorkspace {
    fn prefix(&self) -> PathBuf {
        self.parts.begun.repository.prefix.components().collect()
    }

    fn dir(&self) -> PathBuf {
        let prefix = &self.parts.begun.repository.prefix;
        // Not `join`: a trailing slash would be shown to agents and in messages.
        self.parts.top.components().chain(prefix.components()).collect()
    }

    fn places(&self) -> Vec<PathBuf> {
        vec![self.parts.top.components().collect(), self.parts.cache.clone()]
    }

    fn env(&self) -> BTreeMap<String, String> {
        let shared = &self.parts.shared;
        let cache = self.parts.cache.display().to_string();
        let mut env: BTreeMap<String, String> = shared.params.workspace.env.clone();
        for value in env.values_mut() {
            *value = value.replace(CACHE, &cache);
        }
        // Who takes the repository of the workspace away, and where there is none, must not find the user's above it.
        let ceiling = self.parts.top.parent().unwrap_or(&self.parts.top).display().to_string();
        env.entry("GIT_CEILING_DIRECTORIES".to_owned()).or_insert(ceiling);
        let policy = &shared.params.environment;
        let denied = denied(&policy.deny);
        let inherited = |name: &str| std::env::var(name).ok().filter(|_| !denied.is_match(name));
        for (name, value) in toolchain::packages_inside().filter(|(name, _)| inherited(name).is_none()) {
            env.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
        let now = |name: &str| env.get(name).cloned().or_else(|| inherited(name));
        let mut given = hand_over(now, self.settings_of_git(policy));
        if policy.pushes == policy::Pushes::Refused {
            given.extend(around_ssh(now));
        }
        env.extend(given);
        env
    }

    fn base(&self) -> TreeId {
        TreeId(self.parts.tree.clone())
    }

    async fn reset(&self, tree: &TreeId, cancel: &CancellationToken) -> Result<Restored, WorkspaceError> {
        let mut state = self.state.lock().await;
        let state = &mut *state;
        state.until = cancel.clone();
        let mut said = std::mem::take(&mut state.to_say);
        let mut ready = state.pristine.take().as_ref() == Some(&tree.0);
        let slot = state.slot()?;
        slot.look_after_cache(&self.parts.begun).await?;
        // What `setup` makes of the base serves all work that it reads the same of.
        if self.parts.role == Role::Room
            && slot.known.set_up.is_none()
            && self.parts.shared.params.workspace.setup.is_some()
        {
            self.put_back(slot, &self.parts.tree).await?;
            self.set_up(slot, cancel).await?;
            ready = tree.0 == self.parts.tree;
        }
        if !ready {
            said.extend(self.put_back(slot, &tree.0).await?);
        }
        said.extend(self.set_up(slot, cancel).await?);
        slot.fit_cache().await?;
        state.pristine = Some(tree.0.clone());
        Ok(Restored { said })
    }

    async fn stale_locks(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        self.locks_left_behind().await
    }

    async fn mend(&self, spell: Spell) -> Result<Vec<String>, WorkspaceError> {
        self.repair(spell).await
    }

    async fn room(&self) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let room = self.room.get_or_try_init(|| open::room(&self.parts)).await?;
        if let Some(slot) = &mut self.state.lock().await.slot {
            slot.step_aside()?;
        }
        Ok(Arc::clone(room) as Arc<dyn Workspace>)
    }

    async fn rewritten(&self) -> Result<Vec<String>, WorkspaceError> {
        let mut state = self.state.lock().await;
        let slot = state.slot()?;
        let rewritten = slot.rewritten().await?;
        Ok(rewritten.into_iter().map(|path| path.to_string_lossy().into_owned()).collect())
    }

    async fn leftovers(&self) -> Result<Vec<String>, WorkspaceError> {
        let mut state = self.state.lock().await;
        let slot = state.slot()?;
        let roots = slot.kept_roots();
        let untracked = slot.recorder.untracked().await?.into_iter().filter(|path| !roots.contains(path));
        let mut found: Vec<PathBuf> = untracked.filter(|path| !path.starts_with(DIR)).collect();
        found.extend(slot.with_kept(|kept| kept.touched()).await?.into_iter().filter(|path| !path.starts_with(DIR)));
        Ok(found.into_iter().map(|path| path.to_string_lossy().into_owned()).collect())
    }

    async fn record(&self, start: &TreeId) -> Result<Change, WorkspaceError> {
        let mut state = self.state.lock().await;
        state.pristine = None;
        let slot = state.slot()?;
        slot.is_somebodys();
        if !slot.stands() {
            // Whatever is in its place now is not the workspace: the whole of it was removed.
            slot.make_anew(&self.parts.target(&self.parts.tree)).await?;
            return Err(WorkspaceError::NotRecorded(
                "it removed the directory that it works in, or put another one into its place".to_owned(),
            ));
        }
        if slot.is_spoilt() {
            // Whatever somebody else wrote into our index must neither hide nor break anything.
            slot.load_anew(&self.parts.begun.repository.hidden()).await?;
        } else if slot.is_untouched().await? {
            let tree = slot.known.loaded.clone();
            return self.change(&mut state, tree, start).await;
        }
        let mut left_out: Vec<PathBuf> = self.parts.begun.repository.hidden().into();
        // What `setup` has put into a submodule is not recorded; which commit it is at, is, and files that stand in its place.
        let is_kept = |path: &PathBuf| !slot.known.submodules.contains(path) || !slot.was_repository(path);
        let kept: Vec<PathBuf> = slot.kept_roots().into_iter().filter(is_kept).collect();
        left_out.extend(kept.iter().cloned());
        slot.recorder.inspect().await?;
        let told = slot.told_names(self.parts.base.len() / 2);
        // Somebody wanted these in a commit, and whoever has the commit alone would not have them.
        let is_kept = |path: &&PathBuf| kept.iter().any(|kept| path.starts_with(kept));
        let (mut named, mut said) = (Vec::new(), Vec::new());
        for Named { path, commit } in told {
            match commit {
                Some(commit) => said.push(Submodule { path, commit }),
                None => named.push(path),
            }
        }
        let staged: Vec<String> =
            named.iter().filter(is_kept).map(|path| path.to_string_lossy().into_owned()).collect();
        let forced = slot.recorder.forced(named).await?;
        let (loaded, most_bytes) = (slot.known.loaded.clone(), self.parts.shared.params.workspace.max_change_bytes);
        let has_submodules = self.parts.begun.repository.kind == Kind::Git;
        let (loaded_tree, base) = (Some(loaded.as_str()), Some(self.parts.tree.as_str()));
        let recording =
            Recording { left_out, forced, said, has_submodules, is_work: true, most_bytes, loaded: loaded_tree, base };
        let recorded = slot.recorder.record(recording).await?;
        slot.known.written.extend(recorded.changed);
        slot.known.loaded.clone_from(&recorded.tree);
        slot.leave_index();
        if let Some(why) = self.parts.begun.repository.refusal(&recorded.tree, &self.parts.base).await? {
            return Err(WorkspaceError::NotRecorded(why));
        }
        let mut left_out = slot.new_below_kept(&kept).await?;
        left_out.extend(staged);
        left_out.sort();
        left_out.dedup();
        let change = self.change(&mut state, recorded.tree, start).await?;
        let mut remarks = change.remarks;
        remarks.extend(self.parts.edited_in(state.slot()?, &recorded.submodules, &change.files).await?);
        let carried = self.carried_in(state.slot()?, &change.tree.0).await?;
        Ok(Change { left_out, carried, remarks, ..change })
    }

    async fn begin_work(&self) -> Result<(), WorkspaceError> {
        let mut state = self.state.lock().await;
        if let Some(tree) = state.pristine.take() {
            let slot = state.slot()?;
            if !slot.stands() || !slot.is_untouched().await? {
                let head = self.parts.head_of(&tree).await?;
                slot.make_anew(&self.parts.target_at(&tree, &head)).await?;
                self.set_up(slot, &CancellationToken::new()).await?;
                let what = format!("files of the {} of task {}", self.parts.role.words(), self.parts.task);
                state
                    .changed_meanwhile
                    .push(format!("{what} were changed while nobody worked there; it was made anew"));
            }
        }
        state.slot()?.begin_work();
        let whose = self.parts.whose(&state.slot()?.known.loaded);
        state.watched = Some(pushes::Watched::now(&self.parts.begun, whose).await?);
        Ok(())
    }

    async fn end_work(&self) -> Result<OutsideChanges, WorkspaceError> {
        let mut state = self.state.lock().await;
        let Some(watched) = state.watched.take() else { return Ok(OutsideChanges::default()) };
        let files = state.slot()?.recorder.files.clone();
        let mut said = watched.differs(&self.parts.begun, &files).await?;
        said.for_person.append(&mut state.changed_meanwhile);
        let by_set_up = std::mem::take(&mut *self.by_set_up.lock().unwrap_or_else(PoisonError::into_inner));
        said.for_person.extend(by_set_up.by_agent.iter().cloned());
        said.by_agent.extend(by_set_up.by_agent);
        said.noticed.extend(by_set_up.noticed);
        let mut told = self.parts.begun.told.lock().unwrap_or_else(PoisonError::into_inner);
        said.for_person.retain(|what| told.insert(what.clone()));
        said.noticed.retain(|what| told.insert(what.clone()));
        Ok(said)
    }

    async fn commit(&self, request: CommitRequest) -> Result<Committed, WorkspaceError> {
        let parts = &self.parts;
        let name = branch(&parts.begun.run, &parts.task);
        let full = format!("refs/heads/{name}");
        let tree = &request.tree.0;
        let now = parts.begun.repository.resolve(&full).await?;
        let has = parts.begun.repository.resolve(&format!("{full}^{{tree}}")).await?;
        let known = parts.begun.branches.lock().unwrap_or_else(PoisonError::into_inner).get(&full).cloned();
        let commit = match now {
            // One that we did not make may have any author and any history.
            Some(now) if has.as_ref() == Some(tree) && known.as_ref() == Some(&now) => now,
            _ => {
                let commit = parts.commit_tree(&request, &parts.base).await?;
                integration::place(parts, &full, &commit).await?;
                commit
            }
        };
        integration::remember(&parts.begun, full, Some(commit));
        let target = match parts.begun.repository.kind {
            Kind::Git => name,
            Kind::Snapshot => {
                let path = Layout::patch(&parts.begun.run, &parts.task);
                self.write_patch(tree, &path).await?.display().to_string()
            }
        };
        let mut state = self.state.lock().await;
        let files = self.difference(&mut state, tree).await?.files;
        let carried = self.carried_in(state.slot()?, tree).await?;
        let merges = if parts.landing_base == parts.base {
            files.clone()
        } else {
            let onto = tree_of(&parts.begun, &parts.landing_base).await?;
            state.slot()?.recorder.difference(&onto, tree).await?.files
        };
        Ok(Committed { target, files, merges, carried })
    }

    async fn rebase(&self, tree: &TreeId) -> Result<Rebased, WorkspaceError> {
        integration::rebase(&self.parts, tree).await
    }

    async fn merge_commit(&self, onto: &str, request: CommitRequest) -> Result<String, WorkspaceError> {
        self.parts.commit_tree(&request, onto).await
    }

    async fn integrate(&self, onto: &str, commit: &str) -> Result<(), WorkspaceError> {
        integration::integrate(&self.parts.begun, onto, commit).await
    }

    async fn keep(&self, attempt: u32) -> Result<String, WorkspaceError> {
        integration::keep(&self.parts, attempt).await
    }

    async fn diff(&self, tree: &TreeId) -> Result<Diff, WorkspaceError> {
        if tree.0 == self.parts.tree {
            return Ok(Diff::default());
        }
        let bytes = diff(&self.parts.begun.repository.own(), &self.parts.tree, &tree.0).await?;
        Ok(readable(&bytes))
    }

    async fn texts(&self, tree: &TreeId, files: &[String]) -> Result<BTreeMap<String, String>, WorkspaceError> {
        let mut state = self.state.lock().await;
        state.slot()?.recorder.texts(&tree.0, files).await
    }

    async fn files_with(&self, tree: &TreeId, words: &str) -> Result<Vec<String>, WorkspaceError> {
        let mut state = self.state.lock().await;
        state.slot()?.recorder.files_with(&tree.0, words).await
    }

    async fn with_texts(&self, tree: &TreeId, texts: &[(String, String)]) -> Result<TreeId, WorkspaceError> {
        let mut state = self.state.lock().await;
        state.slot()?.recorder.with_texts(&tree.0, texts).await.map(TreeId)
    }

    async fn blend(&self, tree: &TreeId, from: &TreeId, taken: &Taken) -> Result<TreeId, WorkspaceError> {
        let mut state = self.state.lock().await;
        state.slot()?.recorder.blend(&tree.0, &from.0, taken).await.map(TreeId)
    }

    async fn save_patch(&self, tree: &TreeId, subtask: &SubtaskId) -> Result<PathBuf, WorkspaceError> {
        let path = Layout::unconfirmed(&self.parts.begun.run, &self.parts.task, subtask);
        self.write_patch(&tree.0, &path).await
    }

    async fn close(&self) -> Result<(), WorkspaceError> {
        // Whoever broke off has nothing more to say to the agent.
        let changed = self.end_work().await.unwrap_or_default();
        for what in changed.by_agent.iter().chain(&changed.for_person) {
            tracing::warn!("noticed while an agent worked: {what}");
        }
        if let Some(room) = self.room.get() {
            room.give_back().await;
        }
        self.give_back().await;
        Ok(())
    }
}

/// Of a glob that cannot be read, the runner says so when it starts something.
fn denied(globs: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    globs.iter().filter_map(|glob| globset::Glob::new(glob).ok()).for_each(|glob| {
        set.add(glob);
    });
    set.build().unwrap_or_default()
}
