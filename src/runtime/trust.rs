//! Whether a person trusts what a project's files name.
//!
//! Only the program asks: whoever builds these layers in a program of their own has decided what they start.

use crate::config::{ConfigError, Effective};
use crate::domain::{RunId, Task, TaskId, TaskList, TaskMark, TrustItem, TrustKind, policy};
use crate::host::{HomePlaces, HomeRuns, LeftInHome, SystemClock, git_programs, left_by_runs, make_place_of_runs};
use crate::services::{Clock, Tasks, TasksError};
use crate::storage::{TrustFile, Trusted};
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A project's files on one side, and what a person trusts in its directory on the other.
#[derive(Debug, Clone)]
pub struct Trust {
    effective: Effective,
    project: policy::Project,
    file: TrustFile,
    /// The caller trusts everything that is there when something begins.
    all: bool,
    /// What that was, once something began.
    there: Arc<OnceLock<BTreeSet<String>>>,
    /// The run that is gone on with.
    going_on: Option<RunId>,
    /// What runs have left in the home directory, once that was looked at: what is shown is what is accepted.
    left: Arc<OnceLock<Vec<LeftInHome>>>,
}

/// What is not trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Untrusted {
    /// In the settings.
    pub settings: Vec<TrustItem>,
    /// In tasks.
    pub tasks: BTreeMap<TaskId, Vec<TrustItem>>,
}

impl Trust {
    /// What is trusted in the project of these settings.
    ///
    /// # Errors
    /// [`ConfigError`] if values do not fit together.
    pub fn of(effective: &Effective) -> Result<Self, ConfigError> {
        let project = effective.settings()?.project;
        let file = TrustFile::open(project.user_state(), &project.root);
        Ok(Self {
            effective: effective.clone(),
            project,
            file,
            all: effective.is_trusted,
            there: Arc::default(),
            going_on: None,
            left: Arc::default(),
        })
    }

    /// The same for a run that goes on: what was changed in the home directory while it worked, it knows itself.
    #[must_use]
    pub fn going_on_with(self, run: &RunId) -> Self {
        Self { going_on: Some(run.clone()), left: Arc::default(), ..self }
    }

