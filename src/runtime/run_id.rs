//! The system's clock, and names of runs.

use crate::domain::RunId;
use crate::host::SystemClock;
use crate::services::Clock;
use std::sync::Arc;

/// The wall clock and its ids.
#[must_use]
pub fn system_clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::new())
}

/// A new run's id: UTC time and four random digits, so that names sort by time and two runs of one second differ.
#[must_use]
pub fn new_run_id() -> RunId {
    let clock = SystemClock::new();
    let time = clock.now().strftime("%Y%m%d-%H%M%S").to_string();
    // The end of a version 7 UUID is random.
    let id = clock.new_id();
    let random = id.get(id.len().saturating_sub(4)..).unwrap_or("0000");
    RunId::new(format!("{time}-{random}")).expect("digits and dashes are allowed in ids")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_of_one_second_differ() {
        assert_ne!(new_run_id(), new_run_id());
    }
}
