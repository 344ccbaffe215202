//! A verdict while it is put together: what the gates found, then what whoever was asked said.

use super::context::Requirements;
use super::gates::Finding;
use super::judging::{Assessed, split};
use crate::domain::{CompletionVerdict, GateOutcome, GateReport, Opinion, Severity, Standing};
use crate::prompt::{excerpt, one_line, plain, shorten};

/// Caps: verdicts go into prompts, and judges are talkative.
const ITEMS: usize = 20;
const ITEM_BYTES: usize = 600;
const FEEDBACK_BYTES: usize = 4 * 1024;
const WORDS_BYTES: usize = 2_000;

/// A verdict while it is put together.
pub(super) struct Draft {
    verdict: CompletionVerdict,
    /// What to say to the agent, part by part.
    feedback: Vec<String>,
    /// Only the task's owner can say whether what an attempt did is permitted.
    waits_for_owner: bool,
}

impl Draft {
    /// From what the gates found. Whatever is required on the remote must be there before anything is proven.
    /// `declares`: the task could have declared what it permits, so that a question about it is its owner's.
    pub(super) fn new(findings: Vec<Finding>, required: &Requirements, declares: bool) -> Self {
        let outcome = |gate: &str| findings.iter().find(|f| f.report.gate == gate).map(|f| f.report.outcome);
        let passed = |gate: &str| outcome(gate) == Some(GateOutcome::Passed);
        let remote_done =
            (required.pull_request.is_none() || passed("pull_request")) && (required.ci.is_none() || passed("ci"));
        let status = if findings.iter().any(Finding::is_failed) {
            Standing::Refuted
        } else if passed("runtime_checks") && remote_done && findings.iter().all(|found| found.question.is_none()) {
            Standing::Proven
        } else {
            Standing::Unproven
        };
        let waits_for_owner =
            declares && status == Standing::Unproven && findings.iter().any(|found| found.question.is_some());
        let mut draft = Self { verdict: CompletionVerdict::bare(status), feedback: Vec::new(), waits_for_owner };
        draft.verdict.requires_human_action = waits_for_owner;
        for finding in findings {
            if let Some(question) = finding.question.filter(|_| waits_for_owner)
                && !draft.verdict.asks.contains(&question.about)
            {
                draft.verdict.asks.push(question.about);
                push(&mut draft.verdict.human_actions, &question.words);
            }
            if let Some(todo) = &finding.todo {
                draft.raise(todo.severity);
                push(&mut draft.verdict.missing, &todo.missing);
                push(&mut draft.verdict.next_actions, &todo.action);
                let first = finding.report.evidence.lines().next().unwrap_or_default();
                draft.feedback.push(format!("{first}. {}", todo.action));
            }
            draft.verdict.reasons.push(finding.report);
        }
        draft
    }

    pub(super) fn status(&self) -> Standing {
        self.verdict.status
    }

    /// Whether only the task's owner can go on: nobody's opinion completes it.
    pub(super) fn waits_for_owner(&self) -> bool {
        self.waits_for_owner
    }

    pub(super) fn reasons(&self) -> &[GateReport] {
        &self.verdict.reasons
    }

    pub(super) fn would_be_complete(&self) -> bool {
        self.verdict.complete
    }

    /// Adds a reason.
    pub(super) fn note(&mut self, gate: &str, outcome: GateOutcome, evidence: &str) {
        let evidence = shorten(&plain(evidence), WORDS_BYTES).into_owned();
        self.verdict.reasons.push(GateReport { gate: gate.to_owned(), outcome, evidence });
    }

    /// There is no opinion: what the facts leave open stays open.
    pub(super) fn nobody_judges(&mut self, because: &str) {
        self.note("judge", GateOutcome::NotRun, because);
    }

    /// What the judge of an unproven turn thinks.
    pub(super) fn judged(&mut self, name: &str, opinion: Opinion) {
        self.verdict.complete = opinion.completes();
        self.take(name, opinion);
    }

