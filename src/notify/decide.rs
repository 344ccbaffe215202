//! What is worth a notice, without clock, I/O or await.

use super::headline::headline;
use crate::domain::{
    Ending, Event, EventKind, JournalEntry, Notice, NoticeKind, RunId, RunReport, Stop, TaskId, Timestamp,
};
use crate::services::RunError;
use jiff::SignedDuration;
use std::collections::{BTreeMap, BTreeSet};

/// So many notices that something needs a person in [`AN_HOUR`]: whoever is called more often than they can act mutes all of
/// it, and the fifth cause in an hour is news of a night that should be looked at as a whole. The next notice says how many
/// were held back, and the last one of the run counts all.
const AT_MOST: usize = 5;
const AN_HOUR: SignedDuration = SignedDuration::from_hours(1);

/// Decides what of one run is worth a notice.
///
/// A cause is told once in a run, however many tasks meet it: forty tasks whose agent is not logged in are one thing to do.
#[derive(Debug)]
pub struct Decider {
    project: String,
    run: RunId,
    /// Who works on each task now.
    agents: BTreeMap<TaskId, String>,
    /// Tasks that met an agent without a login, and the first of these agents: it is what the task will name as its cause.
    logins: BTreeMap<TaskId, String>,
    /// Tasks that wait for a person.
    waiting: BTreeSet<TaskId>,
    /// Causes that were told.
    told: BTreeSet<String>,
    /// When they were.
    times: Vec<Timestamp>,
    held: usize,
}

impl Decider {
    /// For a run that begins.
    #[must_use]
    pub fn new(project: &str, run: &RunId) -> Self {
        Self {
            project: project.to_owned(),
            run: run.clone(),
            agents: BTreeMap::new(),
            logins: BTreeMap::new(),
            waiting: BTreeSet::new(),
            told: BTreeSet::new(),
            times: Vec::new(),
            held: 0,
        }
    }

    /// What follows from an event.
    pub fn event(&mut self, event: &Event) -> Option<Notice> {
        let task = event.about.task.as_ref();
        match &event.kind {
            EventKind::Recorded(entry) => self.entry(event, entry),
            EventKind::BudgetReached { because } => {
                let cause = task.map_or_else(|| because.clone(), |task| masked(because, task));
                let notice = self.notice(NoticeKind::Budget, event.at).saying(because, "raise it to go on");
                self.needs_you(cause, notice, event.at)
            }
            EventKind::PersonNeeded { actions } => {
                let task = task?;
                self.waiting.insert(task.clone());
                let text = actions.join("; ");
                let title = format!("task `{task}` waits for you");
                self.of_task(task, masked(&text, task), (&title, &text), event.at)
            }
            // Who watches, or reads the report, learns of them.
            EventKind::Warning { .. }
            | EventKind::Routed { .. }
            | EventKind::Doing { .. }
            | EventKind::AgentActed { .. }
            | EventKind::Checked { .. }
            | EventKind::Judged { .. }
            | EventKind::Reflected { .. }
            | EventKind::Tampered { .. }
            | EventKind::LeftAlone { .. } => None,
        }
    }

