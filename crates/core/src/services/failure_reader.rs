//! Reading what a failure looks like.

use crate::domain::{CheckReport, Signature};

/// Extracts a [`Signature`] from a check's output: tool, error code, failing tests, top frame, exit status.
///
/// Deterministic and total: any bytes give a signature, and two runs of the same failure give the same fingerprint
/// (times, addresses, temporary paths and line numbers of the runner are masked).
#[cfg_attr(feature = "testing", mockall::automock)]
pub trait FailureReader: Send + Sync {
    /// The signature of a failed check; the default (empty) one for a check that passed.
    fn read(&self, check: &CheckReport) -> Signature;

    /// The same, with the results of its tests as the run wrote them down ([`CheckSpec::results`](crate::domain::CheckSpec::results)),
    /// one text a file. Who does not read them says what the output says.
    ///
    /// # Errors
    /// In words, where one of them cannot be read.
    fn read_with(&self, check: &CheckReport, results: &[String]) -> Result<Signature, String> {
        let _ = results;
        Ok(self.read(check))
    }
}
