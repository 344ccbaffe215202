//! Whether programs work or only wait.

use super::table::Process;
use rustix::process::{Pid, Signal};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Returns when the programs of a process group have used no processor time for this long: they wait for something that does
/// not come, such as the other end of a pipe. Never returns where there is no process table, or nobody in the group.
///
/// Looks ten times in that period. One that waits for a disk counts as at work, because the kernel does not let it be ended.
pub(in crate::host) async fn until_idle(group: u32, period: Duration) {
    let mut idle = Idle::seen(LOOKS);
    loop {
        tokio::time::sleep(period / LOOKS).await;
        let all = Process::ours();
        if idle.after(sum(all.iter().filter(|process| process.group == group.cast_signed()))) {
            return;
        }
    }
}

const LOOKS: u32 = 10;

/// Returns when a program of a process group waits for a pipe that it opens, and that nobody opens at its other end: with its path. Never
/// returns where the kernel does not tell.
pub(in crate::host) async fn until_at_pipe(group: u32) -> PathBuf {
    let mut at = AtPipe::default();
    loop {
        tokio::time::sleep(PIPE_LOOK).await;
        let all = Process::ours();
        if let Some(pipe) = at.after(all.iter().filter(|process| process.group == group.cast_signed())) {
            return pipe;
        }
    }
}

/// Whoever is to be at the other end of a pipe mostly is there within this.
const PIPE_LOOK: Duration = Duration::from_millis(500);

/// The pipe at which somebody waited before.
#[derive(Default)]
struct AtPipe(Option<PathBuf>);

impl AtPipe {
    /// The pipe, once somebody was seen at it twice in a row.
    fn after<'a>(&mut self, mut processes: impl Iterator<Item = &'a Process>) -> Option<PathBuf> {
        let now = processes.find_map(Process::opened_pipe);
        let before = std::mem::replace(&mut self.0, now);
        before.filter(|before| self.0.as_ref() == Some(before))
    }
}

/// What programs wait for.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::host) enum WaitsFor {
    /// For somebody who opens the other end of this pipe.
    Pipe(PathBuf),
    /// Nobody knows: they only do not work.
    Something,
}

/// How often in a row the same processor time was seen.
struct Idle {
    before: Option<u64>,
    same: u32,
    /// So often it must be.
    wanted: u32,
}

impl Idle {
    fn seen(wanted: u32) -> Self {
        Self { before: None, same: 0, wanted }
    }

    /// Whether it is idle, once this was seen too.
    fn after(&mut self, now: Option<u64>) -> bool {
        self.same = if now.is_some() && now == self.before { self.same + 1 } else { 0 };
        self.before = now;
        self.same >= self.wanted
    }
}

/// A child of this process that nobody has waited for yet, with all that descend from it.
pub(in crate::host) struct ChildTree(pub(in crate::host) u32);

impl ChildTree {
    /// As [`until_at_pipe`] and [`until_idle`], for whoever has no runtime: blocks until they wait, or, with nothing, until `done` says or
    /// loses something.
    pub(in crate::host) fn waits(&self, period: Duration, done: &Receiver<()>) -> Option<WaitsFor> {
        let tick = PIPE_LOOK.min(period / LOOKS);
        let looks = period.as_millis() / tick.as_millis().max(1);
        let (mut idle, mut at) = (Idle::seen(u32::try_from(looks).unwrap_or(u32::MAX)), AtPipe::default());
        while done.recv_timeout(tick) == Err(RecvTimeoutError::Timeout) {
            let all = self.processes();
            if let Some(pipe) = at.after(all.iter()) {
                return Some(WaitsFor::Pipe(pipe));
            }
            if idle.after(sum(all.iter())) {
                return Some(WaitsFor::Something);
            }
        }
        None
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
            let watch = scope.spawn(move || tree.waits(Duration::from_millis(500), &ended));
            std::thread::sleep(Duration::from_millis(1500));
            drop(over);
            assert_eq!(watch.join().unwrap(), None, "its child works");
        });
        tree.kill();
        works.wait().unwrap();
        let waits = start("sleep 600; :");
        let tree = ChildTree(waits.id());
        assert_eq!(tree.waits(Duration::from_millis(500), &done), Some(WaitsFor::Something));
        tree.kill();
        // Whoever is left would hold its output open.
        waits.wait_with_output().unwrap();
    }

    #[tokio::test]
    async fn a_pipe_that_is_opened_at_one_end_is_named() {
        if !cfg!(target_os = "linux") || Process::ours().iter().all(|process| !process.tells_its_call()) {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().canonicalize().unwrap().join("it's a pipe");
        let (here, mode) = (rustix::fs::CWD, rustix::fs::Mode::from_raw_mode(0o600));
        rustix::fs::mknodat(here, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        for name in ["it's a pipe", pipe.to_str().unwrap()] {
            let mut shell = Command::new("sh");
            let script = shell.args(["-c", "cat \"$1\"; :", "sh", name]).current_dir(dir.path()).process_group(0);
            let mut waits = start_child(|| script.spawn()).unwrap();
            assert_eq!(until_at_pipe(waits.id().unwrap()).await, pipe);
            let (_over, done) = std::sync::mpsc::channel();
            let found = ChildTree(waits.id().unwrap()).waits(Duration::from_mins(1), &done);
            assert_eq!(found, Some(WaitsFor::Pipe(pipe.clone())));
            let group = rustix::process::Pid::from_raw(waits.id().unwrap().cast_signed()).unwrap();
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
            waits.wait().await.unwrap();
        }
    }
}
