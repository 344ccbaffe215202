//! Guards around evaluating a conversation while it goes on: never twice at once, never the same state again, never a
//! turn that a person stopped.

use super::{Timestamp, Trace};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::time::Duration;

/// A turn that was aborted is left alone for so long: whoever pressed Escape is about to say why.
pub const ABORT_COOL_DOWN: Duration = Duration::from_secs(10);
/// Programs report the end of a turn before they report that it was aborted; so long is waited for the second.
pub const ABORT_RACE: Duration = Duration::from_millis(1_500);
/// So many states of a conversation are remembered as evaluated. Only the latest can come again.
const REMEMBERED: usize = 32;

/// What a conversation looks like at one moment. Any further word, tool call or result makes another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateId([u8; 32]);

impl StateId {
    /// Of messages with their ids, where they have some, and contents.
    ///
    /// ```
    /// # use reflexion_core::domain::StateId;
    /// let one = StateId::of([(Some("m1"), "Please continue with the parser")]);
    /// assert_ne!(one, StateId::of([(Some("m1"), "Please continue with the printer")]));
    /// assert_ne!(one, StateId::of([(Some("m2"), "Please continue with the parser")]));
    /// ```
    #[must_use]
    pub fn of<'a>(messages: impl IntoIterator<Item = (Option<&'a str>, &'a str)>) -> Self {
        let mut hash = Hashed::default();
        for (id, content) in messages {
            hash.part(id.unwrap_or_default());
            hash.part(content);
        }
        hash.finish()
    }

    /// Of a trace: what was asked and said, the tool calls, and what came of them.
    #[must_use]
    pub fn of_trace(trace: &Trace) -> Self {
        // A result may come long after its call, but not after so many others.
        const LATEST: usize = 64;
        let mut hash = Hashed::default();
        let counts = [trace.calls, trace.asked.len() as u64, trace.compactions.len() as u64, u64::from(trace.errors)];
        for count in counts {
            hash.part(&count.to_string());
        }
        for asked in &trace.asked {
            hash.part(&asked.text);
        }
        hash.part(&trace.response);
        for action in trace.actions.iter().rev().take(LATEST) {
            hash.part(&action.id);
            hash.part(&action.input);
            if let Some(outcome) = &action.outcome {
                hash.part(&format!("{:?} {:?}", outcome.status, outcome.exit_code));
                hash.part(&outcome.output);
            }
        }
        hash.finish()
    }
}

/// Parts with their lengths, so that no two lists of parts are one text.
#[derive(Default)]
struct Hashed {
    hash: Sha256,
    parts: u64,
}

impl Hashed {
    fn part(&mut self, text: &str) {
        self.parts += 1;
        self.hash.update((text.len() as u64).to_le_bytes());
        self.hash.update(text.as_bytes());
    }

    fn finish(mut self) -> StateId {
        self.hash.update(self.parts.to_le_bytes());
        StateId(self.hash.finalize().into())
    }
}

/// Decides whether a conversation may be evaluated now. No clock inside: times are passed in.
///
/// Use it around everything that evaluates a conversation and may answer into it: ask with [`Guard::enter`], wait
/// [`ABORT_RACE`] where the program may still report an abort, ask again with [`Guard::still`] before evaluating and
/// before answering (an evaluation takes minutes, and people go on), and always [`Guard::leave`].
///
/// ```
/// # use reflexion_core::domain::{Guard, Skipped, StateId, Evaluated, Timestamp};
/// let (mut guard, now) = (Guard::default(), Timestamp::UNIX_EPOCH);
/// let state = StateId::of([(None, "Fix it."), (None, "Done.")]);
/// let pass = guard.enter("s1", state, now).expect("nothing is against it");
/// assert_eq!(guard.enter("s1", state, now), Err(Skipped::AlreadyAtIt));
/// guard.leave(pass, Evaluated::Yes);
/// assert_eq!(guard.enter("s1", state, now), Err(Skipped::SameState));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Guard {
    sessions: BTreeMap<String, Guarded>,
}

#[derive(Debug, Clone, Default)]
struct Guarded {
    /// The turn, counted by what was asked.
    turn: u64,
    /// The turn that was aborted last, and when.
    aborted: Option<(u64, Timestamp)>,
    /// Somebody evaluates it.
    entered: bool,
    /// The states that were evaluated, oldest first.
    evaluated: Vec<StateId>,
}

/// Leave to evaluate; given back with [`Guard::leave`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a conversation stays locked until its pass is given back"]
pub struct Pass {
    session: String,
    turn: u64,
    state: StateId,
}

/// Why a conversation is not evaluated now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Skipped {
    /// Somebody is at it.
    #[error("it is being evaluated")]
    AlreadyAtIt,
    /// Nothing happened since it was evaluated.
    #[error("nothing happened since it was evaluated")]
    SameState,
    /// A person stopped the turn.
    #[error("the turn was aborted")]
    Aborted,
    /// Something else was asked meanwhile.
    #[error("something else was asked meanwhile")]
    Overtaken,
}

/// Whether an evaluation came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evaluated {
    /// It did, or something else was asked: this state is not looked at again.
    Yes,
    /// It did not: the same state may be looked at again.
    Failed,
}

impl Guard {
    /// Something was asked of the agent: a new turn, which no earlier abort concerns.
    pub fn asked(&mut self, session: &str) {
        self.of(session).turn += 1;
    }

