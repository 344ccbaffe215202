//! Places to work in, and what changed there.

use crate::domain::{BranchConflict, Change, RunId, Spell, SubtaskId, TaskId, TreeId, changed_lines, in_a_line};
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Which branches of a run somebody else has to do with, by their names without `refs/heads/`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Branches {
    /// Were moved or deleted by somebody, and are put back; what they were moved to is kept under another name.
    pub moved: Vec<String>,
    /// Are checked out by the user, and so were left where they were; what the run put on them since is on these, of the same name with
    /// [`AHEAD`] behind it.
    pub ahead: Vec<String>,
    /// Do not merge into the integration branch.
    pub conflicts: Vec<BranchConflict>,
}

/// Behind the name of a branch that is checked out: what stands there is ahead of it.
pub const AHEAD: &str = "@ahead";

/// How many files at most have their texts asked for at a time, where there may be any number of them.
pub const TEXTS_AT_A_TIME: usize = 256;

/// Makes workspaces for a run. The user's checkout, index and untracked files are never written to.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Workspaces: Send + Sync {
    /// Fixes the run's base (HEAD, or a snapshot where there is no git; a run that goes on keeps its own), removes what a
    /// dead run left behind, and says which uncommitted files of the user are not included.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn begin(&self, run: BeginRun) -> Result<RunBase, WorkspaceError>;

    /// Makes a workspace for a task: the run's base plus the confirmed branches it depends on, `carry` copied in.
    /// `setup` has not run yet.
    ///
    /// # Errors
    /// [`WorkspaceError::Conflict`] if the branches do not merge.
    async fn open(&self, request: OpenWorkspace) -> Result<Arc<dyn Workspace>, WorkspaceError>;

    /// The clean room in which work is checked on top of other work: one for the whole run, made when it is first asked for. In it,
    /// git shows the work as a commit with this subject.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn merge_room(&self, subject: &str) -> Result<Arc<dyn Workspace>, WorkspaceError>;

    /// The names of the files at the run's base, without their directories.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn file_names(&self) -> Result<BTreeSet<String>, WorkspaceError>;

    /// What in the home directory steers tools otherwise than when the run began, in words: what is checked meanwhile may be green for that.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn steered(&self) -> Result<Vec<String>, WorkspaceError>;

    /// Removes the workspaces that were given up, and puts the branches of the run back where the run had left them.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn finish(&self) -> Result<Branches, WorkspaceError>;

    /// Whether there is room to work in: on a full disk agents and checks fail for a reason that is not theirs.
    ///
    /// # Errors
    /// [`WorkspaceError::Machine`] if less is free than the settings ask for.
    async fn room(&self) -> Result<(), WorkspaceError>;

    /// Brings a task's confirmed work into the user's checkout (`reflexion apply`), if it fits on what is there.
    ///
    /// # Errors
    /// [`WorkspaceError::Conflict`] if it does not fit, and [`WorkspaceError::Interrupted`] if `cancel` came before the first file
    /// was changed; nothing was changed then. After that it comes to its end.
    async fn apply(&self, run: &RunId, task: &TaskId, cancel: &CancellationToken) -> Result<Applied, WorkspaceError>;
}

/// A run to begin, or to go on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeginRun {
    /// The run.
    pub run: RunId,
    /// What the run had before, if it goes on.
    pub resumed: Option<ResumedBase>,
}

impl From<RunId> for BeginRun {
    /// A new run.
    fn from(run: RunId) -> Self {
        Self { run, resumed: None }
    }
}

/// What a run that goes on had before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumedBase {
    /// [`RunBase::commit`] of its beginning.
    pub commit: String,
    /// The last commit that is known to be its integration branch's, if anything was merged.
    pub integration: Option<String>,
    /// A commit that the branch was about to be moved to when the run ended.
    pub pending: Option<String>,
    /// [`RunBase::home`] of its beginning; none where an older version began it.
    pub home: Option<Vec<String>>,
}

/// What a run starts from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunBase {
    /// The commit or snapshot.
    pub commit: String,
    /// The same, shortened for people.
    pub label: String,
    /// Uncommitted files of the user that no attempt will see, as paths from the repository's root.
    pub not_included: Vec<String>,
    /// What agents and checks will miss in the workspaces, and what to do about it, in words.
    pub missing: Vec<String>,
    /// The commit that the user's `HEAD` is at, where a run goes on from another one.
    pub head: Option<String>,
    /// What a dead run had left behind and was removed, in words.
    pub cleaned: Vec<String>,
    /// The files of the home directory that steer tools, as they were when the run began: a digest and a name each.
    pub home: Vec<String>,
}

