//! `reflexion status`.

use super::args::StatusArgs;
use super::output::out;
use super::report::{Found, Waits, find, waits};
use super::{Exit, project};
use crate::report::night;
use serde_json::{Value, json};
use std::path::Path;

pub(super) async fn status(dir: &Path, args: StatusArgs) -> anyhow::Result<Exit> {
    let waits = waits(dir, args.run.as_deref()).await?;
    let said = waits.as_ref().map(|waits| waits.text.clone()).unwrap_or_default();
    let waiting = waits.as_ref().map(|Waits { waiting, .. }| json!({ "pid": waiting.pid, "until": waiting.until }));
    let (text, mut document) = if waits.is_some_and(|waits| waits.alone) {
        (said, json!({ "run": Value::Null, "state": "waiting", "counts": Value::Null, "next": [] }))
    } else {
        let Found { night, times, .. } = find(dir, args.run.as_deref()).await?;
        let document = json!({ "run": night.run, "state": night.state, "counts": night.counts, "next": night.next });
        (said + &night::status(&night, &times), document)
    };
    if args.json {
        document["v"] = 1.into();
        document["text"] = text.into();
        document["waiting"] = waiting.into();
        project::print_json(&document)?;
    } else {
        out!("{text}");
    }
    Ok(Exit::Confirmed)
}
