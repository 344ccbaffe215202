//! Which lines of a confirmed change the checks notice.
//!
//! The code is taken back - first as a whole, then file by file, function by function, hunk by hunk, the largest first - and what is as
//! green without it stays away for all that follows: so `removed` is green as a whole, and two lines of which one would do are not
//! both called superfluous. A part counts as *carried* only where its whole is red by a failing test: half of a refactoring may be red
//! without anything that a test asks for. Nobody wrote such a program, so it is run where it can write to nothing but its room.

use super::both_texts;
use super::outcome::{Outcome, Reading};
use super::parts::Parts;
use super::runs::{Runs, contradiction_alone};
use super::seen::{Walls, Within};
use crate::domain::{CheckReport, Proof, ProofHunks, TreeId, Verdict};
use crate::orchestrator::review;
use crate::orchestrator::task_run::TaskRunError;
use crate::orchestrator::verdict::Judgement;
use crate::prompt::{one_line, shorten};
use crate::services::{Diff, Taken};
use crate::toolchain;
use crate::toolchain::CodeChange;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// One hunk: the file's place in the list, and its own there. A file that is not taken apart has one.
type At = (usize, usize);

/// A file of code that a change has touched.
struct File {
    name: String,
    /// None: it is taken back as a whole, with its mode.
    change: Option<CodeChange>,
    /// How many lines are new or gone.
    lines: usize,
    /// A part of it might do harm where no wall stops it: it stays as it is.
    stays: bool,
}

impl File {
    fn hunks(&self) -> usize {
        self.change.as_ref().map_or(1, |change| change.hunks.len())
    }

    /// Whether other code stood where this hunk is.
    fn replaces(&self, hunk: usize) -> bool {
        self.change.as_ref().is_some_and(|change| change.hunks[hunk].replaces)
    }

    fn place(&self, hunk: usize) -> String {
        match &self.change {
            Some(change) => format!("{}:{}", self.name, change.hunks[hunk].place),
            None => self.name.clone(),
        }
    }

    /// From the first of these to the last.
    fn place_of_all(&self, hunks: &[At]) -> String {
        let Some(change) = &self.change else { return self.name.clone() };
        let lines = hunks.iter().flat_map(|(_, hunk)| change.hunks[*hunk].place.split('-'));
        let lines: Vec<usize> = lines.filter_map(|line| line.parse().ok()).collect();
        match (lines.iter().min(), lines.iter().max()) {
            (Some(first), Some(last)) if first != last => format!("{}:{first}-{last}", self.name),
            (Some(line), _) => format!("{}:{line}", self.name),
            _ => self.name.clone(),
        }
    }
}

/// Whether these are several hunks, and all of one function.
fn is_of_one_function(unit: &[At], files: &[File]) -> bool {
    let function = |&(file, hunk): &At| Some((file, files[file].change.as_ref()?.hunks[hunk].function));
    let first = unit.first().and_then(function);
    unit.len() > 1 && first.is_some() && unit.iter().all(|at| function(at) == first)
}

/// Larger changes are not taken apart below their files.
const HUNKS: usize = 200;

/// For so long hunks are tried in any case, whatever share of the attempt's time it is.
const AT_LEAST: Duration = Duration::from_secs(30);

/// What is found out, hunk by hunk.
#[derive(Default)]
struct Found {
    removed: BTreeSet<At>,
    /// And how many were removed when it was tried.
    kept: BTreeMap<At, (Reading, usize)>,
    not_tried: BTreeSet<At>,
    /// Hunks of one function without which, all together, a test fails by more than a missing name.
    together: Vec<Vec<At>>,
    /// How the checks end without all code of the change.
    whole: Option<Reading>,
    /// Nothing but the whole was taken back, and it is removed.
    as_a_whole: bool,
}

