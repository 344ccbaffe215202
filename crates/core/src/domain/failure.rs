//! Failures: what is known of a failed attempt, and what it looks like.

use super::printed::{self, PrintedBeside, PrintedLine, Varies};
use super::{
    CheckCommand, CountedTests, Did, Ending, Flaky, Output, PassedAttempt, Reflection, ReflectionId, SessionId, Step,
    SubtaskId, TaskId, TestsBeside, Timestamp, same_file,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known of a failed attempt: the input of every generator (a command generator reads it as JSON on stdin).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureContext {
    /// Format version, 1.
    pub v: u32,
    /// Unique.
    pub id: String,
    /// The agent run that failed.
    pub session_id: SessionId,
    /// The task.
    pub task_id: TaskId,
    /// The subtask.
    pub subtask_id: SubtaskId,
    /// Title and description of what was asked.
    pub subtask_description: String,
    /// When the task counts as done, in words.
    pub acceptance_criteria: String,
    /// From 1, over all runs.
    pub attempt_number: u32,
    /// What kind of failure it is.
    pub failure_type: FailureType,
    /// Why the agent stopped.
    pub ending: Ending,
    /// The check that failed, if one did.
    pub check: Option<FailedCheck>,
    /// The names of the checks that ran and say nothing against the work: they passed, or were red before in the same way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ran: Vec<String>,
    /// What is to be done about it, in the words of whoever refuted the attempt; empty where a check is red, which says it itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todo: Vec<String>,
    /// What refuted the attempt where no check is red.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refuted_by: Option<Refutation>,
    /// What the failing check (or, without one, the agent) printed; paths of the workspace are relative to it.
    pub output: Output,
    /// What the failure looks like.
    pub signature: Signature,
    /// Checks that failed, and of which that says nothing about the work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaky: Vec<Flaky>,
    /// The tests, by id, that failed in the check before any attempt, and so do not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_failures: Vec<String>,
    /// What the attempt changed.
    pub files_changed: Vec<String>,
    /// Where it changed nothing, the files in which earlier attempts have left something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_left: Vec<String>,
    /// Hash of what the attempt changed.
    pub diff_hash: String,
    /// The same beside the task's base, as a unified diff: of a long one its head and its tail, 16 KB in all. Empty where nothing was changed,
    /// and where it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diff: String,
    /// What the agent did, in order: files read and changed, commands run. Of more than forty steps the first ten and the last thirty; empty
    /// where its records do not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// How many steps were left out of the middle.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps_left_out: usize,
    /// The agent's closing message: a claim.
    pub agent_message: String,
    /// Earlier reflections on the same subtask, newest first.
    pub previous_reflections: Vec<Reflection>,
    /// Which of the lessons that stood in the attempt's prompt its change went along with, as far as they name files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub followed: Vec<LessonFollowed>,
    /// The next attempt, if that was confirmed: the lesson is what made the difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<PassedAttempt>,
    /// When the attempt was judged.
    pub created_at: Timestamp,
}

impl FailureContext {
    /// A failure of which only this much is known; fill in what else there is. For loops of your own.
    ///
    /// ```
    /// # use reflexion_core::domain::{FailureContext, Output, TaskId, Timestamp};
    /// let mut failure = FailureContext::new(TaskId::new("fix-dates")?, 1, Timestamp::UNIX_EPOCH);
    /// failure.output = Output::whole("assertion failed: parse(\"1 May\") == Some(..)");
    /// # Ok::<(), reflexion_core::domain::IdError>(())
    /// ```
    #[must_use]
    pub fn new(task: TaskId, attempt_number: u32, created_at: Timestamp) -> Self {
        Self {
            v: 1,
            id: format!("fc-{task}-{attempt_number}"),
            session_id: SessionId::default(),
            subtask_id: SubtaskId::from(&task),
            task_id: task,
            subtask_description: String::new(),
            acceptance_criteria: String::new(),
            attempt_number,
            failure_type: FailureType::CheckFailed,
            ending: Ending::Finished,
            check: None,
            ran: Vec::new(),
            todo: Vec::new(),
            refuted_by: None,
            output: Output::default(),
            signature: Signature::default(),
            flaky: Vec::new(),
            known_failures: Vec::new(),
            files_left: Vec::new(),
            files_changed: Vec::new(),
            diff_hash: String::new(),
            diff: String::new(),
            steps: Vec::new(),
            steps_left_out: 0,
            agent_message: String::new(),
            previous_reflections: Vec::new(),
            followed: Vec::new(),
            passed: None,
            created_at,
        }
    }

    /// The file in which the failure shows, if the agent has neither read nor changed it: known only of agents whose records name what they
    /// read, and of runs that are known whole.
    #[must_use]
    pub fn never_looked_at(&self) -> Option<&str> {
        let file = self.signature.frame.as_deref()?.split([':', ' ']).next().filter(|file| !file.is_empty())?;
        let reads = self.steps.iter().any(|step| step.did == Did::Read);
        // A command may have shown it.
        let names = |step: &Step| same_file(&step.what, file) || step.did == Did::Run && step.what.contains(file);
        let is_known = reads && self.steps_left_out == 0;
        let seen = self.steps.iter().any(names) || self.files_changed.iter().any(|changed| same_file(changed, file));
        (is_known && !seen).then_some(file)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What refuted an attempt where no check is red.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refutation {
    /// The rule: the name of a gate (`protected_paths`, `tests_kept`), or of what the runtime itself looks at (`outside`, `links`, `setup`,
    /// `rewrote_tests`, `nothing_turned`).
    pub rule: String,
    /// Where in the change it shows: `test_cart.py:12`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The line that stands or stood there, if the diff shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
}

/// A lesson that stood in the attempt's prompt, and what of it the attempt went along with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LessonFollowed {
    /// The lesson.
    pub reflection: ReflectionId,
    /// The files that it names.
    pub named: Vec<String>,
    /// Those of them that the attempt changed.
    pub changed: Vec<String>,
}

/// The check that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedCheck {
    /// Its name.
    pub name: String,
    /// Its command.
    pub run: CheckCommand,
    /// Exit status, if it exited.
    pub exit_status: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// The time limit ended it.
    pub timed_out: bool,
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureType {
    /// A check is red and the agent did not claim to be done.
    CheckFailed,
    /// A check is red although the agent claimed to be done.
    FalseDone,
    /// The agent or the check ran out of time.
    Timeout,
    /// The agent failed.
    AgentError,
    /// A check is green where the agent worked and red on a clean copy of its change.
    OnlyInWorkspace,
    /// The work could not be merged.
    MergeConflict,
    /// Nothing was changed.
    EmptyChange,
}

impl FailureType {
    /// The word used in files and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CheckFailed => "check_failed",
            Self::FalseDone => "false_done",
            Self::Timeout => "timeout",
            Self::AgentError => "agent_error",
            Self::OnlyInWorkspace => "only_in_workspace",
            Self::MergeConflict => "merge_conflict",
            Self::EmptyChange => "empty_change",
        }
    }

    /// What kind of failure an ending makes of work that is refuted, as far as the ending tells.
    #[must_use]
    pub fn of(ending: &Ending) -> Self {
        match ending {
            Ending::Timeout | Ending::Hang => Self::Timeout,
            Ending::Crash | Ending::AgentError | Ending::Context | Ending::Budget | Ending::Permission => {
                Self::AgentError
            }
            Ending::Finished => Self::FalseDone,
            Ending::RateLimited { .. }
            | Ending::Quota
            | Ending::Transient
            | Ending::Auth
            | Ending::Nudged
            | Ending::Cancelled => Self::CheckFailed,
        }
    }

    /// Whether it is no failure of the agent's run: what the work itself lacks is then worth naming.
    #[must_use]
    pub fn is_of_work(self) -> bool {
        !matches!(self, Self::Timeout | Self::AgentError)
    }
}

