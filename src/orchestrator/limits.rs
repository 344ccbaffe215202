//! Limits of an agent's service that all tasks of a run share: nobody asks before the reset, then one does, and the others
//! when that one was not refused.

use super::machine::LONGEST_BACK_OFF;
use crate::domain::{RunKind, Timestamp, later};
use crate::services::Clock;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Services refuse within seconds; who has worked for so long was not refused.
const PROBE: Duration = Duration::from_secs(30);
/// How long to leave a service alone that does not say until when; in a night twice as long each time, up to
/// [`LONGEST_BACK_OFF`].
const UNKNOWN: Duration = Duration::from_mins(1);

/// The limits that agents have reached.
#[derive(Debug)]
pub(super) struct Limits {
    reached: Mutex<BTreeMap<String, Reached>>,
    /// The longest that a service is left alone which does not say until when.
    longest: Duration,
}

#[derive(Debug)]
struct Reached {
    until: Timestamp,
    /// When the one who asks first began, on the clock that never goes backwards.
    probed: Option<Duration>,
    /// How often in a row nothing said until when.
    unknown: u32,
}

/// What an agent may do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// Work.
    Go,
    /// Nothing until this time; then ask again.
    WaitUntil(Timestamp),
}

impl Limits {
    pub fn new(kind: RunKind) -> Self {
        let longest = match kind {
            RunKind::Run => UNKNOWN,
            RunKind::Overnight => LONGEST_BACK_OFF,
        };
        Self { reached: Mutex::default(), longest }
    }

    fn reached(&self) -> MutexGuard<'_, BTreeMap<String, Reached>> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a run of an agent; the first who may go after a reset goes for all.
    pub fn pass(&self, agent: &str, clock: &dyn Clock) -> Pass {
        let mut reached = self.reached();
        let Some(limit) = reached.get_mut(agent) else { return Pass::Go };
        let now = clock.now();
        if now < limit.until {
            return Pass::WaitUntil(limit.until);
        }
        let elapsed = clock.elapsed();
        match limit.probed {
            None => {
                limit.probed = Some(elapsed);
                Pass::Go
            }
            Some(began) if elapsed.saturating_sub(began) >= PROBE => {
                reached.remove(agent);
                Pass::Go
            }
            Some(began) => Pass::WaitUntil(later(now, PROBE.saturating_sub(elapsed.saturating_sub(began)))),
        }
    }

    /// An agent run ended at a limit.
    pub fn close(&self, agent: &str, resets_at: Option<Timestamp>, now: Timestamp) {
        let mut reached = self.reached();
        let known = reached.get(agent);
        // Several that were at work are refused together: that is one refusal.
        let again = known.filter(|limit| limit.until <= now).map_or(0, |limit| limit.unknown + 1);
        let (until, unknown) = match (resets_at, known) {
            (Some(resets_at), _) => (resets_at, 0),
            (None, Some(limit)) if limit.until > now => (limit.until, limit.unknown),
            (None, _) => (later(now, (UNKNOWN * (1 << again.min(10))).min(self.longest)), again),
        };
        let later = known.map(|limit| limit.until).filter(|known| *known > until);
        reached.insert(agent.to_owned(), Reached { until: later.unwrap_or(until), probed: None, unknown });
    }

