//! Traces: a conversation folded to what judging it needs, in bounded memory.

use super::planning::{announced_by_program, announced_with_message};
use super::{
    Planning, PlansUntil, Role, Timestamp, ToolKind, ToolStatus, TranscriptItem, Usage, is_feedback, is_internal,
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// So many of the latest tool calls are kept; older ones are only counted. A night's session has fewer, and a loop that
/// has more is found long before.
pub const KEPT_ACTIONS: usize = 5_000;
/// So many bytes are kept of a person's message, of the answer, and of a tool's output (half from each end).
pub const KEPT_BYTES: usize = 16 * 1024;
/// The arguments and outputs of the kept tool calls take so many bytes together, roughly; beyond it the oldest are
/// shortened to [`SHORT_BYTES`].
const KEPT_TOTAL: usize = 16 * 1024 * 1024;
/// What is left of old arguments and outputs: a test runner's summary still fits.
const SHORT_BYTES: usize = 1024;
/// So many calls are added before the sum is looked at again.
const SUM_EVERY: u64 = 256;
/// So many of a person's messages are kept: the first and the latest.
pub const KEPT_ASKED: usize = 50;

/// What happened in a conversation.
///
/// Fed item by item while an agent works ([`Trace::step`]), or from a transcript.
///
/// ```
/// # use reflexion_core::domain::{Trace, TranscriptItem, Role};
/// let mut trace = Trace::default();
/// trace.step(&TranscriptItem::Message { role: Role::User, text: "Fix it.".to_owned() }, None, None);
/// trace.step(&TranscriptItem::Message { role: Role::Assistant, text: "Done.".to_owned() }, None, None);
/// assert_eq!((trace.asked.len(), trace.response.as_str()), (1, "Done."));
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Trace {
    /// What was asked of the agent, oldest first: the task, and what people said afterwards.
    pub asked: Vec<Asked>,
    /// Tool calls, oldest first.
    pub actions: VecDeque<Action>,
    /// What the agent said last, after the last thing asked; empty if nothing.
    pub response: String,
    /// After so many tool calls it said that.
    #[serde(skip_serializing_if = "is_zero")]
    pub response_after: u64,
    /// The context was shortened: for each time, after how many tool calls.
    pub compactions: Vec<u64>,
    /// Tool calls in all, those that are not kept included.
    pub calls: u64,
    /// What was used, as far as the records say so.
    pub usage: Usage,
    /// Error records since the agent last said something.
    pub errors: u32,
    /// The agent is only to plan at the moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planning: Option<Planning>,
    /// The record ends in the middle: what came after is not known, so nothing is missing for sure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub broken_off: bool,
}

/// Something asked of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The words, at most [`KEPT_BYTES`].
    pub text: String,
    /// After so many tool calls.
    pub after: u64,
}

/// A tool call and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    /// The agent's id of the call.
    pub id: String,
    /// Its number in the conversation, from 0.
    pub number: u64,
    /// The agent's name of the tool.
    pub tool: String,
    /// What the tool does.
    pub kind: ToolKind,
    /// The command line, if it runs one.
    pub command: Option<String>,
    /// The files it edits, as the agent names them.
    pub edits: Vec<String>,
    /// Its arguments as JSON, at most [`KEPT_BYTES`].
    pub input: String,
    /// What came of it; none while it runs, or if that was never recorded.
    pub outcome: Option<Outcome>,
    /// The call of the sub-agent that made this one.
    pub parent: Option<String>,
    /// When it was called, where known.
    pub at: Option<Timestamp>,
}

/// What came of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// How it went, in the agent's words.
    pub status: ToolStatus,
    /// The exit status; unknown where the record has none, and never taken for a failure then.
    pub exit_code: Option<i32>,
    /// What it printed, at most [`KEPT_BYTES`].
    pub output: String,
}

