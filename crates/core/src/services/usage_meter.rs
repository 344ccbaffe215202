//! Counting what is paid for.

use crate::domain::Usage;
use std::sync::{Arc, Mutex, PoisonError};

/// Adds up what something uses while it works, so that what was used counts whether it answers, fails, or is dropped.
///
/// Clones count together.
///
/// ```
/// # use reflexion_core::domain::Usage;
/// # use reflexion_core::services::UsageMeter;
/// let spent = UsageMeter::default();
/// spent.clone().add(Usage { input: Some(900), output: Some(100), ..Usage::default() });
/// assert_eq!(spent.total().tokens(), Some(1_000));
/// ```
#[derive(Debug, Clone, Default)]
pub struct UsageMeter(Arc<Mutex<Usage>>);

impl UsageMeter {
    /// Counts this too.
    pub fn add(&self, usage: Usage) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += usage;
    }

    /// Everything so far; unknown if nothing was told.
    #[must_use]
    pub fn total(&self) -> Usage {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
