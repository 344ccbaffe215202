//! Reports for tests.

use crate::domain::{RunReport, Stop, Verdict};
use serde_json::json;

/// The report of a run of so many minutes; tasks are `(id, verdict, stop)`.
pub(super) fn report(tasks: &[(&str, Option<Verdict>, Option<Stop>)], minutes: u64) -> RunReport {
    let task = |(id, verdict, stop): &(&str, Option<Verdict>, Option<Stop>)| {
        json!({
            "id": id, "verdict": verdict, "stop": stop, "attempts": 1, "solvedAt": null, "reflectionsWritten": 0,
            "reflectionsInjected": 0, "tokens": null, "costUsd": null, "durationMs": 0, "endings": [],
        })
    };
    let tasks: Vec<_> = tasks.iter().map(task).collect();
    let totals = json!({ "durationMs": minutes * 60_000 });
    serde_json::from_value(json!({ "run": "r", "project": "p", "tasks": tasks, "totals": totals })).unwrap()
}
