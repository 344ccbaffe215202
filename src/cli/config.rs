//! `reflexion config`.

use super::args::{ConfigArgs, ConfigCommand};
use super::output::outln;
use super::{Exit, project};
use serde_json::{Map, Value, json};
use std::path::Path;

pub(super) fn config(dir: &Path, args: ConfigArgs) -> anyhow::Result<Exit> {
    let ConfigCommand::Show { json } = args.command;
    let effective = project::load(dir, Vec::new())?;
    effective.settings()?;
    if json {
        let values = effective.values.iter();
        let values: Map<String, Value> = values
            .map(|(key, (value, origin))| (key.clone(), json!({ "value": value, "origin": origin.to_string() })))
            .collect();
        project::print_json(&json!({ "values": values, "warnings": effective.warnings }))?;
    } else {
        for (key, (value, origin)) in &effective.values {
            outln!("{key} = {value}  ({origin})");
        }
    }
    Ok(Exit::Confirmed)
}
