//! Small journals, and what is concluded from them.

use super::*;
use crate::domain::{Life, LoggedEntry, RunId, RunLog, TaskId, TaskList, Timestamp};
use serde_json::{Value, json};
use std::time::Duration;

/// A journal of these entries, ten seconds apart.
pub(super) fn log(entries: &[Value]) -> RunLog {
    let start: Timestamp = "2026-11-21T21:00:00Z".parse().unwrap();
    let entry = |(i, entry): (usize, &Value)| LoggedEntry {
        at: start + Duration::from_secs(10 * i as u64),
        entry: serde_json::from_value(entry.clone()).unwrap_or_else(|error| panic!("{entry}: {error}")),
    };
    let entries = entries.iter().enumerate().map(entry).collect();
    RunLog { run: RunId::new("r1").unwrap(), entries, problems: Vec::new(), unreadable: 0, alive: None, torn: false }
}

pub(super) fn night(entries: &[Value]) -> Night {
    Night::of(&log(entries), Life::Gone)
}

pub(super) fn started(kind: &str, tasks: &[&str]) -> Value {
    json!({"type": "run_started", "run": "r1", "pid": 1, "tasks": tasks, "plan": {"kind": kind, "jobs": 2, "base": "b0"}})
}

pub(super) fn task(id: &str) -> Value {
    json!({"type": "task_started", "task": id, "title": format!("Title of {id}"), "worker": 0})
}

pub(super) fn attempt(id: &str, n: u32, injected: &[&str]) -> Value {
    json!({"type": "attempt_started", "task": id, "subtask": id, "attempt": n, "session": format!("{id}-{n}"), "agent": "claude",
           "start": "t", "injected": injected})
}

pub(super) fn judged(id: &str, n: u32, verdict: &str) -> Value {
    json!({"type": "attempt_judged", "task": id, "subtask": id, "attempt": n, "session": format!("{id}-{n}"),
           "ending": {"kind": "finished"}, "tree": "t", "verdict": verdict,
           "usage": {"input": 100, "output": 10, "costUsd": 0.5, "costSource": "reported"}})
}

fn dropped(id: &str, n: u32, ending: &str) -> Value {
    json!({"type": "attempt_dropped", "task": id, "session": format!("{id}-{n}"), "ending": {"kind": ending}})
}

pub(super) fn ended(id: &str, verdict: Value, status: &str, more: Value) -> Value {
    let mut entry = json!({"type": "task_ended", "task": id, "verdict": verdict, "status": status});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

fn stopped(stop: &str) -> Value {
    json!({"cause": "so", "report": {"id": "a", "verdict": null, "attempts": 0, "solvedAt": null, "reflectionsWritten": 0,
           "reflectionsInjected": 0, "tokens": null, "costUsd": null, "durationMs": 1, "endings": [], "stop": stop}})
}

pub(super) fn merge(id: &str, n: u32, outcome: Value) -> Value {
    json!({"type": "merge_ended", "task": id, "attempt": n, "outcome": outcome})
}

pub(super) fn over() -> Value {
    json!({"type": "run_ended", "interrupted": false})
}

#[test]
fn what_was_changed_in_the_repository_and_stays_needs_a_person_once() {
    let changed =
        |task: Value| json!({"type": "repository_changed", "task": task, "what": ["your checkout was switched"]});
    let night = night(&[changed(json!("a")), changed(json!("b")), changed(json!(null))]);
    let needs: Vec<&Need> = night.needs.iter().filter(|need| need.kind == NeedKind::Repository).collect();
    assert_eq!(needs.len(), 1);
    assert_eq!((needs[0].why.as_str(), needs[0].tasks.len()), ("your checkout was switched", 2));
}

#[test]
fn how_a_task_was_routed_and_split_stands_beside_what_came_of_it() {
    let mut began = task("a");
    began["routed"] = json!("it has the label `docs`");
    let part = |id: &str| json!({"id": id, "title": id, "description": ""});
    let parts = json!({"type": "task_decomposed", "task": "a", "counts": [],
                       "proposal": {"of": "x", "parts": [part("a-1"), part("a-2")]}});
    let ends = ended("a", json!("confirmed"), "closed", json!({"branch": "b"}));
    let all =
        [started("overnight", &["a"]), began, parts, attempt("a", 1, &[]), judged("a", 1, "confirmed"), ends, over()];
    let times = Times { zone: jiff::tz::TimeZone::UTC, now: "2026-11-22T06:00:00Z".parse().unwrap() };
    let said = text(&night(&all), &times);
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("routing: it has the label `docs`"), "{said}");
    assert!(words.contains("in 2 parts, as was proposed: `a-1`, `a-2`"), "{said}");
}