    /// What an assessment is worth beside the evidence: it can hold a task up, and never completes one.
    pub(super) fn assessed(&mut self, assessed: Assessed) {
        let holds_up = assessed.report.outcome == GateOutcome::Failed
            || !assessed.missing.is_empty()
            || !assessed.human_actions.is_empty();
        self.verdict.complete &= !holds_up;
        self.raise(assessed.severity);
        if assessed.report.outcome == GateOutcome::Failed {
            self.feedback.push(assessed.report.evidence.clone());
        }
        assessed.missing.iter().for_each(|item| push(&mut self.verdict.missing, item));
        self.verdict.requires_human_action |= !assessed.human_actions.is_empty();
        assessed.human_actions.iter().for_each(|item| push(&mut self.verdict.human_actions, item));
        self.verdict.reasons.push(assessed.report);
    }

    /// What a member of the committee thinks of what would be complete: a dissent holds it up.
    pub(super) fn reviewed(&mut self, name: &str, opinion: Opinion) {
        self.verdict.complete &= opinion.completes();
        self.take(name, opinion);
    }

    /// A member could not be asked: silence is no approval.
    pub(super) fn not_reviewed(&mut self, name: &str, because: &str) {
        self.verdict.complete = false;
        self.note(name, GateOutcome::NotRun, &format!("{because}; without its approval nothing is complete"));
    }

    fn take(&mut self, name: &str, opinion: Opinion) {
        let completes = opinion.completes();
        let opinion = Opinion {
            feedback: excerpt(&opinion.feedback, WORDS_BYTES).into_owned(),
            missing: capped(opinion.missing),
            next_actions: capped(opinion.next_actions),
            ..opinion
        };
        let words =
            if opinion.feedback.trim().is_empty() { opinion.missing.join("; ") } else { opinion.feedback.clone() };
        let outcome = if completes { GateOutcome::Passed } else { GateOutcome::Failed };
        self.note(name, outcome, &words);
        self.raise(opinion.severity);
        if !completes && !words.trim().is_empty() {
            self.feedback.push(words);
        }
        let missing = split(&opinion.missing);
        let next = split(&opinion.next_actions);
        missing.agent.iter().for_each(|item| push(&mut self.verdict.missing, item));
        if !completes {
            next.agent.iter().for_each(|item| push(&mut self.verdict.next_actions, item));
        }
        let person: Vec<&String> = missing.person.iter().chain(&next.person).collect();
        self.verdict.requires_human_action |= opinion.requires_human_action;
        if completes {
            return;
        }
        person.iter().for_each(|item| push(&mut self.verdict.human_actions, item));
        if opinion.requires_human_action && person.is_empty() {
            push(&mut self.verdict.human_actions, &opinion.feedback);
        }
    }

    fn raise(&mut self, severity: Severity) {
        self.verdict.severity = self.verdict.severity.max(severity);
    }

    /// The verdict. A blocker is never complete.
    pub(super) fn verdict(mut self) -> CompletionVerdict {
        if self.verdict.severity == Severity::Blocker {
            self.verdict.complete = false;
        }
        if !self.verdict.complete {
            if self.verdict.next_actions.is_empty() {
                self.verdict.next_actions = self.verdict.missing.clone();
            }
            self.verdict.feedback = shorten(&plain(&self.feedback.join("\n")), FEEDBACK_BYTES).into_owned();
        }
        self.verdict
    }
}

/// A list within the caps, before anything is read out of it.
fn capped(list: Vec<String>) -> Vec<String> {
    list.into_iter().take(ITEMS).map(|item| shorten(&item, ITEM_BYTES).into_owned()).collect()
}

/// Adds an item in one line, once, within the caps.
fn push(list: &mut Vec<String>, item: &str) {
    let item = shorten(&one_line(&plain(item)), ITEM_BYTES).into_owned();
    if !item.is_empty() && list.len() < ITEMS && !list.contains(&item) {
        list.push(item);
    }
}
