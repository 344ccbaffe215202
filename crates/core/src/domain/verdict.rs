//! Verdicts: what the evidence says of an attempt.

use serde::{Deserialize, Serialize};

/// What the runtime's own evidence says of an attempt; never an average, never the agent's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every check passed in this attempt, on a change as expected.
    Confirmed,
    /// Evidence refutes it, and the agent did not claim to be done.
    Failed,
    /// Evidence refutes it although the agent said it was done.
    FalseDone,
    /// Nothing could be checked.
    Unverifiable,
}

impl Verdict {
    /// The word used in files and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Failed => "failed",
            Self::FalseDone => "false_done",
            Self::Unverifiable => "unverifiable",
        }
    }
}

/// What a confirmation rests on, as far as two more runs of the checks can tell: they are counted apart everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// A check that was red at the base is green now, or a test in it passes, and the change outside the tests is what did it.
    TurnedGreen,
    /// A new or changed test fails without the rest of the change and passes with it; the old tests pass too.
    NewTest,
    /// Every check was green before and is green still: nothing shows that the change did what was asked.
    StayedGreen,
    /// It is green only with tests, or settings of tests, that the change has changed.
    TestsAdapted,
}

impl Proof {
    /// The word used in files and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TurnedGreen => "turned_green",
            Self::NewTest => "new_test",
            Self::StayedGreen => "stayed_green",
            Self::TestsAdapted => "tests_adapted",
        }
    }

    /// Whether a check tells the change from no change.
    #[must_use]
    pub fn shows_a_difference(self) -> bool {
        matches!(self, Self::TurnedGreen | Self::NewTest)
    }

    /// The same for people, behind "confirmed: ".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::TurnedGreen => "red turned green",
            Self::NewTest => "a new test fails without the change",
            Self::StayedGreen => "whether it does what was asked is not proven",
            Self::TestsAdapted => "it is green only with tests, or what checks run or compare with, as it changed them",
        }
    }
}

/// How the checks ended in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ran {
    /// All that count passed.
    Green,
    /// One that counts did not pass.
    Red,
}

/// The runs of the checks beyond those of the base and of the change, that a [`Proof`] rests on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProofRuns {
    /// The change with its tests taken back: the base's own tests on the new code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub c: Option<Ran>,
    /// The base with only the tests of the change: the new tests on the old code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t: Option<Ran>,
    /// What the new tests noticed of mistakes in the new code, where it was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutants: Option<Mutants>,
    /// How often the checks were run for it, repetitions included.
    pub runs: u32,
    /// A run that decides was green when it was repeated: nothing follows from it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub flaky: bool,
}

/// What new tests show of a change that they do not prove.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestsShow {
    /// They end alike without the change.
    Nothing,
    /// They fail without it, and do not notice a mistake in it.
    NoMistake,
    /// They fail without it; whether they would notice a mistake in it is not known.
    Unknown,
}

impl TestsShow {
    /// The same for people, behind the tests.
    ///
    /// ```
    /// # use reflexion_core::domain::{ProofRuns, Ran, TestsShow};
    /// let runs = ProofRuns { t: Some(Ran::Green), ..ProofRuns::default() };
    /// assert_eq!(runs.tests_show().map(TestsShow::words), Some("does not fail without the change"));
    /// ```
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Nothing => "does not fail without the change",
            Self::NoMistake => "fails without the change, but passes with a mistake in the new code, too",
            Self::Unknown => {
                "fails without the change, but nothing shows that it would notice a mistake in the new code"
            }
        }
    }
}

/// Mistakes that were made in the lines of a change, one at a time ([mutation testing](https://doi.org/10.1109/C-M.1978.218136)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutants {
    /// A new test fails with it, by what it asserts.
    pub killed: u32,
    /// No new test notices it.
    pub survived: u32,
}

