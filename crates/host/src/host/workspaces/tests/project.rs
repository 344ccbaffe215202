//! A project of a user, in a temporary directory.

use crate::domain::{Change, CheckCommand, RunId, TaskId, policy};
use crate::host::{HostRunner, HostWorkspaces, HostWorkspacesParams, SystemClock};
use crate::services::{CommitRequest, Committed, OpenWorkspace, Workspace, WorkspaceError, Workspaces};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub(super) struct Project {
    dir: tempfile::TempDir,
    /// The top of the user's files.
    pub(super) top: PathBuf,
    pub(super) policy: policy::Workspace,
    pub(super) pushes: policy::Pushes,
    prefix: PathBuf,
}

pub(super) fn run_id() -> RunId {
    RunId::new("r1").unwrap()
}

pub(super) fn task(id: &str) -> TaskId {
    TaskId::new(id).unwrap()
}

/// Runs git as a user or agent would.
pub(super) fn git(dir: &Path, args: &[&str]) -> String {
    let out = Command::new("git")
        .args(["-c", "user.name=U Ser", "-c", "user.email=u@example.org"])
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout).trim().to_owned();
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "git {args:?}: {error}");
    text
}

pub(super) fn write(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(super) fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap()
}

/// Every path below, without `.git` and `.reflection`, with what it holds.
pub(super) fn files(top: &Path) -> BTreeMap<String, String> {
    walkdir::WalkDir::new(top)
        .min_depth(1)
        .into_iter()
        .filter_entry(|e| e.file_name() != ".git" && e.file_name() != ".reflection")
        .map(Result::unwrap)
        .filter(|e| !e.file_type().is_dir())
        .map(|e| {
            let name = e.path().strip_prefix(top).unwrap().display().to_string();
            let content = if e.path_is_symlink() {
                format!("-> {}", fs::read_link(e.path()).unwrap().display())
            } else {
                String::from_utf8_lossy(&fs::read(e.path()).unwrap()).into_owned()
            };
            (name, content)
        })
        .collect()
}

pub(super) fn names(top: &Path) -> Vec<String> {
    files(top).into_keys().collect()
}

impl Project {
    /// Plain files, no repository.
    pub(super) fn plain(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join("user's project");
        fs::create_dir(&top).unwrap();
        for (name, text) in files {
            write(&top, name, text);
        }
        Self {
            dir,
            top,
            prefix: PathBuf::new(),
            pushes: policy::Pushes::default(),
            policy: policy::Workspace {
                setup: None,
                carry: Vec::new(),
                carry_limit_bytes: 1 << 20,
                min_free_bytes: 0,
                max_change_bytes: 256 << 20,
                transcripts_bytes: 1 << 30,
                env: BTreeMap::new(),
            },
        }
    }

    /// The files, committed on `main`.
    pub(super) fn git(files: &[(&str, &str)]) -> Self {
        let project = Self::plain(files);
        git(&project.top, &["init", "-q", "-b", "main"]);
        git(&project.top, &["config", "user.name", "U Ser"]);
        git(&project.top, &["config", "user.email", "u@example.org"]);
        git(&project.top, &["add", "-A", "-f"]);
        git(&project.top, &["commit", "-q", "-m", "base"]);
        project
    }

    /// With a submodule, whose own repository is beside the project and has two commits: the file `f` says which.
    pub(super) fn with_submodule(self, name: &str) -> Self {
        let of = self.submodule();
        fs::create_dir(&of).unwrap();
        git(&of, &["init", "-q", "-b", "main"]);
        for content in ["1\n", "2\n"] {
            write(&of, "f", content);
            git(&of, &["add", "-A"]);
            git(&of, &["commit", "-q", "-m", "of the submodule"]);
        }
        let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", of.to_str().unwrap(), name];
        git(&self.top, &add);
        git(&self.top, &["commit", "-q", "-m", "a submodule"]);
        self
    }

    /// Where the submodule comes from.
    pub(super) fn submodule(&self) -> PathBuf {
        self.dir.path().join("submodule")
    }

    /// The project is a subdirectory of the repository.
    pub(super) fn below(mut self, prefix: &str) -> Self {
        self.prefix = prefix.into();
        self
    }

    pub(super) fn carrying(mut self, globs: &[&str]) -> Self {
        self.policy.carry = globs.iter().map(|g| (*g).to_owned()).collect();
        self
    }

    pub(super) fn set_up_by(mut self, line: &str) -> Self {
        self.policy.setup = Some(CheckCommand::Shell(line.to_owned()));
        self
    }

    /// Beside the user's files, not below them.
    pub(super) fn rooms(&self) -> PathBuf {
        self.dir.path().join("rooms")
    }

    pub(super) fn place(&self) -> policy::Project {
        let root = self.top.join(&self.prefix);
        policy::Project {
            name: "p".to_owned(),
            settings: "project.json",
            tasks: root.join("tasks.jsonl"),
            root,
            rooms: self.rooms(),
        }
    }

    pub(super) fn workspaces(&self) -> HostWorkspaces {
        HostWorkspaces::new(HostWorkspacesParams {
            runner: Arc::new(HostRunner::new()),
            clock: Arc::new(SystemClock::new()),
            project: self.place(),
            workspace: self.policy.clone(),
            environment: policy::Environment { pushes: self.pushes, ..policy::Environment::default() },
        })
    }

    /// Begins run `r1` and opens a workspace for the task `t`.
    pub(super) async fn open(&self) -> Arc<dyn Workspace> {
        let workspaces = self.workspaces();
        workspaces.begin(run_id().into()).await.unwrap();
        open(&workspaces, "t", &[]).await.unwrap()
    }
}

pub(super) async fn open(
    workspaces: &HostWorkspaces,
    id: &str,
    on_top_of: &[&str],
) -> Result<Arc<dyn Workspace>, WorkspaceError> {
    workspaces
        .open(OpenWorkspace {
            run: run_id(),
            task: task(id),
            subject: format!("the work of {id}"),
            on_top_of: on_top_of.iter().map(|id| (run_id(), task(id))).collect(),
            onto: None,
        })
        .await
}

pub(super) async fn reset(workspace: &Arc<dyn Workspace>) {
    let base = workspace.base();
    workspace.reset(&base, &CancellationToken::new()).await.unwrap();
}

pub(super) async fn record(workspace: &Arc<dyn Workspace>) -> Change {
    workspace.record(&workspace.base()).await.unwrap()
}

/// Commits what is in the workspace.
pub(super) async fn confirm(workspace: &Arc<dyn Workspace>, subject: &str) -> Committed {
    let tree = record(workspace).await.tree;
    workspace
        .commit(CommitRequest { tree, subject: subject.to_owned(), body: "run: r1\ntask: t".to_owned() })
        .await
        .unwrap()
}
