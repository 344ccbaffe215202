//! Self-assessment: structured questions on the agent's work, and what the answers are worth beside the evidence.

use crate::domain::GateReport;
use crate::domain::Severity;
use crate::domain::Trace;
use crate::services::Judge;
use crate::services::JudgeError;
use crate::services::JudgeQuestion;

/// An assessment, as far as it can be read. Nothing in it completes a task.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SelfAssessment {}

/// What an assessment is worth beside the evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessed {
    /// The gate `self_assessment`: failed with every lie named, else passed or not run. Passing it proves nothing.
    pub report: GateReport,
    /// What it says is left, for the agent to do.
    pub missing: Vec<String>,
    /// What it says only a person can do.
    pub human_actions: Vec<String>,
    /// How much is wrong: HIGH for a lie.
    pub severity: Severity,
}

/// Asks for an assessment, in a conversation of its own.
///
/// # Errors
/// [`JudgeError`]; the turn stays as it was.
pub async fn assess(_judge: &dyn Judge, _question: &JudgeQuestion) -> Result<SelfAssessment, JudgeError> {
    Err(JudgeError::NoJudge)
}

/// Reads an assessment out of any text.
///
/// # Errors
/// [`JudgeError::Unreadable`].
pub fn read_assessment(_text: &str) -> Result<SelfAssessment, JudgeError> {
    Err(JudgeError::NoJudge)
}

/// Compares an assessment with what was recorded: a claimed command that never ran, a result that its exit status
/// contradicts, and what the gates refuted are lies.
#[must_use]
pub fn cross_check(_assessment: &SelfAssessment, _trace: &Trace, reasons: &[GateReport]) -> Assessed {
    let _ = reasons;
    let report = GateReport {
        gate: "self_assessment".to_owned(),
        outcome: crate::domain::GateOutcome::NotRun,
        evidence: String::new(),
    };
    Assessed { report, missing: Vec::new(), human_actions: Vec::new(), severity: Severity::None }
}
