//! One task's workspace.

use super::apply::diff;
use super::apply::patch;
use super::begin::Begun;
use super::guard::Guarded;
use super::guard::Scope;
use super::host_workspaces::Shared;
use super::host_workspaces::Slot;
use super::integration;
use super::kept::Kept;
use super::layout::blocking;
use super::layout::io_error;
use super::layout::write_whole;
use super::mend::half_done;
use super::pushes::hand_over;
use super::recorder::Recorder;
use super::recorder::Recording;
use super::removal::remove;
use super::repository::Kind;
use super::repository::branch;
use crate::domain::Change;
use crate::domain::Spell;
use crate::domain::SubtaskId;
use crate::domain::TaskId;
use crate::domain::TreeId;
use crate::domain::policy;
use crate::host::git;
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
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
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
    pub(super) kept: Arc<std::sync::Mutex<Kept>>,
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
    pub(super) recorder: Recorder,
    /// None where the workspace is a plain copy.
    pub(super) ground: Option<Ground>,
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
        let call = self.recorder.git.call(["commit-tree", &request.tree.0, "-p", parent, "-F", "-"]);
        let call = call.stdin(message.trim_end().to_owned() + "\n");
        self.begun.identity.sign(call, self.shared.params.clock.now()).line().await
    }
}

pub(super) struct State {
    /// The tree that our index holds.
    loaded: String,
    /// The lockfiles when `setup` last ran.
    set_up: Option<Vec<u8>>,
    /// The agent's index as we left it.
    agents_index: Option<IndexStamp>,
    /// Repositories that agents made inside.
    nested: BTreeSet<PathBuf>,
    guarded: Option<Guarded>,
}

impl State {
    /// `setup` is due.
    pub(super) fn forget_setup(&mut self) {
        self.set_up = None;
    }

    /// Nothing but the tree's files is there.
    pub(super) fn anew(&mut self, tree: &str) {
        tree.clone_into(&mut self.loaded);
        (self.set_up, self.agents_index) = (None, None);
        self.nested.clear();
    }
}

type IndexStamp = (u64, u64, i64, i64);

/// What makes a directory a worktree; an agent can damage all of it.
#[derive(Debug)]
pub(super) struct Ground {
    link: Vec<u8>,
    /// The worktree's own git directory.
    admin: PathBuf,
    common: Vec<u8>,
    back: Vec<u8>,
    names: BTreeSet<OsString>,
}

impl Ground {
    /// Of a worktree that was just made.
    pub(super) fn read(top: &Path) -> Result<Self, WorkspaceError> {
        let file = top.join(".git");
        let link = fs::read(&file).map_err(io_error("read", &file))?;
        let admin = String::from_utf8_lossy(&link);
        let admin = PathBuf::from(admin.trim_start_matches("gitdir: ").trim_end());
        let read = |name: &str| {
            let path = admin.join(name);
            fs::read(&path).map_err(io_error("read", &path))
        };
        let (common, back) = (read("commondir")?, read("gitdir")?);
        let names = fs::read_dir(&admin).map_err(io_error("read", &admin))?;
        let mut names: BTreeSet<OsString> = names.flatten().map(|e| e.file_name()).collect();
        names.extend(["index", "logs", "HEAD"].map(OsString::from));
        Ok(Self { link, admin, common, back, names })
    }

    /// Makes it the same worktree again, with `HEAD` detached at the base and no operation half done; says which was.
    pub(super) async fn restore(&self, parts: &Parts) -> Result<Vec<&'static str>, WorkspaceError> {
        let top = &parts.recorder.top;
        let mut half = Vec::new();
        for entry in fs::read_dir(&self.admin).into_iter().flatten().flatten() {
            if !self.names.contains(&entry.file_name()) {
                half.extend(half_done(&entry.file_name().to_string_lossy()));
                remove(&entry.path())?;
            }
        }
        half.sort_unstable();
        half.dedup();
        for (path, bytes) in [
            (top.join(".git"), &self.link),
            (self.admin.join("commondir"), &self.common),
            (self.admin.join("gitdir"), &self.back),
        ] {
            put(&path, bytes)?;
        }
        let head = self.admin.join("HEAD");
        let now = fs::read_to_string(&head).unwrap_or_default();
        if now.trim_end() == parts.base {
            return Ok(half);
        }
        if now.contains(".invalid") {
            // A repository whose refs are not files (reftable) has only a stub here.
            let git = git::Git::with(&self.admin, top);
            let set = ["update-ref", "--no-deref", "HEAD", &parts.base];
            git.call(set).ok().await?;
            return Ok(half);
        }
        write_whole(&head, format!("{}\n", parts.base).as_bytes())?;
        Ok(half)
    }
}

