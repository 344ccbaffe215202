//! The checks on parts of a change: what is red of them, beyond what is known.

use super::Confirmed;
use super::outcome::Outcome;
use super::seen::{Seen, Walls, Within};
use crate::domain::{CheckReport, CheckSpec, ProofRuns, TreeId};
use crate::orchestrator::checking::changed_outside;
use crate::orchestrator::results::{contradiction, no_success};
use crate::orchestrator::task_run::{Prepared, TaskPlan, TaskRunError};
use crate::services::Taken;
use std::time::Duration;

/// The runs on parts of one change.
pub(super) struct Runs<'a> {
    pub(super) plan: &'a TaskPlan,
    /// What was seen of trees in this turn and before it.
    pub(super) kept: &'a Seen,
    pub(super) prepared: &'a Prepared,
    pub(super) part: usize,
    pub(super) confirmed: Confirmed<'a>,
    pub(super) counted: ProofRuns,
    pub(super) changed_outside: Vec<String>,
    /// What was seen of which tree in this turn.
    pub(super) seen: Vec<(TreeId, Outcome)>,
    pub(super) walls: Walls,
    /// Old tests notice every mistake that was made in the new code.
    pub(super) tests_in_vain: bool,
    /// Files and lines in which a mistake was made that no test noticed, beside one that a new test did.
    pub(super) survived: Vec<(String, usize)>,
    /// Mistakes were left that could have been made in the new code, and no runs for them.
    pub(super) used_up: bool,
    /// Of the runs that are counted, those that take none from mistakes in new code.
    pub(super) not_counted: u32,
    /// That of the whole change within the walls, if there was one: it takes none from the others.
    pub(super) for_walls: u32,
    /// When this began, and how long the attempt had taken by then.
    pub(super) began: Duration,
    pub(super) attempt: Duration,
}

/// Which tests a part of a change is asked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    OldTests,
    NewTests,
}

/// Why a check counts as red although it passed.
pub(super) type Doubt = fn(&CheckReport, &CheckReport) -> Option<String>;