    /// An agent run ended otherwise: whatever limit there was is over, unless it was reached again meanwhile.
    pub fn open(&self, agent: &str) {
        let mut reached = self.reached();
        if reached.get(agent).is_some_and(|limit| limit.probed.is_some()) {
            reached.remove(agent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::MockClock;
    use std::sync::Arc;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// A clock that shows what was put into it.
    fn clock() -> (MockClock, Arc<Mutex<i64>>) {
        let time = Arc::new(Mutex::new(0_i64));
        let mut clock = MockClock::new();
        let (now, elapsed) = (Arc::clone(&time), Arc::clone(&time));
        clock.expect_now().returning(move || at(*now.lock().unwrap()));
        clock.expect_elapsed().returning(move || Duration::from_secs(elapsed.lock().unwrap().unsigned_abs()));
        (clock, time)
    }

    #[test]
    fn after_the_reset_one_goes_first_and_the_others_follow_when_it_was_not_refused() {
        let (clock, time) = clock();
        let limits = Limits::new(RunKind::Overnight);
        assert_eq!(limits.pass("a", &clock), Pass::Go);
        limits.close("a", Some(at(100)), at(0));
        assert_eq!(limits.pass("a", &clock), Pass::WaitUntil(at(100)));
        assert_eq!(limits.pass("b", &clock), Pass::Go, "another agent has another limit");
        *time.lock().unwrap() = 100;
        assert_eq!(limits.pass("a", &clock), Pass::Go);
        assert_eq!(limits.pass("a", &clock), Pass::WaitUntil(at(130)));
        *time.lock().unwrap() = 120;
        assert_eq!(limits.pass("a", &clock), Pass::WaitUntil(at(130)));
        *time.lock().unwrap() = 130;
        assert_eq!((limits.pass("a", &clock), limits.pass("a", &clock)), (Pass::Go, Pass::Go));
    }

    #[test]
    fn a_reset_at_the_end_of_time_is_waited_for_like_any_other() {
        let (clock, time) = clock();
        let limits = Limits::new(RunKind::Overnight);
        limits.close("a", Some(Timestamp::MAX), at(0));
        assert_eq!(limits.pass("a", &clock), Pass::WaitUntil(Timestamp::MAX));
        limits.close("b", None, Timestamp::MAX);
        *time.lock().unwrap() = Timestamp::MAX.as_second();
        assert_eq!(limits.pass("b", &clock), Pass::WaitUntil(Timestamp::MAX));
    }

    #[test]
    fn a_refused_probe_closes_again_and_an_answer_opens_at_once() {
        let (clock, time) = clock();
        let limits = Limits::new(RunKind::Overnight);
        limits.close("a", None, at(0));
        assert_eq!(limits.pass("a", &clock), Pass::WaitUntil(at(60)));
        *time.lock().unwrap() = 60;
        assert_eq!(limits.pass("a", &clock), Pass::Go);
        limits.close("a", Some(at(500)), at(61));
        assert_eq!(limits.pass("a", &clock), Pass::WaitUntil(at(500)));
        limits.open("a");
        assert_eq!(limits.pass("a", &clock), Pass::WaitUntil(at(500)), "what ended began before the limit");
        *time.lock().unwrap() = 500;
        assert_eq!(limits.pass("a", &clock), Pass::Go);
        limits.open("a");
        assert_eq!((limits.pass("a", &clock), limits.pass("a", &clock)), (Pass::Go, Pass::Go));
    }

    #[test]
    fn a_later_reset_stands_although_another_run_heard_of_an_earlier_one() {
        let (clock, _) = clock();
        let limits = Limits::new(RunKind::Overnight);
        limits.close("a", Some(at(500)), at(0));
        limits.close("a", Some(at(200)), at(1));
        assert_eq!(limits.pass("a", &clock), Pass::WaitUntil(at(500)));
    }

    #[test]
    fn a_service_that_does_not_say_until_when_is_asked_ever_less_often_by_all_together() {
        let check = |kind: RunKind, expected: [i64; 6]| {
            let limits = Limits::new(kind);
            let (clock, time) = clock();
            for minutes in expected {
                let now = *time.lock().unwrap();
                // Both were at work.
                limits.close("a", None, at(now));
                limits.close("a", None, at(now + 1));
                let until = now + minutes * 60;
                assert_eq!(limits.pass("a", &clock), Pass::WaitUntil(at(until)), "{kind:?}");
                *time.lock().unwrap() = until;
                assert_eq!(limits.pass("a", &clock), Pass::Go);
            }
        };
        check(RunKind::Overnight, [1, 2, 4, 8, 15, 15]);
        check(RunKind::Run, [1; 6]);
    }
}