#[test]
fn every_end_of_a_task_has_its_state() {
    let kept = || json!({"kind": "red", "because": "check `test` is red", "kept": "kept/a"});
    let merged = || json!({"kind": "merged", "commit": "c1"});
    let (confirmed, failed) = (|| json!("confirmed"), || json!("failed"));
    let check = |entries: &[Value], state: TaskState, needs: &[NeedKind]| {
        let mut all = vec![started("overnight", &["a"]), task("a"), attempt("a", 1, &[])];
        all.extend_from_slice(entries);
        all.push(over());
        let night = night(&all);
        let found: Vec<NeedKind> = night.needs.iter().map(|need| need.kind).collect();
        assert_eq!((night.tasks[0].state, found.as_slice()), (state, needs), "{entries:?}");
    };
    let green = || judged("a", 1, "confirmed");
    check(&[green(), merge("a", 1, merged()), ended("a", confirmed(), "closed", json!({}))], TaskState::Merged, &[]);
    check(&[green(), ended("a", confirmed(), "closed", json!({"branch": "b"}))], TaskState::Confirmed, &[]);
    // The task's own end was never written, and its merge was.
    check(&[green(), merge("a", 1, merged())], TaskState::Merged, &[]);
    check(
        &[judged("a", 1, "failed"), ended("a", failed(), "blocked", json!({}))],
        TaskState::Failed,
        &[NeedKind::Failed],
    );
    let unmerged = [green(), merge("a", 1, kept()), ended("a", failed(), "blocked", json!({}))];
    check(&unmerged, TaskState::Failed, &[NeedKind::Unmerged]);
    let left = json!({"kind": "left_to_person", "files": ["CLAUDE.md"], "branch": "reflexion/r/a"});
    let left = json!({"type": "merge_ended", "task": "a", "attempt": 1, "outcome": left});
    check(
        &[left, ended("a", json!("confirmed"), "closed", json!({}))],
        TaskState::Confirmed,
        &[NeedKind::YoursToMerge],
    );
    let mut waits = judged("a", 1, "failed");
    waits["person"] = json!(["log in"]);
    check(&[waits, ended("a", failed(), "blocked", json!({}))], TaskState::Blocked, &[NeedKind::Person]);
    let nothing = [judged("a", 1, "unverifiable"), ended("a", json!("unverifiable"), "blocked", json!({}))];
    check(&nothing, TaskState::Blocked, &[NeedKind::Unverifiable]);
    check(&[ended("a", json!(null), "blocked", json!({}))], TaskState::Blocked, &[NeedKind::Blocked]);
    check(&[ended("a", json!(null), "open", stopped("limit"))], TaskState::Open, &[]);
    check(&[ended("a", json!(null), "open", stopped("environment"))], TaskState::Open, &[NeedKind::Environment]);
    let refused = [dropped("a", 1, "auth"), ended("a", json!(null), "open", stopped("environment"))];
    check(&refused, TaskState::Open, &[NeedKind::Login]);
    check(&[], TaskState::Open, &[]);
    let mut risky = green();
    risky["risk"] = json!({"needs_review": true, "score": 1.0, "surface": "auth", "reason": "auth: x"});
    check(
        &[risky, ended("a", confirmed(), "closed", json!({"branch": "b"}))],
        TaskState::Confirmed,
        &[NeedKind::Review],
    );
    check(&[green(), ended("a", confirmed(), "closed", json!({}))], TaskState::Unchanged, &[]);
}

