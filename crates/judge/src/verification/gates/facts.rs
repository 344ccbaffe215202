//! What gates look at.

use super::runtime_checks::Runtime;
use super::timeline::Timeline;
use crate::prompt::without_fences;
use crate::services::{RemoteState, TurnEvidence};
use crate::verification::context::{RepositorySignals, Requirements};
use std::borrow::Cow;

/// What the gates look at.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The turn.
    pub turn: &'a TurnEvidence,
    /// What must be there.
    pub required: &'a Requirements,
    /// How the project is tested and built.
    pub signals: &'a RepositorySignals,
    /// What the remote says, if somebody asked.
    pub remote: Option<&'a RemoteState>,
}

/// The facts, laid out once for all gates.
pub(super) struct View<'a> {
    pub(super) facts: &'a Facts<'a>,
    pub(super) timeline: Timeline<'a>,
    pub(super) runtime: Runtime<'a>,
}

impl<'a> View<'a> {
    pub(super) fn new(facts: &'a Facts<'a>) -> Self {
        Self { facts, timeline: Timeline::new(facts.turn), runtime: Runtime::new(facts.turn) }
    }

    /// What was asked for, in the words of whoever asked.
    pub(super) fn task(&self) -> Cow<'a, str> {
        let turn = self.facts.turn;
        // A prompt of the runtime's own has words of checks in it.
        if turn.task.trim().is_empty() {
            Cow::Owned(without_fences(&turn.trace.task()).into_owned())
        } else {
            without_fences(&turn.task)
        }
    }

    /// Why something is not required, where there is a reason.
    pub(super) fn not_required(&self, what: &str) -> String {
        let reason = self.facts.required.waived.iter().find_map(|why| why.strip_prefix(what)?.strip_prefix(": "));
        reason.map_or_else(|| "it is not required".to_owned(), |reason| format!("it is not required: {reason}"))
    }
}
