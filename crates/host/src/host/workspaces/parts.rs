//! What a workspace is made of.

use super::begun::Begun;
use super::home::Whose;
use super::shared::Shared;
use super::slot::Target;
use super::slots::Role;
use crate::domain::{TaskId, TreeId};
use crate::services::{CommitRequest, WorkspaceError};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

/// What a workspace is made of.
pub(super) struct Parts {
    pub(super) shared: Arc<Shared>,
    pub(super) begun: Arc<Begun>,
    pub(super) task: TaskId,
    pub(super) role: Role,
    /// The files, as whoever works in them names them, and where build caches are.
    pub(super) top: PathBuf,
    pub(super) cache: PathBuf,
    /// The part of the base that the run's integration branch has.
    pub(super) landing_base: String,
    /// The commit and the tree that the task starts from.
    pub(super) base: String,
    pub(super) tree: String,
    /// The commit that is shown to checks.
    pub(super) shown: std::sync::Mutex<Shown>,
}

/// How git shows work to a check: as whoever gets it will see it.
pub(super) struct Shown {
    /// Its subject.
    pub(super) subject: String,
    /// The tree that was shown last, and its commit.
    last: Option<(String, String)>,
}

impl Shown {
    pub(super) fn with(subject: String) -> Self {
        Self { subject, last: None }
    }
}

impl Parts {
    /// Makes a commit of a tree on top of another commit; no ref is moved.
    pub(super) async fn commit_tree(&self, request: &CommitRequest, parent: &str) -> Result<String, WorkspaceError> {
        let message = format!("{}\n\n{}", request.subject, request.body);
        let call = self.begun.repository.own().call(["commit-tree", &request.tree.0, "-p", parent, "-F", "-"]);
        let call = call.stdin(message.trim_end().to_owned() + "\n");
        let commit = self.begun.identity.sign(call, self.shared.params.clock.now()).line().await?;
        self.begun.repository.learn(&commit, &request.tree.0);
        Ok(commit)
    }

    /// The files of a tree, for whoever starts from this task's base.
    pub(super) fn target<'a>(&'a self, tree: &'a str) -> Target<'a> {
        self.target_at(tree, &self.base)
    }

    /// The same, where git shows another commit as checked out.
    pub(super) fn target_at<'a>(&'a self, tree: &'a str, head: &'a str) -> Target<'a> {
        let (shared, begun) = (&*self.shared, &*self.begun);
        let head_tree = if head == self.base { &self.tree } else { tree };
        Target { shared, begun, tree, head, head_tree }
    }

    /// Whose a tree is that lies here: where an agent works, all is that agent's.
    pub(super) fn whose(&self, tree: &str) -> Whose {
        if self.role == Role::Room && tree == self.begun.tree { Whose::Base } else { Whose::Work }
    }

    /// The commit that git shows: an agent sees its work as a change of the base; for a check the work is a commit, as it is for
    /// whoever gets it.
    pub(super) async fn head_of(&self, tree: &str) -> Result<String, WorkspaceError> {
        if self.role == Role::Work || tree == self.tree {
            return Ok(self.base.clone());
        }
        let subject = {
            let shown = self.shown();
            match &shown.last {
                Some((of, commit)) if of == tree => return Ok(commit.clone()),
                _ => shown.subject.clone(),
            }
        };
        let request = CommitRequest { tree: TreeId(tree.to_owned()), subject, body: String::new() };
        let commit = self.commit_tree(&request, &self.base).await?;
        self.shown().last = Some((tree.to_owned(), commit.clone()));
        Ok(commit)
    }

    pub(super) fn shown(&self) -> std::sync::MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
