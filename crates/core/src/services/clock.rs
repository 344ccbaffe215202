//! Time, sleep and new ids: the only sources of what is not determined by the input.

use crate::domain::Timestamp;
use async_trait::async_trait;
use std::time::Duration;

/// Tells the time, sleeps, and makes ids.
///
/// Everything that depends on time or chance asks this port, so that a test clock decides both.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Clock: Send + Sync {
    /// The wall-clock time, UTC.
    fn now(&self) -> Timestamp;
    /// Where this machine's clocks are, for times that programs print without saying where; UTC unless it is known.
    fn zone(&self) -> jiff::tz::TimeZone {
        jiff::tz::TimeZone::UTC
    }
    /// Time since an arbitrary start, never going backwards; for durations.
    fn elapsed(&self) -> Duration;
    /// Returns when `duration` is over.
    async fn sleep(&self, duration: Duration);
    /// The name of this start of the machine: another one after each restart. None where that is not known.
    fn boot(&self) -> Option<String> {
        None
    }
    /// A new id that sorts by time, without a prefix: lower-case hex and `-`, at most 36 characters.
    fn new_id(&self) -> String;
}
