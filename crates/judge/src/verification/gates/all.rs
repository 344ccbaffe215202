//! Every gate, in a fixed order.

use super::answer::answer_present;
use super::build::build;
use super::change::{change_exists, protected_paths};
use super::claims::claimed_commands_ran;
use super::count::test_count;
use super::facts::{Facts, View};
use super::finding::Finding;
use super::hooks::hooks_kept;
use super::kept::tests_kept;
use super::pushes::no_direct_push;
use super::remote::{ci, pull_request};
use super::repeated::repeated_failure;
use super::runtime_checks::runtime_checks;
use super::tested::{tests_passed, tests_ran_after_last_change};
use crate::domain::GateReport;

/// Every gate's answer with what follows from it, in a fixed order: the runtime's own checks first.
#[must_use]
pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let view = View::new(facts);
    const GATES: [fn(&View<'_>) -> Finding; 15] = [
        runtime_checks,
        change_exists,
        tests_ran_after_last_change,
        tests_passed,
        build,
        test_count,
        tests_kept,
        protected_paths,
        claimed_commands_ran,
        no_direct_push,
        hooks_kept,
        pull_request,
        ci,
        answer_present,
        repeated_failure,
    ];
    GATES.iter().map(|gate| gate(&view)).collect()
}

/// Every gate's answer, in a fixed order.
#[must_use]
pub fn gates(facts: &Facts<'_>) -> Vec<GateReport> {
    findings(facts).into_iter().map(|finding| finding.report).collect()
}
