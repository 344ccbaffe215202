//! The text of `project.json`: its keys in reading order, with comments on top.

use super::found::Found;
use crate::domain::CheckSpec;
use serde_json::Value;
use serde_json::json;
use std::collections::BTreeMap;

/// A `project.json` of what was found.
pub(super) fn proposal(name: &str, found: &[Found]) -> Value {
    let env: BTreeMap<&String, &String> = found.iter().flat_map(|found| &found.env).collect();
    let mut proposal = json!({
        "//": comments(found),
        "name": name,
        "tasks": "tasks.jsonl",
        "checks": checks(found),
        "setup": setup(found),
        "carry": carry(found),
        "workspace": { "env": env },
        "agents": { "default": "repair" },
        "reflexion": {
            "enabled": true,
            "maxReflectionsPerRetry": 3,
            "generationTimeoutMs": 30_000,
            "retentionDays": 30,
        },
    });
    if let Some(map) = proposal.as_object_mut()
        && map["setup"].is_null()
    {
        map.shift_remove("setup");
    }
    proposal
}

/// The checks of all that was found.
pub(super) fn checks(found: &[Found]) -> Vec<&CheckSpec> {
    found.iter().flat_map(|found| &found.checks).collect()
}

fn setup(found: &[Found]) -> Option<String> {
    let lines: Vec<&str> = found.iter().flat_map(|found| &found.setup).map(String::as_str).collect();
    (!lines.is_empty()).then(|| lines.join(" && "))
}

fn carry(found: &[Found]) -> Vec<&String> {
    found.iter().flat_map(|found| &found.carry).collect()
}

fn comments(found: &[Found]) -> Vec<String> {
    let mut lines = vec![
        "Settings of reflexion. Every key is optional; `reflexion config show` prints what is in effect and why.".to_owned(),
        "Tasks are in `tasks`, one JSON object a line: reflexion task add 'What is to be done' --check 'a command that must pass'".to_owned(),
        String::new(),
        "checks: what reflexion itself runs after every attempt; a string goes to `sh -c`. All must pass. 10 minutes each, unless `timeoutMs` says otherwise.".to_owned(),
        "setup: runs once in a new workspace, and again when a lockfile changed. carry: untracked things copied into it.".to_owned(),
    ];
    if checks(found).is_empty() {
        lines.push(NO_CHECK.to_owned());
    }
    for found in found {
        let place = if found.place == "." { String::new() } else { format!(" in {}", found.place) };
        lines.push(format!("{}{place}:", found.toolchain));
        lines.extend(found.why.iter().map(|why| format!("  - {why}")));
    }
    lines.extend([
        String::new(),
        "agents: `repair` is built in, needs no account, and only finds small mistakes. Any program that reads a prompt on stdin can be an agent, e.g.:".to_owned(),
        r#"  "agents": {"default": "claude", "claude": {"type": "command", "argv": ["claude", "-p", "--permission-mode", "acceptEdits"]}}"#.to_owned(),
        r#"  "agents": {"default": ["codex", "repair"], "codex": {"type": "command", "argv": ["codex", "exec", "--full-auto", "-"]}}"#.to_owned(),
        "Next: reflexion doctor --checks (tries setup and checks), reflexion task add …, reflexion run".to_owned(),
    ]);
    lines
}

/// What it means to have no check, and what to do.
pub(super) const NO_CHECK: &str = "There is no check yet: without one, nothing can be confirmed and every task ends `unverifiable`. \
     Add one, e.g. \"checks\": [{\"name\": \"test\", \"run\": \"./test.sh\"}], or one for each task with `reflexion task add … --check '…'`.";