impl Trace {
    /// Takes one item of a transcript. `parent` is the call of the sub-agent whose step it is, `at` when it happened.
    pub fn step(&mut self, item: &TranscriptItem, parent: Option<&str>, at: Option<Timestamp>) {
        match item {
            TranscriptItem::Message { role: Role::User, text } if parent.is_none() => self.ask(text),
            TranscriptItem::Message { role: Role::Assistant, text } if parent.is_none() => {
                self.errors = 0;
                if !text.trim().is_empty() {
                    self.response = kept(text);
                    self.response_after = self.calls;
                }
            }
            TranscriptItem::Message { role: Role::System, text } if parent.is_none() => {
                if let Some(plans) = announced_by_program(&kept(text)) {
                    self.plan(plans.then_some(PlansUntil::Left));
                }
            }
            TranscriptItem::ToolCall { id, tool, kind, input, edits } => {
                let action = Action {
                    id: id.clone(),
                    number: self.calls,
                    tool: tool.clone(),
                    kind: *kind,
                    command: command_of(*kind, input),
                    edits: edits.clone(),
                    input: kept(&input.to_string()),
                    outcome: None,
                    parent: parent.map(str::to_owned),
                    at,
                };
                self.act(action);
            }
            TranscriptItem::ToolResult { id, status, exit_code, output, .. } => {
                let outcome = Outcome { status: *status, exit_code: *exit_code, output: kept(output) };
                let mode = self.answered(id, outcome);
                if let Some(plans) = mode.filter(|_| *status == ToolStatus::Ok && parent.is_none()) {
                    self.plan(plans.then_some(PlansUntil::Left));
                }
            }
            TranscriptItem::Turn { usage } => self.usage += *usage,
            TranscriptItem::Compaction { .. } => self.compactions.push(self.calls),
            TranscriptItem::Error { .. } => self.errors += 1,
            _ => {}
        }
    }

    /// Takes what came of a call: of the open one of this id, else of one that went on in the background, whose exit
    /// status is told later. Says whether the call that it answers first enters or leaves a plan mode.
    fn answered(&mut self, id: &str, outcome: Outcome) -> Option<bool> {
        let own = |action: &&mut Action| action.id == *id;
        if let Some(action) = self.actions.iter_mut().rev().filter(own).find(|action| action.outcome.is_none()) {
            action.outcome = Some(outcome);
            return mode_of_tool(&action.tool);
        }
        let earlier = self.actions.iter_mut().rev().find(own)?.outcome.as_mut()?;
        if earlier.exit_code.is_none() && outcome.exit_code.is_some() && earlier.status == ToolStatus::Ok {
            let output = if outcome.output.is_empty() { std::mem::take(&mut earlier.output) } else { outcome.output };
            *earlier = Outcome { output, ..outcome };
        }
        None
    }

    /// Adds a tool call.
    pub fn act(&mut self, action: Action) {
        self.calls += 1;
        self.actions.push_back(action);
        if self.actions.len() > KEPT_ACTIONS {
            self.actions.pop_front();
        }
        if self.calls.is_multiple_of(SUM_EVERY) {
            self.shorten_old();
        }
    }

    /// Shortens the oldest calls until all together are within [`KEPT_TOTAL`].
    fn shorten_old(&mut self) {
        let mut held: usize = self.actions.iter().map(Action::bytes).sum();
        for action in &mut self.actions {
            if held <= KEPT_TOTAL {
                return;
            }
            held -= action.bytes();
            action.input = ends(&action.input, SHORT_BYTES);
            if let Some(outcome) = &mut action.outcome {
                outcome.output = ends(&outcome.output, SHORT_BYTES);
            }
            held += action.bytes();
        }
    }

    /// Takes the agent's own record of its mode, e.g. `plan`, `default`, `build`.
    pub fn mode(&mut self, name: &str) {
        self.plan(name.eq_ignore_ascii_case("plan").then_some(PlansUntil::Left));
    }

    /// It only plans from now on, or no longer; a plan mode that goes on keeps its beginning.
    fn plan(&mut self, until: Option<PlansUntil>) {
        let since = self.planning.map_or(self.calls, |planning| planning.since);
        self.planning = until.map(|until| Planning { since, until });
    }

    /// Adds something asked of the agent; what it said before is no answer to it.
    pub fn ask(&mut self, text: &str) {
        let text = kept(text);
        self.response.clear();
        if !is_feedback(&text) {
            if self.planning.is_some_and(|planning| planning.until == PlansUntil::NextAsked) {
                self.planning = None;
            }
            if let Some(plans) = announced_with_message(&text) {
                self.plan(plans.then_some(PlansUntil::NextAsked));
            }
        }
        self.asked.push(Asked { text, after: self.calls });
        if self.asked.len() > KEPT_ASKED {
            self.asked.remove(1);
        }
    }

