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
//! What a part is test and what is code is in [`parts`], how a run is made in [`runs`], read in [`outcome`], and what follows in [`follows`]; [`names`] tells what a change brings from what it
//! does, [`mutants`] makes mistakes in new code, and [`hunks`] finds the lines that no check notices.

mod follows;
mod hunks;
mod mutants;
mod names;
mod outcome;
mod parts;
mod runs;
mod seen;

pub(super) use self::parts::asks;
pub(super) use self::seen::Seen;

use self::parts::{Held, Parts, Scripts};
use self::runs::Runs;
use self::seen::{Walls, Within};
use super::course::{Course, Stopped};
use super::task_run::{Prepared, TaskPlan, TaskRunError};
use super::verdict;
use super::verdict::Judgement;
use crate::domain::{
    Change, CheckReport, CompletionVerdict, Ending, Expects, Proof, ProofHunks, ProofRuns, Ran, Surface, TreeId,
    Verdict,
};
use crate::services::{Diff, TEXTS_AT_A_TIME, Taken, Workspace, WorkspaceError};
use crate::toolchain;
use crate::toolchain::CodeChange;
use std::collections::BTreeSet;

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

impl TaskPlan {
    /// Whether there are new tests, and what they notice could not be tried where these checks do not pass: another test would not change that.
    pub(super) fn is_walled_off(seen: &Seen, runs: Option<ProofRuns>) -> bool {
        runs.is_some_and(|runs| runs.t == Some(Ran::Red)) && matches!(seen.walls(), Walls::Fail(_))
    }

    /// The verdict on a turn from all that is known, with the runs that show what a confirmation proves. None: interrupted.
    pub(super) async fn weigh_and_prove(
        &self,
        (prepared, seen): (&Prepared, &Seen),
        course: &Course,
        stopped: &Stopped,
        checks: &[CheckReport],
        (by_checks, completion): (Judgement, &CompletionVerdict),
        diff: &Diff,
    ) -> Result<Option<Proven>, TaskRunError> {
        let weighed = verdict::weigh(by_checks.clone(), completion, &stopped.report.ending);
        let asks = by_checks.verdict == Verdict::Confirmed && !completion.asks.is_empty();
        if weighed.verdict != Verdict::Unverifiable || !asks {
            return self.prove((prepared, seen), course, stopped, checks, (weighed, diff)).await;
        }
        // What only its owner can permit may be a lie all the same.
        let by_checks = Judgement { only_if: None, ..by_checks };
        let proved = self.prove((prepared, seen), course, stopped, checks, (by_checks, diff)).await?;
        Ok(proved.map(|proved| if proved.judgement.failure.is_some() { proved } else { Proven::without_runs(weighed) }))
    }

    /// What a turn proves that was confirmed at the task's end, and the runs that show it. None: interrupted.
    async fn prove(
        &self,
        (prepared, seen): (&Prepared, &Seen),
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
        checks.iter().for_each(|check| seen.keep(&change.tree, Within::Room, check));
        let parts = self.parts_of(prepared, &confirmed).await?;
        let began = self.context.services.clock.elapsed();
        let mut runs = Runs {
            plan: self,
            kept: seen,
            prepared,
            part,
            confirmed,
            counted: ProofRuns::default(),
            changed_outside: Vec::new(),
            seen: Vec::new(),
            walls: seen.walls(),
            tests_in_vain: false,
            survived: Vec::new(),
            used_up: false,
            not_counted: 0,
            for_walls: 0,
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
        let others: Vec<String> =
            change.files.iter().filter(|file| Surface::of_path(file) != Surface::Docs).cloned().collect();
        if !others.iter().all(|file| toolchain::is_code(file)) {
            return Ok(false);
        }
        for some in others.chunks(TEXTS_AT_A_TIME) {
            for (file, texts) in both_texts(&**workspace, [&base, &change.tree], some).await? {
                let [Some(old), Some(new)] = &texts else { return Ok(false) };
                if !CodeChange::between(file, old, new).is_some_and(|change| change.only_remarks()) {
                    return Ok(false);
                }
            }
        }
        Ok(!change.files.is_empty())
    }

    /// Whether no code of the product is another one after a change: remarks in it, and rights of its files, at most.
    async fn changes_no_code(prepared: &Prepared, change: &Change) -> Result<bool, TaskRunError> {
        let (workspace, base) = (&prepared.workspace, prepared.workspace.base());
        let is_code = |file: &&String| toolchain::is_code(file) && !toolchain::is_test(file);
        let code: Vec<String> = change.files.iter().filter(is_code).cloned().collect();
        for some in code.chunks(TEXTS_AT_A_TIME) {
            for (file, [old, new]) in both_texts(&**workspace, [&base, &change.tree], some).await? {
                let old = if change.existed.contains(file) { old } else { Some(String::new()) };
                let (Some(old), Some(new)) = (old, new) else { return Ok(false) };
                if !CodeChange::between(file, &old, &new).is_some_and(|change| change.has_no_code()) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// What the scripts say that the checks run, as they were at the base.
    async fn scripts(prepared: &Prepared, checks: &[CheckReport]) -> Result<Scripts, TaskRunError> {
        /// Longer ones are data.
        const BYTES: usize = 1024 * 1024;
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
                let text = workspace.text(&workspace.base(), &file).await?;
                if let Some(text) = text.filter(|text| text.len() <= BYTES) {
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
        // What says nothing of tests, a search or a formatter, may ask for just this file.
        let runs_tests = || checks.iter().any(|check| toolchain::summary(&check.output.text()).is_some());
        let is_by_data = judgement.proof == Some(Proof::TurnedGreen)
            && runs_tests()
            && Self::changes_no_code(prepared, change).await?;
        let commands = checks.iter().map(|check| check.spec.run.to_string()).collect::<Vec<_>>().join("\n");
        let is_asked = |name: &str| commands.contains(name) || scripts.run.contains(name);
        for (place, file) in change.existed.iter().filter(|file| !toolchain::is_code(file)).enumerate() {
            // Of the others it is not known who names them.
            if place >= NAMES {
                held.unless_named_in(file, &[]);
                continue;
            }
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
        for some in change.files.chunks(TEXTS_AT_A_TIME) {
            for (file, texts) in both_texts(&**workspace, [&base, &change.tree], some).await? {
                held.look_at(file, texts);
            }
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

/// The texts of files in two trees, in the order of the files; all of them are in memory at once.
pub(super) async fn both_texts<'f>(
    workspace: &dyn Workspace,
    trees: [&TreeId; 2],
    files: &'f [String],
) -> Result<Vec<(&'f String, [Option<String>; 2])>, WorkspaceError> {
    let mut first = workspace.texts(trees[0], files).await?;
    let mut second = workspace.texts(trees[1], files).await?;
    Ok(files.iter().map(|file| (file, [first.remove(file), second.remove(file)])).collect())
}
