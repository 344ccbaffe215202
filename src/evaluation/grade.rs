//! Grading: does a verdict say what it must?

use super::assertion::Asserted;
use super::case::{Expectation, ExpectedCompaction, ExpectedCompletion, ExpectedStuck, OneOrMany};
use crate::domain::{
    CompactionAction, CompactionVerdict, CompletionVerdict, GateOutcome, Standing, StuckReason, StuckVerdict,
};
use serde::{Deserialize, Serialize};

/// What a verdict claims, on the two sides of the confusion matrix and between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// Done; not stuck; nothing left; 4 or 5.
    Fine,
    /// It leaves it open.
    Undecided,
    /// Not done; stuck; work left; 0 to 3.
    NotFine,
}

/// What stands in the place of an expected word where assertions decide.
pub(super) const ASSERTIONS: &str = "assertions";
/// Why a case that needs a judge is not graded.
const SILENT: &str = "the facts are silent, and no judge decided";

/// A verdict and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Graded {
    /// The verdict in a word.
    pub label: String,
    /// What it claims; none if nobody judged.
    pub said: Option<Said>,
    /// What does not hold.
    pub problems: Vec<String>,
    /// What could not be graded, and why.
    pub ungraded: Vec<String>,
}

/// The word that serde has for a value.
pub(super) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

fn any_of<T: Serialize>(wanted: &OneOrMany<T>) -> String {
    wanted.0.iter().map(word).collect::<Vec<_>>().join(" or ")
}

impl Expectation {
    /// What must come of it, in a word or two: the row of the confusion matrix.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Completion(expected) => any_of(&expected.status),
            Self::Stuck(expected) => match &expected.reason {
                Some(reason) => any_of(reason),
                None if expected.stuck => "stuck".to_owned(),
                None => "not stuck".to_owned(),
            },
            Self::Compaction(expected) => any_of(&expected.action),
            Self::Score(expected) if expected.min == expected.max => expected.min.to_string(),
            Self::Score(expected) => format!("{}-{}", expected.min, expected.max),
            Self::Assertions(_) => ASSERTIONS.to_owned(),
        }
    }

    /// The truth about the case; none where it is not said, or lies between the sides.
    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Self::Completion(expected) => Some(expected.done),
            Self::Stuck(expected) => Some(!expected.stuck),
            Self::Compaction(expected) => {
                let done = |action: &CompactionAction| *action == CompactionAction::TaskComplete;
                match expected.action.0.iter().filter(|action| done(action)).count() {
                    0 => Some(false),
                    n if n == expected.action.0.len() => Some(true),
                    _ => None,
                }
            }
            Self::Score(expected) if expected.min >= 4 => Some(true),
            Self::Score(expected) if expected.max < 4 => Some(false),
            Self::Score(_) | Self::Assertions(_) => None,
        }
    }
}

/// What promptfoo's assertions say of a verdict's text.
pub(super) fn assertions(expect: &Expectation, text: &str, graded: &mut Graded) {
    let Expectation::Assertions(assertions) = expect else { return };
    if assertions.is_empty() {
        graded.ungraded.push("nothing is asserted".to_owned());
    }
    for assertion in assertions {
        match assertion.on(text) {
            Asserted::Holds => {}
            Asserted::Fails(because) => graded.problems.push(because),
            Asserted::NotGraded(because) => graded.ungraded.push(because),
        }
    }
}

/// What a completion verdict claims: a gate that failed or a judge against it is "not done", silence is neither.
pub(super) fn completion_said(verdict: &CompletionVerdict) -> Said {
    let against = verdict.reasons.iter().any(|reason| reason.outcome == GateOutcome::Failed);
    match (verdict.complete, verdict.status) {
        (true, _) => Said::Fine,
        (false, Standing::Refuted) => Said::NotFine,
        (false, _) if against => Said::NotFine,
        (false, _) => Said::Undecided,
    }
}

