//! What follows from a judged turn: feedback in the same conversation, a person, or the attempt's end. Pure.

use super::judge::{Judgement, OnlyIf, RUN_ALL};
use crate::domain::{CompletionVerdict, Ending, Expects, FailureType, GateOutcome, Proof, Standing, Task, Verdict};

/// What is known when a turn was judged.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// The verdict as it stands after [`weigh`].
    pub judgement: &'a Judgement,
    /// What the gates, the judge and the committee say.
    pub completion: &'a CompletionVerdict,
    /// Why the agent stopped.
    pub ending: &'a Ending,
    /// The turn, from 1.
    pub turn: u32,
    /// Turns of the attempt; 1 where the agent cannot go on with its conversation.
    pub max_turns: u32,
    /// What the attempt did that no further turn can undo.
    pub tampered: &'a [String],
}

/// What follows from a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The agent is told what is missing, and goes on.
    Feedback,
    /// The work is confirmed; the agent is asked for a test that shows it, and goes on.
    AskForTest,
    /// The attempt is over; its verdict is the turn's.
    Done,
    /// The attempt is over, and nothing goes on before a person acts.
    Person,
}

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
                Judgement { todo: vec![RUN_ALL.to_owned()], ..self::refuted(judgement, otherwise, ending) }
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
    let person = if waits && !left_for_agent(completion) { actions(completion) } else { Vec::new() };
    Judgement { person, ..weighed }
}

/// What follows. A turn follows only where the agent stopped by itself, can go on, and there is something for it to do.
#[must_use]
pub fn next_turn(judged: &Judged<'_>) -> Turn {
    if judged.judgement.verdict == Verdict::Confirmed {
        return Turn::Done;
    }
    if !judged.judgement.person.is_empty() {
        return Turn::Person;
    }
    let goes_on = judged.ending.claims_done() && judged.turn < judged.max_turns;
    let refuted = matches!(judged.judgement.verdict, Verdict::Failed | Verdict::FalseDone);
    let to_do = refuted || left_for_agent(judged.completion);
    if goes_on && to_do && judged.tampered.is_empty() { Turn::Feedback } else { Turn::Done }
}

/// Whether an agent that can go on is asked for a test before its confirmed work is taken: it fixes a bug or brings something new, and
/// no check tells it from no work.
#[must_use]
pub fn wants_test(judged: &Judged<'_>, task: &Task) -> bool {
    let shows_something = task.is_fault() || task.is_feature() || task.expects == Expects::Fix;
    let confirmed =
        judged.judgement.verdict == Verdict::Confirmed && judged.judgement.proof == Some(Proof::StayedGreen);
    shows_something && confirmed && judged.ending.claims_done() && judged.turn < judged.max_turns
}

fn left_for_agent(completion: &CompletionVerdict) -> bool {
    !completion.missing.is_empty() || !completion.next_actions.is_empty()
}

fn actions(completion: &CompletionVerdict) -> Vec<String> {
    if !completion.human_actions.is_empty() {
        return completion.human_actions.clone();
    }
    let words = if completion.feedback.is_empty() { "something that nobody named" } else { &completion.feedback };
    vec![words.to_owned()]
}

fn refuted_by_gates(judgement: Judgement, completion: &CompletionVerdict, ending: &Ending) -> Judgement {
    let failed = completion.reasons.iter().filter(|reason| reason.outcome == GateOutcome::Failed);
    let failed: Vec<String> = failed.map(|reason| format!("{}: {}", reason.gate, reason.evidence)).collect();
    let because = if failed.is_empty() { completion.feedback.clone() } else { failed.join("; ") };
    Judgement { todo: completion.next_actions.clone(), ..refuted(judgement, because, ending) }
}

