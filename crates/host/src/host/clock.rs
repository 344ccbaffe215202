//! The real clock.

use crate::domain::Timestamp;
use crate::services::Clock;
use async_trait::async_trait;
use std::time::{Duration, Instant};

/// The system's time, tokio's sleep, and `UUIDv7` ids, which sort by time.
#[derive(Debug, Clone)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// A clock whose `elapsed` starts now.
    #[must_use]
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn zone(&self) -> jiff::tz::TimeZone {
        jiff::tz::TimeZone::system()
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn boot(&self) -> Option<String> {
        // Only Linux says so.
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim().to_owned()).filter(|id| !id.is_empty())
    }

    fn new_id(&self) -> String {
        uuid::Uuid::now_v7().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_new_and_sort_by_time() {
        let clock = SystemClock::new();
        let ids: Vec<String> = (0..100).map(|_| clock.new_id()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
        assert!(ids[0].len() <= 36);
    }
}
