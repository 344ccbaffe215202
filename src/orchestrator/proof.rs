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

use super::attempt::Course;
use super::attempt::Stopped;
use super::checking::changed_outside;
use super::judge::Judgement;
use super::results::contradiction;
use super::results::no_success;
use super::results::runs;
use super::task::Prepared;
use super::task::TaskRun;
use super::task::TaskRunError;
use super::turns;
use crate::domain::Change;
use crate::domain::CheckReport;
use crate::domain::CheckSpec;
use crate::domain::CompletionVerdict;
use crate::domain::Ending;
use crate::domain::Expects;
use crate::domain::FailedTest;
use crate::domain::FileGlobs;
use crate::domain::Mutants;
use crate::domain::Proof;
use crate::domain::ProofRuns;
use crate::domain::Ran;
use crate::domain::Surface;
use crate::domain::TreeId;
use crate::domain::Verdict;
use crate::domain::belongs_to_tests;
use crate::domain::policy;
use crate::services::Diff;
use crate::services::Mistake;
use crate::services::Taken;
use crate::toolchain;
use std::path::Path;
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

/// What of a change the checks ask with, and what decides how they do it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Parts {
    /// Tests.
    tests: Vec<String>,
    /// Files that may decide what the tests ask for, and may as well be a part of the work: `Cargo.toml`, fixtures, `sh check.sh`.
    settings: Vec<String>,
    /// Files of code of which the tests among it were changed.
    inline: Vec<String>,
    /// A file of tests that was there is another one now, or gone.
    old_tests: bool,
    /// And it has lost a line: not only new tests have come.
    rewritten: bool,
    /// Anything else was changed.
    code: bool,
}

impl Parts {
    fn of(
        change: &Change,
        (checks, baseline): (&[CheckReport], &[CheckReport]),
        (prefix, named): (&Path, &FileGlobs),
        diff: &Diff,
    ) -> Self {
        let mut parts = Self::default();
        let commands: Vec<String> = checks.iter().map(|check| check.spec.run.to_string()).collect();
        for file in &change.files {
            let existed = change.existed.contains(file);
            let in_project = Path::new(file).strip_prefix(prefix).ok().and_then(Path::to_str).unwrap_or(file);
            let is_prose = Surface::of_path(file) == Surface::Docs;
            // The program that a check is may ask for less than it did.
            let is_check = existed && commands.iter().any(|command| runs(command, file));
            let is_given = || is_given(checks, baseline, in_project);
            if !is_prose && (toolchain::is_test(file) || named.has(in_project)) {
                parts.old_tests |= existed;
                parts.rewritten |= existed && !only_grew(diff, file);
                parts.tests.push(file.clone());
            } else if !is_prose
                && (toolchain::configures_tests(file) || belongs_to_tests(file) || is_check || is_given())
            {
                parts.settings.push(file.clone());
            } else {
                if existed && toolchain::has_inline_tests(file) {
                    parts.inline.push(file.clone());
                }
                parts.code = true;
            }
        }
        parts
    }

    fn has_tests(&self) -> bool {
        !self.tests.is_empty() || !self.inline.is_empty()
    }

    fn has_settings(&self) -> bool {
        !self.settings.is_empty()
    }

    /// The tests alone.
    fn only_tests(&self) -> Taken {
        Taken { files: self.tests.clone(), inline: self.inline.clone() }
    }

    fn with_settings(&self) -> Taken {
        let files = self.tests.iter().chain(&self.settings).cloned().collect();
        Taken { files, inline: self.inline.clone() }
    }
}

/// Whether a file is as it was, with more in it.
fn only_grew(diff: &Diff, file: &str) -> bool {
    let mut lines = super::review::lines(&diff.text).filter(|(of, _)| *of == file).peekable();
    lines.peek().is_some()
        && !diff.left_out.iter().any(|out| out == file)
        && lines.all(|(_, line)| !line.starts_with('-'))
}

/// Whether a check that turned green gives this file to a test runner: then it may be a test, whatever it is called.
fn is_given(checks: &[CheckReport], baseline: &[CheckReport], file: &str) -> bool {
    const RUNNERS: [&str; 7] = ["unittest", "pytest", "jest", "vitest", "mocha", "rspec", "phpunit"];
    let module = file.rsplit_once('.').map_or(file, |(module, _)| module).replace('/', ".");
    checks.iter().filter(|check| check.turned_green(baseline)).any(|check| {
        let command = check.spec.run.to_string();
        command.split(['\n', ';', '&', '|', '(', ')']).any(|part| {
            let words: Vec<&str> = part.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',')).collect();
            // To other programs, `--test` says something else.
            let node = |at: usize| words[at] == "--test" && words[..at].iter().any(|word| word.ends_with("node"));
            let runner = (0..words.len()).find(|&at| RUNNERS.contains(&words[at]) || node(at));
            let given = runner.map_or(&[][..], |at| &words[at + 1..]);
            let is_module = |word: &str| {
                let below = word.strip_prefix(module.as_str());
                words.contains(&"unittest") && below.is_some_and(|below| below.is_empty() || below.starts_with('.'))
            };
            let is_file = |word: &str| word.trim_start_matches("./").split("::").next() == Some(file);
            given.iter().any(|word| is_file(word) || is_module(word))
        })
    })
}

