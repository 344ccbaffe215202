//! What an agent left behind, through the rules of its description.

use super::result::{LineReader, Reading};
use super::tools::{edits_of, kind_of};
use crate::domain::{Role, ToolKind, TranscriptItem};
use crate::streams::program::{Recording, Replay};

/// Reads an agent's records.
pub(super) struct Recorded {
    replay: Replay,
    /// Lines that no rule knew so far.
    unknown: u64,
}

impl Recorded {
    pub fn new(agent: &str, recording: Recording) -> Option<Self> {
        Some(Self { replay: Replay::new(agent, recording)?, unknown: 0 })
    }
}

impl LineReader for Recorded {
    fn line(&mut self, number: u64, line: &[u8], into: &mut Reading) {
        let Reading { trace, unread, .. } = into;
        let mode = self.replay.line(line, &mut |(mut item, parent, at)| {
            known_by_name(&mut item);
            trace.step(&item, parent.as_deref(), at);
        });
        if let Some(mode) = mode {
            trace.mode(&mode);
        }
        let unknown: u64 = self.replay.unknown().values().sum();
        if unknown > self.unknown {
            self.unknown = unknown;
            unread.note(number);
        }
    }

    fn finish(&mut self, into: &mut Reading) {
        let Reading { trace, .. } = into;
        self.replay.finish(&mut |(item, parent, at)| trace.step(&item, parent.as_deref(), at));
        // A stream of nothing but its result.
        if let Some(text) = self.replay.closing().filter(|_| trace.response.is_empty()) {
            let text = text.to_owned();
            trace.step(&TranscriptItem::Message { role: Role::Assistant, text }, None, None);
        }
        into.records = self.replay.records() - self.unknown;
        into.session = self.replay.conversation().map(str::to_owned);
        into.ending = self.replay.ending();
        for (name, count) in self.replay.unknown() {
            into.unread.add(name, *count);
        }
    }
}

/// What the agent's own description does not say of a call, the tables of all agents' tools may.
fn known_by_name(item: &mut TranscriptItem) {
    let TranscriptItem::ToolCall { tool, kind, input, edits, .. } = item else { return };
    if *kind == ToolKind::Other {
        *kind = kind_of(tool, input);
    }
    if edits.is_empty() {
        *edits = edits_of(*kind, input);
    }
}
