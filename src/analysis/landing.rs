//! When a commit came to the main line, and with what.

use crate::domain::Commit;
use std::collections::HashMap;

/// The step of the main line (the chain of first parents from `HEAD`) that a commit came with: itself, or the merge that
/// brought it. Commits of one step were judged together, so one of them repairs nothing that had passed a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// Counted from the newest.
    pub(super) index: u32,
    /// When it came to the main line.
    pub(super) time: i64,
}

/// Tells the step of each commit, given children before their parents. Keeps what is open: a commit whose child was
/// seen and which itself was not.
#[derive(Debug, Default)]
pub(super) struct Landing {
    open: HashMap<String, Mark>,
    steps: u32,
}

#[derive(Debug, Clone, Copy)]
enum Mark {
    /// It is a step of its own.
    Main,
    /// The oldest step that reaches it brought it.
    Brought(Step),
}

impl Landing {
    /// The commit's step.
    pub(super) fn step(&mut self, commit: &Commit) -> Step {
        let mark = self.open.remove(&commit.id).unwrap_or(Mark::Main);
        let step = match mark {
            Mark::Brought(step) => step,
            Mark::Main => {
                self.steps += 1;
                Step { index: self.steps, time: commit.time }
            }
        };
        for (place, parent) in commit.parents.iter().enumerate() {
            let is_main = place == 0 && matches!(mark, Mark::Main);
            let new = if is_main { Mark::Main } else { Mark::Brought(step) };
            self.open
                .entry(parent.clone())
                .and_modify(|known| {
                    *known = match (*known, new) {
                        (Mark::Main, _) | (_, Mark::Main) => Mark::Main,
                        (Mark::Brought(a), Mark::Brought(b)) => Mark::Brought(if a.index > b.index { a } else { b }),
                    };
                })
                .or_insert(new);
        }
        step
    }

    /// Steps seen so far.
    pub(super) fn steps(&self) -> u32 {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_came_with_the_merge_that_brought_it() {
        // main: a - b - m1 - c - m2; x and y came with m1; z, a child of y, with m2, and y did not come twice.
        let history =
            [("m2", "c z"), ("z", "y"), ("c", "m1"), ("m1", "b y"), ("y", "x"), ("x", "a"), ("b", "a"), ("a", "")];
        let mut landing = Landing::default();
        let steps: Vec<u32> = history
            .iter()
            .map(|(id, parents)| {
                let parents = parents.split_whitespace().map(str::to_owned).collect();
                landing.step(&Commit { id: (*id).to_owned(), parents, ..Commit::default() }).index
            })
            .collect();
        assert_eq!(steps, [1, 1, 2, 3, 3, 3, 4, 5]);
        assert!(landing.open.is_empty());
    }
}