impl Runs<'_> {
    /// The change, without its tests.
    pub(super) async fn without(&mut self, taken: &Taken) -> Result<Outcome, TaskRunError> {
        let workspace = &self.prepared.workspace;
        let tree = workspace.blend(&self.confirmed.change.tree, &workspace.base(), taken).await?;
        self.on(&tree, contradiction_alone, Asks::OldTests).await
    }

    /// The base, with only the tests of the change.
    pub(super) async fn with_only(&mut self, taken: &Taken) -> Result<Outcome, TaskRunError> {
        let workspace = &self.prepared.workspace;
        let tree = workspace.blend(&workspace.base(), &self.confirmed.change.tree, taken).await?;
        self.on(&tree, no_success, Asks::NewTests).await
    }

    /// Runs the checks on what nobody wrote as it is there: new tests reach what the code as it was does not guard yet, and new code what tests
    /// as they were do not keep from it. Where the checks do not pass within the walls with the whole change either, they run as they always do.
    async fn on(&mut self, tree: &TreeId, doubt: Doubt, asks: Asks) -> Result<Outcome, TaskRunError> {
        if !matches!(self.walls, Walls::Fail(_)) {
            let outcome = self.twice(tree, doubt, Within::Walls).await?;
            let is_cancelled = self.plan.context.cancel.is_cancelled();
            // That old tests pass there says nothing of new ones.
            let is_known = self.counted.flaky || asks == Asks::OldTests && !outcome.is_red;
            if is_cancelled || is_known || self.walls_hold(&outcome).await?.is_ok() {
                return Ok(outcome);
            }
        }
        self.twice(tree, doubt, Within::Room).await
    }

    /// Runs the checks. What is red is run once more: green then, nothing follows from it.
    pub(super) async fn twice(&mut self, tree: &TreeId, doubt: Doubt, within: Within) -> Result<Outcome, TaskRunError> {
        if let Some(known) = self.known(tree) {
            return Ok(known);
        }
        let first = self.run(tree, None, (doubt, &self.prepared.baseline), within).await?;
        let outcome = if !first.is_red || self.plan.context.cancel.is_cancelled() {
            first
        } else {
            let second = self.run(tree, Some(&first.red), (doubt, &self.prepared.baseline), within).await?;
            self.counted.flaky |= !second.is_red;
            second
        };
        self.seen.retain(|(of, _)| of != tree);
        self.seen.push((tree.clone(), outcome.clone()));
        Ok(outcome)
    }

    /// What needs no run: the change itself, and the base.
    pub(super) fn known(&self, tree: &TreeId) -> Option<Outcome> {
        if *tree == self.confirmed.change.tree {
            return Some(Outcome::default());
        }
        (*tree == self.prepared.workspace.base()).then(|| {
            let baseline = &self.prepared.baseline;
            let red = |check: &CheckReport| beyond(check.at_base(baseline)?.clone(), check, baseline);
            let red: Vec<CheckReport> = self.confirmed.checks.iter().filter_map(red).collect();
            Outcome { is_red: !red.is_empty(), red }
        })
    }

    /// Runs the checks, or once more these of them (none: all), and keeps what is red; one that passed is, too, if there is a doubt beside these.
    pub(super) async fn run(
        &mut self,
        tree: &TreeId,
        only: Option<&[CheckReport]>,
        (doubt, beside): (Doubt, &[CheckReport]),
        within: Within,
    ) -> Result<Outcome, TaskRunError> {
        let is_same = |a: &CheckReport, b: &CheckReport| a.scope == b.scope && a.spec == b.spec;
        let is_meant = |check: &&CheckReport| {
            only.is_none_or(|only| only.is_empty() || only.iter().any(|one| is_same(one, check)))
        };
        let checks: Vec<&CheckReport> = self.confirmed.checks.iter().filter(is_meant).collect();
        let Some(reports) = self.reports(tree, &checks, (only.is_some(), within)).await? else {
            return Ok(Outcome { is_red: true, red: Vec::new() });
        };
        let baseline = &self.prepared.baseline;
        let outside = changed_outside(&reports, baseline);
        let mut red = Vec::new();
        for (report, check) in reports.into_iter().zip(&checks) {
            let doubted = report.at_base(beside).is_some_and(|beside| doubt(&report, beside).is_some());
            if check.passed() && doubted {
                red.push(report);
            } else {
                red.extend(beyond(report, check, baseline));
            }
        }
        self.changed_outside.extend(outside);
        Ok(Outcome { is_red: !red.is_empty(), red })
    }

    /// How these checks end on a tree: as an earlier turn or attempt has seen it, unless it is to be repeated. None: the room cannot be set up
    /// with it.
    pub(super) async fn reports(
        &mut self,
        tree: &TreeId,
        checks: &[&CheckReport],
        (anew, place): (bool, Within),
    ) -> Result<Option<Vec<CheckReport>>, TaskRunError> {
        let seen = |check: &CheckReport| (!anew).then(|| self.kept.of(tree, place, check)).flatten();
        let mut reports: Vec<Option<CheckReport>> = checks.iter().map(|check| seen(check)).collect();
        let open = |reports: &[Option<CheckReport>]| reports.iter().position(Option::is_none);
        if open(&reports).is_none() {
            return Ok(Some(reports.into_iter().flatten().collect()));
        }
        self.counted.runs += 1;
        let missing = checks.iter().zip(&reports).filter(|(_, report)| report.is_none());
        let asked = missing.map(|(check, _)| (check.scope, within(check))).collect();
        let walled = place == Within::Walls;
        let checked = self.plan.checks_of_work(self.prepared, self.part, tree, asked, walled).await?;
        if checked.not_set_up.is_some() {
            return Ok(None);
        }
        for mut report in checked.reports {
            let Some(at) = open(&reports) else { break };
            report.spec.clone_from(&checks[at].spec);
            // Under its own time limit the base does not know the check.
            let room = self.prepared.workspace.room().await?;
            let one = std::slice::from_mut(&mut report);
            self.plan.align_work(self.prepared, &*room, (self.part, tree, walled), one).await?;
            drop(room);
            self.kept.keep(tree, place, &report);
            reports[at] = Some(report);
        }
        Ok(Some(reports.into_iter().map_while(|report| report).collect()))
    }

    /// Whether what is red within the walls says something of the files: the whole change, or a part of it with its tests, is green there. Otherwise why
    /// nothing is known.
    pub(super) async fn walls_hold(&mut self, outcome: &Outcome) -> Result<Result<(), String>, TaskRunError> {
        if let (Walls::Unknown, false) = (&self.walls, outcome.is_red) {
            self.walls = Walls::Pass;
        }
        if let Walls::Unknown = self.walls {
            let (tree, before) = (self.confirmed.change.tree.clone(), self.counted.runs);
            let all = self.run(&tree, Some(&[]), (contradiction_alone, self.confirmed.checks), Within::Walls).await?;
            self.for_walls += self.counted.runs - before;
            self.walls = match all.red.first() {
                _ if !all.is_red => Walls::Pass,
                Some(check) => Walls::Fail(does_not_pass(check)),
                None => Walls::Fail("its room cannot be set up".to_owned()),
            };
            if let Walls::Fail(_) = self.walls {
                self.kept.keep_walls(&self.walls);
            }
        }
        Ok(match &self.walls {
            Walls::Fail(because) => Err(because.clone()),
            Walls::Unknown | Walls::Pass => Ok(()),
        })
    }
}

