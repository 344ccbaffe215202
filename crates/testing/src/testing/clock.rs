//! A clock that stands still until it is told otherwise.

use crate::domain::Timestamp;
use crate::services::Clock;
use async_trait::async_trait;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time begins at 2026-01-01T00:00:00Z; a sleep is over at once and moves it on. Ids count from 1.
///
/// ```
/// # use reflexion_core::services::Clock;
/// # use reflexion_testing::testing::TestClock;
/// let clock = TestClock::new();
/// assert_eq!(clock.new_id(), "000001");
/// assert_eq!(clock.now().to_string(), "2026-01-01T00:00:00Z");
/// ```
#[derive(Debug, Default)]
pub struct TestClock {
    passed: Mutex<Duration>,
    ids: AtomicU64,
}

impl TestClock {
    /// A new clock.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves time on.
    pub fn advance(&self, by: Duration) {
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

#[async_trait]
impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        // 2026-01-01T00:00:00Z in seconds since 1970.
        Timestamp::constant(1_767_225_600, 0) + self.elapsed()
    }

    fn elapsed(&self) -> Duration {
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn sleep(&self, duration: Duration) {
        self.advance(duration);
        tokio::task::yield_now().await;
    }

    fn new_id(&self) -> String {
        format!("{:06}", self.ids.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// The time of tokio's own clock: where that is paused (`#[tokio::test(start_paused = true)]`), a night passes at once, and
/// everything that sleeps wakes in the right order.
///
/// ```
/// # use reflexion_core::services::Clock;
/// # use reflexion_testing::testing::VirtualClock;
/// # use std::time::Duration;
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
/// # runtime.block_on(async {
/// let clock = VirtualClock::new();
/// clock.sleep(Duration::from_secs(8 * 60 * 60)).await;
/// assert_eq!(clock.now().to_string(), "2026-01-01T08:00:00Z");
/// # });
/// ```
#[derive(Debug)]
pub struct VirtualClock {
    start: tokio::time::Instant,
    ids: AtomicU64,
}

impl VirtualClock {
    /// A clock whose time begins at 2026-01-01T00:00:00Z, now. Needs a tokio runtime around it.
    #[must_use]
    pub fn new() -> Self {
        Self { start: tokio::time::Instant::now(), ids: AtomicU64::new(0) }
    }
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::constant(1_767_225_600, 0) + self.elapsed()
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn new_id(&self) -> String {
        format!("{:06}", self.ids.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
