//! What the agent says of its own work.

use crate::domain::{SelfReport, SelfReportError};
use crate::files::Place;
use std::io;
use std::io::Read;

/// A report is some sentences.
const REPORT_BYTES: u64 = 1 << 20;

/// Whose report is looked for.
pub(super) struct Asked<'a> {
    /// Its file.
    pub place: Place,
    /// Whether somebody waits for it there.
    pub named: Named,
    /// The names that the session goes by.
    pub sessions: Vec<&'a str>,
}

/// Who says where the report is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// The user, who should know that it is not there.
    ByUser,
    /// The runtime; an agent may leave one, or not.
    ByUs,
}

/// The agent's own report; none is no error, and nor is one that another session left behind. The error says why one that is there does not count.
pub(super) fn self_report(asked: &Asked<'_>) -> Result<SelfReport, String> {
    let wrong =
        |because: &dyn std::fmt::Display| format!("invalid_self_report: {}: {because}", asked.place.path().display());
    let file = match asked.place.open_file() {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return match asked.named {
                Named::ByUs => Ok(SelfReport::default()),
                Named::ByUser => Err(format!("no_self_report: {} is not there", asked.place.path().display())),
            };
        }
        Err(error) => return Err(wrong(&error)),
    };
    let mut text = Vec::new();
    file.take(REPORT_BYTES + 1).read_to_end(&mut text).map_err(|error| wrong(&error))?;
    if text.len() as u64 > REPORT_BYTES {
        return Err(wrong(&format!("it has more than {} MiB", REPORT_BYTES >> 20)));
    }
    match SelfReport::read(&text, &asked.sessions) {
        Err(SelfReportError::OfAnotherSession) => Ok(SelfReport::default()),
        Err(error @ SelfReportError::Invalid(_)) => Err(format!("{error} ({})", asked.place.path().display())),
        Ok(report) => Ok(report),
    }
}