#[test]
fn a_login_is_one_thing_however_many_tasks_wait_for_it() {
    let mut entries = vec![started("overnight", &["a", "b", "c"])];
    for id in ["a", "b", "c"] {
        entries.extend([task(id), attempt(id, 1, &[]), dropped(id, 1, "auth")]);
        entries.push(ended(id, json!(null), "open", stopped("environment")));
    }
    entries.push(over());
    let night = night(&entries);
    assert_eq!((night.needs.len(), night.needs[0].tasks.clone()), (1, vec![0, 1, 2]));
    assert_eq!(night.headline, "The night is over: 3 of 3 tasks left open. One thing needs you.");
    assert_eq!((night.limits.len(), night.limits[0].times, night.limits[0].ending), (1, 3, "auth"));
}

#[test]
fn what_was_left_open_and_closed_since_is_not_open() {
    let list = |status: &str, closed_by: Option<&str>| {
        let task = json!({"id": "b", "title": "Title of b", "status": status});
        let mut list = TaskList { tasks: vec![serde_json::from_value(task).unwrap()], ..TaskList::default() };
        list.closed_by.extend(closed_by.map(|run| (TaskId::new("b").unwrap(), RunId::new(run).unwrap())));
        list
    };
    let check = |list: &TaskList, state: TaskState, cause: Option<&str>| {
        let night = night(&[started("overnight", &["a", "b"]), over()]).with_tasks(list);
        let told = &night.tasks[1];
        assert_eq!((told.title.as_str(), told.state, told.cause.as_deref()), ("Title of b", state, cause));
        assert_eq!((night.counts.open, night.counts.closed), if state == TaskState::Open { (2, 0) } else { (1, 1) });
    };
    check(&list("open", None), TaskState::Open, None);
    check(&list("closed", None), TaskState::Closed, Some("closed by you"));
    check(&list("closed", Some("r2")), TaskState::Closed, Some("confirmed since by run r2"));
    // Its own work, whose end it did not live to write down.
    check(&list("closed", Some("r1")), TaskState::Open, None);
}

#[test]
fn a_change_that_nothing_confirmed_is_kept_where_the_report_says() {
    let times = Times { zone: jiff::tz::TimeZone::UTC, now: "2026-11-22T06:00:00Z".parse().unwrap() };
    for verdict in ["unverifiable", "failed"] {
        let entries = [
            started("overnight", &["a"]),
            task("a"),
            attempt("a", 1, &[]),
            judged("a", 1, verdict),
            ended("a", json!(verdict), "blocked", json!({})),
            over(),
        ];
        let night = night(&entries).with_kept(vec![(TaskId::new("a").unwrap(), "kept/a.patch".to_owned())]);
        let text = super::text(&night, &times);
        assert!(
            text.contains("what its attempts have left, and nothing confirmed, is kept in `kept/a.patch`"),
            "{text}"
        );
    }
}

#[test]
fn what_was_used_counts_once_also_where_an_attempt_was_cut() {
    let turn = json!({"type": "turn_judged", "task": "a", "session": "a-2", "turn": 1, "ending": {"kind": "finished"},
                      "usage": {"input": 7, "costUsd": 0.25, "costSource": "estimated"}, "tree": "t", "verdict": "failed",
                      "status": "refuted"});
    let night = night(&[
        started("run", &["a"]),
        task("a"),
        attempt("a", 1, &[]),
        judged("a", 1, "failed"),
        judged("a", 1, "failed"),
        attempt("a", 2, &["ref-1"]),
        turn,
        // A second turn, of which only the end is known.
        json!({"type": "agent_stopped", "task": "a", "session": "a-2", "ending": {"kind": "finished"}, "usage": {"input": 5}}),
    ]);
    assert_eq!((night.spend.reported_usd, night.spend.estimated_usd), (Some(0.5), Some(0.25)));
    assert_eq!((night.spend.usage.tokens(), night.tasks[0].usage.tokens()), (Some(122), Some(122)));
    assert_eq!((night.attempts[1].fate, night.attempts[1].agent_ms), (Fate::Cut, 10_000));
    assert_eq!((night.injection.with, night.injection.without), (0, 1));
    assert_eq!(night.lessons[0].injected_into, [1]);
    assert_eq!(night.next[0].command, "reflexion run");
}

