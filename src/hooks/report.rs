//! What the agent says of its own work.

use crate::domain::SelfReport;
use crate::domain::SelfReportError;
use std::fs::File;
use std::io;
use std::io::Read;
use std::path::PathBuf;

/// A report is some sentences.
const REPORT_BYTES: u64 = 1 << 20;

/// Whose report is looked for.
pub(super) struct Asked<'a> {
    /// Its file.
    pub path: PathBuf,
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
    let wrong = |because: &dyn std::fmt::Display| format!("invalid_self_report: {}: {because}", asked.path.display());
    let metadata = match asked.path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return match asked.named {
                Named::ByUs => Ok(SelfReport::default()),
                Named::ByUser => Err(format!("no_self_report: {} is not there", asked.path.display())),
            };
        }
        Err(error) => return Err(wrong(&error)),
    };
    // A pipe would be waited for.
    if !metadata.is_file() {
        return Err(wrong(&"it is no file"));
    }
    let mut text = Vec::new();
    let file = File::open(&asked.path).map_err(|error| wrong(&error))?;
    file.take(REPORT_BYTES + 1).read_to_end(&mut text).map_err(|error| wrong(&error))?;
    if text.len() as u64 > REPORT_BYTES {
        return Err(wrong(&format!("it has more than {} MiB", REPORT_BYTES >> 20)));
    }
    match SelfReport::read(&text, &asked.sessions) {
        Err(SelfReportError::OfAnotherSession) => Ok(SelfReport::default()),
        Err(error @ SelfReportError::Invalid(_)) => Err(format!("{error} ({})", asked.path.display())),
        Ok(report) => Ok(report),
    }
}