impl Runs<'_> {
    /// Which lines of a confirmed change the checks notice, and the judgement that names those that none does.
    pub(super) async fn lines_noticed(
        &mut self,
        parts: &Parts,
        diff: &Diff,
        proven: Judgement,
    ) -> Result<(Judgement, Option<ProofHunks>), TaskRunError> {
        let is_known = proven.verdict == Verdict::Confirmed && self.undecided().is_none();
        if !is_known || self.confirmed.change.no_op || self.plan.context.services.settings.run().proving.max_share == 0
        {
            return Ok((proven, None));
        }
        let files = self.files(parts, diff).await?;
        if files.is_empty() {
            return Ok((proven, None));
        }
        let found = self.taken_back(&files, parts, proven.proof).await?;
        let walls = match &self.walls {
            Walls::Fail(because) if proven.because.contains(because) => {
                Some("which lines the checks notice was not tried either".to_owned())
            }
            Walls::Fail(because) => Some(format!("which lines the checks notice was not tried: {because}")),
            Walls::Unknown | Walls::Pass => None,
        };
        let found = if walls.is_some() { found.with_nothing_tried() } else { found };
        let hunks = ProofHunks { mistakes: self.mistakes_beside(&found, &files), ..found.hunks(&files) };
        let shown = |place: &str| shorten(&one_line(place), 120).into_owned();
        // Why nothing was tried says more than the places.
        let not_tried = if walls.is_some() { Vec::new() } else { hunks.not_tried.clone() };
        let words = ProofHunks { not_tried, ..hunks.clone() }.words(shown);
        let by = found.turned_by(&files, parts).filter(|_| proven.proof == Some(Proof::TurnedGreen));
        let by = by.map(|by| format!("of its code no check notices anything, only of {}", shown(&by)));
        let proof = if by.is_some() { Some(Proof::TestsAdapted) } else { proven.proof };
        let said = std::iter::once(proven.because.clone()).chain(by).chain(words).chain(walls);
        let because = said.collect::<Vec<_>>().join("; ");
        Ok((Judgement { proof, because, ..proven }, Some(hunks).filter(|hunks| !hunks.is_empty())))
    }

    /// Where mistakes were made that nobody noticed, other than in lines of which that is known anyway.
    fn mistakes_beside(&self, found: &Found, files: &[File]) -> Vec<String> {
        let is_removed = |mistake: &(String, usize)| {
            found.removed.iter().any(|&(file, hunk)| {
                let File { name, change, .. } = &files[file];
                *name == mistake.0 && change.as_ref().is_none_or(|change| change.hunks[hunk].has_line(mistake.1))
            })
        };
        self.survived
            .iter()
            .filter(|mistake| !is_removed(mistake))
            .map(|(file, line)| format!("{file}:{line}"))
            .collect()
    }

    /// The files of code that the change has touched, in hunks.
    async fn files(&self, parts: &Parts, diff: &Diff) -> Result<Vec<File>, TaskRunError> {
        let (workspace, tree) = (&self.prepared.workspace, &self.confirmed.change.tree);
        let base = workspace.base();
        let mut files = Vec::new();
        let mut changed: BTreeMap<&str, usize> = BTreeMap::new();
        for (of, _) in review::lines(&diff.text).filter(|(_, line)| line.starts_with(['+', '-'])) {
            *changed.entry(of).or_default() += 1;
        }
        for (name, [old, new]) in both_texts(&**workspace, [&base, tree], &parts.code).await? {
            let texts = old.iter().chain(&new);
            let stays = texts.into_iter().any(|text| toolchain::effect(name, text).is_some());
            let lines = changed.get(name.as_str()).copied().unwrap_or_default();
            let change = match (old, new) {
                (Some(old), Some(new)) => match CodeChange::between(name, &old, &new) {
                    // Comments, or only its mode.
                    Some(change) if change.hunks.is_empty() => continue,
                    // Its tests cannot be told from its code.
                    None if parts.inline.contains(name) => continue,
                    change => change,
                },
                _ => None,
            };
            files.push(File { name: name.clone(), change, lines, stays });
        }
        Ok(files)
    }

    async fn taken_back(&mut self, files: &[File], parts: &Parts, proof: Option<Proof>) -> Result<Found, TaskRunError> {
        let all = (0..files.len()).flat_map(|file| (0..files[file].hunks()).map(move |hunk| (file, hunk)));
        let (staying, all): (Vec<At>, Vec<At>) = all.partition(|(file, _)| files[*file].stays);
        let (mut found, whole) = (Found::default(), self.whole(parts).await?);
        found.not_tried.extend(staying);
        found.whole = whole;
        let Some(whole) = whole else {
            found.not_tried.extend(all);
            return Ok(found);
        };
        if whole == Reading::Green {
            // The old tests have shown what the change does, and those that it brings do not: of single lines that says nothing.
            let shows = proof.is_some_and(Proof::shows_a_difference);
            if shows {
                found.not_tried.extend(all);
            } else {
                // Nothing is run for it, so that nothing stays either; of single lines it says nothing.
                found.as_a_whole = true;
                found.removed.extend(all.into_iter().chain(std::mem::take(&mut found.not_tried)));
            }
            return Ok(found);
        }
        let is_coarse = all.len() > HUNKS;
        let mut waiting = split(all.clone(), files, is_coarse, (whole, &mut found));
        let mut is_repeated = false;
        while let Some(unit) = waiting.pop() {
            let Some((tree, reading)) = self.try_without(&unit, files, &found).await? else {
                found.not_tried.extend(unit);
                continue;
            };
            if reading == Reading::Red && !is_repeated {
                is_repeated = true;
                if self.is_another(&tree).await? {
                    found.not_tried.extend(all);
                    return Ok(Found { not_tried: found.not_tried, ..Found::default() });
                }
            }
            match reading {
                Reading::Green => found.removed.extend(unit),
                _ => waiting.extend(split(unit, files, is_coarse, (reading, &mut found))),
            }
        }
        self.entangled_again(files, &mut found).await?;
        found.anchor(whole);
        Ok(found)
    }

    /// What needs another hunk may go once that is away.
    async fn entangled_again(&mut self, files: &[File], found: &mut Found) -> Result<(), TaskRunError> {
        loop {
            let removed = found.removed.len();
            let next = found.kept.iter().find(|(_, (reading, at))| *reading == Reading::Entangled && *at < removed);
            let Some((&at, _)) = next else { return Ok(()) };
            let Some((_, reading)) = self.try_without(&[at], files, found).await? else { return Ok(()) };
            if reading == Reading::Green {
                found.kept.remove(&at);
                found.removed.insert(at);
            } else {
                found.kept.insert(at, (reading, removed));
            }
        }
    }

    /// Without all code: the base with the tests of the change. None: it was not to be run any more.
    async fn whole(&mut self, parts: &Parts) -> Result<Option<Reading>, TaskRunError> {
        let workspace = &self.prepared.workspace;
        let tree = workspace.blend(&workspace.base(), &self.confirmed.change.tree, &parts.with_settings()).await?;
        // At the base, tests may be missing that the code has brought with it.
        let is_base = tree == workspace.base();
        let reading = self.look_at(&tree).await?.map(|outcome| outcome.reading(self.confirmed.checks));
        let lost = || self.confirmed.checks.iter().any(|check| self.has_fewer_tests_at_base(check));
        Ok(reading
            .map(|reading| if reading == Reading::Green && is_base && lost() { Reading::Entangled } else { reading }))
    }

    fn has_fewer_tests_at_base(&self, check: &CheckReport) -> bool {
        let base = check.at_base(&self.prepared.baseline);
        base.is_some_and(|base| contradiction_alone(base, check).is_some())
    }

    /// The change without what was removed and without these. None: the runs, or the time, are used up.
    async fn try_without(
        &mut self,
        unit: &[At],
        files: &[File],
        found: &Found,
    ) -> Result<Option<(TreeId, Reading)>, TaskRunError> {
        let taken: BTreeSet<At> = found.removed.iter().chain(unit).copied().collect();
        let tree = self.tree_without(&taken, files).await?;
        let outcome = self.look_at(&tree).await?;
        Ok(outcome.map(|outcome| (tree, outcome.reading(self.confirmed.checks))))
    }

    /// None: it is not to be run, or nothing would follow from it.
    async fn look_at(&mut self, tree: &TreeId) -> Result<Option<Outcome>, TaskRunError> {
        if let Some(known) = self.known(tree) {
            return Ok(Some(known));
        }
        if let Some((_, seen)) = self.seen.iter().find(|(of, _)| of == tree) {
            return Ok(Some(seen.clone()));
        }
        if self.is_used_up() {
            return Ok(None);
        }
        self.plan.doing("which lines of the change the checks notice");
        let outcome = self.run(tree, None, (contradiction_alone, self.confirmed.checks), Within::Walls).await?;
        if self.walls_hold(&outcome).await?.is_err() {
            return Ok(None);
        }
        self.seen.push((tree.clone(), outcome.clone()));
        Ok(Some(outcome))
    }

    /// Whether a run that decides is another one when it is repeated.
    async fn is_another(&mut self, tree: &TreeId) -> Result<bool, TaskRunError> {
        let seen = self.seen.iter().find(|(of, _)| of == tree).map(|(_, seen)| seen.clone());
        let Some(seen) = seen.filter(|_| !self.is_used_up()) else { return Ok(false) };
        let again = self.run(tree, Some(&[]), (contradiction_alone, self.confirmed.checks), Within::Walls).await?;
        Ok(again.failing() != seen.failing())
    }

    fn is_used_up(&self) -> bool {
        let services = &self.plan.context.services;
        let proving = services.settings.run().proving;
        let most = AT_LEAST.max(self.attempt.saturating_mul(proving.max_share) / 1000);
        let took = services.clock.elapsed().saturating_sub(self.began);
        let are_in_the_way = matches!(self.walls, Walls::Fail(_));
        are_in_the_way
            || self.plan.context.cancel.is_cancelled()
            || self.counted.runs >= proving.max_runs + self.for_walls
            || took > most
    }

    async fn tree_without(&self, taken: &BTreeSet<At>, files: &[File]) -> Result<TreeId, TaskRunError> {
        let (mut whole, mut texts) = (Taken::default(), Vec::new());
        for (at, file) in files.iter().enumerate() {
            let hunks: Vec<usize> = taken.iter().filter(|(of, _)| *of == at).map(|(_, hunk)| *hunk).collect();
            match &file.change {
                _ if hunks.is_empty() => {}
                None => whole.files.push(file.name.clone()),
                Some(change) if hunks.len() == change.hunks.len() => {
                    texts.push((file.name.clone(), change.without_all()));
                }
                Some(change) => texts.push((file.name.clone(), change.without(&hunks))),
            }
        }
        let workspace = &self.prepared.workspace;
        let tree = workspace.blend(&self.confirmed.change.tree, &workspace.base(), &whole).await?;
        Ok(workspace.with_texts(&tree, &texts).await?)
    }
}

