//! One run at a time.

use crate::domain::{RunId, Timestamp};

/// Makes sure that a project has one run at a time.
#[cfg_attr(feature = "testing", mockall::automock)]
pub trait RunLock: Send + Sync {
    /// Takes the lock; it is free again when the guard is dropped or the process dies, however it dies.
    ///
    /// # Errors
    /// [`RunLockError::Held`] at once if another run holds it; nothing is waited for.
    fn acquire(&self, run: &RunId) -> Result<RunGuard, RunLockError>;

    /// The same for a night that only waits for its window, so that everybody else learns for what.
    ///
    /// # Errors
    /// As [`RunLock::acquire`].
    fn acquire_waiting(&self, run: &RunId, until: Timestamp) -> Result<RunGuard, RunLockError>;
}

/// Holds the lock until it is dropped.
pub struct RunGuard(Option<Box<dyn Send + Sync>>);

impl RunGuard {
    /// A guard that drops `held` when it is dropped.
    #[must_use]
    pub fn new(held: Box<dyn Send + Sync>) -> Self {
        Self(Some(held))
    }

    /// A guard for what needs no lock, such as an in-memory project.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

/// The lock was not taken.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RunLockError {
    /// Another run holds it.
    #[error("another run holds this project: {holder}; wait for it, or stop that process")]
    Held {
        /// Process id, run and start time, as far as they are known.
        holder: String,
    },
    /// A night waits for its window, and nothing else is begun meanwhile.
    #[error("a night waits for its window until {until}, and this project is kept for it: `kill {pid}` ends it")]
    Waiting {
        /// Its process.
        pid: u32,
        /// When the window opens, as clocks here show it.
        until: String,
    },
    /// The lock file cannot be used.
    #[error("failed to lock {path}: {message}")]
    Io {
        /// The lock file.
        path: String,
        /// What the system says.
        message: String,
    },
}
