//! Which task is next: ready ones by priority, then age.
//!
//! A task is ready when it is open, every task that blocks it is closed, and so are its children.

use crate::domain::{Status, Stop, Task, TaskId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The tasks of a run, and what each waits for.
#[derive(Debug, Default)]
pub struct Queue {
    /// In the order of work.
    waiting: VecDeque<Task>,
    closed: BTreeSet<TaskId>,
    known: BTreeSet<TaskId>,
    /// Those that were not open when the tasks were read last.
    shut: BTreeSet<TaskId>,
    children: Children,
    /// Tasks of this run that did not end confirmed,
    gave_up: BTreeSet<TaskId>,
    /// and those that are not open any more, unless a person opens them again: they ended, or were taken out by hand.
    over: BTreeSet<TaskId>,
    /// and those that could never start, because of what they wait for.
    aside: BTreeSet<TaskId>,
    running: BTreeSet<TaskId>,
}

/// The parts of each task that are tasks of their own.
type Children = BTreeMap<TaskId, Vec<TaskId>>;

fn children(all: &[Task]) -> Children {
    let mut children = Children::new();
    for task in all {
        for parent in task.parents() {
            children.entry(parent.clone()).or_default().push(task.id.clone());
        }
    }
    children
}

/// What a task waits for, and what that is to it: a task that blocks it, or its child.
fn waits_for<'a>(task: &'a Task, children: &'a Children) -> impl Iterator<Item = (&'static str, &'a TaskId)> {
    let own = children.get(&task.id).into_iter().flatten();
    task.blockers().map(|id| ("depends on", id)).chain(own.map(|id| ("waits for its child", id)))
}

/// Whether an open task could be started, were a run to begin now.
#[derive(Debug, Clone, PartialEq)]
pub struct Readiness {
    /// The task.
    pub task: Task,
    /// What it waits for, in words; nothing if it is ready.
    pub because: Vec<String>,
}

/// The open tasks in the order of work, each with what it waits for.
///
/// A task that a run has claimed counts as open: whether that run is alive, only the run lock knows.
#[must_use]
pub fn readiness(all: &[Task]) -> Vec<Readiness> {
    let (children, status) = (children(all), all.iter().map(|t| (&t.id, t.status)).collect::<BTreeMap<_, _>>());
    let because = |task: &Task| -> Vec<String> {
        let open = waits_for(task, &children).filter(|(_, id)| status.get(id) != Some(&Status::Closed));
        let words = open.map(|(how, id)| match status.get(id) {
            Some(status) => format!("{how} `{id}`, which is {}", status.as_str()),
            None => format!("{how} `{id}`, which is not in the task file"),
        });
        words.collect()
    };
    let open = all.iter().filter(|task| matches!(task.status, Status::Open | Status::InProgress));
    let mut found: Vec<_> = open.map(|task| Readiness { task: task.clone(), because: because(task) }).collect();
    found.sort_by_key(|readiness| readiness.task.rank());
    found
}

/// What the queue says.
#[derive(Debug, PartialEq)]
pub enum Next {
    /// Start this one.
    Start(Box<Task>),
    /// Ask again when a running task has ended.
    Wait,
    /// This one can never start: [`Stop::Dependency`] or [`Stop::BadDependency`], and which one, in words.
    Blocked(Box<Task>, Stop, String),
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

fn shut(all: &[Task]) -> BTreeSet<TaskId> {
    all.iter().filter(|task| !is_open(task)).map(|task| task.id.clone()).collect()
}

fn is_open(task: &Task) -> bool {
    matches!(task.status, Status::Open | Status::InProgress)
}

impl Queue {
    /// Takes every task there is (`all`, to know what dependencies are) and those to be worked on.
    #[must_use]
    pub fn new(all: &[Task], mut asked: Vec<Task>) -> Self {
        asked.sort_by_key(Task::rank);
        let ids: BTreeSet<&TaskId> = asked.iter().map(|t| &t.id).collect();
        Self {
            closed: all
                .iter()
                .filter(|t| t.status == Status::Closed && !ids.contains(&t.id))
                .map(|t| t.id.clone())
                .collect(),
            known: all.iter().map(|t| t.id.clone()).collect(),
            shut: shut(all),
            children: children(all),
            waiting: asked.into(),
            gave_up: BTreeSet::new(),
            over: BTreeSet::new(),
            aside: BTreeSet::new(),
            running: BTreeSet::new(),
        }
    }

