//! Failures: what is known of a failed attempt, and what it looks like.

use super::CheckCommand;
use super::Ending;
use super::Flaky;
use super::Output;
use super::Reflection;
use super::SessionId;
use super::SubtaskId;
use super::TaskId;
use super::Timestamp;
use serde::Deserialize;
use serde::Serialize;
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
    /// What the failing check (or, without one, the agent) printed.
    pub output: Output,
    /// What the failure looks like.
    pub signature: Signature,
    /// Checks that failed, and of which that says nothing about the work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaky: Vec<Flaky>,
    /// What the attempt changed.
    pub files_changed: Vec<String>,
    /// Hash of what the attempt changed.
    pub diff_hash: String,
    /// The agent's closing message.
    pub agent_message: String,
    /// Earlier reflections on the same subtask, newest first.
    pub previous_reflections: Vec<Reflection>,
    /// When the attempt was judged.
    pub created_at: Timestamp,
}

impl FailureContext {
    /// A failure of which only this much is known; fill in what else there is. For loops of your own.
    ///
    /// ```
    /// # use reflexion::domain::{FailureContext, Output, TaskId, Timestamp};
    /// let mut failure = FailureContext::new(TaskId::new("fix-dates")?, 1, Timestamp::UNIX_EPOCH);
    /// failure.output = Output::whole("assertion failed: parse(\"1 May\") == Some(..)");
    /// # Ok::<(), reflexion::domain::IdError>(())
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
            output: Output::default(),
            signature: Signature::default(),
            flaky: Vec::new(),
            files_changed: Vec::new(),
            diff_hash: String::new(),
            agent_message: String::new(),
            previous_reflections: Vec::new(),
            created_at,
        }
    }
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
    /// Not all of what it printed is known.
    pub cut: bool,
}

impl Extent {
    /// Whether nothing fails here that does not fail at the base, as far as both are known.
    #[must_use]
    pub fn is_within(&self, base: &Self) -> bool {
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
        let known = |(line, now): (&String, &usize)| base.lines.get(line).is_some_and(|before| now <= before);
        // What is missing of the base may be just that.
        tests && (base.cut || (errors && self.lines.iter().all(known) && self.counts.iter().all(counts)))
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

/// The tests of a failed run, as its runner names and counts them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountedTests {
    /// How many really ran: not those that were skipped, and not those that are expected to fail.
    pub ran: usize,
    /// Every failing test, and its failure without what changes from run to run.
    pub failing: BTreeMap<String, String>,
}

impl Signature {
    /// Whether this is the failure of `base`, or a part of it: nothing fails that did not fail there.
    #[must_use]
    pub fn is_no_more_than(&self, base: &Self) -> bool {
        let same = self.fingerprint == base.fingerprint || self.is_less_of(base) || self.has_errors_of(base);
        self.extent.is_within(&base.extent) && same
    }

    /// Whether nothing is known to be wrong here and at `base` but errors that are named with their places, whichever comes first.
    fn has_errors_of(&self, base: &Self) -> bool {
        let named = |signature: &Self| signature.extent.errors_alone && !signature.extent.cut;
        named(self) && named(base) && self.ended() == base.ended() && !self.was_cut()
    }

    /// The tool and its exit status.
    fn ended(&self) -> (&str, Option<i32>) {
        (&self.tool, self.exit_status)
    }

    fn was_cut(&self) -> bool {
        self.timed_out || self.out_of_memory || self.signal.is_some()
    }

    /// Whether this is the failure of `base` with fewer failing tests: those that fail failed there in the same way, and no
    /// fewer tests ran than there. False where either is not known.
    #[must_use]
    pub fn is_less_of(&self, base: &Self) -> bool {
        let (Some(now), Some(before)) = (&self.counted, &base.counted) else { return false };
        let known = |(test, how): (&String, &String)| before.failing.get(test) == Some(how);
        self.ended() == base.ended()
            && !self.was_cut()
            && !base.was_cut()
            && now.ran >= before.ran
            && now.failing.len() < before.failing.len()
            && now.failing.iter().all(known)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if wants a reference")]
fn is_false(b: &bool) -> bool {
    !*b
}
