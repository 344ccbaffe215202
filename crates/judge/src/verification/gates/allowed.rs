//! What only a task's owner can permit, and where words of the task seem to.

use super::count::{asks_to_remove, asks_to_skip, speaks_of_tests};
use super::hooks::asks_to_skip_hooks;
use super::pushes::asks_to_push_default;
use super::tested::asked_to_fail;
use crate::domain::Allow;
use crate::verification::context::asks_for_no_tests;

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