/// Which lines of a change the checks notice: they were taken back, part by part, and the checks run again. A place is a file with
/// its lines as changed: `src/cache.rs:88-104`; a file alone where it is taken back as a whole.
///
/// ```
/// # use reflexion_core::domain::ProofHunks;
/// let hunks = ProofHunks { not_noticed: vec!["src/cache.rs:88-104".to_owned()], ..ProofHunks::default() };
/// assert_eq!(hunks.words(str::to_owned).as_deref(), Some("not noticed by any check: src/cache.rs:88-104"));
/// let hunks = ProofHunks { replaced: hunks.not_noticed.clone(), ..hunks };
/// assert_eq!(hunks.words(str::to_owned).as_deref(), Some("no check tells src/cache.rs:88-104 from what was there"));
/// let hunks = ProofHunks { mistakes: vec!["src/cache.rs:90".to_owned(), "src/a.rs:7".to_owned()], ..ProofHunks::default() };
/// assert_eq!(hunks.words(str::to_owned).as_deref(), Some("no test notices a mistake in src/cache.rs:90, src/a.rs:7"));
/// let places = ["src/cache.rs:88-104", "src/lib.rs:3"].map(str::to_owned).to_vec();
/// let hunks = ProofHunks { whole: true, not_noticed: places, ..ProofHunks::default() };
/// assert_eq!(hunks.words(str::to_owned).as_deref(), Some("without the whole change every check is as green; its lines were not tried one by one"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProofHunks {
    /// A test fails without it, by more than a missing name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<String>,
    /// Every check is as green without all of these together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_noticed: Vec<String>,
    /// Those of `not_noticed` where other code stood before: what checks run there need not be another than it was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<String>,
    /// Nothing was taken back but the whole change, without which every check is as green: what `not_noticed` lists says nothing of its lines, one
    /// by one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Lines in which a mistake was made that no test has noticed, beside one that a new test has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<String>,
    /// Without it nothing can be known: the rest does not build, a name is missing, or tests are not run any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entangled: Vec<String>,
    /// The runs or the time for it were used up, or the checks do not pass where such a thing may be run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_tried: Vec<String>,
}

impl ProofHunks {
    /// At most this many places stand in a sentence.
    const NAMED: usize = 5;

    /// What no check notices, and of which nobody knows, in words; none if there is no such line. `shown` makes a place, in which an agent has chosen the file's name,
    /// fit for where it is shown.
    #[must_use]
    pub fn words(&self, shown: impl Fn(&str) -> String) -> Option<String> {
        let named = |places: &[&String]| {
            let named: Vec<String> = places.iter().take(Self::NAMED).map(|place| shown(place)).collect();
            let more = places.len().saturating_sub(Self::NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            (!named.is_empty()).then(|| format!("{}{more}", named.join(", ")))
        };
        let (replaced, only_new): (Vec<&String>, Vec<&String>) =
            self.not_noticed.iter().partition(|place| self.replaced.contains(place));
        let (not_tried, mistakes): (Vec<&String>, Vec<&String>) =
            (self.not_tried.iter().collect(), self.mistakes.iter().collect());
        // One place is the whole.
        let of_lines = if self.whole && self.not_noticed.len() > 1 {
            const WHOLE: &str = "without the whole change every check is as green; its lines were not tried one by one";
            [Some(WHOLE.to_owned()), None]
        } else {
            [
                named(&replaced).map(|places| format!("no check tells {places} from what was there")),
                named(&only_new).map(|places| format!("not noticed by any check: {places}")),
            ]
        };
        let others = [
            named(&mistakes).map(|places| format!("no test notices a mistake in {places}")),
            named(&not_tried).map(|places| format!("not tried whether a check notices it: {places}")),
        ];
        let words: Vec<String> = of_lines.into_iter().chain(others).flatten().collect();
        (!words.is_empty()).then(|| words.join("; "))
    }

    /// Whether nothing of a change could be taken back.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl ProofRuns {
    /// What tests show that do not prove the change they are of; none where no run says it.
    #[must_use]
    pub fn tests_show(&self) -> Option<TestsShow> {
        Some(match (self.t?, self.mutants) {
            (Ran::Green, _) => TestsShow::Nothing,
            (Ran::Red, Some(mutants)) if mutants.survived > 0 => TestsShow::NoMistake,
            (Ran::Red, _) => TestsShow::Unknown,
        })
    }

    /// What the runs said, in words; none if there is nothing to say.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        // What failed before may fail still.
        let ran = |what: &str, ran: Option<Ran>| {
            Some(format!("{what}: {}", if ran? == Ran::Green { "no new failure" } else { "red" }))
        };
        let all = [ran("with the old tests", self.c), ran("with the tests alone", self.t)];
        let mutants = self.mutants.map(|m| format!("mistakes noticed: {} of {}", m.killed, m.killed + m.survived));
        let flaky = self.flaky.then(|| "red once and green once".to_owned());
        let words: Vec<String> = all.into_iter().chain([mutants, flaky]).flatten().collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}