/// The parts of what cannot go as a whole, the largest last; one that has none is kept.
fn split(unit: Vec<At>, files: &[File], is_coarse: bool, (reading, found): (Reading, &mut Found)) -> Vec<Vec<At>> {
    if reading == Reading::Red && is_of_one_function(&unit, files) {
        found.together.push(unit.clone());
    }
    let function = |&(file, hunk): &At| files[file].change.as_ref().map_or(0, |change| change.hunks[hunk].function);
    let apart = |by: &dyn Fn(&At) -> (usize, usize)| {
        let mut parts: BTreeMap<(usize, usize), Vec<At>> = BTreeMap::new();
        for at in &unit {
            parts.entry(by(at)).or_default().push(*at);
        }
        parts.into_values().collect::<Vec<_>>()
    };
    let by_file = apart(&|at| (at.0, 0));
    let mut parts = match by_file.len() {
        1 if is_coarse => vec![unit.clone()],
        1 => {
            Some(apart(&|at| (at.0, function(at)))).filter(|parts| parts.len() > 1).unwrap_or_else(|| apart(&|at| *at))
        }
        _ => by_file,
    };
    if parts.len() == 1 {
        let removed = found.removed.len();
        found.kept.extend(unit.into_iter().map(|at| (at, (reading, removed))));
        return Vec::new();
    }
    let lines =
        |&(file, hunk): &At| files[file].change.as_ref().map_or(files[file].lines, |change| change.hunks[hunk].lines);
    parts.sort_by_key(|part| part.iter().map(lines).sum::<usize>());
    parts
}

