//! The parts of a task that somebody proposes, where the settings say who is asked.
//!
//! It is asked once per task: before its first attempt, and never again, in this run or a later one, as long as the task says
//! the same. What was proposed stands in the journal before anything is done with it.

use super::context::{Proposals, RunContext};
use super::ports::Services;
use super::task_run::{TaskPlan, TaskRun, TaskRunError};
use crate::domain::policy::Decompose;
use crate::domain::{About, EventKind, JournalEntry, Proposal, RunId, SubtaskId, Task, TaskId, parts_of};
use crate::prompt::PartOrigin;
use crate::services::{Journal, JournalError, UsageMeter};
use std::collections::BTreeMap;
use std::sync::PoisonError;

/// The journals of so many runs are looked through for what was proposed.
const RUNS: usize = 20;

/// What earlier runs, and this one before it was killed, were told. A journal that cannot be read costs a question that was
/// asked before, never the run.
pub(super) async fn proposals(services: &Services, run: &RunId) -> Proposals {
    if services.settings.run().decompose != Decompose::Asked {
        return Proposals::new();
    }
    let told = told(&*services.journal).await.unwrap_or_else(|error| {
        let message = format!("the parts that were proposed in earlier runs are not known: {error}");
        services.publish(About::run(run), EventKind::Warning { message });
        BTreeMap::new()
    });
    told.into_iter().filter_map(|(task, told)| Some((task, told.stands?))).collect()
}

/// What came of asking for a task's parts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Told {
    /// The newest proposal that could be read, whatever the task says now.
    pub stands: Option<Proposal>,
    /// Why nobody split it, where that is what came of asking last.
    pub failed: Option<String>,
}

/// What was proposed for which task in the newest runs, as their journals tell.
///
/// # Errors
/// [`JournalError`] if a journal cannot be read.
pub async fn told(journal: &dyn Journal) -> Result<BTreeMap<TaskId, Told>, JournalError> {
    let mut found: BTreeMap<TaskId, Told> = BTreeMap::new();
    let mut runs: Vec<RunId> = journal.runs().await?.into_iter().take(RUNS).collect();
    runs.reverse();
    for run in &runs {
        for (_, entry) in journal.read(run).await? {
            let JournalEntry::TaskDecomposed { task, proposal, failed, .. } = entry else { continue };
            let told = found.entry(task).or_default();
            if failed.is_none() {
                told.stands = Some(proposal);
            }
            told.failed = failed;
        }
    }
    Ok(found)
}

impl RunContext {
    /// The task in the parts that were proposed for it as it stands now, and whose words its parts are.
    pub(super) fn with_proposal(&self, task: Task) -> (Task, PartOrigin) {
        let proposals = self.proposals.lock().unwrap_or_else(PoisonError::into_inner);
        match proposals.get(&task.id).filter(|proposal| proposal.is_of(&task)) {
            Some(proposal) if task.subtasks.is_empty() && !proposal.parts.is_empty() => {
                (Task { subtasks: proposal.parts.clone(), ..task }, PartOrigin::Proposed)
            }
            _ => (task, PartOrigin::Owner),
        }
    }
}

impl TaskRun {
    /// Asks for the task's parts, if that is still to be done. Whatever goes wrong leaves the task whole.
    pub(super) async fn propose_parts(&mut self) -> Result<(), TaskRunError> {
        if !self.asks_for_parts() {
            return Ok(());
        }
        self.plan.doing("asking for its parts");
        let context = self.plan.context.clone();
        let spent = UsageMeter::default();
        let answer = tokio::select! {
            answer = context.services.decomposer.propose(&self.plan.task, &spent) => answer.map_err(|error| error.to_string()),
            // Dropping it ends its processes; a person who interrupts does not wait for it.
            () = context.cancel.cancelled() => Err("the run was interrupted".to_owned()),
        };
        self.progress.usage += spent.total();
        context.spent.add(spent.total());
        let (parts, failed) = match answer {
            Ok(proposed) => (parts_of(&proposed), None),
            Err(because) => (Vec::new(), Some(because)),
        };
        let proposal = Proposal::new(&self.plan.task, parts);
        let entry = JournalEntry::TaskDecomposed {
            task: self.plan.task.id.clone(),
            counts: self.plan.counts_of(&proposal.parts),
            proposal: proposal.clone(),
            usage: spent.total(),
            failed: failed.clone(),
        };
        context.record(entry).await?;
        match failed {
            Some(_) if context.cancel.is_cancelled() => {}
            Some(because) => {
                let message = format!("it is worked on as a whole, because nobody split it: {because}");
                self.plan.publish(EventKind::Warning { message });
            }
            None => self.take_parts(proposal),
        }
        Ok(())
    }

    /// Before the first attempt, where neither the task itself nor an earlier answer says it, and there is something left to
    /// work with.
    fn asks_for_parts(&self) -> bool {
        let context = &self.plan.context;
        let asked = context.services.settings.run().decompose == Decompose::Asked && self.plan.task.subtasks.is_empty();
        let known = || {
            let proposals = context.proposals.lock().unwrap_or_else(PoisonError::into_inner);
            proposals.get(&self.plan.task.id).is_some_and(|proposal| proposal.is_of(&self.plan.task))
        };
        let begun = || self.progress.begun > 0 || self.counts().iter().any(|count| count.last > 0);
        asked && !begun() && !known() && !context.cancel.is_cancelled() && !context.drains() && !context.is_used_up()
    }

    fn take_parts(&mut self, proposal: Proposal) {
        let mut proposals = self.plan.context.proposals.lock().unwrap_or_else(PoisonError::into_inner);
        proposals.insert(self.plan.task.id.clone(), proposal.clone());
        drop(proposals);
        if !proposal.parts.is_empty() {
            self.plan.task.subtasks.clone_from(&proposal.parts);
            (self.plan.parts, self.plan.origin, self.progress.counts) = (proposal.parts, PartOrigin::Proposed, None);
        }
    }
}

impl TaskPlan {
    pub(super) fn part_ids(&self) -> Vec<SubtaskId> {
        self.parts.iter().map(|part| part.id.clone()).collect()
    }
}
