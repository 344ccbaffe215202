//! A lock for what nobody else can reach.

use crate::domain::{RunId, Timestamp};
use crate::services::{RunGuard, RunLock, RunLockError};

/// Always free.
#[derive(Debug, Default)]
pub struct Unlocked;

impl RunLock for Unlocked {
    fn acquire(&self, _run: &RunId) -> Result<RunGuard, RunLockError> {
        Ok(RunGuard::none())
    }

    fn acquire_waiting(&self, _run: &RunId, _until: Timestamp) -> Result<RunGuard, RunLockError> {
        Ok(RunGuard::none())
    }
}
