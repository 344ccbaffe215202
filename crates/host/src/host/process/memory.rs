//! How much memory programs take, and at most may.

use crate::domain::CheckCommand;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What may be taken in any case where there is a limit, in bytes.
const LEAST: u64 = 2 << 30;

/// What processes hold, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// Of their own, now: what only they have, and no file has.
    pub(super) now: u64,
    /// At most until now, with what others have, too.
    pub(super) most: u64,
}

impl Held {
    /// What these processes hold together; those that have ended hold nothing, and so do all where the system does not say it.
    pub(super) fn by(processes: impl Iterator<Item = i32>) -> Self {
        let add = |sum: Self, pid| {
            let held = Self::of(pid).unwrap_or_default();
            Self { now: sum.now + held.now, most: sum.most + held.most }
        };
        processes.fold(Self::default(), add)
    }

    /// Lines of `/proc/PID/status` [`proc_pid_status(5)`].
    fn of(pid: i32) -> Option<Self> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let kib = |name: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
        };
        Some(Self { now: kib("RssAnon")? * 1024, most: kib("VmHWM")? * 1024 })
    }
}

/// What each command line was seen to take where somebody wrote what it runs. What nobody wrote may take twice as much, and [`LEAST`] in any
/// case: a mistake that never lets a loop end would take all that there is.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    least: u64,
    seen: Arc<Mutex<HashMap<String, u64>>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { least: LEAST, seen: Arc::default() }
    }
}

impl Limits {
    #[cfg(test)]
    pub(super) fn of_at_least(least: u64) -> Self {
        Self { least, ..Self::default() }
    }

    pub(super) fn saw(&self, program: &CheckCommand, most: u64) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seen.entry(program.to_string()).or_default();
        *known = most.max(*known);
    }

    /// In bytes.
    pub(super) fn of(&self, program: &CheckCommand) -> u64 {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(&program.to_string()).map_or(self.least, |most| self.least.max(most.saturating_mul(2)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_wrote_may_take_twice_as_much_as_what_somebody_did() {
        let (limits, program) = (Limits::of_at_least(100), CheckCommand::Shell("make test".to_owned()));
        assert_eq!(limits.of(&program), 100);
        limits.saw(&program, 40);
        assert_eq!(limits.of(&program), 100);
        limits.saw(&program, 70);
        limits.saw(&program, 60);
        assert_eq!((limits.of(&program), limits.of(&CheckCommand::Shell("b".to_owned()))), (140, 100));
    }

    #[test]
    fn what_a_process_holds_is_known() {
        let held = Held::by([std::process::id().cast_signed(), i32::MAX].into_iter());
        assert_eq!(held.now > 0 && held.most >= held.now, cfg!(target_os = "linux"), "{held:?}");
    }
}
