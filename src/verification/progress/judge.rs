//! Facts first; the judge, if there is one, where they are silent.

use crate::domain::CompactionAction;
use crate::domain::CompactionVerdict;
use crate::domain::StuckReason;
use crate::domain::StuckVerdict;
use crate::domain::Trace;
use crate::services::CompactionQuestion;
use crate::services::Judge;
use crate::services::ProgressJudge;
use crate::services::StuckQuestion;
use async_trait::async_trait;
use std::sync::Arc;

/// Looks at an agent that says nothing, loops, or forgot.
pub struct Progress {
    /// Who is asked where facts are silent.
    pub judge: Arc<dyn Judge>,
}

#[async_trait]
impl ProgressJudge for Progress {
    async fn stuck(&self, _: &StuckQuestion) -> StuckVerdict {
        StuckVerdict {
            stuck: false,
            reason: StuckReason::Undetermined,
            confidence: 0.0,
            should_nudge: false,
            nudge_message: String::new(),
        }
    }

    async fn after_compaction(&self, _: &CompactionQuestion) -> CompactionVerdict {
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
