//! P2: what had to be repaired soon after it came, and which gate would have caught it.

use super::decision::Decision;
use super::experiment::Experiment;
use super::gates::{Gate, gate};
use super::landing::{Landing, Step};
use super::paths::is_bookkeeping;
use super::repair::{Claim, Culprit, RepairKind, claim};
use crate::domain::{Commit, FileChange, HistoryExtent};
use crate::evaluation::Rate;
use crate::services::CommitReader;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A share of self-reflection below so many % kills.
const LIMIT_PERCENT: u64 = 5;
/// So many repairs are listed of each gate.
const EXAMPLES: usize = 10;
const DAY: i64 = 24 * 60 * 60;

/// What the history says; read it with a [`History`](crate::services::History), newest first.
#[derive(Debug)]
pub struct FollowUps {
    days: u32,
    landing: Landing,
    claims: BTreeMap<usize, Waiting>,
    by_line: HashMap<u64, Vec<usize>>,
    next: usize,
    claimed: u64,
    found: [Found; 3],
    kinds: BTreeMap<RepairKind, u64>,
}

/// A repair whose culprit is still to come.
#[derive(Debug)]
struct Waiting {
    commit: Commit,
    claim: Claim,
    step: Step,
    keys: HashSet<u64>,
}

#[derive(Debug, Default)]
struct Found {
    count: u64,
    examples: Vec<Repair>,
}

/// A repair soon after what it repairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// The gate that would have caught it.
    pub gate: Gate,
    /// The rule that says so.
    pub rule: &'static str,
    /// What kind of repair it is.
    pub kind: RepairKind,
    /// Days between the two, in whole ones.
    pub days: u32,
    /// The repair's id.
    pub commit: String,
    /// The repair's subject.
    pub subject: String,
    /// What it repairs: its id.
    pub repairs: String,
    /// What it repairs: its subject.
    pub repairs_subject: String,
}

/// P2's result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GitHistoryResult {
    /// Written down before any data was seen.
    pub kill_condition: &'static str,
    /// Whether it was met.
    #[serde(flatten)]
    pub decision: Decision,
    /// Repairs soon after what they repair.
    pub n: u64,
    /// What each gate would have caught, of `n`.
    pub gates: Gates,
    /// The repairs by their kind.
    pub kinds: BTreeMap<RepairKind, u64>,
    /// Commits that call themselves a repair, and repair nothing that came soon before.
    pub later_or_unknown: u64,
    /// How soon is soon.
    pub days: u32,
    /// Steps of the main line: merges, and commits made on it.
    pub changes: u32,
    /// What was there to read.
    #[serde(flatten)]
    pub extent: HistoryExtent,
    /// Some repairs of each gate, the newest first.
    pub examples: Vec<Repair>,
}

/// What each gate would have caught.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gates {
    /// A machine.
    pub ci: Rate,
    /// A reader.
    pub review: Rate,
    /// Only whoever wrote it.
    pub self_reflection: Rate,
}

impl Gates {
    /// What this one would have caught.
    #[must_use]
    pub fn of(&self, gate: Gate) -> Rate {
        match gate {
            Gate::Ci => self.ci,
            Gate::Review => self.review,
            Gate::SelfReflection => self.self_reflection,
        }
    }
}

impl FollowUps {
    /// Repairs count that came within `days` of what they repair.
    #[must_use]
    pub fn within(days: u32) -> Self {
        Self {
            days,
            landing: Landing::default(),
            claims: BTreeMap::new(),
            by_line: HashMap::new(),
            next: 0,
            claimed: 0,
            found: Default::default(),
            kinds: BTreeMap::new(),
        }
    }

    /// The result, when the history is over.
    #[must_use]
    pub fn result(self, extent: HistoryExtent) -> GitHistoryResult {
        let n = self.found.iter().map(|found| found.count).sum();
        let [ci, review, self_reflection] = self.found.each_ref().map(|found| Rate::new(found.count, n));
        GitHistoryResult {
            kill_condition: Experiment::GitHistory.kill_condition(),
            decision: decide(self_reflection, extent.commits),
            n,
            gates: Gates { ci, review, self_reflection },
            kinds: self.kinds,
            later_or_unknown: self.claimed - n,
            days: self.days,
            changes: self.landing.steps(),
            extent,
            examples: self.found.into_iter().flat_map(|found| found.examples).collect(),
        }
    }

    fn soon(&self, step: Step, repair: Step) -> bool {
        (repair.time - step.time).abs() <= i64::from(self.days) * DAY
    }

