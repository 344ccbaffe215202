//! How checks ended on a part of a change, and what that says of it. Pure.

use super::parts::Parts;
use crate::domain::{CheckReport, FailedTest, Ran, belongs_to_tests};
use crate::orchestrator::verdict;
use crate::toolchain;
use std::collections::BTreeSet;

/// How the checks ended on a part of the change.
#[derive(Debug, Clone, Default)]
pub(super) struct Outcome {
    /// Those that did not pass; empty with `is_red` where they could not even be prepared.
    pub(super) red: Vec<CheckReport>,
    pub(super) is_red: bool,
}

impl Outcome {
    pub(super) fn ran(&self) -> Ran {
        if self.is_red { Ran::Red } else { Ran::Green }
    }

    /// Whether one of these checks, by name, is red.
    pub(super) fn has_red(&self, names: &[String]) -> bool {
        self.is_red && (self.red.is_empty() || self.red.iter().any(|check| names.contains(&check.spec.name)))
    }

    /// Whether a test fails by what it asserts that does not fail at the base. That something breaks every test says of new code, in whatever
    /// words: a name is missing, or is nothing.
    pub(super) fn fails_by_assertion(&self, baseline: &[CheckReport], parts: &Parts) -> bool {
        self.red.iter().filter(|check| !check.timed_out).any(|check| {
            if check.signature.counted.is_some() {
                return has_new_failure(check, baseline, |failed| asserts(check, failed, parts));
            }
            let before = check.at_base(baseline).map_or(&[][..], |base| &base.signature.tests);
            check.signature.tests.iter().any(|test| !before.contains(test)) && asserts_somewhere(check)
        })
    }

    /// Whether code breaks in a test that the base has, or never ends: of a fault that shows it, and of what the code does not know yet it
    /// says as much as an empty test.
    pub(super) fn breaks_old_code(&self, baseline: &[CheckReport], parts: &Parts) -> bool {
        let breaks = |check: &CheckReport| {
            check.timed_out || has_new_failure(check, baseline, |failed| parts.is_in_old_code(failed.frame.as_ref()))
        };
        self.red.iter().any(breaks)
    }

    /// Whether a test fails in it, and does not only fail to be there.
    pub(super) fn fails_anywhere(&self) -> bool {
        self.red.iter().any(|check| !failing_of(check).is_empty() || asserts_somewhere(check))
    }

    /// The tests that fail in it and do not at the base, behind a sentence: ` (`a`, `b`)`. Empty: nothing names them.
    pub(super) fn named_beyond(&self, baseline: &[CheckReport]) -> String {
        let of = |check: &CheckReport| -> Vec<String> {
            let before: BTreeSet<&str> = check.at_base(baseline).map(failing_of).into_iter().flatten().collect();
            failing_of(check).into_iter().filter(|test| !before.contains(test)).map(str::to_owned).collect()
        };
        let beyond: BTreeSet<String> = self.red.iter().flat_map(of).collect();
        let named: Vec<&str> = beyond.iter().map(String::as_str).collect();
        if named.is_empty() { String::new() } else { format!(" ({})", verdict::listed(&named)) }
    }

    /// Which tests fail in it: `test `a` fails`. None: nothing names them.
    pub(super) fn failing_words(&self) -> Option<String> {
        // What cannot be loaded is named by its file.
        let is_file = |id: &str| belongs_to_tests(id) && toolchain::is_code(id);
        let (files, tests): (Vec<&str>, Vec<&str>) = self.failing().into_iter().partition(|id| is_file(id));
        let said = |one: &str, many: &str, names: &[&str]| match names {
            [] => None,
            [_] => Some(format!("{one}{} fails", verdict::listed(names))),
            _ => Some(format!("{many}{} fail", verdict::listed(names))),
        };
        let whole = said("", "", &files).map(|said| format!("{said} as a whole"));
        let said: Vec<String> = said("test ", "tests ", &tests).into_iter().chain(whole).collect();
        (!said.is_empty()).then(|| said.join(", and "))
    }