/// What a failure looks like, stripped of what changes from run to run: two failures with equal
/// [`fingerprint`](Signature::fingerprint)s are *the same failure*.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Signature {
    /// `cargo`, `pytest`, `go test`, …; `shell` where no tool was recognised.
    pub tool: String,
    /// Error code or exception type: `E0308`, `TS2322`, `AssertionError`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The message's first line, with numbers, paths and addresses masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Names of the failing tests, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// The top frame or location inside the project: `src/lib.rs:12` or `calc.py:3 in add`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
    /// Exit status of the check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// Signal that ended the check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The check ran out of time.
    #[serde(skip_serializing_if = "is_false")]
    pub timed_out: bool,
    /// The check ran out of memory.
    #[serde(skip_serializing_if = "is_false")]
    pub out_of_memory: bool,
    /// Version and hash of the above, e.g. `v1:9f86d081884c7d65`; empty means *no failure*.
    pub fingerprint: String,
    /// Every failing test with its own failure, where the output vouches for the list; kept in this process only.
    #[serde(skip)]
    pub counted: Option<CountedTests>,
    /// How much fails beside what the fingerprint knows; kept in this process only.
    #[serde(skip)]
    pub extent: Extent,
}

/// How much fails in a run. A fingerprint knows the first failure; what follows it is here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extent {
    /// How many failures each test runner counts, in each of its runs, in order.
    pub tests: BTreeMap<String, Vec<u64>>,
    /// Lines that say what is wrong, without what changes from run to run, and how often each stands there.
    pub lines: BTreeMap<String, usize>,
    /// The failure itself is among these lines, and no test fails: compilers and linters name all that is wrong.
    pub errors_alone: bool,
    /// How many errors programs say that they have found, where no line names one.
    pub errors: Option<u64>,
    /// Numbers that stand beside a word of failing, by the line without its numbers.
    pub counts: BTreeMap<String, Vec<u64>>,
    /// What it printed, line by line; none where that is not known.
    pub printed: Option<Vec<PrintedLine>>,
    /// What of it changes from run to run, where the base was asked.
    pub varies: Option<Varies>,
    /// As many tests are named as are counted, or errors with their places are all that is wrong: nothing fails that is not named.
    pub names_all: bool,
    /// Not all of what it printed is known.
    pub cut: bool,
}

