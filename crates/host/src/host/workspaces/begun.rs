//! A run that has begun.

use super::agents_git::AgentsGit;
use super::answers::Answers;
use super::gitmodules::Gitmodules;
use super::home::Home;
use super::recorder::Modes;
use super::remotes::Remotes;
use super::repository::{Identity, Repository};
use crate::domain::RunId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::Mutex;

/// A run that has begun.
pub(super) struct Begun {
    pub(super) run: RunId,
    pub(super) repository: Repository,
    pub(super) identity: Identity,
    /// What the git of every workspace starts with; none without a repository of the user's.
    pub(super) agents_git: Option<Arc<AgentsGit>>,
    /// Where the user's submodules come from, in the commit that tasks start from.
    pub(super) gitmodules: Gitmodules,
    /// The permissions of files that git does not keep, of a project without one.
    pub(super) modes: Arc<Modes>,
    /// What remotes of submodules have answered.
    pub(super) answers: Answers,
    /// When this process began it, before any file of it was written.
    pub(super) began: SystemTime,
    /// Where its user pushes to.
    pub(super) remotes: Remotes,
    /// The files of the home directory that steer tools.
    pub(super) home: Home,
    /// The tree of the commit that tasks start from.
    pub(super) tree: String,
    /// What a person was told already; attempts of the same time see the same.
    pub(super) told: std::sync::Mutex<BTreeSet<String>>,
    /// The commit that tasks start from.
    pub(super) commit: String,
    /// The tip of the run's integration branch; the base as long as nothing was merged.
    pub(super) integration: Mutex<String>,
    /// The run's other branches, by full name, as this process left them.
    pub(super) branches: std::sync::Mutex<BTreeMap<String, String>>,
    /// Held while what is put on a branch is noted: tasks do that at the same time, in one file.
    pub(super) noting: std::sync::Mutex<()>,
    /// Full names of branches that somebody else moved, or put something below, in this run's time.
    pub(super) put_aside: std::sync::Mutex<BTreeSet<String>>,
    /// Full names of branches that were checked out when they should have moved, and the commit of ours that they stood on, if it was one.
    pub(super) behind: std::sync::Mutex<BTreeMap<String, Option<String>>>,
}
