//! The tests of a run as it has written them into files.

use super::counted::Listed;
use super::counted::Outcome;
use super::found::Found;
use super::found::joined;
use crate::domain::CountedTests;
use crate::toolchain::TestOutcome;
use crate::toolchain::TestResult;
use crate::toolchain::junit;

/// The tests of all files; none where none of them failed.
pub(super) fn written(files: &[String]) -> Result<Option<CountedTests>, String> {
    let mut listed = Listed { names_passed: true, ..Listed::default() };
    for file in files {
        for TestResult { id, name, outcome } in junit(file)? {
            let outcome = match outcome {
                TestOutcome::Passed => Outcome::Passed,
                TestOutcome::Skipped => Outcome::Skipped,
                TestOutcome::Failed { kind, message } => {
                    let words = message.unwrap_or_default();
                    let mut lines = words.lines().map(str::trim).filter(|line| !line.is_empty());
                    let first = lines.next().map(str::to_owned);
                    let detail = joined(first.as_deref().into_iter().chain(lines.take(2)));
                    Outcome::Failed(Box::new(Found { code: kind, message: first, detail, ..Found::default() }))
                }
            };
            listed.push(id, &name, outcome);
        }
    }
    let ran = listed.ran();
    Ok(listed.into_counted(Some(ran), ""))
}
