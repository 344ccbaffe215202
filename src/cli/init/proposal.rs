//! The text of `project.json`: its keys in reading order, with comments on top.

use super::found::Found;
use crate::domain::CheckSpec;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Who works where no coding agent is installed.
const REPAIR: &str = "repair";

/// A `project.json` of what was found; `agent` is the coding agent that works, if one is installed.
pub(super) fn proposal(name: &str, found: &[Found], agent: Option<&str>) -> Value {
    let env: BTreeMap<&String, &String> = found.iter().flat_map(|found| &found.env).collect();
    let mut proposal = json!({
        "//": comments(found, agent),
        "name": name,
        "tasks": "tasks.jsonl",
        "checks": checks(found),
        "setup": setup(found),
        "carry": carry(found),
        "workspace": { "env": env },
        "agents": { "default": agent.unwrap_or(REPAIR) },
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

fn comments(found: &[Found], agent: Option<&str>) -> Vec<String> {
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
        match agent {
            Some(agent) => format!("agents: `{agent}` is installed here and works on tasks in workspaces of its own, without asking for permissions; a worktree is no sandbox."),
            None => "agents: no coding agent was found here; `repair` is built in, needs no account, and only finds small mistakes.".to_owned(),
        },
        "The name of an installed agent is enough (claude, codex, opencode, gemini), and a list is a fallback chain, e.g.:".to_owned(),
        r#"  "agents": {"default": ["claude", "codex"]}"#.to_owned(),
        "Any other program that reads a prompt on stdin and edits files can be an agent too, e.g.:".to_owned(),
        r#"  "agents": {"default": "mine", "mine": {"type": "command", "argv": ["./my-agent.sh"], "timeoutMs": 1800000}}"#.to_owned(),
        "Next: reflexion doctor --checks (looks at the agent and its login, tries setup and checks), reflexion task add …, reflexion run".to_owned(),
    ]);
    lines
}

/// What it means to have no check, and what to do.
pub(super) const NO_CHECK: &str = "There is no check yet: without one, nothing can be confirmed and every task ends `unverifiable`. \
     Add one, e.g. \"checks\": [{\"name\": \"test\", \"run\": \"./test.sh\"}], or one for each task with `reflexion task add … --check '…'`.";
