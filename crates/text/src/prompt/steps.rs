//! What an agent did, in order and in short, from its trace.

use super::budget::{one_line, plain, shorten};
use super::readable::relative;
use crate::domain::{Action, Did, Step, ToolKind, Trace};
use std::path::Path;

/// So much of a command line or a path is kept.
const WHAT_BYTES: usize = 200;
/// Steps that are kept of the beginning: how it went about it.
const FIRST: usize = 10;
/// Steps that are kept of the end: what it did last.
const LAST: usize = 30;

/// The steps of an agent in order, and how many of the middle were left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentSteps {
    /// The steps, each with how often it was taken in a row.
    pub steps: Vec<Step>,
    /// How many of the middle were left out, or are not kept in the trace.
    pub left_out: usize,
}

impl AgentSteps {
    /// Of a trace. Paths below these directories are named from there; the same step several times in a row is one.
    #[must_use]
    pub fn of(trace: &Trace, dirs: &[&Path]) -> Self {
        let mut steps: Vec<Step> = Vec::new();
        for step in trace.actions.iter().flat_map(|action| steps_of(action, dirs)) {
            match steps.last_mut() {
                Some(last) if (last.did, &last.what, last.exit_status) == (step.did, &step.what, step.exit_status) => {
                    last.times = last.times.saturating_add(1);
                }
                _ => steps.push(step),
            }
        }
        let not_kept = usize::try_from(trace.calls).unwrap_or(usize::MAX).saturating_sub(trace.actions.len());
        let left_out = steps.len().saturating_sub(FIRST + LAST);
        steps.drain(FIRST.min(steps.len())..FIRST.min(steps.len()) + left_out);
        Self { steps, left_out: left_out + not_kept }
    }
}

/// A call may change several files.
fn steps_of(action: &Action, dirs: &[&Path]) -> Vec<Step> {
    let step = |did: Did, what: &str, exit_status: Option<i32>| {
        let what = one_line(&plain(what));
        let what = dirs.iter().fold(what, |what, dir| relative(&what, dir).into_owned());
        Step { did, what: shorten(&what, WHAT_BYTES).into_owned(), exit_status, times: 1 }
    };
    if let Some(command) = &action.command {
        let exit_status = action.outcome.as_ref().and_then(|outcome| outcome.exit_code);
        return vec![step(Did::Run, command, exit_status)];
    }
    if !action.edits.is_empty() {
        return action.edits.iter().map(|file| step(Did::Edit, file, None)).collect();
    }
    let read = (action.kind == ToolKind::Read).then(|| file_of(&action.input)).flatten();
    read.map(|file| step(Did::Read, &file, None)).into_iter().collect()
}

/// The file that a tool's arguments name.
fn file_of(input: &str) -> Option<String> {
    const NAMES: [&str; 5] = ["file_path", "filePath", "path", "absolute_path", "file"];
    let input: serde_json::Value = serde_json::from_str(input).ok()?;
    NAMES.iter().find_map(|name| Some(input.get(name)?.as_str()?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ToolStatus, TranscriptItem};
    use serde_json::json;

    fn call(trace: &mut Trace, kind: ToolKind, input: serde_json::Value, edits: &[&str], exit_code: Option<i32>) {
        let (id, tool) = (trace.calls.to_string(), "x".to_owned());
        let edits = edits.iter().map(|file| (*file).to_owned()).collect();
        trace.step(&TranscriptItem::ToolCall { id: id.clone(), tool, kind, input, edits }, None, None);
        let result = TranscriptItem::ToolResult {
            id,
            status: ToolStatus::Ok,
            exit_code,
            output: String::new(),
            duration_ms: None,
        };
        trace.step(&result, None, None);
    }

    #[test]
    fn steps_are_told_in_order_with_paths_of_the_workspace() {
        let mut trace = Trace::default();
        call(&mut trace, ToolKind::Read, json!({"file_path": "/w/room/a.py"}), &[], None);
        call(&mut trace, ToolKind::Search, json!({"pattern": "x"}), &[], None);
        call(&mut trace, ToolKind::Edit, json!({}), &["a.py", "b.py"], None);
        for _ in 0..2 {
            call(&mut trace, ToolKind::Execute, json!({"command": "cd /w/room &&\n pytest -q"}), &[], Some(1));
        }
        let digest = AgentSteps::of(&trace, &["/w/room".as_ref()]);
        let told: Vec<_> =
            digest.steps.iter().map(|s| (s.did.as_str(), s.what.as_str(), s.exit_status, s.times)).collect();
        assert_eq!(
            told,
            [
                ("read", "a.py", None, 1),
                ("edited", "a.py", None, 1),
                ("edited", "b.py", None, 1),
                ("ran", "cd . && pytest -q", Some(1), 2)
            ]
        );
        assert_eq!(digest.left_out, 0);
    }

    #[test]
    fn of_many_steps_the_beginning_and_the_end_are_kept() {
        let mut trace = Trace::default();
        for n in 0..50 {
            call(&mut trace, ToolKind::Edit, json!({}), &[&format!("f{n}")], None);
        }
        let digest = AgentSteps::of(&trace, &[]);
        assert_eq!((digest.steps.len(), digest.left_out), (40, 10));
        assert_eq!((digest.steps[9].what.as_str(), digest.steps[10].what.as_str()), ("f9", "f20"));
    }
}
