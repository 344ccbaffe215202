//! A task's workspace, and its checks at the base.

use super::task_run::{Prepared, TaskPlan, TaskRun, TaskRunError};
use crate::domain::{
    CheckReport, CheckScope, CheckSpec, CheckStatus, EventKind, Expects, FileGlobs, JournalEntry, RunId, RunKind,
    TaskId, TreeId, decompose,
};
use crate::services::{OpenWorkspace, VerifyRequest, Workspace};
use std::sync::PoisonError;

impl TaskRun {
    /// Opens the workspace, runs `setup`, and runs every check once at the base.
    ///
    /// # Errors
    /// What stands in the way; [`TaskRun::work`] then ends the task with it.
    pub async fn prepare(&mut self) -> Result<(), TaskRunError> {
        let prepared = self.open().await;
        let result = prepared.as_ref().map(|_| ()).map_err(Clone::clone);
        self.work.prepared = Some(prepared);
        result
    }

    async fn open(&self) -> Result<Prepared, TaskRunError> {
        let context = &self.plan.context;
        let route = self.plan.route();
        let entry = JournalEntry::TaskStarted {
            task: self.plan.task.id.clone(),
            title: self.plan.task.title.clone(),
            worker: self.plan.worker,
            counts: self.counts(),
            parts: self.plan.part_ids(),
            routed: route.because.clone(),
            max_attempts: Some(self.plan.max_attempts()),
        };
        context.record(entry).await?;
        self.plan.doing("preparing");
        if let Some(because) = route.because {
            self.plan.publish(EventKind::Routed { agents: route.agents, because });
        }
        self.plan.agents()?;
        decompose(&self.plan.task, context.services.settings.run().decompose)
            .map_err(|e| TaskRunError::Blocked(e.to_string()))?;
        self.open_workspace().await
    }

    pub(super) async fn open_workspace(&self) -> Result<Prepared, TaskRunError> {
        let context = &self.plan.context;
        let request = OpenWorkspace {
            run: context.run.clone(),
            task: self.plan.task.id.clone(),
            subject: self.plan.task.title.clone(),
            on_top_of: self.plan.blockers(),
            onto: self.progress.onto.clone(),
        };
        let protect = FileGlobs::new(&self.plan.protect())
            .map_err(|error| TaskRunError::Blocked(format!("`protect`: {error}")))?;
        let workspace = context.services.workspaces.open(request).await?;
        let baseline = async {
            if self.plan.all_checks().is_empty() {
                return Ok((None, Vec::new()));
            }
            let room = workspace.room().await?;
            self.plan.put_back(&*room, 0, &room.base()).await?;
            self.plan.doing("checks at base");
            Ok((Some(room.dir()), self.plan.baseline(&*room).await?))
        };
        match baseline.await {
            Ok((room, baseline)) => self.plan.can_show(Prepared { protect, workspace, room, baseline }).await,
            Err(error) => {
                // The first error is what the user must see; a workspace that stays is removed by the next run.
                let _ = workspace.close().await;
                Err(error)
            }
        }
    }
}

impl TaskPlan {
    /// Before an agent is paid: whether the checks can show that the task is done.
    async fn can_show(&self, prepared: Prepared) -> Result<Prepared, TaskRunError> {
        let own: Vec<&CheckReport> = prepared.baseline.iter().filter(|check| check.scope == CheckScope::Task).collect();
        // What is red of the project's is somebody else's, where the task has checks of its own.
        let red = prepared
            .baseline
            .iter()
            .any(|check| !check.passed() && (own.is_empty() || check.scope == CheckScope::Task));
        if red || prepared.baseline.is_empty() || self.task.expects == Expects::Nothing {
            return Ok(prepared);
        }
        if self.task.expects == Expects::Fix {
            // As above, the first error is what the user must see.
            let _ = prepared.workspace.close().await;
            let because = "it expects a fix, and no check that counts for it is red at the base, so that nothing could show one: give it a check that is red until then";
            return Err(TaskRunError::NoCheck(because.to_owned()));
        }
        let message = if self.task.is_fault() {
            "the task is a bug, and none of its checks is red at the base: unless a new test shows it, nothing can show that it is fixed"
        } else if !own.is_empty() {
            "each of its checks is green at the base already: unless a new test proves it, the work is left to you to look at"
        } else {
            return Ok(prepared);
        };
        self.publish(EventKind::Warning { message: message.to_owned() });
        Ok(prepared)
    }

