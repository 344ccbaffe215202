//! The process table.

use super::mark::MARK;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The numbers of `openat` and of the older `open`, where we know them.
const OPENAT: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(257)
} else if cfg!(any(target_arch = "aarch64", target_arch = "riscv64")) {
    Some(56)
} else {
    None
};
const OPEN: Option<u32> = if cfg!(target_arch = "x86_64") { Some(2) } else { None };
/// No call takes a longer one.
const MOST_OF_A_PATH: usize = 4096;

/// This process and all that descend from it, at one time.
#[derive(Debug)]
pub(super) struct Table {
    processes: Vec<Process>,
    /// Read when they are asked for, once.
    marks: RefCell<HashMap<i32, Marked>>,
    me: Process,
}

/// The mark in a process's environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Marked {
    /// It has one.
    With(String),
    /// It has none, or nobody may read it.
    No,
    /// It is just becoming another program, and has no environment until it is that.
    NotYetKnown,
}

impl Table {
    pub(super) fn read() -> Self {
        let processes = Process::ours();
        let pid = rustix::process::getpid().as_raw_pid();
        // From the table, because `getsid` answers 0, which is no `Pid`, where the session's leader is outside of our pid
        // namespace (a container entered from outside).
        let unknown = Process { pid, parent: 0, group: 0, session: 0, start: 0, zombie: false };
        let me = processes.iter().find(|process| process.pid == pid).copied().unwrap_or(unknown);
        Self { processes, marks: RefCell::default(), me }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Process> {
        self.processes.iter()
    }

    /// This process.
    pub(super) fn me(&self) -> &Process {
        &self.me
    }

    pub(super) fn marked(&self, process: &Process) -> Marked {
        self.marks.borrow_mut().entry(process.pid).or_insert_with(|| process.marked()).clone()
    }

    /// Whether it has a mark that contains this one.
    pub(super) fn is_marked(&self, process: &Process, mark: &str) -> bool {
        !process.zombie && matches!(self.marked(process), Marked::With(mine) if mine.contains(mark))
    }

    /// Adds all children of these processes, their children, and whoever is in a session of theirs.
    ///
    /// A session begins with one process and is left to its descendants; only ours has all of them in it.
    pub(super) fn complete(&self, mut found: HashSet<i32>, among: impl Fn(&Process) -> bool) -> HashSet<i32> {
        loop {
            let is_in = |process: &&Process| found.contains(&process.pid);
            let sessions: HashSet<i32> =
                self.iter().filter(is_in).map(|p| p.session).filter(|session| *session != self.me.session).collect();
            let belongs = |p: &&Process| found.contains(&p.parent) || sessions.contains(&p.session);
            let new = self.iter().filter(|p| p.pid != self.me.pid && among(p) && !found.contains(&p.pid));
            let new: Vec<i32> = new.filter(belongs).map(|p| p.pid).collect();
            if new.is_empty() {
                return found;
            }
            found.extend(new);
        }
    }
}

/// A line of the process table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
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
    /// come state (3), ppid, pgrp, session, ..., `num_threads` (20), itrealvalue, starttime (22). Where threads live on, the process does,
    /// although its first thread, whose state this is, has ended.
    pub(super) fn parse(pid: i32, stat: &[u8]) -> Option<Self> {
        let after = memchr::memrchr(b')', stat)? + 1;
        let text = std::str::from_utf8(&stat[after..]).ok()?;
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        Some(Self {
            pid,
            zombie: matches!(*fields.first()?, "Z" | "X") && matches!(*fields.get(17)?, "0" | "1"),
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            start: fields.get(19)?.parse().ok()?,
        })
    }

    /// What it and those of its children that have ended have used, in the kernel's ticks; nothing if it waits for a disk.
    ///
    /// Fields of `/proc/PID/stat` [`proc_pid_stat(5)`]: state (3), utime (14), stime (15), cutime (16), cstime (17).
    pub(super) fn processor_time(&self) -> Option<u64> {
        let stat = std::fs::read(format!("/proc/{}/stat", self.pid)).ok()?;
        let after = memchr::memrchr(b')', &stat)? + 1;
        let text = std::str::from_utf8(&stat[after..]).ok()?;
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        if *fields.first()? == "D" {
            return None;
        }
        fields.get(11..15)?.iter().map(|ticks| ticks.parse::<u64>().ok()).sum()
    }

