//! `reflexion status`.

use super::Exit;
use super::args::StatusArgs;
use super::output::out;
use super::project;
use super::report::Found;
use super::report::find;
use crate::report::night;
use serde_json::json;
use std::path::Path;

pub(super) fn status(dir: &Path, args: StatusArgs) -> anyhow::Result<Exit> {
    let Found { night, times, .. } = find(dir, args.run.as_deref())?;
    let text = night::status(&night, &times);
    if args.json {
        project::print_json(&json!({
            "v": 1,
            "run": night.run,
            "state": night.state,
            "text": text,
            "counts": night.counts,
            "next": night.next,
        }))?;
    } else {
        out!("{text}");
    }
    Ok(Exit::Confirmed)
}