    /// The ids in the order of work.
    #[must_use]
    pub fn ids(&self) -> Vec<TaskId> {
        self.waiting.iter().map(|t| t.id.clone()).collect()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What to do now.
    pub fn pick(&mut self) -> Next {
        if self.waiting.is_empty() {
            return Next::Empty;
        }
        let ready = |task: &Task| waits_for(task, &self.children).all(|(_, id)| self.closed.contains(id));
        if let Some(task) = self.waiting.iter().position(ready).and_then(|i| self.waiting.remove(i)) {
            self.running.insert(task.id.clone());
            return Next::Start(Box::new(task));
        }
        let hopeless = self.waiting.iter().enumerate().find_map(|(i, t)| Some((i, self.never(t)?)));
        match hopeless {
            Some((i, because)) => self.block(i, because),
            None if !self.running.is_empty() => Next::Wait,
            // Nothing runs and nothing is hopeless by itself: what is left waits for each other.
            None => {
                let (i, because) = self.cycle();
                self.block(i, because)
            }
        }
    }

    /// A started task is over.
    pub fn ended(&mut self, task: &TaskId, status: Status) {
        self.running.remove(task);
        if status == Status::Closed {
            self.closed.insert(task.clone());
        } else {
            self.gave_up.insert(task.clone());
        }
        if matches!(status, Status::Closed | Status::Blocked) {
            self.over.insert(task.clone());
        }
    }

    /// Takes over what a person changed since the list was read: tasks that wait are as they stand now, or leave with the
    /// reason; one that was opened again comes back, with those that were blocked because of it, and with [`Adopt::New`] new
    /// ones come too. Those at work are left alone.
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
        for task in all.iter().filter(|task| is_open(task) && !self.running.contains(&task.id)) {
            let reopened = self.over.remove(&task.id);
            let opened = self.shut.contains(&task.id) && !self.gave_up.contains(&task.id);
            let new = adopt == Adopt::New && (!self.known.contains(&task.id) || opened);
            if reopened || new {
                self.gave_up.remove(&task.id);
                self.closed.remove(&task.id);
                self.waiting.push_back(task.clone());
            }
        }
        self.over.extend(left.iter().map(|(task, _)| task.id.clone()));
        let waits: BTreeSet<&TaskId> = self.waiting.iter().map(|task| &task.id).collect();
        let closed = all.iter().filter(|task| task.status == Status::Closed && !waits.contains(&task.id));
        self.closed.extend(closed.map(|task| task.id.clone()));
        self.known.extend(all.iter().map(|task| task.id.clone()));
        self.shut = shut(all);
        self.children = children(all);
        self.bring_back(all);
        self.waiting.make_contiguous().sort_by_key(|task| (task.priority, task.created_at));
        left
    }

    /// Takes in again what was blocked and waits for nothing hopeless any more: what it waits for is closed, or is waited for
    /// or worked on itself.
    fn bring_back(&mut self, all: &[Task]) {
        let hopeful = |queue: &Self, id: &TaskId| {
            queue.closed.contains(id) || queue.running.contains(id) || queue.waiting.iter().any(|task| task.id == *id)
        };
        // One that comes back may be what another waits for.
        loop {
            let back = all.iter().find(|task| {
                let aside = self.aside.contains(&task.id) && is_open(task);
                aside && waits_for(task, &self.children).all(|(_, id)| hopeful(self, id))
            });
            let Some(task) = back else { return };
            self.aside.remove(&task.id);
            self.gave_up.remove(&task.id);
            self.waiting.push_back(task.clone());
        }
    }

