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
pub use case::Case;
pub use case::CheckCase;
pub use case::Expectation;
pub use case::ExpectedCompaction;
pub use case::ExpectedCompletion;
pub use case::ExpectedScore;
pub use case::ExpectedStuck;
pub use case::Given;
pub use case::ObservedCase;
pub use case::OneOrMany;
pub use case::TranscriptCase;
pub use compare::Comparison;
pub use compare::compare;
pub use grade::Said;
pub use read::Format;
pub use read::SuiteError;
pub use read::read;
pub use result::CaseOutcome;
pub use result::CaseResult;
pub use result::Cell;
pub use result::Claims;
pub use result::EvalResult;
pub use result::RunResult;
pub use result::SuiteResult;
pub use result::Totals;
pub use rubric::Grade;
pub use run::Bench;
pub use run::Conversation;
pub use run::LaidOut;
pub use run::RunParams;
pub use run::Stage;
pub use run::run;
pub use run::unreadable;
pub use statistics::Rate;
pub use statistics::Z_95;
pub use suite::Suite;
pub use suite::SuiteKind;
pub use table::Lines;
pub use table::comparison;
pub use table::table;
pub use threshold::Threshold;
