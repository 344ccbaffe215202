//! What a confirmation proves, found out by taking parts of the change away and running the checks again.
//!
//! That a check is green says little where the change has touched what the check asks for. Two more runs tell: **C**, the change
//! with its tests taken back (the base's own tests on the new code), and **T**, the base with only the tests of the change (the new
//! tests on the old code; the *fail to pass* of [SWE-bench](https://arxiv.org/abs/2310.06770)).
//!
//! | | T red | T green |
//! |---|---|---|
//! | **C green** | the old tests, or new ones, show what the change does | the old tests show it, or nothing does |
//! | **C red** | code and tests need each other: a person must look | the tests alone did it |
//!
//! Code that knows the tests' own input passes both.
//!
//! What a part is test and what is code is in [`parts`], how a run is read in [`outcome`]; [`names`] tells what a change brings from what it
//! does, [`mutants`] makes mistakes in new code, and [`hunks`] finds the lines that no check notices.

mod hunks;
mod mutants;
mod names;
mod outcome;
mod parts;
mod seen;

pub(super) use self::outcome::is_about_a_name;
pub(super) use self::parts::asks;
pub(super) use self::seen::Seen;

use self::outcome::Outcome;
use self::parts::{Held, Parts, Scripts};
use super::attempt::{Course, Stopped};
use super::checking::changed_outside;
use super::results::{contradiction, no_success};
use super::task::{Prepared, TaskRun, TaskRunError};
use super::verdict::Judgement;
use super::{review, verdict};
use crate::domain::{
    Change, CheckReport, CheckSpec, CompletionVerdict, Ending, Expects, Proof, ProofHunks, ProofRuns, Ran, Surface,
    TreeId, Verdict, belongs_to_tests,
};
use crate::prompt::one_line;
use crate::services::{Diff, Taken};
use crate::toolchain;
use crate::toolchain::CodeChange;
use std::collections::BTreeSet;
use std::time::Duration;

/// A confirmed attempt.
#[derive(Debug, Clone, Copy)]
struct Confirmed<'a> {
    change: &'a Change,
    checks: &'a [CheckReport],
    judgement: &'a Judgement,
    ending: &'a Ending,
    expects: Expects,
}

/// What an attempt proves.
#[derive(Debug)]
pub(super) struct Proven {
    pub judgement: Judgement,
    /// The runs that show it.
    pub runs: Option<ProofRuns>,
    /// Which lines the checks notice.
    pub hunks: Option<ProofHunks>,
    /// Old tests notice every mistake that new ones could.
    pub tests_in_vain: bool,
}

impl Proven {
    fn without_runs(judgement: Judgement) -> Self {
        Self { judgement, runs: None, hunks: None, tests_in_vain: false }
    }
}

/// The runs on parts of one change.
struct Runs<'a> {
    task: &'a TaskRun,
    prepared: &'a Prepared,
    part: usize,
    confirmed: Confirmed<'a>,
    counted: ProofRuns,
    changed_outside: Vec<String>,
    /// What was seen of which tree.
    seen: Vec<(TreeId, Outcome)>,
    walls: Walls,
    /// Old tests notice every mistake that was made in the new code.
    tests_in_vain: bool,
    /// Mistakes were left that could have been made in the new code, and no runs for them.
    used_up: bool,
    /// Of the runs that are counted, those that take none from mistakes in new code.
    not_counted: u32,
    /// When this began, and how long the attempt had taken by then.
    began: Duration,
    attempt: Duration,
}

/// Whether the checks do their work also where they may write to nothing but their room: then only can they be run on what nobody wrote.
#[derive(Debug, Clone, Default)]
enum Walls {
    #[default]
    Unknown,
    Pass,
    /// And why not.
    Fail(String),
}

/// Where the checks of a run on a part are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Like those of the change: somebody wrote what they run.
    Room,
    /// Walled in: nobody did, and it may do anything.
    Walls,
}

