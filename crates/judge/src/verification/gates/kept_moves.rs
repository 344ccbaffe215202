//! Files of tests that are not where they were: moved to where tests still run, or without any test in them.

use super::diff::FileDiff;
use super::kept_targets::shelved;
use super::kept_tests::{added_tests, tests_in};
use crate::toolchain::{is_code, is_test};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Of deleted files of tests, by their paths, those that moved, and where to: what they held stands in an added file, and no file takes
/// the place of two. The tests in them need not be known.
fn moved<'d>(files: &[FileDiff<'d>]) -> BTreeMap<&'d str, &'d str> {
    let mut new: Vec<&FileDiff<'d>> = files.iter().filter(|file| file.added).collect();
    let mut old: Vec<&FileDiff<'d>> = files.iter().filter(|file| file.deleted && is_test(file.path)).collect();
    let mut moved = BTreeMap::new();
    for is_enough in [is_same, is_nearly_same] {
        old.retain(|old| {
            let found = new.iter().position(|new| stays_test(old.path, new.path) && is_enough(old, new));
            if let Some(at) = found {
                moved.insert(old.path, new.remove(at).path);
            }
            found.is_none()
        });
    }
    moved
}

/// The tests of other files that are new there and may be those of a file under other names: the ones in the file that it moved to, and in
/// those that took some of its tests.
pub(super) struct Renamed<'d> {
    moved: BTreeMap<&'d str, &'d str>,
    /// By the file: the tests in it that were added, and how many of them have a name that was nowhere and stand for no other test yet.
    added: BTreeMap<&'d str, (BTreeSet<&'d str>, usize)>,
}

impl<'d> Renamed<'d> {
    pub(super) fn of(files: &[FileDiff<'d>]) -> Self {
        let before: BTreeSet<&str> = files.iter().flat_map(|file| tests_in(file.removed_lines())).collect();
        let mut added: BTreeMap<&str, (BTreeSet<&str>, usize)> = BTreeMap::new();
        // Of recorded edits there may be several of one file.
        for file in files {
            let tests = added_tests(file);
            let (all, new) = added.entry(file.path).or_default();
            *new += tests.iter().filter(|name| !before.contains(*name)).count();
            all.extend(tests);
        }
        Self { moved: moved(files), added }
    }

    /// As many new tests of this file stand for lost ones of its own, and so for no others.
    pub(super) fn take_own(&mut self, path: &str, taken: usize) {
        if let Some((_, new)) = self.added.get_mut(path) {
            *new = new.saturating_sub(taken);
        }
    }

    /// Whether all that a file held stands in another one now.
    pub(super) fn is_moved(&self, path: &str) -> bool {
        self.moved.contains_key(path)
    }

    /// How many tests of other files stand for lost ones of this file, of which these were removed; they stand for no others. What leaves a
    /// file of tests has to come into one.
    pub(super) fn take(&mut self, path: &str, removed: &[&str], lost: usize) -> usize {
        let to = self.moved.get(path).copied();
        let mut found = 0;
        for (other, (tests, new)) in &mut self.added {
            if found == lost {
                break;
            }
            let finds_tests = is_code(other) && (is_test(other) || !is_test(path));
            let took_some = || finds_tests && removed.iter().any(|name| tests.contains(name));
            if *other != path && (to == Some(*other) || took_some()) {
                let taken = (lost - found).min(*new);
                *new -= taken;
                found += taken;
            }
        }
        found
    }
}

/// Whether a file that moves is taken for a test where it lies then, as far as names tell. One that is a test by its own name has
/// to keep such a name.
fn stays_test(old: &str, new: &str) -> bool {
    is_test(new) && (is_test(own_name(new)) || !is_test(own_name(old))) && (shelved(old) || !shelved(new))
}

fn own_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_same(old: &FileDiff<'_>, new: &FileDiff<'_>) -> bool {
    old.blobs.zip(new.blobs).is_some_and(|((before, _), (_, after))| before == after)
}

/// Whether of what was in a file at least three lines of four stand in the other one, or two of three where its tests are known, which are
/// counted then: a move often changes a path, an import or a name.
fn is_nearly_same(old: &FileDiff<'_>, new: &FileDiff<'_>) -> bool {
    let mut now: HashMap<&str, usize> = HashMap::new();
    new.added_lines().map(str::trim).for_each(|line| *now.entry(line).or_default() += 1);
    let (mut lines, mut kept) = (0, 0);
    for line in old.removed_lines().map(str::trim).filter(|line| line.contains(char::is_alphanumeric)) {
        lines += 1;
        if let Some(left) = now.get_mut(line).filter(|left| **left > 0) {
            *left -= 1;
            kept += 1;
        }
    }
    let (part, whole) = if tests_in(old.removed_lines()).is_empty() { (3, 4) } else { (2, 3) };
    lines > 0 && kept * whole >= lines * part
}

/// Whether nothing in a deleted file of tests can be one: it was empty, or a helper in a language whose tests can be told by their
/// words, and none of these is in it.
pub(super) fn held_no_test(file: &FileDiff<'_>) -> bool {
    const KNOWN: [&str; 6] = ["py", "rs", "go", "java", "kt", "cs"];
    const WORDS: [&str; 14] = [
        "test", "assert", "expect", "should", "check", "verify", "fail", "exit", "panic", "raise", "throw", "main",
        "spec", ">>>",
    ];
    if !file.has_text {
        return true;
    }
    let name = own_name(file.path);
    let known = name.rsplit_once('.').is_some_and(|(_, ending)| KNOWN.contains(&ending));
    let says_test = |line: &str| {
        let line = line.to_ascii_lowercase();
        WORDS.iter().any(|word| line.contains(word))
    };
    // One that is too large to be shown may hold anything.
    known && !is_test(name) && !file.hunks.is_empty() && !file.removed_lines().any(says_test)
}
