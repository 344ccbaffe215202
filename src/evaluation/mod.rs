//! EVALUATE: how often the judging layer is right, on suites of cases whose truth is known.
//!
//! A [`Suite`] is read from a file ([`read()`]: YAML, JSON or JSON Lines; our own shape or promptfoo's test cases). [`run()`]
//! puts each case to the very ports of the runtime - [`CompletionVerifier`](crate::services::CompletionVerifier),
//! [`ProgressJudge`](crate::services::ProgressJudge), [`Judge`](crate::services::Judge) - and grades what they say. What
//! comes of it is counted ([`Totals`]): a confusion matrix, and the false-complete and the false-alarm rate with their
//! confidence intervals, never accuracy alone. [`compare()`] says what two results differ in. There is no prompt here.

mod assertion;
mod case;
mod compare;
mod grade;
mod promptfoo;
mod read;
mod result;
mod rubric;
mod run;
mod statistics;
mod suite;
mod table;
mod threshold;

pub use assertion::Assertion;
pub use case::{
    Case, CheckCase, Expectation, ExpectedCompaction, ExpectedCompletion, ExpectedScore, ExpectedStuck, Given,
    ObservedCase, OneOrMany, TranscriptCase,
};
pub use compare::{Comparison, compare};
pub use grade::Said;
pub use read::{Format, SuiteError, read};
pub use result::{CaseOutcome, CaseResult, Cell, Claims, EvalResult, RunResult, SuiteResult, Totals};
pub use rubric::Grade;
pub use run::{Bench, Conversation, LaidOut, RunParams, Stage, run, unreadable};
pub use statistics::{Rate, Z_95};
pub use suite::{Suite, SuiteKind};
pub use table::{Lines, comparison, table};
pub use threshold::Threshold;