/// What new tests show by how they fail without the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shows {
    /// The change makes a difference that a test asks for.
    Difference,
    /// The code as it was breaks with them. That may be the fault.
    Break,
    /// As much as an empty test.
    Nothing,
}

/// Said where the new code reaches, with tests as they were, what these do not keep it from.
const WRITES_ELSEWHERE: &str =
    "with the tests as they were it would write outside of its room, so that nobody knows whether they pass";

/// Why a check counts as red although it passed.
type Doubt = fn(&CheckReport, &CheckReport) -> Option<String>;

impl Runs<'_> {
    /// The change, without some of it.
    async fn without(&mut self, taken: &Taken) -> Result<Outcome, TaskRunError> {
        let workspace = &self.prepared.workspace;
        let tree = workspace.blend(&self.confirmed.change.tree, &workspace.base(), taken).await?;
        self.on(&tree, contradiction_alone).await
    }

    /// The base, with only some of the change.
    async fn with_only(&mut self, taken: &Taken) -> Result<Outcome, TaskRunError> {
        let workspace = &self.prepared.workspace;
        let tree = workspace.blend(&workspace.base(), &self.confirmed.change.tree, taken).await?;
        self.on(&tree, no_success).await
    }

    /// Runs the checks on what nobody wrote as it is there: new tests reach what the code as it was does not guard yet, and new code what tests
    /// as they were do not keep from it. Where the checks do not pass within the walls with the whole change either, they run as they always do.
    async fn on(&mut self, tree: &TreeId, doubt: Doubt) -> Result<Outcome, TaskRunError> {
        if !matches!(self.walls, Walls::Fail(_)) {
            let outcome = self.twice(tree, doubt, Within::Walls).await?;
            let is_cancelled = self.task.context.cancel.is_cancelled();
            if is_cancelled || self.counted.flaky || self.walls_hold(&outcome).await?.is_ok() {
                return Ok(outcome);
            }
        }
        self.twice(tree, doubt, Within::Room).await
    }

    /// Runs the checks. What is red is run once more: green then, nothing follows from it.
    async fn twice(&mut self, tree: &TreeId, doubt: Doubt, within: Within) -> Result<Outcome, TaskRunError> {
        if let Some(known) = self.known(tree) {
            return Ok(known);
        }
        let first = self.run(tree, None, (doubt, &self.prepared.baseline), within).await?;
        let outcome = if !first.is_red || self.task.context.cancel.is_cancelled() {
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
    fn known(&self, tree: &TreeId) -> Option<Outcome> {
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
    async fn run(
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
}

impl Runs<'_> {
    /// How these checks end on a tree: as an earlier turn or attempt has seen it, unless it is to be repeated. None: the room cannot be set up
    /// with it.
    async fn reports(
        &mut self,
        tree: &TreeId,
        checks: &[&CheckReport],
        (anew, place): (bool, Within),
    ) -> Result<Option<Vec<CheckReport>>, TaskRunError> {
        let seen = |check: &CheckReport| (!anew).then(|| self.task.seen.of(tree, place, check)).flatten();
        let mut reports: Vec<Option<CheckReport>> = checks.iter().map(|check| seen(check)).collect();
        let open = |reports: &[Option<CheckReport>]| reports.iter().position(Option::is_none);
        if open(&reports).is_none() {
            return Ok(Some(reports.into_iter().flatten().collect()));
        }
        self.counted.runs += 1;
        let missing = checks.iter().zip(&reports).filter(|(_, report)| report.is_none());
        let asked = missing.map(|(check, _)| (check.scope, within(check))).collect();
        let walled = place == Within::Walls;
        let checked = self.task.checks_of_work(self.prepared, self.part, tree, asked, walled).await?;
        if checked.not_set_up.is_some() {
            return Ok(None);
        }
        for mut report in checked.reports {
            let Some(at) = open(&reports) else { break };
            report.spec.clone_from(&checks[at].spec);
            // Under its own time limit the base does not know the check.
            let room = self.prepared.workspace.room().await?;
            let one = std::slice::from_mut(&mut report);
            self.task.align_work(self.prepared, &*room, (self.part, tree, walled), one).await?;
            drop(room);
            self.task.seen.keep(tree, place, &report);
            reports[at] = Some(report);
        }
        Ok(Some(reports.into_iter().map_while(|report| report).collect()))
    }
}

impl Runs<'_> {
    /// Whether what is red within the walls says something of the files: the whole change, or a part of it, is green there. Otherwise why
    /// nothing is known.
    async fn walls_hold(&mut self, outcome: &Outcome) -> Result<Result<(), String>, TaskRunError> {
        if let (Walls::Unknown, false) = (&self.walls, outcome.is_red) {
            self.walls = Walls::Pass;
        }
        if let Walls::Unknown = self.walls {
            let tree = self.confirmed.change.tree.clone();
            let all = self.run(&tree, Some(&[]), (contradiction_alone, self.confirmed.checks), Within::Walls).await?;
            self.walls = match all.red.first() {
                _ if !all.is_red => Walls::Pass,
                Some(check) => Walls::Fail(does_not_pass(check)),
                None => Walls::Fail("its room cannot be set up".to_owned()),
            };
            if let Walls::Fail(_) = self.walls {
                self.task.seen.keep_walls(&self.walls);
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
fn contradiction_alone(check: &CheckReport, base: &CheckReport) -> Option<String> {
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

impl TaskRun {
    /// Whether there are new tests, and what they notice could not be tried where these checks do not pass: another test would not change that.
    pub(super) fn is_walled_off(&self, runs: Option<ProofRuns>) -> bool {
        runs.is_some_and(|runs| runs.t == Some(Ran::Red)) && matches!(self.seen.walls(), Walls::Fail(_))
    }

    /// The verdict on a turn from all that is known, with the runs that show what a confirmation proves. None: interrupted.
    pub(super) async fn weigh_and_prove(
        &self,
        prepared: &Prepared,
        course: &Course,
        stopped: &Stopped,
        checks: &[CheckReport],
        (by_checks, completion): (Judgement, &CompletionVerdict),
        diff: &Diff,
    ) -> Result<Option<Proven>, TaskRunError> {
        let weighed = verdict::weigh(by_checks.clone(), completion, &stopped.report.ending);
        let asks = by_checks.verdict == Verdict::Confirmed && !completion.asks.is_empty();
        if weighed.verdict != Verdict::Unverifiable || !asks {
            return self.prove(prepared, course, stopped, checks, (weighed, diff)).await;
        }
        // What only its owner can permit may be a lie all the same.
        let by_checks = Judgement { only_if: None, ..by_checks };
        let proved = self.prove(prepared, course, stopped, checks, (by_checks, diff)).await?;
        Ok(proved.map(|proved| if proved.judgement.failure.is_some() { proved } else { Proven::without_runs(weighed) }))
    }

    /// What a turn proves that was confirmed at the task's end, and the runs that show it. None: interrupted.
    async fn prove(
        &self,
        prepared: &Prepared,
        course: &Course,
        stopped: &Stopped,
        checks: &[CheckReport],
        (judgement, diff): (Judgement, &Diff),
    ) -> Result<Option<Proven>, TaskRunError> {
        let part = course.attempt.part;
        if judgement.verdict != Verdict::Confirmed || part + 1 != self.parts.len() {
            return Ok(Some(Proven::without_runs(judgement)));
        }
        let Stopped { report, change } = stopped;
        let (ending, expects) = (&report.ending, self.task.expects);
        let confirmed = Confirmed { change, checks, judgement: &judgement, ending, expects };
        checks.iter().for_each(|check| self.seen.keep(&change.tree, Within::Room, check));
        let parts = self.parts_of(prepared, &confirmed).await?;
        let began = self.context.services.clock.elapsed();
        let mut runs = Runs {
            task: self,
            prepared,
            part,
            confirmed,
            counted: ProofRuns::default(),
            changed_outside: Vec::new(),
            seen: Vec::new(),
            walls: self.seen.walls(),
            tests_in_vain: false,
            used_up: false,
            not_counted: 0,
            began,
            attempt: began.saturating_sub(course.began),
        };
        let proven = if parts.has_tests() || parts.has_settings() {
            self.doing("what the checks prove: the change without its tests, and its tests without the rest");
            match judgement.proof {
                Some(Proof::TurnedGreen) => Box::pin(runs.of_turned(&parts, diff)).await?,
                _ => Box::pin(runs.of_stayed(&parts, diff)).await?,
            }
        } else if judgement.proof == Some(Proof::StayedGreen) && self.only_documents(prepared, change).await? {
            runs.proven(Proof::StayedGreen, "nothing but documentation was changed")
        } else {
            judgement.clone()
        };
        runs.see_base_again(&proven).await?;
        let proven = runs.undecided().unwrap_or(proven);
        let (proven, hunks) = Box::pin(runs.lines_noticed(&parts, diff, proven)).await?;
        if self.context.cancel.is_cancelled() {
            return Ok(None);
        }
        let proven = runs.undecided().unwrap_or(proven);
        let counted = Some(runs.counted).filter(|runs| runs.runs > 0 || runs.c.is_some() || runs.t.is_some());
        Ok(Some(Proven { judgement: proven, runs: counted, hunks, tests_in_vain: runs.tests_in_vain }))
    }

    /// Whether a change is one of texts, and of remarks and doc strings in code.
    async fn only_documents(&self, prepared: &Prepared, change: &Change) -> Result<bool, TaskRunError> {
        let (workspace, base) = (&prepared.workspace, prepared.workspace.base());
        for file in &change.files {
            if Surface::of_path(file) == Surface::Docs {
                continue;
            }
            let texts = (workspace.text(&base, file).await?, workspace.text(&change.tree, file).await?);
            let (Some(old), Some(new)) = texts else { return Ok(false) };
            let is_said = || CodeChange::between(file, &old, &new).is_some_and(|change| change.only_remarks());
            if !toolchain::is_code(file) || !is_said() {
                return Ok(false);
            }
        }
        Ok(!change.files.is_empty())
    }

    /// What the scripts say that the checks run, as they were at the base.
    async fn scripts(prepared: &Prepared, checks: &[CheckReport]) -> Result<Scripts, TaskRunError> {
        /// Longer ones are data.
        const BYTES: usize = 64 * 1024;
        /// Scripts that scripts name, and so on.
        const LEVELS: usize = 4;
        /// Words that may be one are looked up in the tree at most so often.
        const LOOKED_UP: usize = 256;
        let (workspace, prefix) = (&prepared.workspace, prepared.workspace.prefix());
        let commands: Vec<String> = checks.iter().map(|check| check.spec.run.to_string()).collect();
        // What is run, and what lists of commands name, which have more of them than the one that is run.
        let mut level = [commands.join("\n"), String::new()];
        let (mut all, mut seen) = (Scripts::default(), BTreeSet::new());
        for _ in 0..LEVELS {
            let mut next = [String::new(), String::new()];
            let found =
                [0, 1].map(|listed| parts::scripts(&level[listed]).into_iter().map(move |script| (listed, script)));
            for (listed, script) in found.into_iter().flatten() {
                if seen.len() == LOOKED_UP || !seen.insert(script.clone()) {
                    continue;
                }
                let Some(file) = prefix.join(&script).to_str().map(str::to_owned) else { continue };
                if let Some(text) = workspace.text(&workspace.base(), &file).await?.filter(|text| text.len() <= BYTES) {
                    let is_list = toolchain::configures_tests(&file);
                    let listed = if is_list { 1 } else { listed };
                    if is_list {
                        all.lists.push_str(&text);
                        all.lists.push('\n');
                    }
                    next[listed].push_str(&text);
                    next[listed].push('\n');
                }
            }
            all.run.push_str(&next[0]);
            next.iter().for_each(|next| all.given.push_str(next));
            level = next;
        }
        Ok(all)
    }

    /// Looks up what names changed data and texts: what tests alone name, they compare with. What turned a check green without a change of code
    /// is what asks, unless something says that it is asked.
    async fn look_up(
        prepared: &Prepared,
        confirmed: &Confirmed<'_>,
        scripts: &Scripts,
        held: &mut Held,
    ) -> Result<(), TaskRunError> {
        /// Of so many files at most.
        const NAMES: usize = 32;
        let Confirmed { change, checks, judgement, .. } = *confirmed;
        let (workspace, base) = (&prepared.workspace, prepared.workspace.base());
        let is_code = |file: &String| toolchain::is_code(file) && !toolchain::is_test(file);
        // What says nothing of tests, a search or a formatter, may ask for just this file.
        let runs_tests = || checks.iter().any(|check| toolchain::summary(&check.output.text()).is_some());
        let is_by_data =
            judgement.proof == Some(Proof::TurnedGreen) && !change.files.iter().any(is_code) && runs_tests();
        let commands = checks.iter().map(|check| check.spec.run.to_string()).collect::<Vec<_>>().join("\n");
        let is_asked = |name: &str| commands.contains(name) || scripts.run.contains(name);
        for file in change.existed.iter().filter(|file| !toolchain::is_code(file)).take(NAMES) {
            // Tests of documents name them, too, and a change of the program may need theirs.
            if Surface::of_path(file) == Surface::Docs && judgement.proof != Some(Proof::TurnedGreen) {
                continue;
            }
            let mut names = file.rsplit('/');
            let name = names.next().unwrap_or(file);
            let mut found = workspace.files_with(&base, name).await?;
            held.named_in(file, &found);
            if is_by_data && !is_asked(name) {
                // Code that makes the names of its files has their directory's.
                if let Some(dir) = names.next() {
                    found.extend(workspace.files_with(&base, dir).await?);
                }
                held.unless_named_in(file, &found);
            }
        }
        Ok(())
    }

    /// Takes a change apart.
    async fn parts_of(&self, prepared: &Prepared, confirmed: &Confirmed<'_>) -> Result<Parts, TaskRunError> {
        let Confirmed { change, checks, .. } = *confirmed;
        let (workspace, prefix) = (&prepared.workspace, prepared.workspace.prefix());
        let scripts = Self::scripts(prepared, checks).await?;
        let known = (checks, prepared.baseline.as_slice(), &scripts);
        let (mut held, base) = (Held::default(), workspace.base());
        for file in &change.files {
            held.look_at(file, [workspace.text(&base, file).await?, workspace.text(&change.tree, file).await?]);
        }
        Self::look_up(prepared, confirmed, &scripts, &mut held).await?;
        let mut parts = Parts::of(change, known, (&prefix, &self.context.tests), held);
        let inline = Taken { files: Vec::new(), inline: std::mem::take(&mut parts.inline) };
        if !inline.inline.is_empty() && workspace.blend(&change.tree, &workspace.base(), &inline).await? != change.tree
        {
            (parts.inline, parts.old_tests, parts.rewritten) = (inline.inline, true, true);
        }
        Ok(parts)
    }
}

impl Runs<'_> {
    /// A check was red at the base and is green now: by the code, or by its tests?
    async fn of_turned(&mut self, parts: &Parts, diff: &Diff) -> Result<Judgement, TaskRunError> {
        let turned = self.turned();
        let passes = self.what_passes();
        let c = self.without(&parts.with_settings()).await?;
        self.counted.c = Some(c.ran());
        if !c.is_red {
            return Ok(self.proven(Proof::TurnedGreen, &format!("{passes} with the tests as they were, too")));
        }
        if self.keeps_from_writing(&c) {
            return Ok(self.proven(Proof::TestsAdapted, WRITES_ELSEWHERE));
        }
        if !c.has_red(&turned) {
            let others = names(&c.red.iter().map(|check| check.spec.name.clone()).collect::<Vec<_>>());
            let what = c.failing_words().unwrap_or_else(|| format!("{others} red"));
            return Ok(self.proven(Proof::TestsAdapted, &format!("with the tests as they were, {what}")));
        }
        if parts.has_settings() {
            // What may decide how tests run may as well be what the code needs: which of the two, a person must see.
            let kept = self.without(&parts.only_tests()).await?;
            if !kept.is_red {
                return Ok(self.by_settings(parts));
            }
        }
        let t = self.with_only(&parts.only_tests()).await?;
        let by_tests = !t.has_red(&turned);
        let t = if by_tests || !parts.has_settings() { t } else { self.with_only(&parts.with_settings()).await? };
        self.counted.t = Some(t.ran());
        let is_red = t.has_red(&turned);
        // What runs no tests, a formatter or a search, looks at tests like at other files.
        if !self.runs_tests(&turned) {
            return Ok(self.proven(Proof::TestsAdapted, &format!("{passes} only with the tests as changed")));
        }
        let needs_both = "whether these tests still ask for the right thing, a person must see";
        if !is_red {
            return Ok(if !parts.old_tests && self.confirmed.expects != Expects::Fix {
                self.proven(Proof::TestsAdapted, "its own new tests alone turned it green")
            } else if by_tests {
                self.by_tests_alone(parts)
            } else {
                let settings = parts.settings.join(", ");
                self.unverifiable(&format!("the tests of the attempt turned it green, with {settings}: {needs_both}"))
            });
        }
        if c.still_fails(&turned, &self.prepared.baseline) {
            return Ok(self.unverifiable(&format!(
                "{passes} only with the tests that the attempt has added: with the tests as they were it fails as it did at the base, and \
                 {needs_both}"
            )));
        }
        if parts.rewritten {
            return Ok(self.unverifiable(&format!(
                "{passes} only with the tests that the attempt has changed, and with the rest of its change: {needs_both}"
            )));
        }
        match self.shows(&t, parts) {
            Shows::Difference => self.of_difference(parts, diff, &t).await,
            shows => self.of_new_code(parts, diff, shows).await,
        }
    }

    /// That new tests fail without the change, and which.
    fn fail_without(&self, t: &Outcome) -> String {
        let named = t.named_beyond(&self.prepared.baseline);
        format!("its new tests fail without the rest of the change{named}")
    }

    /// Whether one of these checks says how its tests went.
    fn runs_tests(&self, names: &[String]) -> bool {
        let baseline = &self.prepared.baseline;
        let has_summary = |check: &CheckReport| toolchain::summary(&check.output.text()).is_some();
        let named = self.confirmed.checks.iter().filter(|check| names.contains(&check.spec.name));
        named.into_iter().any(|check| has_summary(check) || check.at_base(baseline).is_some_and(has_summary))
    }

    /// Every check was green before: does any test tell the change from no change?
    async fn of_stayed(&mut self, parts: &Parts, diff: &Diff) -> Result<Judgement, TaskRunError> {
        let c = self.without(&parts.with_settings()).await?;
        self.counted.c = Some(c.ran());
        if self.keeps_from_writing(&c) {
            return Ok(self.proven(Proof::TestsAdapted, WRITES_ELSEWHERE));
        }
        // Where there were no tests, their want is what is red without the new ones.
        let is_only_missing = !parts.old_tests && !parts.has_settings() && !c.fails_anywhere();
        if c.is_red && !is_only_missing {
            let others = || names(&c.red.iter().map(|check| check.spec.name.clone()).collect::<Vec<_>>());
            let what = c.failing_words().unwrap_or_else(|| format!("{} red", others()));
            let changed = parts.tests.iter().chain(&parts.settings).chain(&parts.inline).cloned().collect::<Vec<_>>();
            let were = if changed.len() == 1 { "as it was" } else { "as they were" };
            let what = format!("with {} {were}, {what}", changed.join(", "));
            return Ok(self.proven(Proof::TestsAdapted, &what));
        }
        if !parts.has_tests() {
            return Ok(self.with_example(diff));
        }
        if parts.code.is_empty() && !parts.prose {
            return Ok(self.proven(Proof::StayedGreen, "nothing but tests was changed"));
        }
        let t = self.with_only(&parts.with_settings()).await?;
        self.counted.t = Some(t.ran());
        if !t.is_red {
            let alike = if t.fails_anywhere() { "end alike" } else { "pass" };
            let why = format!("its tests {alike} without the rest of the change, too");
            return Ok(self.proven(Proof::StayedGreen, &why));
        }
        match self.shows(&t, parts) {
            Shows::Difference => self.of_difference(parts, diff, &t).await,
            shows => self.of_new_code(parts, diff, shows).await,
        }
    }

    /// The verdict as it is; of examples in the documentation of code, why they prove nothing.
    fn with_example(&self, diff: &Diff) -> Judgement {
        let judgement = self.confirmed.judgement.clone();
        let is_one =
            |(file, _, line): &(&str, usize, &str)| toolchain::is_code(file) && toolchain::begins_example(file, line);
        let Some((file, number, _)) = review::added_lines(&diff.text).find(is_one) else { return judgement };
        let example = format!("{}:{number}", one_line(file));
        let because = format!(
            "{}; the example at {example} is a part of the code, so that it was not tried without it: a test in a file of tests would be",
            judgement.because
        );
        Judgement { because, ..judgement }
    }

    /// Whether the walls have kept it from something, which they do not keep the whole change from.
    fn keeps_from_writing(&self, outcome: &Outcome) -> bool {
        outcome.is_red && !matches!(self.walls, Walls::Fail(_)) && outcome.was_denied()
    }

    /// Whether the task is about what is wrong.
    fn is_of_fault(&self) -> bool {
        self.task.task.is_fault() || self.task.task.expects == Expects::Fix
    }

    /// What the new tests show of the change by how they fail without it.
    fn shows(&self, t: &Outcome, parts: &Parts) -> Shows {
        let (task, baseline, is_fault) = (&self.task.task, &self.prepared.baseline, self.is_of_fault());
        // What else turned green may be all that they show, where it is somebody else's.
        let has_others = self.confirmed.judgement.proof == Some(Proof::StayedGreen) && !self.turned().is_empty();
        let breaks = t.breaks_old_code(baseline, parts);
        match t.fails_by_assertion(baseline, parts) || is_fault && breaks {
            _ if has_others => Shows::Nothing,
            true => Shows::Difference,
            // An empty test breaks the code as well that does not know yet what is new.
            false if breaks && !task.is_new_work() => Shows::Break,
            false => Shows::Nothing,
        }
    }

    /// What turned green is asked once more at the base: a check that is red there only now and then has not turned.
    async fn see_base_again(&mut self, proven: &Judgement) -> Result<(), TaskRunError> {
        let turned = self.turned();
        if proven.proof != Some(Proof::TurnedGreen) || self.counted.flaky {
            return Ok(());
        }
        let is_turned = |check: &&CheckReport| turned.contains(&check.spec.name);
        let asked: Vec<CheckReport> = self.confirmed.checks.iter().filter(is_turned).cloned().collect();
        let base = self.prepared.workspace.base();
        let again = self.run(&base, Some(&asked), (no_success, &self.prepared.baseline), Within::Room).await?;
        self.counted.flaky |= !again.has_red(&turned);
        Ok(())
    }

    /// Why nothing follows from the runs, if so.
    fn undecided(&self) -> Option<Judgement> {
        let because = if self.counted.flaky {
            "on the same files, without all or a part of the change, a check is red once and green once".to_owned()
        } else if self.changed_outside.is_empty() {
            return None;
        } else {
            // The work as a whole does not do it: that refutes nothing.
            format!("with a part of the change a check does this: {}", self.changed_outside.join("; "))
        };
        Some(self.proven(Proof::StayedGreen, &format!("what that proves is not known: {because}")))
    }

    /// The checks that turned green, by name.
    fn turned(&self) -> Vec<String> {
        let baseline = &self.prepared.baseline;
        let turned = self.confirmed.checks.iter().filter(|check| check.has_turned(baseline));
        turned.map(|check| check.spec.name.clone()).collect()
    }

    /// What was red and is not any more, in words: ``test `a` passes``, or ``check `x` is green``, in which nothing else is red.
    fn what_passes(&self) -> String {
        let baseline = &self.prepared.baseline;
        let tests = self.confirmed.checks.iter().flat_map(|check| check.tests_turned(baseline));
        let tests: Vec<String> = tests.map(one_line).collect::<BTreeSet<_>>().into_iter().collect();
        match tests.as_slice() {
            [] => format!("{} green", names(&self.turned())),
            [test] => format!("test `{test}` passes"),
            _ => format!("tests {} pass", verdict::listed(&tests.iter().map(String::as_str).collect::<Vec<_>>())),
        }
    }

    /// Confirmed with another proof, and why.
    fn proven(&self, proof: Proof, what: &str) -> Judgement {
        let judgement = self.confirmed.judgement;
        Judgement { proof: Some(proof), because: format!("{}; {what}", judgement.because), ..judgement.clone() }
    }

    fn unverifiable(&self, because: &str) -> Judgement {
        let (verdict, because) = (Verdict::Unverifiable, because.to_owned());
        Judgement { verdict, proof: None, because, ..self.confirmed.judgement.clone() }
    }

    /// What may decide how tests run, or what they compare with, is what turned it green.
    fn by_settings(&self, parts: &Parts) -> Judgement {
        let settings = parts.settings.join(", ");
        let is_alone = parts.code.is_empty() && !parts.prose;
        // Product code may be called like a test.
        let is_data = |file: &String| belongs_to_tests(file) && !toolchain::is_code(file);
        if is_alone && self.confirmed.expects == Expects::Fix && parts.settings.iter().all(is_data) {
            return self.by_tests_alone(parts);
        }
        let passes = self.what_passes();
        let what = if parts.programs.is_empty() {
            format!("{passes} only with {settings} as changed, and nothing shows that this is what was to be changed")
        } else {
            let programs = parts.programs.join(", ");
            let (is, ask) = if parts.programs.len() == 1 { ("is", "asks") } else { ("are", "ask") };
            format!(
                "{passes} only with {settings} as changed: {programs} {is} run by a check, and whether that is what is tested, or what {ask}, a person must see"
            )
        };
        self.proven(Proof::TestsAdapted, &what)
    }

    /// The code as it was passes with the tests that the attempt has changed, and what it did to the code does not pass with the tests
    /// as they were.
    fn by_tests_alone(&self, parts: &Parts) -> Judgement {
        let passes = self.what_passes();
        let changed = verdict::first_files(&self.confirmed.change.files);
        let without = if parts.code.is_empty() {
            format!("nothing but tests and what decides how they run was changed ({changed})")
        } else {
            "red with the code of the attempt and the tests as they were".to_owned()
        };
        let because = format!(
            "the tests alone turned it green: {passes} with the code as it was and the tests of the attempt, and {without}"
        );
        if self.confirmed.expects != Expects::Fix {
            return self.unverifiable(&format!("{because}. If the tests were to be changed, it is done"));
        }
        let next = if parts.code.is_empty() {
            format!("Bring {changed} back, as it was at the base, and change the code")
        } else if parts.old_tests {
            "Bring the tests back as they were, and change the code".to_owned()
        } else {
            "Write a test that fails without the change of the code".to_owned()
        };
        let because = format!("{because}. {next}");
        let refuted = verdict::refuted_after(self.confirmed.judgement.clone(), because, self.confirmed.ending);
        Judgement { todo: vec![next], ..refuted }
    }
}

/// `check `a` is`, or of several `checks `a`, `b` are`.
fn names(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [name] => format!("check {name} is"),
        _ => format!("checks {} are", quoted.join(", ")),
    }
}
