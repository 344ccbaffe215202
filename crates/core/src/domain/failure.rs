//! Failures: what is known of a failed attempt, and what it looks like.

use super::printed::{self, PrintedBeside, PrintedLine, Template, Varies};
use super::{
    CheckCommand, Did, Ending, Flaky, Output, Reflection, ReflectionId, SessionId, Step, SubtaskId, TaskId, Timestamp,
};
use crate::toolchain;
use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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

/// Whether two paths name the same file, one of them perhaps from further down.
///
/// ```
/// # use reflexion_core::domain::same_file;
/// assert!(same_file("shop/cart.py", "cart.py") && !same_file("shopcart.py", "cart.py"));
/// ```
#[must_use]
pub fn same_file(a: &str, b: &str) -> bool {
    let ends =
        |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    ends(a, b) || ends(b, a)
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

/// The tests of a failed run, as its runner, or a file with its results, names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountedTests {
    /// How many really ran: not those that were skipped, and not those that are expected to fail. None: the runner does not count
    /// those that pass.
    pub ran: Option<usize>,
    /// Every failing test, by its id.
    pub failing: BTreeMap<String, FailedTest>,
    /// The ids of those that passed; none where the runner does not name them.
    pub passed: Option<BTreeSet<String>>,
    /// The runner stopped behind the first program with a failing test: of the tests in the others nothing is known.
    pub stopped: bool,
}

/// How one test failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailedTest {
    /// Its name, as its runner takes it; the id may have more to it.
    pub name: String,
    /// Code, place and message without what changes from run to run, with `\u{1f}` between them.
    pub how: String,
    /// Its words as they were printed, but for lines of files.
    pub values: String,
    /// What was expected and what came instead, or the message, in the runner's words.
    pub detail: Option<String>,
    /// Where inside the project, with its line.
    pub frame: Option<String>,
    /// Where that is in a file of tests: what stands there.
    pub source: Option<TestSource>,
}

/// The file of a test as it was run, and where in it the test failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestSource {
    /// The file's text.
    pub text: Arc<str>,
    /// The line, from 1.
    pub line: usize,
}

impl TestSource {
    /// Whether the test stops above or below the line at which it stopped at `base`, or at the same; none where one of these lines does
    /// not stand in both files. A [line diff](https://docs.rs/similar) says which lines of two files are the same.
    ///
    /// ```
    /// # use reflexion_core::domain::TestSource;
    /// use std::cmp::Ordering;
    ///
    /// let at = |line| TestSource { text: "assert pop() == 'a'\nassert pop() == 'a'".into(), line };
    /// assert_eq!(at(1).beside(&at(2)), Some(Ordering::Less));
    /// assert_eq!(at(2).beside(&at(1)), Some(Ordering::Greater));
    /// ```
    #[must_use]
    pub fn beside(&self, base: &Self) -> Option<Ordering> {
        let (old, new): (Vec<&str>, Vec<&str>) = (base.text.lines().collect(), self.text.lines().collect());
        let same: Vec<(usize, usize)> = capture_diff_slices(Algorithm::Myers, &old, &new)
            .into_iter()
            .filter_map(|op| match op {
                DiffOp::Equal { old_index, new_index, len } => Some((old_index..old_index + len).zip(new_index..)),
                _ => None,
            })
            .flatten()
            .collect();
        let there = same.iter().find(|(old, _)| old + 1 == base.line).map(|(_, new)| new + 1)?;
        let was_there = same.iter().any(|(_, new)| new + 1 == self.line);
        was_there.then(|| self.line.cmp(&there))
    }
}

/// How a test fails that failed at the base, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StillFails {
    /// In the same way.
    Same,
    /// Below the line at which it stopped.
    Further,
    /// Above the line at which it stopped.
    Earlier,
    /// Where an assertion failed, something else is wrong now.
    Broken,
    /// With other words or values.
    Changed,
}