/// Why nothing is tried within the walls.
fn does_not_pass(check: &CheckReport) -> String {
    // Its time limit there is another one than its own.
    let how = match check.timed_out {
        true => format!("stopped after {} s", check.duration_ms / 1000),
        false if check.passed() => "fewer of its tests ran".to_owned(),
        false => check.how(),
    };
    format!("check `{}` does not pass where it may write only to its room and to caches ({how})", check.spec.name)
}

/// What of a check is red beyond what is red in it with the whole change, where that is known to fail at the base as well; none if nothing
/// is.
fn beyond(mut report: CheckReport, whole: &CheckReport, baseline: &[CheckReport]) -> Option<CheckReport> {
    if report.passed() || whole.passed() {
        return Some(report).filter(|report| !report.passed());
    }
    let turned = report.tests_turned(baseline);
    let passes_all = whole.tests_turned(baseline).iter().all(|test| turned.contains(test));
    let (Some(now), Some(before)) = (&mut report.signature.counted, &whole.signature.counted) else {
        return (!report.signature.is_no_more_by_look(&whole.signature)).then_some(report);
    };
    let is_more = now.failing.keys().any(|test| !before.failing.contains_key(test));
    now.failing.retain(|test, _| !before.failing.contains_key(test));
    (is_more || !passes_all).then_some(report)
}

/// The tests are those of the base: nothing about how they run may be another one.
pub(super) fn contradiction_alone(check: &CheckReport, base: &CheckReport) -> Option<String> {
    contradiction(check, base, false)
}

/// A check that takes much longer than with the whole change hangs.
fn within(check: &CheckReport) -> CheckSpec {
    const TIMES: u64 = 3;
    const AT_LEAST: Duration = Duration::from_secs(30);
    let least = u64::try_from(AT_LEAST.as_millis()).unwrap_or(u64::MAX);
    let most = check.duration_ms.saturating_mul(TIMES).saturating_add(least);
    let own = u64::try_from(check.spec.timeout().as_millis()).unwrap_or(u64::MAX);
    CheckSpec { timeout_ms: Some(own.min(most)), ..check.spec.clone() }
}
