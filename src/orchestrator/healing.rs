//! Repairing a broken workspace, and doing once more what had failed in it.

use super::healer;
use super::healer::Doing;
use super::task_run::{Prepared, TaskPlan, TaskRun, TaskRunError};
use crate::domain::{CheckReport, CheckScope, CheckSpec, EventKind, HealOutcome, JournalEntry, Symptom, TreeId};
use crate::services::{Restored, Workspace, WorkspaceError};
use std::sync::PoisonError;

/// Where something is done that a broken workspace can break.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub workspace: &'a dyn Workspace,
    /// The part that it is done for.
    pub part: usize,
    pub doing: Doing,
}

/// What came of looking at something that was done in a workspace.
pub(super) enum Mended<T> {
    /// It went well.
    NotNeeded(T),
    /// It failed, and the workspace was repaired: it is to be done once more, and told to [`TaskPlan::proved`].
    Again((Heal, Vec<String>)),
}

/// A repair.
#[derive(Clone, Copy)]
pub(super) struct Heal {
    part: usize,
    symptom: Symptom,
}

impl TaskRun {
    /// Before another attempt: looks whether checks that the last one may have failed because of what is around its files
    /// still say of the base what they said, and sets the workspace up again if not.
    pub(super) async fn look_after(&mut self, prepared: &Prepared, part: usize) -> Result<(), TaskRunError> {
        let suspects = std::mem::take(&mut self.work.suspects);
        if suspects.is_empty() {
            return Ok(());
        }
        self.plan.doing("looking at the workspace");
        let room = prepared.workspace.room().await?;
        if let Some(tree) = self.work.made_anew.take() {
            self.look_once_more(&*room, (part, &tree), &suspects).await?;
        }
        let worse = self.plan.worse(&*room, prepared, &suspects).await?;
        let Some(first) = worse.first() else { return Ok(()) };
        let because = format!("check `{}` says of the base now: {}", first.spec.name, first.how());
        let symptom = Symptom::DependenciesMissing;
        let mut healed = false;
        if self.plan.can_set_up() && self.plan.begin_heal(part, symptom, because.clone()).await? {
            let again = match self.plan.set_up_again(&*room).await {
                Ok(did) => match self.plan.worse(&*room, prepared, &suspects).await?.first() {
                    None => Ok(did),
                    Some(worse) => Err(worse.how()),
                },
                Err(error) => Err(error.to_string()),
            };
            healed = again.is_ok();
            let outcome = match again {
                Ok(did) => HealOutcome::Healed { did },
                Err(because) => HealOutcome::NotHealed { because },
            };
            let specs: Vec<CheckSpec> = worse.iter().map(|worse| worse.spec.clone()).collect();
            self.end_explaining(Heal { part, symptom }, outcome, &specs).await?;
        }
        // Without it nothing that an agent could do would be confirmed.
        if healer::lacks(first) && !healed { Err(TaskRunError::Environment(because)) } else { Ok(()) }
    }

    /// The process that judged the last attempt ended before it could look whether something was gone; the run went on in workspaces that
    /// were made anew, with all of that in them. Where a check of the same files lacks nothing there, that was it.
    async fn look_once_more(
        &mut self,
        room: &dyn Workspace,
        (part, tree): (usize, &TreeId),
        suspects: &[(CheckScope, CheckSpec)],
    ) -> Result<(), TaskRunError> {
        const DID: &str = "made the workspace anew when the run went on";
        let failed =
            suspects.iter().find(|(_, spec)| self.progress.failed_by(part, std::slice::from_ref(spec)).is_some());
        let Some(check) = failed.filter(|_| self.plan.can_set_up()).cloned() else { return Ok(()) };
        if Box::pin(self.plan.put_back_work(room, part, tree)).await?.is_some() {
            return Ok(());
        }
        let now = self.plan.check_as_it_stands(room, check.clone(), false).await?;
        if healer::lacks(&now) || self.plan.context.cancel.is_cancelled() {
            return Ok(());
        }
        let symptom = Symptom::DependenciesMissing;
        let because = format!("check `{}` lacks nothing any more", check.1.name);
        if self.plan.begin_heal(part, symptom, because).await? {
            let outcome = HealOutcome::Healed { did: vec![DID.to_owned()] };
            self.end_explaining(Heal { part, symptom }, outcome, &[check.1]).await?;
        }
        Ok(())
    }