    /// Everything that was never started; nothing is left then.
    pub fn drain(&mut self) -> Vec<Task> {
        self.waiting.drain(..).collect()
    }

    fn block(&mut self, i: usize, (stop, because): (Stop, String)) -> Next {
        match self.waiting.remove(i) {
            Some(task) => {
                self.gave_up.insert(task.id.clone());
                self.aside.insert(task.id.clone());
                Next::Blocked(Box::new(task), stop, because)
            }
            None => Next::Empty,
        }
    }

    /// Why a task can never start in this run, if so.
    fn never(&self, task: &Task) -> Option<(Stop, String)> {
        waits_for(task, &self.children).filter(|(_, id)| !self.closed.contains(*id)).find_map(|(how, id)| {
            if !self.known.contains(id) {
                let because =
                    format!("it {how} `{id}`, which is not in the task file; add that task or remove the dependency");
                Some((Stop::BadDependency, because))
            } else if self.gave_up.contains(id) {
                Some((Stop::Dependency, format!("it {how} `{id}`, which was not confirmed")))
            } else if !self.waiting.iter().any(|t| t.id == *id) && self.running.is_empty() {
                Some((Stop::Dependency, format!("it {how} `{id}`, which is not closed and not part of this run")))
            } else {
                None
            }
        })
    }