/// How the checks ended on a part of the change.
#[derive(Debug, Clone, Default)]
struct Outcome {
    /// Those that did not pass; empty with `is_red` where they could not even be prepared.
    red: Vec<CheckReport>,
    is_red: bool,
}

impl Outcome {
    fn ran(&self) -> Ran {
        if self.is_red { Ran::Red } else { Ran::Green }
    }

    /// Whether one of these checks, by name, is red.
    fn has_red(&self, names: &[String]) -> bool {
        self.is_red && (self.red.is_empty() || self.red.iter().any(|check| names.contains(&check.spec.name)))
    }

    /// Whether a test fails for what the code does that does not fail at the base. That a name is missing every test says of new code.
    fn fails_by_assertion(&self, baseline: &[CheckReport]) -> bool {
        self.red.iter().any(|check| {
            let before = check.at_base(baseline).map_or(&[][..], |base| &base.signature.tests);
            match &check.signature.counted {
                Some(counted) => {
                    let known = check.at_base(baseline).and_then(|base| base.signature.counted.as_ref());
                    let is_new = |test: &String| {
                        !before.contains(test) && known.is_none_or(|known| !known.failing.contains_key(test))
                    };
                    counted.failing.iter().any(|(test, failed)| is_new(test) && !is_about_a_name(&failed.how))
                }
                None => {
                    check.signature.tests.iter().any(|test| !before.contains(test))
                        && !check.output.text().lines().any(toolchain::says_a_name_is_missing)
                }
            }
        })
    }
}

impl Outcome {
    /// Whether a test that does not fail in the other outcome fails by what it asserts.
    fn asserts_beyond(&self, other: &Self) -> bool {
        // Nothing is known where the checks could not be prepared.
        if self.red.is_empty() || other.is_red && other.red.is_empty() {
            return false;
        }
        self.red.iter().any(|check| {
            let same = other.red.iter().find(|red| red.scope == check.scope && red.spec == check.spec);
            let known = |test: &String| {
                same.is_some_and(|red| {
                    let counted = red.signature.counted.as_ref();
                    red.signature.tests.contains(test)
                        || counted.is_some_and(|counted| counted.failing.contains_key(test))
                })
            };
            if let Some(counted) = &check.signature.counted {
                return counted.failing.iter().any(|(test, failed)| !known(test) && says_an_assertion_failed(failed));
            }
            let asserts = || check.output.text().lines().any(toolchain::says_an_assertion_failed);
            check.signature.tests.iter().any(|test| !known(test)) && asserts()
        })
    }
}

/// Whether a test fails by what it asserts.
fn says_an_assertion_failed(failed: &FailedTest) -> bool {
    let said = failed.how.split('\u{1f}').chain(failed.detail.iter().flat_map(|detail| detail.lines()));
    said.into_iter().any(toolchain::says_an_assertion_failed)
}

/// The same of one test's failure, as [`FailedTest`](crate::domain::FailedTest) has it.
fn is_about_a_name(how: &str) -> bool {
    let mut parts = how.split('\u{1f}');
    let code = parts.next().unwrap_or_default();
    toolchain::says_a_name_is_missing(&format!("{code}: {}", parts.next_back().unwrap_or_default()))
}

