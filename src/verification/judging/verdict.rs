//! The readers of what judges answer.

use crate::domain::CompactionVerdict;
use crate::domain::Opinion;
use crate::domain::SessionId;
use crate::domain::StuckVerdict;
use crate::services::JudgeError;

/// Reads a verdict out of any text.
///
/// # Errors
/// [`JudgeError::Unreadable`]: no verdict, one with a wrong type, or one that names another session.
pub fn read_verdict(_text: &str, _session: &SessionId) -> Result<Opinion, JudgeError> {
    Err(JudgeError::NoJudge)
}

/// Reads whether an agent is stuck out of any text.
///
/// # Errors
/// [`JudgeError::Unreadable`].
pub fn read_stuck(_text: &str) -> Result<StuckVerdict, JudgeError> {
    Err(JudgeError::NoJudge)
}

/// Reads what follows a shortened context out of any text.
///
/// # Errors
/// [`JudgeError::Unreadable`].
pub fn read_compaction(_text: &str) -> Result<CompactionVerdict, JudgeError> {
    Err(JudgeError::NoJudge)
}