    /// The pipe that it is about to open: the kernel lets it wait until somebody opens the other end. Nothing where the kernel does not tell
    /// in which call a program is [`proc_pid_syscall(5)`].
    pub(super) fn opened_pipe(&self) -> Option<PathBuf> {
        let [dir, name] = self.opened()?;
        let memory = std::fs::File::open(format!("/proc/{}/mem", self.pid)).ok()?;
        let mut bytes = [0_u8; MOST_OF_A_PATH];
        let length = memory.read_at(&mut bytes, name).ok()?;
        let name = Path::new(OsStr::from_bytes(&bytes[..memchr::memchr(0, &bytes[..length])?]));
        // The directory is a number of 32 bits.
        let from = match u32::try_from(dir & 0xffff_ffff).ok()?.cast_signed() {
            here if here < 0 => format!("/proc/{}/cwd", self.pid),
            number => format!("/proc/{}/fd/{number}", self.pid),
        };
        let path = if name.is_absolute() { name.to_owned() } else { std::fs::read_link(from).ok()?.join(name) };
        std::fs::metadata(&path).ok()?.file_type().is_fifo().then_some(path)
    }

    /// The directory and the place of the name, if it is in a call that opens a file.
    fn opened(&self) -> Option<[u64; 2]> {
        let line = std::fs::read_to_string(format!("/proc/{}/syscall", self.pid)).ok()?;
        let mut fields = line.split_ascii_whitespace();
        let number: u32 = fields.next()?.parse().ok()?;
        let mut next = || u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok();
        match number {
            _ if Some(number) == OPENAT => Some([next()?, next()?]),
            _ if Some(number) == OPEN => Some([u64::MAX, next()?]),
            _ => None,
        }
    }

    #[cfg(test)]
    pub(super) fn tells_its_call(&self) -> bool {
        OPENAT.is_some()
            && std::fs::read_to_string(format!("/proc/{}/syscall", self.pid)).is_ok_and(|line| !line.is_empty())
    }

    pub(super) fn is_below(&self, dir: &Path) -> bool {
        std::fs::read_link(format!("/proc/{}/cwd", self.pid)).is_ok_and(|cwd| cwd.starts_with(dir))
    }

    /// What its environment held as mark when it was started; nothing for another user's.
    pub(super) fn mark(&self) -> Option<String> {
        match self.marked() {
            Marked::With(mark) => Some(mark),
            Marked::No | Marked::NotYetKnown => None,
        }
    }

    /// The same as [`Process::mark`]; one that is just becoming another program is waited for, until `deadline`.
    pub(super) fn mark_by(&self, deadline: Instant) -> Option<String> {
        const PAUSE: Duration = Duration::from_millis(2);
        while self.marked() == Marked::NotYetKnown && Instant::now() < deadline {
            std::thread::sleep(PAUSE);
        }
        self.mark()
    }

    fn marked(&self) -> Marked {
        match std::fs::read(format!("/proc/{}/environ", self.pid)) {
            Ok(environ) if environ.is_empty() && !self.zombie && !has_no_environment(self.pid) => Marked::NotYetKnown,
            Ok(environ) => mark_in(&environ).map_or(Marked::No, Marked::With),
            Err(_) => Marked::No,
        }
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

/// The value of the mark's variable.
fn mark_in(environ: &[u8]) -> Option<String> {
    let mut variables = environ.split(|byte| *byte == 0);
    let value = variables.find_map(|variable| variable.strip_prefix(MARK.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// Whether its environment is empty, and not only not there yet: fields `env_start` (50) and `env_end` (51) of
/// `/proc/PID/stat` are 0 until a program that is being started has its own. A thread of the kernel, which never has one, says so in
/// `flags` (9).
fn has_no_environment(pid: i32) -> bool {
    const PF_KTHREAD: u32 = 0x0020_0000;
    let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else { return true };
    let after = memchr::memrchr(b')', &stat).map_or(0, |at| at + 1);
    let fields = String::from_utf8_lossy(&stat[after..]);
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let of_the_kernel =
        fields.get(6).and_then(|flags| flags.parse().ok()).is_some_and(|flags: u32| flags & PF_KTHREAD != 0);
    of_the_kernel || fields.get(47).zip(fields.get(48)).is_some_and(|(start, end)| start == end && *end != "0")
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
    fn a_process_whose_first_thread_has_ended_lives_with_the_others() {
        let stat = b"42 (a) Z 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 2 0 12345 0 0";
        assert!(Process::parse(42, stat).is_some_and(|process| !process.zombie));
    }

    #[test]
    fn this_process_is_in_the_table() {
        let me = rustix::process::getpid().as_raw_pid();
        assert!(Process::all().iter().any(|p| p.pid == me && !p.zombie));
    }
}
