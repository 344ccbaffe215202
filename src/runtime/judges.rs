//! Whoever is asked where the facts leave it open, built from the settings.

use crate::domain::policy;
use crate::services::Judge;
use crate::services::Settings;
use crate::services::SubagentError;
use crate::verification::judging::NoJudge;
use std::sync::Arc;

/// The configured judge.
pub(super) fn judge(settings: &dyn Settings) -> Result<Arc<dyn Judge>, SubagentError> {
    match &settings.verification().judge {
        policy::Judge::None => Ok(Arc::new(NoJudge)),
        policy::Judge::Command { .. } | policy::Judge::Agent { .. } | policy::Judge::Model { .. } => {
            Ok(Arc::new(NoJudge))
        }
    }
}