    /// Whether something was kept from writing outside of its room.
    pub(super) fn was_denied(&self) -> bool {
        // Tools say so beside the tests, too, and go on: of a cache that they may not trim.
        self.red.iter().any(|check| match &check.signature.counted {
            Some(counted) => counted.failing.values().any(was_denied),
            None => check.output.text().lines().any(toolchain::says_it_was_denied),
        })
    }

    /// Whether a test that failed at the base fails here too, by more than a missing name, or is not run any more: with all the new code it is
    /// refused by a test as it was, whatever it failed of before.
    pub(super) fn still_fails(&self, names: &[String], baseline: &[CheckReport]) -> bool {
        self.red.iter().filter(|check| names.contains(&check.spec.name)).any(|check| {
            // It is red for want of tests.
            if check.passed() {
                return true;
            }
            let Some(base) = check.at_base(baseline) else { return false };
            match (&base.signature.counted, &check.signature.counted) {
                (Some(before), Some(now)) => before.failing.iter().any(|(test, was)| match now.failing.get(test) {
                    Some(failed) => is_about_behaviour(check, failed),
                    None => is_about_behaviour(base, was) && !now.passes(test, before),
                }),
                _ => asserts_somewhere(base) || check.output.text().lines().any(toolchain::says_an_assertion_failed),
            }
        })
    }

    /// The same without checks that say nothing of tests: a type checker or a linter, which names all that is wrong with its place. `whole` are
    /// the checks of the change.
    pub(super) fn of_tests(self, whole: &[CheckReport]) -> Self {
        let has_summary = |check: &CheckReport| toolchain::summary(&check.output.text()).is_some();
        let looks_at_code = |check: &CheckReport| {
            let of_whole = check.at_base(whole);
            check.signature.extent.errors_alone && !has_summary(check) && !of_whole.is_some_and(has_summary)
        };
        // Where the checks could not be prepared, there is none.
        if self.red.is_empty() {
            return self;
        }
        let red: Vec<CheckReport> = self.red.into_iter().filter(|check| !looks_at_code(check)).collect();
        Self { is_red: !red.is_empty(), red }
    }

    /// Whether a test that does not fail in the other outcome fails by what it asserts.
    pub(super) fn asserts_beyond(&self, other: &Self, parts: &Parts) -> bool {
        // Nothing is known where the checks could not be prepared.
        if self.red.is_empty() || other.is_red && other.red.is_empty() {
            return false;
        }
        self.red.iter().any(|check| {
            let same = other.red.iter().find(|red| red.scope == check.scope && red.spec == check.spec);
            let known = |test: &String| {
                same.is_some_and(|red| {
                    let counted = red.signature.counted.as_ref();
                    red.signature.tests.contains(test)
                        || counted.is_some_and(|counted| counted.failing.contains_key(test))
                })
            };
            if let Some(counted) = &check.signature.counted {
                return counted.failing.iter().any(|(test, failed)| !known(test) && asserts(check, failed, parts));
            }
            check.signature.tests.iter().any(|test| !known(test)) && asserts_somewhere(check)
        })
    }
}

/// Whether a test fails by what it asserts, and not by what the code asserts of what it is given.
fn asserts(check: &CheckReport, failed: &FailedTest, parts: &Parts) -> bool {
    // A test of Go says in words of its own what is wrong; whatever breaks in it is a panic, which ends all of them.
    let says_so = || check.signature.tool == "go test" && failed.frame.is_some() && failed.how.starts_with('\u{1f}');
    (failed.says_an_assertion_failed() || says_so()) && !parts.is_in_code(failed.frame.as_ref())
}

/// The same of a whole output, where it is not known which test says what.
fn asserts_somewhere(check: &CheckReport) -> bool {
    let text = check.output.text();
    text.lines().any(toolchain::says_an_assertion_failed) && !text.lines().any(toolchain::says_a_name_is_missing)
}

