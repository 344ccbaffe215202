//! The numbers that a report begins with. What nobody reported has none: an unknown cost is not $0.00.

use super::block::{Figure, Mark};
use super::value::{Fate, Night};
use super::words::{dollars, duration, number};
use std::collections::HashSet;

impl Figure {
    fn count(mark: Mark, n: usize, one: &str, many: &str) -> Option<Self> {
        let what = if n == 1 { one } else { many };
        let value = number(n as u64);
        (n > 0).then(|| Self { mark, value, what: what.to_owned(), alone: false })
    }

    /// The same in a line.
    pub(super) fn words(&self) -> String {
        if self.alone { self.value.clone() } else { format!("{} {}", self.value, self.what) }
    }
}

/// How many tasks came to what, and what that took; none where no task is known.
pub(super) fn figures(night: &Night) -> Vec<Figure> {
    if night.tasks.is_empty() {
        return Vec::new();
    }
    let counts = night.counts;
    let patches = night.tasks.iter().any(super::value::NightTask::is_patch);
    let (on_one, on_many) =
        if patches { ("confirmed, as a patch", "confirmed, as patches") } else { ("on a branch", "on branches") };
    let open = if night.state == super::value::NightState::Running { "to do" } else { "left open" };
    let brought_in = night.tasks.iter().filter(|task| task.brought_in).count();
    let tasks = [
        Figure::count(Mark::Needs, night.things(), "needs you", "need you"),
        Figure::count(Mark::Good, counts.merged, "merged", "merged"),
        Figure::count(Mark::Good, counts.confirmed, on_one, on_many),
        Figure::count(Mark::Good, counts.unchanged, "done, nothing changed", "done, nothing changed"),
        Figure::count(Mark::Bad, counts.failed, "failed", "failed"),
        Figure::count(Mark::Needs, counts.blocked, "blocked", "blocked"),
        Figure::count(Mark::Open, counts.working, "in work", "in work"),
        Figure::count(Mark::Open, counts.open, open, open),
        Figure::count(Mark::Open, counts.closed, "closed since", "closed since"),
        Figure::count(Mark::Good, brought_in, "merged by you since", "merged by you since"),
    ];
    tasks.into_iter().flatten().chain(took(night)).collect()
}

/// Time, tokens, money, attempts and lessons.
fn took(night: &Night) -> impl Iterator<Item = Figure> {
    let plain =
        |value: String, what: &str, alone: bool| Figure { mark: Mark::Plain, value, what: what.to_owned(), alone };
    let spend = &night.spend;
    // What ended with its run told nobody what it had used.
    let lower = spend.silent > 0 || night.attempts.iter().any(|attempt| attempt.fate == Fate::Cut);
    let bound = if lower { ", at least" } else { "" };
    let time = night.took_ms().map(|ms| plain(duration(ms), "in all", true));
    let tokens = spend.usage.tokens().filter(|n| *n > 0);
    let tokens = tokens.map(|n| plain(number(n), &format!("tokens{bound}"), false));
    let estimated = if spend.estimated_usd.is_some() { ", partly estimated" } else { "" };
    let estimated = if spend.reported_usd.is_none() { estimated.replace("partly ", "") } else { estimated.to_owned() };
    let cost = spend.usage.cost_usd.map(|usd| plain(dollars(usd), &format!("cost{estimated}{bound}"), false));
    let attempts: HashSet<_> = night.attempts.iter().map(|one| (&one.task, &one.subtask, one.attempt)).collect();
    let attempts = Figure::count(Mark::Plain, attempts.len(), "attempt", "attempts");
    let lessons = night.lessons.iter().filter(|lesson| lesson.written).count();
    let lessons = Figure::count(Mark::Plain, lessons, "lesson learned", "lessons learned");
    [time, tokens, cost, attempts, lessons].into_iter().flatten()
}