/// What was confirmed or open, and is refuted by something that is no check.
#[must_use]
pub fn refuted(judgement: Judgement, because: String, ending: &Ending) -> Judgement {
    let verdict = if ending.claims_done() { Verdict::FalseDone } else { Verdict::Failed };
    let failure = match ending {
        Ending::Timeout | Ending::Hang => FailureType::Timeout,
        Ending::Crash | Ending::AgentError | Ending::Context | Ending::Budget | Ending::Permission => {
            FailureType::AgentError
        }
        _ if ending.claims_done() => FailureType::FalseDone,
        _ => FailureType::CheckFailed,
    };
    Judgement { verdict, proof: None, because, failure: Some(failure), ..judgement }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::GateReport;

    fn judgement(verdict: Verdict) -> Judgement {
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
        }
    }

    fn objects(status: Standing) -> CompletionVerdict {
        CompletionVerdict {
            complete: false,
            missing: vec!["the refund is negative".to_owned()],
            ..CompletionVerdict::bare(status)
        }
    }

    fn person(status: Standing) -> CompletionVerdict {
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
    fn a_verdict_says_which_gate_or_whose_opinion_it_rests_on() {
        let gate = GateReport {
            gate: "tests_deleted".to_owned(),
            outcome: GateOutcome::Failed,
            evidence: "tests/a.rs is gone".to_owned(),
        };
        let refuted = CompletionVerdict { reasons: vec![gate], ..CompletionVerdict::bare(Standing::Refuted) };
        let cases = [
            (refuted, "tests_deleted: tests/a.rs is gone"),
            (objects(Standing::Proven), "so, but an objection stands: the refund is negative"),
            (person(Standing::Proven), "so, but a person must act: log in to the registry"),
        ];
        for (completion, because) in cases {
            assert_eq!(weigh(judgement(Verdict::Confirmed), &completion, &Ending::Finished).because, because);
        }
        let open = weigh(judgement(Verdict::Unverifiable), &objects(Standing::Unproven), &Ending::Finished);
        assert_eq!(open.because, "so; the refund is negative");
    }

    #[test]
    fn a_turn_follows_where_the_agent_has_something_to_do_and_can_go_on() {
        use Standing::{Proven, Refuted, Unproven};
        let pushed = CompletionVerdict { missing: vec!["run the tests".to_owned()], ..person(Unproven) };
        let check = |verdict, completion: &CompletionVerdict, ending: Ending, turn, expected| {
            let judgement = weigh(judgement(verdict), completion, &ending);
            let judged =
                Judged { judgement: &judgement, completion, ending: &ending, turn, max_turns: 3, tampered: &[] };
            assert_eq!(next_turn(&judged), expected, "{verdict:?} {completion:?} {ending:?} {turn}");
        };
        check(Verdict::Confirmed, &CompletionVerdict::bare(Proven), Ending::Finished, 1, Turn::Done);
        check(Verdict::FalseDone, &CompletionVerdict::bare(Refuted), Ending::Finished, 1, Turn::Feedback);
        check(Verdict::FalseDone, &CompletionVerdict::bare(Refuted), Ending::Finished, 2, Turn::Feedback);
        check(Verdict::FalseDone, &CompletionVerdict::bare(Refuted), Ending::Finished, 3, Turn::Done);
        check(Verdict::Failed, &CompletionVerdict::bare(Refuted), Ending::Timeout, 1, Turn::Done);
        check(Verdict::Failed, &CompletionVerdict::bare(Refuted), Ending::Nudged, 1, Turn::Done);
        check(Verdict::Confirmed, &objects(Proven), Ending::Finished, 1, Turn::Feedback);
        check(Verdict::Unverifiable, &objects(Unproven), Ending::Finished, 1, Turn::Feedback);
        check(Verdict::Unverifiable, &CompletionVerdict::bare(Unproven), Ending::Finished, 1, Turn::Done);
        check(Verdict::FalseDone, &person(Refuted), Ending::Finished, 1, Turn::Person);
        check(Verdict::FalseDone, &person(Refuted), Ending::Finished, 3, Turn::Person);
        check(Verdict::FalseDone, &pushed, Ending::Finished, 1, Turn::Feedback);
        check(Verdict::FalseDone, &pushed, Ending::Finished, 3, Turn::Done);
    }

    #[test]
    fn what_cannot_be_undone_gets_no_further_turn() {
        let (judgement, completion) = (judgement(Verdict::FalseDone), CompletionVerdict::bare(Standing::Refuted));
        let judged = Judged {
            judgement: &judgement,
            completion: &completion,
            ending: &Ending::Finished,
            turn: 1,
            max_turns: 3,
            tampered: &["refs/heads/main".to_owned()],
        };
        assert_eq!(next_turn(&judged), Turn::Done);
    }
}
