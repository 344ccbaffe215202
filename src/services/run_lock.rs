//! One run at a time.

use crate::domain::RunId;

/// Makes sure that a project has one run at a time.
#[cfg_attr(feature = "testing", mockall::automock)]
pub trait RunLock: Send + Sync {
    /// Takes the lock; it is free again when the guard is dropped or the process dies, however it dies.
    ///
    /// # Errors
    /// [`RunLockError::Held`] at once if another run holds it; nothing is waited for.
    fn acquire(&self, run: &RunId) -> Result<RunGuard, RunLockError>;
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
    /// The lock file cannot be used.
    #[error("failed to lock {path}: {message}")]
    Io {
        /// The lock file.
        path: String,
        /// What the system says.
        message: String,
    },
}
