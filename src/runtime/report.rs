//! What the report of a run is about, read from where it is; nothing is created.

use crate::domain::{Life, Reflection, ReflectionId, RunId, RunKind, TaskId, TaskList, Timestamp, policy};
use crate::host::{LockHolder, SystemClock, left_running, lock_holder};
use crate::report::night::Night;
use crate::services::{Clock, Tasks};
use crate::storage::{FileTasks, Seals, kept_patches, kind_of_run, last_sign, read_lessons, read_run, recorded_runs};
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

/// The runs of a project that have a journal. The newest is the last: the one that is worked on now, before it those whose
/// journals were written last. Their ids say when they began, and a night may go on after a run that began later.
///
/// # Errors
/// If the directory of runs is there and cannot be read.
pub fn runs(project: &policy::Project) -> io::Result<Vec<RunId>> {
    let state = project.state_dir();
    let at_work = lock_holder(&state).ok().flatten().filter(|holder| holder.waits_until.is_none());
    let at_work = at_work.map(|holder| holder.run);
    let mut runs = recorded_runs(&state)?;
    runs.sort_by_cached_key(|run| (at_work.as_deref() == Some(run.as_str()), last_sign(&state, run), run.clone()));
    Ok(runs)
}

/// A night that waits for its window, and has not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Its process.
    pub pid: u32,
    /// When the window opens.
    pub until: Timestamp,
}

/// The night that waits in a project, if one does; a lock that cannot be read says nothing.
#[must_use]
pub fn waiting(project: &policy::Project) -> Option<Waiting> {
    let LockHolder { pid, waits_until, .. } = lock_holder(&project.state_dir()).ok()??;
    waits_until.map(|until| Waiting { pid, until })
}

/// What a run of a project did, with the words of its lessons.
///
/// # Errors
/// If its journal cannot be read at all. A memory or a lock that cannot be read is said in the second value and costs
/// the words of the lessons, or the knowledge whether a process works on the run.
pub fn night(project: &policy::Project, run: &RunId) -> io::Result<(Night, Vec<String>)> {
    let mut warnings = Vec::new();
    // First the journal: a run that ends in between is told as one that goes on, not as a dead one.
    let before = life(project, run, &mut warnings);
    let log = read_run(&project.state_dir(), run, &Seals::of(project))?;
    if matches!(before, Life::Gone | Life::Superseded) {
        warnings.extend(still_running(left_running(project)));
    }
    let night = Night::of(&log, before).with_tasks(TasksNow::default().of(project, &mut warnings));
    let night = night.seen_at(SystemClock::new().now()).with_kept(kept(project, run));
    let lessons = Lessons::default().of(project, &night, &mut warnings);
    Ok((night.with_lessons(lessons), warnings))
}

fn still_running(left: usize) -> Option<String> {
    let what = match left {
        0 => return None,
        1 => "1 process that a killed run started still runs".to_owned(),
        left => format!("{left} processes that a killed run started still run"),
    };
    Some(format!("{what}; the next run ends what is left behind"))
}

/// The patches of unconfirmed changes, named from the project's directory; none where nothing can be said.
pub(super) fn kept(project: &policy::Project, run: &RunId) -> Vec<(TaskId, String)> {
    let run_dir = project.run_dir(run);
    let shown = run_dir.strip_prefix(&project.root).unwrap_or(&run_dir);
    let patches = kept_patches(&run_dir).unwrap_or_default().into_iter();
    patches.map(|(task, name)| (task, shown.join(name).display().to_string())).collect()
}

/// The tasks as they stand now; they are read again only when their file was changed.
#[derive(Default)]
pub(super) struct TasksNow {
    list: TaskList,
    edits: Option<u64>,
}

impl TasksNow {
    pub(super) fn of(&mut self, project: &policy::Project, warnings: &mut Vec<String>) -> &TaskList {
        let files = FileTasks::of(project, Seals::of(project), Arc::new(SystemClock::new()));
        let edits = files.edits();
        if self.edits.replace(edits) != Some(edits) {
            self.list = files.read().unwrap_or_else(|error| {
                warnings.push(format!("{error}; tasks that were never started are told without their titles"));
                TaskList::default()
            });
        }
        &self.list
    }
}

