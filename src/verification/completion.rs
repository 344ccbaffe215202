//! The verdict on a turn: gates, then - only where they leave it open - whoever is asked.

use super::commands::CommandKind;
use super::context::RepositorySignals;
use super::context::Requirements;
use super::context::requirements;
use super::context::task_type;
use super::gates::Facts;
use super::gates::findings;
use super::judging::Assessed;
use super::judging::assess;
use super::judging::cross_check;
use super::judging::question;
use super::verdict::Draft;
use crate::domain::GateOutcome;
use crate::domain::CompletionVerdict;
use crate::domain::Standing;
use crate::domain::policy;
use crate::services::CompletionVerifier;
use crate::services::Judge;
use crate::services::JudgeError;
use crate::services::JudgeQuestion;
use crate::services::JudgeRole;
use crate::services::Remote;
use crate::services::RemoteState;
use crate::services::TurnEvidence;
use async_trait::async_trait;
use std::sync::Arc;

/// What [`Completion`] needs.
pub struct CompletionParams {
    /// The settings.
    pub policy: policy::Verification,
    /// Who is asked where the facts leave it open.
    pub judge: Arc<dyn Judge>,
    /// Who reviews a change, if somebody does.
    pub reviewer: Option<Arc<dyn Judge>>,
    /// Who audits it, if somebody does.
    pub auditor: Option<Arc<dyn Judge>>,
    /// The repository's remote.
    pub remote: Arc<dyn Remote>,
}

/// Decides whether a turn ended with the task done.
///
/// *Refuted* is any failed gate. *Proven* is only what the runtime's own checks show after the last change, with no gate
/// against it and a required pull request and CI there. Everything else is *unproven*: then, and only then, whoever is
/// configured is asked. What would be complete is shown to the committee, and whoever dissents, or cannot be asked,
/// holds it up.
pub struct Completion {
    params: CompletionParams,
}

impl Completion {
    /// Over whoever is configured.
    #[must_use]
    pub fn new(params: CompletionParams) -> Self {
        Self { params }
    }

    /// What must be there, and what the remote says if that has to do with it. Nobody asks git for nothing.
    async fn required(&self, turn: &TurnEvidence, signals: &RepositorySignals) -> (Requirements, Option<RemoteState>) {
        let task = if turn.task.trim().is_empty() { turn.trace.task() } else { turn.task.clone() };
        let kind = task_type(&task);
        let required = |has_remote| requirements(&task, kind, turn.expects, signals, has_remote, self.params.policy.workflow);
        let first = required(None);
        let on_remote = |required: &Requirements| required.pull_request.is_some() || required.ci.is_some();
        let pushed = pushes(turn);
        let Some(dir) = turn.dir.as_deref().filter(|_| pushed.is_some() || on_remote(&first)) else {
            return (first, None);
        };
        let mut remote = self.params.remote.state(dir).await;
        let required = required(Some(!remote.remotes.is_empty()));
        if on_remote(&required) {
            remote.pull_request = Some(match pushed.flatten().or_else(|| remote.branch.clone()) {
                Some(branch) => self.params.remote.pull_request(dir, &branch).await,
                None => Err("no branch is checked out, and none was pushed".to_owned()),
            });
        }
        (required, Some(remote))
    }

    /// Self-assessment and judge, where the facts leave it open.
    async fn ask(&self, turn: &TurnEvidence, draft: &mut Draft) {
        if self.params.policy.judge == policy::Judge::None {
            return draft.nobody_judges("no evidence: the facts leave it open, and no judge is configured");
        }
        let assessed = match self.params.policy.self_assessment {
            policy::SelfAssessment::Off => None,
            policy::SelfAssessment::Fresh => Some(self.assess(turn, draft).await),
        };
        let asked = question(turn, JudgeRole::Judge, draft.reasons());
        match self.answer(&*self.params.judge, turn, &asked).await {
            Ok(opinion) => draft.judged("judge", opinion),
            Err(error) => draft.nobody_judges(&format!("no evidence: {error}")),
        }
        if let Some(Ok(assessed)) = assessed {
            draft.assessed(assessed);
        }
    }

    async fn assess(&self, turn: &TurnEvidence, draft: &mut Draft) -> Result<Assessed, ()> {
        let asked = question(turn, JudgeRole::Judge, draft.reasons());
        let judge = &*self.params.judge;
        let answer = tokio::select! {
            answer = assess(judge, &asked) => answer,
            () = turn.cancel.cancelled() => Err(JudgeError::Failed("the run was interrupted".to_owned())),
        };
        match answer {
            Ok(assessment) => Ok(cross_check(&assessment, &turn.trace, draft.reasons())),
            Err(error) => {
                draft.note("self_assessment", GateOutcome::NotRun, &error.to_string());
                Err(())
            }
        }
    }

    /// The committee: whoever is configured looks at what would be complete.
    async fn review(&self, turn: &TurnEvidence, draft: &mut Draft) {
        let members = [
            ("reviewer", JudgeRole::Reviewer, &self.params.reviewer),
            ("auditor", JudgeRole::Auditor, &self.params.auditor),
        ];
        for (name, role, member) in members {
            let Some(member) = member else { continue };
            if turn.observed.as_ref().is_none_or(|observed| observed.diff.trim().is_empty()) {
                draft.note(name, GateOutcome::NotRun, "there is no recorded change to look at");
                continue;
            }
            let asked = question(turn, role, draft.reasons());
            match self.answer(&**member, turn, &asked).await {
                Ok(opinion) => draft.reviewed(name, opinion),
                Err(error) => draft.not_reviewed(name, &error.to_string()),
            }
        }
    }

    async fn answer(
        &self,
        judge: &dyn Judge,
        turn: &TurnEvidence,
        asked: &JudgeQuestion,
    ) -> Result<crate::domain::Opinion, JudgeError> {
        tokio::select! {
            answer = judge.judge(asked) => answer,
            () = turn.cancel.cancelled() => Err(JudgeError::Failed("the run was interrupted".to_owned())),
        }
    }
}

#[async_trait]
impl CompletionVerifier for Completion {
    async fn verify_turn(&self, turn: TurnEvidence) -> CompletionVerdict {
        let signals = turn.dir.as_deref().map(RepositorySignals::read).unwrap_or_default();
        let (required, remote) = self.required(&turn, &signals).await;
        let found = findings(&Facts { turn: &turn, required: &required, signals: &signals, remote: remote.as_ref() });
        let mut draft = Draft::new(found, &required);
        if draft.status() == Standing::Unproven {
            self.ask(&turn, &mut draft).await;
        }
        if draft.would_be_complete() {
            self.review(&turn, &mut draft).await;
        }
        draft.verdict()
    }
}

/// Whether the record has a push, and to which branch the last one that names any went.
fn pushes(turn: &TurnEvidence) -> Option<Option<String>> {
    let mut pushed = None;
    for line in turn.trace.actions.iter().filter_map(|action| action.command.as_deref()) {
        if !line.contains("push") {
            continue;
        }
        for run in super::commands::runs(line) {
            if let CommandKind::Push(target) = run.kind {
                let branch = target.branches.last().cloned();
                pushed = Some(branch.or(pushed.flatten()));
            }
        }
    }
    pushed
}