    /// Repairs that this commit, come with `step`, is repaired by.
    fn repaired_by(&self, commit: &Commit, step: Step) -> Vec<usize> {
        let mut found: Vec<usize> = self
            .claims
            .iter()
            .filter(|(_, waiting)| match &waiting.claim.culprit {
                Culprit::Ids(ids) => ids.iter().any(|id| commit.id.starts_with(id.as_str())),
                Culprit::Subject(subject) => commit.subject == *subject,
                Culprit::Lines => false,
            })
            .map(|(number, _)| *number)
            .collect();
        for key in commit.files.iter().flat_map(keys_of_added) {
            found.extend(self.by_line.get(&key).into_iter().flatten());
        }
        found.sort_unstable();
        found.dedup();
        // What came in the same step was judged together with its repair.
        found.retain(|number| {
            self.claims.get(number).is_some_and(|w| w.step.index != step.index && self.soon(step, w.step))
        });
        found
    }

    fn forget(&mut self, number: usize) -> Option<Waiting> {
        let waiting = self.claims.remove(&number)?;
        for key in &waiting.keys {
            if let Some(numbers) = self.by_line.get_mut(key) {
                numbers.retain(|other| *other != number);
                if numbers.is_empty() {
                    self.by_line.remove(key);
                }
            }
        }
        Some(waiting)
    }

    fn settle(&mut self, waiting: Waiting, culprit: &Commit, step: Step) {
        let Waiting { commit, claim, step: repaired, .. } = waiting;
        let changed = |path: &str| culprit.files.iter().any(|file| file.path == path);
        let (gate, rule) = gate(&commit, claim.kind, changed);
        *self.kinds.entry(claim.kind).or_default() += 1;
        let found = &mut self.found[gate as usize];
        found.count += 1;
        if found.examples.len() < EXAMPLES {
            found.examples.push(Repair {
                gate,
                rule,
                kind: claim.kind,
                days: ((repaired.time - step.time).max(0) / DAY) as u32,
                commit: commit.id,
                subject: commit.subject,
                repairs: culprit.id.clone(),
                repairs_subject: culprit.subject.clone(),
            });
        }
    }

    fn wait(&mut self, commit: Commit, claim: Claim, step: Step) {
        let number = self.next;
        self.next += 1;
        let keys: HashSet<u64> = match claim.culprit {
            Culprit::Lines => commit.files.iter().flat_map(keys_of_touched).collect(),
            Culprit::Ids(_) | Culprit::Subject(_) => HashSet::new(),
        };
        for key in &keys {
            self.by_line.entry(*key).or_default().push(number);
        }
        // Only names and counts of the files are needed from here on.
        let files = commit.files.into_iter().map(|file| FileChange { added: Vec::new(), touched: Vec::new(), ..file });
        let commit = Commit { files: files.collect(), body: commit.body, ..commit };
        self.claims.insert(number, Waiting { commit, claim, step, keys });
    }
}

impl CommitReader for FollowUps {
    fn commit(&mut self, commit: Commit) {
        let before = self.landing.steps();
        let step = self.landing.step(&commit);
        if self.landing.steps() > before {
            let old: Vec<usize> =
                self.claims.iter().filter(|(_, w)| !self.soon(step, w.step)).map(|(number, _)| *number).collect();
            old.into_iter().for_each(|number| drop(self.forget(number)));
        }
        for number in self.repaired_by(&commit, step) {
            if let Some(waiting) = self.forget(number) {
                self.settle(waiting, &commit, step);
            }
        }
        if commit.parents.len() > 1 {
            return;
        }
        if let Some(claim) = claim(&commit) {
            self.claimed += 1;
            self.wait(commit, claim, step);
        }
    }
}

fn decide(share: Rate, commits: u64) -> Decision {
    Decision::of_share(share, LIMIT_PERCENT, "what only self-reflection would have caught")
        .unwrap_or_else(|| Decision::open(format!("none of {commits} commits repairs what came soon before it")))
}

/// What a line of a file is found by.
fn key(path: &str, line: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    (path, line).hash(&mut hasher);
    hasher.finish()
}

/// Stands for a file without lines: binary, empty, or renamed.
const WHOLE: u64 = 0;

fn keys<'f>(file: &'f FileChange, lines: &'f [u64]) -> impl Iterator<Item = u64> + 'f {
    let lines = if is_bookkeeping(&file.path) { &[] } else { lines };
    let whole = (file.lines == 0 && !file.path.is_empty()).then_some(WHOLE);
    lines.iter().copied().chain(whole).map(|line| key(&file.path, line))
}

fn keys_of_added(file: &FileChange) -> impl Iterator<Item = u64> {
    keys(file, &file.added)
}

