//! Whether programs work or only wait.

use super::table::Process;
use rustix::process::Pid;
use rustix::process::Signal;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// Returns when the programs of a process group have used no processor time for this long: they wait for something that does
/// not come, such as the other end of a pipe. Never returns where there is no process table, or nobody in the group.
///
/// Looks ten times in that period. One that waits for a disk counts as at work, because the kernel does not let it be ended.
pub(in crate::host) async fn until_idle(group: u32, period: Duration) {
    let mut idle = Idle::default();
    loop {
        tokio::time::sleep(period / LOOKS).await;
        let all = Process::ours();
        if idle.after(sum(all.iter().filter(|process| process.group == group.cast_signed()))) {
            return;
        }
    }
}

const LOOKS: u32 = 10;

/// How often in a row the same processor time was seen.
#[derive(Default)]
struct Idle {
    before: Option<u64>,
    same: u32,
}

impl Idle {
    /// Whether it is idle, once this was seen too.
    fn after(&mut self, now: Option<u64>) -> bool {
        self.same = if now.is_some() && now == self.before { self.same + 1 } else { 0 };
        self.before = now;
        self.same >= LOOKS
    }
}

/// A child of this process that nobody has waited for yet, with all that descend from it.
pub(in crate::host) struct ChildTree(pub(in crate::host) u32);

impl ChildTree {
    /// As [`until_idle`], for whoever has no runtime: blocks until they are idle, or, with `false`, until `done` says or loses something.
    pub(in crate::host) fn is_idle(&self, period: Duration, done: &Receiver<()>) -> bool {
        let mut idle = Idle::default();
        while done.recv_timeout(period / LOOKS) == Err(RecvTimeoutError::Timeout) {
            if idle.after(sum(self.processes().iter())) {
                return true;
            }
        }
        false
    }

    /// Kills them: who is left would hold what the caller reads. Without a process table, the child alone.
    pub(in crate::host) fn kill(&self) {
        let below = self.processes();
        for pid in below.iter().map(|process| process.pid).chain([self.0.cast_signed()]) {
            if let Some(pid) = Pid::from_raw(pid) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
    }

    fn processes(&self) -> Vec<Process> {
        let mut others = Process::ours();
        let mut found: Vec<Process> = Vec::new();
        loop {
            let is_of = |process: &Process| {
                process.pid == self.0.cast_signed() || found.iter().any(|of| of.pid == process.parent)
            };
            let (new, rest): (Vec<Process>, Vec<Process>) = others.into_iter().partition(is_of);
            if new.is_empty() {
                return found;
            }
            found.extend(new);
            others = rest;
        }
    }
}

/// In the kernel's ticks; nothing if somebody waits for a disk, or nobody is there.
fn sum<'a>(processes: impl Iterator<Item = &'a Process>) -> Option<u64> {
    processes.map(Process::processor_time).reduce(|a, b| Some(a? + b?)).flatten()
}

#[cfg(test)]
mod tests {
    use super::super::start_child;
    use super::*;
    use std::process::Stdio;
    use tokio::process::Command;

    #[tokio::test]
    async fn who_waits_is_idle_and_who_works_is_not() {
        const PERIOD: Duration = Duration::from_millis(500);
        let start = |script: &str| {
            let mut shell = Command::new("sh");
            start_child(|| shell.args(["-c", script]).stdin(Stdio::piped()).process_group(0).spawn()).unwrap()
        };
        let mut waits = start("read line");
        let mut works = start("sh -c 'while :; do :; done'; :");
        tokio::select! {
            () = until_idle(waits.id().unwrap(), PERIOD) => {}
            () = until_idle(works.id().unwrap(), PERIOD) => panic!("it works"),
        }
        waits.kill().await.unwrap();
        let group = rustix::process::Pid::from_raw(works.id().unwrap().cast_signed()).unwrap();
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        works.wait().await.unwrap();
    }

    #[test]
    fn a_program_behind_another_one_is_seen_and_ended() {
        let start = |script: &str| {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
        };
        let (_over, done) = std::sync::mpsc::channel();
        let mut works = start("sh -c 'while :; do :; done'; :");
        let tree = ChildTree(works.id());
        let (over, ended) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let tree = &tree;
            let watch = scope.spawn(move || tree.is_idle(Duration::from_millis(500), &ended));
            std::thread::sleep(Duration::from_millis(1500));
            drop(over);
            assert!(!watch.join().unwrap(), "its child works");
        });
        tree.kill();
        works.wait().unwrap();
        let waits = start("sleep 600; :");
        let tree = ChildTree(waits.id());
        assert!(tree.is_idle(Duration::from_millis(500), &done));
        tree.kill();
        // Whoever is left would hold its output open.
        waits.wait_with_output().unwrap();
    }
}
