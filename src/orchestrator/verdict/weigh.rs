//! What gates and whoever was asked add to what the checks say. Pure.

use super::{Judgement, OnlyIf, RUN_ALL};
use crate::domain::{CompletionVerdict, Ending, FailureType, GateOutcome, Standing, Verdict};

/// The verdict on a turn from the checks and from the gates with whoever was asked.
///
/// Gates refute what checks leave standing, on facts. Nobody's opinion makes `confirmed` where there is no check, and an
/// opinion against a change with green checks leaves it `unverifiable`: it is no fact that the change is wrong.
#[must_use]
pub fn weigh(judgement: Judgement, completion: &CompletionVerdict, ending: &Ending) -> Judgement {
    let judgement = match judgement.only_if {
        Some(OnlyIf { permits, otherwise }) => {
            let judgement = Judgement { only_if: None, ..judgement };
            if completion.asks.contains(&permits) {
                judgement
            } else {
                self::refuted(judgement, otherwise, ending).by_rule("test_count", RUN_ALL)
            }
        }
        None => judgement,
    };
    let refuted = completion.status == Standing::Refuted;
    let weighed = match judgement.verdict {
        Verdict::Failed | Verdict::FalseDone => judgement,
        Verdict::Confirmed | Verdict::Unverifiable if refuted => refuted_by_gates(judgement, completion, ending),
        Verdict::Confirmed if completion.complete => judgement,
        Verdict::Confirmed => {
            let because = format!("{}, but {}", judgement.because, objection(completion));
            Judgement { verdict: Verdict::Unverifiable, proof: None, because, ..judgement }
        }
        Verdict::Unverifiable => {
            let because = format!("{}{}", judgement.because, opinion(completion));
            Judgement { because, ..judgement }
        }
    };
    let waits = completion.requires_human_action && weighed.verdict != Verdict::Confirmed;
    let person = if waits && !completion.has_left_something() { actions(completion) } else { Vec::new() };
    Judgement { person, ..weighed }
}

fn refuted_by_gates(judgement: Judgement, completion: &CompletionVerdict, ending: &Ending) -> Judgement {
    let failed = completion.reasons.iter().filter(|reason| reason.outcome == GateOutcome::Failed);
    let rule = failed.clone().next().map(|reason| reason.gate.clone());
    let mut failed: Vec<&str> = failed.map(|reason| reason.evidence.as_str()).collect();
    failed.dedup();
    let because = if failed.is_empty() { completion.feedback.clone() } else { failed.join("; ") };
    Judgement { todo: completion.next_actions.clone(), rule, ..refuted(judgement, because, ending) }
}

/// What was confirmed or open, and is refuted by something that is no check.
#[must_use]
pub fn refuted(judgement: Judgement, because: String, ending: &Ending) -> Judgement {
    let verdict = if ending.claims_done() { Verdict::FalseDone } else { Verdict::Failed };
    Judgement { verdict, proof: None, because, failure: Some(FailureType::of(ending)), ..judgement }
}

/// Why nobody completes it, in the words of whoever objects.
fn objection(completion: &CompletionVerdict) -> String {
    if completion.requires_human_action {
        return format!("a person must act: {}", actions(completion).join("; "));
    }
    let first = completion.missing.first().map(String::as_str);
    match first.or(Some(completion.feedback.as_str())).filter(|words| !words.is_empty()) {
        Some(words) => format!("an objection stands: {words}"),
        None => "whoever was asked did not complete it".to_owned(),
    }
}

/// What somebody thinks of what no check can tell.
fn opinion(completion: &CompletionVerdict) -> String {
    if completion.complete {
        return "; whoever was asked thinks that it is done, which no check has shown".to_owned();
    }
    let first = completion.missing.first().map(String::as_str);
    match first.or(Some(completion.feedback.as_str())).filter(|words| !words.is_empty()) {
        Some(words) => format!("; {words}"),
        None => String::new(),
    }
}

fn actions(completion: &CompletionVerdict) -> Vec<String> {
    if !completion.human_actions.is_empty() {
        return completion.human_actions.clone();
    }
    let words = if completion.feedback.is_empty() { "something that nobody named" } else { &completion.feedback };
    vec![words.to_owned()]
}

