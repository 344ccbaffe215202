//! One rule at one place of a record: what it says becomes a step.

use super::at::At;
use super::doc::{Doc, TEXT_BYTES};
use super::failure::Failure;
use super::fold::{Fold, Word};
use super::later::said_json;
use super::resets;
use super::rule::{Counts, Emit, ErrorAt, MessageAt, ToolCallAt, ToolResultAt, TurnAt, UsageRule, When};
use crate::domain::{Role, ToolKind, ToolStatus, TranscriptItem, Usage};

/// The exit status that stands after the prefix. A call that failed has none of 0, whatever its output says.
fn said_exit(prefix: &str, output: &str) -> Option<i32> {
    output.strip_prefix(prefix)?.lines().next()?.trim().parse().ok().filter(|code| *code != 0)
}

impl Fold {
    pub(super) fn emit(&mut self, emit: &'static Emit, at: At<'_, '_>) {
        match emit {
            Emit::Session(session) => {
                let Some(id) = at.text(&session.id) else { return };
                if self.conversation.as_ref() == Some(&id) {
                    return;
                }
                let model = session.model.as_ref().and_then(|path| at.text(path));
                self.conversation = Some(id.clone());
                self.model = model.clone().or(self.model.take());
                self.step(TranscriptItem::Session { agent_session: id, model }, at.parent);
            }
            Emit::Message(message) => self.message(message, at),
            Emit::Reasoning(path) => {
                if let Some(text) = at.text(path).filter(|text| !text.is_empty()) {
                    self.acts(at.parent);
                    self.step(TranscriptItem::Reasoning { text }, at.parent);
                }
            }
            Emit::ToolCall(call) => self.tool_call(call, at),
            Emit::ToolResult(result) => self.tool_result(result, at),
            Emit::Background(background) => self.background(background, at),
            Emit::Later(later) => self.later(later, at),
            Emit::Turn(turn) => self.turn_of(turn, at),
            Emit::Usage(rule) => self.total(rule, at),
            Emit::Compaction(path) => {
                let note = at.text(path).unwrap_or_default();
                self.step(TranscriptItem::Compaction { note }, at.parent);
            }
            Emit::Denied(path) => {
                if let Some(id) = at.text(path) {
                    self.deny(&id);
                }
            }
            Emit::Done(closing) => {
                self.flush();
                if !matches!(self.word, Some(Word::Fatal(_))) {
                    self.closing = closing.text.as_ref().and_then(|path| at.text(path));
                    self.word = Some(Word::Done);
                    self.error = None;
                    self.waiting = false;
                }
            }
            Emit::GoesOn {} => {
                self.waiting = false;
                if !matches!(self.word, Some(Word::Fatal(_))) {
                    self.word = None;
                }
            }
            Emit::Over {} => self.over = true,
            Emit::Retry(error) | Emit::Error(error) | Emit::Failed(error) | Emit::Fatal(error) => {
                self.trouble(emit, error, at);
            }
        }
    }

    fn message(&mut self, message: &MessageAt, at: At<'_, '_>) {
        let Some(text) = at.text(&message.text) else { return };
        let aside = message.role == Role::User && self.stream.asides.iter().any(|start| text.starts_with(start));
        let role = if aside { Role::System } else { message.role };
        if role == Role::Assistant {
            self.acts(at.parent);
        }
        if message.piece {
            match &mut self.begun {
                Some((begun, so_far, parent)) if *begun == role && parent.as_deref() == at.parent => {
                    // The cap of one text; what the rest says is lost, as in the middle of any other long text.
                    if so_far.len() + text.len() <= TEXT_BYTES {
                        so_far.push_str(&text);
                    }
                }
                _ => {
                    self.flush();
                    self.begun = Some((role, text, at.parent.map(str::to_owned)));
                }
            }
            return;
        }
        self.said(role, &text, at.parent);
        self.step(TranscriptItem::Message { role, text }, at.parent);
    }

    fn tool_call(&mut self, call: &ToolCallAt, at: At<'_, '_>) {
        let once = call.once.as_ref().and_then(|path| at.text(path));
        if once.is_some_and(|id| !self.is_new_answer(&id)) {
            return;
        }
        self.acts(at.parent);
        let tool = call.named.clone().or_else(|| at.text(call.tool.as_ref()?)).unwrap_or_default();
        let kind = self.params.description.tools.get(&tool).copied().unwrap_or_default();
        let edits = if kind == ToolKind::Edit { at.edits(&call.edits) } else { Vec::new() };
        let input = call.input.as_ref().and_then(|path| at.get(path));
        let input = input.map(|input| match input.text().filter(|_| call.input_is_json) {
            Some(text) => said_json(text),
            None => input.to_json(&mut TEXT_BYTES.clone()),
        });
        let input = input.unwrap_or_default();
        if at.parent.is_none() {
            // An announced limit may be followed by the agent's own words about it; a call is the model at work again.
            self.recovered();
            self.asking = kind == ToolKind::Ask;
            self.last_tool = None;
        }
        let id = at.text(&call.id).unwrap_or_default();
        self.step(TranscriptItem::ToolCall { id, tool, kind, input, edits }, at.parent);
    }

