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
    let pause = period / 10;
    let mut before = None;
    let mut same = Duration::ZERO;
    loop {
        tokio::time::sleep(pause).await;
        let now = processor_time(group.cast_signed());
        same = if now.is_some() && now == before { same + pause } else { Duration::ZERO };
        before = now;
        if same >= period {
            return;
        }
    }
}

/// A process that this one has started and not waited for yet, with all that descend from it.
pub(in crate::host) struct Started(pub(in crate::host) i32);

impl Started {
    /// Whether it is idle, as in [`until_idle`]. Blocks until it is, or until whoever holds the other end is done with it.
    pub(in crate::host) fn is_idle(&self, period: Duration, done: &Receiver<()>) -> bool {
        let pause = period / 10;
        let (mut before, mut same) = (None, Duration::ZERO);
        while done.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            let now = sum(self.processes().iter());
            same = if now.is_some() && now == before { same + pause } else { Duration::ZERO };
            before = now;
            if same >= period {
                return true;
            }
        }
        false
    }

    /// Kills them: who is left would hold what the caller reads.
    pub(in crate::host) fn kill(&self) {
        for process in self.processes() {
            if let Some(pid) = Pid::from_raw(process.pid) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
    }

    fn processes(&self) -> Vec<Process> {
        let mut others = Process::ours();
        let mut found: Vec<Process> = Vec::new();
        loop {
            let is_of = |process: &Process| process.pid == self.0 || found.iter().any(|of| of.pid == process.parent);
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
fn processor_time(group: i32) -> Option<u64> {
    sum(Process::ours().iter().filter(|process| process.group == group))
}

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
}
