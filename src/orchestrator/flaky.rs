//! Red checks that were green at the base are run once more before anybody is blamed: on the same files, and then at the
//! base.
//!
//! Passing on the same files, a check counts as green, and is called flaky. Failing at the base too, it says nothing
//! about the work: the attempt is not confirmed by that, and not called a lie either. In both cases this is said. What
//! an attempt has really broken is found out once in it: later turns do not ask again.

use super::course::Course;
use super::numbering::Base;
use super::task_run::{Prepared, TaskPlan, TaskRunError};
use crate::domain::{Change, CheckReport, CheckScope, CheckSpec, EventKind, FlakyHow, TreeId};
use crate::services::Workspace;

fn red(reports: &[CheckReport]) -> Vec<(CheckScope, CheckSpec)> {
    let red = reports.iter().filter(|report| !report.passed());
    red.map(|report| (report.scope, report.spec.clone())).collect()
}

/// The tests that failed the first time only, where the check is red still.
fn only_once(first: &CheckReport, again: &CheckReport) -> Vec<String> {
    let failing = |report: &CheckReport| {
        let counted = report.signature.counted.iter();
        counted.flat_map(|counted| counted.failing.keys().cloned()).collect::<Vec<String>>()
    };
    let again_too = failing(again);
    let once = failing(first).into_iter().filter(|test| !again_too.contains(test));
    if again.passed() { Vec::new() } else { once.collect() }
}

/// The checks that were red at the base, and are it in another way now that may be chance.
fn otherwise(checks: &[CheckReport], baseline: &[CheckReport]) -> Vec<(CheckScope, CheckSpec)> {
    let is_otherwise = |check: &&CheckReport| match check.at_base(baseline).filter(|base| !base.passed()) {
        Some(base) if !check.passed() => {
            check.tests_beside(baseline).is_some_and(|it| it.is_only_otherwise())
                || check.signature.may_vary(&base.signature)
        }
        _ => false,
    };
    checks.iter().filter(is_otherwise).map(|check| (check.scope, check.spec.clone())).collect()
}

/// Leaves out of a check's comparison with the base what differs there between two runs.
fn excuse(check: &mut CheckReport, baseline: &[CheckReport], again: &[CheckReport]) {
    let (Some(base), Some(again)) = (check.at_base(baseline), check.at_base(again)) else { return };
    check.signature.extent.excuse(&base.signature.extent, &again.signature.extent);
    if let (Some(there), Some(base)) = (&again.signature.counted, &base.signature.counted)
        && let Some(now) = &mut check.signature.counted
    {
        now.excuse(base, there);
    }
}

impl TaskPlan {
    /// Runs once more what turned red, in the clean room.
    pub(super) async fn look_again(
        &self,
        prepared: &Prepared,
        course: &mut Course,
        change: &Change,
        checks: &mut [CheckReport],
    ) -> Result<(), TaskRunError> {
        let (part, base) = (course.attempt.part, prepared.workspace.base());
        let room = prepared.workspace.room().await?;
        let base = Base { tree: &base, checks: &prepared.baseline };
        self.excuse_what_varies(&*room, (part, &change.tree), base, &change.files, checks).await?;
        drop(room);
        let asked = course.doubts.ask(checks, &prepared.baseline);
        if asked.is_empty() {
            return Ok(());
        }
        self.doing("once more what failed");
        let part = course.attempt.part;
        let checked = self.checks_of_work(prepared, part, &change.tree, asked.clone(), false).await?;
        if checked.not_set_up.is_some() {
            // What cannot even be set up is broken.
            course.doubts.blamed.extend(asked);
            return Ok(());
        }
        let again = checked.reports;
        if self.context.cancel.is_cancelled() {
            return Ok(());
        }
        // Beside tests that failed at the base, no other one fails any more.
        let is_no_more =
            |report: &CheckReport| report.tests_beside(&prepared.baseline).is_some_and(|it| it.is_no_more());
        let (fine, worse): (Vec<CheckReport>, Vec<CheckReport>) =
            again.into_iter().partition(|report| report.passed() || is_no_more(report));
        // What failed at the base as well says nothing there.
        let was_red = |report: &&CheckReport| report.at_base(&prepared.baseline).is_some_and(|base| !base.passed());
        course.doubts.blamed.extend(worse.iter().filter(was_red).map(|report| (report.scope, report.spec.clone())));
        let still: Vec<_> =
            worse.iter().filter(|report| !was_red(report)).map(|report| (report.scope, report.spec.clone())).collect();
        for mut report in fine {
            let first = checks.iter().find(|check| check.scope == report.scope && check.spec == report.spec);
            let tests = first.map(|first| only_once(first, &report)).unwrap_or_default();
            self.say_flaky(course, &report.spec, FlakyHow::PassedAgain, tests);
            let place = checks.iter_mut().find(|check| check.scope == report.scope && check.spec == report.spec);
            if let Some(place) = place {
                report.changed_outside.append(&mut place.changed_outside);
                *place = report;
            }
        }
        if still.is_empty() {
            return Ok(());
        }
        self.doing("what failed, at the base");
        let base = prepared.workspace.base();
        let there = self.checks_of_work(prepared, part, &base, still.clone(), false).await?;
        if self.context.cancel.is_cancelled() {
            return Ok(());
        }
        let doubted = red(&there.reports);
        course.doubts.blamed.extend(still.into_iter().filter(|check| !doubted.contains(check)));
        for check in doubted {
            self.say_flaky(course, &check.1, FlakyHow::FailsAtBase, Vec::new());
            course.doubts.at_base.push(check);
            // There is nothing in it that the agent could mend.
            course.max_turns = course.turn;
        }
        Ok(())
    }

    /// What failed at the base fails in another way now: where it does so at the base as well when it runs there once more, with a random
    /// text in its message, that is no other failure. What is left is run once more on the files themselves: it may have been chance.
    pub(super) async fn excuse_what_varies(
        &self,
        room: &dyn Workspace,
        (part, tree): (usize, &TreeId),
        base: Base<'_>,
        files: &[String],
        checks: &mut [CheckReport],
    ) -> Result<(), TaskRunError> {
        let baseline = base.checks;
        let asked = otherwise(checks, baseline);
        if asked.is_empty() {
            return Ok(());
        }
        self.doing("what failed, at the base");
        let there = self.checks_in(room, (part, base.tree), asked, false).await?.reports;
        checks.iter_mut().for_each(|check| excuse(check, baseline, &there));
        let asked = otherwise(checks, baseline);
        if asked.is_empty() || self.context.cancel.is_cancelled() {
            return Ok(());
        }
        self.doing("once more what failed");
        let mut reports = self.checks_in(room, (part, tree), asked, false).await?.reports;
        self.align(room, (part, tree, false), base, files, &mut reports).await?;
        for mut again in reports {
            excuse(&mut again, baseline, &there);
            let same = |check: &&mut CheckReport| check.scope == again.scope && check.spec == again.spec;
            let is_known = |base: &CheckReport| !again.passed() && again.signature.is_no_more_than(&base.signature);
            let Some(check) = checks.iter_mut().find(same) else { continue };
            if again.at_base(baseline).is_some_and(is_known) {
                again.changed_outside.append(&mut check.changed_outside);
                *check = again;
            } else {
                check.signature.extent.excuse_times(&again.signature.extent);
            }
        }
        Ok(())
    }

    fn say_flaky(&self, course: &mut Course, check: &CheckSpec, how: FlakyHow, tests: Vec<String>) {
        if let Some(flaky) = course.doubts.say(check, how, tests) {
            self.publish(EventKind::Warning { message: flaky.words() });
        }
    }
}
