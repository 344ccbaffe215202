//! One task's workspace.

use super::apply::diff;
use super::apply::patch;
use super::begin::Begun;
use super::ground::Ground;
use super::guard::Guarded;
use super::guard::Scope;
use super::host_workspaces::Shared;
use super::integration;
use super::kept::Kept;
use super::layout::io_error;
use super::layout::write_whole;
use super::pushes::hand_over;
use super::recorder::Difference;
use super::recorder::Recording;
use super::removal::remove;
use super::repository::Kind;
use super::repository::branch;
use super::seen::Seen;
use super::slots::IndexStamp;
use super::slots::Known;
use super::slots::Slot;
use super::slots::stamp;
use crate::domain::Change;
use crate::domain::Spell;
use crate::domain::SubtaskId;
use crate::domain::TaskId;
use crate::domain::TreeId;
use crate::domain::policy;
use crate::services::Command;
use crate::services::CommandEnd;
use crate::services::CommitRequest;
use crate::services::Committed;
use crate::services::Rebased;
use crate::services::Restored;
use crate::services::Tampering;
use crate::services::Workspace;
use crate::services::WorkspaceError;
use async_trait::async_trait;
use globset::GlobSet;
use globset::GlobSetBuilder;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::SystemTime;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Installing the dependencies of a large project on a slow line.
const SETUP_LIMIT: Duration = Duration::from_mins(30);
/// Of what a failed `setup` printed, so much of the end is told.
const SETUP_TOLD: usize = 4000;

/// The exit status of a `setup` that went on although something was not as it should be.
const SETUP_WARNS: i32 = 2;
/// Of the warnings so much is told; all of them stand in what it prints when it is called by hand.
const WARNING_TOLD: usize = 300;

/// A workspace of this machine; see [`Workspace`].
pub(super) struct HostWorkspace {
    pub(super) parts: Parts,
    pub(super) state: Mutex<State>,
    /// When the task's work in it began.
    pub(super) opened: SystemTime,
}

/// What a workspace is made of.
pub(super) struct Parts {
    pub(super) shared: Arc<Shared>,
    pub(super) begun: Arc<Begun>,
    pub(super) task: TaskId,
    pub(super) slot: Slot,
    /// The part of the base that the run's integration branch has.
    pub(super) landing_base: String,
    /// The commit and the tree that the task starts from.
    pub(super) base: String,
    pub(super) tree: String,
}

impl Parts {
    /// Makes a commit of a tree on top of another commit; no ref is moved.
    pub(super) async fn commit_tree(&self, request: &CommitRequest, parent: &str) -> Result<String, WorkspaceError> {
        let message = format!("{}\n\n{}", request.subject, request.body);
        let call = self.slot.recorder.git.call(["commit-tree", &request.tree.0, "-p", parent, "-F", "-"]);
        let call = call.stdin(message.trim_end().to_owned() + "\n");
        let commit = self.begun.identity.sign(call, self.shared.params.clock.now()).line().await?;
        self.begun.repository.learn(&commit, &request.tree.0);
        Ok(commit)
    }
}

pub(super) struct State {
    pub(super) known: Known,
    /// The tree that the files are, if nobody has worked in them since.
    pristine: Option<String>,
    /// What was there when the files were last put back; they are those of the tree in our index then.
    seen: Option<Arc<Seen>>,
    /// The last difference that was asked for: between the base and this tree.
    differs: Option<(String, Difference)>,
    /// The agent's index as we left it.
    agents_index: Option<IndexStamp>,
    guarded: Option<Guarded>,
    given_back: bool,
}

impl State {
    /// Somebody has been at the files beside an agent or a check: nothing that was seen of them counts.
    pub(super) fn touched(&mut self) {
        (self.pristine, self.seen) = (None, None);
    }

    /// Nothing but the tree's files is there.
    pub(super) fn anew(&mut self, tree: &str) {
        self.touched();
        self.known = Known::new(tree.to_owned());
        self.agents_index = None;
    }
}

impl HostWorkspace {
    pub(super) fn new(parts: Parts, known: Known) -> Self {
        let state = State {
            known,
            pristine: None,
            seen: None,
            differs: None,
            agents_index: None,
            guarded: None,
            given_back: false,
        };
        Self { state: Mutex::new(state), opened: SystemTime::now(), parts }
    }

    /// Takes away what is never inside a workspace, and shows the agent's git a clean state.
    pub(super) async fn settle(&self) -> Result<(), WorkspaceError> {
        let mut state = self.state.lock().await;
        self.hide()?;
        self.show(&mut state).await?;
        self.leave(&mut state).await?;
        state.known.proven = state.seen.clone();
        Ok(())
    }