    fn entry(&mut self, event: &Event, entry: &JournalEntry) -> Option<Notice> {
        if let JournalEntry::RepositoryChanged { what, .. } = entry {
            let text = what.join("; ");
            let title = "something of your repository was changed, and is not put back";
            let notice = self.notice(NoticeKind::NeedsYou, event.at).saying(title, &text);
            return self.needs_you(text, notice, event.at);
        }
        let task = entry.task()?;
        match entry {
            JournalEntry::AttemptStarted { agent, .. } => {
                self.agents.insert(task.clone(), agent.clone());
                None
            }
            JournalEntry::AgentStopped { ending: Ending::Auth, detail, .. }
            | JournalEntry::AttemptDropped { ending: Some(Ending::Auth), detail, .. } => {
                let agent = self.agents.get(task).cloned().unwrap_or_default();
                let cause = format!("login {agent}");
                self.logins.entry(task.clone()).or_insert_with(|| cause.clone());
                let said = detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
                let text = format!("log in to it; task `{task}` is given to the next agent, or left open{said}");
                let title = format!("agent `{agent}` is not logged in");
                self.needs_you(cause, self.notice(NoticeKind::NeedsYou, event.at).saying(&title, &text), event.at)
            }
            JournalEntry::TaskEnded { report: Some(report), .. }
                if matches!(report.stop, Some(Stop::Environment | Stop::NoCheck)) =>
            {
                self.waiting.insert(task.clone());
                let text = report.note().unwrap_or_default();
                let cause = self.logins.get(task).cloned().unwrap_or_else(|| masked(&text, task));
                let title = format!("task `{task}` could not be worked on");
                self.of_task(task, cause, (&title, &text), event.at)
            }
            // The run's own end is told with what came of it; of tasks and attempts nothing else calls anybody.
            JournalEntry::RunStarted { .. }
            | JournalEntry::RunResumed { .. }
            | JournalEntry::TaskStarted { .. }
            | JournalEntry::TaskDecomposed { .. }
            | JournalEntry::RepositoryChanged { .. }
            | JournalEntry::Noticed { .. }
            | JournalEntry::AgentStopped { .. }
            | JournalEntry::TurnStarted { .. }
            | JournalEntry::TurnJudged { .. }
            | JournalEntry::TurnNudged { .. }
            | JournalEntry::AttemptDropped { .. }
            | JournalEntry::AttemptJudged { .. }
            | JournalEntry::CommitStarted { .. }
            | JournalEntry::WaitStarted { .. }
            | JournalEntry::WaitEnded { .. }
            | JournalEntry::MergeStarted { .. }
            | JournalEntry::MergeReady { .. }
            | JournalEntry::MergeEnded { .. }
            | JournalEntry::HealStarted { .. }
            | JournalEntry::HealEnded { .. }
            | JournalEntry::TaskEnded { .. }
            | JournalEntry::RunHalted { .. }
            | JournalEntry::RunEnded { .. } => None,
        }
    }

    /// What follows from the run's end.
    pub fn over(&mut self, result: &Result<RunReport, RunError>, at: Timestamp) -> Option<Notice> {
        match result {
            Ok(report) if report.tasks.is_empty() => None,
            Ok(report) => {
                let headline = headline(report, &self.waiting);
                Some(self.notice(headline.kind, at).saying(&headline.title, &headline.text))
            }
            Err(RunError::Environment(because)) => {
                let title = "the run could not go on";
                Some(self.notice(NoticeKind::NeedsYou, at).saying(title, because))
            }
            // Whoever typed it has been told.
            Err(RunError::Usage(_)) => None,
        }
    }

    fn notice(&self, kind: NoticeKind, at: Timestamp) -> Notice {
        Notice::new(kind, &self.project, at).of_run(&self.run)
    }

    fn of_task(&mut self, task: &TaskId, cause: String, words: (&str, &str), at: Timestamp) -> Option<Notice> {
        let notice = self.notice(NoticeKind::NeedsYou, at).about(task).saying(words.0, words.1);
        self.needs_you(cause, notice, at)
    }

    /// Each cause once, and not too many in an hour. A clock that was set back forgets what lies ahead of it.
    fn needs_you(&mut self, cause: String, notice: Notice, at: Timestamp) -> Option<Notice> {
        if !self.told.insert(cause) {
            return None;
        }
        self.times.retain(|time| *time <= at && at.duration_since(*time) < AN_HOUR);
        if self.times.len() >= AT_MOST {
            self.held += 1;
            return None;
        }
        self.times.push(at);
        Some(match std::mem::take(&mut self.held) {
            0 => notice,
            held => {
                let text = format!("[{held} more were held back before this one] {}", notice.text());
                let title = notice.title().to_owned();
                notice.saying(&title, &text)
            }
        })
    }
}