#[test]
fn workers_are_busy_wait_or_are_idle() {
    let night = night(&[
        started("overnight", &["a", "b"]),
        task("a"),
        attempt("a", 1, &[]),
        dropped("a", 1, "rate_limited"),
        json!({"type": "wait_started", "task": "a", "until": "2026-11-22T00:00:00Z", "because": "limit"}),
        json!({"type": "wait_ended", "task": "a"}),
        ended("a", json!(null), "open", stopped("limit")),
        over(),
    ]);
    // Of 70 s: 10 until it began, 50 with the task of which 10 waiting, 10 after it; the second worker had nothing to do.
    let times: Vec<_> = night.workers.iter().map(|w| (w.busy_ms, w.waiting_ms, w.idle_ms)).collect();
    assert_eq!(times, [(40_000, 10_000, 20_000), (0, 0, 70_000)]);
}

#[test]
fn a_dead_run_says_what_it_was_in_the_middle_of() {
    let times = Times { zone: jiff::tz::TimeZone::UTC, now: "2026-11-22T06:00:00Z".parse().unwrap() };
    let begun = [started("overnight", &["a", "b"]), task("a"), attempt("a", 2, &[])];
    let check = |entries: &[Value], life: Life, parts: &[&str]| {
        let mut all = begun.to_vec();
        all.extend_from_slice(entries);
        let said = status(&Night::of(&log(&all), life), &times);
        for part in parts {
            assert!(said.contains(part), "{part} is not in\n{said}");
        }
    };
    let dead = ["Run r1 of yesterday 21:00 broke off", "Go on with `reflexion overnight --resume`."];
    check(&[], Life::Gone, &dead);
    check(&[], Life::Gone, &["attempt 2 of `a` (agent claude), since 21:00", "One attempt was cut off"]);
    let ended = json!({"type": "agent_stopped", "task": "a", "session": "a-2", "ending": {"kind": "finished"}});
    check(std::slice::from_ref(&ended), Life::Gone, &["the checks of attempt 2 of `a`, since 21:00"]);
    let commit = json!({"type": "commit_started", "task": "a", "tree": "t"});
    let landing = [ended, judged("a", 2, "confirmed"), commit];
    check(&landing, Life::Gone, &["the commit and merge of `a`", "its journal cannot say", "No attempt was cut off."]);
    check(&landing, Life::Alive, &["goes on. Its last sign is 8 h 59 min old.", "Now: the commit and merge of `a`"]);
    let stopped = Life::Stopped { pid: 7 };
    check(&landing, stopped, &["stands still: its process 7 is stopped", "`kill -CONT 7`", "8 h 59 min old"]);
}

#[test]
fn names_that_a_shell_would_understand_are_quoted() {
    let outcome = json!({"kind": "conflict", "files": ["x"], "kept": "a; rm -rf 'b'"});
    let entries = [
        started("overnight", &["a"]),
        task("a"),
        attempt("a", 1, &[]),
        judged("a", 1, "confirmed"),
        merge("a", 1, outcome),
        ended("a", json!("failed"), "blocked", json!({})),
        over(),
    ];
    let night = night(&entries);
    assert_eq!(night.needs[0].commands[1].command, r"git merge 'a; rm -rf '\''b'\'''");
}

pub(super) fn times() -> Times {
    Times { zone: jiff::tz::TimeZone::UTC, now: "2026-11-22T06:00:00Z".parse().unwrap() }
}

/// A text in one line.
pub(super) fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is written down of a task that ended, with the files that its work changes.
fn with_files(files: &[&str]) -> Value {
    let mut report = stopped("limit")["report"].clone();
    report["stop"] = json!(null);
    report["files"] = json!(files);
    json!({"report": report})
}

