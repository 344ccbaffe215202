//! The tests of a run as it has written them into files.

use super::found::{Found, Frame, joined};
use super::listed::{Listed, Outcome};
use crate::domain::CountedTests;
use crate::toolchain::{TestOutcome, TestResult, junit};
use std::collections::BTreeSet;

/// The tests of all files; none where none of them failed. `output` is what the run printed: files in it show where the project is.
pub(super) fn written(files: &[String], output: &str) -> Result<Option<CountedTests>, String> {
    let mut listed = Listed { names_passed: true, ..Listed::default() };
    let mut places = BTreeSet::new();
    for file in files {
        for TestResult { id, name, file, line, outcome } in junit(file)? {
            let frame = file.as_deref().map(|file| Frame::new(file, line.map(|line| line.to_string()).as_deref()));
            places.extend(file.filter(|file| file.starts_with('/')));
            let outcome = match outcome {
                TestOutcome::Passed => Outcome::Passed,
                TestOutcome::Skipped => Outcome::Skipped,
                TestOutcome::Failed { kind, message } => {
                    let words = message.unwrap_or_default();
                    let mut lines = words.lines().map(str::trim).filter(|line| !line.is_empty());
                    let first = lines.next().map(str::to_owned);
                    let detail = joined(first.as_deref().into_iter().chain(lines.take(2)));
                    Outcome::Failed(Box::new(Found { code: kind, message: first, detail, frame, ..Found::default() }))
                }
            };
            listed.push(id, &name, outcome);
        }
    }
    let ran = listed.ran();
    let mut named: Vec<String> = places.into_iter().collect();
    named.push(output.to_owned());
    Ok(listed.into_counted(Some(ran), &named.join("\n")))
}
