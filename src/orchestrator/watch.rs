//! Watching an agent while it works: its steps go to the transcript, to a trace that it is judged by, and, in short, to
//! whoever watches the run.

use super::spent::Spent;
use crate::domain::{About, Event, EventKind, Role, Timestamp, Trace, TranscriptItem, Usage};
use crate::services::{AgentWatch, Clock, EventSink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// So much of a tool's first argument is shown.
const SHOWN_BYTES: usize = 80;

/// Passes steps on to a transcript, keeps what they come to, and tells the run's watchers what the agent is doing.
pub(super) struct Watching {
    transcript: Arc<dyn AgentWatch>,
    events: Arc<dyn EventSink>,
    clock: Arc<dyn Clock>,
    about: About,
    /// Where the agent works: files below it are named from there, because the workspace is gone afterwards.
    dir: PathBuf,
    seen: Mutex<Seen>,
    moved: Notify,
}

/// Where the steps go.
pub(super) struct WatchingParams {
    pub transcript: Arc<dyn AgentWatch>,
    pub events: Arc<dyn EventSink>,
    pub clock: Arc<dyn Clock>,
    /// The attempt that is watched.
    pub about: About,
    pub dir: PathBuf,
    /// What the agent did before a limit cut it short.
    pub trace: Trace,
}

/// What the agent has done until now.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub trace: Trace,
    /// The last step that says what it is doing.
    pub last: Last,
    /// When its last step was heard of, on the clock that never goes backwards.
    pub at: Duration,
    /// Steps of any kind.
    pub steps: u64,
    /// Tool calls that were answered.
    pub results: u64,
    /// Tokens of its model's last answer, where they are known.
    pub output: Option<u64>,
    /// The agent's own id of the conversation, with which it can be gone on with.
    pub agent_session: Option<String>,
    /// It has written something since its last prompt.
    spoke: bool,
    turns: u32,
    usage: Usage,
    /// The part of it since the agent was last told something.
    turn_usage: Usage,
    /// Text of all steps since then.
    shown_bytes: u64,
}

/// The last step that says what an agent is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Last {
    /// It said nothing yet.
    #[default]
    Nothing,
    /// It said something; the model's answer may go on.
    Message,
    /// It said something, and its model's answer is over.
    WholeMessage,
    /// A tool answered.
    Result,
    /// It shortened its context.
    Compaction,
    /// Anything else: it is at it.
    Other,
}

impl Watching {
    pub fn new(params: WatchingParams) -> Self {
        let WatchingParams { transcript, events, clock, about, dir, trace } = params;
        let seen = Seen { trace, at: clock.elapsed(), ..Seen::default() };
        Self { transcript, events, clock, about, dir, seen: Mutex::new(seen), moved: Notify::new() }
    }

    /// The agent is about to be told something. The first prompt of a session has a file of its own; what is said later
    /// stands in the transcript.
    pub fn ask(&self, prompt: &str, turn: u32) {
        if turn > 1 {
            self.transcript.step(TranscriptItem::Message { role: Role::User, text: prompt.to_owned() }, None);
        }
        let mut seen = self.seen();
        seen.trace.ask(prompt);
        (seen.last, seen.at) = (Last::Nothing, self.clock.elapsed());
        (seen.turn_usage, seen.shown_bytes, seen.spoke) = (Usage::default(), 0, false);
    }

    /// What the agent has done until now.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the agent has used since its turn began, as far as it says so while it works; else how much text it has shown.
    pub fn streamed(&self) -> Spent {
        let seen = self.seen();
        let shown_bytes = if seen.turn_usage.tokens().is_some() { 0 } else { seen.shown_bytes };
        Spent { usage: seen.turn_usage, shown_bytes, ..Spent::default() }
    }

    /// Whether the agent itself has written something since its last prompt.
    pub fn has_spoken(&self) -> bool {
        self.seen().spoke
    }

    /// Ends at the next step after this call.
    pub fn moved(&self) -> Notified<'_> {
        self.moved.notified()
    }
}

