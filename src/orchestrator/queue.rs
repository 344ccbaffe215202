//! Which task is next: ready ones by priority, then age.

use crate::domain::Status;
use crate::domain::Task;
use crate::domain::TaskId;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::VecDeque;

/// The tasks of a run, and what each waits for.
#[derive(Debug, Default)]
pub struct Queue {
    /// In the order of work.
    waiting: VecDeque<Task>,
    closed: BTreeSet<TaskId>,
    known: BTreeSet<TaskId>,
    /// Tasks of this run that did not end confirmed,
    gave_up: BTreeSet<TaskId>,
    /// and those of them that are not open any more, unless a person opens them again.
    blocked: BTreeSet<TaskId>,
    running: usize,
}

/// What the queue says.
#[derive(Debug, PartialEq)]
pub enum Next {
    /// Start this one.
    Start(Box<Task>),
    /// Ask again when a running task has ended.
    Wait,
    /// This one can never start, because of the dependency named in words.
    SetAside(Box<Task>, String),
    /// Nothing is left.
    Empty,
}

/// Whether tasks that are added while a run goes on belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adopt {
    /// Certain tasks were asked for.
    Nothing,
    /// Everything open was asked for.
    New,
}

fn is_open(task: &Task) -> bool {
    matches!(task.status, Status::Open | Status::InProgress)
}

impl Queue {
    /// Takes every task there is (`all`, to know what dependencies are) and those to be worked on.
    #[must_use]
    pub fn new(all: &[Task], mut asked: Vec<Task>) -> Self {
        asked.sort_by_key(|task| (task.priority, task.created_at));
        let ids: BTreeSet<&TaskId> = asked.iter().map(|t| &t.id).collect();
        Self {
            closed: all
                .iter()
                .filter(|t| t.status == Status::Closed && !ids.contains(&t.id))
                .map(|t| t.id.clone())
                .collect(),
            known: all.iter().map(|t| t.id.clone()).collect(),
            waiting: asked.into(),
            gave_up: BTreeSet::new(),
            blocked: BTreeSet::new(),
            running: 0,
        }
    }

    /// The ids in the order of work.
    #[must_use]
    pub fn ids(&self) -> Vec<TaskId> {
        self.waiting.iter().map(|t| t.id.clone()).collect()
    }

    /// What to do now.
    pub fn pick(&mut self) -> Next {
        if self.waiting.is_empty() {
            return Next::Empty;
        }
        let ready = |task: &Task| task.blockers().all(|id| self.closed.contains(id));
        if let Some(task) = self.waiting.iter().position(ready).and_then(|i| self.waiting.remove(i)) {
            self.running += 1;
            return Next::Start(Box::new(task));
        }
        let hopeless = self.waiting.iter().enumerate().find_map(|(i, t)| Some((i, self.never(t)?)));
        match hopeless {
            Some((i, because)) => self.set_aside(i, because),
            None if self.running > 0 => Next::Wait,
            // Nothing runs and nothing is hopeless by itself: what is left waits for each other.
            None => {
                let (i, because) = self.cycle();
                self.set_aside(i, because)
            }
        }
    }

    /// A started task is over.
    pub fn ended(&mut self, task: &TaskId, status: Status) {
        self.running -= 1;
        match status {
            Status::Closed => self.closed.insert(task.clone()),
            Status::Blocked => {
                self.blocked.insert(task.clone());
                self.gave_up.insert(task.clone())
            }
            Status::Open | Status::InProgress => self.gave_up.insert(task.clone()),
        };
    }

