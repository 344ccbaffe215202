//! What follows from a judged turn: feedback in the same conversation, a person, or the attempt's end. Pure.

use super::verdict::Judgement;
use crate::domain::{CompletionVerdict, Ending, Expects, Proof, Task, Verdict};

/// What is known when a turn was judged.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// The verdict as it stands after [`weigh`](super::verdict::weigh).
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
    let to_do = refuted || judged.completion.has_left_something();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Standing;
    use crate::orchestrator::verdict::weigh;
    use crate::orchestrator::verdict::weigh_tests::{judgement, objects, person};

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