impl AgentWatch for Watching {
    fn step(&self, mut item: TranscriptItem, parent: Option<String>) {
        if let TranscriptItem::ToolCall { edits, .. } = &mut item {
            for file in edits {
                if let Ok(below) = Path::new(file.as_str()).strip_prefix(&self.dir) {
                    *file = below.display().to_string();
                }
            }
        }
        let (now, at) = (self.clock.elapsed(), self.clock.now());
        let what = {
            let mut seen = self.seen();
            seen.take(&item, parent.as_deref(), at);
            seen.at = now;
            seen.steps += 1;
            doing(&item).map(|what| (what, seen.turns, seen.usage.tokens()))
        };
        self.transcript.step(item, parent);
        self.moved.notify_waiters();
        if let Some((what, turns, tokens)) = what {
            let kind = EventKind::AgentActed { what, turns, tokens };
            self.events.publish(Event { at, about: self.about.clone(), kind });
        }
    }
}

impl Seen {
    fn take(&mut self, item: &TranscriptItem, parent: Option<&str>, at: Timestamp) {
        match item {
            // Some agents say the prompt again; it was asked once.
            TranscriptItem::Message { role: Role::User, text } if parent.is_none() && self.asked(text) => return,
            TranscriptItem::Turn { usage } => {
                self.turns += 1;
                self.usage += *usage;
                self.turn_usage += *usage;
                self.output = usage.output;
            }
            TranscriptItem::ToolResult { output, .. } => {
                self.results += 1;
                self.shown_bytes += output.len() as u64;
            }
            TranscriptItem::Message { text, .. } | TranscriptItem::Reasoning { text, .. } => {
                self.shown_bytes += text.len() as u64;
            }
            TranscriptItem::Session { agent_session, .. } => self.agent_session = Some(agent_session.clone()),
            _ => {}
        }
        self.spoke |= parent.is_none() && matches!(item, TranscriptItem::Message { role: Role::Assistant, .. });
        self.trace.step(item, parent, Some(at));
        self.last = match item {
            TranscriptItem::Message { role: Role::Assistant, .. } if parent.is_none() => Last::Message,
            TranscriptItem::Turn { .. } if matches!(self.last, Last::Message | Last::WholeMessage) => {
                Last::WholeMessage
            }
            TranscriptItem::ToolResult { .. } => Last::Result,
            TranscriptItem::Compaction { .. } => Last::Compaction,
            _ => Last::Other,
        };
    }

    fn asked(&self, text: &str) -> bool {
        self.trace.asked.last().is_some_and(|asked| asked.text.trim() == text.trim())
    }
}

/// A step in a few words, where it is one that a person would want to see.
fn doing(item: &TranscriptItem) -> Option<String> {
    match item {
        TranscriptItem::ToolCall { tool, input, edits, .. } => {
            let about = edits.first().cloned().or_else(|| first_text(input));
            Some(match about {
                Some(about) => {
                    format!("{tool}: {}", crate::prompt::shorten(&crate::prompt::one_line(&about), SHOWN_BYTES))
                }
                None => tool.clone(),
            })
        }
        TranscriptItem::Retry { status, message } => Some(match status {
            Some(status) => format!("its model answered {status}; trying again"),
            None => format!("trying again: {}", crate::prompt::shorten(&crate::prompt::one_line(message), SHOWN_BYTES)),
        }),
        TranscriptItem::Compaction { .. } => Some("shortening its context".to_owned()),
        _ => None,
    }
}

/// The argument that says most about a call: a command, a file, a pattern.
fn first_text(input: &serde_json::Value) -> Option<String> {
    const TELLING: [&str; 7] = ["command", "cmd", "file_path", "filePath", "path", "pattern", "query"];
    let telling = TELLING.iter().find_map(|key| input.get(key)?.as_str());
    telling.or_else(|| input.as_object()?.values().find_map(serde_json::Value::as_str)).map(str::to_owned)
}