/// Compares a completion verdict with what it must be.
pub(super) fn completion(expected: &ExpectedCompletion, verdict: &CompletionVerdict, graded: &mut Graded) {
    let problems = &mut graded.problems;
    if !expected.status.0.contains(&verdict.status) {
        problems.push(format!("status is {}, and not {}", word(&verdict.status), any_of(&expected.status)));
    }
    if !expected.done && verdict.complete {
        problems.push("false complete".to_owned());
    }
    let mut flag = |name: &str, wanted: Option<bool>, is: bool| {
        if wanted.is_some_and(|wanted| wanted != is) {
            problems.push(format!("{name} is {is}"));
        }
    };
    flag("complete", expected.complete, verdict.complete);
    flag("requires_human_action", expected.requires_human_action, verdict.requires_human_action);
    for (gate, wanted) in &expected.gates {
        match verdict.reasons.iter().find(|reason| reason.gate == *gate) {
            Some(reason) if wanted.0.contains(&reason.outcome) => {}
            Some(reason) => {
                problems.push(format!("gate `{gate}` is {}, and not {}", word(&reason.outcome), any_of(wanted)));
            }
            None => problems.push(format!("there is no gate `{gate}`")),
        }
    }
    let feedback = format!("{}\n{}", verdict.feedback, verdict.next_actions.join("\n")).to_lowercase();
    for part in &expected.feedback_contains {
        if !feedback.contains(&part.to_lowercase()) {
            problems.push(format!("the feedback does not name `{part}`"));
        }
    }
}

/// What a stuck verdict claims.
pub(super) fn stuck_said(verdict: &StuckVerdict) -> Said {
    match (verdict.stuck, verdict.reason) {
        (true, _) => Said::NotFine,
        (false, StuckReason::Undetermined) => Said::Undecided,
        (false, _) => Said::Fine,
    }
}

/// Compares a stuck verdict with what it must be.
pub(super) fn stuck(expected: &ExpectedStuck, verdict: &StuckVerdict, graded: &mut Graded) {
    if verdict.reason == StuckReason::Undetermined && expected.needs_judge {
        graded.ungraded.push(SILENT.to_owned());
        return;
    }
    let problems = &mut graded.problems;
    if expected.stuck != verdict.stuck {
        problems.push(format!("stuck is {}", verdict.stuck));
    }
    let undetermined = expected.reason.is_none() && verdict.reason == StuckReason::Undetermined;
    if undetermined || expected.reason.as_ref().is_some_and(|reason| !reason.0.contains(&verdict.reason)) {
        problems.push(format!("reason is {}", word(&verdict.reason)));
    }
    if expected.should_nudge.is_some_and(|wanted| wanted != verdict.should_nudge) {
        problems.push(format!("should_nudge is {}", verdict.should_nudge));
    }
}

/// What a compaction verdict claims; at confidence 0 nobody decided.
pub(super) fn compaction_said(verdict: &CompactionVerdict) -> Said {
    match verdict.action {
        _ if verdict.confidence <= 0.0 => Said::Undecided,
        CompactionAction::TaskComplete => Said::Fine,
        _ => Said::NotFine,
    }
}

/// Compares a compaction verdict with what it must be.
pub(super) fn compaction(expected: &ExpectedCompaction, verdict: &CompactionVerdict, graded: &mut Graded) {
    let undecided = verdict.confidence <= 0.0;
    if undecided && expected.needs_judge {
        graded.ungraded.push(SILENT.to_owned());
    } else if !expected.action.0.contains(&verdict.action) {
        let is = word(&verdict.action);
        graded.problems.push(format!("action is {is}, and not {}", any_of(&expected.action)));
    }
    if expected.has_active_git_work.is_some_and(|wanted| wanted != verdict.has_active_git_work) {
        graded.problems.push(format!("has_active_git_work is {}", verdict.has_active_git_work));
    }
}