/// A cause as it would be for another task: without the task's own id, and without numbers.
fn masked(text: &str, task: &TaskId) -> String {
    let of_id = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let mut masked = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| of_id(c) != of_id(first)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if word.trim_end_matches('.') == task.as_str() {
            masked.push('#');
        } else {
            for c in word.chars() {
                match if c.is_ascii_digit() { '#' } else { c } {
                    '#' if masked.ends_with('#') => {}
                    c => masked.push(c),
                }
            }
        }
        rest = after;
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::About;
    use crate::notify::fixtures::report;
    use serde_json::{Value, json};

    fn id(name: &str) -> TaskId {
        TaskId::new(name).unwrap()
    }

    fn minute(n: i64) -> Timestamp {
        Timestamp::from_second(n * 60).unwrap()
    }

    fn decider() -> Decider {
        Decider::new("p", &RunId::new("r").unwrap())
    }

    fn of(task: Option<&str>, at: i64, kind: EventKind) -> Event {
        let run = RunId::new("r").unwrap();
        Event { at: minute(at), about: task.map_or(About::run(&run), |task| About::task(&run, &id(task))), kind }
    }

    fn entry(entry: Value) -> EventKind {
        EventKind::Recorded(serde_json::from_value(entry).unwrap())
    }

    fn ended(task: &str, stop: Option<Stop>, note: &str) -> EventKind {
        let mut report = report(&[(task, None, stop)], 0).tasks.remove(0);
        report.cause = Some(note.to_owned());
        entry(json!({ "type": "task_ended", "task": task, "verdict": null, "cause": note, "report": report }))
    }

    fn broken(task: &str, at: i64, note: &str) -> Event {
        of(Some(task), at, ended(task, Some(Stop::Environment), note))
    }

    fn person(task: &str, action: &str) -> Event {
        of(Some(task), 0, EventKind::PersonNeeded { actions: vec![action.to_owned()] })
    }

    fn agent(task: &str, name: &str, ending: Ending) -> [Event; 2] {
        let attempt = json!({ "task": task, "subtask": task, "attempt": 1, "session": "s" });
        let with = |more: Value| {
            let mut all = attempt.clone();
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            of(Some(task), 0, entry(all))
        };
        let started = with(json!({ "type": "attempt_started", "agent": name, "start": "t", "injected": [] }));
        [started, with(json!({ "type": "attempt_dropped", "ending": ending, "files": 0, "detail": "401" }))]
    }

    fn titles(events: impl IntoIterator<Item = Event>) -> Vec<String> {
        let mut decider = decider();
        events.into_iter().filter_map(|event| Some(decider.event(&event)?.title().to_owned())).collect()
    }

    #[test]
    fn a_budget_that_is_used_up_is_told_once_however_many_tasks_meet_it() {
        let mut decider = decider();
        let mut reached = |task: Option<&str>, because: &str| {
            let kind = EventKind::BudgetReached { because: because.to_owned() };
            decider.event(&of(task, 0, kind)).map(|n| (n.kind(), n.title().to_owned()))
        };
        let first = "the budget of the task is used up: $2.01 of $2.00";
        assert_eq!(reached(Some("a"), first), Some((NoticeKind::Budget, first.to_owned())));
        assert_eq!(reached(Some("b"), "the budget of the task is used up: $2.07 of $2.00"), None);
        let run = "the budget of the run is used up: $20.00 of $20.00";
        assert_eq!(reached(None, run), Some((NoticeKind::Budget, run.to_owned())));
    }

    #[test]
    fn a_repository_that_was_changed_is_told_also_where_it_is_of_no_task() {
        let changed = |task: Option<&str>, what: &str| {
            of(task, 0, entry(json!({ "type": "repository_changed", "task": task, "what": [what] })))
        };
        let mut decider = decider();
        let notice = decider.event(&changed(None, "HEAD was moved")).unwrap();
        assert_eq!((notice.kind(), notice.text()), (NoticeKind::NeedsYou, "HEAD was moved"));
        assert_eq!(decider.event(&changed(Some("a"), "HEAD was moved")), None);
        assert!(decider.event(&changed(Some("a"), "something was pushed to origin")).is_some());
    }

    #[test]
    fn what_needs_a_person_is_told_and_what_the_report_tells_is_not() {
        let quiet = [
            EventKind::Warning { message: "disk nearly full".to_owned() },
            ended("a", None, "not solved"),
            ended("a", Some(Stop::Dependency), "it waits"),
            ended("a", Some(Stop::Limit), "limited"),
            entry(json!({ "type": "wait_started", "task": "a", "until": minute(9), "because": "rate limited" })),
        ];
        let quiet = quiet.map(|kind| of(Some("a"), 0, kind));
        assert_eq!(titles(quiet), Vec::<String>::new());
        let mut decider = decider();
        let notice = decider.event(&person("a", "merge the pull request")).unwrap();
        assert_eq!((notice.kind(), notice.text()), (NoticeKind::NeedsYou, "merge the pull request"));
        assert_eq!((notice.task(), notice.run().map(RunId::as_str)), (Some(&id("a")), Some("r")));
    }

    #[test]
    fn forty_tasks_with_one_cause_are_one_notice() {
        let events =
            (0..40).map(|n| broken(&format!("t{n}"), n, &format!("setup of t{n} failed after {n} s: no `npm`")));
        assert_eq!(titles(events), ["task `t0` could not be worked on"]);
        // An id that is a part of other words stands for itself only.
        assert_eq!(titles([broken("a", 0, "agent x of a."), broken("b", 0, "agent x of b.")]).len(), 1);
        assert_eq!(titles([broken("a", 0, "no npm"), broken("b", 0, "no cargo")]).len(), 2);
    }

    #[test]
    fn a_missing_login_is_told_once_however_it_ends() {
        let of = |task: &str, ending: Ending| {
            let left = broken(task, 0, "agent `x` ended with `auth`: 401");
            agent(task, "x", ending).into_iter().chain([left])
        };
        let all = of("a", Ending::Auth).chain(of("b", Ending::Auth));
        assert_eq!(titles(all), ["agent `x` is not logged in"]);
        // With a chain of agents the work goes on, and the login is still missing.
        let chain = agent("a", "x", Ending::Auth).into_iter().chain(agent("a", "y", Ending::Auth));
        assert_eq!(titles(chain), ["agent `x` is not logged in", "agent `y` is not logged in"]);
        assert_eq!(titles(of("a", Ending::Quota)), ["task `a` could not be worked on"]);
    }

    #[test]
    fn too_many_in_an_hour_are_held_back_and_counted() {
        let mut decider = decider();
        let mut said = Vec::new();
        let words = ["one", "two", "three", "four", "five", "six", "seven"];
        for word in words {
            said.extend(decider.event(&broken("a", 0, word)));
        }
        assert_eq!(said.len(), 5);
        let late = decider.event(&broken("a", 61, "eight")).unwrap();
        assert_eq!(late.text(), "[2 more were held back before this one] eight");
        assert_eq!(decider.event(&broken("a", 61, "nine")).unwrap().text(), "nine");
        // The clock is set back by a day.
        assert!(decider.event(&broken("a", -1440, "ten")).is_some());
    }

    #[test]
    fn the_end_is_told_whatever_was_held_back() {
        let mut decider = decider();
        let error = || RunError::Environment("the disk is full".to_owned());
        for n in 0..9 {
            decider.event(&broken("a", 0, &"x".repeat(n)));
        }
        let notice = decider.over(&Err(error()), minute(0)).unwrap();
        assert_eq!((notice.kind(), notice.text()), (NoticeKind::NeedsYou, "the disk is full"));
        assert_eq!(decider.over(&Err(RunError::Usage("no task `x`".to_owned())), minute(0)), None);
    }
}