    /// The globs of files that no attempt at this task may change.
    pub(super) fn protect(&self) -> Vec<String> {
        [self.context.services.settings.run().protect.as_slice(), &self.task.protect].concat()
    }

    pub(super) fn blockers(&self) -> Vec<(RunId, TaskId)> {
        let confirmed = self.context.confirmed_by.lock().unwrap_or_else(PoisonError::into_inner);
        let list = self.context.list();
        let all = self.task.blockers().chain(list.children(&self.task.id));
        all.filter_map(|id| Some((confirmed.get(id)?.clone(), id.clone()))).collect()
    }

    /// Every check of every part once at the base; project checks are shared by all tasks with the same base.
    async fn baseline(&self, room: &dyn Workspace) -> Result<Vec<CheckReport>, TaskRunError> {
        let base = room.base();
        let mut reports = Vec::new();
        for (scope, spec) in self.all_checks() {
            let key = (base.clone(), spec.clone());
            let cached = match scope {
                CheckScope::Project => self.baselines().get(&key).cloned(),
                CheckScope::Task => None,
            };
            let mut report = if let Some(report) = cached {
                report
            } else {
                self.put_back(room, 0, &base).await?;
                let mut report = self.check_as_it_stands(room, (scope, spec.clone()), false).await?;
                Self::look_up_tests(room, &base, &mut report).await?;
                report
            };
            if let CheckStatus::NotRun { because } = &report.status
                && !self.context.cancel.is_cancelled()
                && let Some(again) = self.checks_again(room, (scope, spec), because).await?
            {
                report = again;
            }
            if scope == CheckScope::Project {
                self.baselines().insert(key, report.clone());
            }
            if self.context.cancel.is_cancelled() {
                return Err(TaskRunError::Blocked("the run was interrupted".to_owned()));
            }
            if let CheckStatus::NotRun { because } = &report.status {
                let because = format!(
                    "check `{}` cannot start: {because}. Checks run in a clean room, which has what is committed, what `setup` makes \
                     and what `carry` names",
                    report.spec.name
                );
                // A night is not ended by one task's own check.
                return Err(match (scope, self.context.kind) {
                    (CheckScope::Task, RunKind::Overnight) => TaskRunError::Blocked(because),
                    _ => TaskRunError::Environment(because),
                });
            }
            reports.push(report);
        }
        Ok(reports)
    }

    /// How the project's checks are on trees.
    pub(super) fn baselines(
        &self,
    ) -> std::sync::MutexGuard<'_, std::collections::HashMap<(TreeId, CheckSpec), CheckReport>> {
        self.context.baselines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn verify(
        &self,
        workspace: &dyn Workspace,
        checks: Vec<(CheckScope, CheckSpec)>,
        walled: bool,
    ) -> Vec<CheckReport> {
        if checks.is_empty() {
            return Vec::new();
        }
        let cancel = self.context.cancel.clone();
        let (dir, places, env) = (workspace.dir(), workspace.places(), workspace.env());
        let request = VerifyRequest { checks, dir, places, env, walled, cancel };
        self.context.services.verifier.verify(request).await
    }

    fn all_checks(&self) -> Vec<(CheckScope, CheckSpec)> {
        let mut own: Vec<&CheckSpec> = Vec::new();
        for check in self.parts.iter().flat_map(|part| &part.checks).chain(&self.task.checks) {
            if !own.contains(&check) {
                own.push(check);
            }
        }
        let project = self.context.services.settings.run().checks.iter().map(|c| (CheckScope::Project, c.clone()));
        project.chain(own.into_iter().map(|c| (CheckScope::Task, c.clone()))).collect()
    }

    /// The checks that decide about a part: its own; after the last one everybody's, because it may have broken what an earlier
    /// one did.
    pub fn checks_of(&self, part: usize) -> Vec<(CheckScope, CheckSpec)> {
        if part + 1 == self.parts.len() {
            return self.all_checks();
        }
        self.parts[part].checks.iter().map(|c| (CheckScope::Task, c.clone())).collect()
    }
}
