//! A transcript that is read on while its agent works.

use super::line_tail::LineTail;
use super::lines::bare;
use super::state;
use super::transcripts::transcript_name;
use crate::domain::{SessionId, TranscriptRecord};
use std::io;
use std::path::Path;

/// So much is read at a time, so that whoever shows it can go on with other things: some ten milliseconds.
const AT_A_TIME: u64 = 4 << 20;

/// Reads one agent run's transcript as it grows; lines that cannot be read are left out.
pub struct TranscriptTail(LineTail);

impl TranscriptTail {
    /// The transcript of an agent run, below the directory of its run; it need not be there yet.
    #[must_use]
    pub fn new(run_dir: &Path, session: &SessionId) -> Self {
        Self(LineTail::new(state::run(run_dir).join("transcripts").join(transcript_name(session))))
    }

    /// Shows what was written since to `take`, the first four MiB of it; says whether there was anything.
    ///
    /// # Errors
    /// If the file is there and cannot be read.
    pub fn read_on(&mut self, mut take: impl FnMut(TranscriptRecord)) -> io::Result<bool> {
        let mut grown = match self.0.grown(AT_A_TIME) {
            Ok(Some(grown)) => grown,
            Ok(None) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        self.0.read(&mut grown, |_, line| {
            let record = line.content.map(bare).and_then(|content| serde_json::from_slice(content).ok());
            let taken = line.ended || record.is_some();
            if let Some(record) = record {
                take(record);
            }
            taken
        })?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TranscriptItem;
    use std::fmt::Write as _;
    use std::fs;

    #[test]
    fn every_step_comes_once_however_it_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("transcripts/s-1.jsonl");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut tail = TranscriptTail::new(dir.path(), &SessionId::new("s-1"));
        assert!(!tail.read_on(|_| panic!("there is nothing")).unwrap());
        let line = |n: usize| {
            format!(
                "{{\"v\":1,\"at\":\"2026-01-01T00:00:00Z\",\"type\":\"error\",\"message\":\"{n} {}\"}}\n",
                "x".repeat(900)
            )
        };
        // More than is read at a time, written in pieces that end anywhere.
        let mut text = String::from("no json\n");
        (0..6000).for_each(|n| write!(text, "{}", line(n)).unwrap());
        let mut seen = Vec::new();
        for end in [10, 700, 1900, 1901, 3_000_000, text.len()] {
            fs::write(&path, &text[..end]).unwrap();
            while tail
                .read_on(|record| match record.item {
                    TranscriptItem::Error { message, .. } => seen.push(message.split_once(' ').unwrap().0.to_owned()),
                    other => panic!("{other:?}"),
                })
                .unwrap()
            {}
        }
        assert_eq!(seen, (0..6000).map(|n| n.to_string()).collect::<Vec<_>>());
    }
}