fn keys_of_touched(file: &FileChange) -> impl Iterator<Item = u64> {
    keys(file, &file.touched)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::line_fingerprint;

    /// A commit of one file: the day, the id, its parents, the message, what it adds and what it touches.
    struct Made<'a>(i64, &'a str, &'a str, &'a str, &'a [&'a str], &'a [&'a str]);

    fn commit(made: &Made<'_>) -> Commit {
        let prints = |lines: &[&str]| lines.iter().filter_map(|line| line_fingerprint(line.as_bytes())).collect();
        let (subject, body) = made.3.split_once('\n').unwrap_or((made.3, ""));
        let lines = 20;
        Commit {
            id: made.1.to_owned(),
            parents: made.2.split_whitespace().map(str::to_owned).collect(),
            time: 1_700_000_000 + made.0 * DAY,
            subject: subject.to_owned(),
            body: body.to_owned(),
            files: vec![FileChange {
                path: "src/a.rs".to_owned(),
                added: prints(made.4),
                touched: prints(made.5),
                lines,
            }],
        }
    }

    /// The repairs that are found in a history, newest first, as `repair>what it repairs`.
    fn found(history: &[Made<'_>]) -> String {
        let mut follow_ups = FollowUps::within(14);
        history.iter().for_each(|made| follow_ups.commit(commit(made)));
        let open = (follow_ups.by_line.len(), follow_ups.claims.len());
        let result = follow_ups.result(HistoryExtent { commits: history.len() as u64, shallow: false });
        assert!(result.later_or_unknown as usize >= open.1);
        result.examples.iter().map(|r| format!("{}>{}", r.commit, r.repairs)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_fix_follows_the_newest_change_whose_lines_it_touches() {
        let old = Made(0, "a", "", "add", &["one", "two"], &[]);
        let unrelated = Made(1, "b", "a", "more", &["three"], &[]);
        let newer = Made(2, "c", "b", "rework", &["two again"], &["two"]);
        let fix = |day, touched| Made(day, "f", "c", "fix: crash", &["mended"], touched);
        assert_eq!(found(&[fix(3, &["one"]), newer, unrelated, old]), "f>a");
        let old = Made(0, "a", "", "add", &["one", "two"], &[]);
        let newer = Made(2, "c", "a", "rework", &["two again"], &["two"]);
        assert_eq!(found(&[fix(3, &["one", "two again"]), newer, old]), "f>c");
        // Nobody's lines, blank lines, and too late.
        let change = || Made(0, "c", "", "add", &["one", "", "}"], &[]);
        assert_eq!(found(&[fix(3, &["other"]), change()]), "");
        assert_eq!(found(&[fix(3, &["", "}"]), change()]), "");
        assert_eq!(found(&[fix(14, &["one"]), change()]), "f>c");
        assert_eq!(found(&[fix(15, &["one"]), change()]), "");
    }

    #[test]
    fn reverts_find_what_they_name_and_a_fix_may_be_fixed() {
        let change = || Made(0, "abcdef0123", "", "Add x", &["one"], &[]);
        let by_id = Made(1, "r", "abcdef0123", "Revert it\nThis reverts commit abcdef01.", &[], &["one"]);
        assert_eq!(found(&[by_id, change()]), "r>abcdef0123");
        let by_subject = Made(1, "r", "abcdef0123", "Revert \"Add x\"", &[], &["other"]);
        assert_eq!(found(&[by_subject, change()]), "r>abcdef0123");
        let fix = Made(1, "f", "abcdef0123", "fix x", &["two"], &["one"]);
        let again = Made(2, "g", "f", "fix x again", &["three"], &["two"]);
        assert_eq!(found(&[again, fix, change()]), "g>f f>abcdef0123");
    }

    #[test]
    fn what_a_merge_brought_together_was_judged_together() {
        let merge = || Made(2, "m", "a fix", "Merge branch x", &[], &[]);
        let fix = |parent| Made(1, "fix", parent, "fix: crash", &["two"], &["one"]);
        let change = || Made(1, "change", "a", "add", &["one"], &[]);
        let start = || Made(0, "a", "", "start", &["zero"], &[]);
        assert_eq!(found(&[merge(), fix("change"), change(), start()]), "");
        // On the main line they came one after the other.
        assert_eq!(found(&[fix("change"), change(), start()]), "fix>change");
    }

    #[test]
    fn the_condition_is_met_below_a_twentieth() {
        let check = |count, of, killed, conclusive| {
            let decision = decide(Rate::new(count, of), 0);
            assert_eq!((decision.killed, decision.conclusive), (killed, conclusive), "{count}/{of}");
        };
        check(0, 0, None, false);
        check(0, 3, Some(true), false);
        check(1, 1, Some(false), false);
        check(5, 100, Some(false), false);
        check(4, 100, Some(true), false);
        check(0, 100, Some(true), true);
        check(20, 100, Some(false), true);
    }
}