pub(super) fn life(project: &policy::Project, run: &RunId, warnings: &mut Vec<String>) -> Life {
    let works = |holder: &LockHolder| holder.run == run.as_str() && holder.waits_until.is_none();
    match lock_holder(&project.state_dir()) {
        Ok(Some(holder)) if works(&holder) && holder.is_stopped() => Life::Stopped { pid: holder.pid },
        Ok(Some(holder)) if works(&holder) => Life::Alive,
        // One whose journal was not begun here cannot be gone on with either: the project was moved, or copied.
        Ok(_) if is_superseded(project, run) || !Seals::of(project).has_begun_run(run) => Life::Superseded,
        Ok(_) => Life::Gone,
        Err(error) => {
            warnings.push(format!("whether a process works on the run cannot be told: {error}"));
            Life::Gone
        }
    }
}

/// Whether there is a newer one that is gone on with in its place: of nights the newest, whatever `reflexion run` did since.
fn is_superseded(project: &policy::Project, run: &RunId) -> bool {
    let state = project.state_dir();
    let is_night = kind_of_run(&state, run) == Some(RunKind::Overnight);
    let runs = recorded_runs(&state).unwrap_or_default();
    let mut newer = runs.iter().rev().take_while(|other| *other != run);
    newer.any(|other| !is_night || kind_of_run(&state, other) == Some(RunKind::Overnight))
}

/// The words of lessons; the memory is read again only for those that it was not asked for before.
#[derive(Default)]
pub(super) struct Lessons {
    known: HashMap<ReflectionId, Reflection>,
    asked: HashSet<ReflectionId>,
}

impl Lessons {
    pub(super) fn of(
        &mut self,
        project: &policy::Project,
        night: &Night,
        warnings: &mut Vec<String>,
    ) -> HashMap<ReflectionId, Reflection> {
        let new: Vec<&ReflectionId> = night.lesson_ids().filter(|id| !self.asked.contains(*id)).collect();
        if !new.is_empty() {
            let file = project.memory_file();
            match read_lessons(&file, &new) {
                Ok(found) => self.known.extend(found),
                Err(error) => {
                    warnings.push(format!("{}: {error}; the lessons are told without their words", file.display()));
                }
            }
            self.asked.extend(new.into_iter().cloned());
        }
        self.known.clone()
    }
}

/// The run that is meant: the newest if none is named; the beginning of its id is enough where it is unique.
///
/// # Errors
/// In words: which runs there are.
pub fn choose_run<'r>(runs: &'r [RunId], which: Option<&str>) -> Result<&'r RunId, String> {
    let Some(newest) = runs.last() else {
        return Err("there is no run yet; `reflexion run` makes one".to_owned());
    };
    let Some(which) = which else { return Ok(newest) };
    if let Some(exact) = runs.iter().find(|run| run.as_str() == which) {
        return Ok(exact);
    }
    let begin: Vec<&RunId> = runs.iter().filter(|run| run.as_str().starts_with(which)).collect();
    match begin.as_slice() {
        [one] => Ok(one),
        [] => Err(format!("there is no run `{which}`; there are {}", listed(runs.iter()))),
        several => Err(format!("`{which}` may be {}; say more of it", listed(several.iter().copied()))),
    }
}

/// The newest, newest first.
fn listed<'r>(runs: impl DoubleEndedIterator<Item = &'r RunId> + ExactSizeIterator) -> String {
    const NAMED: usize = 5;
    let more = runs.len().saturating_sub(NAMED);
    let named: Vec<&str> = runs.rev().take(NAMED).map(RunId::as_str).collect();
    let more = if more > 0 { format!(" and {more} older ones") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_or_the_one_whose_beginning_is_unique() {
        let runs: Vec<RunId> =
            ["20260101-0000-aaaa", "20260102-0000-aaaa", "20260102-0000-bbbb"].map(|id| RunId::new(id).unwrap()).into();
        let check = |which: Option<&str>, expected: Result<&str, &str>| match (choose_run(&runs, which), expected) {
            (Ok(run), Ok(id)) => assert_eq!(run.as_str(), id),
            (Err(message), Err(part)) => assert!(message.contains(part), "{which:?}: {message}"),
            (got, _) => panic!("{which:?}: {got:?}"),
        };
        check(None, Ok("20260102-0000-bbbb"));
        check(Some("20260101"), Ok("20260101-0000-aaaa"));
        check(Some("20260102-0000-aaaa"), Ok("20260102-0000-aaaa"));
        check(Some("20260102"), Err("may be 20260102-0000-bbbb, 20260102-0000-aaaa; say more"));
        check(Some("2027"), Err("there is no run `2027`; there are 20260102-0000-bbbb"));
        assert!(choose_run(&[], None).unwrap_err().contains("no run yet"));
    }
}
