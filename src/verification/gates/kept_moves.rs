//! Files of tests that are not where they were: moved to where tests still run, or without any test in them.

use super::diff::FileDiff;
use super::kept_targets::shelved;
use crate::toolchain::is_test;
use std::collections::BTreeSet;
use std::collections::HashMap;

/// Of deleted files of tests, by their paths, those that moved: what they held stands in an added file, and no file takes the place of
/// two. The tests in them need not be known.
pub(super) fn moved<'d>(files: &[FileDiff<'d>]) -> BTreeSet<&'d str> {
    let mut new: Vec<&FileDiff<'d>> = files.iter().filter(|file| file.added).collect();
    let mut old: Vec<&FileDiff<'d>> = files.iter().filter(|file| file.deleted && is_test(file.path)).collect();
    let mut moved = BTreeSet::new();
    for is_enough in [is_same, is_nearly_same] {
        old.retain(|old| {
            let found = new.iter().position(|new| stays_test(old.path, new.path) && is_enough(old, new));
            if let Some(at) = found {
                moved.insert(old.path);
                new.remove(at);
            }
            found.is_none()
        });
    }
    moved
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

/// Whether of what was in a file at least three lines of four stand in the other one: a move often changes a path or an import.
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
    lines > 0 && kept * 4 >= lines * 3
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
