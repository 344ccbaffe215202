//! Verdicts of `reflexion judge`, for people.

use crate::domain::{
    CompactionAction, CompactionVerdict, CompletionVerdict, GateOutcome, Severity, Standing, StuckReason, StuckVerdict,
};
use std::fmt::Write as _;

/// A completion verdict: what is known, every gate, what is missing, what to do.
#[must_use]
pub fn completion(verdict: &CompletionVerdict) -> String {
    let known = match verdict.status {
        Standing::Proven => "proven by checks",
        Standing::Refuted => "refuted by facts",
        Standing::Unproven => "unproven: the facts do not decide it",
    };
    let head = if verdict.complete { "✓ complete" } else { "✗ not complete" };
    let severity = match verdict.severity {
        Severity::None => "",
        Severity::Low => ", severity LOW",
        Severity::Medium => ", severity MEDIUM",
        Severity::High => ", severity HIGH",
        Severity::Blocker => ", severity BLOCKER",
    };
    let mut text = format!("{head} ({known}{severity})\n");
    for reason in &verdict.reasons {
        let mark = match reason.outcome {
            GateOutcome::Passed => "✓",
            GateOutcome::Failed => "✗",
            GateOutcome::Unproven => "?",
            GateOutcome::NotRun => "–",
        };
        let _ = writeln!(text, "  {mark} {}: {}", reason.about(), reason.evidence.trim_end().replace('\n', "\n      "));
    }
    push_list(&mut text, "missing", &verdict.missing);
    push_list(&mut text, "to do next", &verdict.next_actions);
    push_list(&mut text, "for you to do", &verdict.human_actions);
    if !verdict.feedback.trim().is_empty() {
        let _ = writeln!(text, "\nfeedback for the agent:\n{}", verdict.feedback.trim_end());
    }
    text
}

fn push_list(text: &mut String, title: &str, entries: &[String]) {
    if entries.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}:");
    for entry in entries {
        let _ = writeln!(text, "  - {}", entry.trim_end().replace('\n', "\n    "));
    }
}

/// Whether an agent is stuck, in a line, and what to say to it.
#[must_use]
pub fn stuck(verdict: &StuckVerdict) -> String {
    let said = match verdict.reason {
        StuckReason::GenuinelyStuck => "stuck: it stopped in the middle",
        StuckReason::WaitingForUser => "not stuck: it waits for an answer",
        StuckReason::Working => "not stuck: it is at work",
        StuckReason::Complete => "not stuck: it is done",
        StuckReason::Undetermined => "undetermined: the facts do not say",
    };
    with_nudge(said, verdict.confidence, &verdict.nudge_message)
}

/// What an agent should do after its context was shortened, in a line, and what to say to it.
#[must_use]
pub fn compaction(verdict: &CompactionVerdict) -> String {
    let said = match verdict.action {
        CompactionAction::NeedsGithubUpdate => "its pull request or issue should say where the work stands",
        CompactionAction::ContinueTask => "it should go on",
        CompactionAction::NeedsClarification => "somebody must answer it first",
        CompactionAction::TaskComplete => "nothing is left to do",
    };
    with_nudge(said, verdict.confidence, &verdict.nudge_message)
}

fn with_nudge(said: &str, confidence: f64, nudge: &str) -> String {
    let mut text = format!("{said} (confidence {confidence:.1})\n");
    if !nudge.trim().is_empty() {
        let _ = writeln!(text, "say to it: {}", nudge.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::GateReport;

    #[test]
    fn a_verdict_says_what_is_known_what_is_missing_and_what_to_do() {
        let gate = |gate: &str, outcome, evidence: &str| GateReport {
            gate: gate.to_owned(),
            outcome,
            evidence: evidence.to_owned(),
        };
        let verdict = CompletionVerdict {
            severity: Severity::High,
            feedback: "Run the tests.".to_owned(),
            missing: vec!["passing tests".to_owned()],
            next_actions: vec!["run `make test`\nand mend it".to_owned()],
            reasons: vec![
                gate("change", GateOutcome::Passed, "2 files"),
                gate("tests", GateOutcome::Failed, "exit status 2"),
                gate("ci", GateOutcome::NotRun, "there is no remote"),
            ],
            ..CompletionVerdict::bare(Standing::Refuted)
        };
        let expected = "✗ not complete (refuted by facts, severity HIGH)
  ✓ change: 2 files
  ✗ tests: exit status 2
  – ci: there is no remote

missing:
  - passing tests

to do next:
  - run `make test`
    and mend it

feedback for the agent:
Run the tests.
";
        assert_eq!(completion(&verdict), expected);
    }
}
