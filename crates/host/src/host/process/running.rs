//! What runs now: the programs that this process started, and what can be said to be theirs.

use super::descriptors::keep_descriptors;
use super::mark;
use super::memory::Held;
use super::table::{Marked, Process, Table};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use tokio::process::Child;

/// Children that this process had before it started anything, by id and start time: whoever started it by `exec` may have
/// had some, as `ssh-agent PROGRAM` does.
static INHERITED: OnceLock<HashSet<(i32, u64)>> = OnceLock::new();

/// Every child of this process is one that it started with [`start_child`], or an orphan.
static ALONE: AtomicBool = AtomicBool::new(false);

/// Says that this process is the program `reflexion`, and no other that runs its tasks beside whatever it starts itself: then no child
/// can pass for somebody else's.
pub fn is_the_program() {
    ALONE.store(true, Ordering::Relaxed);
}

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

/// The children in process groups of their own that this process started itself, by id and start time.
///
/// Locked while one is started and while the process table is read: so none is in a table and not in here.
fn started() -> MutexGuard<'static, HashMap<i32, u64>> {
    static STARTED: OnceLock<Mutex<HashMap<i32, u64>>> = OnceLock::new();
    STARTED.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child in a process group of its own, without what this process has open; one that is started otherwise is taken for an orphan.
pub(in crate::host) fn start_child(start: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
    let mut started = started();
    keep_descriptors();
    let child = start()?;
    if let Some(process) = child.id().and_then(|id| Process::read(id.try_into().ok()?)) {
        started.insert(process.pid, process.start);
    }
    Ok(child)
}

/// What is known of a program and its descendants.
#[derive(Debug)]
pub(super) struct Kin {
    /// In the environment of whatever it started and nobody has cleared.
    mark: String,
    /// The program itself, by id, which is also its group's, and start time, in the kernel's ticks: nothing older is its
    /// descendant. None: it is just being started.
    leader: Option<(i32, u64)>,
    /// Descendants seen, by id and start time; they stay its own when their parents die and their environment is empty.
    known: HashMap<i32, u64>,
}

impl Kin {
    /// Looks who is there of it, beside the program itself, so that a descendant is remembered when its parent dies.
    fn look(&mut self, table: &Table) -> HashSet<i32> {
        let (leader, start) = self.leader.unwrap_or_default();
        let may_be = |p: &Process| p.start >= start && p.pid != leader && p.pid != table.me().pid;
        let is_its = |p: &Process| {
            (leader != 0 && (p.group == leader || p.parent == leader))
                || self.known.get(&p.pid) == Some(&p.start)
                || table.is_marked(p, &self.mark)
        };
        let found = table.iter().filter(|p| may_be(p) && is_its(p)).map(|p| p.pid).collect();
        let found = table.complete(found, may_be);
        self.known = table.iter().filter(|p| found.contains(&p.pid)).map(|p| (p.pid, p.start)).collect();
        found
    }
}

type Families = BTreeMap<u64, Arc<Mutex<Kin>>>;

fn families() -> MutexGuard<'static, Families> {
    static FAMILIES: Mutex<Families> = Mutex::new(BTreeMap::new());
    FAMILIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program among those that run, from before it is started until nothing of it is left.
#[derive(Debug)]
pub(super) struct Entry {
    id: u64,
    kin: Arc<Mutex<Kin>>,
    /// Whether orphans that are nobody's are ended with it.
    ends_strays: bool,
}

impl Entry {
    pub(super) fn new(mark: String, ends_strays: bool) -> Self {
        let kin = Arc::new(Mutex::new(Kin { mark, leader: None, known: HashMap::new() }));
        let mut families = families();
        let id = families.last_key_value().map_or(0, |(id, _)| id + 1);
        families.insert(id, Arc::clone(&kin));
        Self { id, kin, ends_strays }
    }

    /// Says which process it is.
    pub(super) fn is(&self, leader: i32) {
        let start = Process::read(leader).map_or(0, |process| process.start);
        lock(&self.kin).leader = Some((leader, start));
    }

    /// How many of its own were seen last.
    pub(super) fn known(&self) -> usize {
        lock(&self.kin).known.len()
    }