impl FailedTest {
    fn beside(&self, base: &Self) -> StillFails {
        let sources = self.source.as_ref().zip(base.source.as_ref());
        match sources.and_then(|(now, base)| now.beside(base)) {
            Some(Ordering::Less) => StillFails::Earlier,
            Some(Ordering::Greater) => StillFails::Further,
            _ if self.how == base.how && self.values == base.values => StillFails::Same,
            _ if base.says_an_assertion_failed() && !self.says_an_assertion_failed() => StillFails::Broken,
            _ => StillFails::Changed,
        }
    }

    /// Whether it is as at the base, or gets further than there: it counts for nobody.
    fn is_known(&self, base: &Self) -> bool {
        matches!(self.beside(base), StillFails::Same | StillFails::Further)
    }

    /// Whether an assertion of the test failed, as its runner says it. An exception of another class did not, whatever stands in its text.
    #[must_use]
    pub fn says_an_assertion_failed(&self) -> bool {
        let class = self.how.split('\u{1f}').next().unwrap_or_default();
        let is_class = class != "Error" && (class.ends_with("Error") || class.ends_with("Exception"));
        if is_class && !toolchain::says_an_assertion_failed(class) {
            return false;
        }
        let said = self.how.split('\u{1f}').chain(self.detail.iter().flat_map(|detail| detail.lines()));
        said.into_iter().any(toolchain::says_an_assertion_failed)
    }
}

/// What differs between the tests of a failed run and those of a failed run at the base, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestsBeside {
    /// Fail, and did not fail there.
    pub new: Vec<String>,
    /// Fail in a program that was not run there, because the run had stopped before it: whether they failed there is not known.
    pub unseen: Vec<String>,
    /// Failed there by an assertion, and fail by something else here.
    pub broken: Vec<String>,
    /// Failed there too, with other words or values: whether that is worse is not known.
    pub changed: Vec<String>,
    /// Failed there too, at a line that they do not reach any more.
    pub earlier: Vec<String>,
    /// Failed there, and neither fail nor pass here: they are not run any more.
    pub gone: Vec<String>,
    /// How many fewer were run than there.
    pub fewer: usize,
    /// Which these may be, where the runner does not name those that pass: they failed there and do not fail here.
    pub perhaps: Vec<String>,
}

/// At most this many tests are named in a sentence.
const NAMED: usize = 5;

impl TestsBeside {
    /// Why this is more than failed at the base, in words; empty if it is not.
    #[must_use]
    pub fn words(&self) -> String {
        self.words_with("")
    }

    /// The same where it is left open.
    #[must_use]
    pub fn words_for_a_person(&self) -> String {
        self.words_with(": whether that is as it should be is for a person to see")
    }

    /// The same for an agent, which knows no base, only what was there before it began.
    #[must_use]
    pub fn plain_words(&self) -> String {
        self.words().replace("at the base", "before any attempt")
    }