/// Whether a test fails for what code does. Some runners list a file that could not be loaded as a test that failed, and say elsewhere
/// which name was missing in it.
fn is_about_behaviour(check: &CheckReport, failed: &FailedTest) -> bool {
    let is_a_file = || toolchain::is_code(&failed.name) || failed.frame.is_none();
    let names_one = || is_a_file() && check.output.text().lines().any(toolchain::says_a_name_is_missing);
    failed.says_an_assertion_failed() || !(failed.says_a_name_is_missing() || names_one())
}

/// Whether a test fails because it was kept from writing.
fn was_denied(failed: &FailedTest) -> bool {
    let said = failed.how.split('\u{1f}').chain(failed.detail.iter().flat_map(|detail| detail.lines()));
    said.into_iter().any(toolchain::says_it_was_denied)
}

/// Whether a test fails that does not fail at the base, in this way, and not because it was kept from writing.
fn has_new_failure(check: &CheckReport, baseline: &[CheckReport], shows: impl Fn(&FailedTest) -> bool) -> bool {
    let base = check.at_base(baseline);
    let before = base.map_or(&[][..], |base| &base.signature.tests);
    let known = base.and_then(|base| base.signature.counted.as_ref());
    let is_new = |test: &String| !before.contains(test) && known.is_none_or(|known| !known.failing.contains_key(test));
    let failing = check.signature.counted.iter().flat_map(|counted| &counted.failing);
    failing.into_iter().any(|(test, failed)| is_new(test) && !was_denied(failed) && shows(failed))
}

/// What a run says of the lines that were taken back for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// All is as green as with them.
    Green,
    /// A test fails by more than a missing name.
    Red,
    /// Tests that ran with them do not run, or only names are missing: nothing is known.
    Entangled,
}

impl Outcome {
    /// What it says, beside the same checks on the whole change.
    pub(super) fn reading(&self, whole: &[CheckReport]) -> Reading {
        let says = |check: &CheckReport| read(check, check.at_base(whole));
        match self.is_red {
            false => Reading::Green,
            // What the walls keep the rest from says nothing of what was taken back.
            true if self.was_denied() => Reading::Entangled,
            true if self.red.iter().any(|check| says(check) == Reading::Red) => Reading::Red,
            true => Reading::Entangled,
        }
    }

    /// The tests that fail in it, by id, to see whether another run is the same.
    pub(super) fn failing(&self) -> BTreeSet<&str> {
        self.red.iter().flat_map(failing_of).collect()
    }
}

fn failing_of(check: &CheckReport) -> Vec<&str> {
    match &check.signature.counted {
        Some(counted) => counted.failing.keys().map(String::as_str).collect(),
        None => check.signature.tests.iter().map(String::as_str).collect(),
    }
}

/// By test ids first: an exit status does not tell a test that fails from code that does not build.
fn read(check: &CheckReport, whole: Option<&CheckReport>) -> Reading {
    if check.timed_out {
        return Reading::Red;
    }
    let ran = |check: &CheckReport| toolchain::summary(&check.output.text())?.counts.map(toolchain::Counts::ran);
    if let (Some(now), Some(before)) = (ran(check), whole.and_then(ran))
        && now < before
    {
        return Reading::Entangled;
    }
    let known = |test: &str| whole.is_some_and(|whole| failing_of(whole).contains(&test));
    let is_red = if let Some(counted) = &check.signature.counted {
        counted.failing.iter().any(|(test, failed)| !known(test) && is_about_behaviour(check, failed))
    } else {
        let names_it = || check.output.text().lines().any(toolchain::says_a_name_is_missing);
        check.signature.tests.iter().any(|test| !known(test)) && !names_it()
    };
    if is_red { Reading::Red } else { Reading::Entangled }
}
