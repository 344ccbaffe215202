//! The words: plain values that every other module speaks in.
//!
//! Nothing here does I/O, waits or reads a clock, so everything can be built in a test by hand.
//!
//! | word | meaning | type |
//! |---|---|---|
//! | task | a line of the task file | [`Task`] |
//! | subtask | one unit handed to one subagent | [`Subtask`] |
//! | attempt | one subagent's work on one subtask, numbered from 1 | [`AgentReport`], [`Change`] |
//! | transcript | what an agent did, step by step | [`TranscriptRecord`] |
//! | ending | why an attempt's agent stopped | [`Ending`] |
//! | check | a command the *runtime* runs | [`CheckSpec`], [`CheckReport`] |
//! | verdict | what the evidence says of an attempt | [`Verdict`] |
//! | failure context | what is known of a failed attempt | [`FailureContext`], [`Signature`] |
//! | reflection | what went wrong and what to do differently | [`Reflection`] |
//! | turn | one prompt-to-stop exchange of an attempt, numbered from 1 | [`TurnReason`], [`TurnRecord`] |
//! | completion verdict | whether a turn ended with the task done | [`CompletionVerdict`], [`SessionVerdict`] |
//! | capture | what an agent knew when it stopped, `reflection.v1` | [`Capture`], [`SelfReport`] |
//! | guard | whether a conversation may be evaluated now | [`Guard`], [`StateId`] |
//! | risk | what a change touches, and whether somebody should look at it | [`Risk`], [`Surface`] |
//! | run | one call of the orchestrator | [`RunReport`] |
//! | commit | what was committed, and what it changed | [`Commit`], [`FileChange`] |
//! | event | something a watcher may want to show | [`Event`] |
//! | exposure | whether the prompt of a retry held its lessons, or a coin held them out | [`Exposure`], [`AttemptRecord`] |
//! | lesson event | what became of a reflection as a lesson for others | [`LessonEvent`] |
//! | notice | something a person should hear of who is not watching | [`Notice`] |

mod attempt;
mod capture;
mod changed_lines;
mod check;
mod check_results;
mod commit;
mod completion;
mod counted_tests;
mod declared;
mod decompose;
mod distinct_keys;
mod event;
mod exposure;
mod failure;
mod failure_key;
mod flaky;
mod guard;
mod healing;
mod ids;
mod journal;
mod later;
mod lesson;
mod mark;
mod notice;
mod numbered;
mod outcome;
mod passed;
mod past;
mod planning;
pub mod policy;
mod printed;
mod file_globs;
mod file_name;
mod recall;
mod reflection;
mod risk;
mod run_log;
mod session_verdict;
mod settings_files;
mod shared_lesson;
mod shown_change;
mod slug;
mod steps;
mod task;
mod task_fields;
mod trace;
mod transcript;
mod trust;
mod tests_turned;
mod unmerged;
mod verdict;

pub use attempt::{AgentReport, Change, CostSource, Ending, EndingEffect, TreeId, TurnsUsage, Usage};
pub use capture::{
    Capture, CaptureMode, CaptureSchema, CaptureSource, MostLikelyWrong, Provenance, SelfReport, SelfReportError,
};
pub use changed_lines::{ChangedLine, changed_lines};
pub use check::{CheckCommand, CheckReport, CheckScope, CheckSpec, CheckStatus, Output, RedCheck, WORKSPACE};
pub use check_results::CheckResults;
pub use commit::{Commit, FileChange, HistoryExtent, line_fingerprint};
pub use completion::{
    CompactionAction, CompactionVerdict, CompletionVerdict, GateOutcome, GateReport, Opinion, Severity, Standing,
    StuckReason, StuckVerdict, TaskType, gates_in_words,
};
pub use counted_tests::{CountedTests, FailedTest, TestSource, TestsBeside};
pub use declared::{Allow, Expects};
pub use decompose::{MOST_PARTS, Proposal, ProposedPart, TooManyItems, decompose, parts_of};
pub use distinct_keys::DistinctKeys;
pub use event::{About, Event, EventKind};
pub use exposure::{AttemptRecord, Coin, Exposure, Moment};
pub use failure::{Extent, FailedCheck, FailureContext, FailureType, LessonFollowed, Refutation, Signature};
pub use failure_key::{FailureKey, FailureKind};
pub use file_globs::{FileGlobs, GlobError};
pub use file_name::{in_a_line, same_file};
pub use flaky::{Flaky, FlakyHow};
pub use guard::{ABORT_COOL_DOWN, ABORT_RACE, Evaluated, Guard, Pass, Skipped, StateId};
pub use healing::{HealOutcome, Spell, Symptom};
pub use ids::{IdError, ReflectionId, RunId, SessionId, SubtaskId, TaskId};
pub use journal::{
    BranchConflict, ChangeSize, JournalEntry, LessonsOver, MergeOutcome, NamedAttempt, RunKind, RunOptions, RunPlan,
    RunStop, TurnReason, checked_otherwise,
};
pub use later::later;
pub use lesson::{LessonChange, LessonEvent, LessonWriter};
pub use mark::{FEEDBACK_MARK, INTERNAL_MARK, internal, is_feedback, is_internal};
pub use notice::{Notice, NoticeKind};
pub use numbered::{Cases, is_numbered_by_place};
pub use outcome::{KeptPatch, Needs, RunReport, RunTotals, Stop, TaskReport};
pub use passed::PassedAttempt;
pub use past::{Past, PastEntry};
pub use planning::{Planning, PlansUntil, announced_by_program};
pub use printed::{PrintedLine, Says, Varies};
pub use recall::{Fit, LeftOut, Recall, Recalled, Source};
pub use reflection::{Category, Draft, Origin, Reflection};
pub use risk::{RISK_THRESHOLD_VARIABLE, Risk, RiskThreshold, RiskThresholdError, Surface, belongs_to_tests};
pub use run_log::{Life, LoggedEntry, RunLog, Waiting};
pub use session_verdict::{SessionVerdict, TurnFailure, TurnRecord};
pub use settings_files::{COMMON_SETTINGS, OWN_SETTINGS, SETTINGS_FILES, SHARED_SETTINGS};
pub use shared_lesson::SharedLesson;
pub use shown_change::{ChangeOf, ShownChange};
pub use slug::slug;
pub use steps::{Did, Step};
pub use task::{
    Again, AttemptCount, Dependency, INTEGRATION, LineProblem, Status, Subtask, Task, TaskList, TaskMark, TaskSize,
    integration_branch, is_integration, named_apart, nearest_id,
};
pub use task_fields::TaskField;
pub use tests_turned::TestsTurned;
pub use trace::{Action, Asked, KEPT_BYTES, Outcome, Trace};
pub use transcript::{Role, ToolKind, ToolStatus, TranscriptHead, TranscriptItem, TranscriptRecord};
pub use trust::{Rights, TrustItem, TrustKind};
pub use unmerged::Unmerged;
pub use verdict::{Mutants, Proof, ProofHunks, ProofRuns, Ran, TestsShow, Verdict};

/// A moment in time, UTC, RFC 3339 when written.
pub type Timestamp = jiff::Timestamp;