    fn words_with(&self, question: &str) -> String {
        let fails = |tests: &[String]| if tests.len() == 1 { "fails" } else { "fail" };
        let runs = |tests: &[String]| if tests.len() == 1 { "is" } else { "are" };
        let tests = if self.fewer == 1 { "test" } else { "tests" };
        let perhaps = if self.perhaps.is_empty() {
            String::new()
        } else {
            let ends = if self.perhaps.len() == 1 {
                "is among those that no longer run, or passes"
            } else {
                "are among those that no longer run, or pass"
            };
            format!("; {}, which failed there, {ends}", names_of(&self.perhaps))
        };
        let parts = [
            (!self.new.is_empty())
                .then(|| format!("{} {}, and did not at the base", names_of(&self.new), fails(&self.new))),
            (!self.unseen.is_empty()).then(|| {
                format!(
                    "{} {} in a test program that did not run at the base, where the run had stopped before it, so that it is not known whether \
                     that is new; let the check run all of them (`cargo test --no-fail-fast`)",
                    names_of(&self.unseen),
                    fails(&self.unseen)
                )
            }),
            (!self.broken.is_empty()).then(|| {
                format!(
                    "{} {} in another way than at the base, where an assertion failed",
                    names_of(&self.broken),
                    fails(&self.broken)
                )
            }),
            (!self.changed.is_empty()).then(|| {
                format!(
                    "{} failed at the base, too, and {} with other words or values now{question}",
                    names_of(&self.changed),
                    fails(&self.changed)
                )
            }),
            (!self.earlier.is_empty()).then(|| {
                let (it, was) = if self.earlier.len() == 1 { ("it", "its") } else { ("they", "their") };
                format!(
                    "{} {} at an earlier line of {was} test than at the base, which {it} got past there",
                    names_of(&self.earlier),
                    fails(&self.earlier)
                )
            }),
            (!self.gone.is_empty()).then(|| {
                format!("{}, which failed at the base, {} not run any more", names_of(&self.gone), runs(&self.gone))
            }),
            (self.fewer > 0 && self.gone.is_empty()).then(|| format!("{} {tests} fewer ran than at the base{perhaps}", self.fewer)),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Whether nothing fails that did not fail at the base, and all is still run.
    #[must_use]
    pub fn is_no_more(&self) -> bool {
        *self == Self::default()
    }

    /// Whether nothing else is wrong than that tests fail which did not fail there, or not so early.
    #[must_use]
    pub fn is_only_new(&self) -> bool {
        !(self.new.is_empty() && self.earlier.is_empty())
            && Self { new: Vec::new(), earlier: Vec::new(), ..self.clone() }.is_no_more()
    }

    /// Whether nothing else is wrong than that tests which failed at the base fail in another way.
    #[must_use]
    pub fn is_only_otherwise(&self) -> bool {
        !(self.broken.is_empty() && self.changed.is_empty())
            && Self { broken: Vec::new(), changed: Vec::new(), ..self.clone() }.is_no_more()
    }

    /// Whether nothing else is wrong than that tests of the base are not run any more.
    #[must_use]
    pub fn is_only_gone(&self) -> bool {
        (!self.gone.is_empty() || self.fewer > 0)
            && Self { gone: Vec::new(), fewer: 0, perhaps: Vec::new(), ..self.clone() }.is_no_more()
    }

    /// Whether nothing else is wrong than what may be right: tests that nobody has seen at the base, or that fail with other words.
    #[must_use]
    pub fn is_only_unclear(&self) -> bool {
        !(self.unseen.is_empty() && self.changed.is_empty())
            && Self { unseen: Vec::new(), changed: Vec::new(), ..self.clone() }.is_no_more()
    }
}

impl CountedTests {
    /// Whether the program that this test is in was not reached.
    fn has_not_run(&self, test: &str) -> bool {
        let program = |id: &str| id.split_once("::").map(|(program, _)| program.to_owned());
        let mut ran = self.failing.keys().chain(self.passed.iter().flatten());
        self.stopped && self.passed.is_some() && !ran.any(|id| program(id) == program(test))
    }

    /// The ids of the tests that fail here and failed at the base, too, in the same way: they do not count.
    #[must_use]
    pub fn known(&self, base: &Self) -> Vec<&str> {
        let is_known = |(test, failed): &(&String, &FailedTest)| {
            base.failing.get(*test).is_some_and(|before| failed.is_known(before))
        };
        self.failing.iter().filter(is_known).map(|(test, _)| test.as_str()).collect()
    }

    /// Takes the failure of each test at the base for its own, where the base itself fails in two ways, in two runs of the same files.
    pub fn excuse(&mut self, base: &Self, again: &Self) {
        for (test, failed) in &mut self.failing {
            let (Some(first), Some(second)) = (base.failing.get(test), again.failing.get(test)) else { continue };
            let varies = |first: &str, second: &str, now: &str| {
                first != second && (now == second || Template::of(first, second).is_none_or(|both| both.fits(now)))
            };
            if varies(&first.how, &second.how, &failed.how) {
                failed.how.clone_from(&first.how);
            }
            if varies(&first.values, &second.values, &failed.values) {
                failed.values.clone_from(&first.values);
            }
        }
    }

    /// The ids of the tests that failed at the base and get further than there, with the line where they fail here, and where they failed
    /// there.
    #[must_use]
    pub fn further(&self, base: &Self) -> Vec<(&str, usize, usize)> {
        let lines =
            |now: &FailedTest, before: &FailedTest| Some((now.source.as_ref()?.line, before.source.as_ref()?.line));
        let of = |(test, failed): (&'_ String, &FailedTest)| -> Option<(&'_ str, usize, usize)> {
            let (test, _) = self.failing.get_key_value(test)?;
            let before = base.failing.get(test).filter(|before| failed.beside(before) == StillFails::Further)?;
            let (now, before) = lines(failed, before)?;
            Some((test.as_str(), now, before))
        };
        self.failing.iter().filter_map(of).collect()
    }

    /// Whether a test that failed at the base is seen to pass: by its id, or because no fewer tests were run than there and it does not
    /// fail.
    #[must_use]
    pub fn passes(&self, test: &str, base: &Self) -> bool {
        let as_many = || matches!((self.ran, base.ran), (Some(now), Some(before)) if now >= before);
        !self.failing.contains_key(test) && self.passed.as_ref().map_or_else(as_many, |passed| passed.contains(test))
    }

    /// Takes out of tests that are new here those that failed at the base under another id. Each stands for one.
    fn leave_out_renamed(&self, base: &Self, new: &mut Vec<String>) {
        let mut gone: Vec<&String> = base.failing.keys().filter(|test| self.is_elsewhere(test)).collect();
        new.retain(|test| {
            let found = gone.iter().position(|old| is_renamed((old, &base.failing[*old]), (test, &self.failing[test])));
            found.map(|at| gone.swap_remove(at)).is_none()
        });
    }

    /// Whether a test of the base neither fails nor is seen to pass here.
    fn is_elsewhere(&self, test: &str) -> bool {
        // Where those that pass are not named, it may be one of them.
        !self.failing.contains_key(test) && self.passed.as_ref().is_some_and(|passed| !passed.contains(test))
    }

    /// Whether a test that failed at the base fails here under another id.
    fn has_renamed(&self, test: &str, base: &Self) -> bool {
        let is_new = |(id, _): &(&String, &FailedTest)| !base.failing.contains_key(*id);
        self.failing.iter().filter(is_new).any(|(id, now)| is_renamed((test, &base.failing[test]), (id, now)))
    }

    /// What differs from the base. By id first: a test that failed there under this id may fail again, in the same way.
    #[must_use]
    pub fn beside(&self, base: &Self) -> TestsBeside {
        let mut beside = TestsBeside::default();
        for (test, failed) in &self.failing {
            match base.failing.get(test) {
                None if base.has_not_run(test) => beside.unseen.push(test.clone()),
                None => beside.new.push(test.clone()),
                Some(before) => match failed.beside(before) {
                    StillFails::Same | StillFails::Further => {}
                    StillFails::Earlier => beside.earlier.push(test.clone()),
                    StillFails::Broken => beside.broken.push(test.clone()),
                    StillFails::Changed => beside.changed.push(test.clone()),
                },
            }
        }
        if matches!((self.ran, base.ran), (Some(now), Some(before)) if now >= before) {
            self.leave_out_renamed(base, &mut beside.new);
        }
        if let Some(passed) = &self.passed {
            let is_gone = |test: &&String| !self.failing.contains_key(*test) && !passed.contains(*test);
            let fails_elsewhere = |test: &&String| self.has_renamed(test, base);
            beside.gone = base.failing.keys().filter(is_gone).filter(|test| !fails_elsewhere(test)).cloned().collect();
        }
        if let (Some(now), Some(before)) = (self.ran, base.ran) {
            beside.fewer = before.saturating_sub(now);
        }
        if beside.fewer > 0 && self.passed.is_none() {
            beside.perhaps = base.failing.keys().filter(|test| !self.failing.contains_key(*test)).cloned().collect();
        }
        beside
    }
}

/// Whether two tests of different ids that fail with the same words are one that has moved, or got another name where it stood.
fn is_renamed((old, before): (&str, &FailedTest), (new, now): (&str, &FailedTest)) -> bool {
    // Code, place and message.
    let parts = |how: &'_ str| -> Vec<String> { how.splitn(3, '\u{1f}').map(str::to_owned).collect() };
    let (before, now) = (parts(&before.how), parts(&now.how));
    let [code, place, words] = before.as_slice() else { return false };
    let [new_code, new_place, new_words] = now.as_slice() else { return false };
    let last = |id: &'_ str| id.rsplit(['/', ':', '>', '.', ' ']).next().unwrap_or_default().to_owned();
    let says_something = !code.is_empty() || !words.is_empty();
    says_something
        && (code, words) == (new_code, new_words)
        && (!place.is_empty() && place == new_place || last(old) == last(new))
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
        self.extent.is_within(&base.extent) && is_alike
            || self.extent.counts_no_more_than(&base.extent) && self.prints_no_more_than(base)
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
            return is_less && self.extent.counts_no_more_than(&base.extent) && self.can_be_compared(base);
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

/// `a`, `b` and 4 more.
fn names_of(tests: &[String]) -> String {
    // A test is called as somebody likes; its name ends where ours do.
    let quoted =
        |test: &String| format!("`{}`", test.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "'"));
    let named: Vec<String> = tests.iter().take(NAMED).map(quoted).collect();
    match tests.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if wants a reference")]
fn is_false(b: &bool) -> bool {
    !*b
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(failing: &[(&str, &str)], ran: usize) -> CountedTests {
        let failed = |(name, how): &(&str, &str)| {
            let how = how.replace('|', "\u{1f}");
            let test = FailedTest { name: (*name).to_owned(), how, ..FailedTest::default() };
            ((*name).to_owned(), test)
        };
        let passed = Some(["a.py::test_b".to_owned()].into());
        CountedTests {
            ran: Some(ran),
            failing: failing.iter().map(failed).collect(),
            passed,
            ..CountedTests::default()
        }
    }

    #[test]
    fn a_red_test_that_has_moved_or_got_another_name_is_no_new_one() {
        let base = counted(&[("a.py::test_r", "E|a.py|assert 0 == 7")], 3);
        let check = |now: &[(&str, &str)], ran: usize, expected: &[&str]| {
            assert_eq!(counted(now, ran).beside(&base).new, expected, "{now:?}");
        };
        check(&[("tests/a.py::test_r", "E|tests/a.py|assert 0 == 7")], 3, &[]);
        check(&[("a.py::test_red", "E|a.py|assert 0 == 7")], 3, &[]);
        check(&[("b.py::test_other", "E|b.py|assert 0 == 7")], 3, &["b.py::test_other"]);
        check(&[("tests/a.py::test_r", "E|tests/a.py|assert 1 == 7")], 3, &["tests/a.py::test_r"]);
        // Fewer were run, or there are two of it.
        check(&[("tests/a.py::test_r", "E|tests/a.py|assert 0 == 7")], 2, &["tests/a.py::test_r"]);
        let two = [("a.py::test_r", "E|a.py|assert 0 == 7"), ("b.py::test_r", "E|b.py|assert 0 == 7")];
        check(&two, 4, &["b.py::test_r"]);
        // The one passes, and another one fails.
        let passing = CountedTests { passed: Some(["a.py::test_r".to_owned()].into()), ..counted(&[two[1]], 3) };
        assert_eq!(passing.beside(&base).new, ["b.py::test_r"]);
        let unnamed = CountedTests { passed: None, ..counted(&[two[1]], 3) };
        assert_eq!(unnamed.beside(&base).new, ["b.py::test_r"]);
    }
}
