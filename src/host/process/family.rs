//! Everything a program started: finding, ending and reaping it.

use super::mark::MARK;
use rustix::process::Pid;
use rustix::process::Signal;
use rustix::process::WaitOptions;
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::collections::HashSet;
use std::io::Read;
use std::path::Path;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::Once;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

/// How long a sweep waits for killed processes to be gone; only one in uninterruptible sleep takes so long.
pub(super) const SWEEP_LIMIT: Duration = Duration::from_secs(2);

/// Children that this process had before it started anything, by id and start time: whoever started it by `exec` may have
/// had some, as `ssh-agent PROGRAM` does.
static INHERITED: OnceLock<HashSet<(i32, u64)>> = OnceLock::new();

/// Makes orphans of our descendants children of this process instead of `init`'s, so that they can be found and reaped.
pub(super) fn adopt_orphans() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let me = rustix::process::getpid().as_raw_pid();
        let children = Process::all().into_iter().filter(|process| process.parent == me);
        let _ = INHERITED.set(children.map(|process| (process.pid, process.start)).collect());
        #[cfg(target_os = "linux")]
        if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
            tracing::warn!(%error, "orphaned processes cannot be adopted");
        }
    });
}

/// When the programs started that run now, in the kernel's ticks; 0: it is just being started.
fn running() -> MutexGuard<'static, BTreeMap<u64, u64>> {
    static RUNNING: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program among those that run, from before it is started until nothing of it is left.
#[derive(Debug)]
pub(super) struct Turn(u64);

impl Turn {
    pub(super) fn begin() -> Self {
        let mut running = running();
        let id = running.last_key_value().map_or(0, |(id, _)| id + 1);
        running.insert(id, 0);
        Self(id)
    }

    fn started(&self, at: u64) {
        running().insert(self.0, at);
    }

    /// Whether no other program that runs can have started a process that began then.
    fn excludes_others(&self, start: u64) -> bool {
        running().iter().all(|(id, began)| *id == self.0 || *began > start)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        running().remove(&self.0);
    }
}

/// A program, its process group, and every descendant seen so far. Dropping it ends them all.
#[derive(Debug)]
pub(super) struct Family {
    /// The program's process id, which is also its group's.
    leader: Pid,
    /// When it started, in the kernel's ticks; nothing older can be its descendant.
    start: u64,
    mark: String,
    /// Descendants seen, by id and start time; they stay ours when their parents die and their environment is empty.
    known: HashMap<i32, u64>,
    ended: bool,
    /// None: it is handed on, or the program starts nobody.
    turn: Option<Turn>,
}

impl Family {
    pub(super) fn new(leader: Pid, mark: String, turn: Option<Turn>) -> Self {
        let start = Process::read(leader.as_raw_pid()).map_or(0, |process| process.start);
        if let Some(turn) = &turn {
            turn.started(start);
        }
        Self { leader, start, mark, known: HashMap::new(), ended: false, turn }
    }

    /// Sends a signal to the process group; one that is gone already is no error.
    pub(super) fn signal(&self, signal: Signal) {
        let _ = rustix::process::kill_process_group(self.leader, signal);
    }

    /// Looks who is there, so that a descendant is remembered when its parent dies.
    pub(super) fn look(&mut self) -> Vec<Process> {
        self.look_in(&Process::ours())
    }

    fn look_in(&mut self, table: &[Process]) -> Vec<Process> {
        let leader = self.leader.as_raw_pid();
        let mine = self.members(table);
        let me = rustix::process::getpid().as_raw_pid();
        let session = own_session(table);
        // A dead child of ours in a foreign session was never started by us - we start none with `setsid` - so it is
        // an adopted orphan that nobody else will reap. A dead child in our own session may be someone's to wait for.
        let orphan = |p: &Process| p.zombie && p.parent == me && p.session != session;
        let younger = table.iter().filter(|p| p.start >= self.start && p.pid != leader);
        let found: Vec<Process> = younger.filter(|p| mine.contains(&p.pid) || orphan(p)).copied().collect();
        self.known = found.iter().map(|p| (p.pid, p.start)).collect();
        found
    }

