//! Adding to a moment what came from outside.

use super::Timestamp;
use jiff::SignedDuration;
use std::time::Duration;

/// The moment so long after `at`; the last one there is (end of the year 9999) where that would be later.
///
/// For waits that come from a flag, an agent or a service: adding them with `+` panics where they are too long.
///
/// ```
/// use reflexion_core::domain::{Timestamp, later};
/// use std::time::Duration;
/// assert_eq!(later(Timestamp::UNIX_EPOCH, Duration::from_secs(60)).as_second(), 60);
/// assert_eq!(later(Timestamp::UNIX_EPOCH, Duration::MAX), Timestamp::MAX);
/// ```
#[must_use]
pub fn later(at: Timestamp, wait: Duration) -> Timestamp {
    let sum = SignedDuration::try_from(wait).ok().and_then(|wait| at.checked_add(wait).ok());
    sum.unwrap_or(Timestamp::MAX)
}
