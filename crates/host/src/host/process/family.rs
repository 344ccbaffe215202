//! Everything a program started: ending and reaping it.

use super::memory::Held;
use super::running::Entry;
use rustix::process::{Pid, Signal, WaitOptions};
use std::time::{Duration, Instant};

/// How long a sweep waits for killed processes to be gone; only one in uninterruptible sleep takes so long.
pub(super) const SWEEP_LIMIT: Duration = Duration::from_secs(2);

/// How long a process may be about to become the program that it is becoming, which takes milliseconds.
pub(super) const UNCLEAR_LIMIT: Duration = Duration::from_millis(500);

/// A program, its process group, and every descendant seen so far. Dropping it ends them all.
#[derive(Debug)]
pub(super) struct Family {
    /// The program's process id, which is also its group's.
    leader: Pid,
    /// None: it is ended, or somebody else ends it.
    entry: Option<Entry>,
}

impl Family {
    pub(super) fn new(leader: Pid, entry: Entry) -> Self {
        entry.is(leader.as_raw_pid());
        Self { leader, entry: Some(entry) }
    }

    /// Sends a signal to the process group; one that is gone already is no error.
    pub(super) fn signal(&self, signal: Signal) {
        let _ = rustix::process::kill_process_group(self.leader, signal);
    }

    /// Looks who is there, so that a descendant is remembered when its parent dies, and what all of them hold.
    pub(super) fn look(&self) -> Held {
        self.entry.as_ref().map(Entry::look).unwrap_or_default()
    }

    /// Kills the group and every descendant, and reaps those that have become our children.
    ///
    /// Blocks for some milliseconds; at most [`SWEEP_LIMIT`].
    pub(super) fn end(&mut self) {
        self.signal(Signal::KILL);
        if let Some(entry) = self.entry.take() {
            end(&entry);
        }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        let Some(entry) = self.entry.take() else {
            return;
        };
        self.signal(Signal::KILL);
        // A thread, because the runtime that dropped the future may itself be going away.
        if let Err(error) = std::thread::Builder::new().spawn(move || end(&entry)) {
            tracing::warn!(%error, "no thread to end what a program started");
        }
    }
}

fn end(entry: &Entry) {
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    // Two looks: the kernel may leave a child out of the list while another one ends.
    let waited = || started.elapsed() > UNCLEAR_LIMIT;
    while kill_and_reap(entry, waited()) > 0 || kill_and_reap(entry, waited()) > 0 {
        if started.elapsed() > SWEEP_LIMIT {
            tracing::warn!(left = entry.known(), "processes could not be ended");
            return;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// One round; says how many were still alive.
fn kill_and_reap(entry: &Entry, waited: bool) -> usize {
    let me = rustix::process::getpid().as_raw_pid();
    let found = entry.to_end(waited);
    let mut alive = found.unclear;
    for process in found.processes {
        let Some(pid) = Pid::from_raw(process.pid) else {
            continue;
        };
        if !process.zombie {
            alive += 1;
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        } else if process.parent == me {
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
    alive
}
