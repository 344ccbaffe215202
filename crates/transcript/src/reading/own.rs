//! Transcripts of our own runs.

use super::result::{LineReader, Reading};
use crate::domain::{TranscriptItem, TranscriptRecord};

/// The version of records that is read.
const VERSION: u32 = 1;

/// Reads `.reflection/runs/<run>/transcripts/<session>.jsonl`.
pub(super) struct Own;

impl LineReader for Own {
    fn line(&mut self, number: u64, line: &[u8], into: &mut Reading) {
        let record: TranscriptRecord = match serde_json::from_slice(line) {
            Ok(record) => record,
            Err(error) => {
                let name = if error.is_data() { "record that is not known" } else { "not JSON" };
                into.unread.add(name, 1);
                return into.unread.note(number);
            }
        };
        if record.v != VERSION {
            into.unread.add(&format!("record of version {}", record.v), 1);
            return into.unread.note(number);
        }
        into.records += 1;
        match &record.item {
            TranscriptItem::Head(head) => into.session = Some(head.session.to_string()),
            TranscriptItem::End { ending, .. } => into.ending = Some(ending.clone()),
            item => into.trace.step(item, record.parent.as_deref(), Some(record.at)),
        }
    }

    fn finish(&mut self, _: &mut Reading) {}
}