/// A workspace to make.
#[derive(Debug, Clone)]
pub struct OpenWorkspace {
    /// The run.
    pub run: RunId,
    /// The task.
    pub task: TaskId,
    /// The subject of the commit that the work becomes: checks see it.
    pub subject: String,
    /// Confirmed work to start from besides the run's base: `(run, task)` of each blocking task, in order.
    pub on_top_of: Vec<(RunId, TaskId)>,
    /// A commit of the run's integration branch to start from instead of the run's base.
    pub onto: Option<String>,
}

/// A change as it is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// As a unified diff.
    pub text: String,
    /// Files of code, tests, or what decides how they run, whose change is too large to be in it.
    pub left_out: Vec<String>,
}

impl Diff {
    /// The files that it changes, each once.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        let shown = changed_lines(&self.text).map(|line| line.file);
        let files: BTreeSet<&str> = shown.chain(self.left_out.iter().map(String::as_str)).collect();
        files.into_iter().map(str::to_owned).collect()
    }
}

/// What was changed beside the files of a workspace while an agent or a check worked in it, in words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutsideChanges {
    /// What the agent did; it counts against its work.
    pub by_agent: Vec<String>,
    /// What a person must look at, whoever did it.
    pub for_person: Vec<String>,
    /// What is held against nobody, and shown all the same: what reached nobody, or what anybody may have done.
    pub noticed: Vec<String>,
}

