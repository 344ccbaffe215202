//! Workspaces without files: a map of names to texts per task.

use crate::domain::{Change, RunId, Spell, SubtaskId, TaskId, TreeId};
use crate::services::{
    Applied, BeginRun, Branches, CommitRequest, Committed, Diff, OpenWorkspace, OutsideChanges, RebaseOutcome, Rebased,
    Restored, RunBase, Taken, Workspace, WorkspaceError, Workspaces,
};
use crate::toolchain::{Apart, inline_tests};
use async_trait::async_trait;
use similar::TextDiff;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// File names to texts.
type Files = BTreeMap<PathBuf, String>;

/// Workspaces in memory: the directory of each is a name, and its files are written with [`MemoryWorkspaces::write`].
#[derive(Debug, Clone, Default)]
pub struct MemoryWorkspaces {
    base: Arc<Files>,
    state: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    open: HashMap<PathBuf, Files>,
    commits: Vec<(TaskId, CommitRequest)>,
    mended: Vec<(TaskId, Spell)>,
    /// The files after each merge; a commit is named by how many there were before it.
    merged: Vec<Files>,
    /// The files of the commit that is about to be merged.
    next: Option<Files>,
    /// Why there is no room.
    full: Option<String>,
}

impl MemoryWorkspaces {
    /// Workspaces that start with these files.
    #[must_use]
    pub fn new<P: Into<PathBuf>, S: Into<String>>(files: impl IntoIterator<Item = (P, S)>) -> Self {
        let base = files.into_iter().map(|(p, s)| (p.into(), s.into())).collect();
        Self { base: Arc::new(base), state: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a file of the workspace at `dir`.
    pub fn write(&self, dir: &Path, file: &Path, text: &str) {
        self.lock().open.entry(dir.to_owned()).or_default().insert(file.to_owned(), text.to_owned());
    }

    /// Reads a file of the workspace at `dir`.
    #[must_use]
    pub fn read(&self, dir: &Path, file: &Path) -> Option<String> {
        self.lock().open.get(dir)?.get(file).cloned()
    }

    /// From now on there is no room to work in, for this reason; with none, there is again.
    pub fn fill_up(&self, because: Option<&str>) {
        self.lock().full = because.map(str::to_owned);
    }

    /// What was committed so far, in order.
    #[must_use]
    pub fn commits(&self) -> Vec<(TaskId, CommitRequest)> {
        self.lock().commits.clone()
    }

    /// What was repaired so far, in order.
    #[must_use]
    pub fn mended(&self) -> Vec<(TaskId, Spell)> {
        self.lock().mended.clone()
    }

    /// What is on the integration branch, once something was merged.
    #[must_use]
    pub fn integration(&self) -> Option<BTreeMap<PathBuf, String>> {
        self.lock().merged.last().cloned()
    }

    /// The files of a commit of the integration branch; the base where nothing was merged yet.
    fn at(&self, commit: &str) -> Files {
        let number: usize = commit.parse().unwrap_or_default();
        number.checked_sub(1).and_then(|i| self.lock().merged.get(i).cloned()).unwrap_or_else(|| (*self.base).clone())
    }

    /// How many workspaces are open, without their clean rooms.
    #[must_use]
    pub fn open_count(&self) -> usize {
        self.lock().open.keys().filter(|dir| !dir.starts_with(ROOMS)).count()
    }
}

/// Where clean rooms are; each is called like its task, and the one for merges `integration`.
const ROOMS: &str = "/memory/rooms";

/// A tree's id is its contents: nothing has to be kept to restore it.
fn tree_of(files: &Files) -> TreeId {
    TreeId(serde_json::to_string(files).unwrap_or_default())
}

fn files_of(tree: &TreeId) -> Files {
    serde_json::from_str(&tree.0).unwrap_or_default()
}

#[async_trait]
impl Workspaces for MemoryWorkspaces {
    async fn begin(&self, _request: BeginRun) -> Result<RunBase, WorkspaceError> {
        Ok(RunBase { commit: "memory".to_owned(), label: "memory".to_owned(), ..RunBase::default() })
    }

    async fn open(&self, request: OpenWorkspace) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let dir = PathBuf::from(format!("/memory/{}", request.task));
        let base = request.onto.map_or_else(|| (*self.base).clone(), |onto| self.at(&onto));
        self.lock().open.insert(dir.clone(), base.clone());
        Ok(Arc::new(MemoryWorkspace { all: self.clone(), base, dir, task: request.task }))
    }

    async fn file_names(&self) -> Result<BTreeSet<String>, WorkspaceError> {
        let name = |path: &PathBuf| Some(path.file_name()?.to_string_lossy().into_owned());
        Ok(self.base.keys().filter_map(name).collect())
    }

    async fn steered(&self) -> Result<Vec<String>, WorkspaceError> {
        Ok(Vec::new())
    }

    async fn merge_room(&self, _subject: &str) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let task = TaskId::new("integration").map_err(|error| WorkspaceError::Unusable(error.to_string()))?;
        let (base, dir) = ((*self.base).clone(), PathBuf::from(ROOMS).join("integration"));
        self.lock().open.entry(dir.clone()).or_insert_with(|| base.clone());
        Ok(Arc::new(MemoryWorkspace { all: self.clone(), base, dir, task }))
    }

