//! What follows from the runs C and T, in a verdict and in words.

use super::outcome::Outcome;
use super::parts::Parts;
use super::runs::Runs;
use super::seen::{Walls, Within};
use crate::domain::{CheckReport, Expects, Proof, Verdict, belongs_to_tests};
use crate::orchestrator::results::no_success;
use crate::orchestrator::task_run::TaskRunError;
use crate::orchestrator::verdict::Judgement;
use crate::orchestrator::{review, verdict};
use crate::prompt::one_line;
use crate::services::Diff;
use crate::toolchain;
use std::collections::BTreeSet;

/// What new tests show by how they fail without the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shows {
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

impl Runs<'_> {
    /// A check was red at the base and is green now: by the code, or by its tests?
    pub(super) async fn of_turned(&mut self, parts: &Parts, diff: &Diff) -> Result<Judgement, TaskRunError> {
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
            let has = if parts.old_tests { "changed" } else { "added" };
            return Ok(self.unverifiable(&format!(
                "{passes} only with the tests that the attempt has {has}: with the tests as they were it fails as it did at the base, and \
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
    pub(super) fn fail_without(&self, t: &Outcome) -> String {
        let named = t.named_beyond(&self.prepared.baseline);
        format!("its new tests fail without the rest of the change{named}")
    }

    /// Whether one of these checks says how its tests went.
    pub(super) fn runs_tests(&self, names: &[String]) -> bool {
        let baseline = &self.prepared.baseline;
        let has_summary = |check: &CheckReport| toolchain::summary(&check.output.text()).is_some();
        let named = self.confirmed.checks.iter().filter(|check| names.contains(&check.spec.name));
        named.into_iter().any(|check| has_summary(check) || check.at_base(baseline).is_some_and(has_summary))
    }

    /// Every check was green before: does any test tell the change from no change?
    pub(super) async fn of_stayed(&mut self, parts: &Parts, diff: &Diff) -> Result<Judgement, TaskRunError> {
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
    pub(super) fn with_example(&self, diff: &Diff) -> Judgement {
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
    pub(super) fn keeps_from_writing(&self, outcome: &Outcome) -> bool {
        outcome.is_red && !matches!(self.walls, Walls::Fail(_)) && outcome.was_denied()
    }

    /// Whether the task is about what is wrong.
    pub(super) fn is_of_fault(&self) -> bool {
        self.plan.task.is_fault() || self.plan.task.expects == Expects::Fix
    }

    /// What the new tests show of the change by how they fail without it.
    pub(super) fn shows(&self, t: &Outcome, parts: &Parts) -> Shows {
        let (task, baseline, is_fault) = (&self.plan.task, &self.prepared.baseline, self.is_of_fault());
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
    pub(super) async fn see_base_again(&mut self, proven: &Judgement) -> Result<(), TaskRunError> {
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
    pub(super) fn undecided(&self) -> Option<Judgement> {
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
    pub(super) fn turned(&self) -> Vec<String> {
        let baseline = &self.prepared.baseline;
        let turned = self.confirmed.checks.iter().filter(|check| check.has_turned(baseline));
        turned.map(|check| check.spec.name.clone()).collect()
    }

    /// What was red and is not any more, in words: ``test `a` passes``, or ``check `x` is green``, in which nothing else is red.
    pub(super) fn what_passes(&self) -> String {
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
    pub(super) fn proven(&self, proof: Proof, what: &str) -> Judgement {
        let judgement = self.confirmed.judgement;
        Judgement { proof: Some(proof), because: format!("{}; {what}", judgement.because), ..judgement.clone() }
    }

    pub(super) fn unverifiable(&self, because: &str) -> Judgement {
        let (verdict, because) = (Verdict::Unverifiable, because.to_owned());
        Judgement { verdict, proof: None, because, ..self.confirmed.judgement.clone() }
    }

    /// What may decide how tests run, or what they compare with, is what turned it green.
    pub(super) fn by_settings(&self, parts: &Parts) -> Judgement {
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
    pub(super) fn by_tests_alone(&self, parts: &Parts) -> Judgement {
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