/// A confirmed task that only a person merges.
fn yours(id: &str, files: &[&str]) -> Vec<Value> {
    let outcome = json!({"kind": "left_to_person", "proof": "stayed_green", "branch": format!("reflexion/r1/{id}")});
    let left = merge(id, 1, outcome);
    let end = ended(id, json!("confirmed"), "closed", with_files(files));
    vec![task(id), attempt(id, 1, &[]), judged(id, 1, "confirmed"), left, end]
}

pub(super) fn merged(id: &str, commit: &str, files: &[&str]) -> Vec<Value> {
    let end = ended(id, json!("confirmed"), "closed", with_files(files));
    let merge = merge(id, 1, json!({"kind": "merged", "commit": commit}));
    vec![task(id), attempt(id, 1, &[]), judged(id, 1, "confirmed"), merge, end]
}

#[test]
fn only_what_changes_no_file_in_common_is_merged_at_once() {
    let mut all = vec![started("overnight", &["m", "a", "b", "c", "d"])];
    all.extend(merged("m", "c1", &["m.py"]));
    for (id, files) in [("a", &["a.py", "x.py"][..]), ("b", &["x.py"]), ("c", &["c.py"]), ("d", &["m.py"])] {
        all.extend(yours(id, files));
    }
    all.push(over());
    let night = night(&all);
    let at_once: Vec<&str> = night
        .needs
        .iter()
        .flat_map(|need| &need.commands)
        .map(|step| step.command.as_str())
        .filter(|command| command.matches("reflexion/").count() > 1 && command.starts_with("git merge"))
        .collect();
    assert_eq!(at_once, ["git merge reflexion/r1/a reflexion/r1/c"]);
    let why: Vec<&str> = night.needs.iter().map(|need| need.why.as_str()).collect();
    assert!(why[1].contains("`x.py` is changed by `a` too: whichever is merged second may conflict"), "{why:?}");
    // What is merged already conflicts or does not, and the run's end knows it.
    assert!([0, 2, 3].iter().all(|at| !why[*at].contains("conflict")), "{why:?}");
}

#[test]
fn what_does_not_merge_into_what_is_merged_says_so_at_the_end() {
    let mut all = vec![started("overnight", &["m", "a", "b"])];
    all.extend(merged("m", "c1", &["m.py"]));
    for id in ["a", "b"] {
        let mut entries = yours(id, &["m.py"]);
        entries.last_mut().unwrap()["branch"] = json!(format!("reflexion/r1/{id}"));
        all.extend(entries);
    }
    let conflicts = json!([{"branch": "reflexion/r1/b", "files": ["m.py"]}]);
    all.push(json!({"type": "run_ended", "interrupted": false, "conflicts": conflicts}));
    let night = night(&all);
    let why: Vec<&str> = night.needs.iter().map(|need| need.why.as_str()).collect();
    assert!(!why[0].contains("conflict"), "{why:?}");
    assert!(why[1].contains("; it conflicts with what is merged in `m.py`; `m.py` is changed by `a` too"), "{why:?}");
}

#[test]
fn attempts_after_work_that_could_not_be_merged_are_told_with_it() {
    let conflict = json!({"kind": "conflict", "files": ["a.py"], "kept": "reflexion/r1/a@1"});
    let mut all = vec![started("overnight", &["a"]), task("a"), attempt("a", 1, &[]), judged("a", 1, "confirmed")];
    all.push(merge("a", 1, conflict));
    for n in [2, 3] {
        let mut empty = judged("a", n, "false_done");
        (empty["because"], empty["failure"]) = (json!("nothing was changed"), json!("empty_change"));
        all.extend([attempt("a", n, &[]), empty]);
    }
    all.extend([ended("a", json!("false_done"), "blocked", json!({})), over()]);
    let said = words(&text(&night(&all), &times()));
    let expected = "not merged: attempt 1 was confirmed and conflicts in a.py with what was merged before it (kept on `reflexion/r1/a@1`); \
                    attempts 2 and 3, on top of what was merged, changed nothing";
    assert!(said.contains(expected), "{said}");
    assert!(said.contains("FAILED 1 task was confirmed and could not be merged"), "{said}");
    assert_eq!(said.matches("git merge reflexion/r1/a@1").count(), 1, "{said}");
}

