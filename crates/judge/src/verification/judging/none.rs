//! The embedded judge: nobody.

use crate::domain::Opinion;
use crate::services::{Judge, JudgeError, JudgeQuestion, OpenQuestion, UsageMeter};
use async_trait::async_trait;

/// Has no opinion, so that what the facts leave open stays unproven.
pub struct NoJudge;

#[async_trait]
impl Judge for NoJudge {
    async fn judge(&self, _: &JudgeQuestion, _: &UsageMeter) -> Result<Opinion, JudgeError> {
        Err(JudgeError::NoJudge)
    }

    async fn ask(&self, _: &OpenQuestion, _: &UsageMeter) -> Result<String, JudgeError> {
        Err(JudgeError::NoJudge)
    }
}
