//! A run's report in one line, as one wants to read it on a phone.

use crate::domain::{NoticeKind, RunReport, Stop, TaskId, TaskReport, Verdict};
use std::collections::BTreeSet;

/// The end of a run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Headline {
    pub kind: NoticeKind,
    pub title: String,
    pub text: String,
}

/// What came of a run; `waiting` are the tasks that a person was called for.
pub(super) fn headline(report: &RunReport, waiting: &BTreeSet<TaskId>) -> Headline {
    let all = report.tasks.len();
    let open: Vec<&TaskReport> = report.tasks.iter().filter(|t| !done(t)).collect();
    let confirmed = all - open.len();
    let took = took(report.totals.duration_ms);
    if open.is_empty() && !report.interrupted {
        let title = match all {
            1 => format!("task `{}` is confirmed", report.tasks[0].id),
            _ => format!("all {all} tasks are confirmed"),
        };
        let yours: Vec<&TaskReport> = report.tasks.iter().filter(|task| task.needs.is_some()).collect();
        let text = if yours.is_empty() { took } else { format!("yours to merge: {}; {took}", names(&yours)) };
        return Headline { kind: NoticeKind::Finished, title, text };
    }
    let interrupted = if report.interrupted { "interrupted, " } else { "" };
    let (yours, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(|task| waiting.contains(&task.id));
    let refuted = rest.iter().filter(|t| matches!(t.verdict, Some(Verdict::Failed | Verdict::FalseDone))).count();
    let unverifiable = rest.iter().filter(|t| t.verdict == Some(Verdict::Unverifiable)).count();
    let limited = rest.iter().filter(|t| t.verdict.is_none() && t.stop == Some(Stop::Limit)).count();
    let used_up = rest.iter().filter(|t| t.verdict.is_none() && t.stop == Some(Stop::Budget)).count();
    let left = rest.len() - refuted - unverifiable - limited - used_up;
    let mut parts = Vec::new();
    if !yours.is_empty() {
        parts.push(format!("needs you: {}", names(&yours)));
    }
    let counted = [
        (refuted, "not solved"),
        (unverifiable, "without anything to check"),
        (limited, "stopped by a limit"),
        (used_up, "stopped by a budget"),
        (left, "left open"),
    ];
    parts.extend(counted.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
    parts.push(took);
    let title = format!("{interrupted}{confirmed} of {all} confirmed");
    Headline { kind: NoticeKind::Ended, title, text: parts.join("; ") }
}

/// Confirmed, and nothing kept it from where confirmed work goes.
fn done(task: &TaskReport) -> bool {
    task.verdict == Some(Verdict::Confirmed) && task.stop.is_none()
}

/// The first few by name.
fn names(tasks: &[&TaskReport]) -> String {
    const NAMED: usize = 3;
    let named = tasks.iter().take(NAMED).map(|task| task.id.as_str()).collect::<Vec<_>>().join(", ");
    match tasks.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn took(ms: u64) -> String {
    let minutes = ms / 60_000;
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("took {} s", ms / 1000),
        (0, minutes) => format!("took {minutes} min"),
        (hours, minutes) => format!("took {hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notify::fixtures::report;

    fn check(report: &RunReport, waiting: &[&str], expected: (NoticeKind, &str, &str)) {
        let waiting = waiting.iter().map(|id| TaskId::new(*id).unwrap()).collect();
        let found = headline(report, &waiting);
        assert_eq!((found.kind, found.title.as_str(), found.text.as_str()), expected);
    }

    #[test]
    fn a_run_is_a_line() {
        const OK: Option<Verdict> = Some(Verdict::Confirmed);
        const NO: Option<Verdict> = Some(Verdict::FalseDone);
        let environment = Some(Stop::Environment);
        check(&report(&[("a", OK, None)], 0), &[], (NoticeKind::Finished, "task `a` is confirmed", "took 0 s"));
        check(
            &report(&[("a", OK, None), ("b", OK, None)], 125),
            &[],
            (NoticeKind::Finished, "all 2 tasks are confirmed", "took 2 h 5 min"),
        );
        let mixed = [
            ("a", OK, None),
            ("b", NO, None),
            ("c", None, environment),
            ("d", None, Some(Stop::Limit)),
            ("e", None, Some(Stop::Dependency)),
            ("f", Some(Verdict::Unverifiable), None),
        ];
        let text =
            "needs you: c; 1 not solved; 1 without anything to check; 1 stopped by a limit; 1 left open; took 3 min";
        check(&report(&mixed, 3), &["a", "c"], (NoticeKind::Ended, "1 of 6 confirmed", text));
        let many: Vec<_> = ["a", "b", "c", "d", "e"].map(|id| (id, None, environment)).to_vec();
        let text = "needs you: a, b, c and 2 more; took 1 min";
        check(&report(&many, 1), &["a", "b", "c", "d", "e"], (NoticeKind::Ended, "0 of 5 confirmed", text));
        let mut stopped = report(&[("a", OK, None)], 1);
        stopped.interrupted = true;
        check(&stopped, &[], (NoticeKind::Ended, "interrupted, 1 of 1 confirmed", "took 1 min"));
    }
}
