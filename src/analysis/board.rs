//! P3: how often anything says afterwards whether finished work was right.

use super::decision::Decision;
use super::experiment::Experiment;
use crate::domain::Timestamp;
use crate::evaluation::Rate;
use jiff::SignedDuration;
use serde::Serialize;
use std::collections::BTreeMap;

/// A share of tasks with a signal below so many % kills.
const LIMIT_PERCENT: u64 = 20;
/// A signal counts for so many days after a task was finished; part of the kill condition.
const DAYS: i64 = 30;

/// A task of a board.
#[derive(Debug, Clone, PartialEq)]
pub struct BoardTask {
    /// Its id, for people.
    pub id: String,
    /// Somebody said that it was done.
    pub finished: bool,
    /// When, if it is known.
    pub at: Option<Timestamp>,
    /// What says whether it was right.
    pub signals: Vec<Signal>,
}

/// Something a machine can read that says whether work was right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// When it came; none where the record does not say, which counts as soon enough.
    pub at: Option<Timestamp>,
    /// What it says.
    pub says: Says,
    /// Where it stands: a field, or the words of a verdict.
    pub what: String,
}

/// What a signal says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    /// The work was right.
    Right,
    /// It was wrong.
    Wrong,
}

/// P3's result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BoardResult {
    /// Written down before any data was seen.
    pub kill_condition: &'static str,
    /// Whether it was met.
    #[serde(flatten)]
    pub decision: Decision,
    /// Finished tasks.
    pub n: u64,
    /// How many of them have a signal within 30 days.
    pub signal: Rate,
    /// Those whose signals say that they were right, and none that they were wrong.
    pub right: u64,
    /// Those with a signal that they were wrong.
    pub wrong: u64,
    /// Tasks with a signal of each sort; a task may have several.
    pub signals: BTreeMap<String, u64>,
    /// Tasks without a signal that were finished in the last 30 days that the board knows of: one may still come.
    pub young: u64,
    /// Tasks that are not finished.
    pub unfinished: u64,
}

/// Counts the finished tasks that something says right or wrong of within 30 days.
#[must_use]
pub fn board(tasks: &[BoardTask]) -> BoardResult {
    let window = SignedDuration::from_hours(24 * DAYS);
    let newest =
        tasks.iter().flat_map(|task| task.at.into_iter().chain(task.signals.iter().filter_map(|s| s.at))).max();
    let (mut with_signal, mut right, mut wrong, mut young, mut n) = (0, 0, 0, 0, 0);
    let mut signals: BTreeMap<String, u64> = BTreeMap::new();
    for task in tasks.iter().filter(|task| task.finished) {
        n += 1;
        let soon = |signal: &&Signal| match (task.at, signal.at) {
            (_, None) => true,
            // When it was finished is not known, so nothing can be said to come soon after.
            (None, Some(_)) => false,
            (Some(done), Some(at)) => at >= done && at.duration_since(done) <= window,
        };
        let counted: Vec<&Signal> = task.signals.iter().filter(soon).collect();
        let mut sorts: Vec<&str> = counted.iter().map(|signal| signal.what.as_str()).collect();
        sorts.sort_unstable();
        sorts.dedup();
        sorts.into_iter().for_each(|sort| *signals.entry(sort.to_owned()).or_default() += 1);
        match counted.iter().map(|signal| signal.says).max() {
            Some(Says::Wrong) => (with_signal, wrong) = (with_signal + 1, wrong + 1),
            Some(Says::Right) => (with_signal, right) = (with_signal + 1, right + 1),
            None => {
                let is_young = task.at.zip(newest).is_some_and(|(done, newest)| newest.duration_since(done) < window);
                young += u64::from(is_young);
            }
        }
    }
    let signal = Rate::new(with_signal, n);
    BoardResult {
        kill_condition: Experiment::BoardHistory.kill_condition(),
        decision: decide(signal),
        n,
        signal,
        right,
        wrong,
        signals,
        young,
        unfinished: tasks.len() as u64 - n,
    }
}

fn decide(share: Rate) -> Decision {
    Decision::of_share(share, LIMIT_PERCENT, "finished tasks with a signal")
        .unwrap_or_else(|| Decision::open("no task is finished"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(at: Option<&str>, signals: &[(Option<&str>, Says)]) -> BoardTask {
        let time = |text: &str| format!("{text}T00:00:00Z").parse().unwrap();
        let signals = signals.iter().map(|(at, says)| Signal { at: at.map(time), says: *says, what: "x".to_owned() });
        BoardTask { id: "a".to_owned(), finished: true, at: at.map(time), signals: signals.collect() }
    }

    #[test]
    fn a_signal_counts_for_thirty_days_after_the_end() {
        let check = |at: Option<&str>, signal: Option<&str>, counts: u64| {
            let result = board(&[task(at, &[(signal, Says::Right)])]);
            assert_eq!((result.signal.count, result.right), (counts, counts), "{at:?} {signal:?}");
        };
        check(Some("2026-01-01"), Some("2026-01-01"), 1);
        check(Some("2026-01-01"), Some("2026-01-31"), 1);
        check(Some("2026-01-01"), Some("2026-02-01"), 0);
        check(Some("2026-01-02"), Some("2026-01-01"), 0);
        check(None, Some("2026-01-01"), 0);
        check(Some("2026-01-01"), None, 1);
        check(None, None, 1);
    }

    #[test]
    fn the_condition_is_met_below_a_fifth() {
        let with = task(Some("2026-01-01"), &[(None, Says::Right), (None, Says::Wrong)]);
        let without = task(Some("2026-01-01"), &[]);
        let check = |signals: usize, of: usize, killed: Option<bool>, conclusive: bool| {
            let tasks: Vec<BoardTask> =
                (0..of).map(|at| if at < signals { with.clone() } else { without.clone() }).collect();
            let result = board(&tasks);
            assert_eq!((result.decision.killed, result.decision.conclusive), (killed, conclusive), "{signals}/{of}");
            // One word against it is enough.
            assert_eq!((result.wrong, result.right), (signals as u64, 0));
        };
        check(0, 0, None, false);
        check(0, 3, Some(true), false);
        check(1, 5, Some(false), false);
        check(19, 100, Some(true), false);
        check(0, 100, Some(true), true);
        check(90, 100, Some(false), true);
    }

    #[test]
    fn what_is_open_or_young_is_counted_apart() {
        let open = BoardTask { finished: false, ..task(None, &[]) };
        let result =
            board(&[open, task(Some("2026-01-01"), &[]), task(Some("2026-01-20"), &[]), task(Some("2026-02-05"), &[])]);
        assert_eq!((result.n, result.unfinished, result.young), (3, 1, 2));
    }
}