/// Writes a file if it is not the same already.
fn put(path: &Path, bytes: &[u8]) -> Result<(), WorkspaceError> {
    let same = path.symlink_metadata().is_ok_and(|meta| meta.is_file()) && fs::read(path).is_ok_and(|now| now == bytes);
    if same {
        return Ok(());
    }
    remove(path)?;
    write_whole(path, bytes)
}

impl HostWorkspace {
    pub(super) fn new(parts: Parts, kept: Kept) -> Self {
        Self {
            kept: Arc::new(std::sync::Mutex::new(kept)),
            state: Mutex::new(State {
                loaded: parts.tree.clone(),
                set_up: None,
                agents_index: None,
                nested: BTreeSet::new(),
                guarded: None,
            }),
            opened: SystemTime::now(),
            parts,
        }
    }

    /// Takes away what is never inside a workspace, and shows the agent's git a clean state.
    pub(super) async fn settle(&self) -> Result<(), WorkspaceError> {
        let mut state = self.state.lock().await;
        self.hide()?;
        self.show(&mut state).await
    }

    fn hide(&self) -> Result<(), WorkspaceError> {
        for hidden in self.parts.begun.repository.hidden() {
            remove(&self.parts.recorder.top.join(hidden))?;
        }
        Ok(())
    }

    /// The agent's index is the base's, so that its git shows the whole change.
    async fn show(&self, state: &mut State) -> Result<(), WorkspaceError> {
        let Some(ground) = &self.parts.ground else {
            return Ok(());
        };
        let index = ground.admin.join("index");
        self.parts.recorder.publish(&index)?;
        if state.loaded != self.parts.tree {
            let read = ["read-tree", "--reset", self.parts.tree.as_str()];
            let git = &self.parts.recorder.git;
            git.call(read).index(&index).ok().await?;
        }
        state.agents_index = stamp(&index);
        Ok(())
    }

    /// Works on the kept paths on a thread for that.
    async fn with_kept(
        &self,
        work: impl FnOnce(&mut Kept) -> Result<(), WorkspaceError> + Send + 'static,
    ) -> Result<(), WorkspaceError> {
        let kept = Arc::clone(&self.kept);
        blocking(move || work(&mut kept.lock().unwrap_or_else(PoisonError::into_inner))).await
    }

    /// The tree's files and the kept ones, nothing else.
    async fn restore_files(&self, state: &mut State, tree: &str) -> Result<(), WorkspaceError> {
        let recorder = &self.parts.recorder;
        self.make_ground()?;
        for nested in std::mem::take(&mut state.nested) {
            remove(&recorder.top.join(nested).join(".git"))?;
        }
        self.hide()?;
        recorder.checkout(tree).await?;
        state.loaded = tree.to_owned();
        let untracked = recorder.untracked().await?;
        self.with_kept(move |kept| {
            untracked.iter().try_for_each(|path| kept.remove_rest(path))?;
            kept.restore()
        })
        .await
    }

    /// A real directory, whatever the agent made of it.
    fn make_ground(&self) -> Result<(), WorkspaceError> {
        let top = &self.parts.recorder.top;
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
        let recorder = &self.parts.recorder;
        let lockfiles = recorder.lockfiles().await?;
        if state.set_up.as_ref() == Some(&lockfiles) {
            return Ok(None);
        }
        state.set_up = None;
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
        recorder.checkout(&state.loaded).await?;
        self.hide()?;
        let untracked = recorder.untracked().await?;
        self.with_kept(move |kept| kept.capture(untracked)).await?;
        state.set_up = Some(lockfiles);
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
        let bytes = patch(&self.parts.recorder.git, &self.parts.tree, tree).await?;
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
        self.parts.recorder.top.components().chain(prefix.components()).collect()
    }

