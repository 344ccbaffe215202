//! What only a task's owner can permit, and where words of the task seem to.

use super::count::{asks_to_remove, asks_to_skip, speaks_of_tests};
use super::facts::View;
use super::finding::{Finding, Todo};
use super::hooks::asks_to_skip_hooks;
use super::pushes::asks_to_push_default;
use super::tested::asked_to_fail;
use crate::domain::Allow;
use crate::verification::context::asks_for_no_tests;

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

/// What the words of a task read as if it permitted it. They permit nothing: this is for asking its owner.
///
/// ```
/// # use reflexion_core::domain::Allow;
/// # use reflexion_judge::verification::gates::seems_to_allow;
/// assert_eq!(seems_to_allow("Remove the tests of the old parser"), [Allow::RemoveTests]);
/// assert_eq!(seems_to_allow("The delete button of the cart does nothing"), []);
/// ```
#[must_use]
pub fn seems_to_allow(task: &str) -> Vec<Allow> {
    let seems = |allow: &Allow| match allow {
        Allow::RemoveTests => asks_to_remove(task) && speaks_of_tests(task),
        Allow::SkipTests => asks_to_skip(task),
        Allow::PushDefault => asks_to_push_default(task),
        Allow::SkipHooks => asks_to_skip_hooks(task),
        Allow::NoTests => asks_for_no_tests(task) || asked_to_fail(task),
    };
    Allow::ALL.into_iter().filter(seems).collect()
}
