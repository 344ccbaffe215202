//! Nobody looks: the checks alone decide.

use crate::domain::{
    CheckReport, CompactionAction, CompactionVerdict, CompletionVerdict, Standing, StuckReason, StuckVerdict, Trace,
};
use crate::services::{CompactionQuestion, CompletionVerifier, ProgressJudge, StuckQuestion, TurnEvidence, UsageMeter};
use async_trait::async_trait;

/// Leaves every turn to its checks, and sees nothing in an agent at work.
#[derive(Debug, Clone, Copy, Default)]
pub struct Undecided;

#[async_trait]
impl CompletionVerifier for Undecided {
    async fn verify_turn(&self, turn: TurnEvidence) -> CompletionVerdict {
        let passed = turn.observed.is_some_and(|observed| observed.checks.iter().any(CheckReport::passed));
        CompletionVerdict::bare(if passed { Standing::Proven } else { Standing::Unproven })
    }
}

#[async_trait]
impl ProgressJudge for Undecided {
    async fn stuck(&self, _: &StuckQuestion, _: &UsageMeter) -> StuckVerdict {
        StuckVerdict {
            stuck: false,
            reason: StuckReason::Undetermined,
            confidence: 0.0,
            should_nudge: false,
            nudge_message: String::new(),
        }
    }

    async fn after_compaction(&self, _: &CompactionQuestion, _: &UsageMeter) -> CompactionVerdict {
        CompactionVerdict {
            action: CompactionAction::ContinueTask,
            has_active_git_work: false,
            confidence: 0.0,
            nudge_message: String::new(),
        }
    }

    fn in_loop(&self, _: &Trace) -> Option<String> {
        None
    }
}
