//! What runs found out, put over what the task file says.
//!
//! Marks and lines meet in time: marks by `at` (of the same moment, by their order in the overlay), the line by its
//! `updatedAt`; a mark of the line's own moment is the newer one, because a run reads a line before it marks it. What a
//! person closed or blocked while a run was at it stays so: the run did not know of that when it made its later marks.

use super::lines::{bare, for_each_line};
use super::past::foreign_lines;
use super::seal::{Belief, LineKind};
use crate::domain::{AttemptCount, RunId, Status, SubtaskId, Task, TaskId, TaskList, TaskMark, Timestamp};
use crate::files::Place;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

/// Every task's marks, in order of time.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    marks: HashMap<TaskId, Vec<TaskMark>>,
}

impl Overlay {
    /// Reads the marks; a file that does not exist holds none. Lines that cannot be read are machine state that a crash
    /// or a newer version left: they are logged and left alone, and so are those of somebody else.
    pub(super) fn read(place: &Place, belief: &Belief) -> io::Result<Self> {
        let mut overlay = Self::default();
        let file = match place.open_file() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(overlay),
            other => other?,
        };
        let mut foreign = 0;
        for_each_line(file, |line| {
            let content = line.content.map(bare);
            if content.is_some_and(<[u8]>::is_empty) {
                return Ok(());
            }
            if content.is_some_and(|line| !belief.holds(LineKind::Mark, line)) {
                foreign += 1;
                return Ok(());
            }
            match content.map(serde_json::from_slice::<TaskMark>) {
                Some(Ok(mark)) if mark.v <= VERSION => overlay.add(mark),
                _ => tracing::warn!(path = %place.path().display(), line = line.number, "unreadable mark"),
            }
            Ok(())
        })?;
        if let Some(problem) = foreign_lines(place, foreign) {
            tracing::warn!("{problem}");
        }
        overlay.sort();
        Ok(overlay)
    }

    fn add(&mut self, mark: TaskMark) {
        self.marks.entry(mark.id.clone()).or_default().push(mark);
    }

    fn sort(&mut self) {
        for marks in self.marks.values_mut() {
            marks.sort_by_key(|mark| mark.at);
        }
    }

    fn of(&self, id: &TaskId) -> &[TaskMark] {
        self.marks.get(id).map_or(&[], Vec::as_slice)
    }

    /// The moment of a task's newest mark.
    pub(super) fn newest(&self, id: &TaskId) -> Option<Timestamp> {
        self.of(id).last().map(|mark| mark.at)
    }

    /// Where a task stands: the newer of its line and its newest mark.
    ///
    /// `in_progress` of the overlay is `open`: whoever loads tasks to work on them holds the run lock, so the run that
    /// made the mark is dead. `in_progress` of the line stays: no run writes the file, so a person is at it.
    pub(super) fn status(&self, task: &Task) -> Status {
        match self.of(&task.id).last() {
            Some(mark) if mark.at >= task.updated_at && !spoken_since(task, mark) => match mark.status {
                Status::InProgress => Status::Open,
                status => status,
            },
            _ => task.status,
        }
    }

    /// Puts the marks over the tasks.
    pub(super) fn over(&self, tasks: impl Iterator<Item = Task>) -> TaskList {
        let mut list = TaskList::default();
        for mut task in tasks {
            let history = History::of(&task, self.of(&task.id));
            task.status = self.status(&task);
            for (subtask, numbers) in history.attempts {
                let count = AttemptCount {
                    last: numbers.all.last().copied().unwrap_or_default(),
                    since_opened: u32::try_from(numbers.since_opened.len()).unwrap_or(u32::MAX),
                };
                list.attempts.insert((task.id.clone(), subtask), count);
            }
            let closed = task.status == Status::Closed;
            if let Some(run) = history.closed_by {
                list.closed_by.insert(task.id.clone(), run.clone());
            }
            if let Some(cause) = history.cause.filter(|_| !closed) {
                list.causes.insert(task.id.clone(), cause.to_owned());
            }
            list.tasks.push(task);
        }
        list
    }
}

