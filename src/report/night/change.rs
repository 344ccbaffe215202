//! What a task's work changes: how much, the diff, and the tests that it turned.

use super::block::{Line, ticked};
use super::needs::step;
use super::value::{Merge, Night, NightTask, Step, TaskChange, TaskState};
use super::words::{foreign, joined, plural, shown_diff};
use crate::domain::{ChangeOf, MergeOutcome, ShownChange};
use crate::redaction::Redactor;

/// How many tasks at most have their change shown.
const SHOWN: usize = 100;
/// How much of a diff stands in the page at most, and of all diffs together.
const DIFF_BYTES: usize = 16 << 10;
const ALL_BYTES: usize = 1 << 20;
/// How many tests are named at most.
const TESTS: usize = 3;

impl Night {
    /// The changes that the repository keeps, each with the place of its task: what was merged, or the branch that has it.
    #[must_use]
    pub fn kept_changes(&self) -> Vec<(usize, ChangeOf)> {
        let tasks = self.tasks.iter().enumerate();
        tasks.filter_map(|(place, task)| Some((place, change_of(task)?))).take(SHOWN).collect()
    }

    /// The same with these changes of its tasks, as [`kept_changes`](Self::kept_changes) asked for them.
    #[must_use]
    pub fn with_changes(mut self, changes: impl IntoIterator<Item = (usize, Option<ShownChange>)>) -> Self {
        let mut left = ALL_BYTES;
        for (place, change) in changes {
            let (Some(change), Some(task)) = (change, self.tasks.get_mut(place)) else { continue };
            let short = |commit: &str| commit.chars().take(12).collect::<String>();
            let command = format!("git diff {} {}", short(&change.from), short(&change.to));
            let whole = change.diff.map(|diff| shown_diff(&Redactor::of_process().redact(&diff)));
            let diff = whole.as_ref().map(|whole| beginning(whole, DIFF_BYTES.min(left)));
            left -= diff.map_or(0, str::len);
            let cut = diff.map(str::len) != whole.as_ref().map(String::len);
            let diff = diff.filter(|diff| !diff.is_empty()).map(str::to_owned);
            task.change = Some(TaskChange { size: change.size, command, cut: cut || diff.is_none(), diff });
        }
        // How much a person is to look at stands with what needs them.
        self.conclude();
        self
    }
}

/// The change that the repository keeps of a task.
fn change_of(task: &NightTask) -> Option<ChangeOf> {
    let branch = match task.merges.last() {
        Some(Merge { outcome: MergeOutcome::Merged { commit, was_there, .. }, .. }) => {
            return (!was_there).then(|| ChangeOf(commit.clone()));
        }
        Some(Merge { outcome: MergeOutcome::Conflict { kept, .. } | MergeOutcome::Red { kept, .. }, .. }) => kept,
        Some(Merge { outcome: MergeOutcome::LeftToPerson { branch, .. }, .. }) => branch,
        None => task.branch.as_ref().filter(|_| task.state == TaskState::Confirmed)?,
    };
    (!branch.ends_with(".patch")).then(|| ChangeOf(branch.clone()))
}

/// Whole lines from the beginning of a text, as many as fit.
fn beginning(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let end = text.as_bytes()[..bytes].iter().rposition(|byte| *byte == b'\n').map_or(0, |line_feed| line_feed + 1);
    &text[..end]
}

/// How all of it is seen.
pub(super) fn see(task: &NightTask) -> Option<Step> {
    Some(step(task.change.as_ref()?.command.clone(), "see the whole change"))
}

/// The tests that failed before and do not any more.
pub(super) fn turned(task: &NightTask) -> Option<Line> {
    let tests = task.tests.as_ref().filter(|tests| tests.turned > 0)?;
    let mut names: Vec<String> =
        tests.names.iter().take(TESTS).map(|name| format!("`{}`", foreign(name, 120))).collect();
    let more = tests.turned.saturating_sub(names.len());
    names.extend((more > 0).then(|| format!("{more} more")));
    let does = if tests.turned == 1 { "does" } else { "do" };
    let before = plural(tests.failed_before, "failing test");
    Some(ticked(&format!(
        "{} failed before and {does} not now; {before} before, {} now",
        joined(&names),
        tests.failing
    )))
}
