//! What the experiments are about, where no run of the project left it.

use crate::analysis::{Labelled, Line, read_labelled};
use crate::domain::LineProblem;
use crate::host::GitHistory;
use crate::services::History;
use crate::storage::for_each_line;
use std::io;
use std::io::Read;
use std::sync::Arc;

/// What a file of observations held.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observations {
    /// What can be compared.
    pub observed: Vec<Labelled>,
    /// Records where nobody said how sure they were, or nobody knows whether it was right.
    pub unsaid: u64,
    /// Lines that could not be read; the first thousand.
    pub problems: Vec<LineProblem>,
    /// How many lines could not be read.
    pub unreadable: u64,
}

/// So many unreadable lines are kept with what is wrong with them.
const KEPT_PROBLEMS: usize = 1000;

/// Reads JSON Lines of `{"confidence": 0.9, "correct": true}`; a line that cannot be read stops nothing.
///
/// # Errors
/// Of the reader.
pub fn read_observations(input: impl Read) -> io::Result<Observations> {
    let mut read = Observations::default();
    for_each_line(input, |line| {
        let parsed = match line.content {
            Some(content) => read_labelled(content),
            None => Err("it is longer than 1 MiB".to_owned()),
        };
        match parsed {
            Ok(Line::Observed(observation)) => read.observed.push(observation),
            Ok(Line::Unsaid) => read.unsaid += 1,
            Ok(Line::Blank) => {}
            Err(message) => {
                read.unreadable += 1;
                if read.problems.len() < KEPT_PROBLEMS {
                    read.problems.push(LineProblem { line: line.number, message });
                }
            }
        }
        Ok(())
    })?;
    Ok(read)
}

/// Reads the history of any repository, outside of any run.
#[must_use]
pub fn history() -> Arc<dyn History> {
    Arc::new(GitHistory)
}
