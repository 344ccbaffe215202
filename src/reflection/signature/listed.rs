//! The tests that a runner lists, with the outcome of each.

use super::found::{Found, joined, pattern};
use super::mask::{mask, mask_objects};
use super::place::{place, relative};
use crate::domain::{CountedTests, FailedTest};
use crate::prompt::shorten;
use crate::toolchain::Counts;
use std::collections::{BTreeMap, BTreeSet};

/// A longer detail is data, not words.
const DETAIL_BYTES: usize = 600;

/// Of the first failing tests, at most this many, the place is known from the project's directory on.
const TOLD: usize = 50;

/// The tests of a run as their runner lists them, in its order.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub tests: Vec<Listing>,
    /// Those that pass are among them.
    pub names_passed: bool,
    /// The runner stopped behind the first program with a failing test.
    pub stopped: bool,
    /// How many of those that failed the runner does not count as tests: files that cannot be read.
    pub uncounted: usize,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Listing {
    /// What tells it from all others: with its file or its program.
    pub id: String,
    /// Its name, as the runner takes it.
    pub name: String,
    pub outcome: Outcome,
}

/// How it went.
#[derive(Debug)]
pub(super) enum Outcome {
    Passed,
    Failed(Box<Found>),
    /// Or still to be written.
    Skipped,
    /// It ended as the tests in it did, and may or may not be counted.
    OfOthers {
        failed: bool,
    },
}

impl Listed {
    pub(super) fn push(&mut self, id: String, name: &str, outcome: Outcome) {
        self.tests.push(Listing { id, name: name.to_owned(), outcome });
    }

    fn count(&self, is: fn(&Outcome) -> bool) -> usize {
        self.tests.iter().filter(|test| is(&test.outcome)).count()
    }

    /// Those that failed, with their ids.
    pub(super) fn failed(&self) -> impl Iterator<Item = (&str, &Found)> {
        self.tests.iter().filter_map(|test| match &test.outcome {
            Outcome::Failed(found) => Some((test.id.as_str(), &**found)),
            _ => None,
        })
    }

    /// How many were run.
    pub(super) fn ran(&self) -> usize {
        self.count(|outcome| !matches!(outcome, Outcome::Skipped))
    }

    /// Whether a summary counts what is listed.
    pub(super) fn is_counted_by(&self, counts: Counts) -> bool {
        let within = |number: u64, least: usize, more: usize| {
            usize::try_from(number).is_ok_and(|number| (least..=least + more).contains(&number))
        };
        let failed = self.count(|outcome| matches!(outcome, Outcome::Failed(_))).saturating_sub(self.uncounted);
        let passed = self.count(|outcome| matches!(outcome, Outcome::Passed));
        let of_failed = self.count(|outcome| matches!(outcome, Outcome::OfOthers { failed: true }));
        let of_passed = self.count(|outcome| matches!(outcome, Outcome::OfOthers { failed: false }));
        within(counts.failed, failed, of_failed) && (!self.names_passed || within(counts.passed, passed, of_passed))
    }

    /// The tests by their ids; several of one id are numbered, so that no test ever has another one's id. None: nothing fails.
    pub(super) fn into_counted(self, ran: Option<usize>, output: &str) -> Option<CountedTests> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut counted = CountedTests { ran, stopped: self.stopped, ..CountedTests::default() };
        let mut passed = BTreeSet::new();
        for Listing { id, name, outcome } in self.tests {
            let times = seen.entry(id.clone()).or_default();
            *times += 1;
            // A name that ends like a number of ours always gets one: the last number can be taken off again.
            let id = if *times > 1 || is_numbered(&id) { format!("{id} ({times})") } else { id };
            match outcome {
                Outcome::Passed => _ = passed.insert(id),
                Outcome::Failed(found) => {
                    // Where the project is costs a look at all of the output; only the first ones are ever shown.
                    let output = if counted.failing.len() < TOLD { output } else { "" };
                    counted.failing.insert(id, failed_test(name, &found, output));
                }
                Outcome::Skipped | Outcome::OfOthers { .. } => {}
            }
        }
        counted.passed = self.names_passed.then_some(passed);
        (!counted.failing.is_empty()).then_some(counted)
    }
}

/// Whether an id ends with a number in brackets, as those of several tests of one name do.
fn is_numbered(id: &str) -> bool {
    pattern!(NUMBER, r" \(\d+\)$");
    NUMBER.is_match(id)
}

pub(super) fn failed_test(name: String, found: &Found, output: &str) -> FailedTest {
    let detail = found.detail.as_deref().map(|detail| shorten(detail, DETAIL_BYTES).into_owned());
    FailedTest {
        name,
        how: how(found),
        values: mask_objects(
            joined([&found.message, &found.detail].into_iter().flatten().map(String::as_str))
                .as_deref()
                .unwrap_or_default(),
        ),
        detail,
        frame: found.frame.as_ref().map(|frame| relative(frame, output).to_string()),
        source: None,
        unsure: false,
    }
}

/// A failure without what changes from run to run, as a fingerprint sees it.
fn how(found: &Found) -> String {
    let message = found.message.as_deref().map(|message| mask(message.trim())).unwrap_or_default();
    let place = found.frame.as_ref().map(place).unwrap_or_default();
    format!("{}\u{1f}{place}\u{1f}{message}", found.code.as_deref().unwrap_or_default())
}