impl Extent {
    /// Leaves out of the comparison what differs between two runs of the base itself.
    pub fn excuse(&mut self, base: &Self, again: &Self) {
        if let (Some(first), Some(second)) = (&base.printed, &again.printed) {
            self.varies = Some(Varies::between(first, second));
        }
    }

    /// Leaves out of the comparison how long things took, and the order, where these differ between two runs of the same files. Other
    /// values that do so may be what the work has broken.
    pub fn excuse_times(&mut self, again: &Self) {
        if let (Some(first), Some(second)) = (&self.printed, &again.printed) {
            let both = Varies::between(first, second);
            self.varies = Some(self.varies.take().unwrap_or_default().with_times_and_order_of(&both));
        }
    }

    /// How what is printed differs from what the base printed; none where either is not known.
    fn printed_beside<'t>(&'t self, base: &'t Self) -> Option<PrintedBeside<'t>> {
        let (now, before) = self.printed.as_deref().zip(base.printed.as_deref())?;
        Some(printed::beside(now, before, self.varies.as_ref().or(base.varies.as_ref())))
    }

    /// Whether nothing fails here that does not fail at the base, as far as both are known.
    #[must_use]
    pub fn is_within(&self, base: &Self) -> bool {
        let known = |(line, now): (&String, &usize)| base.lines.get(line).is_some_and(|before| now <= before);
        // What is missing of the base may be just that.
        self.counts_no_more_than(base) && (base.cut || self.lines.iter().all(known))
    }

