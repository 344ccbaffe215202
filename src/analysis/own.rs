//! A project's own runs as observations: what was said, beside what the runtime found.

use super::board::{BoardTask, Says, Signal};
use super::labelled::Labelled;
use crate::domain::{Capture, JournalEntry, Past, Reflection, Status, Task, Timestamp, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// What of a project's past can be compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Own {
    /// What can be compared.
    #[serde(skip)]
    pub observed: Vec<Labelled>,
    /// Records where nobody said how sure they were.
    pub unsaid: u64,
    /// Records whose attempt was not judged, or could not be checked.
    pub unjudged: u64,
    /// Records that belong to no attempt of a run: a person's own sessions, and runs that are gone.
    pub unbound: u64,
}

/// How sure agents said they were, beside the verdicts on their attempts: the newest record of each attempt.
///
/// `confirmed` is right, `failed` and `false_done` are wrong; what could not be checked is neither.
#[must_use]
pub fn self_reports(past: &Past) -> Own {
    let mut own = Own::default();
    let mut newest: BTreeMap<(&str, u32, &str), &Capture> = BTreeMap::new();
    for report in &past.reports {
        let (Some(run), Some(attempt)) = (&report.provenance.run, report.provenance.attempt) else {
            own.unbound += 1;
            continue;
        };
        let rank = |report: &Capture| (report.provenance.is_final == Some(true), report.timestamp);
        let kept = newest.entry((run, attempt, &report.task_ref)).or_insert(report);
        if rank(report) > rank(kept) {
            *kept = report;
        }
    }
    for ((run, attempt, task), report) in newest {
        let Some(confidence) = report.confidence else {
            own.unsaid += 1;
            continue;
        };
        match judged(past, run, attempt, task) {
            Judged::So(Some(correct)) => own.observed.push(Labelled { confidence, correct }),
            Judged::So(None) => own.unjudged += 1,
            Judged::Unknown => own.unbound += 1,
        }
    }
    own
}

enum Judged {
    So(Option<bool>),
    Unknown,
}

/// The verdict on an attempt of a run. Attempts are numbered per subtask, so the number alone may mean several: the
/// record's reference to its task or subtask decides, and where it names neither, there must be only one.
fn judged(past: &Past, run: &str, number: u32, named: &str) -> Judged {
    let mut of_task: BTreeMap<(&str, &str), Option<Verdict>> = BTreeMap::new();
    let mut of_run = of_task.clone();
    for entry in past.entries.iter().filter(|entry| entry.run == run) {
        let (JournalEntry::AttemptStarted { task, subtask, attempt, .. }
        | JournalEntry::AttemptJudged { task, subtask, attempt, .. }) = &entry.entry
        else {
            continue;
        };
        let (task, subtask) = (task.as_str(), subtask.as_str());
        let verdict = verdict_of(&entry.entry);
        if *attempt == number {
            let both = named.strip_prefix(task).and_then(|rest| rest.strip_prefix('/')) == Some(subtask);
            let known = if both || named == task || named == subtask { &mut of_task } else { &mut of_run };
            let known = known.entry((task, subtask)).or_default();
            *known = verdict.or(*known);
        }
    }
    let found = if of_task.is_empty() { of_run } else { of_task };
    let mut verdicts = found.into_values();
    match (verdicts.next(), verdicts.next()) {
        (Some(verdict), None) => Judged::So(verdict.and_then(is_right)),
        _ => Judged::Unknown,
    }
}

fn verdict_of(entry: &JournalEntry) -> Option<Verdict> {
    if let JournalEntry::AttemptJudged { verdict, .. } = entry { Some(*verdict) } else { None }
}

fn is_right(verdict: Verdict) -> Option<bool> {
    match verdict {
        Verdict::Confirmed => Some(true),
        Verdict::Failed | Verdict::FalseDone => Some(false),
        Verdict::Unverifiable => None,
    }
}

