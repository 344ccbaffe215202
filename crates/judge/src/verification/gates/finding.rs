//! One gate's answer, and what follows from it for the agent.

use crate::domain::{Allow, GateOutcome, GateReport, Severity};
use crate::prompt::{plain, shorten};

/// So many bytes of evidence are kept: the end of a failing test run, and not more than a prompt can bear.
const EVIDENCE_BYTES: usize = 2_000;
/// So many bytes of an instruction are kept.
const TODO_BYTES: usize = 600;

/// One gate's answer, and what follows from it for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The answer.
    pub report: GateReport,
    /// What the agent has to do; only where the gate failed.
    pub todo: Option<Todo>,
    /// What only a person can answer; only where the gate is unproven.
    pub question: Option<Question>,
}

/// What only the owner of the task can answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What would have to be permitted.
    pub about: Allow,
    /// In words, with how it is permitted.
    pub words: String,
}

/// What follows from a failed gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todo {
    /// What is missing, in a few words.
    pub missing: String,
    /// What to do, with the very command where there is one.
    pub action: String,
    /// How much is wrong.
    pub severity: Severity,
}

impl Finding {
    /// The gate's condition holds.
    pub(super) fn passed(gate: &str, evidence: impl AsRef<str>) -> Self {
        Self::new(gate, GateOutcome::Passed, evidence.as_ref(), None)
    }

    /// It could not be decided, or does not apply.
    pub(super) fn not_run(gate: &str, because: impl AsRef<str>) -> Self {
        Self::new(gate, GateOutcome::NotRun, because.as_ref(), None)
    }

    /// The gate's condition does not hold, and this question decides whether that counts.
    pub(super) fn unproven(gate: &str, evidence: impl AsRef<str>, about: Allow, words: impl AsRef<str>) -> Self {
        let words = shorten(&plain(words.as_ref()), TODO_BYTES).into_owned();
        Self {
            question: Some(Question { about, words }),
            ..Self::new(gate, GateOutcome::Unproven, evidence.as_ref(), None)
        }
    }

    /// The gate's condition does not hold.
    pub(super) fn failed(gate: &str, evidence: impl AsRef<str>, todo: Todo) -> Self {
        Self::new(gate, GateOutcome::Failed, evidence.as_ref(), Some(todo))
    }

    fn new(gate: &str, outcome: GateOutcome, evidence: &str, todo: Option<Todo>) -> Self {
        let evidence = shorten(&plain(evidence), EVIDENCE_BYTES).into_owned();
        Self { report: GateReport { gate: gate.to_owned(), outcome, evidence }, todo, question: None }
    }

    /// The record ends in the middle: what is missing or broken may have been mended after. What was done stays done.
    pub(in crate::verification) fn open_end(&mut self) {
        const DONE: [&str; 2] = ["no_direct_push", "hooks_kept"];
        if self.is_failed() && !DONE.contains(&self.report.gate.as_str()) {
            let because = format!("the record ends in the middle; as far as it goes: {}", self.report.evidence);
            *self = Self::not_run(&self.report.gate, because);
        }
    }

    /// Whether the gate failed.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.report.outcome == GateOutcome::Failed
    }
}

impl Todo {
    /// Required work is missing or broken.
    pub(super) fn high(missing: impl AsRef<str>, action: impl AsRef<str>) -> Self {
        Self::new(missing.as_ref(), action.as_ref(), Severity::High)
    }

    /// A part is missing.
    pub(super) fn medium(missing: impl AsRef<str>, action: impl AsRef<str>) -> Self {
        Self::new(missing.as_ref(), action.as_ref(), Severity::Medium)
    }

    fn new(missing: &str, action: &str, severity: Severity) -> Self {
        let short = |text: &str| shorten(&plain(text), TODO_BYTES).into_owned();
        Self { missing: short(missing), action: short(action), severity }
    }
}