    /// A conversation that the runtime itself leads to judge, review or reflect; nobody judges the judge.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        self.asked.first().is_some_and(|asked| is_internal(&asked.text))
    }

    /// The task in the words of whoever asked: the one message, or all of them, numbered. The runtime's own feedback is
    /// no task.
    #[must_use]
    pub fn task(&self) -> String {
        let asked: Vec<&Asked> = self.asked.iter().filter(|asked| !is_feedback(&asked.text)).collect();
        match asked.as_slice() {
            [] => String::new(),
            [one] => one.text.clone(),
            many => {
                many.iter().enumerate().map(|(i, a)| format!("[{}] {}", i + 1, a.text)).collect::<Vec<_>>().join("\n\n")
            }
        }
    }

    /// A tool call without a result: the agent is at work, or was stopped in the middle of it.
    #[must_use]
    pub fn running(&self) -> Option<&Action> {
        self.actions.back().filter(|action| action.outcome.is_none())
    }

    /// It said something after its last tool call: it came to rest, or is about to.
    #[must_use]
    pub fn rests(&self) -> bool {
        !self.response.is_empty() && self.response_after == self.calls
    }

    /// The tool calls since the last thing asked.
    pub fn since_asked(&self) -> impl Iterator<Item = &Action> {
        let after = self.asked.last().map_or(0, |asked| asked.after);
        self.actions.iter().filter(move |action| action.number >= after)
    }
}

impl Action {
    fn bytes(&self) -> usize {
        self.input.len() + self.outcome.as_ref().map_or(0, |outcome| outcome.output.len())
    }
}