    async fn finish(&self) -> Result<Branches, WorkspaceError> {
        Ok(Branches::default())
    }

    async fn room(&self) -> Result<(), WorkspaceError> {
        self.lock().full.clone().map_or(Ok(()), |because| Err(WorkspaceError::Machine(because)))
    }

    async fn apply(&self, _run: &RunId, task: &TaskId, _cancel: &CancellationToken) -> Result<Applied, WorkspaceError> {
        panic!("MemoryWorkspaces cannot apply task `{task}`: there is no checkout")
    }
}

struct MemoryWorkspace {
    all: MemoryWorkspaces,
    base: Files,
    dir: PathBuf,
    task: TaskId,
}

impl MemoryWorkspace {
    fn changed(&self, files: &Files) -> Vec<String> {
        let base = &self.base;
        let names = base.keys().chain(files.keys().filter(|name| !base.contains_key(*name)));
        names.filter(|name| base.get(*name) != files.get(*name)).map(|name| name.display().to_string()).collect()
    }
}

#[async_trait]
impl Workspace for MemoryWorkspace {
    fn dir(&self) -> PathBuf {
        self.dir.clone()
    }

    fn prefix(&self) -> PathBuf {
        PathBuf::new()
    }

    fn places(&self) -> Vec<PathBuf> {
        vec![self.dir.clone()]
    }

    fn env(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn base(&self) -> TreeId {
        tree_of(&self.base)
    }

    async fn reset(&self, tree: &TreeId, _cancel: &CancellationToken) -> Result<Restored, WorkspaceError> {
        self.all.lock().open.insert(self.dir.clone(), files_of(tree));
        Ok(Restored::default())
    }

    async fn stale_locks(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        Ok(Vec::new())
    }

    async fn mend(&self, spell: Spell) -> Result<Vec<String>, WorkspaceError> {
        self.all.lock().mended.push((self.task.clone(), spell));
        Ok(Vec::new())
    }

    async fn room(&self) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let (base, dir) = (self.base.clone(), PathBuf::from(ROOMS).join(self.task.as_str()));
        self.all.lock().open.insert(dir.clone(), base.clone());
        Ok(Arc::new(MemoryWorkspace { all: self.all.clone(), base, dir, task: self.task.clone() }))
    }

    async fn rewritten(&self) -> Result<Vec<String>, WorkspaceError> {
        Ok(Vec::new())
    }

    async fn leftovers(&self) -> Result<Vec<String>, WorkspaceError> {
        Ok(Vec::new())
    }

    async fn record(&self, start: &TreeId) -> Result<Change, WorkspaceError> {
        let files = self.all.lock().open.get(&self.dir).cloned().unwrap_or_default();
        let tree = tree_of(&files);
        let changed = self.changed(&files);
        let existed = changed.iter().filter(|file| self.base.contains_key(Path::new(file))).cloned().collect();
        let leads_out = Vec::new();
        let left_out = Vec::new();
        Ok(Change {
            no_op: tree == *start,
            files: changed,
            existed,
            leads_out,
            carried: Vec::new(),
            behind_links: Vec::new(),
            left_out,
            remarks: Vec::new(),
            diff_hash: tree.0.clone(),
            tree,
        })
    }

    async fn diff(&self, tree: &TreeId) -> Result<Diff, WorkspaceError> {
        let (base, files) = (&self.base, files_of(tree));
        let file = |name: String| {
            let text = |files: &Files| files.get(Path::new(&name)).cloned().unwrap_or_default();
            let (old, new) = (text(base), text(&files));
            let names = (format!("a/{name}"), format!("b/{name}"));
            TextDiff::from_lines(&old, &new).unified_diff().header(&names.0, &names.1).to_string()
        };
        Ok(Diff { text: self.changed(&files).into_iter().map(file).collect(), left_out: Vec::new() })
    }