/// How sure the lessons in memory are of themselves, beside what came of the first attempt whose prompt held them.
#[must_use]
pub fn lessons(past: &Past, reflections: &[Reflection]) -> Own {
    let mut own = Own::default();
    for reflection in reflections {
        let first = past.entries.iter().find_map(|entry| {
            let JournalEntry::AttemptStarted { session, injected, .. } = &entry.entry else { return None };
            injected.contains(&reflection.id).then_some(session)
        });
        let Some(used) = first else {
            own.unbound += 1;
            continue;
        };
        let verdict = past
            .entries
            .iter()
            .find_map(|entry| verdict_of(&entry.entry).filter(|_| entry.entry.attempt().session == Some(used)));
        match verdict.and_then(is_right) {
            Some(correct) => own.observed.push(Labelled { confidence: reflection.confidence, correct }),
            None => own.unjudged += 1,
        }
    }
    own
}

/// The project's tasks as a board: finished is what is closed, or what a run handed in and judged.
#[must_use]
pub fn own_board(tasks: &[Task], past: &Past) -> Vec<BoardTask> {
    tasks
        .iter()
        .map(|task| {
            let mut signals = Vec::new();
            let mut finished: Option<Timestamp> = None;
            let mut finish = |at: Timestamp| finished = Some(finished.map_or(at, |known| known.min(at)));
            for entry in &past.entries {
                if let JournalEntry::TaskEnded { task: id, verdict: Some(verdict), .. } = &entry.entry
                    && *id == task.id
                {
                    finish(entry.at);
                    let says = is_right(*verdict).map(|right| if right { Says::Right } else { Says::Wrong });
                    let what = format!("verdict {}", verdict.as_str());
                    signals.extend(says.map(|says| Signal { at: Some(entry.at), says, what }));
                }
            }
            for mark in past.marks.iter().filter(|mark| mark.id == task.id && mark.run.is_none()) {
                match mark.status {
                    Status::Closed => finish(mark.at),
                    Status::Open => {
                        let what = "reopened".to_owned();
                        signals.push(Signal { at: Some(mark.at), says: Says::Wrong, what });
                    }
                    Status::InProgress | Status::Blocked => {}
                }
            }
            let closed = task.status == Status::Closed;
            if closed && finished.is_none() && task.updated_at > Timestamp::UNIX_EPOCH {
                finished = Some(task.updated_at);
            }
            BoardTask { id: task.id.to_string(), finished: closed || finished.is_some(), at: finished, signals }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::PastEntry;
    use serde_json::json;

    fn past(entries: &[serde_json::Value], reports: &[serde_json::Value]) -> Past {
        let at: Timestamp = "2026-05-05T00:00:00Z".parse().unwrap();
        let entries = entries.iter().map(|value| PastEntry {
            run: "r".to_owned(),
            at,
            entry: serde_json::from_value(value.clone()).unwrap(),
        });
        let reports = reports.iter().map(|value| serde_json::from_value(value.clone()).unwrap());
        Past { entries: entries.collect(), reports: reports.collect(), ..Past::default() }
    }

    fn started(task: &str, attempt: u32, session: &str, injected: &[&str]) -> serde_json::Value {
        json!({"type": "attempt_started", "task": task, "subtask": task, "attempt": attempt, "session": session,
            "agent": "a", "start": "t", "injected": injected})
    }

    fn judged(task: &str, attempt: u32, session: &str, verdict: &str) -> serde_json::Value {
        json!({"type": "attempt_judged", "task": task, "subtask": task, "attempt": attempt, "session": session,
            "ending": {"kind": "finished"}, "tree": "t", "verdict": verdict})
    }

    fn report(task: &str, attempt: Option<u32>, confidence: Option<f64>, is_final: bool) -> serde_json::Value {
        let run = attempt.map(|_| "r");
        json!({"schema": "reflection.v1", "task_ref": task, "agent": "a", "session_id": "s", "repo": "r",
            "timestamp": "2026-05-05T00:00:00Z", "confidence": confidence, "most_likely_wrong": null,
            "known_not_in_diff": null, "files_changed": [],
            "risk": {"needs_review": false, "score": 0.0, "surface": "none", "reason": "nothing"},
            "provenance": {"source": "stop-hook", "reflection_attempt": 1, "degraded": false,
                "reflection_mode": "orchestrated", "run": run, "attempt": attempt, "final": is_final}})
    }

    #[test]
    fn what_agents_said_meets_the_verdict_on_their_attempt() {
        let entries = [
            started("a", 1, "s1", &[]),
            judged("a", 1, "s1", "false_done"),
            started("a", 2, "s2", &[]),
            judged("a", 2, "s2", "confirmed"),
            judged("b", 1, "s3", "unverifiable"),
            started("b", 2, "s4", &[]),
        ];
        let check = |reports: &[serde_json::Value], observed: &[(f64, bool)], unsaid, unjudged, unbound| {
            let own = self_reports(&past(&entries, reports));
            let seen: Vec<_> = own.observed.iter().map(|o| (o.confidence, o.correct)).collect();
            assert_eq!((seen.as_slice(), own.unsaid, own.unjudged, own.unbound), (observed, unsaid, unjudged, unbound));
        };
        let all = [report("a", Some(1), Some(0.9), true), report("a", Some(2), Some(0.6), true)];
        check(&all, &[(0.9, false), (0.6, true)], 0, 0, 0);
        // A subtask of a task that has several is named with it.
        check(&[report("a/a", Some(1), Some(0.5), true)], &[(0.5, false)], 0, 0, 0);
        // The newest record of an attempt counts, whatever the order.
        let twice = [report("a", Some(2), Some(0.2), true), report("a", Some(2), Some(0.6), false)];
        check(&twice, &[(0.2, true)], 0, 0, 0);
        check(&[report("a", Some(1), None, true)], &[], 1, 0, 0);
        check(&[report("b", Some(1), Some(0.5), true), report("b", Some(2), Some(0.5), true)], &[], 0, 2, 0);
        check(&[report("a", None, Some(0.5), true), report("a", Some(9), Some(0.5), true)], &[], 0, 0, 2);
        // Another name for the task does where only one attempt of the run has this number.
        check(&[report("repo#main", Some(1), Some(0.5), true)], &[], 0, 0, 1);
        let own = self_reports(&past(&entries[..4], &[report("repo#main", Some(1), Some(0.5), true)]));
        assert_eq!(own.observed.len(), 1);
    }

    #[test]
    fn lessons_meet_the_first_attempt_that_had_them() {
        let reflection = |id: &str| {
            let value = json!({"id": id, "sessionId": "s1", "taskId": "a", "subtaskId": "a", "attemptNumber": 1,
                "category": "root_cause", "analysis": "x", "suggestion": "y", "confidence": 0.75,
                "createdAt": "2026-05-05T00:00:00Z"});
            serde_json::from_value::<Reflection>(value).unwrap()
        };
        let entries = [
            judged("a", 1, "s1", "failed"),
            started("a", 2, "s2", &["l1"]),
            judged("a", 2, "s2", "confirmed"),
            started("b", 1, "s3", &["l1", "l2"]),
        ];
        let own = lessons(&past(&entries, &[]), &["l1", "l2", "l3"].map(reflection));
        assert_eq!(own.observed, [Labelled { confidence: 0.75, correct: true }]);
        assert_eq!((own.unjudged, own.unbound), (1, 1));
    }

    #[test]
    fn verdicts_and_reopenings_are_the_boards_signals() {
        let ended = |task: &str, verdict: Option<&str>| json!({"type": "task_ended", "task": task, "verdict": verdict});
        let task = |id: &str, status: &str| {
            serde_json::from_value::<Task>(json!({"id": id, "title": "t", "status": status})).unwrap()
        };
        let mut past = past(&[ended("a", Some("confirmed")), ended("b", Some("unverifiable")), ended("c", None)], &[]);
        let reopened = json!({"v": 1, "id": "a", "status": "open", "at": "2026-05-06T00:00:00Z"});
        past.marks.push(serde_json::from_value(reopened).unwrap());
        let board =
            own_board(&[task("a", "open"), task("b", "blocked"), task("c", "open"), task("d", "closed")], &past);
        let seen: Vec<_> = board
            .iter()
            .map(|task| (task.finished, task.signals.iter().map(|signal| signal.says).collect::<Vec<_>>()))
            .collect();
        assert_eq!(seen, [(true, vec![Says::Right, Says::Wrong]), (true, vec![]), (false, vec![]), (true, vec![])]);
    }
}
