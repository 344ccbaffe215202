//! A clock that stands still until it is told otherwise.

use crate::domain::Timestamp;
use crate::services::Clock;
use async_trait::async_trait;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Time begins at 2026-01-01T00:00:00Z; a sleep is over at once and moves it on. Ids count from 1.
///
/// ```
/// # use reflexion::services::Clock;
/// # use reflexion::testing::TestClock;
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