    /// Takes over what a person changed since the list was read: tasks that wait are as they stand now, or leave with the
    /// reason; one that was opened again comes back, and with [`Adopt::New`] new ones come too. Those at work are left alone.
    pub fn refresh(&mut self, all: &[Task], adopt: Adopt) -> Vec<(Task, String)> {
        let by_id: BTreeMap<&TaskId, &Task> = all.iter().map(|task| (&task.id, task)).collect();
        let mut left = Vec::new();
        for task in std::mem::take(&mut self.waiting) {
            match by_id.get(&task.id) {
                None => left.push((task, "it was removed from the task file".to_owned())),
                Some(now) if **now == task => self.waiting.push_back(task),
                Some(now) if is_open(now) => self.waiting.push_back((*now).clone()),
                Some(now) => left.push((task, format!("it was set to {} by hand", now.status.as_str()))),
            }
        }
        for task in all.iter().filter(|task| is_open(task)) {
            let reopened = self.blocked.remove(&task.id);
            let new = !self.known.contains(&task.id) && adopt == Adopt::New;
            if reopened || new {
                self.gave_up.remove(&task.id);
                self.waiting.push_back(task.clone());
            }
        }
        let waits: BTreeSet<&TaskId> = self.waiting.iter().map(|task| &task.id).collect();
        let closed = all.iter().filter(|task| task.status == Status::Closed && !waits.contains(&task.id));
        self.closed.extend(closed.map(|task| task.id.clone()));
        self.known = all.iter().map(|task| task.id.clone()).collect();
        self.waiting.make_contiguous().sort_by_key(|task| (task.priority, task.created_at));
        left
    }

    /// Everything that was never started; nothing is left then.
    pub fn drain(&mut self) -> Vec<Task> {
        self.waiting.drain(..).collect()
    }

    fn set_aside(&mut self, i: usize, because: String) -> Next {
        match self.waiting.remove(i) {
            Some(task) => {
                self.gave_up.insert(task.id.clone());
                Next::SetAside(Box::new(task), because)
            }
            None => Next::Empty,
        }
    }

    /// Why a task can never start in this run, if so.
    fn never(&self, task: &Task) -> Option<String> {
        task.blockers().filter(|id| !self.closed.contains(*id)).find_map(|id| {
            if !self.known.contains(id) {
                Some(format!(
                    "it depends on `{id}`, which is not in the task file; add that task or remove the dependency"
                ))
            } else if self.gave_up.contains(id) {
                Some(format!("it depends on `{id}`, which was not confirmed"))
            } else if !self.waiting.iter().any(|t| t.id == *id) && self.running == 0 {
                Some(format!("it depends on `{id}`, which is not closed and not part of this run"))
            } else {
                None
            }
        })
    }