    /// The turn was aborted; once more begins the wait anew.
    pub fn aborted(&mut self, session: &str, at: Timestamp) {
        let guarded = self.of(session);
        guarded.aborted = Some((guarded.turn, at));
    }

    /// Asks to evaluate a conversation that came to rest.
    ///
    /// # Errors
    /// Why not now.
    pub fn enter(&mut self, session: &str, state: StateId, now: Timestamp) -> Result<Pass, Skipped> {
        let guarded = self.of(session);
        if guarded.entered {
            return Err(Skipped::AlreadyAtIt);
        }
        guarded.not_aborted(guarded.turn, now)?;
        if guarded.evaluated.contains(&state) {
            return Err(Skipped::SameState);
        }
        guarded.entered = true;
        Ok(Pass { session: session.to_owned(), turn: guarded.turn, state })
    }

    /// Whether the pass is still good: nobody aborted the turn or asked something else.
    ///
    /// # Errors
    /// Why it is not; give it back then.
    pub fn still(&self, pass: &Pass, now: Timestamp) -> Result<(), Skipped> {
        let Some(guarded) = self.sessions.get(&pass.session) else { return Ok(()) };
        if guarded.turn != pass.turn {
            return Err(Skipped::Overtaken);
        }
        guarded.not_aborted(pass.turn, now)
    }

    /// Gives a pass back, however the evaluation ended.
    pub fn leave(&mut self, pass: Pass, evaluated: Evaluated) {
        let guarded = self.of(&pass.session);
        guarded.entered = false;
        if evaluated == Evaluated::Yes {
            if guarded.evaluated.len() == REMEMBERED {
                guarded.evaluated.remove(0);
            }
            guarded.evaluated.push(pass.state);
        }
    }

    /// Forgets a conversation that is over.
    pub fn forget(&mut self, session: &str) {
        self.sessions.remove(session);
    }

    fn of(&mut self, session: &str) -> &mut Guarded {
        self.sessions.entry(session.to_owned()).or_default()
    }
}

impl Guarded {
    fn not_aborted(&self, turn: u64, now: Timestamp) -> Result<(), Skipped> {
        let cooling = |at: Timestamp| now.duration_since(at) < ABORT_COOL_DOWN.try_into().unwrap_or_default();
        match self.aborted {
            Some((aborted, at)) if aborted == turn && cooling(at) => Err(Skipped::Aborted),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Role, TranscriptItem};

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_700_000_000_000 + ms).expect("a time")
    }

    fn state(text: &str) -> StateId {
        StateId::of([(None, text)])
    }

    #[test]
    fn an_abort_concerns_its_turn_only() {
        let mut guard = Guard::default();
        guard.asked("s");
        guard.aborted("s", at(0));
        assert_eq!(guard.enter("s", state("a"), at(9_999)), Err(Skipped::Aborted));
        assert!(guard.enter("other", state("a"), at(1)).is_ok());
        guard.asked("s");
        assert!(guard.enter("s", state("b"), at(2)).is_ok(), "a new turn right after an abort is looked at");
    }

    #[test]
    fn the_wait_after_an_abort_ends() {
        let mut guard = Guard::default();
        guard.aborted("s", at(0));
        guard.aborted("s", at(8_000));
        assert_eq!(guard.enter("s", state("a"), at(13_000)), Err(Skipped::Aborted));
        assert!(guard.enter("s", state("a"), at(18_000)).is_ok());
    }

    #[test]
    fn an_abort_or_a_question_that_comes_late_ends_the_pass() {
        let mut guard = Guard::default();
        let pass = guard.enter("s", state("a"), at(0)).expect("free");
        assert_eq!(guard.still(&pass, at(100)), Ok(()));
        guard.aborted("s", at(700));
        assert_eq!(guard.still(&pass, at(1_500)), Err(Skipped::Aborted));
        guard.leave(pass, Evaluated::Failed);
        let pass = guard.enter("s", state("a"), at(20_000)).expect("free again");
        guard.asked("s");
        assert_eq!(guard.still(&pass, at(20_001)), Err(Skipped::Overtaken));
        guard.leave(pass, Evaluated::Yes);
        assert_eq!(guard.enter("s", state("a"), at(40_000)), Err(Skipped::SameState));
    }

    #[test]
    fn a_failed_evaluation_may_be_repeated() {
        let mut guard = Guard::default();
        let pass = guard.enter("s", state("a"), at(0)).expect("free");
        assert_eq!(guard.enter("s", state("b"), at(0)), Err(Skipped::AlreadyAtIt));
        guard.leave(pass, Evaluated::Failed);
        assert!(guard.enter("s", state("a"), at(1)).is_ok());
    }

    #[test]
    fn the_state_is_what_happened_and_not_how_it_begins() {
        let said = |texts: &[&str]| {
            let mut trace = Trace::default();
            for text in texts {
                trace.step(&TranscriptItem::Message { role: Role::User, text: (*text).to_owned() }, None, None);
            }
            StateId::of_trace(&trace)
        };
        assert_ne!(said(&["Please continue with the parser"]), said(&["Please continue with the printer"]));
        assert_ne!(said(&["ab", "c"]), said(&["a", "bc"]));
        assert_ne!(said(&["a"]), said(&["a", "a"]));
        assert_eq!(said(&["a", "b"]), said(&["a", "b"]));
    }
}