    fn env(&self) -> BTreeMap<String, String> {
        let shared = &self.parts.shared;
        let cache = shared.layout.cache(self.parts.slot.number);
        let cache = cache.display().to_string();
        let mut env: BTreeMap<String, String> = shared.params.workspace.env.clone();
        for value in env.values_mut() {
            *value = value.replace("{cache}", &cache);
        }
        if self.parts.ground.is_none() {
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
        self.restore_files(&mut state, &tree.0).await?;
        let mut said = Vec::new();
        if let Some(ground) = &self.parts.ground {
            let half = ground.restore(&self.parts).await?;
            said.extend(half.iter().map(|what| format!("{what} was left half done in the workspace, and is undone")));
        }
        self.show(&mut state).await?;
        if let Some(warnings) = self.set_up(&mut state, cancel).await? {
            said.extend(warnings);
            self.show(&mut state).await?;
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
        let recorder = &self.parts.recorder;
        let mut left_out: Vec<PathBuf> = self.parts.begun.repository.hidden().into();
        left_out.extend(self.kept.lock().unwrap_or_else(PoisonError::into_inner).roots().cloned());
        let mut forced = Vec::new();
        if let Some(ground) = &self.parts.ground {
            let index = ground.admin.join("index");
            if stamp(&index) != state.agents_index {
                forced = recorder.forced(&index).await?;
            }
        }
        let loaded = state.loaded.clone();
        let recording = Recording { left_out, forced, loaded: Some(&loaded) };
        let recorded = recorder.record(recording).await?;
        state.nested.extend(recorded.nested);
        state.loaded.clone_from(&recorded.tree);
        let difference = recorder.difference(&self.parts.tree, &recorded.tree).await?;
        Ok(Change {
            no_op: recorded.tree == start.0,
            tree: TreeId(recorded.tree),
            files: difference.files,
            diff_hash: difference.hash,
        })
    }

    async fn guard(&self) -> Result<(), WorkspaceError> {
        if let Some(ground) = &self.parts.ground {
            let mut state = self.state.lock().await;
            // Ends the watch of an attempt that was broken off.
            state.guarded = None;
            let place = self.parts.shared.layout.guarded().join(self.parts.task.as_str());
            state.guarded = Some(Guarded::take(&self.scope(ground), &place).await?);
        }
        Ok(())
    }

    async fn restore_guarded(&self) -> Result<Tampering, WorkspaceError> {
        let Some(ground) = &self.parts.ground else {
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
        let commit = match now {
            Some(now) if has.as_ref() == Some(tree) => now,
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
        let difference = parts.recorder.difference(&parts.tree, tree).await?;
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
        let bytes = diff(&self.parts.recorder.git, &self.parts.tree, &tree.0).await?;
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
        let parts = &self.parts;
        let top = parts.recorder.top.clone();
        let private = parts.shared.layout.private(&parts.begun.run, &parts.task);
        blocking(move || {
            remove(&top)?;
            remove(&private)
        })
        .await?;
        let Some(ground) = &parts.ground else {
            return Ok(());
        };
        let repository = &parts.begun.repository;
        let lock = git::worktree_lock(&repository.git_dir);
        let _one = lock.lock().await;
        // The files are gone already - git would stop at a read-only directory - so it only forgets the worktree.
        let forget = ["worktree", "remove", "--force", "--force"];
        let call = repository.git().call(forget).arg(&parts.recorder.top);
        if call.run().await?.status != 0 {
            remove(&ground.admin)?;
        }
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

fn stamp(path: &Path) -> Option<IndexStamp> {
    let meta = path.symlink_metadata().ok()?;
    Some((meta.len(), meta.ino(), meta.ctime(), meta.ctime_nsec()))
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