    /// We are through with the files: they are what the index says.
    async fn leave(&self, state: &mut State) -> Result<(), WorkspaceError> {
        state.pristine = Some(state.known.loaded.clone());
        state.known.leave(&self.parts.slot.recorder.index);
        state.seen = self.parts.slot.look().await?;
        Ok(())
    }

    /// Whether nobody has touched the files, or told the agent's git anything of them, since they were put back.
    async fn is_untouched(&self, state: &State) -> Result<bool, WorkspaceError> {
        let told = self.parts.slot.ground.as_ref().is_some_and(|g| stamp(&g.admin.join("index")) != state.agents_index);
        Ok(!told && self.parts.slot.is_as(state.seen.as_ref()).await?)
    }

    /// Whatever somebody else wrote into our index must neither hide nor break anything.
    async fn load_anew(&self, tree: &str) -> Result<(), WorkspaceError> {
        let recorder = &self.parts.slot.recorder;
        remove(&recorder.index)?;
        recorder.load(tree, &self.parts.begun.repository.hidden()).await
    }

    /// What differs between the base and a tree.
    async fn difference(&self, state: &mut State, tree: &str) -> Result<Difference, WorkspaceError> {
        if let Some((of, difference)) = &state.differs
            && of == tree
        {
            return Ok(difference.clone());
        }
        let difference = self.parts.slot.recorder.difference(&self.parts.tree, tree).await?;
        state.differs = Some((tree.to_owned(), difference.clone()));
        Ok(difference)
    }

    fn hide(&self) -> Result<(), WorkspaceError> {
        for hidden in self.parts.begun.repository.hidden() {
            remove(&self.parts.slot.recorder.top.join(hidden))?;
        }
        Ok(())
    }

    /// The agent's index is the base's, so that its git shows the whole change.
    async fn show(&self, state: &mut State) -> Result<(), WorkspaceError> {
        let Some(ground) = &self.parts.slot.ground else {
            return Ok(());
        };
        let index = ground.admin.join("index");
        self.parts.slot.recorder.publish(&index)?;
        if state.known.loaded != self.parts.tree {
            let read = ["read-tree", "--reset", self.parts.tree.as_str()];
            let git = &self.parts.slot.recorder.git;
            git.call(read).index(&index).ok().await?;
        }
        state.agents_index = stamp(&index);
        Ok(())
    }

    /// The tree's files and the kept ones, nothing else.
    async fn restore_files(&self, state: &mut State, tree: &str) -> Result<(), WorkspaceError> {
        let recorder = &self.parts.slot.recorder;
        self.make_ground()?;
        for nested in &state.known.nested {
            remove(&recorder.top.join(nested).join(".git"))?;
        }
        self.hide()?;
        recorder.checkout(tree).await?;
        tree.clone_into(&mut state.known.loaded);
        let untracked = recorder.untracked().await?;
        let restore = move |kept: &mut Kept| {
            untracked.iter().try_for_each(|path| kept.remove_rest(path))?;
            kept.restore()
        };
        self.parts.slot.with_kept(restore).await
    }