/// The runs on parts of one change.
struct Runs<'a> {
    task: &'a TaskRun,
    prepared: &'a Prepared,
    part: usize,
    confirmed: Confirmed<'a>,
    counted: ProofRuns,
    changed_outside: Vec<String>,
}

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

    /// Runs the checks that passed. What is red is run once more: green then, nothing follows from it.
    async fn on(
        &mut self,
        tree: &TreeId,
        doubt: fn(&CheckReport, &CheckReport) -> Option<String>,
    ) -> Result<Outcome, TaskRunError> {
        let baseline = &self.prepared.baseline;
        let passed: Vec<&CheckReport> = self.confirmed.checks.iter().filter(|check| check.passed()).collect();
        if *tree == self.confirmed.change.tree {
            return Ok(Outcome::default());
        }
        if *tree == self.prepared.workspace.base() {
            let base = passed.iter().filter_map(|check| check.at_base(baseline));
            let red: Vec<CheckReport> = base.filter(|base| !base.passed()).cloned().collect();
            return Ok(Outcome { is_red: !red.is_empty(), red });
        }
        let first = self.run(tree, &passed, doubt).await?;
        if !first.is_red || self.task.context.cancel.is_cancelled() {
            return Ok(first);
        }
        let again: Vec<&CheckReport> = if first.red.is_empty() {
            passed
        } else {
            let is_red =
                |check: &&&CheckReport| first.red.iter().any(|red| red.scope == check.scope && red.spec == check.spec);
            passed.iter().filter(is_red).copied().collect()
        };
        let second = self.run(tree, &again, doubt).await?;
        self.counted.flaky |= !second.is_red;
        Ok(second)
    }

    async fn run(
        &mut self,
        tree: &TreeId,
        checks: &[&CheckReport],
        doubt: fn(&CheckReport, &CheckReport) -> Option<String>,
    ) -> Result<Outcome, TaskRunError> {
        self.counted.runs += 1;
        let asked = checks.iter().map(|check| (check.scope, within(check))).collect();
        let checked = self.task.checks_of_work(self.prepared, self.part, tree, asked).await?;
        if checked.not_set_up.is_some() {
            return Ok(Outcome { is_red: true, red: Vec::new() });
        }
        let mut reports = checked.reports;
        for (report, check) in reports.iter_mut().zip(checks) {
            report.spec.clone_from(&check.spec);
        }
        let baseline = &self.prepared.baseline;
        self.changed_outside.extend(changed_outside(&reports, baseline));
        let is_red = |report: &CheckReport| {
            !report.passed() || report.at_base(baseline).is_some_and(|base| doubt(report, base).is_some())
        };
        reports.retain(is_red);
        Ok(Outcome { is_red: !reports.is_empty(), red: reports })
    }
}

/// The tests are those of the base: nothing about how they run may be another one.
fn contradiction_alone(check: &CheckReport, base: &CheckReport) -> Option<String> {
    contradiction(check, base, false)
}

/// How many mistakes are made at most.
const MUTANTS: u32 = 2;

/// Mistakes in the added lines of code, those first that tests notice most surely.
fn mistakes(diff: &str, is_code: impl Fn(&str) -> bool) -> Vec<Mistake> {
    let mut found: Vec<(usize, Mistake)> = Vec::new();
    for (file, number, is) in super::review::added_lines(diff) {
        if !toolchain::is_code(file) || !is_code(file) {
            continue;
        }
        if let Some(toolchain::Mutant { rank, line }) = toolchain::mutant(file, is) {
            let (file, is) = (file.to_owned(), is.to_owned());
            found.push((rank, Mistake { file, number, is, becomes: line }));
        }
    }
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, mistake)| mistake).collect()
}

