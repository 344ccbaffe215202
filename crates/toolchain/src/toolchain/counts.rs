//! Numbers of tests, and the lists that name them.

/// How many tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// That passed.
    pub passed: u64,
    /// That failed, or could not be set up.
    pub failed: u64,
    /// Of those that failed, what may be no test of its own: a file that cannot be read, a hook, the second failure of one test.
    pub extra: u64,
    /// That were skipped, ignored, expected to fail, or are still to be written.
    pub skipped: u64,
}

impl Counts {
    /// The tests that were run, and failures that may be none.
    #[must_use]
    pub fn ran(self) -> u64 {
        self.passed.saturating_add(self.failed)
    }

    /// The tests that were certainly run.
    #[must_use]
    pub fn surely_ran(self) -> u64 {
        self.ran().saturating_sub(self.extra)
    }

    /// Whether all tests that ran at the base and do not run now are skipped instead, and none is gone.
    #[must_use]
    pub fn only_skips_more_than(self, base: Self) -> bool {
        let missing = base.surely_ran().saturating_sub(self.ran());
        missing > 0 && self.skipped.saturating_sub(base.skipped) >= missing
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    pub(super) fn most(self, other: Self) -> Self {
        self.with(other, u64::max)
    }

    fn with(self, other: Self, join: fn(u64, u64) -> u64) -> Self {
        Self {
            passed: join(self.passed, other.passed),
            failed: join(self.failed, other.failed),
            extra: join(self.extra, other.extra),
            skipped: join(self.skipped, other.skipped),
        }
    }

    /// Those of a total that did not fail and were not skipped have passed. Where more failed than there are, one test has failed several
    /// times.
    pub(super) fn of_total(self, total: u64) -> Self {
        let others = self.failed.saturating_add(self.skipped);
        let extra = self.extra.max(others.saturating_sub(total)).min(self.failed);
        Self { passed: total.saturating_sub(others), extra, ..self }
    }

    /// As many of those that passed were skipped.
    pub(super) fn without(self, skipped: u64) -> Self {
        let skipped = skipped.min(self.passed);
        Self { passed: self.passed - skipped, skipped: self.skipped + skipped, ..self }
    }

    /// Says of as many failures that they are no tests of their own; returns how many more there were than failures.
    pub(super) fn take_as_extra(&mut self, failures: u64) -> u64 {
        let taken = failures.min(self.failed.saturating_sub(self.extra));
        self.extra += taken;
        failures - taken
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 { write!(f, ", {} skipped", self.skipped) } else { Ok(()) }
    }
}

/// Reads a list such as `3 failed, 10 passed` or `Failures: 1, Skipped: 2`; other numbers in it say nothing.
pub(super) fn read(list: &str) -> Counts {
    let mut counts = Counts::default();
    for (number, word) in numbers(list) {
        let word = word.to_ascii_lowercase();
        match word.trim_matches(|c: char| !c.is_alphabetic()) {
            "passed" | "passing" | "pass" | "xpassed" | "success" | "successes" => counts.passed += number,
            "failed" | "failing" | "fail" | "failure" | "failures" | "broken" | "crashed" | "timed" | "invalid"
            | "unexpected" => counts.failed += number,
            "error" | "errors" => {
                counts.failed += number;
                counts.extra += number;
            }
            "skipped" | "ignored" | "pending" | "pendings" | "xfailed" | "todo" | "skip" | "skips" | "incomplete"
            | "cancelled" | "disabled" | "omissions" | "excluded" | "expected" | "expectedfailures" | "undefined" => {
                counts.skipped += number;
            }
            _ => {}
        }
    }
    counts
}

/// Numbers by their words: `3 failed, 10 passed`, `Failures: 1`, `expected failures=1`.
fn numbers(list: &str) -> impl Iterator<Item = (u64, &str)> {
    list.split([',', ';', '|', '.', '·', '/']).filter_map(|part| {
        let mut words = part.split([' ', ':', '=', '\t']).filter(|word| !word.is_empty());
        let (first, second) = (words.next()?, words.next()?);
        // Numbers of tests are small; a sum of them must not overflow.
        let number = |word: &str| word.trim_end_matches(')').parse::<u32>().ok().map(u64::from);
        match number(first) {
            Some(number) => Some((number, second)),
            None => Some((number(second).or_else(|| number(words.next()?))?, first)),
        }
    })
}