    /// Looks who is there, and what all of them hold.
    pub(super) fn look(&self) -> Held {
        let mut kin = lock(&self.kin);
        let found = kin.look(&Table::read());
        Held::by(found.into_iter().chain(kin.leader.map(|(leader, _)| leader)))
    }

    /// All that is to be ended with it: its own, orphans that are nobody's, and dead ones that nobody waits for. What is still unclear
    /// after a while hides its environment, and is ended too.
    pub(super) fn to_end(&self, waited: bool) -> ToEnd {
        let started = {
            let mut started = started();
            let table = Table::read();
            let there: HashSet<(i32, u64)> = table.iter().map(|p| (p.pid, p.start)).collect();
            started.retain(|pid, start| there.contains(&(*pid, *start)));
            Adopted { started: started.clone(), table }
        };
        let mine = lock(&self.kin).look(&started.table);
        let (strays, unclear) =
            if self.ends_strays { self.strays(&started, &mine, waited) } else { Default::default() };
        let table = started.table.iter();
        let found = table.filter(|p| mine.contains(&p.pid) || strays.contains(&p.pid) || (p.zombie && started.has(p)));
        ToEnd { processes: found.copied().collect(), unclear }
    }

    /// Orphans that live and that no other program that runs can claim, with all that is below them; and how many it is too
    /// early to tell of.
    fn strays(&self, adopted: &Adopted, mine: &HashSet<i32>, waited: bool) -> (HashSet<i32>, usize) {
        let table = &adopted.table;
        // The first process of a container is given everybody's orphans.
        if table.me().pid == 1 {
            return Default::default();
        }
        let others: Vec<_> =
            families().iter().filter(|(id, _)| **id != self.id).map(|(_, kin)| Arc::clone(kin)).collect();
        let claimed: HashSet<i32> = others.iter().flat_map(|kin| lock(kin).look(table)).collect();
        let spared = adopted.inherited();
        let is_free = |p: &Process| !p.zombie && !claimed.contains(&p.pid) && !spared.contains(&p.pid);
        let heads = table.iter().filter(|p| is_free(p) && adopted.has(p) && !mine.contains(&p.pid));
        let (unclear, heads): (Vec<&Process>, Vec<&Process>) =
            heads.partition(|p| !waited && table.marked(p) == Marked::NotYetKnown);
        (table.complete(heads.iter().map(|p| p.pid).collect(), is_free), unclear.len())
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        families().remove(&self.id);
    }
}

/// See [`Entry::to_end`].
pub(super) struct ToEnd {
    pub(super) processes: Vec<Process>,
    /// So many may be somebody's or nobody's: it is seen when they have become the programs that they are becoming.
    pub(super) unclear: usize,
}

/// The process table, and what this process started itself.
struct Adopted {
    table: Table,
    started: HashMap<i32, u64>,
}

impl Adopted {
    /// Whether it is a child of ours that we did not start: an orphan of a program that we ran. One that is in our own process
    /// group, or that another runtime has started, may be there without our knowing, unless we are
    /// [the program](is_the_program).
    fn has(&self, process: &Process) -> bool {
        let me = self.table.me();
        process.parent == me.pid
            && self.started.get(&process.pid) != Some(&process.start)
            && (ALONE.load(Ordering::Relaxed) || !(process.group == me.group || self.is_of_another_runtime(process)))
    }

    fn is_of_another_runtime(&self, process: &Process) -> bool {
        matches!(self.table.marked(process), Marked::With(mark) if mark::is_of_another_runtime(&mark, self.table.me()))
    }

    /// Those that were there before us, and what is in a session or a group of theirs.
    fn inherited(&self) -> HashSet<i32> {
        let was_there = |p: &&Process| INHERITED.get().is_some_and(|known| known.contains(&(p.pid, p.start)));
        let first: Vec<&Process> = self.table.iter().filter(was_there).collect();
        let with = |p: &&Process| first.iter().any(|f| f.group == p.group);
        let all = self.table.iter().filter(with).map(|p| p.pid).collect();
        self.table.complete(all, |_| true)
    }
}

fn lock(kin: &Mutex<Kin>) -> MutexGuard<'_, Kin> {
    kin.lock().unwrap_or_else(PoisonError::into_inner)
}
