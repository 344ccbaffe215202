//! What an agent has said so far: its stream, record by record, becomes steps, usage, and grounds for its ending.

use super::at::At;
use super::description::{Class, Description};
use super::doc::Doc;
use super::failure::Failure;
use super::lines::Line;
use super::resets;
use super::rule::{Rule, Stream};
use crate::domain::{Role, Timestamp, ToolStatus, TranscriptItem, Usage};
use crate::services::{AgentWatch, Clock, Flow};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// So much of a record that no rule knows is kept, to see what it was.
const UNKNOWN_BYTES: usize = 500;
/// So many of one name are kept; the others are counted.
const UNKNOWN_KEPT: u64 = 2;
/// So many names are told apart; a program that prints garbage must not fill the memory with names.
const UNKNOWN_NAMES: usize = 50;
/// So many refused calls, and answers of the model, are told apart.
const IDS: usize = 1000;

/// What an agent has said so far.
pub struct Fold {
    pub(super) params: FoldParams,
    /// The description's stream, or its transcript.
    pub(super) stream: &'static Stream,
    /// Records read, known or not.
    pub(super) records: u64,
    /// Lines that are no record, and records that no rule knows, by name.
    pub unknown: BTreeMap<String, u64>,
    /// The agent's own id of the conversation.
    pub conversation: Option<String>,
    pub(super) model: Option<String>,
    /// What the model said last.
    pub message: String,
    /// What the agent says in closing.
    pub closing: Option<String>,
    pub(super) turns: u32,
    /// The record ended a turn.
    pub(super) turn_ended: bool,
    /// The model is acting: what it does now is of the same answer.
    pub(super) answering: bool,
    pub(super) answers: VecDeque<String>,
    /// Calls that go on by themselves: the task and the call.
    pub(super) background: VecDeque<(String, String)>,
    pub(super) turns_usage: Usage,
    pub(super) usage: Usage,
    /// Calls that were refused, by their ids.
    pub denied: BTreeSet<String>,
    /// A message that comes in pieces.
    pub(super) begun: Option<(Role, String, Option<String>)>,
    pub(super) word: Option<Word>,
    /// The last error since the last success.
    pub(super) error: Option<Failure>,
    /// The last record is that the agent waits for its model.
    pub(super) waiting: bool,
    pub(super) retried: bool,
    pub(super) last_tool: Option<ToolStatus>,
    /// The last call asks a person.
    pub(super) asking: bool,
    pub(super) over: bool,
    /// Why the runtime ends the run.
    pub(super) stop: Option<(Class, String)>,
    pub(super) failures: BTreeMap<Class, u32>,
    /// When the record that is being read was written.
    pub(super) at: Option<Timestamp>,
    /// In which mode the record that is being read says that the agent works.
    pub(super) mode: Option<String>,
    /// Whose conversation is read, known from the first record.
    pub(super) reader: Whose,
}

/// Whose conversation is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Whose {
    /// No record was read yet.
    #[default]
    Unknown,
    /// The agent's.
    Agent,
    /// A sub-agent's own.
    Subagent(String),
}

/// What a [`Fold`] works with.
pub struct FoldParams {
    /// Whose program it is.
    pub description: &'static Description,
    /// Gets the steps.
    pub watch: Arc<dyn AgentWatch>,
    /// Turns waits into reset times.
    pub clock: Arc<dyn Clock>,
    /// The model asked for, where the stream names none.
    pub model: Option<String>,
    /// A limit of the model's answers.
    pub max_turns: Option<u32>,
    /// A limit of what the run costs, in US dollars.
    pub max_cost_usd: Option<f64>,
    /// What the conversation used before.
    pub earlier: Usage,
}

/// What the agent says of itself.
#[derive(Debug)]
pub(super) enum Word {
    Done,
    Failed(Failure),
    /// It failed, and nothing that follows changes it.
    Fatal(Failure),
}

impl Fold {
    /// Of what a program prints.
    pub fn new(params: FoldParams) -> Self {
        let stream = &params.description.stream;
        Self::of(params, stream)
    }