    /// A real directory, whatever the agent made of it.
    fn make_ground(&self) -> Result<(), WorkspaceError> {
        let top = &self.parts.slot.recorder.top;
        if top.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            return Ok(());
        }
        remove(top)?;
        fs::create_dir_all(top).map_err(io_error("make", top))
    }

    /// Runs `setup` if it is due; what it left untracked is kept, what it changed of the tree is put back. None: it was not
    /// due; else its warnings.
    async fn set_up(
        &self,
        state: &mut State,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<String>>, WorkspaceError> {
        let params = &self.parts.shared.params;
        let Some(setup) = &params.workspace.setup else {
            return Ok(None);
        };
        let recorder = &self.parts.slot.recorder;
        let lockfiles = recorder.lockfiles().await?;
        if state.known.set_up.as_ref() == Some(&lockfiles) {
            return Ok(None);
        }
        state.known.set_up = None;
        state.known.set_ups += 1;
        let mut command = Command::new(["sh"], self.dir());
        command.program = setup.clone();
        command.env = self.env();
        command.env_deny = params.environment.deny.clone();
        command.timeout = SETUP_LIMIT;
        command.cancel = cancel.clone();
        let failed = |how: String, output: String| WorkspaceError::Setup { command: setup.to_string(), how, output };
        let output = match params.runner.run(command).await {
            Ok(output) => output,
            Err(error) => return Err(failed("it did not start".into(), error.to_string())),
        };
        let warns = output.end == CommandEnd::Exited(SETUP_WARNS);
        if !output.success() && !warns {
            return Err(failed(how(output.end), end_of(&output.combined.text(), SETUP_TOLD).to_owned()));
        }
        recorder.checkout(&state.known.loaded).await?;
        self.hide()?;
        let untracked = recorder.untracked().await?;
        self.parts.slot.with_kept(move |kept| kept.capture(untracked)).await?;
        state.known.set_up = Some(lockfiles);
        state.known.set_up_on = Some(state.known.loaded.clone());
        let warning = || {
            let text = output.combined.text();
            let last = end_of(text.trim_end(), WARNING_TOLD).lines().last().unwrap_or_default().trim().to_owned();
            format!("setup `{setup}` ended with warnings (exit status {SETUP_WARNS}): {last}")
        };
        Ok(Some(warns.then(warning).into_iter().collect()))
    }

    /// What git is told in this workspace, above all configuration.
    fn settings_of_git(&self, policy: &policy::Environment) -> Vec<(String, String)> {
        let begun = &self.parts.begun;
        // A commit may begin to pack the user's whole repository in the background, and is ended with its agent in the middle
        // of it.
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
        Ok(Change { no_op, tree: TreeId(tree), files: difference.files, diff_hash: difference.hash })
    }

    fn scope(&self, ground: &Ground) -> Scope {
        Scope {
            repository: self.parts.begun.repository.clone(),
            admin: ground.admin.clone(),
            run: self.parts.begun.run.clone(),
            remotes: self.parts.begun.remotes.clone(),
        }
    }

    /// The change as a patch file.
    async fn write_patch(&self, tree: &str, path: &Path) -> Result<(), WorkspaceError> {
        let bytes = patch(&self.parts.slot.recorder.git, &self.parts.tree, tree).await?;
        write_whole(path, &bytes)
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
        self.parts.slot.recorder.top.components().chain(prefix.components()).collect()
    }

    fn env(&self) -> BTreeMap<String, String> {
        let shared = &self.parts.shared;
        let cache = shared.layout.cache(self.parts.slot.number.number);
        let cache = cache.display().to_string();
        let mut env: BTreeMap<String, String> = shared.params.workspace.env.clone();
        for value in env.values_mut() {
            *value = value.replace("{cache}", &cache);
        }
        if self.parts.slot.ground.is_none() {
            // The copy is in no repository, and git must not find one above the user's project.
            let ceiling = shared.layout.worktrees().display().to_string();
            env.entry("GIT_CEILING_DIRECTORIES".to_owned()).or_insert(ceiling);
        }
        let policy = &shared.params.environment;
        let denied = denied(&policy.deny);
        let inherited = |name: &str| std::env::var(name).ok().filter(|_| !denied.is_match(name));
        let now = |name: &str| env.get(name).cloned().or_else(|| inherited(name));
        let given = hand_over(now, self.settings_of_git(policy));
        env.extend(given);
        env
    }

    fn base(&self) -> TreeId {
        TreeId(self.parts.tree.clone())
    }

    async fn reset(&self, tree: &TreeId, cancel: &CancellationToken) -> Result<Restored, WorkspaceError> {
        let mut state = self.state.lock().await;
        let mut said = Vec::new();
        let slot = &self.parts.slot;
        state.known.look_at(&slot.recorder.index);
        let spoilt = state.known.is_spoilt();
        let ready = state.pristine.take().as_ref() == Some(&tree.0) && !spoilt;
        if !ready {
            if state.known.loaded != tree.0 || spoilt || !self.is_untouched(&state).await? {
                state.seen = None;
                if spoilt {
                    self.load_anew(&state.known.loaded).await?;
                }
                self.restore_files(&mut state, &tree.0).await?;
            }
            if let Some(ground) = &slot.ground {
                let half = ground.restore(&slot.recorder.top, &self.parts.base).await?;
                let undone = |what| format!("{what} was left half done in the workspace, and is undone");
                said.extend(half.into_iter().map(undone));
            }
            if state.seen.is_none() {
                self.show(&mut state).await?;
            }
        }
        if let Some(warnings) = self.set_up(&mut state, cancel).await? {
            said.extend(warnings);
            state.seen = None;
            self.show(&mut state).await?;
        }
        if state.seen.is_none() {
            self.leave(&mut state).await?;
        } else {
            state.pristine = Some(tree.0.clone());
        }
        Ok(Restored { said })
    }

    async fn stale_locks(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        self.locks_left_behind().await
    }

    async fn mend(&self, spell: Spell) -> Result<Vec<String>, WorkspaceError> {
        self.repair(spell).await
    }

    async fn record(&self, start: &TreeId) -> Result<Change, WorkspaceError> {
        let mut state = self.state.lock().await;
        self.make_ground()?;
        let slot = &self.parts.slot;
        let recorder = &slot.recorder;
        state.pristine = None;
        state.known.look_at(&recorder.index);
        let loaded = state.known.loaded.clone();
        if state.known.is_spoilt() {
            self.load_anew(&loaded).await?;
        } else if self.is_untouched(&state).await? {
            let tree = state.known.loaded.clone();
            return self.change(&mut state, tree, start).await;
        }
        let mut left_out: Vec<PathBuf> = self.parts.begun.repository.hidden().into();
        left_out.extend(slot.kept.lock().unwrap_or_else(PoisonError::into_inner).roots().cloned());
        let mut forced = Vec::new();
        if let Some(ground) = &slot.ground {
            let index = ground.admin.join("index");
            if stamp(&index) != state.agents_index {
                forced = recorder.forced(&index).await?;
            }
        }
        let recording = Recording { left_out, forced, loaded: Some(&loaded) };
        let recorded = recorder.record(recording).await?;
        let known = &mut state.known;
        known.nested.extend(recorded.nested);
        known.written.extend(recorded.changed);
        known.loaded.clone_from(&recorded.tree);
        known.leave(&recorder.index);
        // Our index holds another tree than the one that was looked at.
        state.seen = None;
        self.change(&mut state, recorded.tree, start).await
    }

    async fn guard(&self) -> Result<(), WorkspaceError> {
        let mut state = self.state.lock().await;
        // Whoever works in the files is guarded first.
        state.pristine = None;
        if let Some(ground) = &self.parts.slot.ground {
            // Ends the watch of an attempt that was broken off.
            state.guarded = None;
            let place = self.parts.shared.layout.guarded().join(self.parts.task.as_str());
            state.guarded = Some(Guarded::take(&self.scope(ground), &place).await?);
        }
        Ok(())
    }

    async fn restore_guarded(&self) -> Result<Tampering, WorkspaceError> {
        let Some(ground) = &self.parts.slot.ground else {
            return Ok(Tampering::default());
        };
        let Some(guarded) = self.state.lock().await.guarded.take() else {
            return Ok(Tampering::default());
        };
        let mut said = guarded.restore(&self.scope(ground)).await?;
        let mut told = self.parts.begun.told.lock().unwrap_or_else(PoisonError::into_inner);
        said.left.retain(|what| told.insert(what.clone()));
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
                integration::place(&parts.begun, &full, &commit).await?;
                commit
            }
        };
        integration::remember(&parts.begun, full, Some(commit));
        let target = match parts.begun.repository.kind {
            Kind::Git => name,
            Kind::Snapshot => {
                let path = parts.shared.layout.patch(&parts.begun.run, &parts.task);
                self.write_patch(tree, &path).await?;
                path.display().to_string()
            }
        };
        let difference = self.difference(&mut *self.state.lock().await, tree).await?;
        Ok(Committed { target, files: difference.files })
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
        integration::keep(&self.parts.begun, &self.parts.task, attempt).await
    }

    async fn diff(&self, tree: &TreeId, limit: usize) -> Result<String, WorkspaceError> {
        if tree.0 == self.parts.tree {
            return Ok(String::new());
        }
        let bytes = diff(&self.parts.slot.recorder.git, &self.parts.tree, &tree.0).await?;
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(limit)]);
        Ok(text.trim_end_matches(char::REPLACEMENT_CHARACTER).to_owned())
    }

    async fn save_patch(&self, tree: &TreeId, subtask: &SubtaskId) -> Result<PathBuf, WorkspaceError> {
        let parts = &self.parts;
        let layout = &parts.shared.layout;
        let path = layout.unconfirmed(&parts.begun.run, &parts.task, subtask);
        self.write_patch(&tree.0, &path).await?;
        Ok(path)
    }

    async fn close(&self) -> Result<(), WorkspaceError> {
        // Whoever broke off has nothing more to say to the agent; the user's repository is put back all the same.
        let changed = self.restore_guarded().await?;
        for what in changed.by_agent.iter().chain(&changed.left) {
            tracing::warn!("changed in your repository: {what}");
        }
        let mut state = self.state.lock().await;
        if std::mem::replace(&mut state.given_back, true) {
            return Ok(());
        }
        let Parts { slot, shared, begun, tree, .. } = &self.parts;
        if slot.ground.is_none() {
            // A copy is as quickly made.
            return slot.remove(&begun.repository).await;
        }
        let known = std::mem::replace(&mut state.known, Known::new(tree.clone()));
        shared.slots.give_back(slot.clone(), known);
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

/// The last bytes of a text, from the beginning of a character.
fn end_of(text: &str, bytes: usize) -> &str {
    let from = text.len().saturating_sub(bytes);
    &text[(from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())..]
}

fn how(end: CommandEnd) -> String {
    match end {
        CommandEnd::Exited(status) => format!("exit status {status}"),
        CommandEnd::Signaled(signal) => format!("ended by signal {signal}"),
        CommandEnd::TimedOut => format!("timed out after {} min", SETUP_LIMIT.as_secs() / 60),
        CommandEnd::Cancelled | CommandEnd::Idle | CommandEnd::Stopped => "cancelled".to_owned(),
    }
}