#[test]
fn what_is_counted_as_left_open_says_where_it_stands() {
    let list = json!([{"id": "a", "title": "A", "status": "blocked"},
                      {"id": "b", "title": "B", "deps": [{"id": "a", "type": "blocks"}]}]);
    let tasks = TaskList { tasks: serde_json::from_value(list).unwrap(), ..TaskList::default() };
    let failed = [task("a"), attempt("a", 1, &[]), judged("a", 1, "failed")];
    let mut all = vec![started("overnight", &["a", "b"])];
    all.extend(failed);
    all.extend([ended("a", json!("failed"), "blocked", json!({})), over()]);
    let night = night(&all).with_tasks(&tasks);
    assert!(night.headline.contains("1 left open"), "{}", night.headline);
    let said = words(&text(&night, &times()));
    assert!(said.contains("waits for `a`, which waits for you"), "{said}");
    assert!(said.contains("LEFT OPEN 1 task, see what needs you: b."), "{said}");
}

#[test]
fn a_status_says_everything_that_needs_somebody() {
    let mut all = vec![started("overnight", &["a", "b", "c", "d"])];
    all.extend(yours("a", &["a.py"]));
    all.extend([task("b"), attempt("b", 1, &[]), judged("b", 1, "unverifiable")]);
    all.push(ended("b", json!("unverifiable"), "blocked", json!({})));
    for failed in ["c", "d"] {
        all.extend([task(failed), attempt(failed, 1, &[]), judged(failed, 1, "failed")]);
        all.push(ended(failed, json!("failed"), "blocked", json!({})));
    }
    all.push(over());
    let said = status(&night(&all), &times());
    let expected = "4 things need you: not verified (`b`); confirmed, and yours to merge (`a`); failed (`c`, `d`).";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn a_bug_whose_tests_alone_were_changed_says_how_only_a_fix_counts() {
    let check = |kind: &str, expects: &str, t: &str, expected: bool| {
        let mut judged = judged("a", 1, "unverifiable");
        judged["proofRuns"] = json!({"c": "red", "t": t, "runs": 2});
        let cause = json!({"cause": "the tests alone turned it green"});
        let all = [
            started("overnight", &["a"]),
            task("a"),
            attempt("a", 1, &[]),
            judged,
            ended("a", json!("unverifiable"), "blocked", cause),
            over(),
        ];
        let now = json!({"id": "a", "title": "A", "type": kind, "expects": expects, "status": "blocked"});
        let tasks = TaskList { tasks: vec![serde_json::from_value(now).unwrap()], ..TaskList::default() };
        let said = text(&night(&all).with_tasks(&tasks), &times());
        let found = said.contains("reflexion task edit a --expects fix");
        assert_eq!(found, expected, "{kind} {expects} {t}: {said}");
    };
    check("bug", "change", "green", true);
    check("bug", "fix", "green", false);
    check("feature", "change", "green", false);
    check("bug", "change", "red", false);
}

#[test]
fn pages_say_in_words_what_a_gate_is_about_and_what_a_confirmation_rests_on() {
    let mut ends = judged("a", 1, "false_done");
    ends["because"] = json!("tests_kept: `test_a.py` was deleted");
    let cause = json!({"cause": "not solved in 1 attempt; the last: tests_kept: `test_a.py` was deleted"});
    let all = [
        started("overnight", &["a"]),
        task("a"),
        attempt("a", 1, &[]),
        ends,
        ended("a", json!("false_done"), "blocked", cause),
        over(),
    ];
    let refuted = night(&all);
    let said = words(&text(&refuted, &times()));
    assert!(said.contains("the last: the tests that were there: "), "{said}");
    assert!(!said.contains("tests_kept"), "{said}");
    let json = serde_json::to_string(&refuted).unwrap();
    assert!(json.contains("tests_kept: `test_a.py` was deleted"), "{json}");
    let mut all = vec![started("overnight", &["a"])];
    all.extend(yours("a", &["a.py"]));
    for entry in all.iter_mut().filter(|entry| entry["type"] == "attempt_judged") {
        entry["because"] = json!("every check is green as before; its tests pass without it");
    }
    let said = words(&text(&night(&all), &times()));
    assert!(said.contains("attempt 1 was confirmed: every check is green as before"), "{said}");
}

#[test]
fn what_failed_says_why_and_where_its_work_is() {
    let cause = json!({"cause": "not solved in 1 attempt; the last: check `test` is red"});
    let all = [
        started("overnight", &["a"]),
        task("a"),
        attempt("a", 1, &[]),
        judged("a", 1, "false_done"),
        ended("a", json!("false_done"), "blocked", cause),
        over(),
    ];
    let night = night(&all).with_kept(vec![(TaskId::new("a").unwrap(), "kept/a.patch".to_owned())]);
    let need = &night.needs[0];
    assert!(need.why.starts_with("its attempts are used up, and nobody tries it again"), "{}", need.why);
    let commands: Vec<&str> = need.commands.iter().map(|step| step.command.as_str()).collect();
    let expected = ["reflexion transcript show a#1", "git apply --3way kept/a.patch"];
    assert_eq!(commands[..2], expected);
    assert_eq!(commands[2..], ["reflexion run a --again --max-attempts 2", "reflexion task reopen a"]);
    let said = words(&text(&night, &times()));
    assert!(said.contains("the agent stopped by itself, and it is not done: not solved"), "{said}");
    // Each of it once.
    for once in
        ["the last: check `test` is red", "kept in `kept/a.patch`", "git apply --3way kept/a.patch", "task reopen a"]
    {
        assert_eq!(said.matches(once).count(), 1, "{once}: {said}");
    }
}

#[test]
fn an_attempt_that_changed_nothing_hides_none_that_did() {
    let mut first = judged("a", 1, "false_done");
    first["because"] = json!("check `test` is red; nothing but tests was changed: t.py");
    let mut second = judged("a", 2, "false_done");
    (second["because"], second["failure"]) = (json!("check `test` is red"), json!("empty_change"));
    let cause = json!({"cause": "not solved in 2 attempts; the last: check `test` is red"});
    let mut all =
        vec![started("overnight", &["a"]), task("a"), attempt("a", 1, &[]), first, attempt("a", 2, &[]), second];
    all.extend([ended("a", json!("false_done"), "blocked", cause), over()]);
    let said = words(&text(&night(&all), &times()));
    assert!(said.contains("it was not done: check `test` is red; nothing but tests was changed: t.py"), "{said}");
}

#[test]
fn a_merged_task_says_what_it_changes_and_whose_commit_it_is() {
    let mut all = vec![started("overnight", &["a", "b"])];
    all.extend(merged("a", "c1", &["a.py", "b.py"]));
    let mut other = merged("b", "c1", &["a.py"]);
    let ended = other.iter_mut().find(|entry| entry["type"] == "merge_ended").unwrap();
    ended["outcome"]["wasThere"] = json!(true);
    all.extend(other);
    all.push(over());
    let said = words(&text(&night(&all), &times()));
    assert!(said.contains("changes 2 files: `a.py`, `b.py` merged as `c1`"), "{said}");
    assert!(said.contains("nothing was left to merge: what it changes was there before, in `c1`"), "{said}");
    assert!(said.contains("MERGED AND VERIFIED Each"), "{said}");
}

#[test]
fn a_heading_is_of_what_stands_below_it() {
    let mut all = vec![started("overnight", &["a", "b", "c"])];
    all.extend(merged("a", "c1", &[]));
    all.extend(yours("b", &[]));
    all.extend(yours("c", &[]));
    all.push(over());
    let night = night(&all);
    assert!(night.headline.contains("2 confirmed on branches of their own"), "{}", night.headline);
    let said = words(&text(&night, &times()));
    assert!(said.contains("MERGED AND VERIFIED Each"), "{said}");
}

#[test]
fn an_interrupted_task_says_how_its_last_attempt_was_judged() {
    let mut refuted = judged("a", 1, "false_done");
    refuted["because"] = json!("check `test` is red");
    let mut end = ended("a", json!(null), "open", stopped("interrupted"));
    end["cause"] = json!("the run was asked to stop");
    let ends = json!({"type": "run_ended", "interrupted": true});
    let all = [started("overnight", &["a"]), task("a"), attempt("a", 1, &[]), refuted, end, ends];
    let said = words(&text(&night(&all), &times()));
    let expected = "the run was asked to stop attempt 1 was judged false_done: check `test` is red";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn what_came_of_a_test_that_was_asked_for_is_told() {
    let turn = |type_of: &str, turn: u32, tree: &str| {
        json!({"type": type_of, "task": "a", "session": "a-1", "turn": turn, "reason": "test", "tree": tree,
               "ending": {"kind": "finished"}, "verdict": "confirmed", "status": "unproven"})
    };
    let tried = |runs: Value, tree: &str, proof: &str, expected: &str| {
        let mut confirmed = judged("a", 1, "confirmed");
        confirmed["proof"] = json!(proof);
        let mut last = turn("turn_judged", 2, tree);
        last["proofRuns"] = runs;
        let all = [
            started("run", &["a"]),
            task("a"),
            attempt("a", 1, &[]),
            turn("turn_judged", 1, "t"),
            turn("turn_started", 2, "t"),
            last,
            confirmed,
            ended("a", json!("confirmed"), "closed", json!({"branch": "b", "proof": proof})),
            over(),
        ];
        let said = words(&text(&night(&all), &times()));
        assert!(said.contains(expected), "{expected} is not in {said}");
    };
    let check = |tree: &str, proof: &str, expected: &str| tried(json!(null), tree, proof, expected);
    check(
        "t2",
        "stayed_green",
        "what was written then does not prove the change, and was left out; what would prove it",
    );
    tried(json!({"t": "green"}), "t2", "stayed_green", "then does not fail without the change, and was left out");
    let survived = json!({"t": "red", "mutants": {"killed": 0, "survived": 2}});
    tried(
        survived,
        "t2",
        "stayed_green",
        "then fails without the change, but passes with a mistake in the new code, too",
    );
    tried(
        json!({"t": "red"}),
        "t2",
        "stayed_green",
        "fails without the change, but nothing shows that it would notice",
    );
    check("t", "stayed_green", "fails without the change by what it asserts was asked for, and none came");
    check("t", "new_test", "the one that was there already fails without the change");
    check("t2", "new_test", "a test was asked for, and the one that was written fails without the change");
}

#[test]
fn a_run_that_goes_on_at_once_was_not_away() {
    let resumed = json!({"type": "run_resumed", "run": "r1", "pid": 2, "tasks": ["a"]});
    let said = text(&night(&[started("overnight", &["a"]), resumed, over()]), &times());
    assert!(!said.contains("no process worked on it"), "{said}");
}

#[test]
fn an_agent_that_a_budget_did_not_hold_is_named() {
    let mut begins = started("overnight", &["a"]);
    begins["plan"]["options"] = json!({"maxCost": 2.0});
    let check = |usage: Value, named: bool| {
        let mut ends = judged("a", 1, "confirmed");
        ends["usage"] = usage;
        let said = words(&text(&night(&[begins.clone(), task("a"), attempt("a", 1, &[]), ends, over()]), &times()));
        let expected = "Of `claude` it is not known what its work costs: `--max-cost` did not hold that.";
        assert_eq!(said.contains(expected), named, "{said}");
    };
    check(json!({"input": 5}), true);
    check(json!({"input": 5, "costUsd": 0.5, "costSource": "reported"}), false);
}