    /// Of what a program prints, or of the transcript that it writes.
    pub(super) fn of(params: FoldParams, stream: &'static Stream) -> Self {
        Self {
            params,
            stream,
            records: 0,
            unknown: BTreeMap::new(),
            conversation: None,
            model: None,
            message: String::new(),
            closing: None,
            turns: 0,
            turn_ended: false,
            answering: false,
            answers: VecDeque::new(),
            background: VecDeque::new(),
            turns_usage: Usage::default(),
            usage: Usage::default(),
            denied: BTreeSet::new(),
            begun: None,
            word: None,
            error: None,
            waiting: false,
            retried: false,
            last_tool: None,
            asking: false,
            over: false,
            stop: None,
            failures: BTreeMap::new(),
            at: None,
            mode: None,
            reader: Whose::Unknown,
        }
    }

    /// Takes a line.
    pub fn line(&mut self, line: Line<'_>) -> Flow {
        match line {
            Line::TooLong => self.unknown("line over 8 MiB", b""),
            Line::Whole(line) => {
                let line = line.trim_ascii();
                if !line.is_empty() {
                    self.read(line);
                }
            }
        }
        self.check_limits();
        match (&self.stop, self.over) {
            (Some(_), _) => Flow::Stop,
            (None, true) => Flow::Done,
            (None, false) => Flow::Continue,
        }
    }

    fn read(&mut self, line: &[u8]) {
        let shape = &self.stream.shape;
        match shape.read(line) {
            Ok(doc @ Doc::Map(_)) => self.record(&doc, line),
            Ok(_) => self.unknown("not an object", line),
            Err(_) => {
                // Colours around a record, or bytes that are no text in it, do not make it unreadable.
                let plain = crate::prompt::plain(&String::from_utf8_lossy(line)).into_owned();
                match shape.read(plain.trim().as_bytes()) {
                    Ok(doc @ Doc::Map(_)) => self.record(&doc, line),
                    _ => self.unknown("not JSON", line),
                }
            }
        }
    }

    fn record(&mut self, record: &Doc<'_>, line: &[u8]) {
        let stream = self.stream;
        let name = stream.name_of(record);
        let Some(rules) = stream.rules(&name, record) else {
            self.unknown(if name.is_empty() { "record without a type" } else { &name }, line);
            return;
        };
        self.records += 1;
        self.turn_ended = false;
        self.at = stream.time.as_ref().and_then(|path| resets::time(record.at(path)?));
        let parent = self.parent_of(record);
        let mode = || stream.mode.iter().find_map(|path| Some(record.at(path)?.text()?.to_owned()));
        self.mode = parent.is_none().then(mode).flatten();
        for rule in rules {
            self.apply(rule, record, parent.as_deref());
        }
    }

    /// The sub-agent whose record it is; none for the conversation that is being read.
    fn parent_of(&mut self, record: &Doc<'_>) -> Option<String> {
        let said = self.stream.parent.iter().find_map(|path| match record.at(path)? {
            Doc::Text(id) => Some(id.clone().into_owned()),
            Doc::Bool(true) => Some("sub-agent".to_owned()),
            _ => None,
        });
        if self.reader == Whose::Unknown {
            self.reader = said.clone().map_or(Whose::Agent, Whose::Subagent);
        }
        said.filter(|said| !matches!(&self.reader, Whose::Subagent(own) if own == said))
    }

    fn apply(&mut self, rule: &'static Rule, record: &Doc<'_>, parent: Option<&str>) {
        match &rule.each {
            None => self.emit_if(rule, At { record, entry: record, parent }),
            Some(each) => {
                for entry in record.at(each).into_iter().flat_map(Doc::items) {
                    self.emit_if(rule, At { record, entry, parent });
                }
            }
        }
    }

    fn emit_if(&mut self, rule: &'static Rule, at: At<'_, '_>) {
        if at.holds(&rule.when) {
            self.emit(&rule.emit, at);
        }
    }

