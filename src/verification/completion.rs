//! The verdict on a turn: gates, then - only where they leave it open - whoever is asked.

use super::context::RepositorySignals;
use super::context::requirements;
use super::context::task_type;
use super::gates::Facts;
use super::gates::gates;
use crate::domain::CompletionVerdict;
use crate::domain::Severity;
use crate::domain::Standing;
use crate::domain::policy;
use crate::services::CompletionVerifier;
use crate::services::Judge;
use crate::services::Remote;
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
pub struct Completion {
    params: CompletionParams,
}

impl Completion {
    /// Over whoever is configured.
    #[must_use]
    pub fn new(params: CompletionParams) -> Self {
        Self { params }
    }
}

#[async_trait]
impl CompletionVerifier for Completion {
    async fn verify_turn(&self, turn: TurnEvidence) -> CompletionVerdict {
        let signals = turn.dir.as_deref().map(RepositorySignals::read).unwrap_or_default();
        let kind = task_type(&turn.task);
        let required = requirements(&turn.task, kind, turn.expects, &signals, None, self.params.policy.workflow);
        let reasons = gates(&Facts { turn: &turn, required: &required, signals: &signals, remote: None });
        CompletionVerdict {
            status: Standing::Unproven,
            complete: false,
            severity: Severity::None,
            feedback: String::new(),
            missing: Vec::new(),
            next_actions: Vec::new(),
            requires_human_action: false,
            human_actions: Vec::new(),
            reasons,
        }
    }
}
