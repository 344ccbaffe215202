//! The attempt that passed behind one that failed.

use super::{ChangedLine, ProofHunks, ReflectionId, changed_lines};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// The attempt behind a failed one, which was confirmed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PassedAttempt {
    /// Its number, from 1 over all runs.
    pub attempt: u32,
    /// What it changed beside the task's base, as a unified diff: of a long one its head and its tail, 16 KB in all.
    pub diff: String,
    /// The lesson that was written before it was known what passes.
    pub replaces: ReflectionId,
    /// Which of its lines the checks notice, as far as that was tried; none where it was not, and in what older versions wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunks: Option<ProofHunks>,
}

impl PassedAttempt {
    /// The lines of its change that may have made the difference: those of which it is not known that no check notices them, and was not left untried.
    #[must_use]
    pub fn noticed(&self) -> Vec<ChangedLine<'_>> {
        let all: Vec<ChangedLine<'_>> = changed_lines(&self.diff).collect();
        let Some(hunks) = &self.hunks else { return all };
        let silent: Vec<Lines<'_>> =
            hunks.not_noticed.iter().chain(&hunks.not_tried).map(|place| lines(place)).collect();
        let is_silent = |at: usize| {
            let (line, now) = (&all[at], place_now(&all, at));
            silent
                .iter()
                .any(|(file, lines)| *file == line.file && lines.as_ref().is_none_or(|lines| lines.contains(&now)))
        };
        let silent: Vec<bool> = (0..all.len()).map(is_silent).collect();
        all.into_iter().zip(silent).filter(|(_, silent)| !silent).map(|(line, _)| line).collect()
    }

    /// Whether a check was seen to fail without this line.
    #[must_use]
    pub fn carries(&self, line: &ChangedLine<'_>) -> bool {
        let of = |place: &String| {
            let (file, lines) = lines(place);
            file == line.file && lines.is_none_or(|lines| lines.contains(&line.number))
        };
        line.is_added && self.hunks.as_ref().is_some_and(|hunks| hunks.carried.iter().any(of))
    }
}

/// Where a line of a change stands in the file as changed; of what was only taken out, the line before it.
fn place_now(all: &[ChangedLine<'_>], at: usize) -> usize {
    if all[at].is_added {
        return all[at].number;
    }
    let goes_on = |at: &usize| {
        let [before, line] = &all[at - 1..=*at] else { return false };
        !before.is_added && before.file == line.file && before.number + 1 == line.number
    };
    let mut first = at;
    while first > 0 && goes_on(&first) {
        first -= 1;
    }
    let count =
        |added: bool| all[..first].iter().filter(|one| one.file == all[at].file && one.is_added == added).count();
    let here = (all[first].number + count(true)).saturating_sub(count(false));
    let is_instead = |one: &&ChangedLine<'_>| one.is_added && one.file == all[at].file && one.number == here;
    if all[at..].iter().any(|one| is_instead(&one)) { here } else { here.saturating_sub(1) }
}

/// A file, and which of its lines; all where none are named.
type Lines<'p> = (&'p str, Option<RangeInclusive<usize>>);

/// `src/cache.rs:88-104`, `src/cache.rs:88`, or `src/cache.rs`.
fn lines(place: &str) -> Lines<'_> {
    let numbered = || {
        let (file, lines) = place.rsplit_once(':')?;
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        Some((file, Some(first.parse().ok()?..=last.parse().ok()?)))
    };
    numbered().unwrap_or((place, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noticed(not_noticed: &[&str], carried: &[&str]) -> (Vec<usize>, Vec<usize>) {
        let diff = "--- a/a.py\n+++ b/a.py\n@@ -1,6 +1,6 @@\n+import os\n def one():\n-    return 0\n+    return 1\n \n-x = 1\n def two():\n     return 2\n";
        let places = |of: &[&str]| of.iter().map(|place| (*place).to_owned()).collect();
        let hunks = ProofHunks { not_noticed: places(not_noticed), carried: places(carried), ..ProofHunks::default() };
        let (diff, replaces) = (diff.to_owned(), ReflectionId::new("guess"));
        let passed = PassedAttempt { attempt: 2, diff, replaces, hunks: Some(hunks) };
        let lines = passed.noticed();
        let carried = lines.iter().filter(|line| passed.carries(line));
        (lines.iter().map(|line| line.number).collect(), carried.map(|line| line.number).collect())
    }

    #[test]
    fn lines_that_no_check_notices_made_no_difference() {
        assert_eq!(noticed(&[], &[]), (vec![1, 2, 3, 4], vec![]));
        assert_eq!(noticed(&["a.py:1"], &["a.py:3"]), (vec![2, 3, 4], vec![3]));
        // What was replaced goes with what stands in its place, and what was only taken out with the line before it.
        assert_eq!(noticed(&["a.py:1-3"], &[]), (vec![4], vec![]));
        assert_eq!(noticed(&["a.py:4"], &[]), (vec![1, 2, 3], vec![]));
        assert_eq!(noticed(&["a.py"], &[]), (vec![], vec![]));
        assert_eq!(noticed(&["b.py:1"], &["a.py"]), (vec![1, 2, 3, 4], vec![1, 3]));
    }
}