    /// What fails here and does not at the base, in words; none where nothing does, as far as it is known.
    #[must_use]
    pub fn more_than(&self, base: &Self) -> Option<String> {
        let more = self.tests.iter().find_map(|(runner, now)| {
            let before = base.tests.get(runner).map(Vec::as_slice).unwrap_or_default();
            let (now, before): (u64, u64) = (now.iter().sum(), before.iter().sum());
            (now > before).then(|| format!("{runner} counts {now} that fail, and counted {before} at the base"))
        });
        let is_new = |(line, now): &(&String, &usize)| base.lines.get(*line).is_none_or(|before| *now > before);
        let line =
            || self.lines.iter().find(is_new).map(|(line, _)| format!("this is new: `{}`", line.replace('`', "'")));
        if self.is_within(base) { None } else { more.or_else(line) }
    }

    /// Whether no runner, and no line, counts more that fails than at the base.
    fn counts_no_more_than(&self, base: &Self) -> bool {
        let tests = self.tests.iter().all(|(runner, now)| match base.tests.get(runner) {
            Some(before) => no_more(now, before),
            // What was cut out may be its word.
            None => base.cut || now.iter().all(|failed| *failed == 0),
        });
        let counts =
            |(line, now): (&String, &Vec<u64>)| base.counts.get(line).is_none_or(|before| no_more(now, before));
        let errors = match (self.errors, base.errors) {
            (Some(now), Some(before)) => now <= before,
            _ => true,
        };
        tests && (base.cut || (errors && self.counts.iter().all(counts)))
    }
}

/// Number by number where there are as many, in sum otherwise.
fn no_more(now: &[u64], before: &[u64]) -> bool {
    if now.len() == before.len() {
        now.iter().zip(before).all(|(now, before)| now <= before)
    } else {
        now.iter().sum::<u64>() <= before.iter().sum()
    }
}

impl Signature {
    /// Whether this is the failure of `base`, or a part of it: nothing fails that did not fail there.
    #[must_use]
    pub fn is_no_more_than(&self, base: &Self) -> bool {
        // What the fingerprint does not know: which test of a name it is, and whether the others still run.
        let of_tests = |beside: TestsBeside| {
            beside.is_no_more() && (self.fingerprint == base.fingerprint || self.is_part_of(base))
        };
        match self.beside(base) {
            Some(beside) => self.extent.is_within(&base.extent) && of_tests(beside),
            None => self.is_known_as_a_whole(base),
        }
    }

    /// Whether tests are not named one by one, and nothing says that more fails than at the base.
    fn is_known_as_a_whole(&self, base: &Self) -> bool {
        let is_all_known = |of: &Self| of.is_cut() || of.extent.names_all || of.extent.printed.is_none();
        let looks_the_same = self.fingerprint == base.fingerprint && (is_all_known(self) || is_all_known(base));
        let is_alike = self.has_errors_of(base) || looks_the_same;
        if self.prints_numbers_alone() || base.prints_numbers_alone() {
            return false;
        }
        self.extent.is_within(&base.extent) && is_alike
            || self.extent.counts_no_more_than(&base.extent)
                && self.prints_no_more_than(base)
                && self.ends_no_worse_than(base)
    }

    /// Whether the exit status is that of the base, or a smaller one where less is printed: it may be all that says how much fails.
    fn ends_no_worse_than(&self, base: &Self) -> bool {
        let is_less = || self.extent.printed_beside(&base.extent) == Some(PrintedBeside::Less);
        self.exit_status == base.exit_status
            || self.exit_status.zip(base.exit_status).is_some_and(|(now, before)| now < before) && is_less()
    }

    /// Whether nothing that it prints is a word: what its numbers count, and whether that is the same as at the base, nobody knows.
    fn prints_numbers_alone(&self) -> bool {
        let lines = self.extent.printed.as_deref().unwrap_or_default();
        !lines.is_empty() && !lines.iter().any(|line| line.text.contains(char::is_alphabetic))
    }