/// Said where a new test fails without the change as an empty one would.
const NO_ASSERTION: &str = "without the rest of the change, no new test fails by what it asserts";

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
    /// The verdict on a turn from all that is known, with the runs that show what a confirmation proves. None: interrupted.
    pub(super) async fn weigh_and_prove(
        &self,
        prepared: &Prepared,
        course: &Course,
        stopped: &Stopped,
        checks: &[CheckReport],
        (by_checks, completion): (Judgement, &CompletionVerdict),
        diff: &Diff,
    ) -> Result<Option<(Judgement, Option<ProofRuns>)>, TaskRunError> {
        let weighed = turns::weigh(by_checks.clone(), completion, &stopped.report.ending);
        let asks = by_checks.verdict == Verdict::Confirmed && !completion.asks.is_empty();
        if weighed.verdict != Verdict::Unverifiable || !asks {
            return self.prove(prepared, course, stopped, checks, (weighed, diff)).await;
        }
        // What only its owner can permit may be a lie all the same.
        let by_checks = Judgement { only_if: None, ..by_checks };
        let proved = self.prove(prepared, course, stopped, checks, (by_checks, diff)).await?;
        Ok(proved.map(|(proved, runs)| if proved.failure.is_some() { (proved, runs) } else { (weighed, None) }))
    }

    /// What a turn proves that was confirmed at the task's end, and the runs that show it. None: interrupted.
    async fn prove(
        &self,
        prepared: &Prepared,
        course: &Course,
        stopped: &Stopped,
        checks: &[CheckReport],
        (judgement, diff): (Judgement, &Diff),
    ) -> Result<Option<(Judgement, Option<ProofRuns>)>, TaskRunError> {
        let part = course.attempt.part;
        if judgement.verdict != Verdict::Confirmed || part + 1 != self.parts.len() {
            return Ok(Some((judgement, None)));
        }
        let Stopped { report, change } = stopped;
        let (ending, expects) = (&report.ending, self.task.expects);
        let confirmed = Confirmed { change, checks, judgement: &judgement, ending, expects };
        let parts = self.parts_of(prepared, &confirmed, diff).await?;
        if !parts.has_tests() && !parts.has_settings() {
            return Ok(Some((without_tests(&confirmed), None)));
        }
        self.doing("what the checks prove: the change without its tests, and its tests without the rest");
        let (counted, changed_outside) = (ProofRuns::default(), Vec::new());
        let mut runs = Runs { task: self, prepared, part, confirmed, counted, changed_outside };
        let proven = match judgement.proof {
            Some(Proof::TurnedGreen) => Box::pin(runs.of_turned(&parts, diff)).await?,
            _ => Box::pin(runs.of_stayed(&parts, diff)).await?,
        };
        if self.context.cancel.is_cancelled() {
            return Ok(None);
        }
        let proven = runs.undecided().unwrap_or(proven);
        let counted = Some(runs.counted).filter(|runs| runs.c.is_some() || runs.t.is_some());
        Ok(Some((proven, counted)))
    }

    /// Takes a change apart.
    async fn parts_of(
        &self,
        prepared: &Prepared,
        confirmed: &Confirmed<'_>,
        diff: &Diff,
    ) -> Result<Parts, TaskRunError> {
        let Confirmed { change, checks, .. } = *confirmed;
        let (workspace, prefix) = (&prepared.workspace, prepared.workspace.prefix());
        let mut parts = Parts::of(change, (checks, &prepared.baseline), (&prefix, &self.context.tests), diff);
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
        let named = names(&turned);
        let c = self.without(&parts.with_settings()).await?;
        self.counted.c = Some(c.ran());
        if !c.is_red {
            return Ok(self.proven(Proof::TurnedGreen, &format!("{named} so with the tests as they were, too")));
        }
        if !c.has_red(&turned) {
            let others = names(&c.red.iter().map(|check| check.spec.name.clone()).collect::<Vec<_>>());
            return Ok(self.proven(Proof::TestsAdapted, &format!("{others} green only with the tests as they are now")));
        }
        if parts.has_settings() {
            // What may decide how tests run may as well be what the code needs: which of the two, a person must see.
            let kept = self.without(&parts.only_tests()).await?;
            if !kept.is_red {
                let settings = parts.settings.join(", ");
                return Ok(self.proven(Proof::TestsAdapted, &format!("{named} so only with {settings} as changed")));
            }
        }
        let t = self.with_only(&parts.only_tests()).await?;
        let by_tests = !t.has_red(&turned);
        let t = if by_tests || !parts.has_settings() { t } else { self.with_only(&parts.with_settings()).await? };
        self.counted.t = Some(t.ran());
        let is_red = t.has_red(&turned);
        // What runs no tests, a formatter or a search, looks at tests like at other files.
        if !self.runs_tests(&turned) {
            return Ok(self.proven(Proof::TestsAdapted, &format!("{named} so only with the tests as changed")));
        }
        let needs_both = "whether these tests still ask for the right thing, a person must see";
        if !is_red {
            return Ok(if !parts.old_tests && self.confirmed.expects != Expects::Fix {
                self.proven(Proof::TestsAdapted, "its own new tests alone turned it green")
            } else if by_tests {
                self.by_tests_alone(&named, parts.old_tests)
            } else {
                let settings = parts.settings.join(", ");
                self.unverifiable(&format!("the tests of the attempt turned it green, with {settings}: {needs_both}"))
            });
        }
        let asserts = t.fails_by_assertion(&self.prepared.baseline);
        if !parts.rewritten && !asserts {
            return self.of_new_code(parts, diff).await;
        }
        Ok(if parts.rewritten {
            self.unverifiable(&format!(
                "{named} green only with the tests that the attempt has changed, and needs the rest of its change too: {needs_both}"
            ))
        } else {
            self.proven(Proof::NewTest, "its new tests fail without the rest of the change")
        })
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
        if c.is_red {
            let what = "without what was changed of tests and of what decides how they run, it is red";
            return Ok(self.proven(Proof::TestsAdapted, what));
        }
        if !parts.has_tests() {
            return Ok(self.confirmed.judgement.clone());
        }
        if !parts.code {
            return Ok(self.proven(Proof::StayedGreen, "nothing but tests was changed"));
        }
        let t = self.with_only(&parts.with_settings()).await?;
        self.counted.t = Some(t.ran());
        if !t.is_red {
            return Ok(self.proven(Proof::StayedGreen, "its tests pass without the rest of the change, too"));
        }
        if t.fails_by_assertion(&self.prepared.baseline) {
            return Ok(self.proven(Proof::NewTest, "its tests fail without the rest of the change"));
        }
        self.of_new_code(parts, diff).await
    }

    /// New tests fail without the new code only because it is not there, as an empty test would: do they notice a mistake in it?
    async fn of_new_code(&mut self, parts: &Parts, diff: &Diff) -> Result<Judgement, TaskRunError> {
        let proving = self.task.context.services.settings.run().proving;
        if proving.mutants == policy::Mutants::Off {
            return Ok(self.proven(Proof::StayedGreen, NO_ASSERTION));
        }
        let mut tried = Mutants::default();
        let is_code = |file: &str| !parts.tests.iter().chain(&parts.settings).any(|test| test == file);
        for mistake in mistakes(&diff.text, is_code) {
            // One may take a run with the new tests, one with the old, and both again.
            if self.counted.runs + 2 > proving.max_runs || tried.survived + tried.killed == MUTANTS {
                break;
            }
            let Some(killed) = self.kills(parts, &mistake).await? else { continue };
            *(if killed { &mut tried.killed } else { &mut tried.survived }) += 1;
            self.counted.mutants = Some(tried);
            if killed {
                let Mistake { file, number, is, becomes } = mistake;
                let (is, becomes) = (is.trim(), becomes.trim());
                let what =
                    format!("its new tests notice a mistake in the new code ({file}:{number}: `{becomes}` for `{is}`)");
                return Ok(self.proven(Proof::NewTest, &what));
            }
        }
        Ok(self.proven(
            Proof::StayedGreen,
            &match tried.survived {
                0 => NO_ASSERTION.to_owned(),
                _ => format!("{NO_ASSERTION}, and none notices a mistake in the new code"),
            },
        ))
    }

    /// Whether a new test fails with a mistake, by what it asserts, where the old ones do not. None where it cannot be made.
    async fn kills(&mut self, parts: &Parts, mistake: &Mistake) -> Result<Option<bool>, TaskRunError> {
        let workspace = &self.prepared.workspace;
        let Some(tree) = workspace.with_mistake(&self.confirmed.change.tree, mistake).await? else { return Ok(None) };
        let with_new = self.on(&tree, no_success).await?;
        if !with_new.asserts_beyond(&Outcome::default()) {
            return Ok(Some(false));
        }
        let tree = workspace.blend(&tree, &workspace.base(), &parts.with_settings()).await?;
        let with_old = self.on(&tree, contradiction_alone).await?;
        Ok(Some(with_new.asserts_beyond(&with_old)))
    }

    /// Why nothing follows from the runs, if so.
    fn undecided(&self) -> Option<Judgement> {
        let because = if self.counted.flaky {
            "with a part of the change a check is red once and green once".to_owned()
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
        let turned = self.confirmed.checks.iter().filter(|check| check.turned_green(&self.prepared.baseline));
        turned.map(|check| check.spec.name.clone()).collect()
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

    /// The code as it was passes with the tests that the attempt has changed, and what it did to the code does not pass with the tests
    /// as they were.
    fn by_tests_alone(&self, named: &str, old_tests: bool) -> Judgement {
        let because = format!(
            "the tests alone turned it green: {named} green with the code as it was and the tests of the attempt, and red with the \
             code of the attempt and the tests as they were"
        );
        if self.confirmed.expects != Expects::Fix {
            return self.unverifiable(&format!("{because}. If the tests were to be changed, it is done"));
        }
        let next = if old_tests {
            "Bring the tests back as they were, and change the code"
        } else {
            "Write a test that fails without the change of the code"
        };
        let because = format!("{because}. {next}");
        let refuted = turns::refuted(self.confirmed.judgement.clone(), because, self.confirmed.ending);
        Judgement { todo: vec![next.to_owned()], ..refuted }
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

/// Nothing of the change has to do with tests: what is known is all there is.
fn without_tests(confirmed: &Confirmed<'_>) -> Judgement {
    let (judgement, files) = (confirmed.judgement.clone(), &confirmed.change.files);
    let only_prose = !files.is_empty() && files.iter().all(|file| Surface::of_path(file) == Surface::Docs);
    if judgement.proof != Some(Proof::StayedGreen) || !only_prose {
        return judgement;
    }
    Judgement { because: format!("{}; nothing but documentation was changed", judgement.because), ..judgement }
}