/// A place to work in, or the clean room in which checks run. All methods are called by one task at a time.
///
/// A clean room holds a recorded tree, what `setup` makes of it, and what is carried in, each time it is [reset](Workspace::reset):
/// no agent ever works in it, and what a check left is gone. Its build caches are its own. Nothing is recorded in it.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Workspace: Send + Sync {
    /// Where agents and checks run: the workspace, in the project's place of it.
    fn dir(&self) -> PathBuf;

    /// The project's place in the repository; empty where the project is the repository.
    fn prefix(&self) -> PathBuf;

    /// The directories of this workspace alone, whole paths: where its files are, and its build caches. The same work in another workspace
    /// has other ones, so that what names a file below them is read [as if they were the same](crate::services::VerifyRequest::places).
    fn places(&self) -> Vec<PathBuf>;

    /// Environment for setup, agents and checks of this workspace (`workspace.env`, cache directories).
    fn env(&self) -> BTreeMap<String, String>;

    /// The recorded tree that the task starts from.
    fn base(&self) -> TreeId;

    /// Puts the files back to a recorded tree: what checks and agents wrote is gone, carried paths are as they were
    /// brought in, no operation of git is half done; then runs `setup` if it never ran here or a lockfile differs from the
    /// last time it ran. `setup` ends with 0 if all is well, and with 2 if it went on with warnings, on the
    /// base too.
    ///
    /// # Errors
    /// [`WorkspaceError::Setup`] with what it printed; others if the files cannot be restored.
    async fn reset(&self, tree: &TreeId, cancel: &CancellationToken) -> Result<Restored, WorkspaceError>;

    /// The locks of git that stand in the way although nobody holds them any more. Only such as nobody but the run makes.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn stale_locks(&self) -> Result<Vec<PathBuf>, WorkspaceError>;

    /// Repairs the workspace, so that what failed in it can be done once more; says what was done. Nothing that the run did
    /// not make is touched: not the user's checkout, nor anybody else's lock. After [`Spell::SetUpAgain`] and
    /// [`Spell::MakeAnew`] a [`Workspace::reset`] has to follow.
    ///
    /// # Errors
    /// [`WorkspaceError`]
    async fn mend(&self, spell: Spell) -> Result<Vec<String>, WorkspaceError>;

    /// The clean room of this task, made when it is first asked for; given up with the workspace.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn room(&self) -> Result<Arc<dyn Workspace>, WorkspaceError>;

    /// The files that were there after the last [`Workspace::reset`] and are others now, or gone: what a check has written to.
    /// Paths from the repository's root.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn rewritten(&self) -> Result<Vec<String>, WorkspaceError>;

    /// What lies in the workspace beside the change that was recorded last: ignored files, and carried ones or ones that `setup`
    /// made and that are not as they were. A wholly untracked directory is one entry. Paths from the repository's root.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn leftovers(&self) -> Result<Vec<String>, WorkspaceError>;

    /// Records everything that differs from the base (own commits, staged, unstaged, untracked; ignored and carried
    /// paths are no change). `start` is the tree the attempt started from.
    ///
    /// # Errors
    /// [`WorkspaceError::NotRecorded`] where the agent left what cannot be recorded.
    async fn record(&self, start: &TreeId) -> Result<Change, WorkspaceError>;

    /// What differs between the base and a recorded tree, as a unified diff. Of files whose change is too large only its head is there.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn diff(&self, tree: &TreeId) -> Result<Diff, WorkspaceError>;

    /// The files of one recorded tree, of which some are as they are in another one: nothing in the workspace is changed.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn blend(&self, tree: &TreeId, from: &TreeId, taken: &Taken) -> Result<TreeId, WorkspaceError>;

    /// The texts of files of a recorded tree, by their names; what is no regular file there, or no UTF-8, is left out. All of them are in
    /// memory at once: ask for [some at a time](TEXTS_AT_A_TIME).
    ///
    /// # Errors
    /// [`WorkspaceError`] if the tree cannot be read.
    async fn texts(&self, tree: &TreeId, files: &[String]) -> Result<BTreeMap<String, String>, WorkspaceError>;

    /// One of [`texts`](Self::texts).
    ///
    /// # Errors
    /// [`WorkspaceError`] if the tree cannot be read.
    async fn text(&self, tree: &TreeId, file: &str) -> Result<Option<String>, WorkspaceError> {
        Ok(self.texts(tree, &[file.to_owned()]).await?.remove(file))
    }

    /// The files of a recorded tree in which these words stand, as they are written and not as a part of longer ones.
    ///
    /// # Errors
    /// [`WorkspaceError`] if the tree cannot be read.
    async fn files_with(&self, tree: &TreeId, words: &str) -> Result<Vec<String>, WorkspaceError>;

    /// A recorded tree with other texts in some of its regular files: nothing in the workspace is changed. Names that it does not have
    /// are left out.
    ///
    /// # Errors
    /// [`WorkspaceError`] if the tree cannot be written.
    async fn with_texts(&self, tree: &TreeId, texts: &[(String, String)]) -> Result<TreeId, WorkspaceError>;

    /// Looks at what is watched beside the files (remotes on this machine, and what in the home directory steers tools), before an
    /// agent or a check runs: as long as it was not called since, the files count as nobody's work.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn begin_work(&self) -> Result<(), WorkspaceError>;

    /// Says what was changed there since [`Workspace::begin_work`]; empty if nothing was.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn end_work(&self) -> Result<OutsideChanges, WorkspaceError>;

    /// Commits a recorded tree on the branch `reflexion/<run>/<task>` (a patch file without git). Repeating it with the
    /// same tree changes nothing.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn commit(&self, request: CommitRequest) -> Result<Committed, WorkspaceError>;

    /// What a confirmed tree comes to on top of the run's integration branch. Nothing is changed, and no ref is asked: an
    /// agent can move refs.
    ///
    /// Not more than one task of a run at a time is between this call and [`Workspace::integrate`].
    ///
    /// # Errors
    /// [`WorkspaceError`]; work that does not fit is no error.
    async fn rebase(&self, tree: &TreeId) -> Result<Rebased, WorkspaceError>;

    /// Makes the commit of a rebased tree; no ref is moved.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn merge_commit(&self, onto: &str, request: CommitRequest) -> Result<String, WorkspaceError>;

    /// Moves the integration branch from one commit to the next. Whatever else it was moved to is kept under another name.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn integrate(&self, onto: &str, commit: &str) -> Result<(), WorkspaceError>;

    /// Moves the task's branch to a name of its own, so that work which does not fit is kept and another attempt can have
    /// the branch. Gives the new name; repeating it changes nothing.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn keep(&self, attempt: u32) -> Result<String, WorkspaceError>;

    /// Saves a recorded tree that was not confirmed as a patch in the run's directory, so that no paid work is lost.
    ///
    /// # Errors
    /// [`WorkspaceError`].
    async fn save_patch(&self, tree: &TreeId, subtask: &SubtaskId) -> Result<PathBuf, WorkspaceError>;

    /// Gives the workspace up: nothing of it may be used any more. Another task may get its directory, as new; the last
    /// ones are removed by [`Workspaces::finish`].
    ///
    /// # Errors
    /// [`WorkspaceError`]; what is left is removed by the next run.
    async fn close(&self) -> Result<(), WorkspaceError>;
}