    /// Orphans that live: adopted by us, so that one of the programs that we ran has started them, in a session and an
    /// environment of their own, so that nothing says which - except that no other one that runs now is old enough.
    fn strays(&self, table: &[Process]) -> Vec<Process> {
        let me = rustix::process::getpid().as_raw_pid();
        let Some(turn) = self.turn.as_ref().filter(|_| me != 1) else {
            // The first process of a container is given everybody's orphans.
            return Vec::new();
        };
        let session = own_session(table);
        let inherited = |p: &Process| INHERITED.get().is_some_and(|known| known.contains(&(p.pid, p.start)));
        let spared: HashSet<i32> = table.iter().filter(|p| inherited(p)).map(|p| p.session).collect();
        let stray = |p: &Process| !p.zombie && p.parent == me && p.session != session && turn.excludes_others(p.start);
        let heads: Vec<Process> = table.iter().filter(|p| stray(p) && !spared.contains(&p.session)).copied().collect();
        let below = |p: &&Process| heads.iter().any(|head| p.session == head.session);
        table.iter().filter(below).copied().collect()
    }

    /// The ids of those that are its own.
    fn members(&self, table: &[Process]) -> HashSet<i32> {
        let leader = self.leader.as_raw_pid();
        let younger = || table.iter().filter(|p| p.start >= self.start && p.pid != leader);
        let mut mine: HashSet<i32> = younger()
            .filter(|p| {
                p.group == leader
                    || p.parent == leader
                    || self.known.get(&p.pid) == Some(&p.start)
                    || (!p.zombie && p.is_marked(&self.mark))
            })
            .map(|p| p.pid)
            .collect();
        loop {
            let children: Vec<i32> =
                younger().filter(|p| mine.contains(&p.parent) && !mine.contains(&p.pid)).map(|p| p.pid).collect();
            if children.is_empty() {
                break;
            }
            mine.extend(children);
        }
        mine
    }