    /// Whether not all of what it printed is known.
    fn is_cut(&self) -> bool {
        self.extent.cut || self.was_cut()
    }

    /// Whether what is printed is what the base printed, or says of less that it fails, where tests are not named one by one.
    fn prints_no_more_than(&self, base: &Self) -> bool {
        self.can_be_compared(base)
            && matches!(self.extent.printed_beside(&base.extent), Some(PrintedBeside::Same | PrintedBeside::Less))
    }

    /// Whether what is printed says what fails.
    fn can_be_compared(&self, base: &Self) -> bool {
        // Tests that are counted and not named may be others.
        let names_its_tests = self.extent.names_all || self.extent.tests.values().flatten().all(|failed| *failed == 0);
        let is_said = names_its_tests || self.fingerprint == base.fingerprint;
        // Where the base names them, so must this.
        let is_named = base.counted.is_none() || self.fingerprint == base.fingerprint;
        !self.is_cut() && !base.is_cut() && self.tool == base.tool && is_said && is_named
    }

    /// Whether nothing fails that did not fail at the base, and less than there, where nobody says what passes.
    #[must_use]
    pub fn prints_less_than(&self, base: &Self) -> bool {
        let Some((now, before)) = self.counted.as_ref().zip(base.counted.as_ref()) else {
            let is_less = self.extent.printed_beside(&base.extent) == Some(PrintedBeside::Less);
            let is_no_more = self.extent.counts_no_more_than(&base.extent) && self.ends_no_worse_than(base);
            return is_less && is_no_more && self.can_be_compared(base);
        };
        let is_less = now.failing.len() < before.failing.len() && now.beside(before).is_no_more();
        is_less && now.ran.is_none() && now.passed.is_none()
    }

    /// Why it is not known whether the same fails as at the base, where tests are not named one by one: nothing is printed, a line is gone,
    /// or one is new that may be another failure.
    #[must_use]
    pub fn unknown_beside(&self, base: &Self) -> Option<String> {
        let is_same = self.fingerprint == base.fingerprint;
        let is_open = self.beside(base).is_none()
            && (base.counted.is_none() || is_same)
            && self.extent.is_within(&base.extent)
            && !self.is_cut()
            && !base.is_cut()
            && !self.is_known_as_a_whole(base);
        let quoted = |line: &str| line.trim().replace('`', "'");
        match self.extent.printed_beside(&base.extent).filter(|_| is_open)? {
            PrintedBeside::Nothing => Some("it prints nothing".to_owned()),
            _ if self.prints_numbers_alone() => Some("it prints nothing but numbers".to_owned()),
            PrintedBeside::Same | PrintedBeside::Less if !self.ends_no_worse_than(base) => {
                let status = |of: &Self| of.exit_status.map_or_else(|| "none".to_owned(), |status| status.to_string());
                Some(format!("its exit status is {}, and was {}", status(self), status(base)))
            }
            PrintedBeside::New(line, is_like_one) if is_same || is_like_one => {
                let stood = base.extent.printed.iter().flatten().any(|was| was.text == line);
                let is = if stood { "stands in another place" } else { "is new" };
                Some(format!("this line {is}: `{}`", quoted(line)))
            }
            PrintedBeside::Gone(line) => Some(format!("this line is gone: `{}`", quoted(line))),
            // Less, and the tests that it counts may be others.
            PrintedBeside::Same | PrintedBeside::Less => Some("the tests that it counts may be others".to_owned()),
            PrintedBeside::New(..) => None,
        }
    }