    fn cycle(&self) -> (usize, (Stop, String)) {
        let by_id: BTreeMap<&TaskId, &Task> = self.waiting.iter().map(|t| (&t.id, t)).collect();
        let mut path = vec![&self.waiting[0].id];
        // Every waiting task has an unclosed blocker among the waiting ones, so the walk must come back to itself.
        loop {
            let here = by_id[path[path.len() - 1]];
            let Some((_, next)) = waits_for(here, &self.children).find(|(_, id)| by_id.contains_key(id)) else {
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
        (first, (Stop::BadDependency, format!("dependencies in a circle: {words}; remove one of them")))
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

    fn child(id: &str, parent: &str, deps: &[&str]) -> Task {
        let mut child = task(id, 4, 9, deps);
        let parent = TaskId::new(parent).unwrap();
        child.deps.push(crate::domain::Dependency { id: parent, kind: "parent-child".to_owned() });
        child
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
                Next::Blocked(task, _, because) => said.push(format!("{}: {because}", task.id)),
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
    fn what_can_never_start_is_blocked_with_the_reason_and_stops_nobody() {
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
        // `bad` is opened again, `a` is removed, another is added, and nothing new is adopted. `new` is at work: that its line
        // is gone for a moment starts it no second time.
        let new = now.pop().unwrap();
        queue.refresh(&now, Adopt::New);
        now.push(new);
        now[3].status = Status::Open;
        now.remove(0);
        now.push(task("later", 0, 9, &[]));
        let left = queue.refresh(&now, Adopt::Nothing);
        assert_eq!(left[0].1, "it was removed from the task file");
        assert_eq!([start(&mut queue), start(&mut queue)], ["bad", "C"]);
        assert_eq!(queue.pick(), Next::Empty);
    }

    #[test]
    fn what_was_blocked_comes_back_with_what_it_waits_for() {
        let tasks = vec![
            task("bad", 1, 1, &[]),
            task("b", 2, 1, &["bad"]),
            task("c", 3, 1, &["b"]),
            task("lost", 4, 1, &["gone"]),
            task("x", 4, 2, &["y"]),
            task("y", 4, 3, &["x"]),
        ];
        let check = |edit: fn(&mut Vec<Task>), expected: &[&str]| {
            let mut queue = Queue::new(&tasks, tasks.clone());
            let Next::Start(first) = queue.pick() else { panic!("nothing starts") };
            queue.ended(&first.id, Status::Blocked);
            while let Next::Blocked(..) = queue.pick() {}
            let mut now = tasks.clone();
            now[0].status = Status::Blocked;
            assert!(queue.refresh(&now, Adopt::New).is_empty(), "nothing leaves");
            assert!(queue.is_empty(), "{queue:?}");
            edit(&mut now);
            queue.refresh(&now, Adopt::New);
            let ids: Vec<String> = queue.ids().iter().map(ToString::to_string).collect();
            assert_eq!(ids, expected);
        };
        check(|now| now[0].status = Status::Open, &["bad", "b", "c"]);
        check(|now| now[0].status = Status::Closed, &["b", "c"]);
        check(|now| now[1].deps.clear(), &["b", "c"]);
        check(|now| now.push(task("gone", 0, 1, &[])), &["gone", "lost"]);
        check(|now| now[5].deps.clear(), &["x", "y"]);
        // What a person blocks meanwhile stays blocked.
        check(|now| (now[0].status, now[1].status) = (Status::Closed, Status::Blocked), &[]);
    }

    #[test]
    fn what_was_blocked_before_the_run_and_is_opened_meanwhile_belongs_to_one_that_takes_everything() {
        let mut tasks = vec![task("a", 1, 1, &[]), task("b", 2, 1, &["a"])];
        tasks[0].status = Status::Blocked;
        let check = |adopt: Adopt, expected: &[&str]| {
            let mut queue = Queue::new(&tasks, tasks[1..].to_vec());
            assert!(matches!(queue.pick(), Next::Blocked(..)));
            let mut now = tasks.clone();
            now[0].status = Status::Open;
            queue.refresh(&now, adopt);
            let ids: Vec<String> = queue.ids().iter().map(ToString::to_string).collect();
            assert_eq!(ids, expected);
        };
        check(Adopt::New, &["a", "b"]);
        check(Adopt::Nothing, &[]);
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
    fn a_parent_waits_for_its_children_and_no_child_for_its_parent() {
        let tasks = vec![task("parent", 0, 1, &[]), child("one", "parent", &[]), child("two", "parent", &["one"])];
        assert_eq!(play(tasks), ["one", "two", "parent"]);
        let tasks = vec![task("parent", 0, 1, &[]), child("one", "parent", &[]), child("bad", "parent", &[])];
        let said = play(tasks);
        assert_eq!(said[2], "parent: it waits for its child `bad`, which was not confirmed");
        // A parent that is not there, or itself, is nobody.
        assert_eq!(play(vec![child("one", "gone", &[]), child("two", "two", &[])]), ["one", "two"]);
        let said = play(vec![task("parent", 0, 1, &[]), child("one", "parent", &["parent"])]);
        assert!(said[0].contains("in a circle: `parent` -> `one` -> `parent`"), "{said:?}");
        let mut aside = child("one", "parent", &[]);
        aside.status = Status::Blocked;
        let said = play(vec![task("parent", 0, 1, &[]), aside]);
        assert_eq!(said, ["parent: it waits for its child `one`, which is not closed and not part of this run"]);
    }

    #[test]
    fn what_is_ready_is_said_before_a_run() {
        let mut closed = task("done", 2, 1, &[]);
        closed.status = Status::Closed;
        let mut claimed = task("claimed", 1, 1, &["done"]);
        claimed.status = Status::InProgress;
        let mut aside = child("aside", "parent", &[]);
        aside.status = Status::Blocked;
        let all = [task("late", 3, 1, &[]), closed, claimed, aside, task("parent", 0, 1, &["claimed", "gone"])];
        let found: Vec<_> = readiness(&all).into_iter().map(|r| (r.task.id.to_string(), r.because)).collect();
        let because = [
            "depends on `claimed`, which is in_progress",
            "depends on `gone`, which is not in the task file",
            "waits for its child `aside`, which is blocked",
        ];
        let because = because.map(str::to_owned).to_vec();
        let expected = [("parent", because), ("claimed", Vec::new()), ("late", Vec::new())];
        assert_eq!(found, expected.map(|(id, because)| (id.to_owned(), because)));
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