    fn tool_result(&mut self, result: &ToolResultAt, at: At<'_, '_>) {
        let id = at.text(&result.id).unwrap_or_default();
        let holds = |when: &Option<When>| when.as_ref().is_some_and(|when| at.holds(when));
        let status = if holds(&result.denied) || self.denied.contains(&id) {
            ToolStatus::Denied
        } else if holds(&result.failed) {
            ToolStatus::Failed
        } else {
            ToolStatus::Ok
        };
        if status == ToolStatus::Denied {
            self.deny(&id);
        }
        if at.parent.is_none() {
            self.last_tool = Some(status);
            self.asking = self.asking && status == ToolStatus::Denied;
            self.answering = false;
        }
        let code = result.exit_code.as_ref().and_then(|path| Some(at.get(path)?.number()? as i32));
        let output = at.first_text(&result.output).unwrap_or_default();
        let code = code.or_else(|| result.exit_code_line.as_ref()?.in_words(&output));
        let code = code.or_else(|| match status {
            ToolStatus::Ok => holds(&result.exit_zero).then_some(0),
            ToolStatus::Failed => said_exit(result.exit_code_prefix.as_deref()?, &output),
            ToolStatus::Denied => None,
        });
        let duration_ms = result.times.as_ref().and_then(|(from, to)| {
            let (from, to) = (at.get(from)?.count()?, at.get(to)?.count()?);
            to.checked_sub(from)
        });
        let item = TranscriptItem::ToolResult { id, status, exit_code: code, output, duration_ms };
        self.step(item, at.parent);
    }

    fn turn_of(&mut self, turn: &TurnAt, at: At<'_, '_>) {
        self.waiting = false;
        let id = turn.once.as_ref().and_then(|path| at.text(path));
        if id.is_some_and(|id| !self.is_new_answer(&id)) {
            return;
        }
        let usage = turn.usage.as_ref().map(|usage| at.usage(usage)).unwrap_or_default();
        self.turn(usage, at.parent);
        self.turn_ended = turn.at_end;
    }

    fn total(&mut self, rule: &UsageRule, at: At<'_, '_>) {
        let mut usage = Usage::default();
        match &rule.each {
            None => usage = at.usage(&rule.at),
            Some(each) => {
                for entry in at.get(each).into_iter().flat_map(Doc::items) {
                    usage += At { entry, ..at }.usage(&rule.at);
                }
            }
        }
        match rule.counts {
            Counts::Run => self.usage += usage,
            Counts::Conversation => self.usage = usage.without(self.params.earlier),
        }
    }

    fn trouble(&mut self, emit: &Emit, error: &ErrorAt, at: At<'_, '_>) {
        let clock = &self.params.clock;
        let now = clock.now();
        let status = error.status.as_ref().and_then(|path| u16::try_from(at.get(path)?.number()? as i64).ok());
        let reset = error.resets_at.iter().find_map(|path| resets::time(at.get(path)?));
        let wait = || error.retry_after.iter().find_map(|path| resets::after(now, at.get(path)?.number()?));
        let message = at.first_text(&error.message).unwrap_or_default();
        let in_words = || {
            let errors = &self.params.description.errors;
            errors.words.iter().find_map(|words| resets::in_words(words.say.regex(), &message, now, &clock.zone()))
        };
        let failure = Failure {
            resets_at: reset.or_else(wait),
            resets_in_words: in_words(),
            status,
            kinds: error.kind.iter().filter_map(|path| at.text(path)).collect(),
            message: message.clone(),
        };
        match emit {
            Emit::Retry(_) => {
                self.step(TranscriptItem::Retry { status, message }, at.parent);
                self.retried = true;
                self.error = Some(failure);
                self.waiting = true;
                return;
            }
            Emit::Fatal(_) => self.word = Some(Word::Fatal(failure)),
            Emit::Failed(_) if !matches!(self.word, Some(Word::Fatal(_))) => {
                self.word = Some(Word::Failed(failure.after(self.error.take())));
            }
            _ => self.failed(failure),
        }
        self.waiting = false;
        self.step(TranscriptItem::Error { status, message }, at.parent);
    }
}