    fn unknown(&mut self, name: &str, line: &[u8]) {
        self.records += 1;
        let full = self.unknown.len() >= UNKNOWN_NAMES && !self.unknown.contains_key(name);
        let name = if full { "others" } else { name };
        let count = self.unknown.entry(name.to_owned()).or_default();
        *count += 1;
        if *count <= UNKNOWN_KEPT {
            let line = String::from_utf8_lossy(&line[..line.len().min(UNKNOWN_BYTES)]).into_owned();
            let name = name.to_owned();
            self.step(TranscriptItem::Unknown { name, line }, None);
        }
    }

    /// Tells a step, after the message that came in pieces before it.
    pub(super) fn step(&mut self, item: TranscriptItem, parent: Option<&str>) {
        self.flush();
        self.params.watch.step(item, parent.map(str::to_owned));
    }

    /// Tells the message whose pieces have come.
    pub(super) fn flush(&mut self) {
        if let Some((role, text, parent)) = self.begun.take() {
            self.said(role, &text, parent.as_deref());
            self.params.watch.step(TranscriptItem::Message { role, text }, parent);
        }
    }

    /// Remembers what the model said last.
    pub(super) fn said(&mut self, role: Role, text: &str, parent: Option<&str>) {
        if role == Role::Assistant && parent.is_none() && !text.trim().is_empty() {
            text.clone_into(&mut self.message);
        }
    }

    /// The model acts: another turn begins if it had been waiting for a tool.
    pub(super) fn acts(&mut self, parent: Option<&str>) {
        self.waiting = false;
        if parent.is_none() && self.error.as_ref().is_some_and(|error| error.resets_at.is_none()) {
            self.recovered();
        }
        if self.stream.infer_turns && !self.answering {
            self.answering = true;
            self.turn(Usage::default(), parent);
        }
    }

    /// What went wrong before is over, and decides nothing any more.
    pub(super) fn recovered(&mut self) {
        self.error = None;
        self.retried = false;
    }

    pub(super) fn turn(&mut self, usage: Usage, parent: Option<&str>) {
        if parent.is_none() {
            self.turns += 1;
        }
        self.turns_usage += usage;
        self.step(TranscriptItem::Turn { usage }, parent);
    }

    /// Whether this answer of the model was not seen before.
    pub(super) fn is_new_answer(&mut self, id: &str) -> bool {
        if self.answers.iter().rev().any(|seen| seen == id) {
            return false;
        }
        // Sub-agents answer in between, so more than the last one is remembered; answers far apart are never one.
        if self.answers.len() >= 32 {
            self.answers.pop_front();
        }
        self.answers.push_back(id.to_owned());
        true
    }

    pub(super) fn deny(&mut self, id: &str) {
        if self.denied.len() < IDS {
            self.denied.insert(id.to_owned());
        }
    }

    pub(super) fn failed(&mut self, failure: Failure) {
        let class = failure.class(self.params.description, None, self.retried);
        let count = self.failures.entry(class).or_default();
        *count += 1;
        let limit = self.params.description.errors.give_up_after.get(&class);
        if limit.is_some_and(|limit| *count >= *limit) {
            self.stop.get_or_insert((class, failure.message.clone()));
        }
        // What announced a limit knows more exactly when it resets than what repeats it.
        let limited = class == Class::RateLimited;
        self.error = Some(if limited { failure.after(self.error.take()) } else { failure });
    }

    fn check_limits(&mut self) {
        if self.stop.is_some() || self.word.is_some() {
            return;
        }
        if let Some(max) = self.params.max_turns
            && (self.turns > max || self.turn_ended && self.turns >= max)
        {
            self.stop = Some((Class::Budget, format!("the limit of {max} turns")));
        }
        if let Some(max) = self.params.max_cost_usd
            && self.used().cost_usd.is_some_and(|cost| cost > max)
        {
            self.stop = Some((Class::Budget, format!("the limit of {max:.2} US dollars")));
        }
    }

    /// What was used: as the agent says in all, else the sum of its turns; the cost estimated where it says none.
    pub fn used(&self) -> Usage {
        let usage = if self.usage.is_unknown() { self.turns_usage } else { self.usage };
        match self.model.as_deref().or(self.params.model.as_deref()) {
            Some(model) => super::prices::with_estimate(usage, model),
            None => usage,
        }
    }
}