    /// Where it is kept.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.file.path()
    }

    /// What is trusted.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self) -> io::Result<Trusted> {
        self.file.read()
    }

    /// What the settings and these tasks name, and what lies beside the project's files.
    ///
    /// # Errors
    /// If that cannot be looked at.
    pub fn named(&self, tasks: &[Task]) -> io::Result<Vec<TrustItem>> {
        let of_tasks = tasks.iter().flat_map(|task| self.effective.trust_items_of(task));
        let of_project = self.effective.trust_items().into_iter().chain(self.beside()?);
        Ok(of_project.chain(self.left_in_home()?).chain(of_tasks).collect())
    }

    /// What runs of this user have changed in the home directory, of whatever project, and what is so still.
    ///
    /// # Errors
    /// If that cannot be looked at.
    pub fn left_in_home(&self) -> io::Result<Vec<TrustItem>> {
        Ok(self.left()?.iter().map(|left| left.item.clone()).collect())
    }

    /// Whether the caller trusts all that is there, for one call.
    #[must_use]
    pub fn is_for_this_call(&self) -> bool {
        self.all
    }

    fn left(&self) -> io::Result<&[LeftInHome]> {
        if let Some(left) = self.left.get() {
            return Ok(left);
        }
        let left = HomeRuns::of(&self.project).left(&HomePlaces::of(&self.project), self.going_on.as_ref())?;
        Ok(self.left.get_or_init(|| left))
    }

    /// Those of these that are kept in the trust file. The others are accepted where they are noted.
    fn accept(&self, items: &[TrustItem]) -> io::Result<Vec<TrustItem>> {
        let (of_home, others): (Vec<TrustItem>, Vec<TrustItem>) =
            items.iter().cloned().partition(|item| item.kind == TrustKind::Home);
        if !of_home.is_empty() {
            let accepted = self.left()?.iter().filter(|left| of_home.contains(&left.item));
            HomeRuns::of(&self.project).accept(&HomePlaces::of(&self.project), accepted)?;
        }
        Ok(others)
    }

    /// What acts in a run although no file of the project says so: git's configuration of the checkout, and what is in `.reflection/`.
    fn beside(&self) -> io::Result<Vec<TrustItem>> {
        Ok([git_programs(&self.project.root)?, left_by_runs(&self.project)?].concat())
    }

    /// What is not trusted of what the settings and these tasks name.
    ///
    /// # Errors
    /// If that cannot be looked at, or what is trusted cannot be read.
    pub fn untrusted(&self, tasks: &[Task]) -> io::Result<Untrusted> {
        if self.all {
            return Ok(Untrusted::default());
        }
        let trusted = self.file.read()?;
        let named = self.effective.trust_items().into_iter().chain(self.beside()?).chain(self.left_in_home()?);
        let settings = named.filter(|item| !trusted.has(item)).collect();
        Ok(Untrusted { settings, tasks: self.untrusted_tasks(tasks)? })
    }

    /// Where the caller trusts everything, these are all the tasks that there are: what one brings that is added later is not meant.
    pub fn begin_with(&self, tasks: &[Task]) {
        let items = tasks.iter().flat_map(|task| self.effective.trust_items_of(task));
        self.there.get_or_init(|| items.map(|item| item.digest()).collect());
    }

    fn untrusted_tasks(&self, tasks: &[Task]) -> io::Result<BTreeMap<TaskId, Vec<TrustItem>>> {
        let there = self.there.get().filter(|_| self.all);
        if self.all && there.is_none() {
            return Ok(BTreeMap::new());
        }
        // Where the caller trusts all that is there, what they trust otherwise is of no account.
        let trusted = if self.all { self.file.read().unwrap_or_default() } else { self.file.read()? };
        let is_there = |item: &TrustItem| there.is_some_and(|there| there.contains(&item.digest()));
        let missing = |task: &Task| {
            let items = self.effective.trust_items_of(task).into_iter();
            let items = items.filter(|item| !trusted.has(item) && !is_there(item));
            (task.id.clone(), items.collect::<Vec<_>>())
        };
        Ok(tasks.iter().map(missing).filter(|(_, items)| !items.is_empty()).collect())
    }

    /// Whether all that the settings name is trusted. What cannot be read is no trust.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.all || self.file.read().is_ok_and(|trusted| trusted.missing(&self.effective.trust_items()).is_empty())
    }

    /// What is not trusted of what acts in the checkout although no file of the project says so.
    ///
    /// # Errors
    /// As [`Trust::untrusted`].
    pub fn untrusted_beside(&self) -> io::Result<Vec<TrustItem>> {
        let trusted = self.file.read()?;
        let beside = if self.all { Vec::new() } else { self.beside()? };
        Ok(beside.into_iter().filter(|item| !trusted.has(item)).collect())
    }

    /// The task file, if it is outside of the project and nobody trusts that.
    ///
    /// # Errors
    /// If what is trusted cannot be read.
    pub fn untrusted_task_file(&self) -> io::Result<Option<TrustItem>> {
        if self.all {
            return Ok(None);
        }
        let item = self.effective.trust_items().into_iter().find(|item| item.kind == TrustKind::Tasks);
        let trusted = self.file.read()?;
        Ok(item.filter(|item| !trusted.has(item)))
    }

    /// Trusts these and nothing else any more.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub async fn give(&self, items: &[TrustItem]) -> io::Result<()> {
        self.file.replace(&self.accept(items)?, SystemClock::new().now()).await
    }

    /// Trusts these too, because a person has just written them.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub async fn add(&self, items: &[TrustItem]) -> io::Result<()> {
        self.file.add(&self.accept(items)?, SystemClock::new().now()).await
    }

    /// Before a run in a project that is trusted: what it leaves in `.reflection/` is the person's own.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub async fn own_runs(&self) -> io::Result<()> {
        if self.all {
            return Ok(());
        }
        match make_place_of_runs(&self.project)? {
            Some(item) => self.add(&[item]).await,
            None => Ok(()),
        }
    }

    /// Trusts nothing in this directory any more.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub async fn revoke(&self) -> io::Result<()> {
        self.file.replace(&[], SystemClock::new().now()).await
    }

    /// The settings that it is about.
    #[must_use]
    pub fn effective(&self) -> &Effective {
        &self.effective
    }

    /// The project's directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.effective.dir
    }

    /// Tasks of which those that are not trusted are never begun.
    #[must_use]
    pub fn guard(&self, tasks: Arc<dyn Tasks>) -> Arc<dyn Tasks> {
        Arc::new(TrustedTasks { tasks, trust: self.clone() })
    }
}

/// What is decided without whom the settings name: neither a program is started nor anything sent.
pub(super) fn without_anybody(verification: &mut policy::Verification) {
    verification.judge = policy::Judge::None;
    verification.self_assessment = policy::SelfAssessment::Off;
    (verification.reviewer, verification.auditor) = (None, None);
    // `gh` is asked for them, which goes by the repository's own settings.
    (verification.workflow.pull_request, verification.workflow.ci) = (policy::Required::No, policy::Required::No);
}

/// Looked at anew whenever the tasks are read: the task file may have changed, and a person may have given trust meanwhile.
struct TrustedTasks {
    tasks: Arc<dyn Tasks>,
    trust: Trust,
}

#[async_trait]
impl Tasks for TrustedTasks {
    async fn load(&self) -> Result<TaskList, TasksError> {
        let mut list = self.tasks.load().await?;
        let untrusted = self.trust.untrusted_tasks(&list.tasks).map_err(|error| TasksError::Io {
            action: "read",
            path: self.trust.path(),
            message: error.to_string(),
        })?;
        let because = |items: Vec<TrustItem>| {
            let what = items.iter().map(|item| format!("{} `{}`", item.kind, item.text)).collect::<Vec<_>>();
            format!("untrusted: it {}; `reflexion trust` trusts it", what.join(" and "))
        };
        list.refused = untrusted.into_iter().map(|(id, items)| (id, because(items))).collect();
        Ok(list)
    }

    fn edits(&self) -> u64 {
        self.tasks.edits()
    }

    async fn mark(&self, marks: &[TaskMark]) -> Result<(), TasksError> {
        self.tasks.mark(marks).await
    }
}