/// The command line among a call's arguments: agents name it differently, and Codex gives a list of arguments.
fn command_of(kind: ToolKind, input: &serde_json::Value) -> Option<String> {
    if kind != ToolKind::Execute {
        return None;
    }
    // Codex gives the line alone.
    let value = match input {
        serde_json::Value::String(_) => input,
        input => ["command", "cmd", "script"].iter().find_map(|key| input.get(key))?,
    };
    match value {
        serde_json::Value::String(line) => Some(kept(line)),
        serde_json::Value::Array(argv) => {
            let words: Vec<&str> = argv.iter().filter_map(serde_json::Value::as_str).collect();
            match words.as_slice() {
                [shell, flag, line] if is_shell(shell) && flag.starts_with('-') && flag.ends_with('c') => {
                    Some(kept(line))
                }
                words => Some(kept(&words.join(" "))),
            }
        }
        _ => None,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Tools with which agents enter and leave their plan mode.
fn mode_of_tool(tool: &str) -> Option<bool> {
    match tool.to_ascii_lowercase().replace(['_', '-'], "").as_str() {
        "enterplanmode" | "planenter" => Some(true),
        "exitplanmode" | "planexit" => Some(false),
        _ => None,
    }
}

fn is_shell(program: &str) -> bool {
    matches!(program.rsplit('/').next(), Some("sh" | "bash" | "zsh" | "dash"))
}

fn kept(text: &str) -> String {
    ends(text, KEPT_BYTES)
}

/// Both ends of a text, with what is missing between them.
fn ends(text: &str, bytes: usize) -> String {
    /// A text that was shortened before is this much longer for the words about it, and is left as it is.
    const WORDS: usize = 64;
    if text.len() <= bytes + WORDS {
        return text.to_owned();
    }
    let half = bytes / 2;
    let (head, tail) = (text.floor_char_boundary(half), text.ceil_char_boundary(text.len() - half));
    format!("{}\n[… {} bytes left out …]\n{}", &text[..head], tail - head, &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(id: &str, input: serde_json::Value) -> TranscriptItem {
        let (id, tool, kind) = (id.to_owned(), "shell".to_owned(), ToolKind::Execute);
        TranscriptItem::ToolCall { id, tool, kind, input, edits: Vec::new() }
    }

    fn result(id: &str, exit_code: Option<i32>) -> TranscriptItem {
        let (id, status) = (id.to_owned(), ToolStatus::Ok);
        TranscriptItem::ToolResult { id, status, exit_code, output: String::new(), duration_ms: None }
    }

    fn said(role: Role, text: &str) -> TranscriptItem {
        TranscriptItem::Message { role, text: text.to_owned() }
    }

    fn trace(items: &[TranscriptItem]) -> Trace {
        let mut trace = Trace::default();
        items.iter().for_each(|item| trace.step(item, None, None));
        trace
    }

    #[test]
    fn an_answer_belongs_to_what_was_asked_last() {
        let spoken = [said(Role::User, "Do A."), said(Role::Assistant, "Done."), said(Role::User, "Now B.")];
        let trace = trace(&spoken);
        assert_eq!(trace.response, "");
        assert_eq!(trace.task(), "[1] Do A.\n\n[2] Now B.");
    }

    #[test]
    fn what_a_subagent_says_is_not_the_agents_answer() {
        let mut trace = trace(&[said(Role::User, "Do A."), said(Role::Assistant, "Working.")]);
        trace.step(&said(Role::User, "Look around."), Some("call-1"), None);
        trace.step(&said(Role::Assistant, "All is done."), Some("call-1"), None);
        assert_eq!((trace.asked.len(), trace.response.as_str()), (1, "Working."));
    }

    #[test]
    fn a_result_belongs_to_the_open_call_of_its_id() {
        let items = [
            call("1", json!({"command": "make"})),
            result("1", Some(2)),
            call("1", json!({"command": "make"})),
            result("1", None),
            result("nobody's", Some(0)),
        ];
        let trace = trace(&items);
        let exits: Vec<_> = trace.actions.iter().map(|a| a.outcome.as_ref().unwrap().exit_code).collect();
        assert_eq!(exits, [Some(2), None]);
        assert!(trace.running().is_none());
    }

    #[test]
    fn what_became_of_a_call_in_the_background_is_told_later_and_once() {
        let items = [
            call("1", json!({"command": "make test"})),
            result("1", None),
            call("2", json!({"command": "ls"})),
            result("2", Some(0)),
            result("1", Some(2)),
            result("1", Some(0)),
            result("2", Some(9)),
        ];
        let exits: Vec<_> = trace(&items).actions.iter().map(|a| a.outcome.as_ref().unwrap().exit_code).collect();
        assert_eq!(exits, [Some(2), Some(0)]);
    }

    #[test]
    fn a_call_without_a_result_runs() {
        let trace = trace(&[call("1", json!({"command": "sleep 9"}))]);
        assert_eq!(trace.running().unwrap().command.as_deref(), Some("sleep 9"));
    }

    #[test]
    fn a_command_line_is_found_where_agents_put_it() {
        fn check(input: serde_json::Value, expected: Option<&str>) {
            assert_eq!(command_of(ToolKind::Execute, &input).as_deref(), expected, "{input}");
        }
        check(json!({"command": "cargo test"}), Some("cargo test"));
        check(json!({"cmd": "ls"}), Some("ls"));
        check(json!("/bin/bash -lc 'make test'"), Some("/bin/bash -lc 'make test'"));
        check(json!({"command": ["bash", "-lc", "cd a && make"]}), Some("cd a && make"));
        check(json!({"command": ["git", "status"]}), Some("git status"));
        check(json!({"query": "x"}), None);
        assert_eq!(command_of(ToolKind::Read, &json!({"command": "x"})), None);
    }

    #[test]
    fn old_calls_are_shortened_and_new_ones_are_whole() {
        let mut trace = Trace::default();
        for i in 0..2 * KEPT_TOTAL / KEPT_BYTES {
            let id = i.to_string();
            trace.step(&call(&id, json!({"command": "make"})), None, None);
            let output = format!("{i} begins {} {i} ends", "x".repeat(2 * KEPT_BYTES));
            let (status, exit_code, duration_ms) = (ToolStatus::Failed, Some(2), None);
            trace.step(&TranscriptItem::ToolResult { id, status, exit_code, output, duration_ms }, None, None);
        }
        let held: usize = trace.actions.iter().map(Action::bytes).sum();
        assert!(held < KEPT_TOTAL + SUM_EVERY as usize * 2 * KEPT_BYTES, "{held}");
        let output = |i: usize| trace.actions[i].outcome.as_ref().unwrap().output.as_str();
        assert!(output(0).starts_with("0 begins") && output(0).ends_with("0 ends"), "{}", output(0));
        assert!(output(0).len() < 2 * SHORT_BYTES, "{}", output(0).len());
        assert!(output(trace.actions.len() - 1).len() > KEPT_BYTES);
    }

    #[test]
    fn memory_is_bounded_and_numbers_go_on() {
        let mut trace = Trace::default();
        for i in 0..KEPT_ACTIONS + 3 {
            trace.step(&call(&i.to_string(), json!({"command": "x".repeat(3)})), None, None);
        }
        assert_eq!((trace.actions.len(), trace.calls), (KEPT_ACTIONS, KEPT_ACTIONS as u64 + 3));
        assert_eq!(trace.actions.front().unwrap().number, 3);
        let long = kept(&"ä".repeat(KEPT_BYTES));
        assert!(long.len() < KEPT_BYTES + 100 && long.contains("bytes left out"));
        (0..200).for_each(|i| trace.ask(&i.to_string()));
        assert_eq!((trace.asked.len(), trace.asked[0].text.as_str()), (KEPT_ASKED, "0"));
    }
}
