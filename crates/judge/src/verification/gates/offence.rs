//! A condition that does not hold, which a task may permit.

use super::facts::View;
use super::finding::{Finding, Todo};
use crate::domain::Allow;

/// A condition that does not hold, which the task may permit.
pub(super) struct Offence {
    pub(super) gate: &'static str,
    pub(super) evidence: String,
    pub(super) todo: Todo,
    /// What would permit it.
    pub(super) permitted_by: Allow,
}

impl Offence {
    /// What the gate says: nothing where the task declares that it permits this. `words`: what in the task reads as if it did; then only
    /// a person can say, because the same words stand in tasks that permit nothing.
    pub(super) fn finding(self, view: &View<'_>, words: Option<&str>) -> Finding {
        let Self { gate, evidence, todo, permitted_by } = self;
        let word = permitted_by.as_str();
        if view.facts.turn.allow.contains(&permitted_by) {
            return Finding::not_run(gate, format!("{evidence}; the task allows it (`{word}`)"));
        }
        let Some(words) = words else { return Finding::failed(gate, evidence, todo) };
        let question = format!(
            "Does this task permit its agent to {}? {evidence}. If so, give it `\"allow\": [\"{word}\"]` with `reflexion task edit`, and open it \
             again with `reflexion task reopen`",
            permitted_by.permits()
        );
        Finding::unproven(gate, format!("{evidence}; {words}, which permits nothing by itself"), permitted_by, question)
    }
}
