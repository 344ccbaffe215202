//! Failures of loops that are not this crate's.

use super::run_id::system_clock;
use crate::domain::{
    CheckCommand, CheckReport, CheckScope, CheckSpec, CheckStatus, FailureContext, Output, Signature, TaskId,
};
use crate::reflection::Signatures;
use crate::services::{Command, FailureReader};

/// A failure of which only the output is known, read like that of a red check: what failed and where, so that equal failures are known as
/// equal. Of a long output what a run keeps of a check's is read: the first and the last 64 KiB. For loops of your own; fill in what else there is.
///
/// ```
/// use reflexion::domain::TaskId;
/// use reflexion::runtime;
///
/// let failure = runtime::failed_output(TaskId::new("t")?, 1, "src/lib.rs:3:5: error: no such field\n");
/// assert!(!failure.signature.fingerprint.is_empty());
/// # Ok::<(), reflexion::domain::IdError>(())
/// ```
#[must_use]
pub fn failed_output(task: TaskId, attempt: u32, output: impl Into<String>) -> FailureContext {
    let output = Output::ends_of(output.into(), Command::KEEP_BYTES);
    let run = CheckCommand::Argv(Vec::new());
    let signature = signature_of(run, Some(1), &output);
    FailureContext { output, signature, ..FailureContext::new(task, attempt, system_clock().now()) }
}

/// What a command's failure looks like, read like that of a red check.
pub(super) fn signature_of(run: CheckCommand, exit_status: Option<i32>, output: &Output) -> Signature {
    let spec = CheckSpec { name: "the output".to_owned(), run, timeout_ms: None, results: None };
    let red = CheckReport {
        status: CheckStatus::Failed,
        exit_status,
        output: output.clone(),
        ..CheckReport::not_run(CheckScope::Task, spec, "")
    };
    Signatures.read(&red)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_is_read_as_a_run_reads_what_a_check_prints() {
        let noise = "collected one more item\n".repeat(Command::KEEP_BYTES / 20);
        let failed = |test: &str| format!("FAILED tests/test_a.py::{test} - KeyError: 'gone'\n");
        let log = format!("{noise}{}{noise}{}1 failed in 0.1s\n", failed("test_middle"), failed("test_end"));
        let failure = failed_output(TaskId::new("t").unwrap(), 1, log.clone());
        assert_eq!(failure.signature.tests, ["tests/test_a.py::test_end"]);
        assert_eq!((failure.output.bytes, failure.output.tail.len()), (log.len() as u64, Command::KEEP_BYTES));
        let short = failed("test_middle") + &failed("test_end") + "2 failed in 0.1s\n";
        assert_eq!(failed_output(TaskId::new("t").unwrap(), 1, short).signature.tests.len(), 2);
    }
}