    /// Whether the base, run once more, may show that only that differs which changes from run to run.
    #[must_use]
    pub fn may_vary(&self, base: &Self) -> bool {
        let is_open = self.beside(base).is_none() && self.extent.is_within(&base.extent);
        let differs = || {
            let beside = self.extent.printed_beside(&base.extent);
            matches!(beside, Some(PrintedBeside::New(..) | PrintedBeside::Gone(_)))
        };
        is_open && !self.is_known_as_a_whole(base) && differs()
    }

    /// Whether this is a run of a part of the files of `whole` that fails in no more, as far as lines tell that are compared without what may
    /// change from run to run by the look of it.
    #[must_use]
    pub fn is_no_more_by_look(&self, whole: &Self) -> bool {
        let lines = self.extent.printed.as_deref().zip(whole.extent.printed.as_deref());
        let is_alike = self.fingerprint == whole.fingerprint || self.can_be_compared(whole);
        let by_look = || lines.is_none_or(|(now, before)| printed::is_no_more_by_look(now, before));
        self.is_no_more_than(whole)
            || self.beside(whole).is_none() && is_alike && self.extent.is_within(&whole.extent) && by_look()
    }

    /// Whether nothing is known to be wrong here and at `base` but errors that are named with their places, whichever comes first.
    fn has_errors_of(&self, base: &Self) -> bool {
        let named = |signature: &Self| signature.extent.errors_alone && !signature.extent.cut;
        named(self) && named(base) && self.ended_as(base) && !self.was_cut()
    }

    /// The same tool with the same exit status. Some runners exit with the number of failing tests.
    fn ended_as(&self, base: &Self) -> bool {
        let counts = |signature: &Self| {
            let failing = signature.counted.as_ref().map(|counted| counted.failing.len());
            failing.is_some_and(|failing| {
                signature.exit_status.and_then(|status| usize::try_from(status).ok()) == Some(failing)
            })
        };
        self.tool == base.tool && (self.exit_status == base.exit_status || (counts(self) && counts(base)))
    }

    fn was_cut(&self) -> bool {
        self.timed_out || self.out_of_memory || self.signal.is_some()
    }

    /// What differs between the tests here and at the base; none where either is not known test by test.
    #[must_use]
    pub fn beside(&self, base: &Self) -> Option<TestsBeside> {
        Some(self.counted.as_ref()?.beside(base.counted.as_ref()?))
    }

    /// The ids of the tests that fail here and failed at `base`, too, in the same way; empty where they are not known one by one.
    #[must_use]
    pub fn known_of(&self, base: &Self) -> Vec<&str> {
        match (&self.counted, &base.counted) {
            (Some(now), Some(base)) => now.known(base),
            _ => Vec::new(),
        }
    }

    /// Whether each test that fails here failed at `base` in the same way, and all that ran there still runs. False where either is not
    /// known test by test.
    #[must_use]
    pub fn is_part_of(&self, base: &Self) -> bool {
        self.ended_as(base)
            && !self.was_cut()
            && !base.was_cut()
            && self.beside(base).is_some_and(|beside| beside.is_no_more())
    }

    /// The failure without the tests that failed at the base in the same way: what of it is new. None where that is not known, or where
    /// no test is left.
    #[must_use]
    pub fn beyond(&self, base: &Self) -> Option<Self> {
        let TestsBeside { new, broken, changed, earlier, .. } = self.beside(base)?;
        let mut counted = self.counted.clone()?;
        counted.failing.retain(|test, _| [&new, &broken, &changed, &earlier].iter().any(|of| of.contains(test)));
        let (_, first) = counted.failing.first_key_value()?;
        let mut how = first.how.split('\u{1f}').map(|part| Some(part.to_owned()).filter(|part| !part.is_empty()));
        Some(Self {
            code: how.next().flatten(),
            message: how.next_back().flatten(),
            frame: first.frame.clone(),
            tests: counted.failing.values().map(|failed| failed.name.clone()).collect(),
            counted: Some(counted),
            ..self.clone()
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if wants a reference")]
fn is_false(b: &bool) -> bool {
    !*b
}
