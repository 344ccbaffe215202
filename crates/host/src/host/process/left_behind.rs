//! What a killed run left behind.

use super::family::{SWEEP_LIMIT, UNCLEAR_LIMIT};
use super::mark::{is_of_dead_run, project_key};
use super::table::Process;
use crate::domain::policy;
use rustix::process::{Pid, Signal};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Ends the programs of a run that was killed, wherever they work, and says how many: those with a mark of the project
/// with this state directory whose runtime is dead, those with any mark below one of `places`, and what either started.
///
/// The caller holds the run lock. A person's shell that stands in a workspace has no mark, and stays; so do the caller
/// itself and those it descends from, whatever they are. What left its mark *and* its parents behind is not found.
/// Blocks like [`Family::end`](super::family::Family::end).
pub(in crate::host) fn end_left_behind(places: &[PathBuf], state_dir: &Path) -> usize {
    // The kernel names working directories without links.
    let places = places.iter().filter_map(|place| place.canonicalize().ok()).collect();
    let search = Search { places, project: project_key(state_dir) };
    let mut ended = HashSet::new();
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        let found = search.find();
        // One whose parent died first is not found again, and may still be about to die.
        let dying =
            || ended.iter().any(|(pid, start)| Process::read(*pid).is_some_and(|p| !p.zombie && p.start == *start));
        if (found.is_empty() && !dying()) || started.elapsed() > SWEEP_LIMIT {
            return ended.len();
        }
        for pid in found.iter().filter_map(|(pid, _)| Pid::from_raw(*pid)) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        ended.extend(found);
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// The programs that a killed run of this project started and that still run, wherever they work, by their ids. Nothing is ended.
#[must_use]
pub fn left_running(project: &policy::Project) -> Vec<u32> {
    // In the workspaces a run that lives may be at work.
    let found = Search { places: Vec::new(), project: project_key(&project.state_dir()) }.find();
    let mut pids: Vec<u32> = found.into_iter().filter_map(|(pid, _)| u32::try_from(pid).ok()).collect();
    pids.sort_unstable();
    pids
}

struct Search {
    places: Vec<PathBuf>,
    project: Option<String>,
}

impl Search {
    /// With their start times, so that another one with the same id is not taken for them.
    fn find(&self) -> HashSet<(i32, u64)> {
        let table: HashMap<i32, Process> = Process::all().into_iter().map(|p| (p.pid, p)).collect();
        let me = rustix::process::getpid().as_raw_pid();
        let spared: HashSet<i32> = lineage(&table, me).collect();
        let deadline = Instant::now() + UNCLEAR_LIMIT;
        let mut found: HashSet<i32> = table
            .values()
            .filter(|p| !p.zombie && !spared.contains(&p.pid) && self.is_left(p, deadline))
            .map(|p| p.pid)
            .collect();
        let started = |p: &&Process| {
            let mut line = lineage(&table, p.pid).take_while(|pid| *pid != me);
            !p.zombie && !spared.contains(&p.pid) && line.any(|pid| found.contains(&pid))
        };
        let descendants: Vec<i32> = table.values().filter(started).map(|p| p.pid).collect();
        found.extend(descendants);
        found.into_iter().filter_map(|pid| Some((pid, table.get(&pid)?.start))).collect()
    }

    fn is_left(&self, process: &Process, deadline: Instant) -> bool {
        let Some(mark) = process.mark_by(deadline) else {
            return false;
        };
        self.project.as_ref().is_some_and(|project| is_of_dead_run(&mark, project))
            || self.places.iter().any(|dir| process.is_below(dir))
    }
}

/// A process and those it descends from. Ids are read one after another, so a circle is thinkable: it ends there.
fn lineage(table: &HashMap<i32, Process>, pid: i32) -> impl Iterator<Item = i32> {
    let parent = |pid: &i32| table.get(pid).map(|p| p.parent).filter(|parent| *parent != 0);
    std::iter::successors(Some(pid), parent).take(table.len())
}

#[cfg(test)]
mod tests {
    use super::super::mark::MARK;
    use super::*;
    use std::process::{Child, Command};

    /// A process that sleeps until it is ended.
    struct Sleeper(Child);

    impl Sleeper {
        fn start(mark: Option<&str>, dir: &Path) -> Self {
            let mut command = Command::new("sleep");
            command.arg("1000").current_dir(dir).env_remove(MARK).envs(mark.map(|mark| (MARK, mark)));
            Self(command.spawn().unwrap())
        }

        fn lives(&mut self) -> bool {
            self.0.try_wait().unwrap().is_none()
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn what_a_dead_run_of_this_project_started_is_ended_wherever_it_works_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let [state, other, worktrees] = ["state", "other", "state/worktrees"].map(|name| {
            let path = dir.path().join(name);
            std::fs::create_dir(&path).unwrap();
            path
        });
        let [key, others] = [&state, &other].map(|state| project_key(state).unwrap());
        // A runtime that lived once, and one that lives.
        let dead = {
            let runtime = Sleeper::start(None, dir.path());
            let pid = runtime.0.id();
            format!("{pid}.{}", Process::read(pid.cast_signed()).unwrap().start)
        };
        let me = rustix::process::getpid().as_raw_pid();
        let alive = format!("{me}.{}", Process::read(me).unwrap().start);
        let start = |mark: String, dir: &Path| Sleeper::start(Some(&mark), dir);

        let mut ours = [
            start(format!("a@{key}.{dead}"), Path::new("/")),
            start(format!("a@{key}.{dead}:b@{others}.{alive}"), &other),
            start("a".to_owned(), &worktrees),
        ];
        let mut not_ours = [
            start(format!("a@{others}.{dead}"), Path::new("/")),
            start(format!("a@{key}.{alive}"), Path::new("/")),
            start("a".to_owned(), &state),
            Sleeper::start(None, &worktrees),
        ];
        assert_eq!(end_left_behind(&[worktrees], &state), ours.len());
        assert_eq!(ours.each_mut().map(Sleeper::lives), [false; 3]);
        assert_eq!(not_ours.each_mut().map(Sleeper::lives), [true; 4]);
        assert_eq!(end_left_behind(&[dir.path().join("nowhere")], &dir.path().join("nothing")), 0);
    }

    #[test]
    fn what_it_started_without_a_mark_is_ended_too() {
        let dir = tempfile::tempdir().unwrap();
        let key = project_key(dir.path()).unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", "env -i sleep 1000 & echo $!; wait"]).env(MARK, format!("a@{key}.1.999999999999"));
        let mut shell = Sleeper(shell.stdout(std::process::Stdio::piped()).spawn().unwrap());
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(shell.0.stdout.take().unwrap()), &mut line).unwrap();
        let child: i32 = line.trim().parse().unwrap();
        // It has the shell's environment until it has become `env`.
        let bare = || Process::read(child).is_some_and(|p| p.mark().is_none());
        let started = Instant::now();
        while !bare() {
            assert!(started.elapsed() < Duration::from_secs(20));
            std::thread::yield_now();
        }
        assert_eq!(end_left_behind(&[dir.path().join("worktrees")], dir.path()), 2);
        assert!(!shell.lives());
        assert!(Process::read(child).is_none_or(|p| p.zombie), "its child lives on");
    }

    #[test]
    fn the_caller_and_those_it_descends_from_stay() {
        let table = [(1, 0), (5, 1), (7, 5), (9, 7), (20, 21), (21, 20)].map(|(pid, parent)| {
            let stat = format!("{pid} (x) S {parent} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0");
            (pid, Process::parse(pid, stat.as_bytes()).unwrap())
        });
        let table = HashMap::from(table);
        assert_eq!(lineage(&table, 7).collect::<Vec<_>>(), [7, 5, 1]);
        assert_eq!(lineage(&table, 20).count(), table.len());
    }
}