impl Found {
    /// What is known without a run of its own, that a part is red at the base, is not known of that part.
    fn with_nothing_tried(mut self) -> Self {
        self.not_tried.extend(self.kept.into_keys());
        let Self { removed, not_tried, whole, as_a_whole, .. } = self;
        Self { removed, not_tried, whole, as_a_whole, ..Self::default() }
    }

    /// Where the whole was not red by a failing test, a part that is proves nothing.
    fn anchor(&mut self, whole: Reading) {
        if whole != Reading::Red {
            self.together.clear();
            self.kept.values_mut().for_each(|(reading, _)| *reading = Reading::Entangled);
        }
    }

    /// The only files that the checks notice, where each of them may be what asks, and nothing of any other file of code is noticed: a script that a
    /// check reaches by a way that nobody reads, or what it compares with.
    fn turned_by(&self, files: &[File], parts: &Parts) -> Option<String> {
        let noticed: BTreeSet<usize> = self.kept.keys().map(|(file, _)| *file).collect();
        let may_ask = |file: &usize| parts.may_ask(&files[*file].name);
        let is_open = |file: &usize| self.not_tried.iter().any(|(of, _)| of == file);
        let is_unnoticed = |file: &usize| !may_ask(file) && !noticed.contains(file) && !is_open(file);
        let has_other = (0..files.len()).any(|file| is_unnoticed(&file)) || !parts.programs.is_empty();
        if !has_other || !noticed.iter().all(may_ask) {
            return None;
        }
        if noticed.is_empty() {
            // Without the change all is red, and without its code nothing is.
            let is_by_prose = parts.prose && self.not_tried.is_empty() && self.whole != Some(Reading::Green);
            return is_by_prose.then(|| "texts".to_owned());
        }
        let names: Vec<&str> = noticed.iter().map(|file| files[*file].name.as_str()).collect();
        Some(names.join(", "))
    }

    fn hunks(&self, files: &[File]) -> ProofHunks {
        let place = |&(file, hunk): &At| files[file].place(hunk);
        let (carried, entangled): (Vec<&At>, Vec<&At>) =
            self.kept.keys().partition(|at| self.kept[at].0 == Reading::Red);
        // Of each alone nothing can be known, and of all together it is.
        let is_entangled = |unit: &&Vec<At>| unit.iter().all(|at| entangled.contains(&at));
        let together: Vec<&Vec<At>> = self.together.iter().filter(is_entangled).collect();
        let whole = |unit: &&Vec<At>| files[unit[0].0].place_of_all(unit);
        let alone = |at: &&&At| !together.iter().any(|unit| unit.contains(at));
        let replaces = |at: &&At| files[at.0].replaces(at.1);
        ProofHunks {
            replaced: self.removed.iter().filter(replaces).map(place).collect(),
            carried: carried.into_iter().map(place).chain(together.iter().map(whole)).collect(),
            not_noticed: self.removed.iter().map(place).collect(),
            whole: self.as_a_whole,
            mistakes: Vec::new(),
            entangled: entangled.iter().filter(alone).map(|at| place(at)).collect(),
            not_tried: self.not_tried.iter().map(place).collect(),
        }
    }
}