    fn cycle(&self) -> (usize, String) {
        let by_id: BTreeMap<&TaskId, &Task> = self.waiting.iter().map(|t| (&t.id, t)).collect();
        let mut path = vec![&self.waiting[0].id];
        // Every waiting task has an unclosed blocker among the waiting ones, so the walk must come back to itself.
        loop {
            let here = by_id[path[path.len() - 1]];
            let Some(next) = here.blockers().find(|id| by_id.contains_key(id)) else {
                break;
            };
            if let Some(start) = path.iter().position(|id| *id == next) {
                path.drain(..start);
                path.push(next);
                break;
            }
            path.push(next);
        }
        let words = path.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(" -> ");
        let first = self.waiting.iter().position(|t| t.id == *path[0]).unwrap_or(0);
        (first, format!("dependencies in a circle: {words}; remove one of them"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, priority: u8, day: u8, deps: &[&str]) -> Task {
        let deps: Vec<_> = deps.iter().map(|d| serde_json::json!({"id": d, "type": "blocks"})).collect();
        serde_json::from_value(serde_json::json!({
            "id": id, "title": id, "priority": priority, "deps": deps, "createdAt": format!("2026-01-{day:02}T00:00:00Z"),
        }))
        .unwrap()
    }

    /// Runs the queue one at a time; a task whose id starts with `bad` is not confirmed.
    fn play(tasks: Vec<Task>) -> Vec<String> {
        let mut queue = Queue::new(&tasks, tasks.iter().filter(|t| t.status == Status::Open).cloned().collect());
        let mut said = Vec::new();
        loop {
            match queue.pick() {
                Next::Start(task) => {
                    let status = if task.id.as_str().starts_with("bad") { Status::Blocked } else { Status::Closed };
                    queue.ended(&task.id, status);
                    said.push(task.id.to_string());
                }
                Next::SetAside(task, because) => said.push(format!("{}: {because}", task.id)),
                Next::Wait => unreachable!("nothing runs"),
                Next::Empty => return said,
            }
        }
    }

    #[test]
    fn priority_comes_before_age_and_blockers_before_both() {
        let tasks = vec![
            task("old", 2, 1, &[]),
            task("urgent", 0, 9, &["base"]),
            task("base", 4, 5, &[]),
            task("new", 2, 3, &[]),
        ];
        assert_eq!(play(tasks), ["old", "new", "base", "urgent"]);
    }

    #[test]
    fn what_can_never_start_is_set_aside_with_the_reason_and_stops_nobody() {
        let tasks =
            vec![task("x", 0, 1, &["gone"]), task("bad", 1, 1, &[]), task("y", 1, 2, &["bad"]), task("ok", 4, 1, &[])];
        let said = play(tasks);
        assert_eq!(said[..2], ["bad", "ok"]);
        assert!(
            said.iter().any(|s| s.starts_with("x: it depends on `gone`, which is not in the task file")),
            "{said:?}"
        );
        assert!(said.iter().any(|s| s == "y: it depends on `bad`, which was not confirmed"), "{said:?}");
    }

    #[test]
    fn what_a_person_changes_while_the_run_goes_on_is_respected() {
        let tasks = vec![task("a", 1, 1, &[]), task("b", 2, 1, &[]), task("c", 3, 1, &["b"]), task("bad", 0, 1, &[])];
        let mut queue = Queue::new(&tasks, tasks.clone());
        let start = |queue: &mut Queue| match queue.pick() {
            Next::Start(task) => task.title,
            other => panic!("{other:?}"),
        };
        assert_eq!(start(&mut queue), "bad");
        queue.ended(&TaskId::new("bad").unwrap(), Status::Blocked);
        // `a` is put off, `b` is closed by hand, `c` is renamed, `new` is added.
        let mut now = tasks.clone();
        (now[0].priority, now[1].status, now[2].title, now[3].status) =
            (4, Status::Closed, "C".to_owned(), Status::Blocked);
        now.push(task("new", 0, 9, &[]));
        let left = queue.refresh(&now, Adopt::New);
        let left: Vec<_> = left.iter().map(|(task, why)| (task.title.as_str(), why.as_str())).collect();
        assert_eq!(left, [("b", "it was set to closed by hand")]);
        assert_eq!(start(&mut queue), "new");
        // `bad` is opened again, `a` is removed, another is added, and nothing new is adopted.
        now[3].status = Status::Open;
        now.remove(0);
        now.push(task("later", 0, 9, &[]));
        let left = queue.refresh(&now, Adopt::Nothing);
        assert_eq!(left[0].1, "it was removed from the task file");
        assert_eq!([start(&mut queue), start(&mut queue)], ["bad", "C"]);
        assert_eq!(queue.pick(), Next::Empty);
    }

    #[test]
    fn a_circle_is_named() {
        let tasks =
            vec![task("a", 1, 1, &["b"]), task("b", 1, 2, &["c"]), task("c", 1, 3, &["b"]), task("d", 1, 4, &[])];
        let said = play(tasks);
        assert_eq!(said[0], "d");
        assert!(said.iter().any(|s| s.contains("in a circle: `b` -> `c` -> `b`")), "{said:?}");
        assert_eq!(said.len(), 4);
    }

    #[test]
    fn a_closed_blocker_blocks_nothing_and_an_unasked_one_is_named() {
        let mut closed = task("done", 2, 1, &[]);
        closed.status = Status::Closed;
        let mut aside = task("aside", 2, 1, &[]);
        aside.status = Status::Blocked;
        let said = play(vec![closed, aside, task("a", 2, 2, &["done"]), task("b", 2, 3, &["aside"])]);
        assert_eq!(said, ["a", "b: it depends on `aside`, which is not closed and not part of this run"]);
    }
}
