//! What is asked: a turn as a judge sees it.

use crate::domain::GateReport;
use crate::services::CompactionQuestion;
use crate::services::JudgeQuestion;
use crate::services::JudgeRole;
use crate::services::OpenQuestion;
use crate::services::StuckQuestion;
use crate::services::TurnEvidence;

/// The question on a turn, for a role: reviewers and auditors see only the task and the diff.
#[must_use]
pub fn question(turn: &TurnEvidence, role: JudgeRole, reasons: &[GateReport]) -> JudgeQuestion {
    JudgeQuestion {
        v: 1,
        role,
        session: turn.session.clone(),
        task: turn.task.clone(),
        actions: Vec::new(),
        diff: String::new(),
        response: String::new(),
        reasons: reasons.to_vec(),
        instructions: String::new(),
    }
}

/// Whether an agent is stuck, as a question; [`read_stuck`](super::read_stuck) reads the answer.
#[must_use]
pub fn stuck_question(_: &StuckQuestion) -> OpenQuestion {
    OpenQuestion { prompt: String::new(), schema: serde_json::Value::Null }
}

/// What follows a shortened context, as a question; [`read_compaction`](super::read_compaction) reads the answer.
#[must_use]
pub fn compaction_question(_: &CompactionQuestion) -> OpenQuestion {
    OpenQuestion { prompt: String::new(), schema: serde_json::Value::Null }
}