    /// Kills the group and every descendant, and reaps those that have become our children.
    ///
    /// Blocks for some milliseconds; at most [`SWEEP_LIMIT`].
    pub(super) fn end(&mut self) {
        self.ended = true;
        self.signal(Signal::KILL);
        let started = Instant::now();
        let mut pause = Duration::from_millis(1);
        // Two looks: the kernel may leave a child out of the list while another one ends.
        while self.kill_and_reap() > 0 || self.kill_and_reap() > 0 {
            if started.elapsed() > SWEEP_LIMIT {
                tracing::warn!(left = self.known.len(), "processes could not be ended");
                return;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// One round; says how many were still alive.
    fn kill_and_reap(&mut self) -> usize {
        let me = rustix::process::getpid().as_raw_pid();
        let mut alive = 0;
        let table = Process::ours();
        let mut found = self.look_in(&table);
        found.extend(self.strays(&table));
        for process in found {
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
}

/// From the process table, because `getsid` answers 0, which is no `Pid`, where the session's leader is outside of our pid
/// namespace (a container entered from outside).
fn own_session(table: &[Process]) -> i32 {
    let me = rustix::process::getpid().as_raw_pid();
    table.iter().find(|p| p.pid == me).map_or(0, |p| p.session)
}

impl Drop for Family {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        self.signal(Signal::KILL);
        let mut rest = Self {
            leader: self.leader,
            start: self.start,
            mark: std::mem::take(&mut self.mark),
            known: std::mem::take(&mut self.known),
            ended: true,
            turn: self.turn.take(),
        };
        // A thread, because the runtime that dropped the future may itself be going away.
        if let Err(error) = std::thread::Builder::new().spawn(move || rest.end()) {
            tracing::warn!(%error, "no thread to end what a program started");
        }
    }
}

/// A line of the process table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    group: i32,
    session: i32,
    pub(super) start: u64,
    pub(super) zombie: bool,
}

impl Process {
    pub(super) fn all() -> Vec<Self> {
        std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter_map(Self::read)
            .collect()
    }

    /// This process and all that descend from it; the whole table where the kernel does not list children.
    pub(super) fn ours() -> Vec<Self> {
        Self::descendants().unwrap_or_else(Self::all)
    }

    /// This process and all that descend from it, without reading the whole table; nothing where the kernel does not list
    /// children.
    ///
    /// Whatever a program started is among them, because this process adopts orphans ([`adopt_orphans`]).
    fn descendants() -> Option<Vec<Self>> {
        let me = rustix::process::getpid().as_raw_pid();
        let mut found = vec![Self::read(me)?];
        let mut next = 0;
        let mut listed = HashSet::from([me]);
        while let Some(process) = found.get(next) {
            next += 1;
            // One that has ended meanwhile has none; of this process there must be a list.
            match children(process.pid) {
                Some(pids) => {
                    let new = pids.into_iter().filter(|pid| listed.insert(*pid));
                    found.extend(new.filter_map(Self::read).collect::<Vec<_>>());
                }
                None if next == 1 => return None,
                None => {}
            }
        }
        Some(found)
    }

    pub(super) fn read(pid: i32) -> Option<Self> {
        // The kernel makes the line anew for each call: one call, with room for all of it, and not one for its length.
        let mut line = [0_u8; 1024];
        let length = std::fs::File::open(format!("/proc/{pid}/stat")).and_then(|mut stat| stat.read(&mut line)).ok()?;
        Self::parse(pid, &line[..length])
    }

    /// Fields of `/proc/PID/stat` [`proc_pid_stat(5)`]: after the name, which is in parentheses and may contain anything,
    /// come state (3), ppid, pgrp, session, ..., starttime (22).
    pub(super) fn parse(pid: i32, stat: &[u8]) -> Option<Self> {
        let after = memchr::memrchr(b')', stat)? + 1;
        let text = std::str::from_utf8(&stat[after..]).ok()?;
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        Some(Self {
            pid,
            zombie: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            start: fields.get(19)?.parse().ok()?,
        })
    }

    pub(super) fn is_below(&self, dir: &Path) -> bool {
        std::fs::read_link(format!("/proc/{}/cwd", self.pid)).is_ok_and(|cwd| cwd.starts_with(dir))
    }

    /// Whether it has a mark that contains this one.
    fn is_marked(&self, mark: &str) -> bool {
        self.mark().is_some_and(|mine| mine.contains(mark))
    }

    /// What its environment held as mark when it was started; nothing for another user's.
    pub(super) fn mark(&self) -> Option<String> {
        let environ = std::fs::read(format!("/proc/{}/environ", self.pid)).ok()?;
        let mut variables = environ.split(|byte| *byte == 0);
        let value = variables.find_map(|variable| variable.strip_prefix(MARK.as_bytes())?.strip_prefix(b"="))?;
        Some(String::from_utf8_lossy(value).into_owned())
    }
}

/// The children of all threads of a process [`proc_tid_children(5)`].
fn children(pid: i32) -> Option<Vec<i32>> {
    let mut children = Vec::new();
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        match std::fs::read_to_string(thread.path().join("children")) {
            Ok(list) => children.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok())),
            // The thread has ended; a kernel without these lists has none for any thread.
            Err(_) if thread.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(children)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_listed_without_the_whole_table() {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "sh -c 'echo $$; read x; :'; :"]).stdin(std::process::Stdio::piped());
        let mut shell = shell.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(shell.stdout.take().unwrap()), &mut line).unwrap();
        let grandchild: i32 = line.trim().parse().unwrap();
        let found = Process::descendants().expect("this kernel lists children");
        for pid in [rustix::process::getpid().as_raw_pid(), shell.id().cast_signed(), grandchild] {
            assert_eq!(found.iter().filter(|process| process.pid == pid).count(), 1, "{pid} in {found:?}");
        }
        assert!(!found.iter().any(|process| process.pid == 1), "{found:?}");
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }

    #[test]
    fn a_name_may_contain_anything() {
        let stat = b"42 (a) Z 1 (b) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 0 0";
        assert_eq!(
            Process::parse(42, stat),
            Some(Process { pid: 42, parent: 7, group: 8, session: 9, start: 12345, zombie: false })
        );
    }

    #[test]
    fn this_process_is_in_the_table() {
        let me = rustix::process::getpid().as_raw_pid();
        assert!(Process::all().iter().any(|p| p.pid == me && !p.zombie));
    }
}