    async fn blend(&self, tree: &TreeId, from: &TreeId, taken: &Taken) -> Result<TreeId, WorkspaceError> {
        let (mut files, from) = (files_of(tree), files_of(from));
        for name in &taken.files {
            match from.get(Path::new(name)) {
                Some(text) => files.insert(name.into(), text.clone()),
                None => files.remove(Path::new(name)),
            };
        }
        for name in &taken.inline {
            let (Some(code), Some(tests)) = (files.get(Path::new(name)), from.get(Path::new(name))) else { continue };
            if let (Some(code), Some(tests)) = (inline_tests(name, code), inline_tests(name, tests))
                && code.tests != tests.tests
            {
                files.insert(name.into(), Apart::together(&code.code, &tests.tests));
            }
        }
        Ok(tree_of(&files))
    }

    async fn texts(&self, tree: &TreeId, files: &[String]) -> Result<BTreeMap<String, String>, WorkspaceError> {
        let mut all = files_of(tree);
        Ok(files.iter().filter_map(|file| Some((file.clone(), all.remove(Path::new(file))?))).collect())
    }

    async fn files_with(&self, tree: &TreeId, words: &str) -> Result<Vec<String>, WorkspaceError> {
        let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
        let is_whole = |text: &str, at: usize| {
            !text[..at].ends_with(is_of_word) && !text[at + words.len()..].starts_with(is_of_word)
        };
        let has = |(file, text): (PathBuf, String)| {
            let named = text.match_indices(words).any(|(at, _)| is_whole(&text, at));
            named.then(|| file.to_string_lossy().into_owned())
        };
        Ok(files_of(tree).into_iter().filter_map(has).collect())
    }

    async fn with_texts(&self, tree: &TreeId, texts: &[(String, String)]) -> Result<TreeId, WorkspaceError> {
        let mut files = files_of(tree);
        for (name, text) in texts {
            if let Some(file) = files.get_mut(Path::new(name)) {
                file.clone_from(text);
            }
        }
        Ok(tree_of(&files))
    }

    async fn begin_work(&self) -> Result<(), WorkspaceError> {
        Ok(())
    }

    async fn end_work(&self) -> Result<OutsideChanges, WorkspaceError> {
        Ok(OutsideChanges::default())
    }

    async fn commit(&self, request: CommitRequest) -> Result<Committed, WorkspaceError> {
        let files = self.changed(&files_of(&request.tree));
        self.all.lock().commits.push((self.task.clone(), request));
        Ok(Committed { target: format!("memory/{}", self.task), merges: files.clone(), carried: Vec::new(), files })
    }

    async fn rebase(&self, tree: &TreeId) -> Result<Rebased, WorkspaceError> {
        let onto = self.all.lock().merged.len().to_string();
        let (mut files, mine) = (self.all.at(&onto), files_of(tree));
        let tip = tree_of(&files);
        let mut conflicts = Vec::new();
        for name in self.changed(&mine) {
            let path = PathBuf::from(&name);
            if files.get(&path) != self.base.get(&path) && files.get(&path) != mine.get(&path) {
                conflicts.push(name);
            }
            match mine.get(&path) {
                Some(text) => files.insert(path, text.clone()),
                None => files.remove(&path),
            };
        }
        let fits = conflicts.is_empty();
        let outcome = if fits { RebaseOutcome::Fits(tree_of(&files)) } else { RebaseOutcome::Conflict(conflicts) };
        Ok(Rebased { onto, tip, outcome })
    }

    async fn merge_commit(&self, onto: &str, request: CommitRequest) -> Result<String, WorkspaceError> {
        let mut shared = self.all.lock();
        shared.next = Some(files_of(&request.tree));
        Ok(format!("{}", onto.parse::<usize>().unwrap_or_default() + 1))
    }

    async fn integrate(&self, onto: &str, commit: &str) -> Result<(), WorkspaceError> {
        let mut shared = self.all.lock();
        assert_eq!(onto, shared.merged.len().to_string(), "nobody else merged between rebase and integrate");
        let next = shared.next.take().unwrap_or_else(|| panic!("MemoryWorkspaces: there is no commit {commit}"));
        shared.merged.push(next);
        Ok(())
    }

    async fn keep(&self, attempt: u32) -> Result<String, WorkspaceError> {
        Ok(format!("memory/{}@{attempt}", self.task))
    }

    async fn save_patch(&self, _tree: &TreeId, subtask: &SubtaskId) -> Result<PathBuf, WorkspaceError> {
        Ok(PathBuf::from(format!("/memory/{subtask}.patch")))
    }

    async fn close(&self) -> Result<(), WorkspaceError> {
        let mut shared = self.all.lock();
        shared.open.remove(&PathBuf::from(ROOMS).join(self.task.as_str()));
        shared.open.remove(&self.dir);
        Ok(())
    }
}