    /// Writes down what came of a repair of what these checks lacked, and with which attempt's failure that has to do.
    async fn end_explaining(
        &mut self,
        heal: Heal,
        outcome: HealOutcome,
        checks: &[CheckSpec],
    ) -> Result<(), TaskRunError> {
        let is_healed = matches!(outcome, HealOutcome::Healed { .. });
        let explains = self.progress.failed_by(heal.part, checks).filter(|_| is_healed);
        self.plan.record_heal(heal, outcome, explains).await?;
        if let Some(attempt) = explains {
            self.explain_failure(heal.part, attempt);
        }
        Ok(())
    }
}

impl TaskPlan {
    /// Puts the workspace back to a recorded tree, and says what there is to say about that.
    pub(super) async fn put_back(
        &self,
        workspace: &dyn Workspace,
        part: usize,
        tree: &TreeId,
    ) -> Result<(), TaskRunError> {
        let cancel = &self.context.cancel;
        let first = workspace.reset(tree, cancel).await;
        let restored = match self.mended(Place { workspace, part, doing: Doing::Files }, first).await? {
            Mended::NotNeeded(restored) => restored,
            Mended::Again(heal) => self.proved(heal, workspace.reset(tree, cancel).await).await?,
        };
        self.say(restored);
        Ok(())
    }

