//! Whoever is asked where the facts leave it open, built from the settings.

use crate::domain::policy;
use crate::services::{Clock, Judge, Respondents, Settings, SubagentError, Who};
use crate::verification::judging::{AskedJudge, Instructed, NoJudge};
use std::sync::Arc;

/// The configured judge, with the project's instructions.
pub(super) fn judge(
    settings: &dyn Settings,
    respondents: &dyn Respondents,
    clock: Arc<dyn Clock>,
) -> Result<Arc<dyn Judge>, SubagentError> {
    let who = match &settings.verification().judge {
        policy::Judge::None => return Ok(Arc::new(NoJudge)),
        policy::Judge::Command { argv } => Who::Program { argv: argv.clone() },
        policy::Judge::Agent { name } => agent(name, "verification.judge.agent"),
        policy::Judge::Model { models, template } => Who::Model { wanted: models.clone(), template: template.clone() },
    };
    let bare = asked(who, settings.verification(), respondents)?;
    Ok(Arc::new(Instructed::new(bare, clock, settings.project().root.clone())))
}

/// Those who look at a change before it is confirmed, each if it is configured.
pub(super) struct Committee {
    /// Is the change right?
    pub reviewer: Option<Arc<dyn Judge>>,
    /// Is it safe, and what was specified?
    pub auditor: Option<Arc<dyn Judge>>,
}

/// The configured reviewer and auditor.
pub(super) fn committee(
    verification: &policy::Verification,
    respondents: &dyn Respondents,
) -> Result<Committee, SubagentError> {
    let member = |who: &Option<policy::Reviewer>, key: &str| -> Result<Option<Arc<dyn Judge>>, SubagentError> {
        let who = match who {
            None => return Ok(None),
            Some(policy::Reviewer::Agent { name }) => agent(name, key),
            Some(policy::Reviewer::Model { model }) => {
                Who::Model { wanted: vec![model.name.clone()], template: model.clone() }
            }
        };
        asked(who, verification, respondents).map(Some)
    };
    Ok(Committee {
        reviewer: member(&verification.reviewer, "verification.review.reviewer")?,
        auditor: member(&verification.auditor, "verification.review.auditor")?,
    })
}

fn agent(name: &str, key: &str) -> Who {
    Who::Agent { name: name.to_owned(), cannot: format!("judge; name another agent in `{key}`") }
}

fn asked(
    who: Who,
    verification: &policy::Verification,
    respondents: &dyn Respondents,
) -> Result<Arc<dyn Judge>, SubagentError> {
    Ok(Arc::new(AskedJudge { who: respondents.open(who, verification.judge_timeout)?, own: None }))
}
