//! Waiting for a time of the wall clock, and for limits of agents' services.

use super::limits::Pass;
use super::machine::Input;
use super::task_run::{TaskPlan, TaskRunError};
use crate::domain::policy::LimitWait;
use crate::domain::{JournalEntry, RunId, Timestamp, later};
use crate::services::Clock;
use std::time::Duration;

/// The wall clock is looked at this often: a sleep does not go on while the machine is suspended, and somebody may set
/// the clock.
const LOOK: Duration = Duration::from_secs(30);

/// Returns at a time of the wall clock, or when as much time has passed as there was until then, whatever comes first: a
/// clock that is set back must not make a night longer.
pub(super) async fn wait_until(clock: &dyn Clock, until: Timestamp) {
    let left = |now: Timestamp| Duration::try_from(until.duration_since(now)).unwrap_or(Duration::ZERO);
    let mut patience = left(clock.now());
    loop {
        let nap = left(clock.now()).min(patience).min(LOOK);
        if nap.is_zero() {
            return;
        }
        clock.sleep(nap).await;
        patience = patience.saturating_sub(nap);
    }
}

impl TaskPlan {
    /// Waits as long as another task of the run has found that the agent's service is limited. False: interrupted.
    pub(super) async fn await_turn(&self, agent: &str) -> Result<bool, TaskRunError> {
        // With waiting off each task finds out for itself, and ends.
        if self.context.services.settings.run().limit_wait == LimitWait::Off {
            return Ok(true);
        }
        while let Pass::WaitUntil(until) = self.context.limits.pass(agent, &*self.context.services.clock) {
            let because = format!("agent `{agent}` is rate limited");
            if self.wait_until(until, because).await? == Input::Interrupted {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) async fn wait(&self, duration: Duration, because: String) -> Result<Input, TaskRunError> {
        self.wait_until(later(self.context.services.clock.now(), duration), because).await
    }

    async fn wait_until(&self, until: Timestamp, because: String) -> Result<Input, TaskRunError> {
        let services = &self.context.services;
        let task = self.task.id.clone();
        let entry = JournalEntry::WaitStarted { task: task.clone(), until, because };
        self.context.record(entry).await?;
        let input = tokio::select! {
            () = wait_until(&*services.clock, until) => Input::Waited,
            () = self.context.cancel.cancelled() => Input::Interrupted,
            () = self.context.drain.cancelled() => {
                self.context.drains();
                Input::Interrupted
            }
        };
        self.context.record(JournalEntry::WaitEnded { task }).await?;
        Ok(input)
    }
}

/// Up to ten seconds, the same for all tasks of a run and another for another run.
pub(super) fn jitter(run: &RunId) -> Duration {
    let sum: u64 = run.as_str().bytes().fold(0, |sum, byte| sum * 31 % 10_007 + u64::from(byte));
    Duration::from_millis(sum % 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::MockClock;
    use std::sync::{Arc, Mutex};

    /// A clock that starts at 0 and jumps by so many seconds after each sleep, beside the sleep itself.
    async fn slept(until: i64, jumps: &'static [i64]) -> Vec<u64> {
        let mut jumps = jumps.iter();
        let now = Arc::new(Mutex::new(0_i64));
        let slept = Arc::new(Mutex::new(Vec::new()));
        let mut clock = MockClock::new();
        let time = Arc::clone(&now);
        clock.expect_now().returning(move || Timestamp::from_second(*time.lock().unwrap()).unwrap());
        let naps = Arc::clone(&slept);
        clock.expect_sleep().returning(move |nap| {
            naps.lock().unwrap().push(nap.as_secs());
            *now.lock().unwrap() += nap.as_secs().cast_signed() + jumps.next().copied().unwrap_or_default();
        });
        wait_until(&clock, Timestamp::from_second(until).unwrap()).await;
        slept.lock().unwrap().clone()
    }

    #[tokio::test]
    async fn it_looks_at_the_wall_clock_again_and_again() {
        assert_eq!(slept(70, &[]).await, [30, 30, 10]);
        assert_eq!(slept(-5, &[]).await, [0_u64; 0], "a time in the past is now");
    }

    #[tokio::test]
    async fn a_suspended_machine_does_not_oversleep_and_a_clock_set_back_makes_nothing_longer() {
        assert_eq!(slept(1000, &[3600]).await, [30]);
        assert_eq!(slept(70, &[-7200]).await, [30, 30, 10]);
    }
}