    /// Puts the workspace back to what was worked there. Says why not where `setup` fails on that and goes well at the base:
    /// then the work broke it, and nothing is to be repaired.
    pub(super) async fn put_back_work(
        &self,
        workspace: &dyn Workspace,
        part: usize,
        tree: &TreeId,
    ) -> Result<Option<String>, TaskRunError> {
        let (base, cancel) = (workspace.base(), &self.context.cancel);
        if *tree == base {
            return Box::pin(self.put_back(workspace, part, tree)).await.map(|()| None);
        }
        match workspace.reset(tree, cancel).await {
            Ok(restored) => self.say(restored),
            Err(WorkspaceError::Setup { .. }) if !cancel.is_cancelled() => {
                Box::pin(self.put_back(workspace, part, &base)).await?;
                match workspace.reset(tree, cancel).await {
                    Ok(restored) => self.say(restored),
                    Err(error @ WorkspaceError::Setup { .. }) if !cancel.is_cancelled() => {
                        return Ok(Some(error.to_string()));
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            Err(_) => Box::pin(self.put_back(workspace, part, tree)).await?,
        }
        Ok(None)
    }

    fn say(&self, restored: Restored) {
        for message in restored.said {
            self.publish(EventKind::Warning { message });
        }
    }

    /// Looks at what was done in a workspace; where that failed because the workspace is broken, repairs it.
    ///
    /// # Errors
    /// What failed, if nothing can be done about it.
    pub(super) async fn mended<T>(
        &self,
        place: Place<'_>,
        first: Result<T, WorkspaceError>,
    ) -> Result<Mended<T>, TaskRunError> {
        let error = match first {
            Ok(done) => return Ok(Mended::NotNeeded(done)),
            Err(error) => error,
        };
        if self.context.cancel.is_cancelled() {
            return Err(error.into());
        }
        // A disk that is full is not the workspace's fault, and breaks every repair.
        self.context.room().await?;
        // A place that cannot be looked at shows no lock.
        let locks = place.workspace.stale_locks().await.unwrap_or_default();
        let Some(symptom) = healer::symptom(&error, place.doing, locks.len()) else { return Err(error.into()) };
        if !self.begin_heal(place.part, symptom, error.to_string()).await? {
            return Err(error.into());
        }
        let mended = place.workspace.mend(symptom.spell()).await;
        let heal = Heal { part: place.part, symptom };
        match mended {
            Ok(did) => Ok(Mended::Again((heal, did))),
            Err(error) => {
                let outcome = HealOutcome::NotHealed { because: error.to_string() };
                self.end_heal(heal, outcome).await?;
                Err(error.into())
            }
        }
    }

    /// Whether what had failed went well when it was done once more: only that proves a repair.
    pub(super) async fn proved<T>(
        &self,
        (heal, did): (Heal, Vec<String>),
        again: Result<T, WorkspaceError>,
    ) -> Result<T, TaskRunError> {
        let outcome = match &again {
            Ok(_) => HealOutcome::Healed { did },
            Err(error) => HealOutcome::NotHealed { because: error.to_string() },
        };
        self.end_heal(heal, outcome).await?;
        Ok(again?)
    }

    /// Runs checks at the base that cannot be started there, once more in a workspace that is set up again. None: they
    /// still cannot, or nothing may be done about it; the error is told by the caller.
    pub(super) async fn checks_again(
        &self,
        workspace: &dyn Workspace,
        check: (CheckScope, CheckSpec),
        because: &str,
    ) -> Result<Option<CheckReport>, TaskRunError> {
        let because = format!("check `{}` cannot start: {because}", check.1.name);
        if !self.can_set_up() || !self.begin_heal(0, Symptom::DependenciesMissing, because).await? {
            return Ok(None);
        }
        let again = match self.set_up_again(workspace).await {
            Ok(did) => Ok((self.check_as_it_stands(workspace, check, false).await?, did)),
            Err(error) => Err(error.to_string()),
        };
        let (outcome, report) = match again {
            Ok((report, did)) if !report.is_not_run() => (HealOutcome::Healed { did }, Some(report)),
            Ok((report, _)) => (HealOutcome::NotHealed { because: report.how() }, None),
            Err(because) => (HealOutcome::NotHealed { because }, None),
        };
        self.end_heal(Heal { part: 0, symptom: Symptom::DependenciesMissing }, outcome).await?;
        Ok(report)
    }

    /// The checks that say less of the base than they did.
    async fn worse(
        &self,
        room: &dyn Workspace,
        prepared: &Prepared,
        checks: &[(CheckScope, CheckSpec)],
    ) -> Result<Vec<CheckReport>, TaskRunError> {
        let mut now = Vec::new();
        for check in checks {
            self.put_back(room, 0, &room.base()).await?;
            now.push(self.check_as_it_stands(room, check.clone(), false).await?);
        }
        if self.context.cancel.is_cancelled() {
            return Ok(Vec::new());
        }
        now.retain(|now| now.at_base(&prepared.baseline).is_some_and(|before| healer::worse(before, now)));
        Ok(now)
    }

    /// Only what the user has configured is ever run or brought in.
    fn can_set_up(&self) -> bool {
        let workspace = self.context.services.settings.workspace();
        workspace.setup.is_some() || !workspace.carry.is_empty()
    }

    async fn set_up_again(&self, workspace: &dyn Workspace) -> Result<Vec<String>, WorkspaceError> {
        let did = workspace.mend(Symptom::DependenciesMissing.spell()).await?;
        let restored = workspace.reset(&workspace.base(), &self.context.cancel).await?;
        Ok(did.into_iter().chain(restored.said).collect())
    }

    /// Writes down what is about to be done; false if nothing may be done.
    async fn begin_heal(&self, part: usize, symptom: Symptom, because: String) -> Result<bool, TaskRunError> {
        let context = &self.context;
        let (task, subtask) = (self.task.id.clone(), self.parts[part].id.clone());
        let policy = context.services.settings.run().healer;
        let may = context.heals.lock().unwrap_or_else(PoisonError::into_inner).begin(policy, &task, &subtask);
        if let Err(bound) = may {
            let message = format!("the workspace is not repaired ({}): {bound}", symptom.as_str());
            self.publish(EventKind::Warning { message });
            return Ok(false);
        }
        self.doing(format!("healing: {}", symptom.as_str()));
        let entry = JournalEntry::HealStarted { task, subtask, symptom, spell: symptom.spell(), because };
        context.record(entry).await?;
        Ok(true)
    }

    /// Writes down what came of it. What was interrupted has no result: it is done again when the run goes on.
    async fn end_heal(&self, heal: Heal, outcome: HealOutcome) -> Result<(), TaskRunError> {
        self.record_heal(heal, outcome, None).await
    }

    async fn record_heal(
        &self,
        Heal { part, symptom }: Heal,
        outcome: HealOutcome,
        explains: Option<u32>,
    ) -> Result<(), TaskRunError> {
        let context = &self.context;
        if context.cancel.is_cancelled() {
            return Ok(());
        }
        let (task, subtask, spell) = (self.task.id.clone(), self.parts[part].id.clone(), symptom.spell());
        let entry = JournalEntry::HealEnded { task, subtask, symptom: Some(symptom), spell, outcome, explains };
        Ok(context.record(entry).await?)
    }
}