#[cfg(test)]
pub(in crate::orchestrator) mod tests {
    use super::*;
    use crate::domain::{GateReport, Proof};

    pub(in crate::orchestrator) fn judgement(verdict: Verdict) -> Judgement {
        let refuted = matches!(verdict, Verdict::Failed | Verdict::FalseDone);
        Judgement {
            verdict,
            proof: (verdict == Verdict::Confirmed).then_some(Proof::TurnedGreen),
            because: "so".to_owned(),
            failure: refuted.then_some(FailureType::FalseDone),
            failing: None,
            person: Vec::new(),
            only_if: None,
            todo: Vec::new(),
            rule: None,
        }
    }

    pub(in crate::orchestrator) fn objects(status: Standing) -> CompletionVerdict {
        CompletionVerdict {
            complete: false,
            missing: vec!["the refund is negative".to_owned()],
            ..CompletionVerdict::bare(status)
        }
    }

    pub(in crate::orchestrator) fn person(status: Standing) -> CompletionVerdict {
        let human_actions = vec!["log in to the registry".to_owned()];
        CompletionVerdict {
            complete: false,
            requires_human_action: true,
            human_actions,
            ..CompletionVerdict::bare(status)
        }
    }

    #[test]
    fn facts_decide_and_opinions_never_confirm() {
        use Standing::{Proven, Refuted, Unproven};
        use Verdict::{Confirmed, Failed, FalseDone, Unverifiable};
        let judged = |status| CompletionVerdict { complete: true, ..CompletionVerdict::bare(status) };
        let cases = [
            (Confirmed, CompletionVerdict::bare(Proven), Ending::Finished, Confirmed),
            (Confirmed, CompletionVerdict::bare(Proven), Ending::Crash, Confirmed),
            (Confirmed, judged(Unproven), Ending::Finished, Confirmed),
            (Confirmed, CompletionVerdict::bare(Refuted), Ending::Finished, FalseDone),
            (Confirmed, CompletionVerdict::bare(Refuted), Ending::Timeout, Failed),
            (Confirmed, objects(Proven), Ending::Finished, Unverifiable),
            (Confirmed, CompletionVerdict::bare(Unproven), Ending::Finished, Unverifiable),
            (Confirmed, person(Unproven), Ending::Finished, Unverifiable),
            (Unverifiable, judged(Unproven), Ending::Finished, Unverifiable),
            (Unverifiable, CompletionVerdict::bare(Refuted), Ending::Finished, FalseDone),
            (Failed, judged(Proven), Ending::Crash, Failed),
            (FalseDone, judged(Proven), Ending::Finished, FalseDone),
        ];
        for (checks, completion, ending, expected) in cases {
            let weighed = weigh(judgement(checks), &completion, &ending);
            assert_eq!(weighed.verdict, expected, "{checks:?} {completion:?} {ending:?}");
            let refuted = matches!(expected, Failed | FalseDone);
            assert_eq!((weighed.proof.is_some(), weighed.failure.is_some()), (expected == Confirmed, refuted));
        }
    }

    #[test]
    fn a_verdict_says_what_it_rests_on() {
        let gate = GateReport {
            gate: "tests_deleted".to_owned(),
            outcome: GateOutcome::Failed,
            evidence: "tests/a.rs is gone".to_owned(),
        };
        let refuted = CompletionVerdict { reasons: vec![gate], ..CompletionVerdict::bare(Standing::Refuted) };
        let cases = [
            (refuted, "tests/a.rs is gone"),
            (objects(Standing::Proven), "so, but an objection stands: the refund is negative"),
            (person(Standing::Proven), "so, but a person must act: log in to the registry"),
        ];
        for (completion, because) in cases {
            assert_eq!(weigh(judgement(Verdict::Confirmed), &completion, &Ending::Finished).because, because);
        }
        let open = weigh(judgement(Verdict::Unverifiable), &objects(Standing::Unproven), &Ending::Finished);
        assert_eq!(open.because, "so; the refund is negative");
    }
}
