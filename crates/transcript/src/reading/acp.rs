//! The messages between an agent and its client, as they were recorded.

use super::result::{LineReader, Reading};
use crate::streams::acp::Replay;
use serde_json::Value;

/// Reads JSON-RPC messages, each alone or as `{"msg": …}` with what the recorder says of it.
#[derive(Default)]
pub(super) struct Acp {
    replay: Replay,
    /// Messages that nobody knew so far.
    unknown: u64,
}

impl LineReader for Acp {
    fn line(&mut self, number: u64, line: &[u8], into: &mut Reading) {
        let Reading { trace, unread, records, .. } = into;
        let Ok(record) = serde_json::from_slice::<Value>(line) else {
            unread.add("not JSON", 1);
            return unread.note(number);
        };
        // How the program ended, which the reply says better.
        if record["dir"] == "exit" {
            return;
        }
        let message = record.get("msg").unwrap_or(&record);
        let is_one = self.replay.message(message, &mut |(item, parent)| trace.step(&item, parent.as_deref(), None));
        if !is_one {
            unread.add("not a message", 1);
            return unread.note(number);
        }
        *records += 1;
        let unknown = self.replay.unknown();
        if unknown > self.unknown {
            self.unknown = unknown;
            unread.note(number);
        }
    }

    fn finish(&mut self, into: &mut Reading) {
        let trace = &mut into.trace;
        let unknown = self.replay.finish(&mut |(item, parent)| trace.step(&item, parent.as_deref(), None));
        into.session = self.replay.session().map(str::to_owned);
        into.ending = self.replay.ending().cloned();
        into.records -= self.unknown.min(into.records);
        for (name, count) in &unknown {
            into.unread.add(name, *count);
        }
    }
}