/// Whether a person took the task out of a run's hands after the run had read it. Who edits it and leaves it open does not.
fn spoken_since(task: &Task, mark: &TaskMark) -> bool {
    task.status != Status::Open && mark.seen.is_some_and(|seen| seen < task.updated_at)
}

/// The version of marks that this program reads and writes.
const VERSION: u32 = 1;

/// What a task's marks tell, oldest first.
#[derive(Default)]
struct History<'m> {
    cause: Option<&'m str>,
    closed_by: Option<&'m RunId>,
    attempts: BTreeMap<SubtaskId, Numbers>,
}

/// Numbers of the attempts judged; a resumed run may mark one again.
#[derive(Default)]
struct Numbers {
    all: BTreeSet<u32>,
    since_opened: BTreeSet<u32>,
}

impl<'m> History<'m> {
    /// A task is opened by a person: with a mark that names no run, or in its line.
    fn of(task: &Task, marks: &'m [TaskMark]) -> Self {
        let mut history = Self::default();
        let mut opened_by_line = (task.status == Status::Open).then_some(task.updated_at);
        let of_older = marks.partition_point(|mark| mark.at < task.created_at);
        for (number, mark) in marks.iter().enumerate() {
            if number == of_older {
                history.begin();
            }
            if opened_by_line.take_if(|at| *at <= mark.at).is_some() {
                history.open();
            }
            if mark.status == Status::Open && mark.run.is_none() {
                history.open();
            }
            history.add(mark);
        }
        if of_older == marks.len() {
            history.begin();
        }
        if opened_by_line.is_some() {
            history.open();
        }
        history
    }

    fn open(&mut self) {
        self.cause = None;
        for numbers in self.attempts.values_mut() {
            numbers.since_opened.clear();
        }
    }

    fn add(&mut self, mark: &'m TaskMark) {
        if let Some(number) = mark.attempt {
            let subtask = mark.subtask.clone();
            let subtask = subtask.unwrap_or_else(|| SubtaskId::from(&mark.id));
            let numbers = self.attempts.entry(subtask).or_default();
            numbers.all.insert(number);
            if mark.uses_an_attempt() {
                numbers.since_opened.insert(number);
            }
        }
        if let Some(cause) = &mark.cause {
            self.cause = Some(cause);
        }
        if mark.status == Status::Closed {
            self.closed_by = mark.run.as_ref();
        }
    }

