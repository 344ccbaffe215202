//! What an agent's program once said, read back: the rules of its description on lines from a file.

use super::at::At;
use super::description::{AGENTS, Description, describe};
use super::doc::Doc;
use super::fold::{Fold, FoldParams, Word};
use super::lines::Line;
use super::rule::Stream;
use crate::domain::{Ending, Timestamp, TranscriptItem, Usage};
use crate::services::{AgentWatch, Clock};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What an agent leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recording {
    /// What its program printed.
    Stream,
    /// The transcript that it writes itself.
    Transcript,
}

/// Lines that an agent's program said once.
pub(crate) struct Replay {
    fold: Fold,
    steps: Arc<Steps>,
}

/// A step, the sub-agent whose it is, and when it was recorded.
pub(crate) type Step = (TranscriptItem, Option<String>, Option<Timestamp>);

impl Replay {
    /// Of this agent; none if it is not described, or writes no transcript that is read.
    pub fn new(agent: &str, recording: Recording) -> Option<Self> {
        let description = describe(agent)?;
        let steps = Arc::<Steps>::default();
        let stream = stream_of(description, recording)?;
        let params = FoldParams {
            description,
            watch: Arc::<Steps>::clone(&steps),
            clock: Arc::new(NoClock),
            model: None,
            max_turns: None,
            max_cost_usd: None,
            earlier: Usage::default(),
        };
        Some(Self { fold: Fold::of(params, stream), steps })
    }

    /// Takes a line and hands over its steps; gives the mode that it says the agent works in.
    pub fn line(&mut self, line: &[u8], step: &mut dyn FnMut(Step)) -> Option<String> {
        self.fold.mode = None;
        self.fold.line(Line::Whole(line));
        self.hand_over(step);
        self.fold.mode.take()
    }

    /// The steps that waited for what would follow.
    pub fn finish(&mut self, step: &mut dyn FnMut(Step)) {
        self.fold.flush();
        self.hand_over(step);
    }

    fn hand_over(&mut self, step: &mut dyn FnMut(Step)) {
        let mut told = self.steps.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.drain(..).for_each(|(item, parent)| step((item, parent, self.fold.at)));
    }

    /// Lines that are no record, and records that no rule knows, by name.
    pub fn unknown(&self) -> &BTreeMap<String, u64> {
        &self.fold.unknown
    }

    /// Records, known or not.
    pub fn records(&self) -> u64 {
        self.fold.records
    }

    /// The agent's own id of the conversation.
    pub fn conversation(&self) -> Option<&str> {
        self.fold.conversation.as_deref()
    }

    /// What the agent says in closing, where its stream says that apart from its messages.
    pub fn closing(&self) -> Option<&str> {
        self.fold.closing.as_deref()
    }

    /// Why it ended, if its last word is there.
    pub fn ending(&self) -> Option<Ending> {
        match self.fold.word.as_ref()? {
            Word::Done => Some(Ending::Finished),
            Word::Failed(failure) | Word::Fatal(failure) => {
                let class = failure.class(self.fold.params.description, None, self.fold.retried);
                Some(class.ending(None))
            }
        }
    }
}

/// Whose record a line is, as far as one line says it: the agents that know it, the likeliest first.
///
/// Several may know one; a mark tells them apart where it is there.
pub(crate) fn recorders(line: &[u8]) -> Vec<(&'static str, Recording, Likeness)> {
    let mut found = Vec::new();
    for agent in AGENTS {
        let Some(description) = describe(agent) else { continue };
        for recording in [Recording::Transcript, Recording::Stream] {
            let Some(likeness) = stream_of(description, recording).and_then(|stream| likeness(stream, line)) else {
                continue;
            };
            if likeness == Likeness::Marked {
                return vec![(agent, recording, likeness)];
            }
            found.push((agent, recording, likeness));
        }
    }
    found
}

/// How much a record is like an agent's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Likeness {
    /// Its name is known.
    Named,
    /// It has what only this agent's records have.
    Marked,
}

fn likeness(stream: &Stream, line: &[u8]) -> Option<Likeness> {
    let record = stream.shape.read(line).ok().filter(|doc| matches!(doc, Doc::Map(_)))?;
    stream.rules(&stream.name_of(&record), &record)?;
    let at = At { record: &record, entry: &record, parent: None };
    let marked = stream.mark.as_ref().is_some_and(|mark| at.holds(mark));
    Some(if marked { Likeness::Marked } else { Likeness::Named })
}

fn stream_of(description: &'static Description, recording: Recording) -> Option<&'static Stream> {
    match recording {
        Recording::Stream => Some(&description.stream),
        Recording::Transcript => description.transcript.as_ref(),
    }
}

#[derive(Default)]
struct Steps(Mutex<Vec<(TranscriptItem, Option<String>)>>);

impl AgentWatch for Steps {
    fn step(&self, item: TranscriptItem, parent: Option<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((item, parent));
    }
}

/// What is read back is over: no limit of it resets any more.
struct NoClock;

#[async_trait]
impl Clock for NoClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    async fn sleep(&self, _: Duration) {}

    fn new_id(&self) -> String {
        String::new()
    }
}