/// What is taken from another tree. Paths from the repository's root, as a [`Change`] names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// Files that are there as they are in the other tree, or are missing as they are there.
    pub files: Vec<String>,
    /// Files of code of which only the tests among the code are those of the other tree; where these cannot be told from the code in
    /// both trees, nothing of the file is taken.
    pub inline: Vec<String>,
}

/// What a reset has to say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// Warnings of `setup`, and what was found half done, in words.
    pub said: Vec<String>,
}

/// What to commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRequest {
    /// The recorded tree.
    pub tree: TreeId,
    /// The commit's subject, verbatim.
    pub subject: String,
    /// The commit's body.
    pub body: String,
}

/// The lines that the body of a commit with confirmed work has: it is known by them whatever somebody puts on top of it.
#[must_use]
pub fn lines_of_work(run: &RunId, task: &TaskId) -> [String; 2] {
    [format!("run: {run}"), format!("task: {task}")]
}

/// Where confirmed work is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The branch, or the patch file where there is no git.
    pub target: String,
    /// The files that differ from the base, as paths from the repository's root.
    pub files: Vec<String>,
    /// The files that merging it into the run's integration branch brings there: those, and what the work of earlier runs that it
    /// builds on has changed.
    pub merges: Vec<String>,
    /// Those that hold what is carried, as [`Change::carried`].
    pub carried: Vec<String>,
}

/// Confirmed work on top of what was merged before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebased {
    /// The integration branch's commit.
    pub onto: String,
    /// Its files.
    pub tip: TreeId,
    /// What came of it.
    pub outcome: RebaseOutcome,
}

/// What came of putting work on top of other work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RebaseOutcome {
    /// It fits; the merged files.
    Fits(TreeId),
    /// It is on the branch already, whose files are these.
    There(TreeId),
    /// It does not, because of these files.
    Conflict(Vec<String>),
}

/// What `apply` did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The branch or patch file it came from.
    pub from: String,
    /// The files it changed.
    pub files: Vec<String>,
    /// What is left to do by hand.
    pub remarks: Vec<String>,
}

/// A workspace could not be made or used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WorkspaceError {
    /// git failed.
    #[error("git {command} failed: {message}")]
    Git {
        /// The sub-command.
        command: String,
        /// What it printed.
        message: String,
    },
    /// git waited for something that did not come, and was ended.
    #[error("git {command} {}", waited_for(pipe.as_deref()))]
    Waited {
        /// The sub-command.
        command: String,
        /// The pipe that it opened, if it was one.
        pipe: Option<PathBuf>,
    },
    /// The system refused.
    #[error("failed to {action} {path}: {message}", path = path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        message: String,
    },
    /// `setup` failed.
    #[error("setup `{command}` failed ({how}):\n{output}")]
    Setup {
        /// The command.
        command: String,
        /// How it ended.
        how: String,
        /// The end of what it printed.
        output: String,
    },
    /// Work does not fit together.
    #[error("{what} does not fit: {files}", files = files.iter().map(|file| in_a_line(file)).collect::<Vec<_>>().join(", "))]
    Conflict {
        /// In words.
        what: String,
        /// The files.
        files: Vec<String>,
    },
    /// What an agent left cannot be recorded; in words that go on after "the agent's work counts for nothing:".
    #[error("{0}")]
    NotRecorded(String),
    /// The project cannot be worked on as it is.
    #[error("{0}")]
    Unusable(String),
    /// It was given up before anything was changed, because somebody said so.
    #[error("interrupted: nothing was changed")]
    Interrupted,
    /// The machine is not fit to work on anything: no room, or a file system that became read-only.
    #[error("{0}")]
    Machine(String),
}

fn waited_for(pipe: Option<&Path>) -> String {
    match pipe {
        Some(pipe) => format!(
            "waits for a pipe where a file belongs: {} is one, and nobody writes to it; remove it, or put the file back",
            pipe.display()
        ),
        None => {
            "waited a minute for something that did not come: is there a pipe in a place where git reads?".to_owned()
        }
    }
}