    /// What was noted of an older task with the same id is nothing of this one; only its numbers are taken.
    fn begin(&mut self) {
        self.open();
        self.closed_by = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mark as `second status [run|-] [attempt|-] [cause|-] [seen]`.
    fn mark(words: &str) -> TaskMark {
        let mut words = words.split(' ');
        let mut next = || words.next();
        let at = next().unwrap().parse().unwrap();
        let status = format!("\"{}\"", next().unwrap());
        TaskMark {
            v: 1,
            id: TaskId::new("a").unwrap(),
            at: Timestamp::from_second(at).unwrap(),
            status: serde_json::from_str(&status).unwrap(),
            run: next().filter(|run| *run != "-").map(|run| RunId::new(run).unwrap()),
            attempt: next().filter(|n| *n != "-").map(|n| n.parse().unwrap()),
            verdict: None,
            subtask: None,
            cause: next().filter(|cause| *cause != "-").map(str::to_owned),
            seen: next().map(|second| Timestamp::from_second(second.parse().unwrap()).unwrap()),
        }
    }

    /// A line `status@second [second of its begin]` and marks give `status last/since cause closed_by`.
    fn check(line: &str, marks: &[&str], expected: &str) {
        let (status, second) = line.split_once('@').unwrap();
        let (second, created) = second.split_once(' ').unwrap_or((second, "0"));
        let time = |second: &str| Timestamp::from_second(second.parse().unwrap()).unwrap();
        let line = format!(
            r#"{{"id":"a","title":"t","status":"{status}","createdAt":"{}","updatedAt":"{}"}}"#,
            time(created),
            time(second)
        );
        let mut overlay = Overlay::default();
        marks.iter().for_each(|words| overlay.add(mark(words)));
        overlay.sort();
        let list = overlay.over([serde_json::from_str(&line).unwrap()].into_iter());
        let count = list.attempts.values().next().copied().unwrap_or_default();
        let found = format!(
            "{} {}/{} {} {}",
            list.tasks[0].status.as_str(),
            count.last,
            count.since_opened,
            list.causes.values().next().map_or("-", String::as_str),
            list.closed_by.values().next().map_or("-", RunId::as_str),
        );
        assert_eq!(found, expected, "{line} and {marks:?}");
    }

    #[test]
    fn the_newer_of_line_and_mark_decides() {
        check("open@5", &[], "open 0/0 - -");
        check("open@5", &["9 closed r1"], "closed 0/0 - r1");
        check("open@5", &["5 closed r1"], "closed 0/0 - r1");
        check("open@10", &["9 closed r1"], "open 0/0 - r1");
        check("closed@10", &["9 blocked r1 - why"], "closed 0/0 - -");
        check("closed@10", &["9 closed r1"], "closed 0/0 - r1");
        check("open@5", &["9 closed r2", "8 open r1"], "closed 0/0 - r2");
        check("open@5", &["9 closed r1", "9 open -"], "open 0/0 - r1");
        check("open@5", &["7 blocked r1 - why"], "blocked 0/0 why -");
        check("blocked@9", &["7 blocked r1 - why"], "blocked 0/0 why -");
    }

    #[test]
    fn what_is_noted_of_an_older_task_with_the_id_is_none_of_this_ones() {
        let old = ["3 in_progress r1 1", "4 closed r1"];
        check("open@5 5", &old, "open 1/0 - -");
        check("open@5 4", &old, "open 1/0 - r1");
        check("open@5 5", &[old[0], old[1], "7 open r2 2 red"], "open 2/1 red -");
        check("open@5 5", &["3 blocked r1 1 why"], "open 1/0 - -");
        check("open@5 5", &[old[0], old[1], "9 closed r2 2"], "closed 2/1 - r2");
    }

    #[test]
    fn what_a_person_said_while_a_run_was_at_it_stands() {
        check("closed@7", &["8 in_progress r1 1 - 5", "9 blocked r1 - why 5"], "closed 1/1 - -");
        check("blocked@7", &["9 closed r1 - - 5"], "blocked 0/0 - r1");
        // The words were changed, and it was left open.
        check("open@7", &["9 closed r1 - - 5"], "closed 0/0 - r1");
        // Asked for again, when it had been closed.
        check("closed@7", &["9 blocked r1 - why 7"], "blocked 0/0 why -");
    }

    #[test]
    fn only_a_person_can_be_in_progress() {
        check("in_progress@5", &[], "in_progress 0/0 - -");
        check("open@5", &["6 in_progress r1"], "open 0/0 - -");
        check("in_progress@5", &["6 in_progress r1"], "open 0/0 - -");
        check("in_progress@5", &["4 blocked r1 - why"], "in_progress 0/0 why -");
    }

    #[test]
    fn attempts_count_from_the_last_opening_by_a_person() {
        let two = ["6 in_progress r1 1", "7 open r1 2 red"];
        check("open@5", &two, "open 2/2 red -");
        check("open@7", &two, "open 2/1 red -");
        check("open@8", &two, "open 2/0 - -");
        check("closed@8", &two, "closed 2/2 - -");
        let reopened = [two[0], two[1], "8 open -", "9 open r2 3", "9 open r2 3"];
        check("open@5", &reopened, "open 3/1 - -");
    }
}
